//! Supplying, withdrawing, borrowing and repaying: Aave's SupplyLogic, BorrowLogic and ValidationLogic.

use super::{
    account::{Account, HEALTH_FACTOR_LIQUIDATION_THRESHOLD},
    errors::{self, check},
    interface::*,
    reserve::Market,
    state::{Asset, FIXED, LENDING},
};
use crate::{templates::common::safe_erc20, vm::contract::*};

/// Interest rate modes of Aave.
const STABLE: U256 = U256::ONE;
pub(super) const VARIABLE: u8 = 2;

/// Takes tokens of the caller for `onBehalfOf`: of the token, which earn interest, or collateral, which does not.
pub(super) fn supply(host: &mut Host<'_>, call: &supplyCall) -> Result<(), Stop> {
    let user = host.caller();
    check(!call.amount.is_zero(), errors::INVALID_AMOUNT)?;
    check(!call.onBehalfOf.is_zero(), errors::ZERO_ADDRESS_NOT_VALID)?;
    match Asset::of(host, call.asset)? {
        Asset::Token => {
            let mut market = Market::load(host)?;
            market.add_supply(host, call.onBehalfOf, call.amount)?;
            market.store(host)?;
        }
        Asset::Collateral => add_collateral(host, call.onBehalfOf, call.amount)?,
    }
    take(host, call.asset, user, call.amount)?;
    host.emit(&Supply {
        reserve: call.asset,
        user,
        onBehalfOf: call.onBehalfOf,
        amount: call.amount,
        referralCode: call.referralCode,
    })
}

/// Gives tokens of the caller to `to`; the largest number is all. Returns how many.
pub(super) fn withdraw(host: &mut Host<'_>, call: &withdrawCall) -> Result<U256, Stop> {
    let user = host.caller();
    // What came back without a call would be nobody's.
    check(call.to != host.address(), errors::OPERATION_NOT_SUPPORTED)?;
    let amount = match Asset::of(host, call.asset)? {
        Asset::Token => {
            let mut market = Market::load(host)?;
            let amount = withdrawn(call.amount, market.supplied(host, user)?)?;
            market.remove_supply(host, user, amount)?;
            market.remove_cash(amount)?;
            market.store(host)?;
            amount
        }
        Asset::Collateral => {
            let amount = withdrawn(call.amount, LENDING.collaterals.get(host, user)?)?;
            remove_collateral(host, user, amount)?;
            check_health(host, user)?;
            amount
        }
    };
    safe_erc20::safe_transfer(host, call.asset, call.to, amount)?;
    host.emit(&Withdraw { reserve: call.asset, user, to: call.to, amount })?;
    Ok(amount)
}

/// Returns the amount that a withdrawal asks for, of what its owner has (`validateWithdraw`).
fn withdrawn(asked: U256, owned: U256) -> Result<U256, Stop> {
    let amount = if asked == U256::MAX { owned } else { asked };
    check(!amount.is_zero(), errors::INVALID_AMOUNT)?;
    check(amount <= owned, errors::NOT_ENOUGH_AVAILABLE_USER_BALANCE)?;
    Ok(amount)
}

/// Refuses a health factor below one; who owes nothing needs no price (`validateHFAndLtv`).
fn check_health(host: &mut Host<'_>, user: Address) -> Result<(), Stop> {
    if LENDING.debts.get(host, user)?.is_zero() {
        return Ok(());
    }
    let market = Market::load(host)?;
    let health_factor = Account::load(host, &market, user)?.health_factor()?;
    check(health_factor >= HEALTH_FACTOR_LIQUIDATION_THRESHOLD, errors::HEALTH_FACTOR_LOWER_THAN_LIQUIDATION_THRESHOLD)
}

