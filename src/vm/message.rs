//! Messages and their results.

use alloy_primitives::{Address, Bytes, U256, address};

use crate::primitives::{Gas, OutOfGas};

/// The caller that contracts see in a system call (EIP-4788, EIP-7002). No key exists for it, no transaction or call may name it
/// as its sender, and it confers nothing: what may act as the chain is [`Message::is_system_call`].
pub const SYSTEM_ADDRESS: Address = address!("fffffffffffffffffffffffffffffffffffffffe");

/// Kind of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// Call of the code at the target.
    Call,
    /// Call of the code at the target with all changes forbidden (EIP-214).
    StaticCall,
    /// Creation of a contract at the target; the input is init code.
    Create,
}

/// One call or creation.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// Call, static call or creation.
    pub kind: MessageKind,
    /// Address of the caller.
    pub caller: Address,
    /// Address of the callee; for a creation, of the new contract.
    pub to: Address,
    /// Amount transferred from caller to target, in wei.
    pub value: U256,
    /// Call data or init code.
    pub input: &'a [u8],
    /// Gas limit of the frame.
    pub gas: Gas,
    /// Signer of the transaction.
    pub origin: Address,
    /// Whether the chain itself calls. Not inherited by the frames that this one opens.
    is_system_call: bool,
    /// Account in whose name a forwarder calls (ERC-2771). Not inherited by the frames that this one opens.
    relayed_sender: Option<Address>,
    /// Whether contracts may be created. Inherited by the frames that this one opens.
    may_deploy: bool,
    /// Whether genesis creates the contract. Not inherited by the frames that this one opens.
    is_of_genesis: bool,
}

impl<'a> Message<'a> {
    /// Creates the call of a transaction.
    pub const fn call(caller: Address, to: Address, value: U256, input: &'a [u8], gas: Gas) -> Self {
        Self {
            kind: MessageKind::Call,
            caller,
            to,
            value,
            input,
            gas,
            origin: caller,
            is_system_call: false,
            relayed_sender: None,
            may_deploy: true,
            is_of_genesis: false,
        }
    }

    /// Creates a call by the chain itself, which may do what no transaction may, such as mint. The callee sees
    /// [`SYSTEM_ADDRESS`] as its caller.
    pub const fn system_call(to: Address, input: &'a [u8], gas: Gas) -> Self {
        Self { is_system_call: true, ..Self::call(SYSTEM_ADDRESS, to, U256::ZERO, input, gas) }
    }

    /// Creates the creation of a transaction; the new address derives from `caller` and the transaction's `nonce`.
    pub fn create(caller: Address, nonce: u64, value: U256, init_code: &'a [u8], gas: Gas) -> Self {
        Self::create_at(caller.create(nonce), caller, value, init_code, gas)
    }

    /// Creates the creation of a contract at a given address, as genesis places its contracts.
    pub const fn create_at(to: Address, caller: Address, value: U256, init_code: &'a [u8], gas: Gas) -> Self {
        Self { kind: MessageKind::Create, ..Self::call(caller, to, value, init_code, gas) }
    }

    /// Returns the creation as one of genesis, whose init code has no bound: that of EIP-3860 is one of transactions.
    #[must_use]
    pub const fn of_genesis(self) -> Self {
        Self { is_of_genesis: true, ..self }
    }

    /// Returns whether genesis creates the contract ([`Message::of_genesis`]).
    pub const fn is_of_genesis(&self) -> bool {
        self.is_of_genesis
    }

    /// Returns the message with what the chain lets its origin do: where it may not deploy, this frame and those below create no contract,
    /// and a creation reverts with [`DeployerNotAllowed`](super::DeployerNotAllowed).
    #[must_use]
    pub const fn with_deployments(self, may_deploy: bool) -> Self {
        Self { may_deploy, ..self }
    }

    /// Returns whether contracts may be created in this frame and those below ([`Message::with_deployments`]).
    pub const fn may_deploy(&self) -> bool {
        self.may_deploy
    }

