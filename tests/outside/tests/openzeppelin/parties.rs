//! Who takes part in every test: four persons with keys, contracts that receive, and the contracts under test.

use core::array;
use std::sync::OnceLock;

use alloy_primitives::{Address, B256};
use alloy_signer_local::PrivateKeySigner;

/// Number of persons.
pub const PERSONS: usize = 4;
/// Most contracts of a suite.
pub const CONTRACTS_MAX: usize = 8;
/// The person whom constructors make owner or administrator.
pub const ADMIN: usize = 0;
/// The person with the roles MINTER_ROLE and PAUSER_ROLE.
pub const MINTER: usize = 1;

/// What a receiver does when it is sent or lent something; the order is that of `Answer` in `Receiver.sol`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Accept,
    RevertWithReason,
    RevertWithError,
    RevertEmpty,
    Panic,
    WrongValue,
    NoValue,
    SendBack,
}

impl Answer {
    pub const ALL: [Self; 8] = [
        Self::Accept,
        Self::RevertWithReason,
        Self::RevertWithError,
        Self::RevertEmpty,
        Self::Panic,
        Self::WrongValue,
        Self::NoValue,
        Self::SendBack,
    ];
}

/// Returns the key of person `index`.
pub fn signer(index: usize) -> &'static PrivateKeySigner {
    static SIGNERS: OnceLock<Vec<PrivateKeySigner>> = OnceLock::new();
    let make = |index| PrivateKeySigner::from_bytes(&B256::repeat_byte(index as u8 + 1)).expect("a valid key");
    &SIGNERS.get_or_init(|| (0..PERSONS).map(make).collect())[index]
}

/// Returns the address of person `index`.
pub fn person(index: usize) -> Address {
    signer(index).address()
}

/// Returns the address of the receiver with this answer.
pub fn receiver(answer: Answer) -> Address {
    static RECEIVERS: OnceLock<[Address; 8]> = OnceLock::new();
    RECEIVERS.get_or_init(|| Answer::ALL.map(|answer| receiver_creator(answer).create(0)))[answer as usize]
}

/// Returns the address of the suite's contract number `index`, in the order of its creations.
pub fn contract(index: usize) -> Address {
    static CONTRACTS: OnceLock<[Address; CONTRACTS_MAX]> = OnceLock::new();
    CONTRACTS.get_or_init(|| array::from_fn(|index| contract_creator(index).create(0)))[index]
}

/// Returns who creates that receiver.
pub const fn receiver_creator(answer: Answer) -> Address {
    Address::repeat_byte(0xa0 + answer as u8)
}

/// Returns who creates that contract.
pub const fn contract_creator(index: usize) -> Address {
    Address::repeat_byte(0xc0 + index as u8)
}

/// Returns who an address is, for messages.
pub fn name_of(address: Address) -> String {
    if address.is_zero() {
        return "nobody".to_owned();
    }
    if let Some(index) = (0..PERSONS).find(|index| person(*index) == address) {
        return format!("person {index}");
    }
    if let Some(answer) = Answer::ALL.into_iter().find(|answer| receiver(*answer) == address) {
        return format!("receiver {answer:?}");
    }
    (0..CONTRACTS_MAX)
        .find(|index| contract(*index) == address)
        .map_or_else(|| address.to_string(), |index| format!("contract {index}"))
}
