//! Iteration over ready transactions, highest tip first.

use core::cmp::Reverse;
use std::{collections::BinaryHeap, sync::Arc};

use alloy_primitives::Address;

use super::Pool;
use crate::{
    chain::{candidates::Candidates, error::InvalidTransaction},
    primitives::Transaction,
};

/// Tip, then earliest arrival, which is unique; sender and nonce identify the transaction.
type Rank = (u128, Reverse<u64>, Address, u64);

/// Ready transactions by tip, those of one sender in the order of nonces. See [`Pool::best`].
#[derive(Clone, Debug)]
pub struct BestTransactions {
    pool: Pool,
    base_fee: u64,
    heads: BinaryHeap<Rank>,
    /// Sender and nonce of the transaction returned last; unless it is marked invalid, its successor is a candidate.
    last: Option<(Address, u64)>,
}

impl BestTransactions {
    pub(super) fn new(pool: Pool, base_fee: u64) -> Self {
        let mut best = Self { pool, base_fee, heads: BinaryHeap::new(), last: None };
        best.heads =
            best.pool.senders.iter().filter_map(|(sender, queue)| best.rank(*sender, queue.next_nonce)).collect();
        best
    }

    /// Returns the rank of a transaction; `None` when it is not in the pool or its fee is below the base fee.
    fn rank(&self, sender: Address, nonce: u64) -> Option<Rank> {
        let entry = self.pool.senders.get(&sender)?.transactions.get(&nonce)?;
        let tip = entry.transaction.effective_tip_per_gas(self.base_fee)?;
        Some((tip, Reverse(entry.arrival), sender, nonce))
    }
}

impl Candidates for BestTransactions {
    fn next(&mut self) -> Option<Arc<Transaction>> {
        if let Some((sender, nonce)) = self.last.take() {
            let successor = nonce.checked_add(1).and_then(|nonce| self.rank(sender, nonce));
            self.heads.extend(successor);
        }
        let (_, _, sender, nonce) = self.heads.pop()?;
        self.last = Some((sender, nonce));
        self.pool.by_nonce(&sender, nonce)
    }

    fn mark_invalid(&mut self, _transaction: &Transaction, _reason: &InvalidTransaction) {
        self.last = None;
    }
}
