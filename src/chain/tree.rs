//! The tree of blocks in memory and the canonical chain in it.

mod canonical;
mod index;

use std::collections::BTreeSet;

use alloy_primitives::B256;
use imbl::OrdMap;

use self::{canonical::Canonical, index::SortedRuns};
use super::{block::TransactionIndex, executed_block::ExecutedBlock};
use crate::primitives::{Height, maps::PersistentMap};

/// Number of recent hashes at which they are moved to the sorted runs.
const RECENT_MAX: usize = 1_024;

/// Blocks in persistent maps: cloning is O(1).
///
/// Blocks are ordered by height, so that appending costs the same at any length of the chain; only finding an old block by
/// its hash alone searches.
#[derive(Clone, Debug, Default)]
pub(super) struct Tree {
    blocks: OrdMap<(u64, B256), ExecutedBlock>,
    /// Heights of the blocks inserted last.
    recent: PersistentMap<B256, u64>,
    /// Heights of the other blocks, and of some that were removed.
    older: SortedRuns,
    /// The lowest height above genesis at which a state may be kept.
    states_from: u64,
    canonical: Canonical,
    transactions: SortedRuns,
    /// Memory of the blocks, receipts and indices, in bytes.
    block_bytes: u64,
    /// Memory of the states beside the newest, in bytes.
    state_bytes: u64,
}

impl Tree {
    /// Returns a tree with genesis, which is never pruned.
    pub(super) fn new(genesis: ExecutedBlock) -> Self {
        let mut tree = Self::default();
        tree.canonical.put(0, genesis.hash());
        tree.insert(genesis);
        tree
    }

    pub(super) fn insert(&mut self, block: ExecutedBlock) {
        let (height, hash) = (block.height().get(), block.hash());
        if self.recent.len() >= RECENT_MAX {
            let oldest = self.lowest().map_or(0, |(oldest, _)| oldest);
            self.older.add_blocks(self.recent.iter().map(|(hash, height)| (*hash, *height)), oldest);
            // Genesis is below the oldest, but never removed.
            let genesis = self.canonical(Height::GENESIS);
            self.recent = genesis.map(|hash| (hash, 0_u64)).into_iter().collect();
        }
        if block.has_state() {
            self.states_from = self.states_from.min(height);
        }
        self.recent.insert(hash, height);
        self.put((height, hash), block);
    }

    fn put(&mut self, key: (u64, B256), block: ExecutedBlock) {
        self.block_bytes += block.block_bytes();
        self.state_bytes += block.state_bytes();
        if let Some(replaced) = self.blocks.insert(key, block) {
            self.forget_bytes(&replaced);
        }
    }

    fn forget_bytes(&mut self, block: &ExecutedBlock) {
        self.block_bytes = self.block_bytes.saturating_sub(block.block_bytes());
        self.state_bytes = self.state_bytes.saturating_sub(block.state_bytes());
    }

    /// Memory of the blocks, receipts and indices, in bytes.
    #[cfg(test)]
    pub(super) const fn block_bytes(&self) -> u64 {
        self.block_bytes
    }

    /// Memory of the states beside the newest, in bytes.
    #[cfg(test)]
    pub(super) const fn state_bytes(&self) -> u64 {
        self.state_bytes
    }

    /// Replaces a block by one that differs in its seal only.
    pub(super) fn replace(&mut self, block: ExecutedBlock) {
        let key = (block.height().get(), block.hash());
        if self.find(&key).is_some() {
            self.put(key, block);
        }
    }

    /// Returns the block with this hash.
    pub(super) fn get(&self, hash: &B256) -> Option<&ExecutedBlock> {
        let height = match self.recent.get(hash) {
            Some(height) => *height,
            None => self.older.find(hash, |height, _| self.find(&(height, *hash)).is_some())?.0,
        };
        self.find(&(height, *hash))
    }

    /// Returns the block with this hash if it is at `height`.
    pub(super) fn get_at(&self, height: Height, hash: B256) -> Option<&ExecutedBlock> {
        self.find(&(height.get(), hash))
    }

    /// Returns a block by key, without a search for the highest block and above.
    fn find(&self, key: &(u64, B256)) -> Option<&ExecutedBlock> {
        match self.blocks.get_max() {
            Some((highest, block)) if highest == key => Some(block),
            Some((highest, _)) if highest < key => None,
            _ => self.blocks.get(key),
        }
    }

    pub(super) fn canonical(&self, height: Height) -> Option<B256> {
        self.canonical.get(height.get())
    }

    /// Returns the lowest canonical height above genesis in the tree; `head` when there is none.
    pub(super) fn oldest(&self, head: Height) -> Height {
        self.canonical.lowest().map_or(head, Height::new)
    }

    /// Returns the lowest height above genesis whose state is kept; `head` when there is none.
    pub(super) fn oldest_state(&self, head: Height) -> Height {
        let mut held = self.blocks.range((self.states_from.max(1), B256::ZERO)..);
        let oldest = held.find(|(_, block)| block.has_state());
        oldest.map_or(head, |((height, _), _)| Height::new(*height))
    }

    /// Makes a block canonical; with `index`, also indexes its transactions.
    pub(super) fn apply(&mut self, block: &ExecutedBlock, index: bool) {
        let (height, hash) = (block.height().get(), block.hash());
        // A block read from the store, which indexes its transactions, is not in the tree yet.
        if !index && self.find(&(height, hash)).is_none() {
            self.insert(block.clone());
        }
        self.canonical.put(height, hash);
        if index && !block.block().transactions().is_empty() {
            let oldest = self.oldest(block.height()).get();
            let hashes = block.block().transactions().iter().map(|transaction| transaction.hash());
            self.transactions.add(height, hashes, oldest);
        }
    }

