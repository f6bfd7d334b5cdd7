//! What a commit changes: the only form in which a state is altered.

use std::collections::BTreeMap;

use alloy_primitives::{Address, B256, Bytes, U256};

use super::SortedMap;

/// One account's new values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountChange {
    /// New nonce, balance and code hash; `None` removes the account and all its storage.
    pub info: Option<AccountInfo>,
    /// Drop all earlier storage before `storage` is applied (an address created anew).
    pub clear_storage: bool,
    /// New values by slot; zero removes the slot.
    pub storage: SortedMap<U256, U256>,
}

/// The plain part of an account: everything but its storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccountInfo {
    /// See [`Account::nonce`](super::Account::nonce).
    pub nonce: u64,
    /// See [`Account::balance`](super::Account::balance).
    pub balance: U256,
    /// See [`Account::code_hash`](super::Account::code_hash).
    pub code_hash: B256,
}

/// Everything that one commit changes. Ordered, so that its application is the same everywhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateChanges {
    /// Changed accounts.
    pub accounts: SortedMap<Address, AccountChange>,
    /// Code that the changes introduced, by its keccak.
    pub codes: BTreeMap<B256, Bytes>,
}

impl StateChanges {
    /// Returns whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.accounts.is_empty() && self.codes.is_empty()
    }
}
