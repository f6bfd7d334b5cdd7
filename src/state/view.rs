//! The versioned-state trait: commits are made by a store and read through views.

use core::{fmt::Debug, ops::ControlFlow};
use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, U256};

use super::{Account, AccountProof, Commit, CommitId, StateChanges, StateError};
use crate::store::Batch;

/// Versions of the state. Object-safe, and stays so. Shared by all replicas of a process.
pub trait StateStore: Debug + Send + Sync {
    /// Makes a version: `parent` with `changes` applied.
    ///
    /// The version can be read at once. What must be durable is added to `batch`; the version
    /// outlives the process when that batch is written. A version whose batch was never written is
    /// given back with [`StateStore::discard`].
    ///
    /// # Errors
    /// [`StateError::UnknownCommit`], [`StateError::Pruned`] for the parent, [`StateError::Store`] when nodes cannot be read.
    fn commit(&self, parent: CommitId, changes: &StateChanges, batch: &mut Batch) -> Result<Commit, StateError>;

    /// Gives back a version that no block will use.
    fn discard(&self, commit: CommitId);

    /// Returns an immutable reader of one version. It stays readable while it is held, even if the version is pruned.
    ///
    /// # Errors
    /// [`StateError::UnknownCommit`], [`StateError::Pruned`].
    fn view(&self, commit: CommitId) -> Result<Arc<dyn StateView>, StateError>;

    /// Drops versions that are no longer retained, adding what must be deleted to `batch`.
    ///
    /// # Errors
    /// [`StateError::Store`] when bookkeeping cannot be read.
    fn prune(&self, commits: &[CommitId], batch: &mut Batch) -> Result<(), StateError>;
}

/// One immutable version of the state. Object-safe, and stays so. Reading never blocks a writer.
pub trait StateView: Debug + Send + Sync {
    /// Which version this is.
    fn commit(&self) -> Commit;

    /// Returns the account at `address`, or `None` when there is none.
    ///
    /// # Errors
    /// [`StateError::Store`] when nodes cannot be read.
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError>;

    /// Returns the value of a storage slot; zero when it was never set.
    ///
    /// # Errors
    /// [`StateError::Store`] when nodes cannot be read.
    fn storage(&self, address: &Address, slot: &U256) -> Result<U256, StateError>;

    /// Code by its keccak; empty for [`EMPTY_CODE_HASH`](super::EMPTY_CODE_HASH).
    ///
    /// # Errors
    /// [`StateError::MissingCode`], [`StateError::Store`].
    fn code(&self, hash: &B256) -> Result<Bytes, StateError>;

    /// Proof of an account and of `slots` under this version's root (EIP-1186).
    ///
    /// # Errors
    /// [`StateError::Store`] when nodes cannot be read.
    fn proof(&self, address: &Address, slots: &[B256]) -> Result<AccountProof, StateError>;

    /// Visits all accounts, in the order of their keys' keccak, until `visit` breaks.
    ///
    /// # Errors
    /// [`StateError::Store`] when nodes cannot be read.
    fn for_each_account(&self, visit: &mut dyn FnMut(Address, Account) -> ControlFlow<()>) -> Result<(), StateError>;

    /// Visits the slots of one account that are not zero, in the order of their keys' keccak, until `visit` breaks.
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

    /// The promise of object safety.
    const _: fn(&dyn StateStore, &dyn StateView) = |_, _| {};
}
