//! Runs in two phases. In the first, faults occur and safety must hold; in the second the faults have ended, and honest replicas
//! must converge, make progress, have every acknowledged transaction, and punish whom they can prove guilty. So must observers and replicas that lost their
//! disk or memory; and a newly submitted transaction must be included.

mod punishment;
mod run;
mod setup;

use core::time::Duration;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use self::run::Run;
use crate::{
    primitives::{B256, Height},
    sim::{
        check::violation::Violation,
        faults::plan::FaultPlan,
        millis::millis_serde,
        network::{Network, error::NetworkError},
        trace::{Trace, TraceOutcome},
    },
};

pub use setup::{CampaignSetup, OwnInvariants};

/// Report of one seed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunReport {
    /// The seed.
    pub seed: u64,
    /// Outcome.
    pub outcome: RunOutcome,
    /// Number of validators.
    pub validators: u32,
    /// Run digest.
    pub digest: B256,
    /// Counters.
    pub counters: RunCounters,
    /// Passes of each named coverage point, by all replicas together.
    pub marks: BTreeMap<String, u64>,
    /// Faults of the run.
    pub plan: FaultPlan,
}

/// Outcome of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    /// No violation.
    Passed,
    /// An invariant was violated.
    Violated(Violation),
    /// The simulator failed.
    Failed {
        /// The error with its causes.
        error: String,
    },
}

/// Counters of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunCounters {
    /// Steps.
    pub steps: u64,
    /// Virtual time, in whole milliseconds.
    #[serde(rename = "virtual_ms", with = "millis_serde")]
    pub virtual_time: Duration,
    /// Height of the highest head of an honest replica.
    pub height: Height,
    /// Reorganisations of honest replicas.
    pub reorgs: u64,
    /// Restarts after crashes.
    pub restarts: u64,
    /// Rejected inputs.
    pub rejected: u64,
    /// Pieces of evidence found.
    pub evidence: u64,
    /// Transactions that clients submitted.
    pub submitted: u64,
    /// Submitted transactions that an honest replica acknowledged as final, which durability is asked of. By design 0 in proof of authority
    /// unless a run makes more blocks than may be reverted, some 130: finality by depth promises nothing before.
    pub acknowledged: u64,
}

impl RunReport {
    /// Returns whether there was no violation.
    pub const fn is_passed(&self) -> bool {
        matches!(self.outcome, RunOutcome::Passed)
    }

    /// Returns the violation.
    pub const fn violation(&self) -> Option<&Violation> {
        match &self.outcome {
            RunOutcome::Violated(violation) => Some(violation),
            _ => None,
        }
    }
}

/// Runs one seed with the faults that it draws.
pub fn run_seed(setup: &CampaignSetup, seed: u64) -> RunReport {
    run_plan(setup, seed, &setup.plan_of(seed))
}

/// Runs one seed with `plan` in place of the faults that it draws.
pub fn run_plan(setup: &CampaignSetup, seed: u64, plan: &FaultPlan) -> RunReport {
    run_on(setup, seed, plan, setup.network(seed, plan)).0
}

/// Runs the same with a trace recorded under `title`, which ends with the violation and its step. There is no trace when the
/// network could not be built.
pub fn record_plan(setup: &CampaignSetup, seed: u64, plan: &FaultPlan, title: &str) -> (RunReport, Option<Trace>) {
    run_on(setup, seed, plan, setup.builder(seed, plan).with_trace(title).build())
}

fn run_on(
    setup: &CampaignSetup,
    seed: u64,
    plan: &FaultPlan,
    network: Result<Network, NetworkError>,
) -> (RunReport, Option<Trace>) {
    match network {
        Ok(network) => {
            let mut run = Run::new(setup, seed, network, plan);
            let outcome = match run.go() {
                Ok(()) => RunOutcome::Passed,
                Err(NetworkError::Violated(violation)) => RunOutcome::Violated(*violation),
                Err(error) => RunOutcome::Failed { error: full(&error) },
            };
            let trace = run.network.trace().map(|trace| match &outcome {
                RunOutcome::Failed { error } => trace.with_outcome(TraceOutcome::Failed { reason: error.clone() }),
                _ => trace,
            });
            (run.report(outcome, plan), trace)
        }
        Err(error) => {
            let report = RunReport {
                seed,
                outcome: RunOutcome::Failed { error: full(&error) },
                validators: setup.validators_of(seed),
                digest: B256::ZERO,
                counters: RunCounters::default(),
                marks: BTreeMap::new(),
                plan: plan.clone(),
            };
            (report, None)
        }
    }
}

/// Formats an error with its causes.
fn full(error: &NetworkError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
