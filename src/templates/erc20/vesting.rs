//! Tokens that vest: the constructor mints them to wallets of the template `vesting-wallet`, which it creates.

use super::{
    interface::{self as sol, VestingAllocation as Allocation},
    token::mint_to,
};
use crate::{templates::VestingAllocation, vm::contract::*};

/// Creates the wallets and mints their tokens; returns what is left of the supply.
pub(super) fn allocate(
    host: &mut Host<'_>,
    allocations: &[Allocation],
    supply: U256,
    owner: Address,
) -> Result<U256, Stop> {
    let allocated = allocations.iter().fold(U256::ZERO, |sum, allocation| sum.saturating_add(allocation.amount));
    require(allocated <= supply, sol::ERC20VestingExceededSupply { allocated, totalSupply: supply })?;
    for allocation in allocations.iter().cloned() {
        let allocation = VestingAllocation::from(<(_, _, _, _, _, _)>::from(allocation));
        let wallet = allocation.create_wallet(host, owner)?;
        let VestingAllocation { beneficiary, amount, .. } = allocation;
        if let Some(wallet) = wallet {
            host.emit(&sol::VestingWalletCreated { beneficiary, wallet, amount })?;
        }
        mint_to(host, wallet.unwrap_or(beneficiary), amount)?;
    }
    Ok(supply - allocated)
}
