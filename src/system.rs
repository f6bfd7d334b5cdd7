//! System contracts: contracts at fixed addresses that hold validators and their stake, and the system calls
//! by which the consensus protocol changes them at the start of a block.
//!
//! A protocol never reads a contract. It receives [`ValidatorUpdates`], a result of executing a block.

mod call;
pub mod staking;
mod update;

pub use call::{SYSTEM_ADDRESS, SystemCall, SystemContext};
pub use update::{ValidatorUpdate, ValidatorUpdates};
