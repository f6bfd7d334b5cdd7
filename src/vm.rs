//! Running one message to its end: gas, frames, the host that a contract sees, templates.
//!
//! [`execute`] runs a call or a creation over a [`Journal`]. A contract is a [`Template`]: native
//! Rust behind [`Host`], every operation of which is charged by [`GasSchedule`]. What a deployed contract
//! is, says its code: a [`Marker`], which names a template and version of the [`TemplateRegistry`].
//!
//! A frame that reverts, halts or panics undoes everything that it did, and what it called did.

pub mod abi;
mod context;
mod env;
mod frame;
mod gas;
mod host;
mod inspect;
mod message;
mod registry;
mod runner;
mod slots;
mod template;
#[cfg(test)]
mod tests;
mod trace;

use crate::state::{Journal, StateError};

pub use context::BlockContext;
pub use gas::GasSchedule;
pub use host::Host;
pub use inspect::Inspector;
pub use message::{FrameResult, HaltReason, Message, MessageKind, Outcome, SYSTEM_ADDRESS, Stop};
pub use registry::{RegistryError, TemplateRegistry};
pub use slots::mapping_slot;
pub use template::{Marker, Template, TemplateId};
pub use trace::{CallTrace, CallTraceLog, CallTracer};

/// Runs `message` and all that it calls, over `journal`.
///
/// Touches caller, target and the block's beneficiary first, so that they are warm (EIP-2929, EIP-3651). What goes with a
/// transaction around it is the caller's: its nonce and fees, intrinsic gas ([`GasSchedule::intrinsic`]), the access
/// list, the capped refund ([`GasSchedule::capped_refund`]).
///
/// A contract's failure is an `Ok` with its [`Outcome`]; everything that it did is undone.
///
/// # Errors
/// [`StateError`] when the state cannot be read: the message has no outcome, and the journal is as before.
pub fn execute(
    journal: &mut Journal,
    block: &BlockContext,
    registry: &TemplateRegistry,
    message: &Message<'_>,
) -> Result<FrameResult, StateError> {
    frame::run_outermost(journal, block, registry, message, None)
}

/// [`execute`] with an inspector that is told of every frame and log.
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
