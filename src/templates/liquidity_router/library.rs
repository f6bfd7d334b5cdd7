//! Amounts and pools: UniswapV2Library.

use super::state::FIXED;
use crate::{
    templates::{
        common::{
            ds_math::{DsMath, require_that},
            legacy_calls,
        },
        liquidity_factory::interface::getPairCall,
        liquidity_pool::interface::getReservesCall,
    },
    vm::contract::*,
};

/// What a swap leaves of what comes in, and the whole, in thousandths.
const KEPT: U256 = U256::from_limbs([997, 0, 0, 0]);
const WHOLE: U256 = U256::from_limbs([1_000, 0, 0, 0]);

/// A step along a path: the pool of two tokens, and which of these comes in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hop {
    pub(super) pair: Address,
    /// Whether the pool's lower token comes in.
    pub(super) is_token0_in: bool,
}

impl Hop {
    /// Finds the pool of two tokens (`sortTokens`, `pairFor`).
    ///
    /// Uniswap computes the pool's address. Here the factory tells it, so that the router works with any factory. Where there is no pool
    /// the address is one that has no contract: what is called there reverts without data, as at Uniswap's.
    pub(super) fn between(host: &mut Host<'_>, token_in: Address, token_out: Address) -> Result<Self, Stop> {
        let (token0, token1) = sort(token_in, token_out)?;
        let factory = FIXED.factory.get(host)?;
        let mut pair = legacy_calls::view(host, factory, &getPairCall { tokenA: token0, tokenB: token1 })?;
        if pair.is_zero() {
            pair = Address::from_word(host.keccak(&[token0, token1].concat())?);
        }
        Ok(Self { pair, is_token0_in: token_in == token0 })
    }

    /// Returns the pool's reserves: of what comes in, and of what goes out (`getReserves`).
    pub(super) fn reserves(self, host: &mut Host<'_>) -> Result<(U256, U256), Stop> {
        let reserves = legacy_calls::view(host, self.pair, &getReservesCall {})?;
        Ok(self.in_and_out(U256::from(reserves._reserve0), U256::from(reserves._reserve1)))
    }

    /// Returns two amounts by the pool's order of tokens as those that come in and go out, or the other way round.
    pub(super) const fn in_and_out(self, first: U256, second: U256) -> (U256, U256) {
        if self.is_token0_in { (first, second) } else { (second, first) }
    }
}

/// Returns the two by address, the lower first (`sortTokens`).
fn sort(token_a: Address, token_b: Address) -> Result<(Address, Address), Stop> {
    require_that(token_a != token_b, "UniswapV2Library: IDENTICAL_ADDRESSES")?;
    let (token0, token1) = if token_a < token_b { (token_a, token_b) } else { (token_b, token_a) };
    require_that(!token0.is_zero(), "UniswapV2Library: ZERO_ADDRESS")?;
    Ok((token0, token1))
}

/// Returns as much of one token as `amount_a` of the other is, by the reserves.
pub(super) fn quote(amount_a: U256, reserve_a: U256, reserve_b: U256) -> Result<U256, Stop> {
    require_that(!amount_a.is_zero(), "UniswapV2Library: INSUFFICIENT_AMOUNT")?;
    require_liquidity(reserve_a, reserve_b)?;
    amount_a.ds_mul(reserve_b)?.plain_div(reserve_a)
}

/// Returns the most that a pool gives for `amount_in`.
pub(super) fn amount_out(amount_in: U256, reserve_in: U256, reserve_out: U256) -> Result<U256, Stop> {
    require_that(!amount_in.is_zero(), "UniswapV2Library: INSUFFICIENT_INPUT_AMOUNT")?;
    require_liquidity(reserve_in, reserve_out)?;
    let kept = amount_in.ds_mul(KEPT)?;
    let whole = kept.ds_mul(reserve_out)?;
    whole.plain_div(reserve_in.ds_mul(WHOLE)?.ds_add(kept)?)
}

/// Returns the least for which a pool gives `amount_out`.
pub(super) fn amount_in(amount_out: U256, reserve_in: U256, reserve_out: U256) -> Result<U256, Stop> {
    require_that(!amount_out.is_zero(), "UniswapV2Library: INSUFFICIENT_OUTPUT_AMOUNT")?;
    require_liquidity(reserve_in, reserve_out)?;
    let whole = reserve_in.ds_mul(amount_out)?.ds_mul(WHOLE)?;
    let left = reserve_out.ds_sub(amount_out)?.ds_mul(KEPT)?;
    whole.plain_div(left)?.ds_add(U256::ONE)
}

fn require_liquidity(reserve_a: U256, reserve_b: U256) -> Result<(), Stop> {
    require_that(!reserve_a.is_zero() && !reserve_b.is_zero(), "UniswapV2Library: INSUFFICIENT_LIQUIDITY")
}

