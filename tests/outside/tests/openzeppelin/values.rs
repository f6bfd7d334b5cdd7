//! Strategies of the values that operations carry: small ones that often fit, and the edges.

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use proptest::{prelude::*, sample::select};

use crate::parties::{ADMIN, Answer, MINTER, PERSONS, contract, person, receiver};

/// Returns the strategy of amounts: mostly up to 150, so that balances suffice about as often as not.
pub fn amount() -> impl Strategy<Value = U256> {
    prop_oneof![
        24 => (0u64..150).prop_map(U256::from),
        1 => Just(U256::ZERO),
        1 => edge(),
        1 => any::<[u64; 4]>().prop_map(U256::from_limbs),
    ]
}

/// Returns the strategy of whose tokens somebody else moves, and how many; at times nobody's nothing, which is refused in its own way.
pub fn from_and_amount() -> impl Strategy<Value = (Address, U256)> {
    prop_oneof![20 => (account(), amount()), 1 => Just((Address::ZERO, U256::ZERO))]
}

/// Returns the strategy of what a spender is allowed.
pub fn allowance() -> impl Strategy<Value = U256> {
    prop_oneof![Just(U256::MAX), amount()]
}

/// Returns the strategy of the values beside the bounds of Solidity's types.
pub fn edge() -> impl Strategy<Value = U256> {
    let past = |bits: usize| U256::ONE << bits;
    select(vec![U256::MAX, U256::MAX - U256::ONE, past(208) - U256::ONE, past(208), past(128), past(96), past(255)])
}

/// Returns the strategy of ids of tokens: mostly one of eight.
pub fn id() -> impl Strategy<Value = U256> {
    prop_oneof![20 => (0u64..8).prop_map(U256::from), 1 => edge()]
}

/// Returns the strategy of persons' addresses.
pub fn a_person() -> impl Strategy<Value = Address> {
    (0..PERSONS).prop_map(person)
}

/// Returns the strategy of accounts that an operation names: persons, receivers, at times the contract under test or nobody.
pub fn account() -> impl Strategy<Value = Address> {
    prop_oneof![
        14 => a_person(),
        3 => a_receiver(),
        1 => (0usize..2).prop_map(contract),
        1 => Just(Address::ZERO),
    ]
}

/// Returns the strategy of receivers: half of them accept.
pub fn a_receiver() -> impl Strategy<Value = Address> {
    prop_oneof![Just(Answer::Accept), select(&Answer::ALL[..])].prop_map(receiver)
}

/// Returns the strategy of senders: persons, at times a receiver, which acts with what it was sent.
pub fn sender() -> impl Strategy<Value = Address> {
    prop_oneof![15 => a_person(), 1 => a_receiver()]
}

/// Returns the strategy of senders of what only `entitled` may do.
pub fn mostly(entitled: usize) -> impl Strategy<Value = Address> {
    prop_oneof![4 => Just(person(entitled)), 1 => a_person()]
}

/// Returns the strategy of senders of what only a minter or pauser may do.
pub fn mostly_minter() -> impl Strategy<Value = Address> {
    mostly(MINTER)
}

/// Returns the strategy of senders of what only the administrator may do.
pub fn mostly_admin() -> impl Strategy<Value = Address> {
    mostly(ADMIN)
}

/// Returns a role as OpenZeppelin has it: its name's hash.
pub fn role(name: &str) -> B256 {
    keccak256(name)
}

/// Returns the roles of the wizard's tokens, and one that nobody has.
pub fn roles() -> Vec<B256> {
    vec![B256::ZERO, role("MINTER_ROLE"), role("PAUSER_ROLE"), role("URI_SETTER_ROLE"), B256::repeat_byte(7)]
}

pub fn a_role() -> impl Strategy<Value = B256> {
    select(roles())
}

/// Returns the strategy of strings of every form in which Solidity stores them. OpenZeppelin 5.7.0 refuses those above 31 bytes as names
/// of signatures' domains.
pub fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => short_text(),
        1 => Just("A name of exactly thirty-two by.".to_owned()),
        1 => Just("A name whose bytes don't fit into one word of storage, nor into the next".to_owned()),
    ]
}

/// Returns the strategy of a string argument's bytes: Solidity takes those too that are not UTF-8.
pub fn text_bytes() -> impl Strategy<Value = Bytes> {
    let bytes = select(vec![vec![0x61, 0xff, 0xfe], vec![0xc3; 31], vec![0x80; 32], vec![0xff; 70]]);
    prop_oneof![6 => text().prop_map(String::into_bytes), 2 => bytes].prop_map(Bytes::from)
}

/// Returns the strategy of strings of up to 31 bytes.
pub fn short_text() -> impl Strategy<Value = String> {
    select(vec!["Gold", "", "A name of exactly thirty-one by"]).prop_map(str::to_owned)
}

/// Returns the strategy of the data that a transfer carries.
pub fn data() -> impl Strategy<Value = Bytes> {
    prop_oneof![
        3 => Just(Bytes::new()),
        1 => proptest::collection::vec(any::<u8>(), 1..80).prop_map(Bytes::from),
    ]
}

/// Returns all accounts that tests name, for keys of mappings.
pub fn accounts() -> Vec<Address> {
    let persons = (0..PERSONS).map(person);
    let receivers = Answer::ALL.into_iter().map(receiver);
    persons.chain(receivers).chain([contract(0), contract(1), Address::ZERO]).collect()
}

/// Returns ids, indices and amounts, with the moments of the first blocks, for keys of mappings and arguments of view functions.
pub fn numbers(moments: impl IntoIterator<Item = u64>) -> Vec<U256> {
    let small = (0u64..9).chain(moments).map(U256::from);
    small
        .chain([U256::from(250), U256::MAX, U256::ONE << 208, U256::ONE << 128, U256::ONE << 96, U256::ONE << 255])
        .collect()
}
