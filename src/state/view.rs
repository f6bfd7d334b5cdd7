//! The traits of versioned state: a store makes commits, a view reads one.

use core::{fmt::Debug, ops::ControlFlow};
use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, U256};

use super::{Account, AccountProof, Commit, CommitId, StateChanges, StateError};
use crate::store::Batch;

/// Versions of the state, shared by all replicas of a process. It stays object-safe.
pub trait StateStore: Debug + Send + Sync {
    /// Makes a version: `parent` with `changes` applied.
    ///
    /// The version can be read at once. What must be durable is added to `batch`; the version
    /// is durable once that batch is written. A version whose batch will never be written must be
    /// released with [`StateStore::discard`].
    ///
    /// # Errors
    /// [`StateError::UnknownCommit`], [`StateError::Pruned`] for the parent, [`StateError::Store`] when nodes cannot be
    /// read.
    fn commit(&self, parent: CommitId, changes: &StateChanges, batch: &mut Batch) -> Result<Commit, StateError>;

    /// Releases a version that no block will use.
    fn discard(&self, commit: CommitId);

    /// Returns an immutable view of one version, which stays readable even when the version is pruned.
    ///
    /// # Errors
    /// [`StateError::UnknownCommit`], [`StateError::Pruned`].
    fn view(&self, commit: CommitId) -> Result<Arc<dyn StateView>, StateError>;

    /// Returns how many bytes of memory the parent of `commit` takes beside `commit`: those of the nodes that this version
    /// replaced. Zero where versions are read from a store.
    fn superseded_bytes(&self, commit: CommitId) -> u64 {
        let _ = commit;
        0
    }

    /// Drops versions that are no longer retained, adding what must be deleted to `batch`.
    ///
    /// # Errors
    /// [`StateError::Store`] when bookkeeping cannot be read.
    fn prune(&self, commits: &[CommitId], batch: &mut Batch) -> Result<(), StateError>;
}

/// One immutable version of the state. Reading never blocks a writer. It stays object-safe.
pub trait StateView: Debug + Send + Sync {
    /// Returns id and root of this version.
    fn commit(&self) -> Commit;

    /// Returns the account at `address`, or `None` when it is absent.
    ///
    /// # Errors
    /// [`StateError::Store`] when nodes cannot be read.
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError>;

    /// Returns the value of a storage slot; zero when it was never set.
    ///
    /// # Errors
    /// [`StateError::Store`] when nodes cannot be read.
    fn storage(&self, address: &Address, slot: &U256) -> Result<U256, StateError>;

    /// Returns code by its keccak; empty for [`EMPTY_CODE_HASH`](super::EMPTY_CODE_HASH).
    ///
    /// # Errors
    /// [`StateError::MissingCode`], [`StateError::Store`].
    fn code(&self, hash: &B256) -> Result<Bytes, StateError>;

    /// Returns the proof of an account and of `slots` under this version's root (EIP-1186).
    ///
    /// # Errors
    /// [`StateError::Store`] when nodes cannot be read.
    fn proof(&self, address: &Address, slots: &[B256]) -> Result<AccountProof, StateError>;

    /// Visits all accounts, by ascending keccak of their addresses, until `visit` breaks.
    ///
    /// # Errors
    /// [`StateError::Store`] when nodes cannot be read.
    fn for_each_account(&self, visit: &mut dyn FnMut(Address, Account) -> ControlFlow<()>) -> Result<(), StateError>;

    /// Visits the non-zero slots of one account, by ascending keccak of their numbers, until `visit` breaks.
    ///
    /// # Errors
    /// [`StateError::Store`] when nodes cannot be read.
    fn for_each_slot(
        &self,
        address: &Address,
        visit: &mut dyn FnMut(U256, U256) -> ControlFlow<()>,
    ) -> Result<(), StateError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compiles only while the traits are object-safe.
    const _: fn(&dyn StateStore, &dyn StateView) = |_, _| {};
}
