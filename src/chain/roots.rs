//! Trie roots of a block's transactions and receipts.

use std::sync::Arc;

use alloy_primitives::{B256, Bloom};
use alloy_trie::root::ordered_trie_root_with_encoder;

use super::receipt::Receipt;
use crate::primitives::Transaction;

/// Computes the root of the trie from the RLP of a transaction's index to its EIP-2718 form (Yellow Paper, 4.3.2).
pub fn transactions_root(transactions: &[Arc<Transaction>]) -> B256 {
    ordered_trie_root_with_encoder(transactions, |transaction, out| transaction.encode_2718(out))
}

/// Computes the root of the trie from the RLP of a receipt's index to its EIP-2718 form, and the bloom of all logs.
pub fn receipts_root(receipts: &[Receipt]) -> (B256, Bloom) {
    let mut all = Bloom::ZERO;
    let root = ordered_trie_root_with_encoder(receipts, |receipt, out| {
        let bloom = receipt.bloom();
        all |= bloom;
        receipt.encode_2718(&bloom, out);
    });
    (root, all)
}
