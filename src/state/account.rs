//! Accounts as the state root covers them.

use alloy_primitives::{B256, U256, b256};
use alloy_rlp::{RlpDecodable, RlpEncodable};

/// Keccak of the empty string: the code hash of an account without code.
pub const EMPTY_CODE_HASH: B256 = b256!("c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470");

/// Root of the empty trie: keccak of the RLP of the empty string.
pub const EMPTY_ROOT: B256 = b256!("56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421");

/// Nonce, balance, storage root and code hash, in the order of their RLP (Yellow Paper, 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, RlpEncodable, RlpDecodable)]
pub struct Account {
    /// Number of transactions sent, or of contracts created by a contract (from 1 on, EIP-161).
    pub nonce: u64,
    /// Balance, in wei.
    pub balance: U256,
    /// Root of the account's storage trie.
    pub storage_root: B256,
    /// Keccak of the account's code.
    pub code_hash: B256,
}

impl Account {
    /// Returns whether there is no nonce, balance or code, so that the account is absent from the state (EIP-161).
    pub fn is_empty(&self) -> bool {
        self.nonce == 0 && self.balance.is_zero() && self.code_hash == EMPTY_CODE_HASH
    }
}

impl Default for Account {
    fn default() -> Self {
        Self { nonce: 0, balance: U256::ZERO, storage_root: EMPTY_ROOT, code_hash: EMPTY_CODE_HASH }
    }
}
