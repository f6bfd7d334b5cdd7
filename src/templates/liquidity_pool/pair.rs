//! Liquidity, swaps and the protocol fee: UniswapV2Pair.

use alloy_primitives::aliases::U112;

use super::{
    interface::{self as sol, IUniswapV2Callee::uniswapV2CallCall, IUniswapV2Factory::feeToCall},
    reserves::Reserves,
    state::{POOL, RESERVES},
};
use crate::{
    templates::common::{
        ds_math::{DsMath, require_that, sqrt},
        legacy_calls, safe_erc20,
    },
    vm::contract::*,
};

/// LP tokens of the first mint that nobody gets, so that an LP token can't be made too dear.
pub const MINIMUM_LIQUIDITY: U256 = U256::from_limbs([1_000, 0, 0, 0]);

const UNLOCKED: U256 = U256::ONE;

/// A swap's fee and its whole, in thousandths.
const SWAP_FEE: U256 = U256::from_limbs([3, 0, 0, 0]);
const SWAP_WHOLE: U256 = U256::from_limbs([1_000, 0, 0, 0]);

/// The protocol gets one part of growth for so many that stay with the holders of LP tokens.
const HOLDERS_PARTS: U256 = U256::from_limbs([5, 0, 0, 0]);

pub(super) fn construct(host: &mut Host<'_>, params: sol::constructorCall) -> Result<(), Stop> {
    POOL.lp.construct(host)?;
    POOL.unlocked.set(host, UNLOCKED)?;
    let sol::constructorCall { token0, token1 } = params;
    let creator = host.caller();
    if token0.is_zero() && token1.is_zero() {
        return POOL.factory.overwrite(host, creator);
    }
    let (lower, higher) = if token0 < token1 { (token0, token1) } else { (token1, token0) };
    require(!lower.is_zero(), sol::PoolInvalidToken { token: lower })?;
    require(lower != higher, sol::PoolIdenticalTokens { token: lower })?;
    POOL.factory.overwrite(host, creator)?;
    POOL.is_alone.set(host, true)?;
    set_tokens(host, lower, higher)
}

pub(super) fn initialize(host: &mut Host<'_>, token0: Address, token1: Address) -> Result<(), Stop> {
    let is_creator = host.caller() == POOL.factory.get(host)?;
    require_that(is_creator && !POOL.is_alone.get(host)?, "UniswapV2: FORBIDDEN")?;
    set_tokens(host, token0, token1)
}

fn set_tokens(host: &mut Host<'_>, token0: Address, token1: Address) -> Result<(), Stop> {
    POOL.token0.overwrite(host, token0)?;
    POOL.token1.overwrite(host, token1)
}

pub(super) fn mint(host: &mut Host<'_>, to: Address) -> Result<U256, Stop> {
    lock(host)?;
    let reserves = RESERVES.get(host)?;
    let (reserve0, reserve1) = reserves.words();
    let (balance0, balance1) = Tokens::get(host)?.balances(host)?;
    let (amount0, amount1) = (balance0.ds_sub(reserve0)?, balance1.ds_sub(reserve1)?);
    let has_fee = mint_fee(host, reserves)?;
    // The fee may have added to it.
    let supply = POOL.lp.total_supply.get(host)?;
    let liquidity = if supply.is_zero() {
        let first = sqrt(host, amount0.ds_mul(amount1)?)?.ds_sub(MINIMUM_LIQUIDITY)?;
        POOL.lp.mint(host, Address::ZERO, MINIMUM_LIQUIDITY)?;
        first
    } else {
        let (by0, by1) = (amount0.ds_mul(supply)?.plain_div(reserve0)?, amount1.ds_mul(supply)?.plain_div(reserve1)?);
        by0.min(by1)
    };
    require_that(!liquidity.is_zero(), "UniswapV2: INSUFFICIENT_LIQUIDITY_MINTED")?;
    POOL.lp.mint(host, to, liquidity)?;
    update(host, balance0, balance1, reserves)?;
    note_product(host, has_fee)?;
    host.emit(&sol::Mint { sender: host.caller(), amount0, amount1 })?;
    unlock(host)?;
    Ok(liquidity)
}

