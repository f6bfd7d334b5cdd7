//! The first tokens: the constructor mints each part to its beneficiary, or to a wallet of the template `vesting-wallet`, which it creates.

use super::{
    interface::{self as sol, VestingAllocation as Allocation},
    token::mint_to,
};
use crate::{templates::VestingAllocation, vm::contract::*};

/// Id of the tokens that the constructor mints.
const DISTRIBUTED_ID: U256 = U256::ONE;

/// Creates the wallet of a part, if it has to wait, and mints its tokens.
pub(super) fn allot(host: &mut Host<'_>, allocation: Allocation, owner: Address) -> Result<(), Stop> {
    let allocation = VestingAllocation::from(<(_, _, _, _, _, _)>::from(allocation));
    let wallet = allocation.create_wallet(host, owner)?;
    let VestingAllocation { beneficiary, amount, .. } = allocation;
    if let Some(wallet) = wallet {
        host.emit(&sol::VestingWalletCreated { beneficiary, wallet, id: DISTRIBUTED_ID, amount })?;
    }
    mint_to(host, wallet.unwrap_or(beneficiary), DISTRIBUTED_ID, amount, Bytes::new())
}
