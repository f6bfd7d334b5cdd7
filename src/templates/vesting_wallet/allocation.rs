//! Tokens that a token's constructor puts into a wallet as it mints them.

use super::VestingWalletParams;
use crate::{primitives::Timestamp, vm::contract::*};

/// Tokens that a token's constructor puts into a vesting wallet, which it creates.
///
/// Without start, duration and cliff there is nothing to wait for: the tokens are the beneficiary's at once, without a wallet.
///
/// The first wallet is the contract that the token creates with its nonce 1, the second with 2, and so on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VestingAllocation {
    /// Owner of the wallet, who gets what is released.
    pub beneficiary: Address,
    /// Amount of tokens, in the smallest unit.
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

/// Solidity's `(address beneficiary, uint256 amount, uint64 start, uint64 duration, uint64 cliff, bool revocable)`.
type Encoded = (Address, U256, u64, u64, u64, bool);

impl From<VestingAllocation> for Encoded {
    fn from(allocation: VestingAllocation) -> Self {
        let VestingAllocation { beneficiary, amount, start, duration_secs, cliff_secs, revocable } = allocation;
        (beneficiary, amount, start.as_secs(), duration_secs, cliff_secs, revocable)
    }
}

impl From<Encoded> for VestingAllocation {
    fn from((beneficiary, amount, start, duration_secs, cliff_secs, revocable): Encoded) -> Self {
        Self { beneficiary, amount, start: Timestamp::from_secs(start), duration_secs, cliff_secs, revocable }
    }
}

impl VestingAllocation {
    /// Creates an allocation without cliff that is not revocable.
    pub const fn new(beneficiary: Address, amount: U256, start: Timestamp, duration_secs: u64) -> Self {
        Self { beneficiary, amount, start, duration_secs, cliff_secs: 0, revocable: false }
    }

    /// Creates an allocation that is the beneficiary's at once.
    pub const fn at_once(beneficiary: Address, amount: U256) -> Self {
        Self::new(beneficiary, amount, Timestamp::from_secs(0), 0)
    }

    /// Creates the wallet by the running contract, and returns it; `None` when there is nothing to wait for.
    pub(in crate::templates) fn create_wallet(
        &self,
        host: &mut Host<'_>,
        owner: Address,
    ) -> Result<Option<Address>, Stop> {
        let Self { beneficiary, start, duration_secs, cliff_secs, revocable, .. } = *self;
        if start.as_secs() == 0 && duration_secs == 0 && cliff_secs == 0 {
            return Ok(None);
        }
        let revoker = revocable.then_some(owner);
        let terms = VestingWalletParams { beneficiary, start, duration_secs, cliff_secs, revoker };
        let (wallet, created) = host.create(&terms.init_code(), U256::ZERO)?;
        created.or_revert()?;
        Ok(Some(wallet))
    }
}
