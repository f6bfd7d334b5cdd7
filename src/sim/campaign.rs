//! Many seeds: ranges, shards, results that outlive a killed process, and their sum.
//!
//! A campaign is a range of seeds, each independent of the others. A shard runs every `N`th of them and writes a line that
//! says what is run (its [`Origin`]), then one line of JSON a seed, as it ends. Started again on the same file, it goes on with the seeds that are missing: the last line may be
//! torn. Files of all shards together give the summary. One process may run several seeds at a time; what a seed gives
//! does not depend on it, only the order of lines does.

pub(super) mod operators;
mod origin;
#[cfg(feature = "cli")]
mod parallel;
pub(super) mod regression;
mod results;
pub(super) mod shrink;
pub(super) mod two_phase;
pub(super) mod workload;

use core::{fmt, ops::Range, str::FromStr};
use std::collections::BTreeSet;

use self::two_phase::{CampaignSetup, RunReport, run_seed};

pub use origin::{Origin, OriginError};
#[cfg(feature = "cli")]
pub use parallel::run_parallel;
pub use results::{Failure, ReadResults, ResultsError, Summary, read_results};

/// Which part of the seeds is run here: those at the places `index`, `index + count`, ... of the range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shard {
    index: u64,
    count: u64,
}

/// Why text is no shard.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShardError {
    /// Not two numbers with a slash.
    #[error("shard is `{got}`; expected I/N, such as 0/4 for the first of four")]
    Form {
        /// What was given.
        got: String,
    },
    /// No such shard.
    #[error("shard {index} of {count}: shards are numbered from 0 to N - 1")]
    Range {
        /// The shard's number.
        index: u64,
        /// How many there are.
        count: u64,
    },
}

/// A range of seeds of one setup, and which of them are run here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Campaign {
    /// What every seed runs.
    pub setup: CampaignSetup,
    /// Which seeds there are in all.
    pub seeds: Range<u64>,
    /// Which of them are run here.
    pub shard: Shard,
}

impl Shard {
    /// Everything in one place.
    pub const WHOLE: Self = Self { index: 0, count: 1 };

    /// Part `index`, from 0, of `count`.
    ///
    /// # Errors
    /// [`ShardError::Range`] unless `index` is below `count`.
    pub const fn new(index: u64, count: u64) -> Result<Self, ShardError> {
        if index < count { Ok(Self { index, count }) } else { Err(ShardError::Range { index, count }) }
    }
}

impl FromStr for Shard {
    type Err = ShardError;

    /// Reads `I/N`, with I from 0.
    fn from_str(text: &str) -> Result<Self, ShardError> {
        let form = || ShardError::Form { got: text.to_owned() };
        let (index, count) = text.split_once('/').ok_or_else(form)?;
        Self::new(index.trim().parse().map_err(|_| form())?, count.trim().parse().map_err(|_| form())?)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl Campaign {
    /// All seeds of a range, here.
    pub const fn new(setup: CampaignSetup, seeds: Range<u64>) -> Self {
        Self { setup, seeds, shard: Shard::WHOLE }
    }

    /// The same, one part of it.
    #[must_use]
    pub fn with_shard(self, shard: Shard) -> Self {
        Self { shard, ..self }
    }

    /// The seeds of this part, ascending.
    pub fn seeds(&self) -> impl Iterator<Item = u64> + '_ {
        let step = usize::try_from(self.shard.count).unwrap_or(usize::MAX);
        let first = self.seeds.start.saturating_add(self.shard.index);
        (first..self.seeds.end).step_by(step)
    }

    /// Whether this part has the seed.
    pub fn contains(&self, seed: u64) -> bool {
        let place = seed.checked_sub(self.seeds.start.saturating_add(self.shard.index));
        self.seeds.contains(&seed) && place.is_some_and(|place| place % self.shard.count == 0)
    }

    /// The seeds of this part that are not among `done`.
    pub fn remaining<'a>(&'a self, done: &'a BTreeSet<u64>) -> impl Iterator<Item = u64> + 'a {
        self.seeds().filter(|seed| !done.contains(seed))
    }

    /// Runs this part's seeds one after the other and hands each report on; stops at the first error of `sink`.
    ///
    /// # Errors
    /// The sink's.
    pub fn run<E>(&self, done: &BTreeSet<u64>, mut sink: impl FnMut(RunReport) -> Result<(), E>) -> Result<(), E> {
        self.remaining(done).try_for_each(|seed| sink(run_seed(&self.setup, seed)))
    }

    /// The first seed of this part in which something is broken: the one default hunt of tests with deliberate bugs.
    pub fn first_failure(&self) -> Option<RunReport> {
        self.seeds().map(|seed| run_seed(&self.setup, seed)).find(|report| !report.is_passed())
    }
}

#[cfg(test)]
mod tests;