    /// Returns the message of a frame that a frame of this message opens: same origin, without the chain's authority.
    pub(super) const fn inner<'b>(
        &self,
        kind: MessageKind,
        to: Address,
        value: U256,
        input: &'b [u8],
        gas: Gas,
    ) -> Message<'b> {
        let (origin, may_deploy) = (self.origin, self.may_deploy);
        Message { kind, origin, may_deploy, ..Message::call(self.to, to, value, input, gas) }
    }

    /// Returns the message of a frame that a frame of this message opens in the name of its own caller.
    pub(super) const fn inner_of_caller<'b>(
        &self,
        kind: MessageKind,
        to: Address,
        value: U256,
        input: &'b [u8],
        gas: Gas,
    ) -> Message<'b> {
        Message { caller: self.caller, ..self.inner(kind, to, value, input, gas) }
    }

    /// Returns the message with the account in whose name the caller, a forwarder, calls.
    pub(super) const fn relayed_for(self, sender: Option<Address>) -> Self {
        Self { relayed_sender: sender, ..self }
    }

    /// Returns whether the chain itself calls ([`Message::system_call`]).
    pub const fn is_system_call(&self) -> bool {
        self.is_system_call
    }

    /// Returns the account in whose name a forwarder calls that the target trusts (ERC-2771, [`Host::call_relayed`](super::Host::call_relayed)).
    ///
    /// A template reads it as its caller. What runs bytecode appends its 20 bytes to the input instead, as the standard says.
    pub const fn relayed_sender(&self) -> Option<Address> {
        self.relayed_sender
    }
}

/// Result of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameResult {
    /// Success, revert, or halt.
    pub outcome: FrameOutcome,
    /// Gas left unused.
    pub gas_left: Gas,
    /// Return data; revert data after a revert; the deployed code after a creation.
    pub output: Bytes,
}

impl FrameResult {
    /// Returns whether the frame succeeded and its changes are kept.
    pub const fn is_success(&self) -> bool {
        matches!(self.outcome, FrameOutcome::Success)
    }

    /// Returns the output, or a revert with the callee's data, for a caller that passes failures on.
    ///
    /// # Errors
    /// [`Stop::Revert`] when the frame failed.
    pub fn or_revert(self) -> Result<Bytes, Stop> {
        if self.is_success() { Ok(self.output) } else { Err(Stop::Revert(self.output)) }
    }
}

/// How a frame ended. A failed frame's changes are undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameOutcome {
    /// Normal end.
    Success,
    /// Revert with data for the caller; unused gas is kept.
    Revert,
    /// Exceptional halt; all gas is consumed.
    Halt(HaltReason),
}

/// Reason of an exceptional halt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HaltReason {
    /// An operation cost more gas than was left.
    #[error("out of gas")]
    OutOfGas,
    /// A state change inside a static call (EIP-214).
    #[error("write protection")]
    StaticViolation,
    /// More open frames than the schedule allows. The gas is returned.
    #[error("max call depth exceeded")]
    CallDepth,
    /// The caller's balance is below the value, or the target's would overflow. The gas is returned.
    #[error("insufficient balance for transfer")]
    InsufficientBalance,
    /// The new address has a nonce, code or storage already (EIP-684, EIP-7610).
    #[error("contract address collision")]
    Collision,
    /// The creator's nonce is at its bound (EIP-2681). The gas is returned.
    #[error("nonce uint64 overflow")]
    NonceOverflow,
    /// Init code above the bound of EIP-3860.
    #[error("max initcode size exceeded")]
    InitCodeSize,
    /// The code is EVM bytecode.
    #[error(
        "EVM bytecode is not supported: deploy a template, as its marker (0xefcb00010002 is erc20-token's) and the ABI-encoded \
         parameters of its constructor; `chainbox templates` and GET /v1/templates list them"
    )]
    EvmBytecodeUnsupported,
    /// The marker's template or version is not registered.
    #[error(
        "template {id} version {version} (0x{id:04x}{version:04x}) is not registered; `chainbox templates` and GET \
         /v1/templates list those that are"
    )]
    UnknownTemplate {
        /// Number of the template.
        id: u16,
        /// Version of the template.
        version: u16,
    },
    /// The contract ended as Solidity before 0.8 ends at a failed `assert`, a zero divisor or an index past the end: INVALID of EIP-141.
    #[error("invalid opcode: INVALID")]
    InvalidOpcode,
    /// The template panicked.
    #[error("invalid opcode: the template panicked")]
    TemplatePanic,
    /// Code starting with 0xEF that is no marker (EIP-3541).
    #[error("invalid code: starts with 0xEF and is no template marker")]
    InvalidCode,
}

impl HaltReason {
    /// Returns whether the failure came before the frame began, so that its gas is returned.
    pub const fn keeps_gas(self) -> bool {
        matches!(self, Self::CallDepth | Self::InsufficientBalance | Self::NonceOverflow)
    }
}

/// Early end of a template: the error of every host operation. Propagate it with `?`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Undo the frame and return this data to the caller.
    Revert(Bytes),
    /// Exceptional halt. A template that continues nevertheless halts when it returns.
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
