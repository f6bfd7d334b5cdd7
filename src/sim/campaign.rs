//! Campaigns: ranges of seeds, shards, resumable result files and their summary.
//!
//! A campaign is a range of seeds, each independent of the others. A shard runs every `N`th of them and writes its
//! [`Origin`] as the first line, then one line of JSON for each finished seed. Started again on the same file, it runs the
//! missing seeds; the last line may be torn. The files of all shards together give the summary. One process may run several
//! seeds at a time, which changes the order of the lines but not their contents.

pub(super) mod governors;
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

/// The part of the seeds that runs here: those at the places `index`, `index + count`, ... of the range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shard {
    index: u64,
    count: u64,
}

/// Text that is no shard.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShardError {
    /// Not two numbers with a slash.
    #[error("shard is `{got}`; expected I/N, such as 0/4 for the first of four")]
    Form {
        /// The given text.
        got: String,
    },
    /// Number outside the range.
    #[error("shard {index} of {count}: shards are numbered from 0 to N - 1")]
    Range {
        /// The shard's number.
        index: u64,
        /// Number of shards.
        count: u64,
    },
}

/// A range of seeds of one setup, and the shard that runs here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Campaign {
    /// Setup of every seed.
    pub setup: CampaignSetup,
    /// All seeds of the campaign.
    pub seeds: Range<u64>,
    /// Part of them that runs here.
    pub shard: Shard,
}

impl Shard {
    /// The only shard.
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

    /// Parses `I/N`, with I from 0.
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
    /// Creates a campaign that runs all seeds of a range here.
    pub const fn new(setup: CampaignSetup, seeds: Range<u64>) -> Self {
        Self { setup, seeds, shard: Shard::WHOLE }
    }

    /// Restricts the campaign to one shard.
    #[must_use]
    pub fn with_shard(self, shard: Shard) -> Self {
        Self { shard, ..self }
    }

    /// Iterates over the seeds of this shard, ascending.
    pub fn seeds(&self) -> impl Iterator<Item = u64> + '_ {
        let step = usize::try_from(self.shard.count).unwrap_or(usize::MAX);
        let first = self.seeds.start.saturating_add(self.shard.index);
        (first..self.seeds.end).step_by(step)
    }

    /// Returns whether this shard has the seed.
    pub fn contains(&self, seed: u64) -> bool {
        let place = seed.checked_sub(self.seeds.start.saturating_add(self.shard.index));
        self.seeds.contains(&seed) && place.is_some_and(|place| place % self.shard.count == 0)
    }

    /// Returns the seeds of this shard that are not in `done`.
    pub fn remaining<'a>(&'a self, done: &'a BTreeSet<u64>) -> impl Iterator<Item = u64> + 'a {
        self.seeds().filter(|seed| !done.contains(seed))
    }

    /// Runs this shard's seeds one after the other and passes each report to `sink`; stops at its first error.
    ///
    /// # Errors
    /// The sink's.
    pub fn run<E>(&self, done: &BTreeSet<u64>, mut sink: impl FnMut(RunReport) -> Result<(), E>) -> Result<(), E> {
        self.remaining(done).try_for_each(|seed| sink(run_seed(&self.setup, seed)))
    }

    /// Runs seeds until one fails, and returns its report; tests with deliberate bugs use it.
    pub fn first_failure(&self) -> Option<RunReport> {
        self.seeds().map(|seed| run_seed(&self.setup, seed)).find(|report| !report.is_passed())
    }
}

#[cfg(test)]
mod tests;
