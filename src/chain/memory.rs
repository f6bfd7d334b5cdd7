//! Estimates of the memory that blocks take, by which retention and caches are bounded.
//!
//! Counted are the structures themselves, what they own on the heap, and what the tree and the indices add for a block and
//! for a transaction. Rounding by the allocator is not: the estimate is below the real use by a tenth to a third.

use crate::primitives::Transaction;

use super::{block::Block, receipt::Receipt};

/// Bytes of the tree for a block: its entry by height and hash in a B-tree that is three quarters full, the canonical hash, the
/// height by hash.
const TREE_BYTES: usize = 160;

/// Bytes of the index for a transaction.
const INDEX_BYTES: usize = 24;

/// Bytes of an [`Arc`](std::sync::Arc)'s counters and of the pointer to it.
const SHARED_BYTES: usize = 24;

/// Encoded length of a transfer, all of which is inside [`Transaction`]; what is longer is data or an access list on the heap.
const TRANSFER_BYTES: usize = 120;

/// Returns about how many bytes of memory a block without its seal, its receipts and its entries in the tree's indices take.
pub(super) fn block_bytes(block: &Block, receipts: &[Receipt]) -> usize {
    let header = size_of_val(block.header()) + block.header().extra_data.len();
    // The header's RLP is kept beside it, and is as long but for the bloom that both have.
    let parts = 2 * header + block.payload().len() + size_of_val(block.interventions());
    let transactions = block.transactions().iter().map(|transaction| {
        let heap = transaction.encoded_len().saturating_sub(TRANSFER_BYTES);
        size_of::<Transaction>() + SHARED_BYTES + INDEX_BYTES + heap
    });
    let logs = receipts.iter().flat_map(Receipt::logs);
    let logs = logs.map(|log| size_of_val(log) + size_of_val(log.data.topics()) + log.data.data.len());
    TREE_BYTES + SHARED_BYTES + parts + size_of_val(receipts) + transactions.sum::<usize>() + logs.sum::<usize>()
}
