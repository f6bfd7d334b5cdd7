//! Swaps along paths.

use super::{
    interface as sol,
    library::{Hop, Route, amount_out},
    payments::{ensure, refund, take, unwrap_for, wrap_for},
    state::FIXED,
};
use crate::{
    templates::{
        common::{
            ds_math::{DsMath, invalid, require_that},
            legacy_calls, safe_erc20,
        },
        liquidity_pool::interface::swapCall,
    },
    vm::contract::*,
};

const INSUFFICIENT_OUTPUT: &str = "UniswapV2Router: INSUFFICIENT_OUTPUT_AMOUNT";
const EXCESSIVE_INPUT: &str = "UniswapV2Router: EXCESSIVE_INPUT_AMOUNT";
const INVALID_PATH: &str = "UniswapV2Router: INVALID_PATH";

/// Returns the amounts of a swap, the first and the last among them.
type Amounts = Result<Vec<U256>, Stop>;

pub(super) fn exact_tokens_for_tokens(host: &mut Host<'_>, call: &sol::swapExactTokensForTokensCall) -> Amounts {
    ensure(host, call.deadline)?;
    let route = Route::forwards(host, call.amountIn, &call.path)?;
    require_that(route.last() >= call.amountOutMin, INSUFFICIENT_OUTPUT)?;
    take_and_swap(host, &route, &call.path, call.to)?;
    Ok(route.amounts)
}

pub(super) fn tokens_for_exact_tokens(host: &mut Host<'_>, call: &sol::swapTokensForExactTokensCall) -> Amounts {
    ensure(host, call.deadline)?;
    let route = Route::backwards(host, call.amountOut, &call.path)?;
    require_that(route.first() <= call.amountInMax, EXCESSIVE_INPUT)?;
    take_and_swap(host, &route, &call.path, call.to)?;
    Ok(route.amounts)
}

pub(super) fn exact_eth_for_tokens(host: &mut Host<'_>, call: &sol::swapExactETHForTokensCall) -> Amounts {
    ensure(host, call.deadline)?;
    require_weth(host, call.path.first())?;
    let amount_in = host.value();
    let route = Route::forwards(host, amount_in, &call.path)?;
    require_that(route.last() >= call.amountOutMin, INSUFFICIENT_OUTPUT)?;
    wrap_and_swap(host, &route, call.to)?;
    Ok(route.amounts)
}

pub(super) fn eth_for_exact_tokens(host: &mut Host<'_>, call: &sol::swapETHForExactTokensCall) -> Amounts {
    ensure(host, call.deadline)?;
    require_weth(host, call.path.first())?;
    let route = Route::backwards(host, call.amountOut, &call.path)?;
    require_that(route.first() <= host.value(), EXCESSIVE_INPUT)?;
    wrap_and_swap(host, &route, call.to)?;
    refund(host, route.first())?;
    Ok(route.amounts)
}

pub(super) fn exact_tokens_for_eth(host: &mut Host<'_>, call: &sol::swapExactTokensForETHCall) -> Amounts {
    ensure(host, call.deadline)?;
    require_weth(host, call.path.last())?;
    let route = Route::forwards(host, call.amountIn, &call.path)?;
    require_that(route.last() >= call.amountOutMin, INSUFFICIENT_OUTPUT)?;
    swap_and_unwrap(host, &route, &call.path, call.to)?;
    Ok(route.amounts)
}

pub(super) fn tokens_for_exact_eth(host: &mut Host<'_>, call: &sol::swapTokensForExactETHCall) -> Amounts {
    ensure(host, call.deadline)?;
    require_weth(host, call.path.last())?;
    let route = Route::backwards(host, call.amountOut, &call.path)?;
    require_that(route.first() <= call.amountInMax, EXCESSIVE_INPUT)?;
    swap_and_unwrap(host, &route, &call.path, call.to)?;
    Ok(route.amounts)
}

/// Refuses a path whose end is not WETH; one without ends has no such element.
fn require_weth(host: &mut Host<'_>, end: Option<&Address>) -> Result<(), Stop> {
    let end = end.ok_or_else(invalid)?;
    require_that(*end == FIXED.weth.get(host)?, INVALID_PATH)
}

fn take_and_swap(host: &mut Host<'_>, route: &Route, path: &[Address], to: Address) -> Result<(), Stop> {
    let (token, first) = path.first().zip(route.hops.first()).ok_or_else(invalid)?;
    take(host, *token, first.pair, route.first())?;
    swap(host, route, to)
}

fn wrap_and_swap(host: &mut Host<'_>, route: &Route, to: Address) -> Result<(), Stop> {
    let first = route.hops.first().ok_or_else(invalid)?;
    wrap_for(host, first.pair, route.first())?;
    swap(host, route, to)
}

