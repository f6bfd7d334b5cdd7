//! The journal against a model that clones everything at each checkpoint.

use alloy_primitives::{B256, Bytes, address, b256};
use proptest::{collection::vec, prelude::*};

use super::{fixture::MapView, *};
use crate::state::Account;

const ALICE: Address = address!("00000000000000000000000000000000000000a1");
const BOB: Address = address!("00000000000000000000000000000000000000b0");

fn journal() -> Journal {
    let mut view = MapView::clone(&MapView::with_balances(&[ALICE], U256::from(100)));
    view.accounts.insert(BOB, Account { nonce: 1, storage_root: B256::repeat_byte(1), ..Account::default() });
    view.storage.insert((BOB, U256::from(1)), U256::from(11));
    Journal::new(Arc::new(view))
}

#[test]
fn a_transfer_moves_value_and_refuses_more_than_the_balance() {
    let mut journal = journal();
    assert!(journal.transfer(&ALICE, &BOB, U256::from(30)).unwrap());
    assert!(!journal.transfer(&ALICE, &BOB, U256::from(71)).unwrap());
    assert!(journal.transfer(&ALICE, &ALICE, U256::from(70)).unwrap());
    assert_eq!(journal.balance(&ALICE).unwrap(), U256::from(70));
    assert_eq!(journal.balance(&BOB).unwrap(), U256::from(30));
    journal.set_balance(&BOB, U256::MAX).unwrap();
    assert!(!journal.transfer(&ALICE, &BOB, U256::from(1)).unwrap(), "the recipient cannot hold it");
}

#[test]
fn an_access_is_cold_once_and_cold_again_when_undone() {
    let mut journal = journal();
    let slot = U256::from(1);
    let checkpoint = journal.checkpoint();
    assert_eq!(journal.access_account(&BOB).unwrap(), Access::Cold);
    assert_eq!(journal.access_account(&BOB).unwrap(), Access::Warm);
    assert_eq!(journal.access_slot(&BOB, &slot).unwrap(), Access::Cold);
    assert_eq!(journal.access_slot(&BOB, &slot).unwrap(), Access::Warm);
    journal.revert_to(checkpoint);
    assert_eq!(journal.access_account(&BOB).unwrap(), Access::Cold);
    assert_eq!(journal.access_slot(&BOB, &slot).unwrap(), Access::Cold);
    journal.begin_transaction();
    assert_eq!(journal.access_account(&BOB).unwrap(), Access::Cold);
    assert_eq!(journal.access_slot(&BOB, &slot).unwrap(), Access::Cold);
}

#[test]
fn accesses_are_listed_unless_undone() {
    let mut journal = journal();
    let slot = U256::from(1);
    journal.access_account(&BOB).unwrap();
    let checkpoint = journal.checkpoint();
    journal.access_account(&ALICE).unwrap();
    journal.revert_to(checkpoint);
    journal.access_slot(&BOB, &slot).unwrap();
    assert_eq!(journal.accessed(), [(BOB, None), (BOB, Some(slot))]);
    journal.begin_transaction();
    assert!(journal.accessed().is_empty());
}

#[test]
fn original_values_are_those_at_the_transactions_start() {
    let mut journal = journal();
    let slot = U256::from(1);
    journal.set_storage(&BOB, &slot, U256::from(12)).unwrap();
    assert_eq!(journal.original_storage(&BOB, &slot).unwrap(), U256::from(11));
    journal.begin_transaction();
    journal.set_storage(&BOB, &slot, U256::from(13)).unwrap();
    assert_eq!(journal.original_storage(&BOB, &slot).unwrap(), U256::from(12));
}

#[test]
fn a_contract_is_not_created_over_a_nonce_code_or_storage() {
    let mut journal = journal();
    assert!(!journal.create_account(&BOB).unwrap());
    assert!(journal.create_account(&ALICE).unwrap(), "a balance alone does not collide (EIP-684)");
    assert_eq!(journal.nonce(&ALICE).unwrap(), 1);
    assert!(!journal.create_account(&ALICE).unwrap());
}

