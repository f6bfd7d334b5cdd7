//! Pruning blocks and states, in memory and in the store, by the [`Retention`](super::Retention) policy.

use std::sync::Arc;

use alloy_primitives::B256;

use super::{
    Chain,
    error::ReadError,
    executed_block::ExecutedBlock,
    garbage::{GarbageChange, GarbageItem, Holder},
    hook::{Finality, HeadChange},
    persist::{self, Pruned},
};
use crate::{
    primitives::Height,
    state::{CommitId, StateError},
    store::{Batch, StoreError},
};

/// Blocks below the head that a chain over a durable store keeps in memory at most.
const DURABLE_BLOCKS_IN_MEMORY: u64 = 256;

/// Memory of the blocks that a chain over a durable store keeps there at most, in bytes.
const DURABLE_BLOCK_BYTES: u64 = 64 << 20;

/// Heights whose states or blocks one batch deletes at most, by the retention policy.
const PRUNED_AT_ONCE_MAX: u64 = 64;

/// The cause of a head change.
#[derive(Clone, Copy)]
pub(super) enum Move<'a> {
    /// Fork choice; what it reverts may become canonical again.
    Forward,
    /// A restored snapshot; what it reverts is gone, but for what the snapshot has on a branch.
    Back {
        /// The snapshot.
        snapshot: &'a Chain,
        /// Canonical blocks of the snapshot up to the fork that the store has no more and gets again, without their states but for
        /// the head's; the newest first.
        missing: &'a [ExecutedBlock],
    },
}

impl<'a> Move<'a> {
    /// The blocks up to the fork that the store gets again.
    pub(super) const fn missing(self) -> &'a [ExecutedBlock] {
        match self {
            Self::Forward => &[],
            Self::Back { missing, .. } => missing,
        }
    }

    /// Returns whether a reverted block may become canonical again.
    fn may_return(self, block: &ExecutedBlock) -> bool {
        match self {
            Self::Forward => true,
            Self::Back { snapshot, .. } => snapshot.tree.get_at(block.height(), block.hash()).is_some(),
        }
    }
}

