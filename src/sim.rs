//! The simulator: the only runtime there is.
//!
//! A [`Network`] is a number of replicas (a protocol, a chain and a pool each), the links between them and one
//! seeded [`Scheduler`] that owns virtual time. Same seed, same inputs: same bytes, on every machine. The
//! development node is a network whose blocks are made on demand.

mod builder;
mod byzantine;
pub mod campaign;
mod clock;
#[cfg(feature = "diagram")]
pub mod diagram;
mod digest;
mod disk;
mod error;
mod faults;
pub mod invariant;
mod links;
mod network;
mod operators;
mod oracle;
mod patience;
mod plan;
mod process;
mod profile;
mod records;
mod regression;
mod replica;
mod rng;
#[cfg(any(test, feature = "scenarios"))]
pub mod scenario;
mod scheduler;
mod scripted;
mod seed;
mod shrink;
mod skew;
mod stakes;
pub mod trace;
mod trouble;
mod two_phase;
mod validators;
mod weather;
mod workload;
mod world;

pub use builder::{NetworkBuilder, Production};
pub use campaign::{Campaign, Shard, Summary};
pub use clock::{BlockClock, SimTime};
pub use digest::RunDigest;
pub use error::NetworkError;
pub use invariant::{Invariant, Violation};
pub use links::{Latency, Links};
pub use network::{BlockOrder, Network, Produced, Step};
pub use oracle::Oracle;
pub use plan::{
    Behaviour, Delay, FAULTS_MAX, Fault, FaultId, FaultKind, FaultPlan, LinkEffect, LinkFault, PLAN_VERSION, PlanError,
    Trigger,
};
pub use process::Process;
pub use profile::{Budget, Profile, Weights};
pub use regression::{Expected, Regression, RegressionError};
pub use replica::{Counters, Replica};
pub use rng::{SimRng, Streams};
pub use scheduler::{Scheduler, SchedulerError};
pub use scripted::{ScriptError, Scripted};
pub use seed::SeedGuard;
pub use shrink::{Shrunk, shrink};
pub use two_phase::{Outcome, Report, RunCounters, Setup, record_plan, run_plan, run_seed};
pub(crate) use validators::validator_records;
pub use validators::{Submitted, ValidatorAction, ValidatorActionError};

#[cfg(test)]
mod tests;
