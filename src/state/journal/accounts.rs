//! Reads and changes of accounts.

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};

use super::{Access, AccountId, Journal, entry::AccountEntry, undo::Undo};
use crate::state::{AccountInfo, EMPTY_CODE_HASH, StateError};

/// Accounts.
impl Journal {
    /// Returns nonce, balance and code hash; those of the empty account where there is none.
    ///
    /// # Errors
    /// [`StateError`] when the view cannot be read.
    pub fn account(&mut self, address: &Address) -> Result<AccountInfo, StateError> {
        let id = self.load(address)?;
        Ok(self.cache.account(id).info)
    }

    /// Returns the balance, in wei.
    ///
    /// # Errors
    /// See [`Journal::account`].
    pub fn balance(&mut self, address: &Address) -> Result<U256, StateError> {
        let id = self.load(address)?;
        Ok(self.cache.account(id).info.balance)
    }

    /// Returns the number of transactions sent or contracts created.
    ///
    /// # Errors
    /// See [`Journal::account`].
    pub fn nonce(&mut self, address: &Address) -> Result<u64, StateError> {
        let id = self.load(address)?;
        Ok(self.cache.account(id).info.nonce)
    }

    /// Returns the keccak of the account's code.
    ///
    /// # Errors
    /// See [`Journal::account`].
    pub fn code_hash(&mut self, address: &Address) -> Result<B256, StateError> {
        let id = self.load(address)?;
        Ok(self.cache.account(id).info.code_hash)
    }

    /// Returns the account's code; empty when it has none.
    ///
    /// # Errors
    /// See [`Journal::account`]; [`StateError::MissingCode`] when its hash names none.
    pub fn code(&mut self, address: &Address) -> Result<Bytes, StateError> {
        let id = self.load(address)?;
        self.code_of(id).cloned()
    }

    /// Returns whether there is no nonce, balance or code (EIP-161).
    ///
    /// # Errors
    /// See [`Journal::account`].
    pub fn is_empty(&mut self, address: &Address) -> Result<bool, StateError> {
        let id = self.load(address)?;
        Ok(self.cache.account(id).is_empty())
    }

    /// Sets the balance, in wei.
    ///
    /// # Errors
    /// See [`Journal::account`].
    pub fn set_balance(&mut self, address: &Address, balance: U256) -> Result<(), StateError> {
        let id = self.load(address)?;
        self.put_balance(id, balance);
        Ok(())
    }

    /// Adds to the balance; returns `false` without a change when it would exceed 2^256 - 1.
    ///
    /// # Errors
    /// See [`Journal::account`].
    pub fn add_balance(&mut self, address: &Address, amount: U256) -> Result<bool, StateError> {
        let id = self.load(address)?;
        let sum = self.cache.account(id).info.balance.checked_add(amount);
        Ok(sum.map(|balance| self.put_balance(id, balance)).is_some())
    }

    /// Subtracts from the balance; returns `false` without a change when it holds less.
    ///
    /// # Errors
    /// See [`Journal::account`].
    pub fn sub_balance(&mut self, address: &Address, amount: U256) -> Result<bool, StateError> {
        let id = self.load(address)?;
        let rest = self.cache.account(id).info.balance.checked_sub(amount);
        Ok(rest.map(|balance| self.put_balance(id, balance)).is_some())
    }

    /// Transfers `amount`; returns `false` without a change when `from` holds less or `to` would exceed 2^256 - 1.
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

    /// Increments the nonce and returns the one before; `None` without a change at the bound of EIP-2681.
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

    /// Sets the code; empty code removes it.
    ///
    /// # Errors
    /// See [`Journal::account`].
    pub fn set_code(&mut self, address: &Address, code: Bytes) -> Result<(), StateError> {
        let id = self.load(address)?;
        let hash = if code.is_empty() { EMPTY_CODE_HASH } else { keccak256(&code) };
        self.cache.mark_changed(id);
        let entry = self.cache.account_mut(id);
        let code = (!code.is_empty()).then(|| Box::new(code));
        let previous = (core::mem::replace(&mut entry.info.code_hash, hash), core::mem::replace(&mut entry.code, code));
        self.undo.push(Undo::Code { account: id, previous: Box::new(previous) });
        Ok(())
    }

    /// Creates a contract account with nonce 1 (EIP-161), keeping its balance.
    ///
    /// Returns `false` without a change when the address has a nonce, code or storage (EIP-684, EIP-7610).
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

    /// Marks an account as warm and returns its warmth before (EIP-2929).
    ///
    /// # Errors
    /// See [`Journal::account`].
    pub fn access_account(&mut self, address: &Address) -> Result<Access, StateError> {
        let id = self.load(address)?;
        Ok(self.warm(id))
    }
}

/// Access by handle: the address is looked up once.
impl Journal {
    /// Loads an account; its handle is valid until [`Journal::advance_to`].
    pub(crate) fn load(&mut self, address: &Address) -> Result<AccountId, StateError> {
        match self.cache.find(address) {
            Some(id) => Ok(id),
            None => {
                let base = self.view.account(address)?;
                Ok(self.cache.insert(AccountEntry::new(*address, base)))
            }
        }
    }

    /// Returns nonce, balance and code hash of a loaded account.
    pub(crate) fn info(&self, id: AccountId) -> &AccountInfo {
        &self.cache.account(id).info
    }

    /// Marks a loaded account as warm and returns its warmth before.
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

    /// Returns the code of a loaded account.
    pub(crate) fn code_of(&mut self, id: AccountId) -> Result<&Bytes, StateError> {
        static NO_CODE: Bytes = Bytes::new();
        let entry = self.cache.account_mut(id);
        if entry.info.code_hash == EMPTY_CODE_HASH {
            return Ok(&NO_CODE);
        }
        if entry.code.is_none() {
            entry.code = Some(Box::new(self.view.code(&entry.info.code_hash)?));
        }
        Ok(entry.code.get_or_insert_default())
    }

    fn put_balance(&mut self, account: AccountId, balance: U256) {
        let previous = self.cache.account(account).info.balance;
        if previous != balance {
            self.undo.push(Undo::Balance { account, previous });
            self.cache.mark_changed(account);
            self.cache.account_mut(account).info.balance = balance;
        }
    }

    fn put_nonce(&mut self, account: AccountId, nonce: u64) {
        let previous = self.cache.account(account).info.nonce;
        if previous != nonce {
            self.undo.push(Undo::Nonce { account, previous });
            self.cache.mark_changed(account);
            self.cache.account_mut(account).info.nonce = nonce;
        }
    }
}
