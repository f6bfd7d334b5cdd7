//! Errors of reorganising the chain.

use super::{EngineError, MineError, SendError};
use crate::{
    chain::ReadError,
    primitives::{B256, Height},
};

/// Why the chain was not reorganised. The node is unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReorgError {
    /// More blocks than the node can remove.
    #[error(
        "a reorg of {asked} blocks is too deep: {max} can be removed; a node goes back over the newest 64 blocks that it made \
         since it was started, fewer where the chain keeps fewer states"
    )]
    TooDeep {
        /// Depth asked for, in blocks.
        asked: u64,
        /// Largest possible depth now, in blocks.
        max: u64,
    },
    /// A transaction is for a block that the new branch does not have.
    #[error("transaction {index} is for block {block} of the new branch, which has {depth} blocks, from 0")]
    BlockIndex {
        /// Place of the transaction among those given, from 0.
        index: usize,
        /// Block of the new branch that it is for, from 0.
        block: u64,
        /// Number of blocks of the new branch.
        depth: u64,
    },
    /// A transaction was refused.
    #[error("transaction {index} of the new branch was refused: {source}")]
    Transaction {
        /// Place of the transaction among those given, from 0.
        index: usize,
        /// The reason.
        source: SendError,
    },
    /// A transaction is not in its block, such as for a missing nonce or the block's gas limit.
    #[error("transaction {hash} is not in the new block at height {height}: {reason}")]
    LeftOut {
        /// Hash of the transaction.
        hash: B256,
        /// Height of its block.
        height: Height,
        /// The reason.
        reason: String,
    },
    /// A block of the new branch could not be made.
    #[error(transparent)]
    Mine(#[from] MineError),
}

impl From<EngineError> for ReorgError {
    fn from(error: EngineError) -> Self {
        Self::Mine(error.into())
    }
}

impl From<ReadError> for ReorgError {
    fn from(error: ReadError) -> Self {
        Self::Mine(error.into())
    }
}
