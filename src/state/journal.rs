//! The changes of a block during its execution: read-through cache, nested checkpoints, changes taken at the end.
//!
//! A [`Journal`] wraps one [`StateView`]. It caches what it reads and undoes what it changes, at a cost
//! that grows with the changes since the checkpoint. It also holds what one transaction needs: the
//! access list (EIP-2929), the slots' original values (EIP-2200), the refund counter (EIP-3529)
//! and the logs.

mod accounts;
mod cache;
mod entry;
#[cfg(test)]
pub(crate) mod fixture;
mod index;
mod records;
mod storage;
#[cfg(test)]
mod tests;
mod undo;

use std::{collections::BTreeMap, sync::Arc};

use alloy_primitives::{Address, Log, U256};

use self::{cache::StateCache, undo::Undo};
use super::{AccountChange, EMPTY_ROOT, SortedMap, StateChanges, StateError, StateView};
use crate::primitives::Gas;

pub(crate) use self::entry::{AccountId, SlotId};

/// Cached accounts and slots above which [`Journal::advance_to`] starts with an empty cache.
pub const CACHED_ENTRIES_MAX: usize = 1 << 18;

/// Undo entries whose memory is kept from block to block; a block with more gives the rest back.
const UNDO_KEPT_MAX: usize = 1 << 14;

/// Warmth of an account or slot in the running transaction (EIP-2929).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// First access in this transaction.
    Cold,
    /// Accessed before, or declared in the transaction's access list.
    Warm,
}

impl Access {
    /// Returns whether this was the first access.
    pub const fn is_cold(self) -> bool {
        matches!(self, Self::Cold)
    }
}

/// Values and warmth that determine the cost of a slot write (EIP-2200, EIP-2929).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotWrite {
    /// Value at the start of the transaction.
    pub original: U256,
    /// Value just before this write.
    pub current: U256,
    /// Warmth of the slot before this write.
    pub access: Access,
}

/// A point that changes can be undone to: see [`Journal::checkpoint`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "commit or revert a checkpoint"]
pub struct Checkpoint {
    undo_len: usize,
    log_count: usize,
    refund: i64,
}

/// Uncommitted changes over an immutable version of the state.
///
/// One journal lives for a block: [`begin_transaction`](Self::begin_transaction) before each
/// transaction, [`take_changes`](Self::take_changes) at the end, and
/// [`advance_to`](Self::advance_to) to execute the next block with the cache kept.
///
/// A read that fails in the store returns [`StateError`] and changes nothing.
#[derive(Clone, Debug)]
pub struct Journal {
    view: Arc<dyn StateView>,
    cache: StateCache,
    undo: Vec<Undo>,
    logs: Vec<Log>,
    refund: i64,
    /// Accounts whose storage changed in changes already taken; whether it is empty is read again.
    storage_changed: Vec<AccountId>,
    /// Number of the running transaction in this journal; marks what it accessed.
    transaction: u32,
}

/// Blocks: start, end, next.
impl Journal {
    /// Creates a journal without changes over `view`.
    pub fn new(view: Arc<dyn StateView>) -> Self {
        Self {
            view,
            cache: StateCache::default(),
            undo: Vec::new(),
            logs: Vec::new(),
            refund: 0,
            storage_changed: Vec::new(),
            transaction: 1,
        }
    }

    /// Returns the version underneath.
    pub const fn view(&self) -> &Arc<dyn StateView> {
        &self.view
    }

    /// Starts a transaction: everything is cold, no refund, no logs; earlier changes can no longer be undone.
    pub fn begin_transaction(&mut self) {
        self.undo.clear();
        self.cache.forget_originals();
        self.logs.clear();
        self.refund = 0;
        self.transaction = self.transaction.wrapping_add(1);
        if self.transaction == 0 {
            self.cache.forget_transactions();
            self.transaction = 1;
        }
    }

