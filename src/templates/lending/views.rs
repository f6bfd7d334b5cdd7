//! What others read: Aave's pool, data provider, oracle and interest rate strategy, at the block's time.

use super::{
    errors::{ASSET_NOT_LISTED, check},
    interface::*,
    math::{RAY, RAYS_OF_BASIS_POINT, scale_up},
    oracle::{price_of, source_of},
    reserve::Market,
    state::{Asset, FIXED, LENDING},
};
use crate::vm::contract::*;

/// Returns the token and the collateral.
pub(super) fn reserves_list(host: &mut Host<'_>) -> Result<Vec<Address>, Stop> {
    Ok(vec![FIXED.token.get(host)?.asset, FIXED.collateral.get(host)?.asset])
}

/// Returns the liquidity index, in rays; the collateral's is one for good.
pub(super) fn normalized_income(host: &mut Host<'_>, asset: Address) -> Result<U256, Stop> {
    match Asset::of(host, asset)? {
        Asset::Token => Ok(Market::load(host)?.liquidity_index()),
        Asset::Collateral => Ok(RAY),
    }
}

/// Returns the index of debts, in rays.
pub(super) fn normalized_variable_debt(host: &mut Host<'_>, asset: Address) -> Result<U256, Stop> {
    match Asset::of(host, asset)? {
        Asset::Token => Ok(Market::load(host)?.borrow_index()),
        Asset::Collateral => Ok(RAY),
    }
}

pub(super) fn deficit(host: &mut Host<'_>, asset: Address) -> Result<U256, Stop> {
    match Asset::of(host, asset)? {
        Asset::Token => Ok(U256::from(LENDING.reserve.get(host)?.deficit)),
        Asset::Collateral => Ok(U256::ZERO),
    }
}

/// Returns the tokens that can be withdrawn and borrowed.
///
/// # Errors
/// `ASSET_NOT_LISTED`, also for the collateral, which is not lent; [`Stop`].
pub(super) fn virtual_underlying_balance(host: &mut Host<'_>, asset: Address) -> Result<u128, Stop> {
    check(Asset::of(host, asset)? == Asset::Token, ASSET_NOT_LISTED)?;
    Ok(LENDING.reserve.get(host)?.cash)
}

/// Returns what is supplied and owed of an asset. As in Aave `totalAToken` has nothing of what the treasury was not credited with yet.
pub(super) fn reserve_data(host: &mut Host<'_>, asset: Address) -> Result<getReserveDataReturn, Stop> {
    let asset = Asset::of(host, asset)?;
    let market = Market::load(host)?;
    let reserve = market.reserve;
    let none = getReserveDataReturn {
        unbacked: U256::ZERO,
        accruedToTreasuryScaled: U256::ZERO,
        totalAToken: U256::ZERO,
        totalStableDebt: U256::ZERO,
        totalVariableDebt: U256::ZERO,
        liquidityRate: U256::ZERO,
        variableBorrowRate: U256::ZERO,
        stableBorrowRate: U256::ZERO,
        averageStableBorrowRate: U256::ZERO,
        liquidityIndex: RAY,
        variableBorrowIndex: RAY,
        lastUpdateTimestamp: LENDING.reserve.get(host)?.last_update,
    };
    Ok(match asset {
        Asset::Collateral => getReserveDataReturn { totalAToken: LENDING.total_collateral.get(host)?, ..none },
        Asset::Token => getReserveDataReturn {
            accruedToTreasuryScaled: U256::from(reserve.accrued_to_treasury),
            totalAToken: scale_up(U256::from(reserve.scaled_supply), market.liquidity_index(), Rounding::Floor)?,
            totalVariableDebt: market.total_debt(Rounding::Ceil)?,
            liquidityRate: U256::from(reserve.liquidity_rate),
            variableBorrowRate: U256::from(reserve.variable_borrow_rate),
            liquidityIndex: market.liquidity_index(),
            variableBorrowIndex: market.borrow_index(),
            ..none
        },
    })
}

/// Returns what a user supplied and owes of an asset.
pub(super) fn user_reserve_data(
    host: &mut Host<'_>,
    asset: Address,
    user: Address,
) -> Result<getUserReserveDataReturn, Stop> {
    let asset = Asset::of(host, asset)?;
    let market = Market::load(host)?;
    let collateral = LENDING.collaterals.get(host, user)?;
    let none = getUserReserveDataReturn {
        currentATokenBalance: collateral,
        currentStableDebt: U256::ZERO,
        currentVariableDebt: U256::ZERO,
        principalStableDebt: U256::ZERO,
        scaledVariableDebt: U256::ZERO,
        stableBorrowRate: U256::ZERO,
        liquidityRate: U256::ZERO,
        stableRateLastUpdated: Default::default(),
        usageAsCollateralEnabled: asset == Asset::Collateral && !collateral.is_zero(),
    };
    Ok(match asset {
        Asset::Collateral => none,
        Asset::Token => getUserReserveDataReturn {
            currentATokenBalance: market.supplied(host, user)?,
            currentVariableDebt: market.debt(host, user)?,
            scaledVariableDebt: LENDING.debts.get(host, user)?,
            liquidityRate: U256::from(market.reserve.liquidity_rate),
            ..none
        },
    })
}

/// Returns the terms of an asset, percentages in hundredths.
pub(super) fn configuration_data(
    host: &mut Host<'_>,
    asset: Address,
) -> Result<getReserveConfigurationDataReturn, Stop> {
    let asset = Asset::of(host, asset)?;
    let (token, collateral) = (FIXED.token.get(host)?, FIXED.collateral.get(host)?);
    let is_token = asset == Asset::Token;
    let of = |is_its: bool, number: u16| if is_its { U256::from(number) } else { U256::ZERO };
    Ok(getReserveConfigurationDataReturn {
        decimals: U256::from(if is_token { token.decimals } else { collateral.decimals }),
        ltv: of(!is_token, collateral.ltv),
        liquidationThreshold: of(!is_token, collateral.liquidation_threshold),
        liquidationBonus: of(!is_token, collateral.liquidation_bonus),
        reserveFactor: of(is_token, token.reserve_factor),
        usageAsCollateralEnabled: !is_token && collateral.liquidation_threshold != 0,
        borrowingEnabled: is_token,
        stableBorrowRateEnabled: false,
        isActive: true,
        isFrozen: false,
    })
}

/// Returns the price of a whole asset in the base currency's smallest unit.
pub(super) fn asset_price(host: &mut Host<'_>, asset: Address) -> Result<U256, Stop> {
    let asset = Asset::of(host, asset)?;
    price_of(host, asset)
}

pub(super) fn source_of_asset(host: &mut Host<'_>, asset: Address) -> Result<Address, Stop> {
    let asset = Asset::of(host, asset)?;
    source_of(host, asset)
}

pub(super) fn max_price_age(host: &mut Host<'_>) -> Result<U256, Stop> {
    Ok(U256::from(FIXED.oracle.get(host)?.max_price_age))
}

/// Returns base rate and both slopes: the rate when all is lent, in rays.
pub(super) fn max_variable_borrow_rate(host: &mut Host<'_>) -> Result<U256, Stop> {
    let terms = FIXED.token.get(host)?;
    let rates = [terms.base_variable_borrow_rate, terms.variable_rate_slope1, terms.variable_rate_slope2];
    Ok(rates.into_iter().map(|rate| U256::from(rate) * RAYS_OF_BASIS_POINT).sum())
}
