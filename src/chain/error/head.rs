//! Errors of moving the head and finality, and of interventions in the newest state.

use alloy_primitives::B256;

use super::{InvalidBlock, ReadError};
use crate::{state::StateError, store::StoreError};

/// Why the head, or the safe and the finalized block, did not move.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HeadError {
    /// The change would revert a finalized block, or finalize a block that is not canonical.
    #[error("finalized block {finalized} is not an ancestor of {block}")]
    BelowFinality {
        /// The newest finalized block.
        finalized: B256,
        /// The block that contradicts it.
        block: B256,
    },
    /// The block is unknown, or it, its state or a block on the way to it could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The store could not be written, or a commit hook refused the change.
    #[error(transparent)]
    Write(StoreError),
}

impl From<RestoreError> for HeadError {
    fn from(error: RestoreError) -> Self {
        match error {
            RestoreError::Read(error) => Self::Read(error),
            RestoreError::Write(error) => Self::Write(error),
        }
    }
}

/// Why a snapshot was not restored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// A block or a state that the snapshot needs could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The store could not be written, or a commit hook refused the change.
    #[error(transparent)]
    Write(StoreError),
}

/// Why an intervention was not applied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InterventionError {
    /// A block that records it would be invalid.
    #[error(transparent)]
    Invalid(#[from] InvalidBlock),
    /// The newest state could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The store could not be written.
    #[error(transparent)]
    Write(StoreError),
}

impl From<StateError> for InterventionError {
    fn from(error: StateError) -> Self {
        Self::Read(error.into())
    }
}
