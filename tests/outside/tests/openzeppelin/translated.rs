//! An engine that speaks of some accounts by other addresses: where the two sides give a contract that another creates different ones.

use std::{collections::HashMap, sync::Arc};

use alloy_primitives::{Address, B256, Bytes, Log, U256, keccak256};

use crate::{
    engine::{Call, Engine, Outcome},
    parties::Answer,
};

/// First slots of mappings whose keys are translated.
const MAPPINGS: u64 = 6;

/// Words, addresses among them, and slots of the reference and what the engine has in their places.
#[derive(Clone, Debug, Default)]
pub struct Dictionary {
    accounts: Vec<(Address, Address)>,
    to_ours: HashMap<B256, B256>,
    to_theirs: HashMap<B256, B256>,
    slots_to_ours: HashMap<U256, U256>,
    slots_to_theirs: HashMap<U256, U256>,
}

impl Dictionary {
    /// Pairs accounts of the reference with the engine's; `keys` are other accounts that mappings with two keys have.
    pub fn new(accounts: &[(Address, Address)], keys: &[Address]) -> Self {
        let mut dictionary = Self { accounts: accounts.to_vec(), ..Self::default() };
        for (theirs, ours) in accounts {
            dictionary.add_word(theirs.into_word(), ours.into_word());
        }
        let pairs = || accounts.iter().copied().chain(keys.iter().map(|key| (*key, *key)));
        for base in (0..MAPPINGS).map(U256::from) {
            for (theirs, ours) in pairs() {
                let (outer_theirs, outer_ours) = (mapping_slot(theirs, base), mapping_slot(ours, base));
                dictionary.add_slot(outer_theirs, outer_ours);
                for (theirs, ours) in pairs() {
                    dictionary.add_slot(mapping_slot(theirs, outer_theirs), mapping_slot(ours, outer_ours));
                }
            }
        }
        dictionary
    }

    /// Pairs a word of the reference with the engine's.
    pub fn add_word(&mut self, theirs: B256, ours: B256) {
        self.to_ours.insert(theirs, ours);
        self.to_theirs.insert(ours, theirs);
    }

    fn add_slot(&mut self, theirs: U256, ours: U256) {
        if theirs != ours {
            self.slots_to_ours.insert(theirs, ours);
            self.slots_to_theirs.insert(ours, theirs);
        }
    }

    fn account_to_ours(&self, account: Address) -> Address {
        self.accounts.iter().find(|(theirs, _)| *theirs == account).map_or(account, |(_, ours)| *ours)
    }

    fn account_to_theirs(&self, account: Address) -> Address {
        self.accounts.iter().find(|(_, ours)| *ours == account).map_or(account, |(theirs, _)| *theirs)
    }
}

fn mapping_slot(key: Address, base: U256) -> U256 {
    keccak256([key.into_word().0, base.to_be_bytes()].concat()).into()
}

/// Replaces the words of ABI-encoded data from byte `from` on.
fn translate(data: &[u8], from: usize, words: &HashMap<B256, B256>) -> Bytes {
    let mut data = data.to_vec();
    for word in data.iter_mut().skip(from).collect::<Vec<_>>().chunks_exact_mut(32) {
        let old: B256 = word.iter().map(|byte| **byte).collect::<Vec<_>>().as_slice().try_into().expect("32 bytes");
        if let Some(new) = words.get(&old) {
            word.iter_mut().zip(new.0).for_each(|(byte, new)| **byte = new);
        }
    }
    data.into()
}

/// The engine.
pub struct Translated<E> {
    pub engine: E,
    pub dictionary: Arc<Dictionary>,
    /// Returns the engine's word for one of the reference that came up while the test ran, such as a signature.
    pub signed: fn(B256) -> Option<B256>,
}

