//! System contracts: contracts at fixed addresses that the chain itself relies on. [`staking`] holds validators and their stake, which the
//! consensus protocol changes by system calls at the start of a block, [`validators`] those of a chain without stake; [`parameters`] the rules of the chain that transactions may change;
//! [`permissions`] says who may send transactions and deploy, [`modules`] which modules of the service are on;
//! by [`governance`] the validators vote. [`sealing_keys`] is a part of the contracts that hold validators.
//!
//! A protocol never reads a contract. It receives [`BlockUpdates`], a result of executing a block.

mod address;
mod call;
pub mod governance;
#[cfg(test)]
mod lab;
pub mod modules;
mod parameter;
pub mod parameters;
pub mod permissions;
pub mod sealing_keys;
pub mod staking;
mod update;
pub mod validators;

pub use call::{SYSTEM_ADDRESS, SystemCall, SystemContext};
pub use update::{BlockUpdates, ParameterUpdate, ParameterUpdates, ValidatorUpdate, ValidatorUpdates};
