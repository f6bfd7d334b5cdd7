//! Merkle proofs of an account and its slots (EIP-1186).

use alloy_primitives::{Address, B256, Bytes, U256};

use super::Account;

/// Values of an account with the trie nodes from the root to it.
///
/// An absent account is proven too: `account` is then the empty account, and `nodes` end where the path does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountProof {
    /// Address of the account.
    pub address: Address,
    /// Values of the account under the root.
    pub account: Account,
    /// RLP of the nodes from the state root down.
    pub nodes: Vec<Bytes>,
    /// Proofs of the requested slots, in the order of the request.
    pub storage: Vec<StorageProof>,
}

/// Value of one slot with the trie nodes from the account's storage root to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StorageProof {
    /// Number of the slot.
    pub slot: B256,
    /// Value of the slot; zero when absent.
    pub value: U256,
    /// RLP of the nodes from the storage root down.
    pub nodes: Vec<Bytes>,
}
