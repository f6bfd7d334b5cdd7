//! Errors of the chain, one type for each kind of operation. Where Ethereum client libraries match on a message, it is geth's.

mod block;
mod dump;
mod head;
mod open;
mod read;
mod transaction;

pub use self::{
    block::{BlockError, BlockExecutionError, InsertError, InvalidBlock, PrevRandaoRefusal},
    dump::{DumpError, LoadError, OpenDumpError},
    head::{HeadError, InterventionError, RestoreError},
    open::OpenError,
    read::{LogsError, ReadError},
    transaction::{InvalidTransaction, PoolError},
};

use crate::store::StoreError;

/// A failure of any operation that changes a chain, for callers that use many of them. Every operation returns a narrower error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChainError {
    /// The chain was not opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A block or a state could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// No block was built.
    #[error(transparent)]
    Build(#[from] BlockExecutionError),
    /// A block was not inserted.
    #[error(transparent)]
    Insert(#[from] InsertError),
    /// The head or finality did not move.
    #[error(transparent)]
    Head(#[from] HeadError),
    /// A snapshot was not restored.
    #[error(transparent)]
    Restore(#[from] RestoreError),
    /// An intervention was not applied.
    #[error(transparent)]
    Intervention(#[from] InterventionError),
    /// A dump was not loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
}

impl ChainError {
    /// Returns the store's failure beneath it, such as a full disk; `None` for any other cause.
    pub const fn store_error(&self) -> Option<&StoreError> {
        match self {
            Self::Open(OpenError::Write(error))
            | Self::Head(HeadError::Write(error))
            | Self::Restore(RestoreError::Write(error))
            | Self::Intervention(InterventionError::Write(error))
            | Self::Load(LoadError::Write(error)) => Some(error),
            Self::Read(error)
            | Self::Open(OpenError::Read(error))
            | Self::Build(BlockExecutionError::Read(error))
            | Self::Insert(InsertError::Read(error))
            | Self::Head(HeadError::Read(error))
            | Self::Restore(RestoreError::Read(error))
            | Self::Intervention(InterventionError::Read(error))
            | Self::Load(LoadError::Read(error)) => error.store_error(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use core::error::Error;

    use alloy_primitives::B256;

    use super::*;
    use crate::{primitives::Height, state::StateError};

    /// What a reader of the error sees: its message, and those of its causes.
    fn messages(error: &dyn Error) -> Vec<String> {
        let mut messages = vec![error.to_string()];
        let mut cause = error.source();
        while let Some(error) = cause {
            messages.push(error.to_string());
            cause = error.source();
        }
        messages
    }

    #[test]
    fn an_error_inside_others_has_its_own_message_and_causes() {
        let state = || StateError::Store(StoreError::Io { operation: "read", reason: "gone".to_owned() });
        let want = ["state store failed", "store: read failed: gone"];
        let inserted = InsertError::from(BlockExecutionError::from(state()));
        for error in [ChainError::from(inserted), OpenError::from(state()).into(), LoadError::from(state()).into()] {
            assert_eq!(messages(&error), want);
            assert!(matches!(error.store_error(), Some(StoreError::Io { .. })));
        }

        let (height, hash) = (Height::new(7), B256::repeat_byte(1));
        let invalid = || InvalidBlock { height, hash, reason: BlockError::Interventions { count: 2 } };
        let reason = BlockError::Interventions { count: 2 }.to_string();
        let want = [format!("block 7 ({hash}): {reason}"), reason];
        assert_eq!(messages(&ChainError::from(BlockExecutionError::from(invalid()))), want);
        assert_eq!(messages(&ChainError::from(InsertError::from(BlockExecutionError::from(invalid())))), want);
        let refused = ChainError::from(InterventionError::from(invalid()));
        assert_eq!(messages(&refused), want);
        assert!(refused.store_error().is_none());
    }

    #[test]
    fn a_failed_restore_stays_a_read_or_a_write() {
        let store = || StoreError::Io { operation: "write", reason: "gone".to_owned() };
        let moved = HeadError::from(RestoreError::Write(store()));
        assert!(matches!(moved, HeadError::Write(_)));
        assert!(matches!(ChainError::from(moved).store_error(), Some(StoreError::Io { .. })));
        assert!(matches!(LoadError::from(RestoreError::Write(store())), LoadError::Write(_)));
        let pruned = || ReadError::Pruned { what: "state", height: Height::new(3), oldest: Height::new(9) };
        let error = HeadError::from(RestoreError::from(pruned()));
        assert_eq!(error.to_string(), "PRUNED: state at height 3 is gone; the oldest kept is 9");
        assert!(matches!(error, HeadError::Read(ReadError::Pruned { .. })));
    }
}
