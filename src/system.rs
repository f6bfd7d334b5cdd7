//! What the chain itself relies on: contracts at fixed addresses that keep validators and their stake, and the calls
//! that the consensus protocol makes to them at the start of a block.
//!
//! A protocol never reads a contract. It sees [`ValidatorUpdates`], which executing a block returns.

mod call;
pub mod staking;
mod update;

pub use call::{SYSTEM_ADDRESS, SystemCall, SystemContext};
pub use update::{ValidatorUpdate, ValidatorUpdates};
