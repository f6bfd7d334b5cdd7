//! Accounts and slots that a journal has read, indexed by address and slot.
//!
//! Entries live in vectors in the order they were first read; the indices only locate them.

use core::{fmt, hash::BuildHasher};
use std::collections::BTreeMap;

use alloy_primitives::{Address, U256, map::FbBuildHasher};
use foldhash::fast::RandomState;

use super::{
    entry::{AccountEntry, AccountId, SlotEntry, SlotId, SlotKey},
    index::Index,
    records::Records,
};
use crate::state::{AccountInfo, SortedMap};

/// Accounts that are found again without a hash: their positions take one cache line.
const RECENT: usize = 16;

#[derive(Clone, Default)]
pub(super) struct StateCache {
    accounts: Vec<AccountEntry>,
    by_address: Index,
    /// Positions of accounts found lately, by the last byte of their address: a transaction asks for its sender, its target and the
    /// block's author a few times each. A position may be that of another account.
    recent: [u32; RECENT],
    slots: Vec<SlotEntry>,
    by_slot: Index,
    /// Index of derived slots by account, key and base.
    by_origin: Index,
    last_found: Option<SlotId>,
    /// Slot derived last and not found: account, key and base, slot.
    expected: Option<(AccountId, [U256; 2], U256)>,
    /// Accounts that may differ from the view, or from the version with the changes already taken, each once, with their values there.
    changed_accounts: Records<(AccountId, Option<AccountInfo>)>,
    /// The same for slots.
    changed_slots: Records<(SlotId, U256)>,
    /// Slots that the running transaction changed, with their values at its start.
    originals: Vec<(SlotId, U256)>,
    address_hasher: FbBuildHasher<20>,
    slot_hasher: RandomState,
}

impl fmt::Debug for StateCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StateCache")
            .field("accounts", &self.accounts)
            .field("slots", &self.slots)
            .finish_non_exhaustive()
    }
}

impl StateCache {
    pub(super) fn find(&mut self, address: &Address) -> Option<AccountId> {
        let recent = recent_cell(address);
        let guess = self.recent[recent];
        if self.accounts.get(guess as usize).is_some_and(|entry| entry.address == *address) {
            return Some(AccountId(guess));
        }
        let hash = self.address_hasher.hash_one(address);
        let id = self.by_address.find(hash, |id| self.accounts[id as usize].address == *address)?;
        self.recent[recent] = id;
        Some(AccountId(id))
    }

    pub(super) fn insert(&mut self, entry: AccountEntry) -> AccountId {
        let id = AccountId(next_id(self.accounts.len()));
        self.by_address.insert(self.address_hasher.hash_one(entry.address), id.0);
        self.recent[recent_cell(&entry.address)] = id.0;
        self.accounts.push(entry);
        id
    }

    pub(super) fn account(&self, id: AccountId) -> &AccountEntry {
        &self.accounts[id.0 as usize]
    }

    pub(super) fn account_mut(&mut self, id: AccountId) -> &mut AccountEntry {
        &mut self.accounts[id.0 as usize]
    }

    pub(super) fn find_slot(&mut self, account: AccountId, slot: &U256) -> Option<SlotId> {
        let is_it = |id: u32| {
            let entry = &self.slots[id as usize];
            entry.slot == *slot && entry.account == account
        };
        // A write mostly follows a read of the same slot.
        if let Some(id) = self.last_found.filter(|id| is_it(id.0)) {
            return Some(id);
        }
        let found = self.by_slot.find(self.slot_hasher.hash_one(SlotKey(account, *slot)), is_it).map(SlotId)?;
        self.note_found(found);
        Some(found)
    }

    pub(super) fn insert_slot(&mut self, entry: SlotEntry) -> SlotId {
        let id = SlotId(next_id(self.slots.len()));
        self.by_slot.insert(self.slot_hasher.hash_one(SlotKey(entry.account, entry.slot)), id.0);
        self.slots.push(entry);
        self.note_found(id);
        id
    }

    /// Returns the slot that was derived from `key` and `base`, if it was loaded since.
    pub(super) fn find_derived(&mut self, account: AccountId, key: U256, base: U256) -> Option<U256> {
        let hash = self.slot_hasher.hash_one((SlotKey(account, key), SlotKey(account, base)));
        let id = self.by_origin.find(hash, |id| {
            let entry = &self.slots[id as usize];
            entry.origin == [key, base] && entry.account == account
        })?;
        self.last_found = Some(SlotId(id));
        Some(self.slots[id as usize].slot)
    }

    /// Begins to fetch the slot derived from `key` and `base` into the processor's cache. Two slots that are fetched one behind the other
    /// make one wait for memory, not two.
    pub(super) fn fetch_ahead(&self, account: AccountId, key: U256, base: U256) {
        let hash = self.slot_hasher.hash_one((SlotKey(account, key), SlotKey(account, base)));
        let fetch = |id: u32| {
            let entry = &self.slots[id as usize];
            // Its other cache lines, which are read next.
            core::hint::black_box((entry.slot.as_limbs()[0], entry.value.as_limbs()[3]));
            entry.origin[0] == key
        };
        core::hint::black_box(self.by_origin.find(hash, fetch));
    }