    /// Returns everything that changed since the journal was created or the changes were last taken, sorted.
    ///
    /// An account that ends with no nonce, balance, code or storage is removed (EIP-161). The
    /// journal goes on reading the changed values.
    pub fn take_changes(&mut self) -> StateChanges {
        self.undo.clear();
        let mut storage = self.cache.take_changed_slots();
        let mut codes = BTreeMap::new();
        let changed = self.cache.take_changed_accounts();
        let mut accounts = Vec::with_capacity(changed.len());
        for (id, base) in changed {
            let slots = storage.remove(&id).unwrap_or_default();
            let entry = self.cache.account_mut(id);
            if slots.is_empty() && entry.is_as_in(base.as_ref()) {
                continue;
            }
            let holds_slots = entry.has_storage || slots.values().any(|value| !value.is_zero());
            let info = (holds_slots || !entry.is_empty()).then_some(entry.info);
            if info.is_none() && base.is_none() {
                continue;
            }
            if info.map(|new| new.code_hash) != base.map(|old| old.code_hash)
                && let Some(code) = &entry.code
            {
                codes.insert(entry.info.code_hash, code.as_ref().clone());
            }
            entry.exists = info.is_some();
            if !slots.is_empty() {
                self.storage_changed.push(id);
            }
            accounts.push((entry.address, AccountChange { info, clear_storage: false, storage: slots }));
        }
        StateChanges { accounts: SortedMap::from_sorted(accounts), codes }
    }

    /// Continues over `view`, which must be the version with exactly the changes taken from here, and keeps the cache.
    ///
    /// Changes that were not taken are dropped, with the cache.
    ///
    /// # Errors
    /// [`StateError`] when `view` cannot be read; the journal then starts over it with an empty cache.
    pub fn advance_to(&mut self, view: Arc<dyn StateView>) -> Result<(), StateError> {
        self.view = view;
        self.begin_transaction();
        self.undo.shrink_to(UNDO_KEPT_MAX);
        self.storage_changed.shrink_to(UNDO_KEPT_MAX);
        let changed = core::mem::take(&mut self.storage_changed);
        if self.cache.has_changes() || self.cache.len() > CACHED_ENTRIES_MAX {
            self.cache = StateCache::default();
            return Ok(());
        }
        for id in changed {
            let entry = self.cache.account_mut(id);
            match self.view.account(&entry.address) {
                Ok(account) => entry.has_storage = account.is_some_and(|a| a.storage_root != EMPTY_ROOT),
                Err(error) => {
                    self.cache = StateCache::default();
                    return Err(error);
                }
            }
        }
        Ok(())
    }
}

/// Checkpoints, logs and the refund counter.
impl Journal {
    /// Returns a point to revert to. Checkpoints nest; each is committed or reverted before the one around it.
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint { undo_len: self.undo.len(), log_count: self.logs.len(), refund: self.refund }
    }

    /// Keeps the changes since `checkpoint`; the checkpoint around it can still undo them.
    pub fn commit(&mut self, checkpoint: Checkpoint) {
        debug_assert!(checkpoint.undo_len <= self.undo.len(), "checkpoint of an undone frame");
    }

    /// Undoes changes, logs, refunds and warmth since `checkpoint`, at a cost that grows with them.
    pub fn revert_to(&mut self, checkpoint: Checkpoint) {
        debug_assert!(checkpoint.undo_len <= self.undo.len(), "checkpoint of an undone frame");
        while self.undo.len() > checkpoint.undo_len {
            if let Some(undo) = self.undo.pop() {
                undo.apply(&mut self.cache);
            }
        }
        self.logs.truncate(checkpoint.log_count);
        self.refund = checkpoint.refund;
    }

    /// Returns accounts and slots that the running transaction accessed and did not undo, in the order of first access.
    ///
    /// These are the result of `eth_createAccessList`.
    pub fn accessed(&self) -> Vec<(Address, Option<U256>)> {
        let touched = |undo: &Undo| match *undo {
            Undo::AccountWarmed { account } => Some((self.cache.account(account).address, None)),
            Undo::SlotWarmed { slot } => {
                let (account, slot) = self.cache.slot(slot).place();
                Some((self.cache.account(account).address, Some(slot)))
            }
            _ => None,
        };
        self.undo.iter().filter_map(touched).collect()
    }

    /// Adds a log of the running transaction.
    pub fn log(&mut self, log: Log) {
        self.logs.push(log);
    }

    /// Returns the running transaction's logs so far.
    pub fn logs(&self) -> &[Log] {
        &self.logs
    }

    /// Takes the running transaction's logs.
    pub fn take_logs(&mut self) -> Vec<Log> {
        core::mem::take(&mut self.logs)
    }

    /// Adds to the refund counter, in gas units; a later write may subtract it again (EIP-3529).
    pub fn add_refund(&mut self, gas: i64) {
        self.refund = self.refund.saturating_add(gas);
    }

    /// Returns the refund counter before the cap.
    pub fn refund(&self) -> Gas {
        Gas::new(u64::try_from(self.refund).unwrap_or(0))
    }
}
