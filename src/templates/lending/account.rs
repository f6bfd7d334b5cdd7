//! What a borrower has and owes by the feeds' prices: Aave's GenericLogic. The collateral's value is rounded down and the debt's up, so that
//! the health factor is never above Aave's.

use super::{
    interface::getUserAccountDataReturn,
    math::{PERCENTAGE_FACTOR, WAD},
    oracle::Prices,
    reserve::Market,
    state::{CollateralTerms, FIXED, LENDING, TokenTerms},
};
use crate::vm::contract::*;

/// Health factor below which a debt may be liquidated: one.
pub(super) const HEALTH_FACTOR_LIQUIDATION_THRESHOLD: U256 = WAD;

/// A borrower's collateral and debt, and what they are worth in the base currency.
#[derive(Clone, Copy, Debug)]
pub(super) struct Account {
    /// Collateral, in its smallest unit.
    pub(super) collateral: U256,
    /// Debt, in the token's smallest unit.
    pub(super) debt: U256,
    pub(super) prices: Prices,
    pub(super) terms: CollateralTerms,
    pub(super) token: TokenTerms,
}

impl Account {
    /// Reads a user's collateral and debt and the prices.
    ///
    /// # Errors
    /// As [`Prices::load`].
    pub(super) fn load(host: &mut Host<'_>, market: &Market, user: Address) -> Result<Self, Stop> {
        let collateral = LENDING.collaterals.get(host, user)?;
        let debt = market.debt(host, user)?;
        let (terms, prices) = (FIXED.collateral.get(host)?, Prices::load(host)?);
        Ok(Self { collateral, debt, prices, terms, token: market.token })
    }

    pub(super) fn collateral_value(&self) -> Result<U256, Stop> {
        mul_div(self.collateral, self.prices.collateral, self.terms.unit()?, Rounding::Floor)
    }

    pub(super) fn debt_value(&self) -> Result<U256, Stop> {
        mul_div(self.debt, self.prices.token, self.token.unit()?, Rounding::Ceil)
    }

    /// Returns the price of the collateral's smallest unit, times the smallest units of a whole of both tokens.
    pub(super) fn collateral_price(&self) -> Result<U256, Stop> {
        self.prices.collateral.mul(self.token.unit()?)
    }

    /// Returns the price of the token's smallest unit in the measure of [`Account::collateral_price`].
    pub(super) fn token_price(&self) -> Result<U256, Stop> {
        self.prices.token.mul(self.terms.unit()?)
    }

    /// Returns the health factor in wads: collateral at the liquidation threshold over debt; without debt the largest number.
    pub(super) fn health_factor(&self) -> Result<U256, Stop> {
        let debt = self.debt_value()?;
        if debt.is_zero() {
            return Ok(U256::MAX);
        }
        let covered = self.percentage_of_collateral(self.terms.liquidation_threshold)?;
        mul_div(covered, WAD, debt, Rounding::Floor)
    }

    /// Returns the value up to which the collateral lets its owner borrow.
    pub(super) fn borrowing_power(&self) -> Result<U256, Stop> {
        self.percentage_of_collateral(self.terms.ltv)
    }

    fn percentage_of_collateral(&self, percentage: u16) -> Result<U256, Stop> {
        mul_div(self.collateral_value()?, U256::from(percentage), PERCENTAGE_FACTOR, Rounding::Floor)
    }
}

/// Returns `getUserAccountData`. Who has neither collateral nor debt needs no price.
pub(super) fn user_account_data(host: &mut Host<'_>, user: Address) -> Result<getUserAccountDataReturn, Stop> {
    let market = Market::load(host)?;
    let has_none = LENDING.collaterals.get(host, user)?.is_zero() && LENDING.debts.get(host, user)?.is_zero();
    if has_none {
        return Ok(getUserAccountDataReturn {
            totalCollateralBase: U256::ZERO,
            totalDebtBase: U256::ZERO,
            availableBorrowsBase: U256::ZERO,
            currentLiquidationThreshold: U256::ZERO,
            ltv: U256::ZERO,
            healthFactor: U256::MAX,
        });
    }
    let account = Account::load(host, &market, user)?;
    let (collateral, debt) = (account.collateral_value()?, account.debt_value()?);
    let of_collateral = |percentage: u16| if collateral.is_zero() { U256::ZERO } else { U256::from(percentage) };
    Ok(getUserAccountDataReturn {
        totalCollateralBase: collateral,
        totalDebtBase: debt,
        availableBorrowsBase: account.borrowing_power()?.saturating_sub(debt),
        currentLiquidationThreshold: of_collateral(account.terms.liquidation_threshold),
        ltv: of_collateral(account.terms.ltv),
        healthFactor: account.health_factor()?,
    })
}
