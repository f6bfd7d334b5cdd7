//! The simulator: the only runtime there is.
//!
//! A [`Network`] is a number of replicas (a protocol, a chain and a pool each), the links between them and one
//! seeded [`Scheduler`] that owns virtual time. Same seed, same inputs: same bytes, on every machine. The
//! development node is a network whose blocks are made on demand.

mod builder;
mod clock;
mod digest;
mod error;
mod links;
mod network;
mod records;
mod replica;
mod rng;
mod scheduler;
mod seed;
pub mod trace;
mod world;

pub use builder::{NetworkBuilder, Production};
pub use clock::{BlockClock, SimTime};
pub use digest::RunDigest;
pub use error::NetworkError;
pub use links::{Latency, Links};
pub use network::{BlockOrder, Network, Produced, Step};
pub use replica::{Counters, Replica};
pub use rng::{SimRng, Streams};
pub use scheduler::{Scheduler, SchedulerError};
pub use seed::SeedGuard;

#[cfg(test)]
mod raft_tests;
#[cfg(test)]
mod tests;

#[cfg(test)]
mod pbft_tests;
