//! Reads and changes of storage slots.

use alloy_primitives::{Address, U256};

use super::{Access, AccountId, Journal, SlotId, SlotWrite, entry::SlotEntry, undo::Undo};
use crate::state::StateError;

/// Storage.
impl Journal {
    /// Returns the value of a slot; zero when it was never set.
    ///
    /// # Errors
    /// See [`Journal::account`].
    pub fn storage(&mut self, address: &Address, slot: &U256) -> Result<U256, StateError> {
        let id = self.load(address)?;
        let slot = self.load_slot(id, slot)?;
        Ok(self.cache.slot(slot).value)
    }

    /// Returns the slot's value at the start of the running transaction (EIP-2200).
    ///
    /// # Errors
    /// See [`Journal::account`].
    pub fn original_storage(&mut self, address: &Address, slot: &U256) -> Result<U256, StateError> {
        let id = self.load(address)?;
        let slot = self.load_slot(id, slot)?;
        Ok(self.cache.original(slot))
    }

    /// Sets a slot without making it warm (EIP-2929); zero removes it.
    ///
    /// # Errors
    /// See [`Journal::account`].
    pub fn set_storage(&mut self, address: &Address, slot: &U256, value: U256) -> Result<(), StateError> {
        let id = self.load(address)?;
        let slot = self.load_slot(id, slot)?;
        self.put_slot(slot, value);
        Ok(())
    }

    /// Marks a slot as warm and returns its warmth before (EIP-2929).
    ///
    /// # Errors
    /// See [`Journal::account`].
    pub fn access_slot(&mut self, address: &Address, slot: &U256) -> Result<Access, StateError> {
        let id = self.load(address)?;
        let slot = self.load_slot(id, slot)?;
        Ok(self.warm_slot(slot))
    }

    /// Returns the handle of a slot of a loaded account. It is valid until the journal goes on to the next block.
    pub(crate) fn slot_id(&mut self, account: AccountId, slot: &U256) -> Result<SlotId, StateError> {
        self.load_slot(account, slot)
    }

    /// Returns the present value of a slot, without a search and without an access.
    pub(crate) fn value_of(&self, slot: SlotId) -> U256 {
        self.cache.slot(slot).value
    }

    /// Reads a slot of a loaded account and marks it as warm.
    pub(crate) fn sload(&mut self, account: AccountId, slot: &U256) -> Result<(U256, Access), StateError> {
        let id = self.load_slot(account, slot)?;
        let access = self.warm_slot(id);
        Ok((self.cache.slot(id).value, access))
    }

    /// Writes a slot of a loaded account and marks it as warm.
    pub(crate) fn sstore(&mut self, account: AccountId, slot: &U256, value: U256) -> Result<SlotWrite, StateError> {
        let id = self.load_slot(account, slot)?;
        let access = self.warm_slot(id);
        let (original, current) = (self.cache.original(id), self.cache.slot(id).value);
        self.put_slot(id, value);
        Ok(SlotWrite { original, current, access })
    }

    /// Returns `derive(key, base)`, a slot of a loaded account, from the cache where it was derived before.
    pub(crate) fn derived_slot(
        &mut self,
        account: AccountId,
        key: U256,
        base: U256,
        derive: impl FnOnce(U256, U256) -> U256,
    ) -> U256 {
        match self.cache.find_derived(account, key, base) {
            Some(slot) => slot,
            None => self.cache.expect_derived(account, key, base, derive(key, base)),
        }
    }

    /// Begins to fetch a derived slot that is read soon; changes nothing.
    pub(crate) fn fetch_ahead(&self, account: AccountId, key: U256, base: U256) {
        self.cache.fetch_ahead(account, key, base);
    }

    fn load_slot(&mut self, account: AccountId, slot: &U256) -> Result<SlotId, StateError> {
        if let Some(id) = self.cache.find_slot(account, slot) {
            return Ok(id);
        }
        let entry = self.cache.account(account);
        let value = if entry.has_storage { self.view.storage(&entry.address, slot)? } else { U256::ZERO };
        Ok(self.cache.insert_slot(SlotEntry::new(account, *slot, value)))
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

    fn put_slot(&mut self, slot: SlotId, value: U256) {
        let previous = self.cache.slot(slot).value;
        if previous != value {
            self.undo.push(Undo::Slot { slot, previous });
            self.cache.change_slot(slot, value);
        }
    }
}
