//! What the pool holds, and why some of it waits.

use std::sync::Arc;

use alloy_primitives::{Address, U256};

use super::{
    Pool,
    sender::{Obstacle, SenderQueue},
};
use crate::{
    chain::error::InvalidTransaction,
    primitives::{Gas, Transaction},
};

/// A transaction in the pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PooledTransaction {
    /// The transaction.
    pub transaction: Arc<Transaction>,
    /// Sequence number of its arrival; the lower one wins a tie.
    pub arrival: u64,
    /// Why the next block can't contain it; `None` when it can.
    pub excluded: Option<ExclusionReason>,
}

/// A reason why the next block can't contain a pooled transaction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExclusionReason {
    /// Earlier nonces of the sender are missing.
    #[error("nonce gap: waits for nonce {missing}")]
    NonceGap {
        /// The first missing nonce.
        missing: u64,
    },
    /// An earlier transaction of the sender is excluded itself.
    #[error("waits for the sender's transaction with nonce {nonce}")]
    Predecessor {
        /// Nonce of the earlier transaction.
        nonce: u64,
    },
    /// The largest fee is below the next block's base fee.
    #[error("maxFeePerGas {max_fee} is below the next block's base fee {base_fee}")]
    BaseFee {
        /// Largest fee, in the smallest unit per unit of gas.
        max_fee: u128,
        /// Base fee of the next block, in the smallest unit per unit of gas.
        base_fee: u64,
    },
    /// The gas limit is above the next block's.
    #[error("gas limit {} is above the next block's {}", have.get(), limit.get())]
    GasLimit {
        /// The transaction's gas limit.
        have: Gas,
        /// Gas limit of the next block.
        limit: Gas,
    },
    /// The sender's balance does not cover the largest costs of this transaction and the ones before it.
    #[error("insufficient funds: {address} has {have}, its transactions up to this one cost up to {want}")]
    Funds {
        /// The sender.
        address: Address,
        /// The sender's balance, in the smallest unit.
        have: U256,
        /// Sum of the largest costs, in the smallest unit.
        want: U256,
    },
    /// The sender has code now (EIP-3607).
    #[error("sender not an eoa: {address} has code")]
    SenderHasCode {
        /// The sender.
        address: Address,
    },
    /// The sender lost a permission that it had; the transaction waits until the administrator gives it back.
    #[error("{reason}")]
    NotAllowed {
        /// Which permission it is.
        reason: InvalidTransaction,
    },
    /// A block left it out; it is tried again once the sender's account changes.
    #[error("left out of a block: {reason}")]
    Refused {
        /// Why the block left it out.
        reason: InvalidTransaction,
    },
}

impl Pool {
    /// Returns all transactions in the order of sender and nonce.
    pub fn content(&self) -> Vec<PooledTransaction> {
        let mut content = Vec::with_capacity(self.len());
        for (sender, queue) in &self.senders {
            self.list(*sender, queue, &mut content);
        }
        content
    }

    /// Returns a sender's transactions in the order of nonces.
    pub fn content_of(&self, sender: &Address) -> Vec<PooledTransaction> {
        let mut content = Vec::new();
        if let Some(queue) = self.senders.get(sender) {
            self.list(*sender, queue, &mut content);
        }
        content
    }

    fn list(&self, sender: Address, queue: &SenderQueue, content: &mut Vec<PooledTransaction>) {
        // The next nonce of an unbroken run, and the first excluded transaction in it.
        let (mut next, mut excluded_at) = (queue.account().nonce, None);
        for entry in queue.entries() {
            let nonce = entry.transaction.nonce();
            let excluded = if nonce != next {
                Some(ExclusionReason::NonceGap { missing: next })
            } else if let Some(nonce) = excluded_at {
                Some(ExclusionReason::Predecessor { nonce })
            } else if queue.is_ready(nonce) {
                self.price_or_size(&entry.transaction)
            } else {
                obstacle(sender, queue)
            };
            if nonce == next {
                next = next.saturating_add(1);
                excluded_at = excluded_at.or_else(|| excluded.is_some().then_some(nonce));
            }
            let (transaction, arrival) = (entry.transaction.clone(), entry.arrival);
            content.push(PooledTransaction { transaction, arrival, excluded });
        }
    }

    /// Returns why the next block can't contain a ready transaction.
    fn price_or_size(&self, transaction: &Transaction) -> Option<ExclusionReason> {
        let (max_fee, base_fee) = (transaction.max_fee_per_gas(), self.base_fee);
        if max_fee < u128::from(base_fee) {
            return Some(ExclusionReason::BaseFee { max_fee, base_fee });
        }
        let (have, limit) = (transaction.gas_limit(), Gas::new(self.gas_limit));
        (have > limit).then_some(ExclusionReason::GasLimit { have, limit })
    }
}

fn obstacle(address: Address, queue: &SenderQueue) -> Option<ExclusionReason> {
    let (entry, obstacle) = queue.obstacle()?;
    Some(match obstacle {
        Obstacle::SenderCode => ExclusionReason::SenderHasCode { address },
        Obstacle::NotAllowed(reason) => ExclusionReason::NotAllowed { reason },
        Obstacle::Refused(refusal) => ExclusionReason::Refused { reason: refusal.reason.clone() },
        Obstacle::Funds => {
            let cost = entry.transaction.max_cost().unwrap_or(U256::MAX);
            let want = queue.ready_cost().saturating_add(cost);
            ExclusionReason::Funds { address, have: queue.account().balance, want }
        }
    })
}
