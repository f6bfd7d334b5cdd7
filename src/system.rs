//! System contracts: contracts at fixed addresses that hold validators, their stake, the chain's parameters and its governance, and the
//! system calls by which the consensus protocol changes them at the start of a block.
//!
//! A protocol never reads a contract. It receives [`BlockUpdates`], a result of executing a block.

mod address;
mod call;
pub mod governance;
mod parameter;
pub mod parameters;
pub mod staking;
mod update;

pub use call::{SYSTEM_ADDRESS, SystemCall, SystemContext};
pub use update::{BlockUpdates, ParameterUpdate, ParameterUpdates, ValidatorUpdate, ValidatorUpdates};
