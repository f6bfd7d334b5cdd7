//! Reads one version through its tries, for every store.

use core::{fmt, ops::ControlFlow};
use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, U256};

use super::{
    Account, AccountProof, Commit, EMPTY_CODE_HASH, StateError, StateView, StorageProof,
    apply::StateSource,
    keys::KeyCache,
    leaf::{AccountLeaf, SlotLeaf},
    seen::Seen,
    trie::{for_each, get, prove},
};

/// What a view needs of its store besides nodes.
pub(crate) trait Archive: StateSource + Send + Sync + 'static {
    /// Returns code by its hash, if it is stored.
    fn code(&self, hash: &B256) -> Result<Option<Bytes>, StateError>;

    /// Returns the cache of the keys of addresses and slots.
    fn keys(&self) -> &KeyCache;

    /// Returns what its versions may have, if it knows that of all of them.
    fn seen(&self) -> Option<&Seen> {
        None
    }
}

/// One version.
pub(crate) struct Reader<S: Archive> {
    pub(crate) source: Arc<S>,
    pub(crate) commit: Commit,
    pub(crate) root: Option<S::AccountRoot>,
    /// Guard that keeps the version from being deleted.
    pub(crate) held: Option<Arc<()>>,
}

impl<S: Archive> Reader<S> {
    fn leaf(&self, address: &Address) -> Result<Option<AccountLeaf<S::StorageRoot>>, StateError> {
        get(&*self.source, self.root.as_ref(), &self.source.keys().address(address))
    }

    fn prove_slot(&self, storage: Option<&S::StorageRoot>, slot: &B256) -> Result<StorageProof, StateError> {
        let key = self.source.keys().slot(&(*slot).into());
        let value = get::<SlotLeaf, S>(&self.source, storage, &key)?.map_or(U256::ZERO, |leaf| leaf.value);
        Ok(StorageProof { slot: *slot, value, nodes: prove::<SlotLeaf, S>(&self.source, storage, &key)? })
    }
}

impl<S: Archive> StateView for Reader<S> {
    fn commit(&self) -> Commit {
        self.commit
    }

    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        if self.source.seen().is_some_and(|seen| !seen.may_have_account(address)) {
            return Ok(None);
        }
        Ok(self.leaf(address)?.map(|leaf| leaf.account()))
    }

    fn storage(&self, address: &Address, slot: &U256) -> Result<U256, StateError> {
        if self.source.seen().is_some_and(|seen| !seen.may_have_slot(address, slot)) {
            return Ok(U256::ZERO);
        }
        let Some(account) = self.leaf(address)? else { return Ok(U256::ZERO) };
        let Some(storage) = account.storage() else { return Ok(U256::ZERO) };
        let leaf = get::<SlotLeaf, S>(&self.source, Some(storage), &self.source.keys().slot(slot))?;
        Ok(leaf.map_or(U256::ZERO, |leaf| leaf.value))
    }

    fn code(&self, hash: &B256) -> Result<Bytes, StateError> {
        if *hash == EMPTY_CODE_HASH {
            return Ok(Bytes::new());
        }
        self.source.code(hash)?.ok_or(StateError::MissingCode { hash: *hash })
    }

    fn proof(&self, address: &Address, slots: &[B256]) -> Result<AccountProof, StateError> {
        let leaf = self.leaf(address)?;
        let storage = leaf.as_ref().and_then(AccountLeaf::storage);
        let key = self.source.keys().address(address);
        Ok(AccountProof {
            address: *address,
            account: leaf.as_ref().map_or_else(Account::default, AccountLeaf::account),
            nodes: prove::<AccountLeaf<S::StorageRoot>, S>(&self.source, self.root.as_ref(), &key)?,
            storage: slots.iter().map(|slot| self.prove_slot(storage, slot)).collect::<Result<_, _>>()?,
        })
    }

    fn for_each_account(&self, visit: &mut dyn FnMut(Address, Account) -> ControlFlow<()>) -> Result<(), StateError> {
        let Some(root) = &self.root else { return Ok(()) };
        let mut visit = |_: &B256, leaf: &AccountLeaf<S::StorageRoot>| visit(leaf.address, leaf.account());
        for_each(&*self.source, root, &mut visit).map(drop)
    }

    fn for_each_slot(
        &self,
        address: &Address,
        visit: &mut dyn FnMut(U256, U256) -> ControlFlow<()>,
    ) -> Result<(), StateError> {
        let Some(account) = self.leaf(address)? else { return Ok(()) };
        let Some(root) = account.storage() else { return Ok(()) };
        let mut visit = |_: &B256, leaf: &SlotLeaf| visit(leaf.slot, leaf.value);
        for_each(&*self.source, root, &mut visit).map(drop)
    }
}

impl<S: Archive> fmt::Debug for Reader<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader")
            .field("commit", &self.commit)
            .field("held", &self.held.is_some())
            .finish_non_exhaustive()
    }
}
