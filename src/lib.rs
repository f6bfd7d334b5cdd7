//! chainbox: an embeddable, deterministic blockchain-network simulator.

pub mod primitives;
pub mod state;
pub mod store;