#[test]
fn the_nonce_stops_at_its_bound() {
    let mut journal = journal();
    journal.set_nonce(&ALICE, u64::MAX - 1).unwrap();
    assert_eq!(journal.increment_nonce(&ALICE).unwrap(), Some(u64::MAX - 1));
    assert_eq!(journal.increment_nonce(&ALICE).unwrap(), None);
}

#[test]
fn changes_are_the_differences_and_are_taken_once() {
    let mut journal = journal();
    journal.transfer(&ALICE, &BOB, U256::from(100)).unwrap();
    journal.set_storage(&BOB, &U256::from(1), U256::ZERO).unwrap();
    journal.set_storage(&BOB, &U256::from(2), U256::from(5)).unwrap();
    journal.set_code(&BOB, Bytes::from_static(&[0xef, 0xcb])).unwrap();
    let untouched = address!("00000000000000000000000000000000000000cc");
    journal.transfer(&BOB, &untouched, U256::ZERO).unwrap();
    let changes = journal.take_changes();
    assert_eq!(changes.accounts.len(), 2);
    assert_eq!(changes.accounts[&ALICE].info, None, "an emptied account is removed (EIP-161)");
    let bob = &changes.accounts[&BOB];
    assert_eq!(bob.info.unwrap().balance, U256::from(100));
    assert_eq!(bob.storage, [(U256::from(1), U256::ZERO), (U256::from(2), U256::from(5))].into_iter().collect());
    assert_eq!(changes.codes[&bob.info.unwrap().code_hash].as_ref(), [0xef, 0xcb]);
    assert!(journal.take_changes().is_empty());
    journal.transfer(&BOB, &ALICE, U256::from(1)).unwrap();
    assert_eq!(journal.take_changes().accounts.len(), 2);
}

#[test]
fn a_derived_slot_is_derived_until_it_is_loaded() {
    let mut journal = journal();
    let bob = journal.load(&BOB).unwrap();
    let (key, base, slot) = (U256::from(5), U256::from(6), U256::from(1));
    let derivations = core::cell::Cell::new(0);
    let derive = |journal: &mut Journal, key, base| {
        journal.derived_slot(bob, key, base, |_, _| {
            derivations.set(derivations.get() + 1);
            slot
        })
    };
    derive(&mut journal, key, base);
    derive(&mut journal, key, base);
    assert_eq!(journal.sload(bob, &slot).unwrap().0, U256::from(11));
    assert_eq!(derive(&mut journal, key, base), slot, "found now");
    derive(&mut journal, base, key);
    assert_eq!(derivations.get(), 3);
    assert_eq!(journal.sload(bob, &U256::from(2)).unwrap().0, U256::ZERO, "another slot than the one derived last");
    assert_eq!(derive(&mut journal, base, key), slot);
}

#[test]
fn empty_code_has_the_empty_hash() {
    let mut journal = journal();
    journal.set_code(&ALICE, Bytes::from_static(&[1])).unwrap();
    journal.set_code(&ALICE, Bytes::new()).unwrap();
    let empty = b256!("c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470");
    assert_eq!(journal.code_hash(&ALICE).unwrap(), empty);
}

/// One step of a random history.
#[derive(Clone, Debug)]
enum Step {
    SetBalance(u8, u8),
    Transfer(u8, u8, u8),
    IncrementNonce(u8),
    SetCode(u8, u8),
    SetSlot(u8, u8, u8),
    Create(u8),
    Touch(u8, u8),
    Log(u8),
    Refund(i8),
    Checkpoint,
    Revert,
    Commit,
    Transaction,
    /// Take the changes, apply them, advance to the result.
    Block,
}

