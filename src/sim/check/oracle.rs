//! What clients were told: the client oracle.

use std::collections::{BTreeMap, BTreeSet};

use super::invariant::{Violation, honest, promised};
use crate::{
    consensus::{BlockId, ReplicaId},
    primitives::{B256, Height, Transaction},
    sim::network::{Network, step::SimStep},
};

/// Knows which writes were acknowledged, and by whom, from those of which nobody knows.
///
/// A write is acknowledged when an honest replica holds its block for final. From then on it must never be lost,
/// whatever becomes of that replica. What was submitted and not acknowledged may be there in the end, or not.
#[derive(Clone, Debug, Default)]
pub struct Oracle {
    unknown: BTreeSet<B256>,
    acknowledged: BTreeMap<B256, (BlockId, ReplicaId)>,
    seen: BTreeMap<ReplicaId, BlockId>,
    submitted: u64,
}

impl Oracle {
    /// A client submitted this.
    pub fn submitted(&mut self, transaction: &Transaction) {
        let hash = transaction.hash();
        self.submitted += u64::from(!self.acknowledged.contains_key(&hash) && self.unknown.insert(hash));
    }

    /// Takes note of what a step acknowledged.
    pub fn on_step(&mut self, network: &Network, step: &SimStep) {
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

    /// How many transactions were submitted.
    pub const fn submitted_count(&self) -> u64 {
        self.submitted
    }

    /// How many of them were acknowledged.
    pub fn acknowledged_count(&self) -> u64 {
        self.acknowledged.len() as u64
    }

    /// Where a transaction was acknowledged to be, and by whom.
    pub fn acknowledged(&self, transaction: &B256) -> Option<(BlockId, ReplicaId)> {
        self.acknowledged.get(transaction).copied()
    }

    /// Checks that each of these replicas has everything that was acknowledged where it was acknowledged to be. One that is
    /// not so high yet has lost nothing.
    ///
    /// # Errors
    /// A [`Violation`] of `durability` with the first that is lost.
    pub fn check(&self, network: &Network, replicas: &[ReplicaId]) -> Result<(), Violation> {
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
