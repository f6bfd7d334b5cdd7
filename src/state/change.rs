//! The changes of a commit.

use std::collections::BTreeMap;

use alloy_primitives::{Address, B256, Bytes, U256};

use super::SortedMap;

/// One account's new values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountChange {
    /// New nonce, balance and code hash; `None` removes the account and all its storage.
    pub info: Option<AccountInfo>,
    /// Whether all earlier storage is dropped before `storage` is applied (an address created anew).
    pub clear_storage: bool,
    /// New values by slot; zero removes the slot.
    pub storage: SortedMap<U256, U256>,
}

/// An account without its storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccountInfo {
    /// Nonce, see [`Account::nonce`](super::Account::nonce).
    pub nonce: u64,
    /// Balance in wei, see [`Account::balance`](super::Account::balance).
    pub balance: U256,
    /// Code hash, see [`Account::code_hash`](super::Account::code_hash).
    pub code_hash: B256,
}

/// All changes of one commit, ordered so that applying them is deterministic.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateChanges {
    /// Changed accounts.
    pub accounts: SortedMap<Address, AccountChange>,
    /// Code that the changes introduce, by its keccak.
    pub codes: BTreeMap<B256, Bytes>,
}

impl StateChanges {
    /// Returns whether there are no changes.
    pub fn is_empty(&self) -> bool {
        self.accounts.is_empty() && self.codes.is_empty()
    }
}