/// Lends tokens to the caller, at the variable rate alone.
pub(super) fn borrow(host: &mut Host<'_>, call: &borrowCall) -> Result<(), Stop> {
    let user = host.caller();
    let asset = Asset::of(host, call.asset)?;
    check(!call.amount.is_zero(), errors::INVALID_AMOUNT)?;
    check(asset == Asset::Token, errors::BORROWING_NOT_ENABLED)?;
    check(call.interestRateMode != STABLE, errors::STABLE_BORROWING_NOT_ENABLED)?;
    check(call.interestRateMode == U256::from(VARIABLE), errors::INVALID_INTEREST_RATE_MODE_SELECTED)?;
    check(call.onBehalfOf == user, errors::OPERATION_NOT_SUPPORTED)?;
    let mut market = Market::load(host)?;
    let mut account = Account::load(host, &market, user)?;
    validate_borrower(&account)?;
    market.add_debt(host, user, call.amount)?;
    // With what rounding adds: nobody borrows into a liquidation.
    account.debt = market.debt(host, user)?;
    check(account.debt_value()? <= account.borrowing_power()?, errors::COLLATERAL_CANNOT_COVER_NEW_BORROW)?;
    market.remove_cash(call.amount)?;
    let reserve = market.store(host)?;
    safe_erc20::safe_transfer(host, call.asset, user, call.amount)?;
    host.emit(&Borrow {
        reserve: call.asset,
        user,
        onBehalfOf: user,
        amount: call.amount,
        interestRateMode: VARIABLE,
        borrowRate: U256::from(reserve.variable_borrow_rate),
        referralCode: call.referralCode,
    })
}

/// Refuses a borrower without collateral, and one who may be liquidated (`validateBorrow`).
fn validate_borrower(account: &Account) -> Result<(), Stop> {
    check(!account.collateral_value()?.is_zero(), errors::COLLATERAL_BALANCE_IS_ZERO)?;
    check(account.terms.ltv != 0, errors::LTV_VALIDATION_FAILED)?;
    let health_factor = account.health_factor()?;
    check(health_factor > HEALTH_FACTOR_LIQUIDATION_THRESHOLD, errors::HEALTH_FACTOR_LOWER_THAN_LIQUIDATION_THRESHOLD)
}

/// Takes tokens of the caller for the debt of `onBehalfOf`, at most all of it. Returns how many.
pub(super) fn repay(host: &mut Host<'_>, call: &repayCall) -> Result<U256, Stop> {
    let (repayer, user) = (host.caller(), call.onBehalfOf);
    let asset = Asset::of(host, call.asset)?;
    check(!call.amount.is_zero(), errors::INVALID_AMOUNT)?;
    check(call.amount != U256::MAX || repayer == user, errors::NO_EXPLICIT_AMOUNT_TO_REPAY_ON_BEHALF)?;
    let mut market = Market::load(host)?;
    let debt = market.debt(host, user)?;
    let has_debt = asset == Asset::Token && call.interestRateMode == U256::from(VARIABLE) && !debt.is_zero();
    check(has_debt, errors::NO_DEBT_OF_SELECTED_TYPE)?;
    let amount = call.amount.min(debt);
    market.repay_debt(host, user, amount, debt)?;
    market.store(host)?;
    take(host, call.asset, repayer, amount)?;
    host.emit(&Repay { reserve: call.asset, user, repayer, amount, useATokens: false })?;
    Ok(amount)
}

/// Adds to a user's collateral.
pub(super) fn add_collateral(host: &mut Host<'_>, user: Address, amount: U256) -> Result<(), Stop> {
    let mut is_first = false;
    LENDING.collaterals.at(host, user)?.update(host, |owned| {
        is_first = owned.is_zero();
        owned.add(amount)
    })?;
    LENDING.total_collateral.add(host, amount)?;
    if is_first {
        let reserve = FIXED.collateral.get(host)?.asset;
        host.emit(&ReserveUsedAsCollateralEnabled { reserve, user })?;
    }
    Ok(())
}

/// Takes from a user's collateral, who has as much.
pub(super) fn remove_collateral(host: &mut Host<'_>, user: Address, amount: U256) -> Result<(), Stop> {
    let mut is_last = false;
    LENDING.collaterals.at(host, user)?.update(host, |owned| {
        is_last = owned == amount;
        owned.sub(amount)
    })?;
    LENDING.total_collateral.sub(host, amount)?;
    if is_last {
        let reserve = FIXED.collateral.get(host)?.asset;
        host.emit(&ReserveUsedAsCollateralDisabled { reserve, user })?;
    }
    Ok(())
}

/// Takes tokens that an account allows the market to take.
pub(super) fn take(host: &mut Host<'_>, asset: Address, from: Address, amount: U256) -> Result<(), Stop> {
    let market = host.address();
    safe_erc20::safe_transfer_from(host, asset, from, market, amount)
}
