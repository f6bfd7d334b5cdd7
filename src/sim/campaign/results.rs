//! Files of results: the origin, then one line of JSON for each seed.

use core::time::Duration;
use std::{
    collections::BTreeMap,
    io::{self, BufRead},
};

use serde::{Deserialize, Serialize};

use super::{
    Origin,
    two_phase::{RunOutcome, RunReport},
};
use crate::sim::millis::millis_serde;

/// Failures listed by a summary; further ones are only counted.
const FAILURES_MAX: usize = 100;

/// Failure to read results.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResultsError {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The first line is no [`Origin`].
    #[error("line 1 does not state the origin of the results: {source}")]
    Origin {
        /// The cause.
        #[source]
        source: serde_json::Error,
    },
    /// A line before the last is no result.
    #[error("line {line} is no result: {source}")]
    Line {
        /// Line number, from 1.
        line: usize,
        /// The cause.
        #[source]
        source: serde_json::Error,
    },
}

/// Summary of many seeds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// Seeds that were run.
    pub seeds: u64,
    /// Seeds without a violation.
    pub passed: u64,
    /// Violations by invariant; `failed` counts failures of the simulator.
    pub broken: BTreeMap<String, u64>,
    /// The failures with the lowest seeds.
    pub failures: BTreeMap<u64, Failure>,
    /// Steps of all runs.
    pub steps: u64,
    /// Virtual time of all runs, in whole milliseconds.
    #[serde(rename = "virtual_ms", with = "millis_serde")]
    pub virtual_time: Duration,
    /// Transactions acknowledged as final.
    pub acknowledged: u64,
    /// Restarts after crashes.
    pub restarts: u64,
    /// Passes of each named coverage point.
    pub marks: BTreeMap<String, u64>,
    /// Seeds with each kind of fault.
    pub faults: BTreeMap<String, u64>,
}

/// One failure of a summary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Name of the invariant.
    pub invariant: String,
    /// Detail of the violation.
    pub detail: String,
}

impl Summary {
    /// Adds a report.
    pub fn add(&mut self, report: &RunReport) {
        self.seeds += 1;
        self.steps += report.counters.steps;
        self.virtual_time += report.counters.virtual_time;
        self.acknowledged += report.counters.acknowledged;
        self.restarts += report.counters.restarts;
        for (name, count) in &report.marks {
            *self.marks.entry(name.clone()).or_default() += count;
        }
        let mut kinds: Vec<_> = report.plan.faults.iter().map(|fault| fault.kind.label()).collect();
        kinds.sort_unstable();
        kinds.dedup();
        for kind in kinds {
            *self.faults.entry(kind.to_owned()).or_default() += 1;
        }
        let (invariant, detail) = match &report.outcome {
            RunOutcome::Passed => {
                self.passed += 1;
                return;
            }
            RunOutcome::Violated(violation) => (violation.invariant.to_string(), violation.to_string()),
            RunOutcome::Failed { error } => ("failed".to_owned(), error.clone()),
        };
        *self.broken.entry(invariant.clone()).or_default() += 1;
        self.failures.insert(report.seed, Failure { invariant, detail });
        if self.failures.len() > FAILURES_MAX {
            self.failures.pop_last();
        }
    }

    /// Adds the summary of another shard.
    pub fn merge(&mut self, other: Self) {
        self.seeds += other.seeds;
        self.passed += other.passed;
        self.steps += other.steps;
        self.virtual_time += other.virtual_time;
        self.acknowledged += other.acknowledged;
        self.restarts += other.restarts;
        let counts =
            [(&mut self.broken, other.broken), (&mut self.marks, other.marks), (&mut self.faults, other.faults)];
        for (own, others) in counts {
            for (name, count) in others {
                *own.entry(name).or_default() += count;
            }
        }
        self.failures.extend(other.failures);
        while self.failures.len() > FAILURES_MAX {
            self.failures.pop_last();
        }
    }
}

impl FromIterator<RunReport> for Summary {
    fn from_iter<I: IntoIterator<Item = RunReport>>(reports: I) -> Self {
        let mut summary = Self::default();
        reports.into_iter().for_each(|report| summary.add(&report));
        summary
    }
}

/// Properties of a file of results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadResults {
    /// Origin; `None` when the file was torn within its first line.
    pub origin: Option<Origin>,
    /// Bytes up to the end of the last whole line. The rest was torn by a kill and must be truncated before appending.
    pub whole_bytes: u64,
}

/// Reads a file of results and passes each to `take`, including duplicates of one seed.
///
/// # Errors
/// [`ResultsError`]: the file cannot be read, its first line is no [`Origin`], or a line before the last is no result.
pub fn read_results(mut file: impl BufRead, mut take: impl FnMut(RunReport)) -> Result<ReadResults, ResultsError> {
    let mut read = ReadResults { origin: None, whole_bytes: 0 };
    let (mut line, mut bytes) = (0, Vec::new());
    loop {
        bytes.clear();
        let length = file.read_until(b'\n', &mut bytes)?;
        if length == 0 || bytes.last() != Some(&b'\n') {
            return Ok(read);
        }
        line += 1;
        let text = bytes.trim_ascii();
        if read.origin.is_none() {
            read.origin = Some(serde_json::from_slice(text).map_err(|source| ResultsError::Origin { source })?);
        } else if !text.is_empty() {
            take(serde_json::from_slice(text).map_err(|source| ResultsError::Line { line, source })?);
        }
        read.whole_bytes += length as u64;
    }
}
