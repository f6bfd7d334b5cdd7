//! Tokens that vest: the constructor mints them to wallets of the template `vesting-wallet`, which it creates.
//!
//! Without start, duration and cliff there is nothing to wait for: the tokens are the beneficiary's at once, without a wallet.
//!
//! The first wallet is the contract that the token creates with its nonce 1, the second with 2, and so on.

use super::{
    interface::{self as sol, VestingAllocation as Allocation},
    token::mint_to,
};
use crate::{primitives::Timestamp, templates::vesting_wallet::VestingWalletParams, vm::contract::*};

/// Tokens that the constructor puts into a vesting wallet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VestingAllocation {
    /// Owner of the wallet, who gets what is released.
    pub beneficiary: Address,
    /// Amount of tokens, in the smallest unit; part of the total supply.
    pub amount: U256,
    /// Moment at which vesting starts; 0 is that of the deployment.
    pub start: Timestamp,
    /// Time from the start until all has vested, in seconds; with a start and a cliff of 0 too the beneficiary has the amount at once.
    pub duration_secs: u64,
    /// Time from the start before which nothing has vested, in seconds; at most the duration.
    pub cliff_secs: u64,
    /// Whether the token's first owner may take back what has not vested.
    pub revocable: bool,
}

impl VestingAllocation {
    /// Creates an allocation without cliff that is not revocable.
    pub const fn new(beneficiary: Address, amount: U256, start: Timestamp, duration_secs: u64) -> Self {
        Self { beneficiary, amount, start, duration_secs, cliff_secs: 0, revocable: false }
    }
}

impl From<VestingAllocation> for Allocation {
    fn from(allocation: VestingAllocation) -> Self {
        let VestingAllocation { beneficiary, amount, start, duration_secs, cliff_secs, revocable } = allocation;
        Self { beneficiary, amount, start: start.as_secs(), duration: duration_secs, cliff: cliff_secs, revocable }
    }
}

/// Creates the wallets and mints their tokens; returns what is left of the supply.
pub(super) fn allocate(
    host: &mut Host<'_>,
    allocations: &[Allocation],
    supply: U256,
    owner: Address,
) -> Result<U256, Stop> {
    let allocated = allocations.iter().fold(U256::ZERO, |sum, allocation| sum.saturating_add(allocation.amount));
    require(allocated <= supply, sol::ERC20VestingExceededSupply { allocated, totalSupply: supply })?;
    for Allocation { beneficiary, amount, start, duration, cliff, revocable } in allocations.iter().cloned() {
        if start == 0 && duration == 0 && cliff == 0 {
            mint_to(host, beneficiary, amount)?;
            continue;
        }
        let terms = VestingWalletParams {
            cliff_secs: cliff,
            revoker: revocable.then_some(owner),
            ..VestingWalletParams::new(beneficiary, Timestamp::from_secs(start), duration)
        };
        let (wallet, created) = host.create(&terms.init_code(), U256::ZERO)?;
        created.or_revert()?;
        host.emit(&sol::VestingWalletCreated { beneficiary, wallet, amount })?;
        mint_to(host, wallet, amount)?;
    }
    Ok(supply - allocated)
}
