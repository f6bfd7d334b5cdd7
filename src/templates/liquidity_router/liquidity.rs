//! Liquidity added and removed.

use super::{
    interface as sol,
    library::{self, Hop},
    payments::{ensure, give, refund, take, unwrap_for, wrap_for},
    state::FIXED,
};
use crate::{
    templates::{
        common::{
            ds_math::{assert_holds, require_that},
            legacy_calls, safe_erc20,
        },
        liquidity_factory::interface::{createPairCall, getPairCall},
        liquidity_pool::interface::{burnCall, mintCall, permitCall, transferFromCall},
    },
    vm::contract::*,
};

const INSUFFICIENT_A: &str = "UniswapV2Router: INSUFFICIENT_A_AMOUNT";
const INSUFFICIENT_B: &str = "UniswapV2Router: INSUFFICIENT_B_AMOUNT";

/// Two amounts of a pool's tokens.
type Amounts = (U256, U256);

pub(super) fn add(host: &mut Host<'_>, call: &sol::addLiquidityCall) -> Result<sol::addLiquidityReturn, Stop> {
    ensure(host, call.deadline)?;
    let tokens = (call.tokenA, call.tokenB);
    let desired = (call.amountADesired, call.amountBDesired);
    let (pair, (amount_a, amount_b)) = place(host, tokens, desired, (call.amountAMin, call.amountBMin))?;
    take(host, call.tokenA, pair, amount_a)?;
    take(host, call.tokenB, pair, amount_b)?;
    let liquidity = legacy_calls::call(host, pair, U256::ZERO, &mintCall { to: call.to })?;
    Ok(sol::addLiquidityReturn { amountA: amount_a, amountB: amount_b, liquidity })
}

pub(super) fn add_eth(
    host: &mut Host<'_>,
    call: &sol::addLiquidityETHCall,
) -> Result<sol::addLiquidityETHReturn, Stop> {
    ensure(host, call.deadline)?;
    let tokens = (call.token, FIXED.weth.get(host)?);
    let desired = (call.amountTokenDesired, host.value());
    let (pair, (amount, amount_eth)) = place(host, tokens, desired, (call.amountTokenMin, call.amountETHMin))?;
    take(host, call.token, pair, amount)?;
    wrap_for(host, pair, amount_eth)?;
    let liquidity = legacy_calls::call(host, pair, U256::ZERO, &mintCall { to: call.to })?;
    refund(host, amount_eth)?;
    Ok(sol::addLiquidityETHReturn { amountToken: amount, amountETH: amount_eth, liquidity })
}

/// Makes the pool if there is none yet, and returns it with the amounts that keep its price (`_addLiquidity`).
fn place(
    host: &mut Host<'_>,
    (token_a, token_b): (Address, Address),
    desired: Amounts,
    least: Amounts,
) -> Result<(Address, Amounts), Stop> {
    let factory = FIXED.factory.get(host)?;
    let pair = legacy_calls::view(host, factory, &getPairCall { tokenA: token_a, tokenB: token_b })?;
    if pair.is_zero() {
        legacy_calls::call(host, factory, U256::ZERO, &createPairCall { tokenA: token_a, tokenB: token_b })?;
    }
    let hop = Hop::between(host, token_a, token_b)?;
    let reserves = hop.reserves(host)?;
    Ok((hop.pair, amounts_at_price(reserves, desired, least)?))
}

fn amounts_at_price(reserves: Amounts, desired: Amounts, least: Amounts) -> Result<Amounts, Stop> {
    if reserves.0.is_zero() && reserves.1.is_zero() {
        return Ok(desired);
    }
    let best_b = library::quote(desired.0, reserves.0, reserves.1)?;
    if best_b <= desired.1 {
        require_that(best_b >= least.1, INSUFFICIENT_B)?;
        return Ok((desired.0, best_b));
    }
    let best_a = library::quote(desired.1, reserves.1, reserves.0)?;
    assert_holds(best_a <= desired.0)?;
    require_that(best_a >= least.0, INSUFFICIENT_A)?;
    Ok((best_a, desired.1))
}

pub(super) fn remove(host: &mut Host<'_>, call: &sol::removeLiquidityCall) -> Result<sol::removeLiquidityReturn, Stop> {
    ensure(host, call.deadline)?;
    let hop = Hop::between(host, call.tokenA, call.tokenB)?;
    let (pair, from) = (hop.pair, host.caller());
    legacy_calls::call(host, pair, U256::ZERO, &transferFromCall { from, to: pair, value: call.liquidity })?;
    let burnt = legacy_calls::call(host, pair, U256::ZERO, &burnCall { to: call.to })?;
    let (amount_a, amount_b) = hop.in_and_out(burnt.amount0, burnt.amount1);
    require_that(amount_a >= call.amountAMin, INSUFFICIENT_A)?;
    require_that(amount_b >= call.amountBMin, INSUFFICIENT_B)?;
    Ok(sol::removeLiquidityReturn { amountA: amount_a, amountB: amount_b })
}

/// Removes liquidity of a token and WETH to the router.
fn remove_to_router(host: &mut Host<'_>, call: &sol::removeLiquidityETHCall) -> Result<Amounts, Stop> {
    let removal = sol::removeLiquidityCall {
        tokenA: call.token,
        tokenB: FIXED.weth.get(host)?,
        liquidity: call.liquidity,
        amountAMin: call.amountTokenMin,
        amountBMin: call.amountETHMin,
        to: host.address(),
        deadline: call.deadline,
    };
    let removed = remove(host, &removal)?;
    Ok((removed.amountA, removed.amountB))
}

