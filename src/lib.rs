//! chainbox: an embeddable, deterministic blockchain-network simulator.

pub mod chain;
pub mod primitives;
pub mod state;
pub mod store;