fn swap_and_unwrap(host: &mut Host<'_>, route: &Route, path: &[Address], to: Address) -> Result<(), Stop> {
    let own = host.address();
    take_and_swap(host, route, path, own)?;
    unwrap_for(host, to, route.last())
}

/// Swaps along a route whose first pool has what comes in: each pool gives to the next one (`_swap`).
fn swap(host: &mut Host<'_>, route: &Route, to: Address) -> Result<(), Stop> {
    let receivers = route.hops.iter().skip(1).map(|hop| hop.pair).chain([to]);
    let outputs = route.amounts.iter().skip(1);
    for ((hop, output), receiver) in route.hops.iter().zip(outputs).zip(receivers) {
        swap_hop(host, *hop, *output, receiver)?;
    }
    Ok(())
}

fn swap_hop(host: &mut Host<'_>, hop: Hop, output: U256, to: Address) -> Result<(), Stop> {
    let (out0, out1) = hop.in_and_out(U256::ZERO, output);
    let call = swapCall { amount0Out: out0, amount1Out: out1, to, data: Bytes::new() };
    legacy_calls::call(host, hop.pair, U256::ZERO, &call).map(drop)
}

pub(super) fn tokens_for_tokens_with_fee(
    host: &mut Host<'_>,
    call: &sol::swapExactTokensForTokensSupportingFeeOnTransferTokensCall,
) -> Result<(), Stop> {
    ensure(host, call.deadline)?;
    take_for_first(host, &call.path, call.amountIn)?;
    swap_what_arrives_at_least(host, &call.path, call.to, call.amountOutMin)
}

pub(super) fn eth_for_tokens_with_fee(
    host: &mut Host<'_>,
    call: &sol::swapExactETHForTokensSupportingFeeOnTransferTokensCall,
) -> Result<(), Stop> {
    ensure(host, call.deadline)?;
    require_weth(host, call.path.first())?;
    let first = first_hop(host, &call.path)?;
    let amount_in = host.value();
    wrap_for(host, first.pair, amount_in)?;
    swap_what_arrives_at_least(host, &call.path, call.to, call.amountOutMin)
}

pub(super) fn tokens_for_eth_with_fee(
    host: &mut Host<'_>,
    call: &sol::swapExactTokensForETHSupportingFeeOnTransferTokensCall,
) -> Result<(), Stop> {
    ensure(host, call.deadline)?;
    require_weth(host, call.path.last())?;
    take_for_first(host, &call.path, call.amountIn)?;
    let own = host.address();
    swap_what_arrives(host, &call.path, own)?;
    let weth = FIXED.weth.get(host)?;
    let output = safe_erc20::balance_of(host, weth, own)?;
    require_that(output >= call.amountOutMin, INSUFFICIENT_OUTPUT)?;
    unwrap_for(host, call.to, output)
}

/// Returns the first pool of a path, which a path of fewer than two tokens does not have.
fn first_hop(host: &mut Host<'_>, path: &[Address]) -> Result<Hop, Stop> {
    match path {
        [first, second, ..] => Hop::between(host, *first, *second),
        _ => Err(invalid()),
    }
}

fn take_for_first(host: &mut Host<'_>, path: &[Address], amount_in: U256) -> Result<(), Stop> {
    let first = first_hop(host, path)?;
    let token = path.first().ok_or_else(invalid)?;
    take(host, *token, first.pair, amount_in)
}

/// Swaps what the first pool has got, of which `to` has to get so much.
fn swap_what_arrives_at_least(host: &mut Host<'_>, path: &[Address], to: Address, least: U256) -> Result<(), Stop> {
    let output = *path.last().ok_or_else(invalid)?;
    let before = safe_erc20::balance_of(host, output, to)?;
    swap_what_arrives(host, path, to)?;
    let gained = safe_erc20::balance_of(host, output, to)?.ds_sub(before)?;
    require_that(gained >= least, INSUFFICIENT_OUTPUT)
}

/// Swaps along a path what each pool has above its reserve (`_swapSupportingFeeOnTransferTokens`).
fn swap_what_arrives(host: &mut Host<'_>, path: &[Address], to: Address) -> Result<(), Stop> {
    for (index, step) in path.windows(2).enumerate() {
        let hop = Hop::between(host, step[0], step[1])?;
        let (reserve_in, reserve_out) = hop.reserves(host)?;
        let arrived = safe_erc20::balance_of(host, step[0], hop.pair)?.ds_sub(reserve_in)?;
        let output = amount_out(arrived, reserve_in, reserve_out)?;
        let receiver = match path.get(index + 2) {
            Some(next) => Hop::between(host, step[1], *next)?.pair,
            None => to,
        };
        swap_hop(host, hop, output, receiver)?;
    }
    Ok(())
}
