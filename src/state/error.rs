//! Why a state could not be read or committed.

use alloy_primitives::B256;

use super::CommitId;
use crate::store::StoreError;

/// A failure of the state floor. A failed commit leaves every version as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// The version existed and was pruned by the retention policy.
    #[error("state of commit {commit} was pruned; only retained versions can be read")]
    Pruned {
        /// Which version.
        commit: CommitId,
    },
    /// No such version was ever made here.
    #[error("state has no commit {commit}")]
    UnknownCommit {
        /// Which version.
        commit: CommitId,
    },
    /// An account names code that is not stored.
    #[error("state has no code with hash {hash}")]
    MissingCode {
        /// Keccak of the code.
        hash: B256,
    },
    /// A stored trie node is where its key does not lead: the store was damaged.
    #[error("state has a trie node that does not belong on its path; the store is damaged")]
    MisplacedNode,
    /// The store underneath failed.
    #[error("state store failed")]
    Store(#[from] StoreError),
}
