//! Errors of blocks: an invalid field, an execution without a result, a block that is not inserted.

use alloy_primitives::{Address, B256, Bloom, Bytes, U256};

use super::{InvalidTransaction, ReadError};
use crate::{
    chain::rules::RuleError,
    primitives::{Gas, Height, Timestamp},
    state::StateError,
    system::ParameterUpdates,
    vm::Hardfork,
};

/// Why an intervention can't set `prevRandao`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PrevRandaoRefusal {
    /// The chain's fork is older than Paris.
    #[error("blocks have it from Paris on, and the chain's fork is {fork}")]
    BeforeParis {
        /// The fork at the block's height.
        fork: Hardfork,
    },
    /// The protocol decides `mixHash`.
    #[error("the consensus protocol decides mixHash by its validators' randomness")]
    Protocol,
    /// The value is zero.
    #[error("zero is not valid; set another value")]
    Zero,
}

/// An invalid block: the field, its value and the valid one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "`got` is the block's value, `want` the valid one, in every variant")]
pub enum BlockError {
    #[error("number is {got}, the parent's successor is {want}")]
    Number { got: Height, want: Height },
    #[error("timestamp {got} is below the parent's, {parent}")]
    Timestamp { got: Timestamp, parent: Timestamp },
    #[error("gas limit {} is outside {}..={}", got.get(), low.get(), high.get())]
    GasLimit { got: Gas, low: Gas, high: Gas },
    #[error("base fee is {got:?}, EIP-1559 gives {want:?}")]
    BaseFee { got: Option<u64>, want: Option<u64> },
    #[error("the block puts the parameters {got} in force, the ones that are due are {want}")]
    Parameters { got: ParameterUpdates, want: ParameterUpdates },
    #[error("ommers hash is {got}, without ommers it is {want}")]
    OmmersHash { got: B256, want: B256 },
    #[error("field {field} is set, but headers of fork {fork} don't have it")]
    UnknownField { field: &'static str, fork: Hardfork },
    #[error("field {field} is missing; headers of fork {fork} have it")]
    MissingField { field: &'static str, fork: Hardfork },
    #[error("field {field} is {got:#x}, at fork {fork} it is {want:#x}")]
    ForkField { field: &'static str, fork: Hardfork, got: U256, want: U256 },
    #[error("mix hash is {got}, at fork {fork} it is {want}")]
    MixHash { fork: Hardfork, got: B256, want: B256 },
    #[error("mix hash is zero, which it never is at fork {fork}")]
    MixHashZero { fork: Hardfork },
    #[error("an intervention sets prevRandao to {mix_hash}: {reason}")]
    PrevRandao {
        mix_hash: B256,
        /// Why it can't be set.
        reason: PrevRandaoRefusal,
    },
    #[error("the block's RLP has {got} bytes, at fork {fork} at most {max} are valid (EIP-7934)")]
    BlockSize { fork: Hardfork, got: usize, max: usize },
    #[error("extra data has {got} bytes, at most {max} are valid")]
    ExtraDataLength { got: usize, max: usize },
    #[error("extra data is {got}, keccak of the payload is {want}")]
    ExtraData { got: Bytes, want: Bytes },
    #[error("transactions root is {got}, the body gives {want}")]
    TransactionsRoot { got: B256, want: B256 },
    #[error("gas used is {}, execution used {}", got.get(), want.get())]
    GasUsed { got: Gas, want: Gas },
    #[error("state root is {got}, execution gives {want}")]
    StateRoot { got: B256, want: B256 },
    #[error("receipts root is {got}, execution gives {want}")]
    ReceiptsRoot { got: B256, want: B256 },
    #[error("logs bloom differs from the one that execution gives")]
    LogsBloom { got: Box<Bloom>, want: Box<Bloom> },
    #[error("transaction {index} ({hash}) can't be executed: {reason}")]
    Transaction {
        /// Index of the transaction in the block.
        index: usize,
        hash: B256,
        #[source]
        reason: Box<InvalidTransaction>,
    },
    #[error("system call {index} to {to} failed: {reason}")]
    SystemCall {
        /// Index among the block's system calls.
        index: usize,
        /// The called contract.
        to: Address,
        /// The revert or halt reason.
        reason: String,
    },
    #[error("{count} interventions, but genesis allows none; set `allowInterventions` there")]
    Interventions { count: usize },
    #[error("a second execution gave another result: {what}")]
    Diverged { what: &'static str },
    #[error(transparent)]
    Rule(RuleError),
}

/// An invalid block, with the field that shows it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("block {height} ({hash}): {reason}")]
pub struct InvalidBlock {
    /// Height of the block.
    pub height: Height,
    /// Hash of the block; zero for one that was being built.
    pub hash: B256,
    /// The invalid field.
    #[source]
    pub reason: BlockError,
}

/// Why a block was not executed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BlockExecutionError {
    /// The block is invalid.
    #[error(transparent)]
    Invalid(#[from] InvalidBlock),
    /// Its parent or the parent's state could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl From<StateError> for BlockExecutionError {
    fn from(error: StateError) -> Self {
        Self::Read(error.into())
    }
}

/// Why a block was not inserted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InsertError {
    /// The block's parent is unknown.
    #[error("block {hash}: unknown parent {parent}")]
    UnknownParent {
        /// Hash of the block.
        hash: B256,
        /// Hash of its parent.
        parent: B256,
    },
    /// A block with this hash is known, with another body, which was verified.
    #[error("block {hash}: known with another body: its {part} differ; ask another peer for the block")]
    OtherBody {
        /// Hash of both blocks.
        hash: B256,
        /// The first part that differs.
        part: &'static str,
    },
    /// The block is invalid.
    #[error(transparent)]
    Invalid(#[from] InvalidBlock),
    /// Its parent or the parent's state could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl From<BlockExecutionError> for InsertError {
    fn from(error: BlockExecutionError) -> Self {
        match error {
            BlockExecutionError::Invalid(error) => Self::Invalid(error),
            BlockExecutionError::Read(error) => Self::Read(error),
        }
    }
}
