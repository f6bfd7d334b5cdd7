//! Deposits, withdrawals and transfers: WETH9.

use super::interface as sol;
use crate::{primitives::Gas, templates::common::ds_math::require_that, vm::contract::*};

storage! {
    /// State variables, in solc's order.
    pub(super) contract TokenStorage {
        pub(super) name: Slot<String> as "name",
        pub(super) symbol: Slot<String> as "symbol",
        pub(super) decimals: Slot<u8> as "decimals",
        pub(super) balances: Mapping<Address, U256> as "balanceOf",
        pub(super) allowances: Mapping<Address, Mapping<Address, U256>> as "allowance",
    }
}

pub(super) const TOKEN: TokenStorage = TokenStorage::STATE;

const DECIMALS: u8 = 18;

/// Gas of a receiver of ether, in gas units: enough for a log and no more (`address.transfer`).
const STIPEND: Gas = Gas::new(2_300);

/// WETH9's `require`s have an empty reason.
const NO_REASON: &str = "";

pub(super) fn construct(host: &mut Host<'_>, params: sol::constructorCall) -> Result<(), Stop> {
    TOKEN.name.set(host, params.name)?;
    TOKEN.symbol.set(host, params.symbol)?;
    TOKEN.decimals.overwrite(host, DECIMALS)
}

pub(super) fn total_supply(host: &mut Host<'_>) -> Result<U256, Stop> {
    let own = host.address();
    host.balance(&own)
}

pub(super) fn deposit(host: &mut Host<'_>) -> Result<(), Stop> {
    let (dst, wad) = (host.caller(), host.value());
    give(host, dst, wad)?;
    host.emit(&sol::Deposit { dst, wad })
}

/// Sends ether after the tokens are gone, so that a receiver that calls again finds less.
pub(super) fn withdraw(host: &mut Host<'_>, wad: U256) -> Result<(), Stop> {
    let src = host.caller();
    take(host, src, wad)?;
    // The call with value adds the stipend itself.
    let gas = if wad.is_zero() { STIPEND } else { Gas::ZERO };
    host.call_with_gas(src, wad, &[], gas)?.or_revert()?;
    host.emit(&sol::Withdrawal { src, wad })
}

pub(super) fn approve(host: &mut Host<'_>, guy: Address, wad: U256) -> Result<bool, Stop> {
    let src = host.caller();
    TOKEN.allowances.at(host, src)?.set(host, guy, wad)?;
    host.emit(&sol::Approval { src, guy, wad })?;
    Ok(true)
}

pub(super) fn transfer(host: &mut Host<'_>, dst: Address, wad: U256) -> Result<bool, Stop> {
    let src = host.caller();
    transfer_from(host, src, dst, wad)
}

pub(super) fn transfer_from(host: &mut Host<'_>, src: Address, dst: Address, wad: U256) -> Result<bool, Stop> {
    let spender = host.caller();
    let held = TOKEN.balances.get(host, src)?;
    require_that(held >= wad, NO_REASON)?;
    if src != spender {
        let allowance = TOKEN.allowances.at(host, src)?.at(host, spender)?;
        let allowed = allowance.get(host)?;
        if allowed != U256::MAX {
            require_that(allowed >= wad, NO_REASON)?;
            allowance.set(host, allowed - wad)?;
        }
    }
    take(host, src, wad)?;
    give(host, dst, wad)?;
    host.emit(&sol::Transfer { src, dst, wad })?;
    Ok(true)
}

fn take(host: &mut Host<'_>, src: Address, wad: U256) -> Result<(), Stop> {
    TOKEN.balances.at(host, src)?.update(host, |held| {
        require_that(held >= wad, NO_REASON)?;
        Ok(held - wad)
    })
}

fn give(host: &mut Host<'_>, dst: Address, wad: U256) -> Result<(), Stop> {
    // The sum of all balances is at most the ether that there is.
    TOKEN.balances.at(host, dst)?.update(host, |held| Ok(held.wrapping_add(wad)))
}
