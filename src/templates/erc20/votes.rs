//! Votes of holders (ERC-5805) by the block's number (ERC-6372): OpenZeppelin's `ERC20Votes`.

use super::{
    interface::{self as sol, delegateBySigCall},
    state::{TOKEN, domain},
};
use crate::{
    templates::common::{Votes, votes::Delegation},
    vm::contract::*,
};

/// Most tokens that a checkpoint can count (`_maxSupply`).
pub(super) const MAX_SUPPLY: U256 = U256::from_limbs([u64::MAX, u64::MAX, u64::MAX, 0xffff]);

/// Follows a movement of tokens, once the balances have changed (`_update`).
pub(super) fn update(host: &mut Host<'_>, from: Address, to: Address, value: U256) -> Result<(), Stop> {
    if from.is_zero() {
        let supply = TOKEN.total_supply.get(host)?;
        require(supply <= MAX_SUPPLY, sol::ERC20ExceededSafeSupply { increasedSupply: supply, cap: MAX_SUPPLY })?;
    }
    TOKEN.votes.transfer_voting_units(host, from, to, value)
}

pub(super) fn delegate(host: &mut Host<'_>, delegatee: Address) -> Result<(), Stop> {
    let account = host.caller();
    delegate_units(host, account, delegatee)
}

pub(super) fn delegate_by_sig(host: &mut Host<'_>, call: &delegateBySigCall) -> Result<(), Stop> {
    let delegateBySigCall { delegatee, nonce, expiry, v, r, s } = *call;
    let domain = domain(host)?;
    let delegation = Delegation { delegatee, nonce, expiry, v, r, s };
    let signer = Votes::delegation_signer(host, &domain, TOKEN.nonces, &delegation)?;
    delegate_units(host, signer, delegatee)
}

/// A holder's voting units are its balance (`_getVotingUnits`).
fn delegate_units(host: &mut Host<'_>, account: Address, delegatee: Address) -> Result<(), Stop> {
    TOKEN.votes.delegate(host, account, delegatee, |host, account| TOKEN.balances.get(host, account))
}

pub(super) fn num_checkpoints(host: &mut Host<'_>, account: Address) -> Result<u32, Stop> {
    let len = TOKEN.votes.delegate_checkpoints.at(host, account)?.len(host)?;
    // One checkpoint a block: `SafeCast.toUint32` cannot fail before the block of that number.
    Ok(u32::try_from(len).unwrap_or(u32::MAX))
}

pub(super) fn checkpoint(host: &mut Host<'_>, account: Address, index: u32) -> Result<sol::Checkpoint208, Stop> {
    let checkpoint = TOKEN.votes.delegate_checkpoints.at(host, account)?.at(host, index.into())?;
    Ok(sol::Checkpoint208 { _key: checkpoint.key, _value: checkpoint.value })
}

#[cfg(test)]
mod tests {
    use alloy_primitives::aliases::U208;

    use super::*;

    #[test]
    fn the_largest_supply_is_that_of_a_checkpoint() {
        assert_eq!(MAX_SUPPLY, U256::from(U208::MAX));
    }
}
