//! Accounts and slots that a journal has read, indexed by address and slot.
//!
//! Entries live in vectors in the order they were first read; the indices only locate them.

use core::{
    fmt,
    hash::{BuildHasher, Hash, Hasher},
};
use std::collections::BTreeMap;

use alloy_primitives::{Address, Bytes, U256, map::FbBuildHasher};
use foldhash::fast::RandomState;

use super::index::Index;
use crate::state::{Account, AccountInfo, EMPTY_CODE_HASH, EMPTY_ROOT, SortedMap};

/// Accounts that are found again without a hash: their positions take one cache line.
const RECENT: usize = 16;

/// Handle of an account in one journal's cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct AccountId(u32);

/// Handle of a slot in one journal's cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlotId(u32);

/// Current values of an account beside those of the view. What a transfer reads and writes comes first, in as few cache lines as it
/// can: each of them is a wait for memory.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct AccountEntry {
    pub(super) address: Address,
    /// Number of the last transaction that accessed it.
    pub(super) warm_in: u32,
    pub(super) info: AccountInfo,
    is_listed: bool,
    /// Whether the view has slots of the account.
    pub(super) has_storage: bool,
    pub(super) code: Option<Bytes>,
    /// Values in the view, or in the version with the changes already taken.
    pub(super) base: Option<AccountInfo>,
}

impl AccountEntry {
    pub(super) fn new(address: Address, account: Option<Account>) -> Self {
        let plain = |a: Account| AccountInfo { nonce: a.nonce, balance: a.balance, code_hash: a.code_hash };
        let has_storage = account.is_some_and(|a| a.storage_root != EMPTY_ROOT);
        let base = account.map(plain);
        let info = base.unwrap_or_else(|| plain(Account::default()));
        Self { address, info, base, has_storage, code: None, warm_in: 0, is_listed: false }
    }

    /// Returns whether nonce, balance and code equal those of the view.
    pub(super) fn is_as_in_base(&self) -> bool {
        self.base.map_or_else(|| self.is_empty(), |base| base == self.info)
    }

    /// Returns whether there is no nonce, balance or code (EIP-161).
    pub(super) fn is_empty(&self) -> bool {
        self.info.nonce == 0 && self.info.balance.is_zero() && self.info.code_hash == EMPTY_CODE_HASH
    }
}

/// Current value of a slot beside those of the view and at the start of the transaction. Only the end of a block reads its base, which
/// is the last, as in [`AccountEntry`].
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct SlotEntry {
    account: AccountId,
    /// Number of the transaction that `original` belongs to.
    pub(super) original_in: u32,
    /// Number of the last transaction that accessed it.
    pub(super) warm_in: u32,
    is_listed: bool,
    /// Key and base it was derived from, once [`StateCache::find_derived`] finds it by them.
    origin: [U256; 2],
    slot: U256,
    pub(super) value: U256,
    pub(super) original: U256,
    base: U256,
}

impl SlotEntry {
    pub(super) const fn new(account: AccountId, slot: U256, base: U256) -> Self {
        Self {
            account,
            slot,
            value: base,
            base,
            original: base,
            original_in: 0,
            warm_in: 0,
            is_listed: false,
            origin: [U256::ZERO; 2],
        }
    }

    pub(super) const fn place(&self) -> (AccountId, U256) {
        (self.account, self.slot)
    }
}

/// Account and number of a slot. Hashed limb by limb: numbers are keccaks or small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SlotKey(AccountId, U256);

impl Hash for SlotKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let [a, b, c, d] = *self.1.as_limbs();
        state.write_u64(a ^ d.rotate_left(32));
        state.write_u64(b ^ c.rotate_left(32));
        state.write_u32(self.0.0);
    }
}

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
    /// Accounts that may differ from their base, each once; the slots follow.
    changed_accounts: Vec<AccountId>,
    changed_slots: Vec<SlotId>,
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
        core::hint::black_box(self.by_origin.find(hash, |id| self.slots[id as usize].origin[0] == key));
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

    pub(super) fn mark_changed(&mut self, id: AccountId) {
        let entry = &mut self.accounts[id.0 as usize];
        if !core::mem::replace(&mut entry.is_listed, true) {
            self.changed_accounts.push(id);
        }
    }

    pub(super) fn mark_slot_changed(&mut self, id: SlotId) {
        let entry = &mut self.slots[id.0 as usize];
        if !core::mem::replace(&mut entry.is_listed, true) {
            let account = entry.account;
            self.changed_slots.push(id);
            self.mark_changed(account);
        }
    }

    /// Takes the accounts that may have changed, by address.
    pub(super) fn take_changed_accounts(&mut self) -> Vec<AccountId> {
        let taken = core::mem::take(&mut self.changed_accounts).into_iter().map(|id| {
            let entry = &mut self.accounts[id.0 as usize];
            entry.is_listed = false;
            (entry.address, id)
        });
        let mut changed: Vec<_> = taken.collect();
        changed.sort_unstable();
        changed.into_iter().map(|(_, id)| id).collect()
    }

    /// Takes the slots that changed, by account.
    pub(super) fn take_changed_slots(&mut self) -> BTreeMap<AccountId, SortedMap<U256, U256>> {
        let mut changed = Vec::with_capacity(self.changed_slots.len());
        for id in core::mem::take(&mut self.changed_slots) {
            let entry = &mut self.slots[id.0 as usize];
            entry.is_listed = false;
            if entry.value != entry.base {
                entry.base = entry.value;
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
            (entry.warm_in, entry.original_in) = (0, 0);
        }
    }
}

/// Returns the cell of `recent` for an address.
fn recent_cell(address: &Address) -> usize {
    usize::from(address[19]) % RECENT
}

/// Returns the next 32-bit handle: 4 billion entries are far beyond the memory that they would need.
fn next_id(len: usize) -> u32 {
    u32::try_from(len).unwrap_or_else(|_| unreachable!("a journal holds fewer than 2^32 entries"))
}
