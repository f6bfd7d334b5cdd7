//! The changes of a block while it runs: read through, undone by checkpoints, given away at the end.
//!
//! A [`Journal`] wraps one [`StateView`]. What it reads it keeps; what it changes it can undo, at a
//! cost of what was changed since the checkpoint. It also carries what one transaction needs: the
//! access list (EIP-2929), the slots' values at its start (EIP-2200), the refund counter (EIP-3529)
//! and the logs.

mod cache;
#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod tests;
mod undo;

use std::{collections::BTreeMap, sync::Arc};

use alloy_primitives::{Address, B256, Bytes, Log, U256, keccak256};

use self::{
    cache::{AccountEntry, Cache, SlotEntry},
    undo::Undo,
};
use super::{AccountChange, AccountInfo, EMPTY_CODE_HASH, EMPTY_ROOT, StateChanges, StateError, StateView};

pub(crate) use self::cache::{AccountId, SlotId};

/// Cached accounts and slots above which [`Journal::carry_on`] starts with an empty cache.
pub const CACHED_ENTRIES_MAX: usize = 1 << 18;

/// Whether the running transaction had touched something before (EIP-2929).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Touched for the first time in this transaction.
    Cold,
    /// Touched before, or declared in its access list.
    Warm,
}

impl Access {
    /// Whether this was the first touch.
    pub const fn is_cold(self) -> bool {
        matches!(self, Self::Cold)
    }
}

/// What writing a slot met: everything that its price depends on (EIP-2200, EIP-2929).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotWrite {
    /// Value at the transaction's start.
    pub original: U256,
    /// Value just before this write.
    pub current: U256,
    /// Whether the slot had been touched.
    pub access: Access,
}

/// A point to come back to: see [`Journal::checkpoint`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "commit or revert a checkpoint"]
pub struct Checkpoint {
    undo_len: usize,
    log_count: usize,
    refund: i64,
}

/// A state in the making over an immutable one.
///
/// One journal lives for a block: [`begin_transaction`](Self::begin_transaction) before each
/// transaction, [`take_changes`](Self::take_changes) at the end, and
/// [`carry_on`](Self::carry_on) to build the next block with what is already read.
///
/// Reads that meet a failing store answer [`StateError`]; nothing is changed by them.
#[derive(Clone, Debug)]
pub struct Journal {
    view: Arc<dyn StateView>,
    cache: Cache,
    undo: Vec<Undo>,
    logs: Vec<Log>,
    refund: i64,
    /// Accounts whose storage changed in what was taken; their emptiness is read again.
    storage_changed: Vec<AccountId>,
    /// Number of the running transaction in this journal; marks what it touched.
    transaction: u32,
}

/// Blocks: starting, ending, going on.
impl Journal {
    /// A journal without changes over `view`.
    pub fn new(view: Arc<dyn StateView>) -> Self {
        Self {
            view,
            cache: Cache::default(),
            undo: Vec::new(),
            logs: Vec::new(),
            refund: 0,
            storage_changed: Vec::new(),
            transaction: 1,
        }
    }

    /// The version underneath.
    pub const fn view(&self) -> &Arc<dyn StateView> {
        &self.view
    }

    /// Starts a transaction: nothing is warm, no refund, no logs; earlier changes can no longer be undone.
    pub fn begin_transaction(&mut self) {
        self.undo.clear();
        self.logs.clear();
        self.refund = 0;
        self.transaction = self.transaction.wrapping_add(1);
        if self.transaction == 0 {
            self.cache.forget_transactions();
            self.transaction = 1;
        }
    }

    /// Gives away everything that changed since the journal was made or last asked, sorted.
    ///
    /// An account that ends with no nonce, balance, code or storage is removed (EIP-161). The
    /// journal goes on reading the changed values.
    pub fn take_changes(&mut self) -> StateChanges {
        self.undo.clear();
        let mut storage = self.cache.take_changed_slots();
        let mut codes = BTreeMap::new();
        let mut accounts = Vec::new();
        for id in self.cache.take_changed_accounts() {
            let slots = storage.remove(&id).unwrap_or_default();
            let entry = self.cache.account_mut(id);
            if slots.is_empty() && entry.is_as_in_base() {
                continue;
            }
            let holds_slots = entry.has_storage || slots.values().any(|value| !value.is_zero());
            let info = (holds_slots || !entry.is_empty()).then_some(entry.info);
            if info.is_none() && entry.base.is_none() {
                continue;
            }
            if info.map(|new| new.code_hash) != entry.base.map(|old| old.code_hash)
                && let Some(code) = entry.code.as_ref().filter(|code| !code.is_empty())
            {
                codes.insert(entry.info.code_hash, code.clone());
            }
            entry.base = info;
            if !slots.is_empty() {
                self.storage_changed.push(id);
            }
            accounts.push((entry.address, AccountChange { info, clear_storage: false, storage: slots }));
        }
        accounts.sort_unstable_by_key(|(address, _)| *address);
        StateChanges { accounts: accounts.into_iter().collect(), codes }
    }

