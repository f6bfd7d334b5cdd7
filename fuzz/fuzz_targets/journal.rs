//! The journal against a model that clones everything at each checkpoint.
#![no_main]

use std::collections::BTreeMap;

use alloy_primitives::{Address, U256};
use arbitrary::Arbitrary;
use chainbox::state::Journal;
use chainbox_fuzz::{FUNDS, Who, funded_state};
use libfuzzer_sys::fuzz_target;

const OPERATIONS_MAX: usize = 200;

#[derive(Arbitrary, Debug)]
enum Operation {
    Transfer { from: Who, to: Who, amount: u32 },
    SetBalance { who: Who, balance: u32 },
    IncrementNonce { who: Who },
    SetStorage { who: Who, slot: u8, value: u8 },
    Checkpoint,
    Commit,
    Revert,
    NextTransaction,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Model {
    balances: BTreeMap<Address, U256>,
    nonces: BTreeMap<Address, u64>,
    slots: BTreeMap<(Address, U256), U256>,
}

fuzz_target!(|operations: Vec<Operation>| {
    let mut journal = Journal::new(funded_state());
    let mut model = Model::default();
    for who in Who::ALL {
        model.balances.insert(who.address(), U256::from(FUNDS));
        model.nonces.insert(who.address(), 0);
        model.slots.insert((who.address(), U256::from(1)), U256::from(7));
    }
    let mut open = Vec::new();
    for operation in operations.into_iter().take(OPERATIONS_MAX) {
        match operation {
            Operation::Transfer { from, to, amount } => {
                let (from, to, amount) = (from.address(), to.address(), U256::from(amount));
                let done = journal.transfer(&from, &to, amount).expect("readable");
                assert_eq!(done, model.balances[&from] >= amount);
                if done {
                    *model.balances.get_mut(&from).expect("known") -= amount;
                    *model.balances.get_mut(&to).expect("known") += amount;
                }
            }
            Operation::SetBalance { who, balance } => {
                journal.set_balance(&who.address(), U256::from(balance)).expect("readable");
                model.balances.insert(who.address(), U256::from(balance));
            }
            Operation::IncrementNonce { who } => {
                journal.increment_nonce(&who.address()).expect("readable");
                *model.nonces.get_mut(&who.address()).expect("known") += 1;
            }
            Operation::SetStorage { who, slot, value } => {
                journal.set_storage(&who.address(), &U256::from(slot), U256::from(value)).expect("readable");
                model.slots.insert((who.address(), U256::from(slot)), U256::from(value));
            }
            Operation::Checkpoint => open.push((journal.checkpoint(), model.clone())),
            Operation::Commit => {
                if let Some((checkpoint, _)) = open.pop() {
                    journal.commit(checkpoint);
                }
            }
            Operation::Revert => {
                if let Some((checkpoint, earlier)) = open.pop() {
                    journal.revert_to(checkpoint);
                    model = earlier;
                }
            }
            Operation::NextTransaction => {
                journal.begin_transaction();
                open.clear();
            }
        }
    }
    for who in Who::ALL {
        let address = who.address();
        assert_eq!(journal.balance(&address).expect("readable"), model.balances[&address]);
        assert_eq!(journal.nonce(&address).expect("readable"), model.nonces[&address]);
    }
    for ((address, slot), value) in &model.slots {
        assert_eq!(journal.storage(address, slot).expect("readable"), *value);
    }
});
