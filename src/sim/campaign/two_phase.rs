//! Runs in two phases: first everything may go wrong and nothing false may be promised; then the faults end, and the
//! honest replicas must converge, go on, and still have everything that was acknowledged. So must observers, and whoever lost its
//! disk or memory; and what a client asks for from now on must be done.

mod run;
mod setup;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use self::run::Run;
use crate::{
    primitives::B256,
    sim::{
        check::invariant::Violation,
        faults::plan::FaultPlan,
        network::{Network, error::NetworkError},
        trace::{Incident, Trace},
    },
};

pub use setup::CampaignSetup;

/// What became of one seed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunReport {
    /// Which.
    pub seed: u64,
    /// How it ended.
    pub outcome: RunOutcome,
    /// How many validators it had.
    pub validators: u32,
    /// Fingerprint of the whole run.
    pub digest: B256,
    /// What it did.
    pub counters: RunCounters,
    /// How often each named point of coverage was passed, by all replicas together.
    pub marks: BTreeMap<String, u64>,
    /// What went wrong on purpose.
    pub plan: FaultPlan,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    /// Everything held.
    Passed,
    /// Something did not.
    Violated(Violation),
    /// The simulator itself gave up.
    Failed {
        /// Why.
        error: String,
    },
}

/// What a run did, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunCounters {
    /// Steps.
    pub steps: u64,
    /// Virtual time, in milliseconds.
    pub virtual_ms: u64,
    /// Height of the highest head of an honest replica.
    pub height: u64,
    /// Reorganisations of honest replicas.
    pub reorgs: u64,
    /// Restarts after crashes.
    pub restarts: u64,
    /// Inputs that were refused.
    pub rejected: u64,
    /// Pieces of evidence that were found.
    pub evidence: u64,
    /// Transactions that clients submitted.
    pub submitted: u64,
    /// Of them, those that an honest replica acknowledged as final.
    pub acknowledged: u64,
}

impl RunReport {
    /// Whether everything held.
    pub const fn is_passed(&self) -> bool {
        matches!(self.outcome, RunOutcome::Passed)
    }

    /// What did not hold.
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

/// Runs one seed with these faults in place of those that it draws.
pub fn run_plan(setup: &CampaignSetup, seed: u64, plan: &FaultPlan) -> RunReport {
    run_on(setup, seed, plan, setup.network(seed, plan)).0
}

/// The very same run with everything recorded under `title`: what broke is the last thing that the trace tells, with the step. No
/// trace when the network could not be built.
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
            if let RunOutcome::Violated(Violation { invariant, step, detail, .. }) = &outcome {
                let detail = format!("at step {step}: {detail}");
                run.network.note(Incident::Violation { invariant: invariant.to_string(), detail });
            }
            let trace = run.network.trace();
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

/// An error with its causes.
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