    /// Goes on over `view`, which must be the version with exactly the changes taken from here, keeping what was read.
    ///
    /// Changes that were not taken are dropped with the rest of the cache.
    ///
    /// # Errors
    /// [`StateError`] when `view` cannot be read; the journal then starts over it with an empty cache.
    pub fn carry_on(&mut self, view: Arc<dyn StateView>) -> Result<(), StateError> {
        self.view = view;
        self.begin_transaction();
        let changed = core::mem::take(&mut self.storage_changed);
        if self.cache.has_changes() || self.cache.len() > CACHED_ENTRIES_MAX {
            self.cache = Cache::default();
            return Ok(());
        }
        for id in changed {
            let entry = self.cache.account_mut(id);
            match self.view.account(&entry.address) {
                Ok(account) => entry.has_storage = account.is_some_and(|a| a.storage_root != EMPTY_ROOT),
                Err(error) => {
                    self.cache = Cache::default();
                    return Err(error);
                }
            }
        }
        Ok(())
    }
}

/// Checkpoints, logs and the refund counter.
impl Journal {
    /// A point to come back to. Checkpoints nest; each is committed or reverted before the one around it.
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint { undo_len: self.undo.len(), log_count: self.logs.len(), refund: self.refund }
    }

    /// Keeps what was done since `checkpoint`; the one around it can still undo it.
    pub fn commit(&mut self, checkpoint: Checkpoint) {
        debug_assert!(checkpoint.undo_len <= self.undo.len(), "checkpoint of an undone frame");
    }

    /// Undoes changes, logs, refunds and warmth since `checkpoint`, at a cost of what was done.
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

    /// Accounts and slots that the running transaction touched and that stayed touched, in the order of their first touch.
    ///
    /// What `eth_createAccessList` answers.
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

    /// The running transaction's logs so far.
    pub fn logs(&self) -> &[Log] {
        &self.logs
    }

    /// The running transaction's logs, given away.
    pub fn take_logs(&mut self) -> Vec<Log> {
        core::mem::take(&mut self.logs)
    }

    /// Adds to the refund counter, in gas; it may be taken back by a later write (EIP-3529).
    pub fn add_refund(&mut self, gas: i64) {
        self.refund = self.refund.saturating_add(gas);
    }

    /// The refund counter, in gas, before the cap.
    pub fn refund(&self) -> u64 {
        u64::try_from(self.refund).unwrap_or(0)
    }
}

/// Accounts.
impl Journal {
    /// Nonce, balance and code hash; those of the empty account where there is none.
    ///
    /// # Errors
    /// [`StateError`] when the view cannot be read; so for every reader below.
    pub fn account(&mut self, address: &Address) -> Result<AccountInfo, StateError> {
        let id = self.load(address)?;
        Ok(self.cache.account(id).info)
    }

    /// Native token held, in the smallest unit.
    ///
    /// # Errors
    /// See [`Journal::account`].
    pub fn balance(&mut self, address: &Address) -> Result<U256, StateError> {
        let id = self.load(address)?;
        Ok(self.cache.account(id).info.balance)
    }

    /// Transactions sent or contracts created.
    ///
    /// # Errors
    /// See [`Journal::account`].
    pub fn nonce(&mut self, address: &Address) -> Result<u64, StateError> {
        let id = self.load(address)?;
        Ok(self.cache.account(id).info.nonce)
    }

    /// Keccak of the account's code.
    ///
    /// # Errors
    /// See [`Journal::account`].
    pub fn code_hash(&mut self, address: &Address) -> Result<B256, StateError> {
        let id = self.load(address)?;
        Ok(self.cache.account(id).info.code_hash)
    }

    /// The account's code; empty when it has none.
    ///
    /// # Errors
    /// See [`Journal::account`]; [`StateError::MissingCode`] when its hash names none.
    pub fn code(&mut self, address: &Address) -> Result<Bytes, StateError> {
        let id = self.load(address)?;
        self.code_of(id).cloned()
    }

    /// Whether there is no nonce, balance or code (EIP-161).
    ///
    /// # Errors
    /// See [`Journal::account`].
    pub fn is_empty(&mut self, address: &Address) -> Result<bool, StateError> {
        let id = self.load(address)?;
        Ok(self.cache.account(id).is_empty())
    }

    /// Sets the balance, in the smallest unit.
    ///
    /// # Errors
    /// See [`Journal::account`].
    pub fn set_balance(&mut self, address: &Address, balance: U256) -> Result<(), StateError> {
        let id = self.load(address)?;
        self.put_balance(id, balance);
        Ok(())
    }