    /// Records that `slot` was derived from `key` and `base`, so that the next load of it indexes it by them.
    pub(super) fn expect_derived(&mut self, account: AccountId, key: U256, base: U256, slot: U256) -> U256 {
        self.expected = Some((account, [key, base], slot));
        slot
    }

    fn note_found(&mut self, id: SlotId) {
        self.last_found = Some(id);
        let entry = &mut self.slots[id.0 as usize];
        if let Some((account, origin, slot)) = self.expected.take()
            && (account, slot) == (entry.account, entry.slot)
            && entry.origin == [U256::ZERO; 2]
        {
            entry.origin = origin;
            let [key, base] = origin.map(|word| SlotKey(account, word));
            self.by_origin.insert(self.slot_hasher.hash_one((key, base)), id.0);
        }
    }

    pub(super) fn slot(&self, id: SlotId) -> &SlotEntry {
        &self.slots[id.0 as usize]
    }

    pub(super) fn slot_mut(&mut self, id: SlotId) -> &mut SlotEntry {
        &mut self.slots[id.0 as usize]
    }

    /// Returns the number of accounts and slots.
    pub(super) fn len(&self) -> usize {
        self.accounts.len() + self.slots.len()
    }

    pub(super) fn has_changes(&self) -> bool {
        !self.changed_accounts.is_empty() || !self.changed_slots.is_empty()
    }

    /// Records the values of an account that is about to change.
    pub(super) fn mark_changed(&mut self, id: AccountId) {
        let entry = &mut self.accounts[id.0 as usize];
        if !core::mem::replace(&mut entry.is_listed, true) {
            self.changed_accounts.push((id, entry.exists.then_some(entry.info)));
        }
    }

    /// Changes the value of a slot.
    pub(super) fn change_slot(&mut self, id: SlotId, value: U256) {
        let entry = &mut self.slots[id.0 as usize];
        let previous = core::mem::replace(&mut entry.value, value);
        if !is_at(&self.originals, entry.original_at, id) {
            entry.original_at = self.originals.len() as u32;
            self.originals.push((id, previous));
        }
        if !core::mem::replace(&mut entry.is_listed, true) {
            let account = entry.account;
            self.changed_slots.push((id, previous));
            self.mark_changed(account);
        }
    }

    /// Returns the value of a slot at the start of the running transaction.
    pub(super) fn original(&self, id: SlotId) -> U256 {
        let entry = self.slot(id);
        if is_at(&self.originals, entry.original_at, id) {
            self.originals[entry.original_at as usize].1
        } else {
            entry.value
        }
    }

    /// Begins a transaction: the values of all slots are those at its start.
    pub(super) fn forget_originals(&mut self) {
        self.originals.clear();
    }

    /// Takes the accounts that may have changed, by address, with their values before.
    pub(super) fn take_changed_accounts(&mut self) -> Vec<(AccountId, Option<AccountInfo>)> {
        let mut changed = self.changed_accounts.take();
        for (id, _) in &changed {
            self.accounts[id.0 as usize].is_listed = false;
        }
        changed.sort_by_cached_key(|(id, _)| self.accounts[id.0 as usize].address);
        changed
    }

    /// Takes the slots that changed, by account.
    pub(super) fn take_changed_slots(&mut self) -> BTreeMap<AccountId, SortedMap<U256, U256>> {
        let mut changed = Vec::new();
        for (id, base) in self.changed_slots.take() {
            let entry = &mut self.slots[id.0 as usize];
            entry.is_listed = false;
            if entry.value != base {
                changed.push((entry.account, entry.slot, entry.value));
            }
        }
        changed.sort_unstable_by_key(|(account, slot, _)| (*account, *slot));
        changed
            .chunk_by(|a, b| a.0 == b.0)
            .map(|slots| (slots[0].0, slots.iter().map(|(_, slot, value)| (*slot, *value)).collect::<Vec<_>>()))
            .map(|(account, slots)| (account, SortedMap::from_sorted(slots)))
            .collect()
    }

    /// Invalidates all transaction marks, so that the numbers can be used again.
    pub(super) fn forget_transactions(&mut self) {
        for entry in &mut self.accounts {
            entry.warm_in = 0;
        }
        for entry in &mut self.slots {
            entry.warm_in = 0;
        }
    }
}

/// Returns whether the record at `place` is that of `id`.
fn is_at(records: &[(SlotId, U256)], place: u32, id: SlotId) -> bool {
    records.get(place as usize).is_some_and(|(owner, _)| *owner == id)
}

/// Returns the cell of `recent` for an address.
fn recent_cell(address: &Address) -> usize {
    usize::from(address[19]) % RECENT
}

/// Returns the next 32-bit handle: 4 billion entries are far beyond the memory that they would need.
fn next_id(len: usize) -> u32 {
    u32::try_from(len).unwrap_or_else(|_| unreachable!("a journal holds fewer than 2^32 entries"))
}
