//! What is run, and how it ended.

use alloy_primitives::{Address, Bytes, U256, address};

use crate::primitives::{Gas, OutOfGas};

/// Who calls in a system call: the chain itself, before the first transaction of a block (EIP-4788, EIP-7002). Nobody has its key.
pub const SYSTEM_ADDRESS: Address = address!("fffffffffffffffffffffffffffffffffffffffe");

/// What a message does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// Calls the code at the target.
    Call,
    /// Calls it without allowing any change (EIP-214).
    StaticCall,
    /// Creates a contract at the target; the input is init code.
    Create,
}

/// One call or creation.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// What it does.
    pub kind: MessageKind,
    /// Who calls.
    pub caller: Address,
    /// Whom; for a creation the new contract's address.
    pub to: Address,
    /// Amount moved from caller to target, in the smallest unit.
    pub value: U256,
    /// Call data or init code.
    pub input: &'a [u8],
    /// The most gas that it may use.
    pub gas: Gas,
    /// Who signed the transaction.
    pub origin: Address,
}

impl<'a> Message<'a> {
    /// Returns a transaction's call.
    pub const fn call(caller: Address, to: Address, value: U256, input: &'a [u8], gas: Gas) -> Self {
        Self { kind: MessageKind::Call, caller, to, value, input, gas, origin: caller }
    }

    /// Returns a transaction's creation; `nonce` is the transaction's, by which the address is made.
    pub fn create(caller: Address, nonce: u64, value: U256, init_code: &'a [u8], gas: Gas) -> Self {
        let to = caller.create(nonce);
        Self { kind: MessageKind::Create, caller, to, value, input: init_code, gas, origin: caller }
    }
}

/// How a frame ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameResult {
    /// Success, revert, or halt.
    pub outcome: Outcome,
    /// Gas that it did not use.
    pub gas_left: Gas,
    /// Return data; revert data after a revert; the deployed code after a creation.
    pub output: Bytes,
}

impl FrameResult {
    /// Returns whether what it did stands.
    pub const fn is_success(&self) -> bool {
        matches!(self.outcome, Outcome::Success)
    }

    /// What a caller does with the result when it passes failures on: the output, or a revert with the callee's data.
    ///
    /// # Errors
    /// [`Stop::Revert`] when the frame failed.
    pub fn or_revert(self) -> Result<Bytes, Stop> {
        if self.is_success() { Ok(self.output) } else { Err(Stop::Revert(self.output)) }
    }
}

/// Success or why not. A failed frame's changes are undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It ended by itself.
    Success,
    /// It gave up with data for the caller; unused gas is kept.
    Revert,
    /// It could not go on; its gas is gone.
    Halt(HaltReason),
}

/// Why a frame could not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HaltReason {
    /// An operation cost more than was left.
    #[error("out of gas")]
    OutOfGas,
    /// A change inside a static call (EIP-214).
    #[error("write protection")]
    StaticViolation,
    /// More frames open than the schedule allows. Its gas is given back.
    #[error("max call depth exceeded")]
    CallDepth,
    /// The caller does not hold the value, or the target cannot hold more. Its gas is given back.
    #[error("insufficient balance for transfer")]
    InsufficientBalance,
    /// The new address has a nonce, code or storage already (EIP-684, EIP-7610).
    #[error("contract address collision")]
    Collision,
    /// The creator's nonce is at its bound (EIP-2681). Its gas is given back.
    #[error("nonce uint64 overflow")]
    NonceOverflow,
    /// Init code above the bound of EIP-3860.
    #[error("max initcode size exceeded")]
    InitCodeSize,
    /// The code is EVM bytecode.
    #[error(
        "EVM bytecode is not supported: deploy a template (marker 0xEFCB, template id, version, ABI-encoded parameters)"
    )]
    EvmBytecodeUnsupported,
    /// The marker names a template or version that is not registered.
    #[error("template {id} version {version} is not registered")]
    UnknownTemplate {
        /// The template's number.
        id: u16,
        /// Its version.
        version: u16,
    },
    /// The template panicked.
    #[error("invalid opcode: the template panicked")]
    TemplatePanic,
    /// Code starting with 0xEF that is no marker (EIP-3541).
    #[error("invalid code: starts with 0xEF and is no template marker")]
    InvalidCode,
}

impl HaltReason {
    /// Returns whether the failure came before the frame began, so that its gas is given back.
    pub const fn keeps_gas(self) -> bool {
        matches!(self, Self::CallDepth | Self::InsufficientBalance | Self::NonceOverflow)
    }
}

/// Why a template stops before its end: the error of every host operation. Pass it on with `?`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Undo the frame and hand this data to the caller.
    Revert(Bytes),
    /// The frame cannot go on. A template that goes on nevertheless halts when it returns.
    Halt(HaltReason),
    /// The state cannot be read; the whole message has no outcome.
    StateUnreadable,
}

impl Stop {
    /// A revert without data.
    pub(super) const EMPTY_REVERT: Self = Self::Revert(Bytes::new());
}

impl From<OutOfGas> for Stop {
    fn from(_: OutOfGas) -> Self {
        Self::Halt(HaltReason::OutOfGas)
    }
}
