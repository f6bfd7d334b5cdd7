//! Where the transactions of a new block come from.

use std::sync::Arc;

use super::{block::Block, error::InvalidTransaction};
use crate::primitives::Transaction;

/// A source of transactions for a new block. Object-safe, and stays so.
pub trait Candidates {
    /// Returns the next transaction to try; `None` when there are no more.
    fn next(&mut self) -> Option<Arc<Transaction>>;

    /// Reports that the transaction returned last was left out; later nonces of its sender should not follow.
    fn mark_invalid(&mut self, transaction: &Transaction, reason: &InvalidTransaction);
}

/// Transactions in a fixed order, also after one that was left out.
impl Candidates for std::vec::IntoIter<Arc<Transaction>> {
    fn next(&mut self) -> Option<Arc<Transaction>> {
        Iterator::next(self)
    }

    fn mark_invalid(&mut self, _transaction: &Transaction, _reason: &InvalidTransaction) {}
}

/// A block that was built and executed, without a seal.
#[derive(Clone, Debug)]
pub struct BuiltBlock {
    /// The unsealed block.
    pub block: Block,
    /// Candidates that were left out, each with the reason.
    pub left_out: Vec<(Arc<Transaction>, InvalidTransaction)>,
}
