//! Client oracle: transactions that were acknowledged to clients.

use std::collections::{BTreeMap, BTreeSet};

use super::invariant::{Violation, honest, promised};
use crate::{
    consensus::{BlockId, ReplicaId},
    primitives::{B256, Height, Transaction},
    sim::network::{Network, step::SimStep},
};

/// Records the submitted transactions, and which of them were acknowledged by which replica.
///
/// A transaction is acknowledged when an honest replica considers its block final. From then on it must never be lost,
/// even if that replica is. A submitted transaction that was not acknowledged may be included or not.
#[derive(Clone, Debug, Default)]
pub(crate) struct Oracle {
    unknown: BTreeSet<B256>,
    acknowledged: BTreeMap<B256, (BlockId, ReplicaId)>,
    seen: BTreeMap<ReplicaId, BlockId>,
    submitted: u64,
}

impl Oracle {
    /// Records a submitted transaction.
    pub(crate) fn submitted(&mut self, transaction: &Transaction) {
        let hash = transaction.hash();
        self.submitted += u64::from(!self.acknowledged.contains_key(&hash) && self.unknown.insert(hash));
    }

    /// Records the transactions that a step acknowledged.
    pub(crate) fn on_step(&mut self, network: &Network, step: &SimStep) {
        let Some(replica) = honest(network, step) else { return };
        let Some(newest) = promised(replica) else { return };
        let before = self.seen.insert(replica.id(), newest).unwrap_or_default();
        if self.unknown.is_empty() {
            return;
        }
        for height in before.height.get() + 1..=newest.height.get() {
            let Ok(block) = replica.chain().block_at(Height::new(height)) else { continue };
            let id = BlockId::of(block.block());
            for transaction in block.block().transactions() {
                if self.unknown.remove(&transaction.hash()) {
                    self.acknowledged.insert(transaction.hash(), (id, replica.id()));
                }
            }
        }
    }

    /// Returns the number of submitted transactions.
    pub(crate) const fn submitted_count(&self) -> u64 {
        self.submitted
    }

    /// Returns the number of acknowledged transactions.
    pub(crate) fn acknowledged_count(&self) -> u64 {
        self.acknowledged.len() as u64
    }

    /// Checks that each of these replicas has every acknowledged transaction in its acknowledged block, up to the replica's own
    /// head.
    ///
    /// # Errors
    /// A [`Violation`] of `durability` with the first lost transaction.
    pub(crate) fn check(&self, network: &Network, replicas: &[ReplicaId]) -> Result<(), Violation> {
        for id in replicas {
            let Ok(replica) = network.replica(*id) else { continue };
            for (transaction, (block, by)) in &self.acknowledged {
                let is_there = replica.head().height >= block.height;
                if is_there && replica.chain().hash_at(block.height).ok() != Some(block.hash) {
                    let detail = format!("{by} acknowledged transaction {transaction} in {block}; {id} lost it");
                    return Err(Violation::new("durability", network, detail));
                }
            }
        }
        Ok(())
    }
}
