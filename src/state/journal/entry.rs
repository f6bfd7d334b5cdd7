//! What a journal has of an account and of a slot.
//!
//! Nearly every access to one waits for memory, and a block makes many of them: an entry has what each transaction reads and writes, in as
//! few cache lines as it can. What the few that change need besides is recorded where they are listed: see `StateCache`.

use core::hash::{Hash, Hasher};

use alloy_primitives::{Address, Bytes, U256};

use crate::state::{Account, AccountInfo, EMPTY_CODE_HASH, EMPTY_ROOT};

/// Handle of an account in one journal's cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct AccountId(pub(super) u32);

/// Handle of a slot in one journal's cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlotId(pub(super) u32);

/// Current values of an account. What a transfer reads and writes comes first.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct AccountEntry {
    pub(super) address: Address,
    /// Number of the last transaction that accessed it.
    pub(super) warm_in: u32,
    pub(super) info: AccountInfo,
    /// Whether it is among the changed accounts.
    pub(super) is_listed: bool,
    /// Whether the view has the account, or the version with the changes already taken.
    pub(super) exists: bool,
    /// Whether the view has slots of the account.
    pub(super) has_storage: bool,
    /// Code of a contract, once it was read; few accounts have one.
    pub(super) code: Option<Box<Bytes>>,
}

impl AccountEntry {
    pub(super) fn new(address: Address, account: Option<Account>) -> Self {
        let exists = account.is_some();
        let Account { nonce, balance, storage_root, code_hash } = account.unwrap_or_default();
        let info = AccountInfo { nonce, balance, code_hash };
        let has_storage = storage_root != EMPTY_ROOT;
        Self { address, info, exists, has_storage, code: None, warm_in: 0, is_listed: false }
    }

    /// Returns whether nonce, balance and code equal those of `base`.
    pub(super) fn is_as_in(&self, base: Option<&AccountInfo>) -> bool {
        base.map_or_else(|| self.is_empty(), |base| *base == self.info)
    }

    /// Returns whether there is no nonce, balance or code (EIP-161).
    pub(super) fn is_empty(&self) -> bool {
        self.info.nonce == 0 && self.info.balance.is_zero() && self.info.code_hash == EMPTY_CODE_HASH
    }
}

/// Current value of a slot.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct SlotEntry {
    pub(super) account: AccountId,
    /// Number of the last transaction that accessed it.
    pub(super) warm_in: u32,
    /// Place of its original value, if the running transaction changed it; else any number.
    pub(super) original_at: u32,
    /// Whether it is among the changed slots.
    pub(super) is_listed: bool,
    /// Key and base it was derived from, once the cache finds it by them.
    pub(super) origin: [U256; 2],
    pub(super) slot: U256,
    pub(super) value: U256,
}

impl SlotEntry {
    pub(super) const fn new(account: AccountId, slot: U256, value: U256) -> Self {
        Self { account, slot, value, warm_in: 0, original_at: 0, is_listed: false, origin: [U256::ZERO; 2] }
    }

    pub(super) const fn place(&self) -> (AccountId, U256) {
        (self.account, self.slot)
    }
}

/// Account and number of a slot. Hashed limb by limb: numbers are keccaks or small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlotKey(pub(super) AccountId, pub(super) U256);

impl Hash for SlotKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let [a, b, c, d] = *self.1.as_limbs();
        state.write_u64(a ^ d.rotate_left(32));
        state.write_u64(b ^ c.rotate_left(32));
        state.write_u32(self.0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Their size decides how much of a chain's state stays in the processor's caches.
    #[test]
    fn entries_are_small() {
        assert_eq!((size_of::<AccountEntry>(), size_of::<SlotEntry>()), (112, 144));
    }
}