/// The pools along a path, and the amounts between them: one more than pools.
#[derive(Clone, Debug, Default)]
pub(super) struct Route {
    pub(super) hops: Vec<Hop>,
    pub(super) amounts: Vec<U256>,
}

impl Route {
    /// Follows a path with what comes in (`getAmountsOut`).
    pub(super) fn forwards(host: &mut Host<'_>, amount_in: U256, path: &[Address]) -> Result<Self, Stop> {
        require_path(path)?;
        let mut route = Self { hops: Vec::new(), amounts: vec![amount_in] };
        let mut amount = amount_in;
        for step in path.windows(2) {
            let hop = Hop::between(host, step[0], step[1])?;
            let (reserve_in, reserve_out) = hop.reserves(host)?;
            amount = amount_out(amount, reserve_in, reserve_out)?;
            route.hops.push(hop);
            route.amounts.push(amount);
        }
        Ok(route)
    }

    /// Follows a path back from what is to go out (`getAmountsIn`).
    pub(super) fn backwards(host: &mut Host<'_>, amount_out: U256, path: &[Address]) -> Result<Self, Stop> {
        require_path(path)?;
        let mut route = Self { hops: Vec::new(), amounts: vec![amount_out] };
        let mut amount = amount_out;
        for step in path.windows(2).rev() {
            let hop = Hop::between(host, step[0], step[1])?;
            let (reserve_in, reserve_out) = hop.reserves(host)?;
            amount = amount_in(amount, reserve_in, reserve_out)?;
            route.hops.push(hop);
            route.amounts.push(amount);
        }
        route.hops.reverse();
        route.amounts.reverse();
        Ok(route)
    }

    /// Returns what comes in.
    pub(super) fn first(&self) -> U256 {
        self.amounts.first().copied().unwrap_or_default()
    }

    /// Returns what goes out.
    pub(super) fn last(&self) -> U256 {
        self.amounts.last().copied().unwrap_or_default()
    }
}

fn require_path(path: &[Address]) -> Result<(), Stop> {
    require_that(path.len() >= 2, "UniswapV2Library: INVALID_PATH")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{templates::common::ds_math::invalid, vm::abi::revert_with};

    fn n(number: u64) -> U256 {
        U256::from(number)
    }

    /// The figures of Uniswap's own tests.
    #[test]
    fn amounts_are_those_of_uniswaps_tests() {
        assert_eq!(quote(n(1), n(100), n(200)), Ok(n(2)));
        assert_eq!(quote(n(2), n(200), n(100)), Ok(n(1)));
        assert_eq!(amount_out(n(2), n(100), n(100)), Ok(n(1)));
        assert_eq!(amount_in(n(1), n(100), n(100)), Ok(n(2)));
        let refused = |reason| Err(revert_with(reason));
        assert_eq!(quote(n(0), n(100), n(200)), refused("UniswapV2Library: INSUFFICIENT_AMOUNT"));
        assert_eq!(amount_out(n(0), n(100), n(100)), refused("UniswapV2Library: INSUFFICIENT_INPUT_AMOUNT"));
        assert_eq!(amount_in(n(0), n(100), n(100)), refused("UniswapV2Library: INSUFFICIENT_OUTPUT_AMOUNT"));
        for (reserve_a, reserve_b) in [(0, 200), (100, 0)] {
            let none = refused("UniswapV2Library: INSUFFICIENT_LIQUIDITY");
            for function in [quote, amount_out, amount_in] {
                assert_eq!(function(n(1), n(reserve_a), n(reserve_b)), none);
            }
        }
        assert_eq!(amount_in(n(101), n(100), n(100)), refused("ds-math-sub-underflow"));
        assert_eq!(amount_in(n(100), n(100), n(100)), Err(invalid()), "all of a reserve has no price");
    }

    proptest! {
        /// A pool gives no more than its product allows, and what is asked back for it is no more than was paid.
        #[test]
        fn amounts_keep_the_product(amount in 1_u64.., reserve_in in 1_u64.., reserve_out in 1_u64..) {
            let (amount, reserve_in, reserve_out) = (n(amount), n(reserve_in), n(reserve_out));
            let out = amount_out(amount, reserve_in, reserve_out).unwrap();
            prop_assert!(out < reserve_out);
            let adjusted = (reserve_in + amount) * WHOLE - amount * n(3);
            prop_assert!(adjusted * (reserve_out - out) >= reserve_in * reserve_out * WHOLE);
            prop_assert!(adjusted * (reserve_out - out - n(1)) < reserve_in * reserve_out * WHOLE, "one more would be too much");
            if !out.is_zero() {
                prop_assert!(amount_in(out, reserve_in, reserve_out).unwrap() <= amount + n(1));
            }
        }
    }
}
