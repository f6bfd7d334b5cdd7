//! Letting go of the past, in memory and in the store.

use super::{Chain, error::ChainError, executed_block::ExecutedBlock, hook::HeadChange, persist};
use crate::{primitives::Height, store::Batch};

/// Blocks below the head that a chain with a durable store holds in memory.
const DURABLE_WINDOW: u64 = 256;

impl Chain {
    /// Brings tree and retention to the new head.
    pub(super) fn follow(&mut self, change: &HeadChange) {
        let index = !self.shared.is_durable;
        change.reverted.iter().for_each(|block| self.tree.revert(block));
        change.applied.iter().for_each(|block| self.tree.apply(block, index));
        let (head, finalized) = (self.head.height().get(), self.irreversible.get());
        let retention = self.shared.retention;
        // What is not final stays: a reorg may need it.
        let lowest = |kept: u64| head.saturating_sub(kept).min(finalized);
        if let Some(states) = retention.states {
            self.tree.drop_states_below(lowest(states));
        }
        let window = self.shared.is_durable.then_some(DURABLE_WINDOW);
        if let Some(blocks) = retention.blocks.into_iter().chain(window).min() {
            self.tree.drop_blocks_below(lowest(blocks));
        }
    }

    /// Removes from the store what the retention policy lets go as the head moves on to `head`.
    pub(super) fn prune_stored(&self, head: u64, finalized: u64, batch: &mut Batch) -> Result<(), ChainError> {
        let lowest = |head: u64, finalized: u64, kept: u64| head.saturating_sub(kept).min(finalized).max(1);
        let passed = |kept: u64| {
            let before = lowest(self.head.height().get(), self.irreversible.get(), kept);
            before..lowest(head, finalized, kept)
        };
        if let Some(kept) = self.shared.retention.states {
            let mut commits = Vec::new();
            for height in passed(kept) {
                let Some(block) = self.stored_at(height)? else { continue };
                let (id, successor) = (block.commit().id, self.stored_at(height + 1)?);
                // An empty block shares its parent's version.
                let is_shared = successor.is_some_and(|next| next.commit().id == id);
                if !is_shared && id != self.genesis.commit().id {
                    commits.push(id);
                }
            }
            if !commits.is_empty() {
                self.shared.state.prune(&commits, batch)?;
            }
        }
        if let Some(kept) = self.shared.retention.blocks {
            for height in passed(kept) {
                if let Some(block) = self.stored_at(height)? {
                    persist::remove_block(&block, batch);
                }
            }
            self.shared.decoded.clear();
        }
        Ok(())
    }

    fn stored_at(&self, height: u64) -> Result<Option<ExecutedBlock>, ChainError> {
        match self.block_at(Height::new(height)) {
            Ok(block) => Ok(Some(block)),
            Err(ChainError::Pruned { .. } | ChainError::UnknownHeight { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
