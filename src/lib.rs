//! chainbox: an embeddable, deterministic blockchain-network simulator.

pub mod chain;
pub mod consensus;
pub mod node;
pub mod primitives;
pub mod sim;
pub mod state;
pub mod store;
pub mod templates;
pub mod vm;
