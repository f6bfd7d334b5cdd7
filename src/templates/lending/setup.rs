//! The market's terms: checked once, as Aave's configurator does, and never changed.

use super::{
    errors::{self, check},
    interface::{Lending::constructorCall, LendingFeedDecimalsMismatch},
    math::{PERCENTAGE_FACTOR, percent_mul},
    oracle::decimals_of,
    reserve::to_u128,
    state::{CollateralTerms, FIXED, GUARD, LENDING, OracleTerms, Reserve, TokenTerms},
};
use crate::{templates::common::safe_erc20, vm::contract::*};

/// Most decimals of tokens and feeds: with these no product of prices and units overflows that is worth computing.
const DECIMALS_MAX: u8 = 36;

pub(super) fn construct(host: &mut Host<'_>, params: constructorCall) -> Result<(), Stop> {
    let addresses = [params.token, params.collateral, params.oracle];
    check(addresses.iter().all(|address| !address.is_zero()), errors::ZERO_ADDRESS_NOT_VALID)?;
    check(params.token != params.collateral, errors::RESERVE_ALREADY_ADDED)?;
    let token = token_terms(host, &params)?;
    let collateral = collateral_terms(host, &params)?;
    FIXED.collateral.set(host, collateral)?;
    let oracle = OracleTerms {
        feed: params.oracle,
        decimals: feed_decimals(host, params.oracle)?,
        max_price_age: params.maxPriceAge,
    };
    if !params.tokenOracle.is_zero() {
        let decimals = feed_decimals(host, params.tokenOracle)?;
        let mismatch = LendingFeedDecimalsMismatch { decimals: oracle.decimals, tokenFeedDecimals: decimals };
        require(decimals == oracle.decimals, mismatch)?;
        FIXED.token_oracle.overwrite(host, params.tokenOracle)?;
    }
    FIXED.token.set(host, token)?;
    FIXED.oracle.set(host, oracle)?;
    let reserve = Reserve::new(host, to_u128(token.strategy().base_variable_borrow_rate)?);
    LENDING.reserve.set(host, reserve)?;
    GUARD.construct(host)?;
    LENDING.ownable.construct(host, params.owner)
}

fn token_terms(host: &mut Host<'_>, params: &constructorCall) -> Result<TokenTerms, Stop> {
    check(is_percentage(params.reserveFactor), errors::INVALID_RESERVE_FACTOR)?;
    let optimal = params.optimalUsageRatio;
    check(optimal != 0 && is_percentage(optimal), errors::INVALID_OPTIMAL_USAGE_RATIO)?;
    Ok(TokenTerms {
        asset: params.token,
        decimals: token_decimals(host, params.token)?,
        reserve_factor: params.reserveFactor,
        optimal_usage_ratio: optimal,
        base_variable_borrow_rate: params.baseVariableBorrowRate,
        variable_rate_slope1: params.variableRateSlope1,
        variable_rate_slope2: params.variableRateSlope2,
    })
}

/// Checks that the collateral at the threshold pays a liquidator with his bonus (`configureReserveAsCollateral`).
fn collateral_terms(host: &mut Host<'_>, params: &constructorCall) -> Result<CollateralTerms, Stop> {
    let (ltv, threshold) = (params.ltv, params.liquidationThreshold);
    check(ltv <= threshold, errors::INVALID_RESERVE_PARAMS)?;
    let bonus = PERCENTAGE_FACTOR + U256::from(params.liquidationBonus);
    let is_paid = params.liquidationBonus != 0 && percent_mul(U256::from(threshold), bonus)? <= PERCENTAGE_FACTOR;
    check(threshold == 0 || is_paid, errors::INVALID_RESERVE_PARAMS)?;
    // Without a threshold nothing is lent, so that nothing is liquidated.
    let liquidation_bonus = u16::try_from(bonus).unwrap_or(u16::MAX);
    let decimals = token_decimals(host, params.collateral)?;
    Ok(CollateralTerms { asset: params.collateral, decimals, ltv, liquidation_threshold: threshold, liquidation_bonus })
}

fn is_percentage(number: u16) -> bool {
    U256::from(number) <= PERCENTAGE_FACTOR
}

fn token_decimals(host: &mut Host<'_>, token: Address) -> Result<u8, Stop> {
    let decimals = safe_erc20::try_decimals(host, token)?.unwrap_or(u8::MAX);
    check(decimals <= DECIMALS_MAX, errors::INVALID_DECIMALS)?;
    Ok(decimals)
}

fn feed_decimals(host: &mut Host<'_>, feed: Address) -> Result<u8, Stop> {
    let decimals = decimals_of(host, feed)?;
    check(decimals <= DECIMALS_MAX, errors::INVALID_DECIMALS)?;
    Ok(decimals)
}
