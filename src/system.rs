//! System contracts: contracts at fixed addresses that the chain itself relies on. [`staking`] holds validators and their stake, which the
//! consensus protocol changes by system calls at the start of a block; [`permissions`] says who may send transactions and deploy,
//! [`modules`] which modules of the service are on.
//!
//! A protocol never reads a contract. It receives [`ValidatorUpdates`], a result of executing a block.

mod call;
pub mod modules;
pub mod permissions;
pub mod staking;
mod update;

pub use call::{SYSTEM_ADDRESS, SystemCall, SystemContext};
pub use update::{ValidatorUpdate, ValidatorUpdates};
