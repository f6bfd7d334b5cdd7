//! Merkle proofs of an account and its slots (EIP-1186).

use alloy_primitives::{Address, B256, Bytes, U256};

use super::Account;

/// An account's values with the trie nodes from the root to it.
///
/// An absent account is proven too: `account` is then the empty account and `nodes` end where the path does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountProof {
    /// Whose.
    pub address: Address,
    /// Its values under the root.
    pub account: Account,
    /// RLP of the nodes from the state root down.
    pub nodes: Vec<Bytes>,
    /// The slots asked for, in the order asked.
    pub storage: Vec<StorageProof>,
}

/// One slot's value with the trie nodes from the account's storage root to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StorageProof {
    /// Which slot.
    pub slot: B256,
    /// Its value; zero when absent.
    pub value: U256,
    /// RLP of the nodes from the storage root down.
    pub nodes: Vec<Bytes>,
}