pub(super) fn remove_eth(
    host: &mut Host<'_>,
    call: &sol::removeLiquidityETHCall,
) -> Result<sol::removeLiquidityETHReturn, Stop> {
    ensure(host, call.deadline)?;
    let (amount, amount_eth) = remove_to_router(host, call)?;
    give(host, call.token, call.to, amount)?;
    unwrap_for(host, call.to, amount_eth)?;
    Ok(sol::removeLiquidityETHReturn { amountToken: amount, amountETH: amount_eth })
}

/// Gives on all tokens that the router has: with a fee, fewer arrive than the pool sent.
pub(super) fn remove_eth_with_fee(
    host: &mut Host<'_>,
    call: &sol::removeLiquidityETHSupportingFeeOnTransferTokensCall,
) -> Result<U256, Stop> {
    let sol::removeLiquidityETHSupportingFeeOnTransferTokensCall { token, to, deadline, .. } = *call;
    ensure(host, deadline)?;
    let removal = sol::removeLiquidityETHCall {
        token,
        liquidity: call.liquidity,
        amountTokenMin: call.amountTokenMin,
        amountETHMin: call.amountETHMin,
        to,
        deadline,
    };
    let (_, amount_eth) = remove_to_router(host, &removal)?;
    let own = host.address();
    let arrived = safe_erc20::balance_of(host, token, own)?;
    give(host, token, to, arrived)?;
    unwrap_for(host, to, amount_eth)?;
    Ok(amount_eth)
}

/// A caller's signature that lets the router take LP tokens.
struct Permit {
    tokens: (Address, Address),
    liquidity: U256,
    deadline: U256,
    /// Whether all LP tokens are allowed, and not only those that are removed.
    is_max: bool,
    signature: (u8, B256, B256),
}

impl Permit {
    fn submit(self, host: &mut Host<'_>) -> Result<(), Stop> {
        let hop = Hop::between(host, self.tokens.0, self.tokens.1)?;
        let (v, r, s) = self.signature;
        let permit = permitCall {
            owner: host.caller(),
            spender: host.address(),
            value: if self.is_max { U256::MAX } else { self.liquidity },
            deadline: self.deadline,
            v,
            r,
            s,
        };
        legacy_calls::call(host, hop.pair, U256::ZERO, &permit).map(drop)
    }
}

pub(super) fn remove_with_permit(
    host: &mut Host<'_>,
    call: &sol::removeLiquidityWithPermitCall,
) -> Result<sol::removeLiquidityWithPermitReturn, Stop> {
    let sol::removeLiquidityWithPermitCall { tokenA, tokenB, liquidity, amountAMin, amountBMin, to, deadline, .. } =
        *call;
    let signature = (call.v, call.r, call.s);
    Permit { tokens: (tokenA, tokenB), liquidity, deadline, is_max: call.approveMax, signature }.submit(host)?;
    let removal = sol::removeLiquidityCall { tokenA, tokenB, liquidity, amountAMin, amountBMin, to, deadline };
    let sol::removeLiquidityReturn { amountA, amountB } = remove(host, &removal)?;
    Ok(sol::removeLiquidityWithPermitReturn { amountA, amountB })
}

pub(super) fn remove_eth_with_permit(
    host: &mut Host<'_>,
    call: &sol::removeLiquidityETHWithPermitCall,
) -> Result<sol::removeLiquidityETHWithPermitReturn, Stop> {
    let sol::removeLiquidityETHWithPermitCall { token, liquidity, amountTokenMin, amountETHMin, to, deadline, .. } =
        *call;
    let (tokens, signature) = ((token, FIXED.weth.get(host)?), (call.v, call.r, call.s));
    Permit { tokens, liquidity, deadline, is_max: call.approveMax, signature }.submit(host)?;
    let removal = sol::removeLiquidityETHCall { token, liquidity, amountTokenMin, amountETHMin, to, deadline };
    let sol::removeLiquidityETHReturn { amountToken, amountETH } = remove_eth(host, &removal)?;
    Ok(sol::removeLiquidityETHWithPermitReturn { amountToken, amountETH })
}

pub(super) fn remove_eth_with_permit_and_fee(
    host: &mut Host<'_>,
    call: &sol::removeLiquidityETHWithPermitSupportingFeeOnTransferTokensCall,
) -> Result<U256, Stop> {
    let (liquidity, deadline) = (call.liquidity, call.deadline);
    let (tokens, signature) = ((call.token, FIXED.weth.get(host)?), (call.v, call.r, call.s));
    Permit { tokens, liquidity, deadline, is_max: call.approveMax, signature }.submit(host)?;
    let removal = sol::removeLiquidityETHSupportingFeeOnTransferTokensCall {
        token: call.token,
        liquidity,
        amountTokenMin: call.amountTokenMin,
        amountETHMin: call.amountETHMin,
        to: call.to,
        deadline,
    };
    remove_eth_with_fee(host, &removal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vm::abi::revert_with;

    #[test]
    fn liquidity_is_added_at_the_price_or_refused() {
        let pair = |a: u64, b: u64| (U256::from(a), U256::from(b));
        let nothing = pair(0, 0);
        assert_eq!(amounts_at_price(nothing, pair(7, 9), pair(8, 10)), Ok(pair(7, 9)), "the first sets the price");
        assert_eq!(amounts_at_price(pair(100, 200), pair(10, 30), pair(10, 20)), Ok(pair(10, 20)));
        assert_eq!(amounts_at_price(pair(100, 200), pair(20, 20), pair(10, 20)), Ok(pair(10, 20)));
        let too_few_b = amounts_at_price(pair(100, 200), pair(10, 30), pair(0, 21));
        assert_eq!(too_few_b, Err(revert_with(INSUFFICIENT_B)));
        let too_few_a = amounts_at_price(pair(100, 200), pair(20, 20), pair(11, 0));
        assert_eq!(too_few_a, Err(revert_with(INSUFFICIENT_A)));
    }
}