fn step() -> impl Strategy<Value = Step> {
    let account = 0_u8..5;
    let slot = 0_u8..4;
    prop_oneof![
        (account.clone(), 0_u8..4).prop_map(|(a, b)| Step::SetBalance(a, b)),
        (account.clone(), account.clone(), 0_u8..4).prop_map(|(a, b, c)| Step::Transfer(a, b, c)),
        account.clone().prop_map(Step::IncrementNonce),
        (account.clone(), 0_u8..3).prop_map(|(a, b)| Step::SetCode(a, b)),
        (account.clone(), slot.clone(), 0_u8..3).prop_map(|(a, b, c)| Step::SetSlot(a, b, c)),
        account.clone().prop_map(Step::Create),
        (account, slot).prop_map(|(a, b)| Step::Touch(a, b)),
        any::<u8>().prop_map(Step::Log),
        any::<i8>().prop_map(Step::Refund),
        Just(Step::Checkpoint),
        Just(Step::Checkpoint),
        Just(Step::Revert),
        Just(Step::Commit),
        Just(Step::Transaction),
        Just(Step::Block),
    ]
}

/// Everything in one value, cloned at each checkpoint.
#[derive(Clone, Debug, Default)]
struct Model {
    accounts: BTreeMap<Address, (u64, U256, Bytes)>,
    slots: BTreeMap<(Address, U256), U256>,
    original: BTreeMap<(Address, U256), U256>,
    warm: BTreeMap<(Address, Option<U256>), ()>,
    logs: Vec<Log>,
    refund: i64,
}

fn who(n: u8) -> Address {
    Address::repeat_byte(n + 1)
}

fn code(n: u8) -> Bytes {
    vec![n; usize::from(n)].into()
}

impl Model {
    fn account(&mut self, n: u8) -> &mut (u64, U256, Bytes) {
        self.accounts.entry(who(n)).or_default()
    }

    fn begin_transaction(&mut self) {
        self.original = self.slots.clone();
        self.warm.clear();
        self.logs.clear();
        self.refund = 0;
    }
}

fn holds_slots(slots: &BTreeMap<(Address, U256), U256>, n: u8) -> bool {
    slots.iter().any(|((owner, _), value)| *owner == who(n) && !value.is_zero())
}

/// The changes of one block's steps by a journal that has read nothing yet.
fn replay(view: &MapView, steps: &[Step]) -> StateChanges {
    let mut journal = Journal::new(Arc::new(view.clone()));
    let mut stack = Vec::new();
    for step in steps {
        match *step {
            Step::SetBalance(n, amount) => journal.set_balance(&who(n), U256::from(amount)).unwrap(),
            Step::Transfer(a, b, n) => drop(journal.transfer(&who(a), &who(b), U256::from(n)).unwrap()),
            Step::IncrementNonce(n) => drop(journal.increment_nonce(&who(n)).unwrap()),
            Step::SetCode(n, c) => journal.set_code(&who(n), code(c)).unwrap(),
            Step::SetSlot(n, slot, value) => {
                journal.set_storage(&who(n), &U256::from(slot), U256::from(value)).unwrap()
            }
            Step::Create(n) => drop(journal.create_account(&who(n)).unwrap()),
            Step::Touch(..) | Step::Log(_) | Step::Refund(_) | Step::Block => {}
            Step::Checkpoint => stack.push(journal.checkpoint()),
            Step::Revert => drop(stack.pop().map(|checkpoint| journal.revert_to(checkpoint))),
            Step::Commit => drop(stack.pop()),
            Step::Transaction => {
                stack.clear();
                journal.begin_transaction();
            }
        }
    }
    journal.take_changes()
}

fn check(journal: &mut Journal, model: &mut Model) {
    for n in 0..5 {
        let (nonce, balance, code) = model.account(n).clone();
        assert_eq!(journal.nonce(&who(n)).unwrap(), nonce);
        assert_eq!(journal.balance(&who(n)).unwrap(), balance);
        assert_eq!(journal.code(&who(n)).unwrap(), code);
        for slot in (0..4).map(U256::from) {
            let value = |map: &BTreeMap<_, _>| map.get(&(who(n), slot)).copied().unwrap_or_default();
            assert_eq!(journal.storage(&who(n), &slot).unwrap(), value(&model.slots));
            assert_eq!(journal.original_storage(&who(n), &slot).unwrap(), value(&model.original));
        }
    }
    assert_eq!(journal.logs(), model.logs);
    assert_eq!(journal.refund().get(), u64::try_from(model.refund).unwrap_or(0));
}

