//! Balances, allowances, supply, the cap; what the holders of roles may do.

use alloy_primitives::b256;

use super::{
    features::{FIXED, Feature},
    interface as sol,
    state::TOKEN,
    votes,
};
use crate::vm::{contract::*, math::overflow};

/// The role that mints: keccak of `MINTER_ROLE`.
pub const MINTER_ROLE: B256 = b256!("9f2df0fed2c77648de5860a4cc508cd0818c85b8b8a1ab4ceeef8d981c8956a6");

/// The role that pauses: keccak of `PAUSER_ROLE`.
pub const PAUSER_ROLE: B256 = b256!("65d7a28e3265b37a6474929f336521b332c1681b933f6cb9f3376673440d862a");

pub(super) fn decimals(host: &mut Host<'_>) -> Result<u8, Stop> {
    Ok(FIXED.settings.get(host)?.decimals)
}

pub(super) fn allowance(host: &mut Host<'_>, owner: Address, spender: Address) -> Result<U256, Stop> {
    TOKEN.allowances.at(host, owner)?.get(host, spender)
}

pub(super) fn transfer(host: &mut Host<'_>, to: Address, value: U256) -> Result<bool, Stop> {
    let from = host.caller();
    move_tokens(host, from, to, value)?;
    Ok(true)
}

pub(super) fn approve(host: &mut Host<'_>, spender: Address, value: U256) -> Result<bool, Stop> {
    let owner = host.caller();
    set_allowance(host, owner, spender, value)?;
    host.emit(&sol::Approval { owner, spender, value })?;
    Ok(true)
}

pub(super) fn transfer_from(host: &mut Host<'_>, from: Address, to: Address, value: U256) -> Result<bool, Stop> {
    let spender = host.caller();
    spend_allowance(host, from, spender, value)?;
    move_tokens(host, from, to, value)?;
    Ok(true)
}

pub(super) fn mint(host: &mut Host<'_>, to: Address, amount: U256) -> Result<(), Stop> {
    TOKEN.access.only_role(host, MINTER_ROLE)?;
    mint_to(host, to, amount)
}

pub(super) fn burn(host: &mut Host<'_>, value: U256) -> Result<(), Stop> {
    let from = host.caller();
    burn_tokens(host, from, value)
}

pub(super) fn burn_from(host: &mut Host<'_>, from: Address, value: U256) -> Result<(), Stop> {
    let spender = host.caller();
    spend_allowance(host, from, spender, value)?;
    burn_tokens(host, from, value)
}

pub(super) fn pause(host: &mut Host<'_>) -> Result<(), Stop> {
    TOKEN.access.only_role(host, PAUSER_ROLE)?;
    TOKEN.pausable.pause(host)
}

pub(super) fn unpause(host: &mut Host<'_>) -> Result<(), Stop> {
    TOKEN.access.only_role(host, PAUSER_ROLE)?;
    TOKEN.pausable.unpause(host)
}

/// Sets an allowance without an event (`_approve(owner, spender, value, false)`).
pub(super) fn set_allowance(host: &mut Host<'_>, owner: Address, spender: Address, value: U256) -> Result<(), Stop> {
    require(!owner.is_zero(), sol::ERC20InvalidApprover { approver: owner })?;
    require(!spender.is_zero(), sol::ERC20InvalidSpender { spender })?;
    TOKEN.allowances.at(host, owner)?.set(host, spender, value)
}

/// Subtracts from an allowance; one of 2^256 - 1 is unlimited (`_spendAllowance`). Emits no event, as OpenZeppelin 5.
pub(super) fn spend_allowance(host: &mut Host<'_>, owner: Address, spender: Address, value: U256) -> Result<(), Stop> {
    let allowance = allowance(host, owner, spender)?;
    if allowance == U256::MAX {
        return Ok(());
    }
    match allowance.checked_sub(value) {
        Some(rest) => set_allowance(host, owner, spender, rest),
        None => Err(revert(&sol::ERC20InsufficientAllowance { spender, allowance, needed: value })),
    }
}

/// Moves tokens between accounts (`_transfer`).
fn move_tokens(host: &mut Host<'_>, from: Address, to: Address, value: U256) -> Result<(), Stop> {
    TOKEN.balances.fetch_ahead(host, from);
    TOKEN.balances.fetch_ahead(host, to);
    require(!from.is_zero(), sol::ERC20InvalidSender { sender: from })?;
    require(!to.is_zero(), sol::ERC20InvalidReceiver { receiver: to })?;
    update(host, from, to, value)
}

/// Makes tokens, whoever calls (`_mint`).
pub(super) fn mint_to(host: &mut Host<'_>, to: Address, value: U256) -> Result<(), Stop> {
    require(!to.is_zero(), sol::ERC20InvalidReceiver { receiver: to })?;
    update(host, Address::ZERO, to, value)
}

/// Destroys an account's tokens, whoever calls (`_burn`).
pub(super) fn burn_tokens(host: &mut Host<'_>, from: Address, value: U256) -> Result<(), Stop> {
    require(!from.is_zero(), sol::ERC20InvalidSender { sender: from })?;
    update(host, from, Address::ZERO, value)
}

/// Moves tokens, makes them (from zero) or destroys them (to zero): `_update` of all extensions, in their order.
fn update(host: &mut Host<'_>, from: Address, to: Address, value: U256) -> Result<(), Stop> {
    let settings = FIXED.settings.get(host)?;
    if settings.has(Feature::Pausable) {
        TOKEN.pausable.when_not_paused(host)?;
    }
    take(host, from, value)?;
    give(host, to, value)?;
    host.emit(&sol::Transfer { from, to, value })?;
    if settings.has(Feature::Votes) {
        votes::update(host, from, to, value)?;
    }
    if from.is_zero() { check_cap(host) } else { Ok(()) }
}

/// Subtracts from a balance, or adds to the supply when there is no sender.
fn take(host: &mut Host<'_>, from: Address, value: U256) -> Result<(), Stop> {
    if from.is_zero() {
        return TOKEN.total_supply.update(host, |supply| supply.checked_add(value).ok_or_else(overflow));
    }
    TOKEN.balances.at(host, from)?.update(host, |balance| {
        let error = || revert(&sol::ERC20InsufficientBalance { sender: from, balance, needed: value });
        balance.checked_sub(value).ok_or_else(error)
    })
}

/// Adds to a balance, or subtracts from the supply when there is no receiver.
fn give(host: &mut Host<'_>, to: Address, value: U256) -> Result<(), Stop> {
    // The sum of all balances is the total supply, which fits.
    if to.is_zero() {
        return TOKEN.total_supply.update(host, |supply| Ok(supply.wrapping_sub(value)));
    }
    TOKEN.balances.at(host, to)?.update(host, |balance| Ok(balance.wrapping_add(value)))
}

/// Refuses a supply above the cap, once tokens are made.
fn check_cap(host: &mut Host<'_>) -> Result<(), Stop> {
    let (cap, supply) = (FIXED.cap.get(host)?, TOKEN.total_supply.get(host)?);
    require(supply <= cap, sol::ERC20ExceededCap { increasedSupply: supply, cap })
}

#[cfg(test)]
mod tests {
    use alloy_primitives::keccak256;

    use super::*;

    #[test]
    fn roles_are_hashes_of_their_names() {
        assert_eq!([keccak256("MINTER_ROLE"), keccak256("PAUSER_ROLE")], [MINTER_ROLE, PAUSER_ROLE]);
    }
}
