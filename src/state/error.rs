//! Errors of reading or committing a state.

use alloy_primitives::B256;

use super::CommitId;
use crate::store::StoreError;

/// An error of the state floor. A failed commit leaves every version unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// The version existed and was pruned by the retention policy.
    #[error("state of commit {commit} was pruned; only retained versions can be read")]
    Pruned {
        /// Id of the version.
        commit: CommitId,
    },
    /// No such version was ever made in this store.
    #[error("state has no commit {commit}")]
    UnknownCommit {
        /// Id of the version.
        commit: CommitId,
    },
    /// An account's code hash has no stored code.
    #[error("state has no code with hash {hash}")]
    MissingCode {
        /// Keccak of the code.
        hash: B256,
    },
    /// A stored trie node does not belong on the path that leads to it: the store is damaged.
    #[error("state has a trie node that does not belong on its path; the store is damaged")]
    MisplacedNode,
    /// The store underneath failed.
    #[error("state store failed")]
    Store(#[from] StoreError),
}
