//! The token's side of the market: indexes that grow with time, and what is put in and taken out.
//!
//! The rules are those of Aave's ReserveLogic, with the cash counted as Aave 3.1 does (virtual accounting): what is sent to the market
//! without a call is nobody's. What suppliers own is rounded down and what borrowers owe is rounded up; the borrowers' index grows by a ray
//! more than Aave's. So cash, debts and deficit are never less than what suppliers and treasury own.

use alloy_primitives::aliases::U40;

use super::{
    errors::{INVALID_BURN_AMOUNT, INVALID_MINT_AMOUNT, check},
    interface::{LendingInsufficientLiquidity, ReserveDataUpdated},
    math::{RAY, compounded_interest, linear_interest, scale_down, scale_up},
    rates::{Usage, treasury_share},
    state::{FIXED, LENDING, Reserve, TokenTerms},
};
use crate::vm::{contract::*, math::downcast};

/// Compute units of bringing indexes up to date.
const ACCRUAL_UNITS: u64 = 600;

/// Compute units of computing rates.
const RATES_UNITS: u64 = 600;

/// The reserve at the block's time, and the token's terms.
#[derive(Clone, Copy, Debug)]
pub(super) struct Market {
    pub(super) reserve: Reserve,
    pub(super) token: TokenTerms,
}

impl Market {
    /// Reads the reserve and lets interest accrue up to the block's time (`updateState`).
    pub(super) fn load(host: &mut Host<'_>) -> Result<Self, Stop> {
        let (reserve, token) = (LENDING.reserve.get(host)?, FIXED.token.get(host)?);
        let mut market = Self { reserve, token };
        market.accrue(host)?;
        Ok(market)
    }

    /// Sets the rates that follow from cash and debt, and writes the reserve (`updateInterestRates`).
    pub(super) fn store(mut self, host: &mut Host<'_>) -> Result<Reserve, Stop> {
        host.compute(RATES_UNITS)?;
        let usage = Usage {
            cash: U256::from(self.reserve.cash),
            debt: self.total_debt(Rounding::Floor)?,
            deficit: U256::from(self.reserve.deficit),
        };
        let rates = self.token.strategy().rates(usage, U256::from(self.token.reserve_factor))?;
        self.reserve.liquidity_rate = to_u128(rates.liquidity)?;
        self.reserve.variable_borrow_rate = to_u128(rates.variable_borrow)?;
        LENDING.reserve.set(host, self.reserve)?;
        host.emit(&ReserveDataUpdated {
            reserve: self.token.asset,
            liquidityRate: rates.liquidity,
            stableBorrowRate: U256::ZERO,
            variableBorrowRate: rates.variable_borrow,
            liquidityIndex: self.liquidity_index(),
            variableBorrowIndex: self.borrow_index(),
        })?;
        Ok(self.reserve)
    }

    /// Brings indexes and the treasury's part to the block's time.
    ///
    /// An index that would not fit into its 128 bits, some 10^11 times the first one, stays where it is with all that depends on it: interest ends,
    /// and everybody can repay and withdraw.
    fn accrue(&mut self, host: &mut Host<'_>) -> Result<(), Stop> {
        host.compute(ACCRUAL_UNITS)?;
        let now = host.block().timestamp.as_secs();
        let seconds = now.saturating_sub(self.reserve.last_update.to());
        if seconds == 0 {
            return Ok(());
        }
        let mut grown = *self;
        if grown.grow(seconds).is_ok() {
            *self = grown;
        }
        self.reserve.last_update = U40::saturating_from(now);
        Ok(())
    }

    fn grow(&mut self, seconds: u64) -> Result<(), Stop> {
        if self.reserve.liquidity_rate != 0 {
            let factor = linear_interest(U256::from(self.reserve.liquidity_rate), seconds)?;
            self.reserve.liquidity_index = to_u128(scale_up(self.liquidity_index(), factor, Rounding::Floor)?)?;
        }
        if self.reserve.scaled_debt == 0 || self.reserve.variable_borrow_rate == 0 {
            return Ok(());
        }
        let before = self.total_debt(Rounding::Ceil)?;
        // A ray on top of what Aave charges: the series is rounded down.
        let compounded = compounded_interest(U256::from(self.reserve.variable_borrow_rate), seconds)?;
        let factor = compounded.add(U256::ONE)?;
        self.reserve.variable_borrow_index = to_u128(scale_up(self.borrow_index(), factor, Rounding::Ceil)?)?;
        let interest = self.total_debt(Rounding::Floor)?.saturating_sub(before);
        let share = treasury_share(interest, U256::from(self.token.reserve_factor))?;
        let scaled = to_u128(scale_down(share, self.liquidity_index(), Rounding::Floor)?)?;
        self.reserve.accrued_to_treasury = self.reserve.accrued_to_treasury.add(scaled)?;
        Ok(())
    }

    pub(super) fn liquidity_index(&self) -> U256 {
        U256::from(self.reserve.liquidity_index)
    }

    pub(super) fn borrow_index(&self) -> U256 {
        U256::from(self.reserve.variable_borrow_index)
    }

    /// Returns what all borrowers owe together.
    pub(super) fn total_debt(&self, rounding: Rounding) -> Result<U256, Stop> {
        scale_up(U256::from(self.reserve.scaled_debt), self.borrow_index(), rounding)
    }

