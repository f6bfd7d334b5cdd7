//! The node through its public interface.

mod building;
mod contracts;
mod events;
mod failing_store;
mod fixture;
mod interventions;
mod mining;
mod pending;
mod pool;
mod protocols;
mod reads;
mod retention;
mod sending;
mod snapshots;
