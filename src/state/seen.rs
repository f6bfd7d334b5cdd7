//! Which accounts and slots a store has ever had, so that reading a new one costs no hash and no walk through a trie.

use std::{
    collections::HashSet,
    sync::{PoisonError, RwLock},
};

use alloy_primitives::{Address, U256};
use foldhash::fast::RandomState;

use super::StateChanges;

/// Fingerprints that are kept at most, in some 40 MiB. Beyond that, everything may be there.
const SEEN_MAX: usize = 1 << 22;

/// Fingerprints of accounts and slots that some version has, or had. Two may have the same, so that a fingerprint that is there proves
/// nothing; one that is not proves that no version has it.
#[derive(Debug)]
pub(crate) struct Seen {
    fingerprints: RwLock<Fingerprints>,
    max: usize,
}

/// `None` once there were too many.
type Fingerprints = Option<HashSet<u32, RandomState>>;

impl Default for Seen {
    fn default() -> Self {
        Self::with_max(SEEN_MAX)
    }
}

impl Seen {
    fn with_max(max: usize) -> Self {
        Self { fingerprints: RwLock::new(Some(HashSet::default())), max }
    }

    /// Adds what a version has after these changes.
    pub(crate) fn add(&self, changes: &StateChanges) {
        let mut held = self.fingerprints.write().unwrap_or_else(PoisonError::into_inner);
        let Some(seen) = held.as_mut() else { return };
        for (address, change) in changes.accounts.iter().filter(|(_, change)| change.info.is_some()) {
            seen.insert(of_account(address));
            let slots = change.storage.iter().filter(|(_, value)| !value.is_zero());
            seen.extend(slots.map(|(slot, _)| of_slot(address, slot)));
        }
        if seen.len() > self.max {
            *held = None;
        }
    }

    /// Returns whether a version may have this account.
    pub(crate) fn may_have_account(&self, address: &Address) -> bool {
        self.may_have(of_account(address))
    }

    /// Returns whether a version may have this slot.
    pub(crate) fn may_have_slot(&self, address: &Address, slot: &U256) -> bool {
        self.may_have(of_slot(address, slot))
    }

    fn may_have(&self, fingerprint: u32) -> bool {
        let held = self.fingerprints.read().unwrap_or_else(PoisonError::into_inner);
        held.as_ref().is_none_or(|seen| seen.contains(&fingerprint))
    }
}

fn of_account(address: &Address) -> u32 {
    of_slot(address, &U256::MAX)
}

fn of_slot(address: &Address, slot: &U256) -> u32 {
    let (head, tail) = address.0.0.split_at(12);
    let number = |bytes: &[u8]| bytes.iter().rev().take(8).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    let words = [number(head), number(tail)].into_iter().chain(*slot.as_limbs());
    let mixed = words.fold(0_u64, |mixed, word| (mixed.rotate_left(29) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    (mixed >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::{AccountChange, AccountInfo, EMPTY_CODE_HASH, SortedMap};

    fn change(slots: &[(u64, u64)]) -> AccountChange {
        let info = AccountInfo { nonce: 1, balance: U256::ZERO, code_hash: EMPTY_CODE_HASH };
        let slots = slots.iter().map(|(slot, value)| (U256::from(*slot), U256::from(*value))).collect();
        AccountChange { info: Some(info), clear_storage: false, storage: SortedMap::from_sorted(slots) }
    }

    fn changes(accounts: Vec<(Address, AccountChange)>) -> StateChanges {
        StateChanges { accounts: SortedMap::from_sorted(accounts), codes: Default::default() }
    }

    #[test]
    fn what_was_there_may_be_and_what_never_was_is_not() {
        let (alice, bob) = (Address::repeat_byte(0xaa), Address::repeat_byte(0xbb));
        let seen = Seen::default();
        assert!(!seen.may_have_account(&alice) && !seen.may_have_slot(&alice, &U256::ZERO));
        seen.add(&changes(vec![(alice, change(&[(1, 5), (2, 0)])), (bob, AccountChange::default())]));
        assert!(seen.may_have_account(&alice) && seen.may_have_slot(&alice, &U256::from(1)));
        assert!(!seen.may_have_slot(&alice, &U256::from(2)), "a slot that was removed");
        assert!(!seen.may_have_account(&bob), "an account that was removed");
        assert!(!seen.may_have_slot(&bob, &U256::from(1)));
    }

    #[test]
    fn beyond_the_bound_everything_may_be_there() {
        let seen = Seen::with_max(3);
        let account = |n: u8| (Address::repeat_byte(n), change(&[]));
        seen.add(&changes((1..=3).map(account).collect()));
        assert!(!seen.may_have_account(&Address::repeat_byte(9)));
        seen.add(&changes(vec![account(4)]));
        assert!(seen.may_have_account(&Address::repeat_byte(9)));
        seen.add(&changes(vec![account(5)]));
    }
}
