//! A failure that is kept: which seed and plan showed it, and what they must show from now on.

use serde::{Deserialize, Serialize};

use super::two_phase::{CampaignSetup, RunOutcome, RunReport, record_plan, run_plan};
use crate::sim::{faults::plan::FaultPlan, trace::Trace};

/// What a run must show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Expected {
    /// Nothing is broken: a bug that was mended, or a fault that must be borne.
    Passes,
    /// This invariant is broken: a negative control, beyond what the protocol bears.
    Breaks(String),
}

/// A run that is kept as a file, in TOML.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Regression {
    /// What it shows, for people.
    pub about: String,
    /// Of the run.
    pub seed: u64,
    /// What the run must show.
    pub expected: Expected,
    /// Protocol, sizes and times of the run. Its profile plays no part: the plan is given.
    pub setup: CampaignSetup,
    /// What goes wrong.
    pub plan: FaultPlan,
}

/// Why a regression file can't be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegressionError {
    /// Not TOML, or not a regression.
    #[error("regression file: {0}")]
    Toml(#[from] toml::de::Error),
    /// It can't be written as TOML.
    #[error("regression file: {0}")]
    Write(#[from] toml::ser::Error),
}

impl Regression {
    /// The run of a report, which must pass from now on.
    pub fn mended(about: impl Into<String>, setup: CampaignSetup, report: &RunReport) -> Self {
        let (seed, plan) = (report.seed, report.plan.clone());
        Self { about: about.into(), seed, expected: Expected::Passes, setup, plan }
    }

    /// Reads a file's text.
    ///
    /// # Errors
    /// [`RegressionError::Toml`] with the line.
    pub fn from_toml(text: &str) -> Result<Self, RegressionError> {
        Ok(toml::from_str(text)?)
    }

    /// The file's text.
    ///
    /// # Errors
    /// [`RegressionError::Write`] for a number of 2^63 or above.
    pub fn to_toml(&self) -> Result<String, RegressionError> {
        Ok(toml::to_string(self)?)
    }

    /// Runs it again; answers the report, and whether it shows what it must.
    pub fn replay(&self) -> (RunReport, bool) {
        let report = run_plan(&self.setup, self.seed, &self.plan);
        let is_as_expected = self.is_shown_by(&report);
        (report, is_as_expected)
    }

    /// The same, with everything recorded.
    pub fn record(&self) -> (RunReport, bool, Option<Trace>) {
        let (report, trace) = record_plan(&self.setup, self.seed, &self.plan, &self.about);
        let is_as_expected = self.is_shown_by(&report);
        (report, is_as_expected, trace)
    }

    fn is_shown_by(&self, report: &RunReport) -> bool {
        match (&self.expected, &report.outcome) {
            (Expected::Passes, RunOutcome::Passed) => true,
            (Expected::Breaks(name), RunOutcome::Violated(violation)) => violation.invariant == name.as_str(),
            _ => false,
        }
    }
}
