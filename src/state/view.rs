//! The versioned-state trait: commits are made by a store and read through views.

use core::{fmt, fmt::Debug, ops::ControlFlow};
use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, U256};

use super::{Account, AccountProof, StateChanges, StateError};
use crate::store::Batch;

/// Identity of one version of the state; never reused within a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommitId(u64);

impl CommitId {
    /// The version before the first commit: no accounts, root [`EMPTY_ROOT`](super::EMPTY_ROOT).
    pub const EMPTY: Self = Self(0);

    /// The id with this number, as stored beside a block.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The plain number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// A version that was just made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Its identity.
    pub id: CommitId,
    /// Its Merkle-Patricia root.
    pub root: B256,
}

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

    /// An immutable reader of one version. It stays readable while it is held, even if the version is pruned.
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

    /// The account at `address`, or `None` when there is none.
    ///
    /// # Errors
    /// [`StateError::Store`] when nodes cannot be read.
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError>;

    /// The value of a storage slot; zero when it was never set.
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
