//! The simulator: the only runtime there is.
//!
//! A [`Network`] is a number of replicas (a protocol, a chain and a pool each), the links between them and one
//! seeded [`Scheduler`] that owns virtual time. Same seed, same inputs: same bytes, on every machine. The
//! development node is a network whose blocks are made on demand.

pub mod campaign;
mod check;
mod default_config;
#[cfg(feature = "diagram")]
pub mod diagram;
mod engine;
mod faults;
mod millis;
mod network;
mod pacing;
mod report_text;
#[cfg(feature = "scenarios")]
pub mod scenario;
pub mod trace;

pub use campaign::{
    Campaign, Shard, Summary,
    regression::{Expected, Regression, RegressionError},
    shrink::{Shrunk, shrink},
    two_phase::{CampaignSetup, OwnInvariants, RunCounters, RunOutcome, RunReport, record_plan, run_plan, run_seed},
};
pub use check::{
    history,
    invariant::{self, Invariant},
    violation::Violation,
};
pub use default_config::default_sim_config;
pub use engine::{
    clock::SimTime,
    rng::{SimRng, Streams},
    scheduler::{Scheduler, SchedulerError},
    seed_guard::SeedGuard,
};
pub use faults::{
    plan::{
        Behaviour, Delay, FAULTS_MAX, Fault, FaultId, FaultKind, FaultPlan, LinkEffect, LinkFault, PLAN_VERSION,
        PlanError, Trigger,
    },
    profile::{Budget, Profile, Weights},
};
pub use network::{
    Network,
    builder::NetworkBuilder,
    chain_options::{ChainOptions, ChainOptionsError},
    error::{NetworkError, NetworkOptionsError, RunProgress, StoredRecordsError, UnknownReplica},
    links::Latency,
    offence::OffenceError,
    produce::ProducedBlock,
    production::{BlockOrder, Production},
    replica::{Replica, observations::ReplicaCounters, process::ProcessState},
    run::RUN_TO_HEIGHT_MAX,
    scripted::{ScriptError, ScriptedChain},
    step::SimStep,
    stopping::StopError,
    validator_action::{Submitted, ValidatorAction, ValidatorActionError},
};
pub use pacing::{LATE_MAX, Pacer, PacerCounters, PacerError, STEPS_PER_ADVANCE_MAX};

pub(crate) use network::{
    chain_options::{ValidatorKeys, chain_option_setters},
    checkpoint::NetworkCheckpoint,
    dev_accounts::{DEV_ACCOUNTS_MAX, dev_account_balance},
    rewind::EarlierHead,
    validator_action::validator_records,
};

#[cfg(test)]
mod tests;
