//! Execution of one message: gas, frames, the host interface of a contract, templates.
//!
//! [`execute`] runs a call or a creation over a [`Journal`]. A contract is a [`Template`]: native
//! Rust behind [`Host`], every operation of which is charged by [`GasSchedule`]. The code of a deployed contract
//! is a [`Marker`] with the id and version of a template in the [`TemplateRegistry`].
//!
//! A frame that reverts, halts or panics undoes its own changes and those of the frames it called.

pub mod abi;
mod abi_index;
mod abi_size;
mod abi_text;
mod context;
pub mod contract;
mod decoded;
mod deployer;
mod descriptor;
mod env;
mod forks;
mod frame;
mod gas;
mod host;
mod identity;
mod inspect;
pub mod math;
mod memory_decoder;
mod message;
mod parameter;
mod registry;
mod relay;
mod runner;
#[cfg(test)]
pub(crate) mod sandbox;
mod signer_frames;
mod slots;
pub mod storage;
mod template;
#[cfg(test)]
mod tests;
mod trace;
mod unit;

use crate::state::{Journal, StateError};

pub use context::BlockContext;
pub use decoded::{Decoded, DecodedArgument, abi_json};
pub use deployer::DeployerNotAllowed;
pub use descriptor::{DeploymentContext, Descriptor, Parameter, ParameterError};
pub use forks::{ForkRules, Hardfork};
pub use gas::{GasSchedule, IntrinsicGas};
pub use host::Host;
pub use identity::{TemplateIdentity, TemplateMismatch};
pub use inspect::Inspector;
pub use message::{FrameOutcome, FrameResult, HaltReason, Message, MessageKind, SYSTEM_ADDRESS, Stop};
pub use parameter::{ParameterDefault, ParameterNote};
pub use registry::{RegistryError, TemplateRegistry, USER_IDS_FROM};
pub use relay::TrustingTarget;
pub use slots::mapping_slot;
pub use template::{Marker, Template, TemplateId};
pub(crate) use trace::REVERTED;
pub use trace::{CallTrace, CallTraceLog, CallTracer};
pub use unit::Unit;

pub(crate) use runner::split_code;

/// Executes `message` and all frames that it starts, over `journal`.
///
/// Marks caller, target and, from Shanghai on, the block's beneficiary as warm first (EIP-2929, EIP-3651). The rest of a transaction is
/// left to the caller: nonce and fees, intrinsic gas ([`GasSchedule::intrinsic`]), the access list, the capped refund
/// ([`GasSchedule::capped_refund`]).
///
/// A contract's failure is an `Ok` with its [`FrameOutcome`]; all its changes are undone.
///
/// # Errors
/// [`StateError`] when the state cannot be read: the message has no outcome, and the journal is unchanged.
pub fn execute(
    journal: &mut Journal,
    block: &BlockContext,
    registry: &TemplateRegistry,
    message: &Message<'_>,
) -> Result<FrameResult, StateError> {
    frame::run_outermost(journal, block, registry, message, None)
}

/// Executes `message` as [`execute`] does and calls `inspector` for every frame and log.
///
/// # Errors
/// As [`execute`].
pub fn execute_inspected(
    journal: &mut Journal,
    block: &BlockContext,
    registry: &TemplateRegistry,
    message: &Message<'_>,
    inspector: &mut dyn Inspector,
) -> Result<FrameResult, StateError> {
    frame::run_outermost(journal, block, registry, message, Some(inspector))
}