    /// Returns what a supplier owns.
    pub(super) fn supplied(&self, host: &mut Host<'_>, user: Address) -> Result<U256, Stop> {
        let scaled = LENDING.supplies.get(host, user)?;
        scale_up(scaled, self.liquidity_index(), Rounding::Floor)
    }

    /// Returns what a borrower owes.
    pub(super) fn debt(&self, host: &mut Host<'_>, user: Address) -> Result<U256, Stop> {
        let scaled = LENDING.debts.get(host, user)?;
        scale_up(scaled, self.borrow_index(), Rounding::Ceil)
    }

    /// Credits a supplier with tokens that come in.
    pub(super) fn add_supply(&mut self, host: &mut Host<'_>, user: Address, amount: U256) -> Result<(), Stop> {
        let scaled = to_u128(scale_down(amount, self.liquidity_index(), Rounding::Floor)?)?;
        check(scaled != 0, INVALID_MINT_AMOUNT)?;
        self.reserve.scaled_supply = self.reserve.scaled_supply.add(scaled)?;
        self.reserve.cash = self.reserve.cash.add(to_u128(amount)?)?;
        LENDING.supplies.at(host, user)?.add(host, U256::from(scaled))
    }

    /// Takes from what a supplier owns, who has as much.
    pub(super) fn remove_supply(&mut self, host: &mut Host<'_>, user: Address, amount: U256) -> Result<(), Stop> {
        let index = self.liquidity_index();
        let mut burnt = 0;
        LENDING.supplies.at(host, user)?.update(host, |owned| {
            // The units that the amount is worth, rounded up, may be one more than there are.
            let scaled = scale_down(amount, index, Rounding::Ceil)?.min(owned);
            burnt = to_u128(scaled)?;
            owned.sub(scaled)
        })?;
        self.reserve.scaled_supply = self.reserve.scaled_supply.sub(burnt)?;
        Ok(())
    }

    /// Takes tokens that go out from the cash.
    ///
    /// # Errors
    /// [`LendingInsufficientLiquidity`].
    pub(super) fn remove_cash(&mut self, amount: U256) -> Result<(), Stop> {
        let available = U256::from(self.reserve.cash);
        require(amount <= available, LendingInsufficientLiquidity { available, needed: amount })?;
        self.reserve.cash = self.reserve.cash.sub(to_u128(amount)?)?;
        Ok(())
    }

    /// Adds to what a borrower owes.
    pub(super) fn add_debt(&mut self, host: &mut Host<'_>, user: Address, amount: U256) -> Result<(), Stop> {
        let scaled = to_u128(scale_down(amount, self.borrow_index(), Rounding::Ceil)?)?;
        self.reserve.scaled_debt = self.reserve.scaled_debt.add(scaled)?;
        LENDING.debts.at(host, user)?.add(host, U256::from(scaled))
    }

    /// Takes tokens that come in from a debt, of which they are at most all.
    ///
    /// # Errors
    /// `INVALID_BURN_AMOUNT` when they are worth no unit of debt.
    pub(super) fn repay_debt(
        &mut self,
        host: &mut Host<'_>,
        user: Address,
        amount: U256,
        debt: U256,
    ) -> Result<(), Stop> {
        let burnt = self.repay_debt_unchecked(host, user, amount, debt)?;
        check(burnt != 0, INVALID_BURN_AMOUNT)
    }

    /// As [`Market::repay_debt`], also for tokens that are worth no unit of debt. Returns the units.
    pub(super) fn repay_debt_unchecked(
        &mut self,
        host: &mut Host<'_>,
        user: Address,
        amount: U256,
        debt: U256,
    ) -> Result<u128, Stop> {
        let burnt = self.remove_debt(host, user, amount, debt)?;
        self.reserve.cash = self.reserve.cash.add(to_u128(amount)?)?;
        Ok(burnt)
    }

    /// Writes a debt off that nothing covers, and keeps account of it.
    pub(super) fn write_off(&mut self, host: &mut Host<'_>, user: Address, debt: U256) -> Result<(), Stop> {
        self.remove_debt(host, user, debt, debt)?;
        self.reserve.deficit = self.reserve.deficit.add(to_u128(debt)?)?;
        Ok(())
    }

    fn remove_debt(&mut self, host: &mut Host<'_>, user: Address, amount: U256, debt: U256) -> Result<u128, Stop> {
        let index = self.borrow_index();
        let mut burnt = 0;
        LENDING.debts.at(host, user)?.update(host, |owed| {
            let scaled = if amount == debt { owed } else { scale_down(amount, index, Rounding::Floor)? };
            burnt = to_u128(scaled)?;
            owed.sub(scaled)
        })?;
        self.reserve.scaled_debt = self.reserve.scaled_debt.sub(burnt)?;
        Ok(burnt)
    }
}

impl Reserve {
    /// Returns the reserve of a new market.
    pub(super) fn new(host: &Host<'_>, variable_borrow_rate: u128) -> Self {
        let one = RAY.wrapping_to();
        Self {
            liquidity_index: one,
            liquidity_rate: 0,
            variable_borrow_index: one,
            variable_borrow_rate,
            scaled_supply: 0,
            scaled_debt: 0,
            cash: 0,
            accrued_to_treasury: 0,
            deficit: 0,
            last_update: U40::saturating_from(host.block().timestamp.as_secs()),
        }
    }
}

/// Casts down, as `SafeCast.toUint128`.
pub(super) fn to_u128(value: U256) -> Result<u128, Stop> {
    downcast::<128, 2>(value).map(|value| value.to())
}
