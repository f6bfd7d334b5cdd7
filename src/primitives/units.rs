//! Number types for gas, block heights and time.
//!
//! Arithmetic is explicit: `checked_*` and [`Gas::pay`] report overflow, `saturating_*` clamps,
//! nothing wraps.

use core::{fmt, time::Duration};

use alloy_primitives::U256;
use serde::{Deserialize, Serialize};

/// Execution cost or budget, in gas units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Gas(u64);

/// Error of a budget that does not cover a cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("out of gas: {cost} needed, {budget} left")]
pub struct OutOfGas {
    /// Gas that was left.
    pub budget: Gas,
    /// Gas that was needed.
    pub cost: Gas,
}

impl Gas {
    /// No gas.
    pub const ZERO: Self = Self(0);
    /// The largest budget.
    pub const MAX: Self = Self(u64::MAX);

    /// Creates an amount of `units` gas units.
    pub const fn new(units: u64) -> Self {
        Self(units)
    }

    /// Returns the amount in gas units.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the budget left after `cost` is paid.
    ///
    /// # Errors
    /// [`OutOfGas`] when `cost` is more than the budget, which is then unchanged.
    pub const fn pay(self, cost: Self) -> Result<Self, OutOfGas> {
        match self.0.checked_sub(cost.0) {
            Some(left) => Ok(Self(left)),
            None => Err(OutOfGas { budget: self, cost }),
        }
    }

    /// Returns the sum, clamped at [`Gas::MAX`].
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Returns the difference, clamped at zero.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl fmt::Display for Gas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} gas", self.0)
    }
}

/// A block's number, which is the number of its ancestors. Genesis is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Height(u64);

impl Height {
    /// Height of the genesis block.
    pub const GENESIS: Self = Self(0);

    /// Returns the height `number`.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Returns the plain number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the height of a child block; clamped at the largest number.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// Returns the height of the parent, or `None` for genesis.
    #[must_use]
    pub const fn parent(self) -> Option<Self> {
        match self.0.checked_sub(1) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }
}

impl fmt::Display for Height {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// A block's time, in whole seconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(u64);

impl Timestamp {
    /// Creates the time `seconds` after the Unix epoch.
    pub const fn from_secs(seconds: u64) -> Self {
        Self(seconds)
    }

    /// Returns the seconds since the Unix epoch.
    pub const fn as_secs(self) -> u64 {
        self.0
    }

    /// Returns the time `seconds` later, clamped at the largest time.
    #[must_use]
    pub const fn saturating_add_secs(self, seconds: u64) -> Self {
        Self(self.0.saturating_add(seconds))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", self.0)
    }
}

/// Returns `amount` ether in wei (10^18 per ether).
///
/// ```
/// assert_eq!(chainbox::primitives::ether(1), chainbox::primitives::gwei(1_000_000_000));
/// ```
pub fn ether(amount: u64) -> U256 {
    U256::from(amount) * U256::from(1_000_000_000_000_000_000_u64)
}

/// Returns `amount` gwei in wei (10^9 per gwei).
pub fn gwei(amount: u64) -> U256 {
    U256::from(amount) * U256::from(1_000_000_000_u64)
}

/// Returns the whole seconds of a duration, rounded up and clamped at the largest `u64`.
pub(crate) const fn secs_rounded_up(duration: Duration) -> u64 {
    let part = if duration.subsec_nanos() == 0 { 0 } else { 1 };
    duration.as_secs().saturating_add(part)
}

/// Returns the whole milliseconds of a duration, rounded up and clamped at the largest `u64`.
pub(crate) const fn millis_rounded_up(duration: Duration) -> u64 {
    let millis = duration.as_nanos().div_ceil(1_000_000);
    if millis > u64::MAX as u128 { u64::MAX } else { millis as u64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_unit_counts_as_a_whole_one() {
        for (nanos, secs, millis) in
            [(0, 0, 0), (1, 1, 1), (1_000_000, 1, 1), (1_000_001, 1, 2), (1_000_000_000, 1, 1_000)]
        {
            let duration = Duration::from_nanos(nanos);
            assert_eq!((secs_rounded_up(duration), millis_rounded_up(duration)), (secs, millis), "{nanos}");
        }
        assert_eq!((secs_rounded_up(Duration::MAX), millis_rounded_up(Duration::MAX)), (u64::MAX, u64::MAX));
    }

    #[test]
    fn paying_more_than_the_budget_changes_nothing() {
        let budget = Gas::new(10);
        assert_eq!(budget.pay(Gas::new(10)), Ok(Gas::ZERO));
        let error = budget.pay(Gas::new(11)).unwrap_err();
        assert_eq!(error, OutOfGas { budget, cost: Gas::new(11) });
        assert_eq!(error.to_string(), "out of gas: 11 gas needed, 10 gas left");
    }

    #[test]
    fn genesis_has_no_parent() {
        assert_eq!(Height::GENESIS.parent(), None);
        assert_eq!(Height::new(5).next().parent(), Some(Height::new(5)));
    }
}
