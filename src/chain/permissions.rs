//! What accounts may do, read from the permissions contract in a journal or a state.

use alloy_primitives::{Address, U256};

use crate::{
    state::{AccountId, Journal, SlotId, StateError, StateView},
    system::permissions::{AccountPermissions, PERMISSIONS_ADDRESS, PermissionLists, PermissionWord},
    vm::mapping_slot,
};

/// The contract's storage in one block's journal. A read costs one search, for the account's word: the lists are read through a handle,
/// which shows their present value, so that a change holds from the next transaction on. No read is an access (EIP-2929).
#[derive(Clone, Copy, Debug)]
pub(super) struct PermissionSlots {
    contract: AccountId,
    lists: SlotId,
}

impl PermissionSlots {
    /// Finds the contract in a journal.
    pub(super) fn open(journal: &mut Journal) -> Result<Self, StateError> {
        let contract = journal.load(&PERMISSIONS_ADDRESS)?;
        Ok(Self { contract, lists: journal.slot_id(contract, &PermissionWord::Lists.slot())? })
    }

    /// Returns what an account may do.
    pub(super) fn permissions_of(
        self,
        journal: &mut Journal,
        account: Address,
    ) -> Result<AccountPermissions, StateError> {
        let lists = PermissionLists::from_word(journal.value_of(self.lists));
        lists.permissions_of(account, |word| {
            let slot = match word {
                // Known to the journal where it was read before: the hash costs more than all the rest.
                PermissionWord::Entry(account) => {
                    let key = account.into_word().into();
                    journal.derived_slot(self.contract, key, PermissionWord::entries_base(), mapping_slot)
                }
                other => other.slot(),
            };
            let id = journal.slot_id(self.contract, &slot)?;
            Ok(journal.value_of(id))
        })
    }
}

/// Returns the lists that are on in a state.
pub(super) fn permission_lists(state: &dyn StateView) -> Result<PermissionLists, StateError> {
    read(state, PermissionWord::Lists).map(PermissionLists::from_word)
}

/// Returns what an account may do in a state, in which these lists are on.
pub(super) fn permissions_in(
    state: &dyn StateView,
    lists: PermissionLists,
    account: Address,
) -> Result<AccountPermissions, StateError> {
    lists.permissions_of(account, |word| read(state, word))
}

fn read(state: &dyn StateView, word: PermissionWord) -> Result<U256, StateError> {
    state.storage(&PERMISSIONS_ADDRESS, &word.slot())
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::{AtomicU64, Ordering};
    use std::{ops::ControlFlow, sync::Arc};

    use alloy_primitives::{B256, Bytes};

    use super::*;
    use crate::state::{Account, AccountProof, Commit, fixture::MapView};

    /// Counts the slots that are read of it.
    #[derive(Debug)]
    struct Counting(MapView, AtomicU64);

    impl StateView for Counting {
        fn commit(&self) -> Commit {
            self.0.commit()
        }
        fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
            self.0.account(address)
        }
        fn storage(&self, address: &Address, slot: &U256) -> Result<U256, StateError> {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.storage(address, slot)
        }
        fn code(&self, hash: &B256) -> Result<Bytes, StateError> {
            self.0.code(hash)
        }
        fn proof(&self, address: &Address, slots: &[B256]) -> Result<AccountProof, StateError> {
            self.0.proof(address, slots)
        }
        fn for_each_account(
            &self,
            visit: &mut dyn FnMut(Address, Account) -> ControlFlow<()>,
        ) -> Result<(), StateError> {
            self.0.for_each_account(visit)
        }
        fn for_each_slot(
            &self,
            address: &Address,
            visit: &mut dyn FnMut(U256, U256) -> ControlFlow<()>,
        ) -> Result<(), StateError> {
            self.0.for_each_slot(address, visit)
        }
    }

    /// A state in which both lists are on, with the even ones of some accounts listed.
    fn counting(accounts: &[Address]) -> Arc<Counting> {
        let owner = Address::repeat_byte(9).into_word().into();
        let mut view = MapView::default();
        let contract = Account { storage_root: B256::repeat_byte(1), ..Account::default() };
        view.accounts.insert(PERMISSIONS_ADDRESS, contract);
        let mut set = |word: PermissionWord, value| view.storage.insert((PERMISSIONS_ADDRESS, word.slot()), value);
        set(PermissionWord::Lists, U256::from(0x0101));
        set(PermissionWord::Administrator, owner);
        for account in accounts.iter().step_by(2) {
            set(PermissionWord::Entry(*account), U256::from(0x0101));
        }
        Arc::new(Counting(view, AtomicU64::new(0)))
    }

    #[test]
    fn a_check_reads_one_word_and_the_lists_once() {
        let accounts: Vec<Address> = (1..=20).map(Address::with_last_byte).collect();
        let view = counting(&accounts);
        let mut journal = Journal::new(view.clone());
        let slots = PermissionSlots::open(&mut journal).unwrap();
        let listed: Vec<Address> = accounts.iter().copied().step_by(2).collect();
        for _ in 0..50 {
            journal.begin_transaction();
            for account in &listed {
                assert_eq!(slots.permissions_of(&mut journal, *account).unwrap(), AccountPermissions::ALL);
            }
            assert!(journal.accessed().is_empty(), "nothing is warm for it");
        }
        let reads = view.1.load(Ordering::Relaxed);
        assert_eq!(reads, 1 + listed.len() as u64, "the lists, and each account's word once");
        // Who is not listed costs a look at the administrator.
        let refused = slots.permissions_of(&mut journal, accounts[1]).unwrap();
        assert_eq!(refused, AccountPermissions { may_send: false, may_deploy: false });
        assert_eq!(view.1.load(Ordering::Relaxed), reads + 2);
        let administrator = slots.permissions_of(&mut journal, Address::repeat_byte(9)).unwrap();
        assert_eq!(administrator, AccountPermissions { may_send: true, may_deploy: false });
    }

    #[test]
    fn a_change_in_the_journal_is_seen_and_undone() {
        let account = Address::with_last_byte(1);
        let mut journal = Journal::new(counting(&[]));
        let slots = PermissionSlots::open(&mut journal).unwrap();
        let may_send = |journal: &mut Journal| slots.permissions_of(journal, account).unwrap().may_send;
        assert!(!may_send(&mut journal));
        let checkpoint = journal.checkpoint();
        journal.set_storage(&PERMISSIONS_ADDRESS, &PermissionWord::Lists.slot(), U256::ZERO).unwrap();
        assert!(may_send(&mut journal), "the list is off");
        journal.revert_to(checkpoint);
        assert!(!may_send(&mut journal));
        journal.set_storage(&PERMISSIONS_ADDRESS, &PermissionWord::Entry(account).slot(), U256::ONE).unwrap();
        assert!(may_send(&mut journal));
    }
}