proptest! {
    #[test]
    fn agrees_with_a_model_that_clones_everything(steps in vec(step(), 1..60)) {
        let mut view = MapView::default();
        let mut journal = Journal::new(Arc::new(view.clone()));
        let mut model = Model::default();
        let mut stack: Vec<(Checkpoint, Model)> = Vec::new();
        // The storage at the last block's end: what a collision is judged by, beside nonce and code.
        let mut committed = BTreeMap::new();
        let mut block = Vec::new();
        for step in steps {
            block.push(step.clone());
            match step {
                Step::SetBalance(n, amount) => {
                    journal.set_balance(&who(n), U256::from(amount)).unwrap();
                    model.account(n).1 = U256::from(amount);
                }
                Step::Transfer(from, to, amount) => {
                    let amount = U256::from(amount);
                    let moved = model.account(from).1 >= amount;
                    if moved {
                        model.account(from).1 -= amount;
                        model.account(to).1 += amount;
                    }
                    prop_assert_eq!(journal.transfer(&who(from), &who(to), amount).unwrap(), moved);
                }
                Step::IncrementNonce(n) => {
                    prop_assert_eq!(journal.increment_nonce(&who(n)).unwrap(), Some(model.account(n).0));
                    model.account(n).0 += 1;
                }
                Step::SetCode(n, c) => {
                    journal.set_code(&who(n), code(c)).unwrap();
                    model.account(n).2 = code(c);
                }
                Step::SetSlot(n, slot, value) => {
                    let (slot, value) = (U256::from(slot), U256::from(value));
                    journal.set_storage(&who(n), &slot, value).unwrap();
                    model.slots.insert((who(n), slot), value);
                }
                Step::Create(n) => {
                    let (nonce, _, code) = model.account(n).clone();
                    let is_free = nonce == 0 && code.is_empty() && !holds_slots(&committed, n);
                    prop_assert_eq!(journal.create_account(&who(n)).unwrap(), is_free);
                    if is_free {
                        model.account(n).0 = 1;
                    }
                }
                Step::Touch(n, slot) => {
                    let slot = U256::from(slot);
                    let account = model.warm.insert((who(n), None), ()).is_none();
                    prop_assert_eq!(journal.access_account(&who(n)).unwrap().is_cold(), account);
                    let cold = model.warm.insert((who(n), Some(slot)), ()).is_none();
                    prop_assert_eq!(journal.access_slot(&who(n), &slot).unwrap().is_cold(), cold);
                }
                Step::Log(n) => {
                    let log = Log::new_unchecked(who(n % 5), vec![], vec![n].into());
                    journal.log(log.clone());
                    model.logs.push(log);
                }
                Step::Refund(gas) => {
                    journal.add_refund(gas.into());
                    model.refund += i64::from(gas);
                }
                Step::Checkpoint => stack.push((journal.checkpoint(), model.clone())),
                Step::Revert => if let Some((checkpoint, earlier)) = stack.pop() {
                    journal.revert_to(checkpoint);
                    model = earlier;
                },
                Step::Commit => if let Some((checkpoint, _)) = stack.pop() {
                    journal.commit(checkpoint);
                },
                Step::Transaction => {
                    stack.clear();
                    journal.begin_transaction();
                    model.begin_transaction();
                }
                Step::Block => {
                    stack.clear();
                    let changes = journal.take_changes();
                    prop_assert_eq!(&changes, &replay(&view, &block), "a carried journal against a new one");
                    block.clear();
                    view = view.apply(&changes);
                    journal.advance_to(Arc::new(view.clone())).unwrap();
                    model.begin_transaction();
                    committed = model.slots.clone();
                }
            }
            check(&mut journal, &mut model);
            let mut fresh = Journal::new(Arc::new(view.apply(&journal.clone().take_changes())));
            for n in 0..5 {
                prop_assert_eq!(fresh.account(&who(n)).unwrap(), journal.account(&who(n)).unwrap());
            }
        }
    }
}
