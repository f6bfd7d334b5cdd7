//! Errors of reading a chain.

use alloy_primitives::B256;

use crate::{chain::block::BlockDecodeError, primitives::Height, state::StateError, store::StoreError};

/// Why a block or a state could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// No block has this hash.
    #[error("unknown block {hash}")]
    UnknownBlock {
        /// The requested hash.
        hash: B256,
    },
    /// The height is above the head.
    #[error("unknown block at height {height}: the head is at {head}")]
    UnknownHeight {
        /// The requested height.
        height: Height,
        /// Height of the head.
        head: Height,
    },
    /// The block or state was pruned by the retention policy.
    #[error("PRUNED: {what} at height {height} is gone; the oldest kept is {oldest}")]
    Pruned {
        /// `state` or `block`.
        what: &'static str,
        /// The requested height.
        height: Height,
        /// Height of the oldest one kept.
        oldest: Height,
    },
    /// A stored block does not decode.
    #[error("stored block {hash} does not decode")]
    Corrupt {
        /// Hash of the block.
        hash: B256,
        /// The decoding error.
        #[source]
        source: BlockDecodeError,
    },
    /// The state could not be read, or no new version made of it.
    #[error(transparent)]
    State(#[from] StateError),
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ReadError {
    /// Returns the store's failure beneath it; `None` for any other cause.
    pub const fn store_error(&self) -> Option<&StoreError> {
        match self {
            Self::Store(error) | Self::State(StateError::Store(error)) => Some(error),
            _ => None,
        }
    }
}

/// Why a search for logs has no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogsError {
    /// The result is larger than the bound.
    #[error("query returned more than {max} results; narrow the range")]
    TooManyResults {
        /// Largest number of results.
        max: usize,
    },
    /// A block of the range could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}