    /// Removes a block from the canonical chain; it stays in the tree.
    pub(super) fn revert(&mut self, block: &ExecutedBlock) {
        self.canonical.remove(block.height().get());
    }

    /// Finds a canonical transaction that was indexed in the tree.
    pub(super) fn transaction(&self, hash: &B256) -> Option<(Height, TransactionIndex)> {
        let is_match = |height: u64, index: TransactionIndex| {
            let block = self.canonical.get(height).and_then(|hash| self.blocks.get(&(height, hash)));
            let found = block.and_then(|block| block.block().transaction(index));
            found.is_some_and(|transaction| transaction.hash() == *hash)
        };
        self.transactions.find(hash, is_match).map(|(height, index)| (Height::new(height), index))
    }

    /// Drops the states of blocks below `height`, except genesis.
    pub(super) fn drop_states_below(&mut self, height: u64) {
        let from = self.states_from.max(1);
        if height <= from {
            return;
        }
        if self.has_side_blocks() {
            let below = self.blocks.range((from, B256::ZERO)..(height, B256::ZERO));
            let held: Vec<_> = below.filter(|(_, block)| block.has_state()).map(|(key, _)| *key).collect();
            held.into_iter().for_each(|key| self.prune(key));
        } else {
            for height in from..height {
                if let Some(hash) = self.canonical.get(height) {
                    self.prune((height, hash));
                }
            }
        }
        self.states_from = height;
    }

    fn prune(&mut self, key: (u64, B256)) {
        if let Some(block) = self.blocks.get_mut(&key) {
            let bytes = block.state_bytes();
            block.drop_state();
            self.state_bytes = self.state_bytes.saturating_sub(bytes);
        }
    }

    /// Drops the oldest states below `height`, except genesis', until the others take at most `bytes_max`.
    pub(super) fn drop_states_to(&mut self, bytes_max: u64, height: u64) {
        while self.state_bytes > bytes_max {
            let lowest = self.lowest().map_or(height, |(lowest, _)| lowest).max(self.states_from);
            if lowest >= height {
                return;
            }
            self.drop_states_below(lowest + 1);
        }
    }

    /// Returns whether any block is not canonical: the tree has all canonical blocks, so the counts differ then.
    fn has_side_blocks(&self) -> bool {
        self.blocks.len() != self.canonical.len()
    }

    /// Removes blocks below `height`, except genesis.
    pub(super) fn drop_blocks_below(&mut self, height: u64) {
        self.drop_lowest(height, |_| height > 1);
    }

    /// Removes the oldest blocks below `height`, except genesis, until the others take at most `bytes_max`.
    pub(super) fn drop_blocks_to(&mut self, bytes_max: u64, height: u64) {
        self.drop_lowest(height, |tree| tree.block_bytes > bytes_max);
    }

    /// Removes the lowest blocks below `height` as long as there are `too_many`, then what the indices have of those blocks alone.
    fn drop_lowest(&mut self, height: u64, too_many: impl Fn(&Self) -> bool) {
        let before = self.blocks.len();
        while too_many(self)
            && let Some(key) = self.lowest().filter(|(lowest, _)| *lowest < height)
        {
            self.remove(key);
        }
        if self.blocks.len() < before
            && let Some((oldest, _)) = self.lowest()
        {
            self.transactions.drop_below(oldest);
            self.older.drop_below(oldest);
        }
    }

    /// Removes blocks above `height`.
    pub(super) fn drop_blocks_above(&mut self, height: u64) {
        while let Some(key) = self.blocks.get_max().map(|(key, _)| *key).filter(|(highest, _)| *highest > height) {
            self.remove(key);
        }
    }

    /// Removes the blocks at these heights that are not canonical, and their descendants.
    pub(super) fn drop_side_blocks(&mut self, heights: core::ops::RangeInclusive<u64>) {
        if !self.has_side_blocks() {
            return;
        }
        let range = (*heights.start(), B256::ZERO)..=(*heights.end(), B256::repeat_byte(0xff));
        let is_side = |(height, hash): &(u64, B256)| self.canonical.get(*height) != Some(*hash);
        let sides = self.blocks.range(range).map(|(key, _)| key).filter(|key| is_side(key));
        let mut removed: BTreeSet<(u64, B256)> = sides.copied().collect();
        if removed.is_empty() {
            return;
        }
        // Parents come before their children in this order, so one pass finds every descendant.
        for (key, block) in self.blocks.range((heights.end().saturating_add(1), B256::ZERO)..) {
            if removed.contains(&(key.0 - 1, block.block().parent_hash())) {
                removed.insert(*key);
            }
        }
        for key in removed {
            self.remove(key);
        }
    }

    /// The lowest block above genesis.
    fn lowest(&self) -> Option<(u64, B256)> {
        if !self.has_side_blocks() {
            let height = self.canonical.lowest()?;
            return self.canonical.get(height).map(|hash| (height, hash));
        }
        self.blocks.range((1, B256::ZERO)..).next().map(|(key, _)| *key)
    }

    fn remove(&mut self, key: (u64, B256)) {
        self.recent.remove(&key.1);
        if let Some(removed) = self.blocks.remove(&key) {
            self.forget_bytes(&removed);
        }
        if self.canonical.get(key.0) == Some(key.1) {
            self.canonical.remove(key.0);
        }
    }
}
