//! Errors of dumps and of loading them.

use alloy_primitives::B256;

use super::{BlockError, OpenError, ReadError, RestoreError};
use crate::{chain::block::BlockDecodeError, state::StateError, store::StoreError, vm::TemplateMismatch};

/// A dump that can't be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DumpError {
    /// The bytes are not the expected JSON; the source has line and column.
    #[error("dump: {0}")]
    Json(#[from] serde_json::Error),
    /// The format version is not supported.
    #[error("dump: format {got} is not supported, this version reads format {want}")]
    Format {
        /// The dump's format version.
        got: u32,
        /// The supported format version.
        want: u32,
    },
    /// The store that the dump is to be loaded into holds blocks above genesis.
    #[error("dump: the store holds a chain already; load the dump into an empty store")]
    StoreNotEmpty,
    /// The dump is of a chain with another genesis block or specification.
    #[error("dump: its chain has genesis {got}, this chain has genesis {want}; both specifications must be the same")]
    OtherGenesis {
        /// The dump's genesis hash.
        got: B256,
        /// This chain's genesis hash.
        want: B256,
    },
    /// The chain's genesis state is pruned.
    #[error("dump: the state of genesis is pruned; load the dump into a chain that has it")]
    GenesisPruned,
    /// A block does not decode.
    #[error("dump: block {index} does not decode")]
    Block {
        /// Index among the dump's blocks.
        index: usize,
        /// The decoding error.
        #[source]
        source: BlockDecodeError,
    },
    /// A block's receipts do not decode.
    #[error("dump: receipts of block {index} do not decode: {source}")]
    Receipts {
        /// Index among the dump's blocks.
        index: usize,
        /// The decoding error.
        #[source]
        source: alloy_rlp::Error,
    },
    /// A block puts other parameters in force than waited, or others wait after it than its parent and its transactions leave.
    #[error("dump: block {index} and the parameters that wait after it do not go with its parent and its transactions")]
    Parameters {
        /// Index among the dump's blocks.
        index: usize,
    },
    /// A block has more or fewer receipts than transactions.
    #[error("dump: block {index} has {got} receipts for {want} transactions")]
    ReceiptCount {
        /// Index among the dump's blocks.
        index: usize,
        /// Number of receipts.
        got: usize,
        /// Number of transactions.
        want: usize,
    },
    /// A block does not extend the block before it.
    #[error("dump: block {index} has parent {got}, the block before it is {want}")]
    Parent {
        /// Index among the dump's blocks.
        index: usize,
        /// The block's parent hash.
        got: B256,
        /// Hash of the block before it.
        want: B256,
    },
    /// A block's changes of the validator set do not decode.
    #[error("dump: validator updates of block {index} are not a list of addresses and weights")]
    Updates {
        /// Index among the dump's blocks.
        index: usize,
    },
    /// A block is invalid, as far as that shows without executing it.
    #[error("dump: block {index} is invalid: {reason}")]
    Invalid {
        /// Index among the dump's blocks.
        index: usize,
        /// The invalid field.
        reason: Box<BlockError>,
    },
    /// A receipt is not what its transaction, its logs and the receipt before it determine.
    #[error("dump: receipt {transaction} of block {index} contradicts its transaction or the receipt before it")]
    Receipt {
        /// Index among the dump's blocks.
        index: usize,
        /// Index of the transaction in the block.
        transaction: usize,
    },
    /// Genesis does not allow the pending interventions.
    #[error("dump: {0}")]
    PendingInterventions(#[source] BlockError),
    /// The last block is not the dump's head.
    #[error("dump: its last block is {got}, its head is {want}")]
    Head {
        /// Hash of the last block.
        got: B256,
        /// The dump's head.
        want: B256,
    },
    /// The accounts do not have the head's state root.
    #[error("dump: its accounts have state root {got}, its head has {want}")]
    StateRoot {
        /// State root of the accounts.
        got: B256,
        /// The head's state root.
        want: B256,
    },
    /// Its contracts run a template that is not registered as it was.
    #[error("dump: {0}")]
    Template(#[from] TemplateMismatch),
    /// The pending interventions do not decode.
    #[error("dump: interventions do not decode: {0}")]
    Interventions(#[source] alloy_rlp::Error),
}

/// Why a dump was not loaded. The chain is unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The dump is of another chain, or contradicts itself.
    #[error(transparent)]
    Dump(#[from] DumpError),
    /// The chain could not be read, or has no block that the dump names.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The store could not be written.
    #[error(transparent)]
    Write(StoreError),
}

impl From<StateError> for LoadError {
    fn from(error: StateError) -> Self {
        Self::Read(error.into())
    }
}

impl From<RestoreError> for LoadError {
    fn from(error: RestoreError) -> Self {
        match error {
            RestoreError::Read(error) => Self::Read(error),
            RestoreError::Write(error) => Self::Write(error),
        }
    }
}

/// Why [`ChainBuilder::open_dump`](crate::chain::ChainBuilder::open_dump) opened no chain.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenDumpError {
    /// The chain of the dump's specification could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The dump could not be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
}