impl<E> Translated<E> {
    fn call_to_ours(&self, call: &Call) -> Call {
        let mut input = translate(&call.input, 4, &self.dictionary.to_ours).to_vec();
        let words = input.get(4..).unwrap_or_default().chunks_exact(32).map(B256::from_slice);
        let signed: HashMap<_, _> = words.filter_map(|word| Some((word, (self.signed)(word)?))).collect();
        if !signed.is_empty() {
            input = translate(&input, 4, &signed).to_vec();
        }
        let account = |account| self.dictionary.account_to_ours(account);
        Call { from: account(call.from), to: account(call.to), value: call.value, input: input.into() }
    }

    fn outcome_to_theirs(&self, outcome: Outcome) -> Outcome {
        let words = &self.dictionary.to_theirs;
        match outcome {
            Outcome::Success { output, logs } => {
                let logs = logs.into_iter().map(|log| self.log_to_theirs(&log)).collect();
                Outcome::Success { output: translate(&output, 0, words), logs }
            }
            Outcome::Revert { output } => Outcome::Revert { output: translate(&output, 4, words) },
            Outcome::Halt => Outcome::Halt,
        }
    }

    fn log_to_theirs(&self, log: &Log) -> Log {
        let words = &self.dictionary.to_theirs;
        let topics = log.topics().iter().map(|topic| *words.get(topic).unwrap_or(topic)).collect();
        let address = self.dictionary.account_to_theirs(log.address);
        Log::new_unchecked(address, topics, translate(&log.data.data, 0, words))
    }

    fn slot_to_ours(&self, slot: U256) -> U256 {
        self.dictionary.slots_to_ours.get(&slot).copied().unwrap_or(slot)
    }
}

impl<E: Engine> Engine for Translated<E> {
    fn create(&mut self, creator: Address, value: U256, init_code: &[u8]) -> Outcome {
        let outcome = self.engine.create(creator, value, init_code);
        self.outcome_to_theirs(outcome)
    }

    fn call(&mut self, call: &Call) -> Outcome {
        let call = self.call_to_ours(call);
        let outcome = self.engine.call(&call);
        self.outcome_to_theirs(outcome)
    }

    fn view(&mut self, call: &Call) -> Outcome {
        let call = self.call_to_ours(call);
        let outcome = self.engine.view(&call);
        self.outcome_to_theirs(outcome)
    }

    fn storage(&mut self, contract: Address, slot: U256) -> U256 {
        let (contract, slot) = (self.dictionary.account_to_ours(contract), self.slot_to_ours(slot));
        let word = self.engine.storage(contract, slot);
        self.dictionary.to_theirs.get(&B256::from(word)).map_or(word, |theirs| (*theirs).into())
    }

    fn touched(&self, contract: Address) -> Vec<U256> {
        let slots = self.engine.touched(self.dictionary.account_to_ours(contract));
        let theirs = |slot: U256| self.dictionary.slots_to_theirs.get(&slot).copied().unwrap_or(slot);
        slots.into_iter().map(theirs).collect()
    }

    fn balance(&mut self, account: Address) -> U256 {
        self.engine.balance(self.dictionary.account_to_ours(account))
    }

    fn set_balance(&mut self, account: Address, balance: U256) {
        self.engine.set_balance(self.dictionary.account_to_ours(account), balance);
    }

    fn advance(&mut self, blocks: u64, seconds: u64) {
        self.engine.advance(blocks, seconds);
    }

    fn receiver(&self, answer: Answer) -> Bytes {
        self.engine.receiver(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_replaced_where_arguments_are() {
        let (theirs, ours) = (Address::repeat_byte(1), Address::repeat_byte(2));
        let dictionary = Dictionary::new(&[(theirs, ours)], &[]);
        let data = |account: Address| [&[9; 4], account.into_word().as_slice(), &[7; 31]].concat();
        assert_eq!(translate(&data(theirs), 4, &dictionary.to_ours), data(ours));
        assert_eq!(translate(&data(ours), 4, &dictionary.to_theirs), data(theirs));
        assert_eq!(translate(&[1, 2], 4, &dictionary.to_ours), [1, 2][..]);
        let slot = |account| mapping_slot(account, U256::from(3));
        assert_eq!(dictionary.slots_to_ours[&slot(theirs)], slot(ours));
    }
}
