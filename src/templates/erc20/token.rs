//! Balances, allowances, supply, the cap; what the owner may do.

use super::{
    IMMUTABLES,
    interface::{self as sol, Erc20Token},
};
use crate::{
    templates::common::{Eip712, Nonces, Ownable, Pausable},
    vm::{contract::*, math::overflow},
};

storage! {
    /// State variables, in solc's order.
    pub(super) contract TokenStorage {
        pub(super) balances: Mapping<Address, U256>,
        pub(super) allowances: Mapping<Address, Mapping<Address, U256>>,
        pub(super) total_supply: Slot<U256>,
        pub(super) name: Slot<String>,
        pub(super) symbol: Slot<String>,
        pub(super) pausable: Pausable,
        pub(super) ownable: Ownable,
        pub(super) eip712: Eip712,
        pub(super) nonces: Nonces,
    }
}

storage! {
    /// What Solidity would put into the code.
    pub(super) contract TokenImmutables layout at IMMUTABLES {
        settings: Slot<Settings>,
        pub(super) cap: Slot<U256>,
    }
}

record! {
    /// Decimals, and the optional functions.
    #[derive(Clone, Copy, Debug)]
    pub(super) struct Settings {
        pub(super) decimals: u8,
        /// [`MINTABLE`], [`BURNABLE`], [`PAUSABLE`].
        features: u8,
    }
}

pub(super) const MINTABLE: u8 = 1;
pub(super) const BURNABLE: u8 = 1 << 1;
pub(super) const PAUSABLE: u8 = 1 << 2;

pub(super) const TOKEN: TokenStorage = TokenStorage::STATE;
pub(super) const FIXED: TokenImmutables = TokenImmutables::STATE;

pub(super) fn construct(host: &mut Host<'_>, params: Erc20Token::constructorCall) -> Result<(), Stop> {
    let Erc20Token::constructorCall { name, symbol, totalSupply, decimals, owner, features, cap } = params;
    TOKEN.name.set(host, name.clone())?;
    TOKEN.symbol.set(host, symbol)?;
    TOKEN.eip712.construct(host, &name, super::VERSION)?;
    Ownable::check_owner(owner)?;
    require(!cap.is_zero(), sol::ERC20InvalidCap { cap })?;
    let flags = [(features.mintable, MINTABLE), (features.burnable, BURNABLE), (features.pausable, PAUSABLE)];
    let features = flags.into_iter().filter(|(is_on, _)| *is_on).fold(0, |set, (_, flag)| set | flag);
    FIXED.settings.set(host, Settings { decimals, features })?;
    FIXED.cap.set(host, cap)?;
    TOKEN.ownable.set_owner(host, owner)?;
    if totalSupply.is_zero() { Ok(()) } else { mint_to(host, owner, totalSupply) }
}

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
    spend_allowance(host, from, value)?;
    move_tokens(host, from, to, value)?;
    Ok(true)
}

pub(super) fn mint(host: &mut Host<'_>, to: Address, amount: U256) -> Result<(), Stop> {
    require_feature(host, MINTABLE)?;
    TOKEN.ownable.only_owner(host)?;
    require(!to.is_zero(), sol::ERC20InvalidReceiver { receiver: to })?;
    TOKEN.pausable.when_not_paused(host)?;
    mint_to(host, to, amount)
}

pub(super) fn burn(host: &mut Host<'_>, value: U256) -> Result<(), Stop> {
    require_feature(host, BURNABLE)?;
    let from = host.caller();
    burn_tokens(host, from, value)
}

pub(super) fn burn_from(host: &mut Host<'_>, from: Address, value: U256) -> Result<(), Stop> {
    require_feature(host, BURNABLE)?;
    spend_allowance(host, from, value)?;
    burn_tokens(host, from, value)
}

pub(super) fn paused(host: &mut Host<'_>) -> Result<bool, Stop> {
    require_feature(host, PAUSABLE)?;
    TOKEN.pausable.paused.get(host)
}

