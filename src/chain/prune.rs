//! Pruning blocks and states, in memory and in the store, by the [`Retention`](super::Retention) policy.

use super::{Chain, error::ChainError, executed_block::ExecutedBlock, hook::HeadChange, persist};
use crate::{primitives::Height, store::Batch};

/// Blocks below the head that a chain over a durable store keeps in memory at most.
const DURABLE_BLOCKS_IN_MEMORY: u64 = 256;

/// Memory of the blocks that a chain over a durable store keeps there at most, in bytes.
const DURABLE_BLOCK_BYTES: u64 = 64 << 20;

impl Chain {
    /// Updates the tree for the new head and prunes it.
    pub(super) fn update_tree(&mut self, change: &HeadChange) {
        let index = !self.context.is_durable;
        change.reverted.iter().for_each(|block| self.tree.revert(block));
        change.applied.iter().for_each(|block| self.tree.apply(block, index));
        let (head, finalized) = (self.head.height().get(), self.finality.irreversible.get());
        let retention = self.context.retention;
        // Blocks that are not final are kept: a reorg may need them.
        let lowest = |kept: u64| head.saturating_sub(kept).min(finalized);
        if let Some(states) = retention.states_kept() {
            self.tree.drop_states_below(lowest(states));
        }
        if let Some(bytes) = retention.state_bytes {
            self.tree.drop_states_to(bytes, lowest(0));
        }
        let is_durable = self.context.is_durable;
        let (blocks_max, bytes_max) = (DURABLE_BLOCKS_IN_MEMORY, DURABLE_BLOCK_BYTES);
        if let Some(blocks) = retention.blocks.into_iter().chain(is_durable.then_some(blocks_max)).min() {
            self.tree.drop_blocks_below(lowest(blocks));
        }
        if let Some(bytes) = retention.block_bytes.into_iter().chain(is_durable.then_some(bytes_max)).min() {
            self.tree.drop_blocks_to(bytes, lowest(0));
        }
    }

    /// Removes from the store what the retention policy drops when the head moves to the height `head`.
    pub(super) fn prune_stored(&self, head: Height, finalized: Height, batch: &mut Batch) -> Result<(), ChainError> {
        let lowest =
            |head: Height, finalized: Height, kept: u64| head.get().saturating_sub(kept).min(finalized.get()).max(1);
        let dropped = |kept: u64| {
            let before = lowest(self.head.height(), self.finality.irreversible, kept);
            before..lowest(head, finalized, kept)
        };
        if let Some(kept) = self.context.retention.states {
            let mut commits = Vec::new();
            for height in dropped(kept) {
                let Some(block) = self.stored_at(height)? else { continue };
                let (id, successor) = (block.commit().id, self.stored_at(height + 1)?);
                // An empty block shares its parent's version.
                let is_shared = successor.is_some_and(|next| next.commit().id == id);
                if !is_shared && id != self.genesis.commit().id {
                    commits.push(id);
                }
            }
            if !commits.is_empty() {
                self.context.state.prune(&commits, batch)?;
            }
        }
        if let Some(kept) = self.context.retention.blocks {
            for height in dropped(kept) {
                if let Some(block) = self.stored_at(height)? {
                    persist::remove_block(&block, batch);
                }
            }
            self.context.decoded_blocks.clear();
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
