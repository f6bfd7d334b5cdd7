//! Allowed numbers of validators of a scenario.

use core::fmt;

/// Numbers of validators with which a scenario shows its outcome, and the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Default number.
    pub default: u32,
    /// Smallest number.
    pub min: u32,
    /// Greatest number.
    pub max: u32,
    /// Reason.
    pub reason: &'static str,
}

impl Sizes {
    /// Allows 1 to 100 validators, with this default.
    pub(super) const fn from_default(default: u32, reason: &'static str) -> Self {
        Self { default, min: 1, max: 100, reason }
    }

    /// Allows exactly this number.
    pub(super) const fn exactly(number: u32, reason: &'static str) -> Self {
        Self { default: number, min: number, max: number, reason }
    }

    /// Sets the smallest number.
    pub(super) const fn at_least(mut self, min: u32) -> Self {
        self.min = min;
        self
    }

    /// Sets the greatest number.
    pub(super) const fn at_most(mut self, max: u32) -> Self {
        self.max = max;
        self
    }

    /// Sets the default number.
    pub(super) const fn with_default(mut self, default: u32) -> Self {
        self.default = default;
        self
    }

    /// Returns whether a number is allowed.
    pub const fn allows(&self, number: u32) -> bool {
        number >= self.min && number <= self.max
    }
}

/// Formats as `exactly 4` or `4 to 12`.
impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.min == self.max { write!(f, "exactly {}", self.min) } else { write!(f, "{} to {}", self.min, self.max) }
    }
}
