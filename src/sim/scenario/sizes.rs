//! How many validators a scenario can be played with.

use core::fmt;

/// The numbers of validators with which a scenario shows what it must, and why no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Unless told otherwise.
    pub usual: u32,
    /// The fewest.
    pub min: u32,
    /// The most.
    pub max: u32,
    /// Why.
    pub reason: &'static str,
}

impl Sizes {
    /// `usual` validators or any number of 1 to 100.
    pub(super) const fn usual(usual: u32, reason: &'static str) -> Self {
        Self { usual, min: 1, max: 100, reason }
    }

    /// So many and no others.
    pub(super) const fn exactly(number: u32, reason: &'static str) -> Self {
        Self { usual: number, min: number, max: number, reason }
    }

    /// Not fewer.
    pub(super) const fn at_least(mut self, min: u32) -> Self {
        self.min = min;
        self
    }

    /// Not more.
    pub(super) const fn at_most(mut self, max: u32) -> Self {
        self.max = max;
        self
    }

    /// The same numbers, with another one unless told otherwise.
    pub(super) const fn usually(mut self, usual: u32) -> Self {
        self.usual = usual;
        self
    }

    /// Whether so many are allowed.
    pub const fn allows(&self, number: u32) -> bool {
        number >= self.min && number <= self.max
    }
}

/// As in `exactly 4` or `4 to 12`.
impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.min == self.max { write!(f, "exactly {}", self.min) } else { write!(f, "{} to {}", self.min, self.max) }
    }
}