    /// Adds to the balance; `false`, and no change, when it would pass 2^256 - 1.
    ///
    /// # Errors
    /// See [`Journal::account`].
    pub fn add_balance(&mut self, address: &Address, amount: U256) -> Result<bool, StateError> {
        let id = self.load(address)?;
        let sum = self.cache.account(id).info.balance.checked_add(amount);
        Ok(sum.map(|balance| self.put_balance(id, balance)).is_some())
    }

    /// Takes from the balance; `false`, and no change, when it holds less.
    ///
    /// # Errors
    /// See [`Journal::account`].
    pub fn sub_balance(&mut self, address: &Address, amount: U256) -> Result<bool, StateError> {
        let id = self.load(address)?;
        let rest = self.cache.account(id).info.balance.checked_sub(amount);
        Ok(rest.map(|balance| self.put_balance(id, balance)).is_some())
    }

    /// Moves `amount`; `false`, and no change, when `from` holds less or `to` would pass 2^256 - 1.
    ///
    /// # Errors
    /// See [`Journal::account`].
    pub fn transfer(&mut self, from: &Address, to: &Address, amount: U256) -> Result<bool, StateError> {
        let (from, to) = (self.load(from)?, self.load(to)?);
        let Some(rest) = self.cache.account(from).info.balance.checked_sub(amount) else { return Ok(false) };
        if from == to {
            return Ok(true);
        }
        let Some(sum) = self.cache.account(to).info.balance.checked_add(amount) else { return Ok(false) };
        self.put_balance(from, rest);
        self.put_balance(to, sum);
        Ok(true)
    }

    /// Sets the nonce.
    ///
    /// # Errors
    /// See [`Journal::account`].
    pub fn set_nonce(&mut self, address: &Address, nonce: u64) -> Result<(), StateError> {
        let id = self.load(address)?;
        self.put_nonce(id, nonce);
        Ok(())
    }

    /// Adds one to the nonce and answers the one before; `None`, and no change, at the bound of EIP-2681.
    ///
    /// # Errors
    /// See [`Journal::account`].
    pub fn increment_nonce(&mut self, address: &Address) -> Result<Option<u64>, StateError> {
        let id = self.load(address)?;
        let nonce = self.cache.account(id).info.nonce;
        if nonce == u64::MAX {
            return Ok(None);
        }
        self.put_nonce(id, nonce + 1);
        Ok(Some(nonce))
    }

    /// Sets the code; empty removes it.
    ///
    /// # Errors
    /// See [`Journal::account`].
    pub fn set_code(&mut self, address: &Address, code: Bytes) -> Result<(), StateError> {
        let id = self.load(address)?;
        let hash = if code.is_empty() { EMPTY_CODE_HASH } else { keccak256(&code) };
        let entry = self.cache.account_mut(id);
        let previous = (core::mem::replace(&mut entry.info.code_hash, hash), entry.code.replace(code));
        self.undo.push(Undo::Code { account: id, previous: Box::new(previous) });
        self.cache.mark_changed(id);
        Ok(())
    }

    /// Makes a contract account with nonce 1 (EIP-161), keeping its balance.
    ///
    /// `false`, and no change, when the address has a nonce, code or storage (EIP-684, EIP-7610).
    ///
    /// # Errors
    /// See [`Journal::account`].
    pub fn create_account(&mut self, address: &Address) -> Result<bool, StateError> {
        let id = self.load(address)?;
        let entry = self.cache.account(id);
        if entry.info.nonce != 0 || entry.info.code_hash != EMPTY_CODE_HASH || entry.has_storage {
            return Ok(false);
        }
        self.put_nonce(id, 1);
        Ok(true)
    }

    /// Touches an account and says whether this transaction had before (EIP-2929).
    ///
    /// # Errors
    /// See [`Journal::account`].
    pub fn access_account(&mut self, address: &Address) -> Result<Access, StateError> {
        let id = self.load(address)?;
        Ok(self.warm(id))
    }
}

/// Storage.
impl Journal {
    /// The value of a slot; zero when it was never set.
    ///
    /// # Errors
    /// See [`Journal::account`].
    pub fn storage(&mut self, address: &Address, slot: &U256) -> Result<U256, StateError> {
        let id = self.load(address)?;
        let slot = self.load_slot(id, slot)?;
        Ok(self.cache.slot(slot).value)
    }

    /// The slot's value when the running transaction began (EIP-2200).
    ///
    /// # Errors
    /// See [`Journal::account`].
    pub fn original_storage(&mut self, address: &Address, slot: &U256) -> Result<U256, StateError> {
        let id = self.load(address)?;
        let slot = self.load_slot(id, slot)?;
        Ok(self.cache.slot(slot).original)
    }

