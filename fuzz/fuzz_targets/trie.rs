//! Versions of the state against a plain map: contents, proofs, and a root that does not depend on the way there.
#![no_main]

use std::collections::BTreeMap;

use alloy_primitives::{Address, B256, U256};
use arbitrary::Arbitrary;
use chainbox::{
    state::{
        AccountChange, AccountInfo, CommitId, EMPTY_CODE_HASH, MemoryState, StateChanges, StateStore, verify_proof,
    },
    store::Batch,
};
use libfuzzer_sys::fuzz_target;

const COMMITS_MAX: usize = 12;
const CHANGES_MAX: usize = 24;

/// One account set or removed; few addresses and slots, so that they meet.
#[derive(Arbitrary, Debug)]
struct Change {
    who: u8,
    balance: Option<u16>,
    clear_storage: bool,
    slots: Vec<(u8, u8)>,
}

type Model = BTreeMap<Address, (U256, BTreeMap<U256, U256>)>;

fuzz_target!(|commits: Vec<Vec<Change>>| {
    let store = MemoryState::new();
    let mut model = Model::new();
    let mut version = CommitId::EMPTY;
    for changes in commits.iter().take(COMMITS_MAX) {
        let mut batch = StateChanges::default();
        for change in changes.iter().take(CHANGES_MAX) {
            let (address, merged) = merge(&mut model, change);
            batch.accounts.insert(address, merged);
        }
        let commit = store.commit(version, &batch, &mut Batch::new()).expect("memory holds it");
        let direct = MemoryState::new();
        let at_once = direct.commit(CommitId::EMPTY, &whole(&model), &mut Batch::new()).expect("memory holds it");
        assert_eq!(commit.root, at_once.root, "the way there shows in the root");
        check(&store, commit.id, commit.root, &model);
        version = commit.id;
    }
});

/// Applies a change to the model and answers it as the model has it: the whole account, replacing all earlier storage.
fn merge(model: &mut Model, change: &Change) -> (Address, AccountChange) {
    let address = Address::repeat_byte(change.who % 32);
    let Some(balance) = change.balance else {
        model.remove(&address);
        return (address, AccountChange { info: None, ..AccountChange::default() });
    };
    let (held, slots) = model.entry(address).or_default();
    *held = U256::from(balance) + U256::from(1);
    if change.clear_storage {
        slots.clear();
    }
    for (slot, value) in &change.slots {
        let (slot, value) = (U256::from(slot % 64), U256::from(*value));
        if value.is_zero() {
            slots.remove(&slot)
        } else {
            slots.insert(slot, value)
        };
    }
    (address, account(*held, slots))
}

fn account(balance: U256, slots: &BTreeMap<U256, U256>) -> AccountChange {
    let info = AccountInfo { nonce: 0, balance, code_hash: EMPTY_CODE_HASH };
    let storage = slots.iter().map(|(slot, value)| (*slot, *value)).collect();
    AccountChange { info: Some(info), clear_storage: true, storage }
}

fn whole(model: &Model) -> StateChanges {
    let accounts = model.iter().map(|(address, (balance, slots))| (*address, account(*balance, slots))).collect();
    StateChanges { accounts, ..StateChanges::default() }
}

fn check(store: &MemoryState, version: CommitId, root: B256, model: &Model) {
    let view = store.view(version).expect("just made");
    for who in 0..32 {
        let address = Address::repeat_byte(who);
        let held = model.get(&address);
        let account = view.account(&address).expect("readable");
        assert_eq!(account.map(|account| account.balance), held.map(|(balance, _)| *balance));
        let slots: Vec<B256> = (0..4_u64).map(|slot| B256::from(U256::from(slot))).collect();
        let proof = view.proof(&address, &slots).expect("readable");
        verify_proof(root, &proof).expect("its own proof");
        for (slot, proven) in slots.iter().zip(&proof.storage) {
            let slot = U256::from_be_bytes(slot.0);
            let expected = held.and_then(|(_, slots)| slots.get(&slot)).copied().unwrap_or_default();
            assert_eq!((view.storage(&address, &slot).expect("readable"), proven.value), (expected, expected));
        }
    }
}
