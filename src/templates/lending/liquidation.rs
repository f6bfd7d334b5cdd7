//! Liquidations: Aave's LiquidationLogic, with the deficits of Aave 3.3 and without protocol fee.

use super::{
    account::{Account, HEALTH_FACTOR_LIQUIDATION_THRESHOLD},
    errors::{self, check},
    interface::*,
    math::{PERCENTAGE_FACTOR, percent_mul, scale_up},
    pool::{add_collateral, remove_collateral, take},
    reserve::{Market, to_u128},
    state::{Asset, FIXED, LENDING},
};
use crate::{templates::common::safe_erc20, vm::contract::*};

/// Part of a debt that may be liquidated at once, in hundredths of a percent.
const DEFAULT_LIQUIDATION_CLOSE_FACTOR: U256 = U256::from_limbs([5_000, 0, 0, 0]);

/// The same at and below [`CLOSE_FACTOR_HF_THRESHOLD`].
const MAX_LIQUIDATION_CLOSE_FACTOR: U256 = PERCENTAGE_FACTOR;

/// Health factor, in wads, at and below which all of a debt may be liquidated: 0.95.
const CLOSE_FACTOR_HF_THRESHOLD: U256 = U256::from_limbs([950_000_000_000_000_000, 0, 0, 0]);

/// Amounts of a liquidation, in the tokens' smallest units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Amounts {
    debt: U256,
    collateral: U256,
}

/// Repays a part of a debt whose health factor is below one, for its worth of collateral and the bonus.
///
/// Where no collateral is left, the rest of the debt is written off and becomes the deficit.
pub(super) fn liquidation_call(host: &mut Host<'_>, call: &liquidationCallCall) -> Result<(), Stop> {
    let (liquidator, user) = (host.caller(), call.user);
    let mut market = Market::load(host)?;
    check(FIXED.collateral.get(host)?.asset == call.collateralAsset, errors::COLLATERAL_CANNOT_BE_LIQUIDATED)?;
    check(market.token.asset == call.debtAsset, errors::SPECIFIED_CURRENCY_NOT_BORROWED_BY_USER)?;
    let account = Account::load(host, &market, user)?;
    let amounts = liquidated(&account, call.debtToCover)?;
    let is_bad = amounts.collateral == account.collateral && amounts.debt < account.debt;
    let burnt = market.repay_debt_unchecked(host, user, amounts.debt, account.debt)?;
    check(burnt != 0 || is_bad, errors::INVALID_BURN_AMOUNT)?;
    remove_collateral(host, user, amounts.collateral)?;
    if is_bad {
        let rest = market.debt(host, user)?;
        market.write_off(host, user, rest)?;
        host.emit(&DeficitCreated { user, debtAsset: call.debtAsset, amountCreated: rest })?;
    }
    market.store(host)?;
    if call.receiveAToken {
        add_collateral(host, liquidator, amounts.collateral)?;
    }
    take(host, call.debtAsset, liquidator, amounts.debt)?;
    if !call.receiveAToken {
        safe_erc20::safe_transfer(host, call.collateralAsset, liquidator, amounts.collateral)?;
    }
    host.emit(&LiquidationCall {
        collateralAsset: call.collateralAsset,
        debtAsset: call.debtAsset,
        user,
        debtToCover: amounts.debt,
        liquidatedCollateralAmount: amounts.collateral,
        liquidator,
        receiveAToken: call.receiveAToken,
    })
}

/// Returns what is repaid and what is paid for it (`validateLiquidationCall`, `_calculateDebt` and
/// `_calculateAvailableCollateralToLiquidate`). The collateral is rounded down, and the debt that all of the collateral pays for is rounded up.
fn liquidated(account: &Account, debt_to_cover: U256) -> Result<Amounts, Stop> {
    let health_factor = account.health_factor()?;
    check(health_factor < HEALTH_FACTOR_LIQUIDATION_THRESHOLD, errors::HEALTH_FACTOR_NOT_BELOW_THRESHOLD)?;
    check(!account.collateral.is_zero(), errors::COLLATERAL_CANNOT_BE_LIQUIDATED)?;
    let close_factor = if health_factor > CLOSE_FACTOR_HF_THRESHOLD {
        DEFAULT_LIQUIDATION_CLOSE_FACTOR
    } else {
        MAX_LIQUIDATION_CLOSE_FACTOR
    };
    let debt = debt_to_cover.min(percent_mul(account.debt, close_factor)?);
    let wanted = collateral_for(account, debt)?;
    if wanted <= account.collateral {
        return Ok(Amounts { debt, collateral: wanted });
    }
    Ok(Amounts { debt: debt_for(account, account.collateral)?.min(debt), collateral: account.collateral })
}

/// Returns the collateral that a repayment is worth, with the bonus, rounded down.
fn collateral_for(account: &Account, debt: U256) -> Result<U256, Stop> {
    let collateral = mul_div(debt, account.token_price()?, account.collateral_price()?, Rounding::Floor)?;
    mul_div(collateral, U256::from(account.terms.liquidation_bonus), PERCENTAGE_FACTOR, Rounding::Floor)
}

/// Returns the repayment that collateral pays for, with the bonus, rounded up.
fn debt_for(account: &Account, collateral: U256) -> Result<U256, Stop> {
    let debt = mul_div(collateral, account.collateral_price()?, account.token_price()?, Rounding::Ceil)?;
    mul_div(debt, PERCENTAGE_FACTOR, U256::from(account.terms.liquidation_bonus), Rounding::Ceil)
}

/// Credits the owner with the treasury's part of the interest if the token is among `assets` (`mintToTreasury`).
pub(super) fn mint_to_treasury(host: &mut Host<'_>, assets: &[Address]) -> Result<(), Stop> {
    let (owner, mut market) = (LENDING.ownable.owner.get(host)?, Market::load(host)?);
    let reserve = market.token.asset;
    let scaled = core::mem::take(&mut market.reserve.accrued_to_treasury);
    // Without an owner it stays where it is.
    if scaled == 0 || owner.is_zero() || !assets.contains(&reserve) {
        return Ok(());
    }
    market.reserve.scaled_supply = market.reserve.scaled_supply.add(scaled)?;
    LENDING.supplies.at(host, owner)?.add(host, U256::from(scaled))?;
    let amount = scale_up(U256::from(scaled), market.liquidity_index(), Rounding::Floor)?;
    market.store(host)?;
    host.emit(&MintedToTreasury { reserve, amountMinted: amount })
}

/// Gives up a part of what the caller supplied for as much of the deficit (`eliminateReserveDeficit`). Returns how much.
pub(super) fn eliminate_reserve_deficit(host: &mut Host<'_>, asset: Address, amount: U256) -> Result<U256, Stop> {
    let caller = host.caller();
    check(Asset::of(host, asset)? == Asset::Token, errors::ASSET_NOT_LISTED)?;
    let mut market = Market::load(host)?;
    let covered = amount.min(U256::from(market.reserve.deficit));
    check(!covered.is_zero(), errors::INVALID_AMOUNT)?;
    let owned = market.supplied(host, caller)?;
    check(covered <= owned, errors::NOT_ENOUGH_AVAILABLE_USER_BALANCE)?;
    market.remove_supply(host, caller, covered)?;
    market.reserve.deficit = market.reserve.deficit.sub(to_u128(covered)?)?;
    market.store(host)?;
    host.emit(&DeficitCovered { reserve: asset, caller, amountCovered: covered })?;
    Ok(covered)
}