pub(super) fn burn(host: &mut Host<'_>, to: Address) -> Result<sol::burnReturn, Stop> {
    lock(host)?;
    let reserves = RESERVES.get(host)?;
    let tokens = Tokens::get(host)?;
    let (balance0, balance1) = tokens.balances(host)?;
    let own = host.address();
    let liquidity = POOL.lp.balances.get(host, own)?;
    let has_fee = mint_fee(host, reserves)?;
    // The fee may have added to it.
    let supply = POOL.lp.total_supply.get(host)?;
    let amount0 = liquidity.ds_mul(balance0)?.plain_div(supply)?;
    let amount1 = liquidity.ds_mul(balance1)?.plain_div(supply)?;
    require_that(!amount0.is_zero() && !amount1.is_zero(), "UniswapV2: INSUFFICIENT_LIQUIDITY_BURNED")?;
    POOL.lp.burn(host, own, liquidity)?;
    send(host, tokens.token0, to, amount0)?;
    send(host, tokens.token1, to, amount1)?;
    let (balance0, balance1) = tokens.balances(host)?;
    update(host, balance0, balance1, reserves)?;
    note_product(host, has_fee)?;
    host.emit(&sol::Burn { sender: host.caller(), amount0, amount1, to })?;
    unlock(host)?;
    Ok(sol::burnReturn { amount0, amount1 })
}

/// Gives what is asked for, calls the receiver if there is data for it, and then looks at what came in.
pub(super) fn swap(host: &mut Host<'_>, call: &sol::swapCall) -> Result<(), Stop> {
    let sol::swapCall { amount0Out: out0, amount1Out: out1, to, .. } = *call;
    lock(host)?;
    require_that(!out0.is_zero() || !out1.is_zero(), "UniswapV2: INSUFFICIENT_OUTPUT_AMOUNT")?;
    let reserves = RESERVES.get(host)?;
    let (reserve0, reserve1) = reserves.words();
    require_that(out0 < reserve0 && out1 < reserve1, "UniswapV2: INSUFFICIENT_LIQUIDITY")?;
    let tokens = Tokens::get(host)?;
    require_that(to != tokens.token0 && to != tokens.token1, "UniswapV2: INVALID_TO")?;
    for (token, out) in [(tokens.token0, out0), (tokens.token1, out1)] {
        if !out.is_zero() {
            send(host, token, to, out)?;
        }
    }
    let sender = host.caller();
    if !call.data.is_empty() {
        let callback = uniswapV2CallCall { sender, amount0: out0, amount1: out1, data: call.data.clone() };
        legacy_calls::call(host, to, U256::ZERO, &callback)?;
    }
    let (balance0, balance1) = tokens.balances(host)?;
    // What goes out is below the reserve.
    let (in0, in1) = (balance0.saturating_sub(reserve0 - out0), balance1.saturating_sub(reserve1 - out1));
    require_that(!in0.is_zero() || !in1.is_zero(), "UniswapV2: INSUFFICIENT_INPUT_AMOUNT")?;
    let (adjusted0, adjusted1) = (less_fee(balance0, in0)?, less_fee(balance1, in1)?);
    let least = reserve0.ds_mul(reserve1)?.ds_mul(SWAP_WHOLE * SWAP_WHOLE)?;
    require_that(adjusted0.ds_mul(adjusted1)? >= least, "UniswapV2: K")?;
    update(host, balance0, balance1, reserves)?;
    host.emit(&sol::Swap { sender, amount0In: in0, amount1In: in1, amount0Out: out0, amount1Out: out1, to })?;
    unlock(host)
}

/// Returns a balance less the fee of what came in, in thousandths.
fn less_fee(balance: U256, amount_in: U256) -> Result<U256, Stop> {
    balance.ds_mul(SWAP_WHOLE)?.ds_sub(amount_in.ds_mul(SWAP_FEE)?)
}

/// Gives away what the balances have above the reserves.
pub(super) fn skim(host: &mut Host<'_>, to: Address) -> Result<(), Stop> {
    lock(host)?;
    let (tokens, own) = (Tokens::get(host)?, host.address());
    let above = safe_erc20::balance_of(host, tokens.token0, own)?.ds_sub(RESERVES.get(host)?.words().0)?;
    send(host, tokens.token0, to, above)?;
    let above = safe_erc20::balance_of(host, tokens.token1, own)?.ds_sub(RESERVES.get(host)?.words().1)?;
    send(host, tokens.token1, to, above)?;
    unlock(host)
}

/// Makes the balances the reserves.
pub(super) fn sync(host: &mut Host<'_>) -> Result<(), Stop> {
    lock(host)?;
    let (balance0, balance1) = Tokens::get(host)?.balances(host)?;
    let reserves = RESERVES.get(host)?;
    update(host, balance0, balance1, reserves)?;
    unlock(host)
}

