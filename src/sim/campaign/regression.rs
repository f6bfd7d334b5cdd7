//! Regressions: a seed and plan stored in a file, with the expected outcome.

use serde::{Deserialize, Serialize};

use super::two_phase::{CampaignSetup, RunOutcome, RunReport, record_plan, run_plan};
use crate::{
    consensus::{ConsensusConfig, OwnProtocol},
    sim::{faults::plan::FaultPlan, trace::Trace},
};

/// Expected outcome of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Expected {
    /// No violation: a fixed bug, or a fault that must be tolerated.
    Passes,
    /// A violation of this invariant: a negative control, beyond what the protocol tolerates.
    Breaks(String),
}

/// A run stored as TOML.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Regression {
    /// Description for readers.
    pub about: String,
    /// Seed of the run.
    pub seed: u64,
    /// Expected outcome.
    pub expected: Expected,
    /// Protocol, sizes and times of the run. Its profile is not used: the plan is given.
    pub setup: CampaignSetup,
    /// Faults.
    pub plan: FaultPlan,
}

/// Failure to read or write a regression file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegressionError {
    /// Not TOML, or not a regression.
    #[error("regression file: {0}")]
    Toml(#[from] toml::de::Error),
    /// The regression cannot be written as TOML.
    #[error("regression file: {0}")]
    Write(#[from] toml::ser::Error),
    /// The regression is of another protocol than the given one of one's own.
    #[error("regression file: it is of {got}, given is {want}")]
    OtherProtocol {
        /// The file's section `setup.consensus`.
        got: String,
        /// That of the given protocol.
        want: String,
    },
}

impl Regression {
    /// Returns the regression of a report that must pass from now on.
    pub fn mended(about: impl Into<String>, setup: CampaignSetup, report: &RunReport) -> Self {
        let (seed, plan) = (report.seed, report.plan.clone());
        Self { about: about.into(), seed, expected: Expected::Passes, setup, plan }
    }

    /// Parses the text of a file.
    ///
    /// # Errors
    /// [`RegressionError::Toml`] with the line.
    pub fn from_toml(text: &str) -> Result<Self, RegressionError> {
        Ok(toml::from_str(text)?)
    }

    /// Parses the text of a file whose protocol is one of one's own, which is code, and so is not in the file.
    ///
    /// # Errors
    /// [`RegressionError::Toml`] with the line, [`RegressionError::OtherProtocol`].
    pub fn from_toml_of_own(text: &str, protocol: &OwnProtocol) -> Result<Self, RegressionError> {
        let mut file: toml::Table = toml::from_str(text)?;
        let consensus = ConsensusConfig::Own(protocol.clone());
        let want = toml::Value::try_from(&consensus)?;
        let section = file.get_mut("setup").and_then(|setup| setup.get_mut("consensus"));
        match section {
            Some(section) if *section == want => *section = toml::Value::try_from(ConsensusConfig::default())?,
            other => {
                let got = other.map_or_else(|| "nothing".to_owned(), |section| section.to_string());
                return Err(RegressionError::OtherProtocol { got, want: want.to_string() });
            }
        }
        let mut regression: Self = file.try_into()?;
        regression.setup.consensus = consensus;
        Ok(regression)
    }

    /// Returns the text of the file.
    ///
    /// # Errors
    /// [`RegressionError::Write`] for a number of 2^63 or above.
    pub fn to_toml(&self) -> Result<String, RegressionError> {
        Ok(toml::to_string(self)?)
    }

    /// Runs it again; returns the report, and whether the outcome is the expected one.
    pub fn replay(&self) -> (RunReport, bool) {
        let report = run_plan(&self.setup, self.seed, &self.plan);
        let is_as_expected = self.is_shown_by(&report);
        (report, is_as_expected)
    }

    /// Runs it again with a recorded trace.
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
