//! Interest rates by usage: Aave v3's DefaultReserveInterestRateStrategy for variable debt.

use super::math::{PERCENTAGE_FACTOR, RAY, ray_div, ray_mul};
use crate::vm::contract::*;

/// A rate that rises with usage, more steeply above the optimal usage; all in rays, a year.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateStrategy {
    /// Usage up to which the rate rises by the first slope, above zero and at most one.
    pub optimal_usage_ratio: U256,
    /// Rate without debt.
    pub base_variable_borrow_rate: U256,
    /// Rise of the rate from no usage to the optimal one.
    pub variable_rate_slope1: U256,
    /// Rise of the rate from the optimal usage to a whole one.
    pub variable_rate_slope2: U256,
}

/// What a market holds and is owed, in the token's smallest unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Tokens that may be borrowed.
    pub cash: U256,
    /// Debt of all borrowers.
    pub debt: U256,
    /// Debt that was written off and that nobody covered yet.
    pub deficit: U256,
}

/// Rates a year, in rays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rates {
    /// What suppliers earn, simple interest.
    pub liquidity: U256,
    /// What borrowers pay, compounded.
    pub variable_borrow: U256,
}

impl RateStrategy {
    /// Returns the rates at a usage (`calculateInterestRates`), of which the reserve factor, in hundredths of a percent, is not the suppliers'.
    ///
    /// Borrowers pay what Aave's do. Suppliers earn a few rays less at most: their rate is rounded down, so that what they earn is never
    /// more than what borrowers pay.
    ///
    /// # Errors
    /// `Panic(0x11)` and a revert without data on overflow.
    pub fn rates(&self, usage: Usage, reserve_factor: U256) -> Result<Rates, Stop> {
        let Usage { cash, debt, deficit } = usage;
        if debt.is_zero() {
            return Ok(Rates { liquidity: U256::ZERO, variable_borrow: self.base_variable_borrow_rate });
        }
        let backed = cash.add(debt)?;
        let variable_borrow = self.variable_borrow_rate(ray_div(debt, backed)?)?;
        let earned = mul_div(variable_borrow, debt, CheckedMath::add(backed, deficit)?, Rounding::Floor)?;
        let share = PERCENTAGE_FACTOR.sub(reserve_factor)?;
        Ok(Rates { liquidity: mul_div(earned, share, PERCENTAGE_FACTOR, Rounding::Floor)?, variable_borrow })
    }

    /// Returns the borrowers' rate at a usage ratio, in rays.
    fn variable_borrow_rate(&self, usage_ratio: U256) -> Result<U256, Stop> {
        let optimal = self.optimal_usage_ratio;
        let rise = if usage_ratio > optimal {
            let excess = ray_div(usage_ratio.sub(optimal)?, RAY.sub(optimal)?)?;
            self.variable_rate_slope1.add(ray_mul(self.variable_rate_slope2, excess)?)?
        } else {
            ray_div(ray_mul(self.variable_rate_slope1, usage_ratio)?, optimal)?
        };
        self.base_variable_borrow_rate.add(rise)
    }
}

/// Returns the part of the borrowers' interest that goes to the treasury, rounded down; Aave rounds half up.
///
/// # Errors
/// `Panic(0x11)` on overflow.
pub fn treasury_share(interest: U256, reserve_factor: U256) -> Result<U256, Stop> {
    mul_div(interest, reserve_factor, PERCENTAGE_FACTOR, Rounding::Floor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn percent(number: u64) -> U256 {
        RAY / U256::from(100) * U256::from(number)
    }

    /// Optimal usage 80 %, slopes 4 % and 75 %.
    fn strategy() -> RateStrategy {
        RateStrategy {
            optimal_usage_ratio: percent(80),
            base_variable_borrow_rate: percent(1),
            variable_rate_slope1: percent(4),
            variable_rate_slope2: percent(75),
        }
    }

    fn rates(cash: u64, debt: u64, deficit: u64, reserve_factor: u64) -> Rates {
        let [cash, debt, deficit] = [cash, debt, deficit].map(U256::from);
        strategy().rates(Usage { cash, debt, deficit }, U256::from(reserve_factor)).unwrap()
    }

    #[test]
    fn the_borrow_rate_has_a_kink_at_the_optimal_usage() {
        for (cash, debt, want) in [(0, 0, 1), (100, 0, 1), (60, 40, 3), (20, 80, 5), (0, 100, 80)] {
            assert_eq!(rates(cash, debt, 0, 0).variable_borrow, percent(want), "{debt} of {}", cash + debt);
        }
        // Half of the way from 80 % to 100 %.
        assert_eq!(rates(10, 90, 0, 0).variable_borrow, percent(5) + percent(75) / U256::from(2));
    }

    #[test]
    fn suppliers_earn_what_borrowers_pay_less_the_reserve_factor() {
        assert_eq!(rates(100, 0, 0, 1_000).liquidity, U256::ZERO);
        // 5 % of 80 % of the supply.
        assert_eq!(rates(20, 80, 0, 0).liquidity, percent(4));
        assert_eq!(rates(20, 80, 0, 2_500).liquidity, percent(3));
        assert_eq!(rates(20, 80, 0, 10_000).liquidity, U256::ZERO);
        // A deficit of as much as there is halves it, and changes nothing for borrowers.
        assert_eq!(rates(20, 80, 100, 0), Rates { liquidity: percent(2), variable_borrow: percent(5) });
    }
}