impl Chain {
    /// Updates the tree for the new head and prunes it.
    pub(super) fn update_tree(&mut self, change: &HeadChange) {
        let index = !self.context.is_durable;
        change.reverted.iter().for_each(|block| self.tree.revert(block));
        change.applied.iter().for_each(|block| self.tree.apply(block, index));
        let (head, irreversible) = (self.head.height().get(), self.finality.irreversible.get());
        let retention = self.context.retention;
        // Blocks above the irreversible height are kept: a reorg may need them.
        let lowest = |kept: u64| head.saturating_sub(kept).min(irreversible);
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

    /// Adds to a head change's batch what can be deleted from the store: what the change itself reverts or the retention policy
    /// drops, unless a clone still reads it, and a part of what was left over before.
    pub(super) fn prune_stored(
        &self,
        change: &HeadChange,
        kind: Move<'_>,
        finality: &Finality,
        batch: &mut Batch,
    ) -> Result<GarbageChange, ReadError> {
        let mut garbage = GarbageChange::default();
        self.take_back_applied(change, kind, &mut garbage);
        self.list_reverted(change, kind, &mut garbage)?;
        let mut commits = Vec::new();
        self.prune_retained(change, kind, finality, &mut commits, &mut garbage, batch)?;
        self.collect(finality.irreversible, commits, &mut garbage, batch)?;
        Ok(garbage)
    }

    /// Adds to a batch a part of the garbage, and the changes of the list.
    pub(super) fn collect(
        &self,
        irreversible: Height,
        mut commits: Vec<CommitId>,
        garbage: &mut GarbageChange,
        batch: &mut Batch,
    ) -> Result<(), StateError> {
        for item in self.context.garbage.collect(&self.context.leases, irreversible, &self.context.cache, garbage) {
            commits.extend(item.commit);
            if let Some(hash) = item.block {
                persist::remove_block(hash, batch);
                self.context.cache.remove(item.height, hash);
                self.context.decoded_blocks.remove(hash);
            }
        }
        // Also with an empty list: states wait there for the views that read them.
        self.context.state.prune(&commits, batch)?;
        persist::put_garbage(garbage, batch);
        Ok(())
    }

    /// Removes blocks that are canonical again from the garbage list.
    fn take_back_applied(&self, change: &HeadChange, kind: Move<'_>, garbage: &mut GarbageChange) {
        for block in change.applied.iter().chain([&change.new]).chain(kind.missing()) {
            let Some(item) = self.context.garbage.take_back(block.hash(), garbage) else { continue };
            // Executed again, it has another state now.
            if let Some(commit) = item.commit.filter(|commit| *commit != block.commit().id) {
                let state = GarbageItem { block: None, commit: Some(commit), may_return: false, ..item };
                self.context.garbage.add(state, garbage);
            }
        }
    }

    /// Adds the reverted blocks to the garbage list.
    fn list_reverted(
        &self,
        change: &HeadChange,
        kind: Move<'_>,
        garbage: &mut GarbageChange,
    ) -> Result<(), StoreError> {
        let before = self.context.leases.next_number();
        for (index, block) in change.reverted.iter().enumerate() {
            let parent = match change.reverted.get(index + 1) {
                Some(parent) => Some(parent.commit().id),
                None => self.commit_of(block.height().parent().unwrap_or_default(), block.block().parent_hash())?,
            };
            // An empty block shares its parent's state, and one of a dump may have that of genesis, which is never deleted.
            let shared = [parent, Some(self.genesis.commit().id)];
            let made = block.version().filter(|version| !shared.contains(&Some(version.commit().id)));
            let item = GarbageItem {
                block: Some(block.hash()),
                commit: made.map(|version| version.commit().id),
                height: block.height(),
                may_return: kind.may_return(block),
                holder: Holder::Descendants { before, version: made.map(Arc::downgrade).unwrap_or_default() },
            };
            self.context.garbage.add(item, garbage);
            // A cached block would hold its state.
            self.context.decoded_blocks.remove(block.hash());
        }
        Ok(())
    }

    /// Deletes what the retention policy drops below the lower of both heads, from where the last batch stopped. A step is
    /// bounded, so that a database opened with a smaller retention is pruned over many batches.
    fn prune_retained(
        &self,
        change: &HeadChange,
        kind: Move<'_>,
        finality: &Finality,
        commits: &mut Vec<CommitId>,
        garbage: &mut GarbageChange,
        batch: &mut Batch,
    ) -> Result<(), ReadError> {
        let retention = self.context.retention;
        let head = change.new.height().get();
        let added = change.applied.len() as u64 + u64::from(change.brings_state());
        let lowest_missing = kind.missing().last().map_or(head, |block| block.height().get().saturating_sub(1));
        let fork = head.saturating_sub(added).min(lowest_missing);
        let lowest = |kept: u64| head.saturating_sub(kept).min(finality.irreversible.get()).min(fork);
        for (what, kept) in [(Pruned::States, retention.states_kept()), (Pruned::Blocks, retention.blocks)] {
            if kept.is_none() && !change.is_reorg() && kind.missing().is_empty() {
                continue;
            }
            let stored = persist::pruned_below(&*self.context.store, what)?;
            let Some(from) = stored.or(kept.map(|_| 1)).map(|from| from.min(fork + 1)) else { continue };
            let to = kept.map_or(from, |kept| lowest(kept).clamp(from, from + PRUNED_AT_ONCE_MAX));
            for height in (from..to).map(Height::new) {
                match what {
                    Pruned::States => commits.extend(self.pruned_commit(height, garbage)?),
                    Pruned::Blocks => self.prune_block(height, garbage, batch)?,
                }
            }
            if stored != Some(to) {
                persist::put_pruned_below(what, to, batch);
            }
        }
        Ok(())
    }

    /// Returns the state to be deleted with the canonical block at `height`; one that a clone holds goes to the garbage list.
    pub(super) fn pruned_commit(
        &self,
        height: Height,
        garbage: &mut GarbageChange,
    ) -> Result<Option<CommitId>, StoreError> {
        let Some(commit) = self.commit_at(height)? else { return Ok(None) };
        // An empty block shares its parent's state.
        let is_shared = self.commit_at(height.next())? == Some(commit);
        if is_shared || commit == self.genesis.commit().id {
            return Ok(None);
        }
        if !self.context.leases.has_state(commit) {
            return Ok(Some(commit));
        }
        let (block, commit) = (None, Some(commit));
        let item = GarbageItem { block, commit, height, may_return: false, holder: Holder::Head };
        self.context.garbage.add(item, garbage);
        Ok(None)
    }

    /// Deletes the canonical block at `height`; one that is a clone's head goes to the garbage list.
    fn prune_block(&self, height: Height, garbage: &mut GarbageChange, batch: &mut Batch) -> Result<(), ReadError> {
        let block = match self.block_at(height) {
            Ok(block) => block,
            Err(ReadError::Pruned { .. } | ReadError::UnknownHeight { .. }) => return Ok(()),
            Err(error) => return Err(error),
        };
        persist::remove_canonical(&block, batch);
        if self.context.leases.has_block(block.hash()) {
            let (block, commit) = (Some(block.hash()), None);
            let item = GarbageItem { block, commit, height, may_return: false, holder: Holder::Head };
            self.context.garbage.add(item, garbage);
        } else {
            persist::remove_block(block.hash(), batch);
        }
        self.context.decoded_blocks.remove(block.hash());
        Ok(())
    }

    /// Returns the commit of the canonical block at `height`; `None` without the block or its state.
    fn commit_at(&self, height: Height) -> Result<Option<CommitId>, StoreError> {
        if height > self.head.height() {
            return Ok(None);
        }
        let hash = match self.tree.canonical(height) {
            Some(hash) => Some(hash),
            None => self.context.stored_canonical(height)?,
        };
        hash.map_or(Ok(None), |hash| self.commit_of(height, hash))
    }

    fn commit_of(&self, height: Height, hash: B256) -> Result<Option<CommitId>, StoreError> {
        match self.tree.get_at(height, hash) {
            Some(block) => Ok(Some(block.commit().id).filter(|id| *id != CommitId::EMPTY)),
            None => self.context.stored_commit(hash),
        }
    }
}
