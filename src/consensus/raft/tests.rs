//! Several replicas driven step by step: the papers' scenarios, with the papers' invariants checked after every step.

mod cluster;
mod durable_commit;
mod elections;
mod formats;
mod input;
mod members;
mod model;
mod random;
mod replication;