    /// Sets a slot without touching it for EIP-2929; zero removes it.
    ///
    /// # Errors
    /// See [`Journal::account`].
    pub fn set_storage(&mut self, address: &Address, slot: &U256, value: U256) -> Result<(), StateError> {
        let id = self.load(address)?;
        let slot = self.load_slot(id, slot)?;
        self.put_slot(slot, value);
        Ok(())
    }

    /// Touches a slot and says whether this transaction had before (EIP-2929).
    ///
    /// # Errors
    /// See [`Journal::account`].
    pub fn access_slot(&mut self, address: &Address, slot: &U256) -> Result<Access, StateError> {
        let id = self.load(address)?;
        let slot = self.load_slot(id, slot)?;
        Ok(self.warm_slot(slot))
    }

    /// Reads a slot of a loaded account, touching it.
    pub(crate) fn sload(&mut self, account: AccountId, slot: &U256) -> Result<(U256, Access), StateError> {
        let id = self.load_slot(account, slot)?;
        let access = self.warm_slot(id);
        Ok((self.cache.slot(id).value, access))
    }

    /// Writes a slot of a loaded account, touching it.
    pub(crate) fn sstore(&mut self, account: AccountId, slot: &U256, value: U256) -> Result<SlotWrite, StateError> {
        let id = self.load_slot(account, slot)?;
        let access = self.warm_slot(id);
        let SlotEntry { original, value: current, .. } = *self.cache.slot(id);
        self.put_slot(id, value);
        Ok(SlotWrite { original, current, access })
    }
}

/// By handle: one look-up of the address, then none.
impl Journal {
    /// Reads an account in; its handle is good until [`Journal::carry_on`].
    pub(crate) fn load(&mut self, address: &Address) -> Result<AccountId, StateError> {
        match self.cache.find(address) {
            Some(id) => Ok(id),
            None => {
                let base = self.view.account(address)?;
                Ok(self.cache.insert(AccountEntry::new(*address, base)))
            }
        }
    }

    /// Plain values of a loaded account.
    pub(crate) fn info(&self, id: AccountId) -> &AccountInfo {
        &self.cache.account(id).info
    }

    /// Touches a loaded account.
    pub(crate) fn warm(&mut self, id: AccountId) -> Access {
        let transaction = self.transaction;
        let entry = self.cache.account_mut(id);
        if entry.warm_in == transaction {
            return Access::Warm;
        }
        entry.warm_in = transaction;
        self.undo.push(Undo::AccountWarmed { account: id });
        Access::Cold
    }

    /// Code of a loaded account.
    pub(crate) fn code_of(&mut self, id: AccountId) -> Result<&Bytes, StateError> {
        let entry = self.cache.account_mut(id);
        if entry.code.is_none() {
            let hash = entry.info.code_hash;
            entry.code = Some(if hash == EMPTY_CODE_HASH { Bytes::new() } else { self.view.code(&hash)? });
        }
        Ok(entry.code.get_or_insert_default())
    }

    fn load_slot(&mut self, account: AccountId, slot: &U256) -> Result<SlotId, StateError> {
        let id = match self.cache.find_slot(account, slot) {
            Some(id) => id,
            None => {
                let entry = self.cache.account(account);
                let base = if entry.has_storage { self.view.storage(&entry.address, slot)? } else { U256::ZERO };
                self.cache.insert_slot(SlotEntry::new(account, *slot, base))
            }
        };
        let entry = self.cache.slot_mut(id);
        if entry.original_in != self.transaction {
            entry.original_in = self.transaction;
            entry.original = entry.value;
        }
        Ok(id)
    }

    fn warm_slot(&mut self, id: SlotId) -> Access {
        let transaction = self.transaction;
        let entry = self.cache.slot_mut(id);
        if entry.warm_in == transaction {
            return Access::Warm;
        }
        entry.warm_in = transaction;
        self.undo.push(Undo::SlotWarmed { slot: id });
        Access::Cold
    }

    fn put_balance(&mut self, account: AccountId, balance: U256) {
        let previous = core::mem::replace(&mut self.cache.account_mut(account).info.balance, balance);
        if previous != balance {
            self.undo.push(Undo::Balance { account, previous });
            self.cache.mark_changed(account);
        }
    }

    fn put_nonce(&mut self, account: AccountId, nonce: u64) {
        let previous = core::mem::replace(&mut self.cache.account_mut(account).info.nonce, nonce);
        if previous != nonce {
            self.undo.push(Undo::Nonce { account, previous });
            self.cache.mark_changed(account);
        }
    }

    fn put_slot(&mut self, slot: SlotId, value: U256) {
        let previous = core::mem::replace(&mut self.cache.slot_mut(slot).value, value);
        if previous != value {
            self.undo.push(Undo::Slot { slot, previous });
            self.cache.mark_slot_changed(slot);
        }
    }
}
