//! Where the transactions of a new block come from.

use std::sync::Arc;

use super::{block::Block, error::InvalidTransaction};
use crate::primitives::Transaction;

/// Where a builder takes transactions from. Object-safe, and stays so.
pub trait Candidates {
    /// The next to try; `None` when there are no more.
    fn next(&mut self) -> Option<Arc<Transaction>>;

    /// The last one was left out; later nonces of its sender should not follow.
    fn refuse(&mut self, transaction: &Transaction, reason: &InvalidTransaction);
}

/// Transactions in a fixed order, whatever becomes of the ones before.
impl Candidates for std::vec::IntoIter<Arc<Transaction>> {
    fn next(&mut self) -> Option<Arc<Transaction>> {
        Iterator::next(self)
    }

    fn refuse(&mut self, _transaction: &Transaction, _reason: &InvalidTransaction) {}
}

/// A block that was built, executed and not yet sealed.
#[derive(Clone, Debug)]
pub struct BuiltBlock {
    /// The block, without a seal.
    pub block: Block,
    /// Candidates that were left out, with why.
    pub left_out: Vec<(Arc<Transaction>, InvalidTransaction)>,
}
