//! Iteration over ready transactions, highest tip first.

use core::cmp::Reverse;
use std::{collections::BinaryHeap, sync::Arc};

use alloy_primitives::Address;

use super::{
    Pool,
    tip_index::{Case, Offer},
};
use crate::{
    chain::{candidates::Candidates, error::InvalidTransaction},
    primitives::Transaction,
};

/// A candidate: tip, then earliest arrival, which is unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    tip: u128,
    arrival: Reverse<u64>,
    sender: Address,
    nonce: u64,
    /// The order of first transactions that it is from; `None` for one that follows another of its sender.
    case: Option<Case>,
}

/// Ready transactions by effective tip, then arrival, those of one sender in the order of nonces. See [`Pool::best`].
///
/// Only what is returned is read, and the first candidate of each order: the cost does not depend on what else waits.
#[derive(Clone, Debug)]
pub struct BestTransactions {
    pool: Pool,
    candidates: BinaryHeap<Rank>,
    /// Sender and nonce of the transaction returned last; unless it is marked invalid, its successor is a candidate.
    last: Option<(Address, u64)>,
    examined: usize,
}

impl BestTransactions {
    pub(super) fn new(pool: Pool) -> Self {
        let mut best = Self { pool, candidates: BinaryHeap::new(), last: None, examined: 0 };
        for case in [Case::WholeTip, Case::PartOfTip] {
            best.push_head(case, None);
        }
        best
    }

    /// Returns how many pooled transactions were looked at so far.
    pub const fn examined(&self) -> usize {
        self.examined
    }

    /// Makes the best first transaction of a case a candidate, or the best one below `after`.
    fn push_head(&mut self, case: Case, after: Option<Offer>) {
        let Some((offer, sender)) = self.pool.heads.best_of(case, after) else { return };
        let Some(queue) = self.pool.senders.get(&sender) else { return };
        let (_, tip) = offer.rank(self.pool.base_fee);
        let (arrival, nonce) = (Reverse(offer.arrival), queue.account().nonce);
        self.examined += 1;
        self.candidates.push(Rank { tip, arrival, sender, nonce, case: Some(case) });
    }

    /// Makes a transaction a candidate if it is ready, covers the base fee and fits a block.
    fn push_successor(&mut self, sender: Address, nonce: u64) {
        let Some(queue) = self.pool.senders.get(&sender).filter(|queue| queue.is_ready(nonce)) else { return };
        let Some(entry) = queue.get(nonce) else { return };
        self.examined += 1;
        if entry.transaction.gas_limit().get() > self.pool.gas_limit {
            return;
        }
        if let Some(tip) = entry.transaction.effective_tip_per_gas(self.pool.base_fee) {
            self.candidates.push(Rank { tip, arrival: Reverse(entry.arrival), sender, nonce, case: None });
        }
    }
}

impl Candidates for BestTransactions {
    fn next(&mut self) -> Option<Arc<Transaction>> {
        if let Some((sender, nonce)) = self.last.take()
            && let Some(successor) = nonce.checked_add(1)
        {
            self.push_successor(sender, successor);
        }
        let best = self.candidates.pop()?;
        let entry = self.pool.senders.get(&best.sender)?.get(best.nonce)?;
        let (transaction, arrival) = (entry.transaction.clone(), entry.arrival);
        if let Some(case) = best.case {
            self.push_head(case, Some(Offer::of(&transaction, arrival)));
        }
        self.last = Some((best.sender, best.nonce));
        Some(transaction)
    }

    fn mark_invalid(&mut self, _transaction: &Transaction, _reason: &InvalidTransaction) {
        self.last = None;
    }
}
