//! Tokens and ether on their way: TransferHelper, and the native token's wrapper.

use super::state::FIXED;
use crate::{
    templates::{
        common::{
            ds_math::{assert_holds, require_that},
            legacy_calls,
        },
        wrapped_native::interface::{depositCall, transferCall, withdrawCall},
    },
    vm::contract::*,
};

/// Refuses a call after its deadline, in seconds since the Unix epoch (the modifier `ensure`).
pub(super) fn ensure(host: &Host<'_>, deadline: U256) -> Result<(), Stop> {
    let now = U256::from(host.block().timestamp.as_secs());
    require_that(deadline >= now, "UniswapV2Router: EXPIRED")
}

/// Takes tokens of the caller.
pub(super) fn take(host: &mut Host<'_>, token: Address, to: Address, value: U256) -> Result<(), Stop> {
    let from = host.caller();
    legacy_calls::safe_transfer_from(host, token, from, to, value, "TransferHelper: TRANSFER_FROM_FAILED")
}

/// Gives tokens of the router.
pub(super) fn give(host: &mut Host<'_>, token: Address, to: Address, value: U256) -> Result<(), Stop> {
    legacy_calls::safe_transfer(host, token, to, value, "TransferHelper: TRANSFER_FAILED")
}

/// Sends ether of the router, in wei.
pub(super) fn give_eth(host: &mut Host<'_>, to: Address, value: U256) -> Result<(), Stop> {
    let is_sent = host.call(to, value, &[])?.is_success();
    require_that(is_sent, "TransferHelper: ETH_TRANSFER_FAILED")
}

/// Wraps ether and gives the tokens.
pub(super) fn wrap_for(host: &mut Host<'_>, to: Address, value: U256) -> Result<(), Stop> {
    let weth = FIXED.weth.get(host)?;
    legacy_calls::call(host, weth, value, &depositCall {})?;
    let is_given = legacy_calls::call(host, weth, U256::ZERO, &transferCall { dst: to, wad: value })?;
    assert_holds(is_given)
}

/// Unwraps the router's tokens and sends the ether.
pub(super) fn unwrap_for(host: &mut Host<'_>, to: Address, value: U256) -> Result<(), Stop> {
    let weth = FIXED.weth.get(host)?;
    legacy_calls::call(host, weth, U256::ZERO, &withdrawCall { wad: value })?;
    give_eth(host, to, value)
}

/// Returns to the caller what of the call's value was not needed.
pub(super) fn refund(host: &mut Host<'_>, used: U256) -> Result<(), Stop> {
    match host.value().checked_sub(used) {
        Some(rest) if !rest.is_zero() => {
            let caller = host.caller();
            give_eth(host, caller, rest)
        }
        _ => Ok(()),
    }
}