/// The pool's two tokens.
#[derive(Clone, Copy, Debug)]
struct Tokens {
    token0: Address,
    token1: Address,
}

impl Tokens {
    fn get(host: &mut Host<'_>) -> Result<Self, Stop> {
        Ok(Self { token0: POOL.token0.get(host)?, token1: POOL.token1.get(host)? })
    }

    /// Returns what the pool has of each.
    fn balances(self, host: &mut Host<'_>) -> Result<(U256, U256), Stop> {
        let own = host.address();
        Ok((safe_erc20::balance_of(host, self.token0, own)?, safe_erc20::balance_of(host, self.token1, own)?))
    }
}

fn send(host: &mut Host<'_>, token: Address, to: Address, value: U256) -> Result<(), Stop> {
    legacy_calls::safe_transfer(host, token, to, value, "UniswapV2: TRANSFER_FAILED")
}

/// The first half of the modifier `lock`: only a function that ends well unlocks, and one that does not is undone.
fn lock(host: &mut Host<'_>) -> Result<(), Stop> {
    POOL.unlocked.update(host, |unlocked| {
        require_that(unlocked == UNLOCKED, "UniswapV2: LOCKED")?;
        Ok(U256::ZERO)
    })
}

fn unlock(host: &mut Host<'_>) -> Result<(), Stop> {
    POOL.unlocked.set(host, UNLOCKED)
}

/// Makes balances the reserves and accumulates the prices that the reserves before had (`_update`).
fn update(host: &mut Host<'_>, balance0: U256, balance1: U256, before: Reserves) -> Result<(), Stop> {
    let fits = |balance: U256| U112::checked_from_limbs_slice(balance.as_limbs());
    let (Some(reserve0), Some(reserve1)) = (fits(balance0), fits(balance1)) else {
        return require_that(false, "UniswapV2: OVERFLOW");
    };
    // Modulo 2^32, as time wraps.
    let now = host.block().timestamp.as_secs() as u32;
    if let Some((growth0, growth1)) = before.price_growth(now) {
        POOL.price0_cumulative_last.update(host, |sum| Ok(sum.wrapping_add(growth0)))?;
        POOL.price1_cumulative_last.update(host, |sum| Ok(sum.wrapping_add(growth1)))?;
    }
    RESERVES.set(host, Reserves { reserve0, reserve1, block_timestamp_last: now })?;
    host.emit(&sol::Sync { reserve0, reserve1 })
}

/// Mints LP tokens for a sixth of what the square root of the product has grown by since liquidity last changed, if the factory has a
/// recipient for them; returns whether it has (`_mintFee`).
fn mint_fee(host: &mut Host<'_>, reserves: Reserves) -> Result<bool, Stop> {
    let recipient = fee_to(host)?;
    let product_before = POOL.k_last.get(host)?;
    if product_before.is_zero() {
        return Ok(!recipient.is_zero());
    }
    if recipient.is_zero() {
        POOL.k_last.set(host, U256::ZERO)?;
        return Ok(false);
    }
    let (reserve0, reserve1) = reserves.words();
    let root = sqrt(host, reserve0.ds_mul(reserve1)?)?;
    let root_before = sqrt(host, product_before)?;
    if root > root_before {
        let parts = POOL.lp.total_supply.get(host)?.ds_mul(root.ds_sub(root_before)?)?;
        let whole = root.ds_mul(HOLDERS_PARTS)?.ds_add(root_before)?;
        let liquidity = parts.plain_div(whole)?;
        if !liquidity.is_zero() {
            POOL.lp.mint(host, recipient, liquidity)?;
        }
    }
    Ok(true)
}

/// Returns who gets the protocol fee; zero for nobody, as in a pool made alone.
fn fee_to(host: &mut Host<'_>) -> Result<Address, Stop> {
    let factory = POOL.factory.get(host)?;
    if POOL.is_alone.get(host)? { Ok(Address::ZERO) } else { legacy_calls::view(host, factory, &feeToCall {}) }
}

/// Keeps the product of the reserves, from which growth is counted, while there is a protocol fee.
fn note_product(host: &mut Host<'_>, has_fee: bool) -> Result<(), Stop> {
    if !has_fee {
        return Ok(());
    }
    let (reserve0, reserve1) = RESERVES.get(host)?.words();
    POOL.k_last.set(host, reserve0.ds_mul(reserve1)?)
}