pub(super) fn pause(host: &mut Host<'_>) -> Result<(), Stop> {
    require_feature(host, PAUSABLE)?;
    TOKEN.ownable.only_owner(host)?;
    TOKEN.pausable.pause(host)
}

pub(super) fn unpause(host: &mut Host<'_>) -> Result<(), Stop> {
    require_feature(host, PAUSABLE)?;
    TOKEN.ownable.only_owner(host)?;
    TOKEN.pausable.unpause(host)
}

pub(super) fn set_allowance(host: &mut Host<'_>, owner: Address, spender: Address, value: U256) -> Result<(), Stop> {
    require(!owner.is_zero(), sol::ERC20InvalidApprover { approver: owner })?;
    require(!spender.is_zero(), sol::ERC20InvalidSpender { spender })?;
    TOKEN.allowances.at(host, owner)?.set(host, spender, value)
}

/// Subtracts from the caller's allowance; one of 2^256 - 1 is unlimited. Emits no event, as OpenZeppelin 5.
fn spend_allowance(host: &mut Host<'_>, owner: Address, value: U256) -> Result<(), Stop> {
    let spender = host.caller();
    let allowance = allowance(host, owner, spender)?;
    if allowance == U256::MAX {
        return Ok(());
    }
    match allowance.checked_sub(value) {
        Some(rest) => set_allowance(host, owner, spender, rest),
        None => Err(revert(&sol::ERC20InsufficientAllowance { spender, allowance, needed: value })),
    }
}

fn move_tokens(host: &mut Host<'_>, from: Address, to: Address, value: U256) -> Result<(), Stop> {
    require(!from.is_zero(), sol::ERC20InvalidSender { sender: from })?;
    require(!to.is_zero(), sol::ERC20InvalidReceiver { receiver: to })?;
    TOKEN.pausable.when_not_paused(host)?;
    take(host, from, value)?;
    give(host, to, value)?;
    host.emit(&sol::Transfer { from, to, value })
}

fn take(host: &mut Host<'_>, from: Address, value: U256) -> Result<(), Stop> {
    TOKEN.balances.at(host, from)?.update(host, |balance| {
        let error = || revert(&sol::ERC20InsufficientBalance { sender: from, balance, needed: value });
        balance.checked_sub(value).ok_or_else(error)
    })
}

fn give(host: &mut Host<'_>, to: Address, value: U256) -> Result<(), Stop> {
    // The sum of all balances is the total supply, which fits.
    TOKEN.balances.at(host, to)?.update(host, |balance| Ok(balance.wrapping_add(value)))
}

fn mint_to(host: &mut Host<'_>, to: Address, value: U256) -> Result<(), Stop> {
    let supply = TOKEN.total_supply.get(host)?.checked_add(value).ok_or_else(overflow)?;
    TOKEN.total_supply.set(host, supply)?;
    give(host, to, value)?;
    host.emit(&sol::Transfer { from: Address::ZERO, to, value })?;
    let cap = FIXED.cap.get(host)?;
    require(supply <= cap, sol::ERC20ExceededCap { increasedSupply: supply, cap })
}

fn burn_tokens(host: &mut Host<'_>, from: Address, value: U256) -> Result<(), Stop> {
    require(!from.is_zero(), sol::ERC20InvalidSender { sender: from })?;
    TOKEN.pausable.when_not_paused(host)?;
    take(host, from, value)?;
    // No balance is above the total supply.
    TOKEN.total_supply.update(host, |supply| Ok(supply.wrapping_sub(value)))?;
    host.emit(&sol::Transfer { from, to: Address::ZERO, value })
}

/// Refuses a function that the token has not, as a contract without it does.
fn require_feature(host: &mut Host<'_>, feature: u8) -> Result<(), Stop> {
    if FIXED.settings.get(host)?.features & feature == 0 { Err(empty_revert()) } else { Ok(()) }
}
