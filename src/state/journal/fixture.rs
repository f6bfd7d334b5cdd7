//! A state view for tests: accounts in a map, no trie.

use core::ops::ControlFlow;
use std::{collections::BTreeMap, sync::Arc};

use alloy_primitives::{Address, B256, Bytes, U256};

use crate::state::{
    Account, AccountProof, Commit, CommitId, EMPTY_CODE_HASH, EMPTY_ROOT, StateChanges, StateError, StateView,
};

/// Accounts, slots and code as plain maps. The storage root only shows whether there are slots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MapView {
    pub(crate) accounts: BTreeMap<Address, Account>,
    pub(crate) storage: BTreeMap<(Address, U256), U256>,
    pub(crate) codes: BTreeMap<B256, Bytes>,
}

impl MapView {
    /// Creates accounts without code that hold `balance` each, in wei.
    pub(crate) fn with_balances(holders: &[Address], balance: U256) -> Arc<Self> {
        let account = Account { balance, ..Account::default() };
        Arc::new(Self { accounts: holders.iter().map(|a| (*a, account)).collect(), ..Self::default() })
    }

    /// Returns the view that a store would make of `changes`.
    pub(crate) fn apply(&self, changes: &StateChanges) -> Self {
        let mut next = self.clone();
        next.codes.extend(changes.codes.clone());
        for (address, change) in &changes.accounts {
            if change.info.is_none() || change.clear_storage {
                next.storage.retain(|(owner, _), _| owner != address);
            }
            let Some(info) = change.info else {
                next.accounts.remove(address);
                continue;
            };
            for (slot, value) in &change.storage {
                next.storage.insert((*address, *slot), *value);
            }
            next.storage.retain(|_, value| !value.is_zero());
            let has_slots = next.storage.keys().any(|(owner, _)| owner == address);
            let storage_root = if has_slots { B256::repeat_byte(1) } else { EMPTY_ROOT };
            let account = Account { nonce: info.nonce, balance: info.balance, storage_root, code_hash: info.code_hash };
            next.accounts.insert(*address, account);
        }
        next
    }
}

impl StateView for MapView {
    fn commit(&self) -> Commit {
        Commit { id: CommitId::EMPTY, root: EMPTY_ROOT }
    }

    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        Ok(self.accounts.get(address).copied())
    }

    fn storage(&self, address: &Address, slot: &U256) -> Result<U256, StateError> {
        Ok(self.storage.get(&(*address, *slot)).copied().unwrap_or_default())
    }

    fn code(&self, hash: &B256) -> Result<Bytes, StateError> {
        if *hash == EMPTY_CODE_HASH {
            return Ok(Bytes::new());
        }
        self.codes.get(hash).cloned().ok_or(StateError::MissingCode { hash: *hash })
    }

    fn proof(&self, address: &Address, _slots: &[B256]) -> Result<AccountProof, StateError> {
        let account = self.account(address)?.unwrap_or_default();
        Ok(AccountProof { address: *address, account, nodes: Vec::new(), storage: Vec::new() })
    }

    fn for_each_account(&self, visit: &mut dyn FnMut(Address, Account) -> ControlFlow<()>) -> Result<(), StateError> {
        let _ = self.accounts.iter().try_for_each(|(address, account)| visit(*address, *account));
        Ok(())
    }

    fn for_each_slot(
        &self,
        address: &Address,
        visit: &mut dyn FnMut(U256, U256) -> ControlFlow<()>,
    ) -> Result<(), StateError> {
        let own = self.storage.iter().filter(|((owner, _), _)| owner == address);
        let _ = own.map(|((_, slot), value)| (*slot, *value)).try_for_each(|(slot, value)| visit(slot, value));
        Ok(())
    }
}
