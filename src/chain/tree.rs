//! The blocks that a replica holds in memory, and which of them are canonical.

mod index;

use std::collections::BTreeSet;

use alloy_primitives::B256;
use imbl::{OrdMap, OrdSet};

use self::index::TransactionRuns;
use super::{ExecutedBlock, TransactionIndex};
use crate::primitives::Height;

/// Persistent maps of blocks: cloning costs the same at any size.
#[derive(Clone, Debug, Default)]
pub(super) struct Tree {
    blocks: OrdMap<B256, ExecutedBlock>,
    by_height: OrdSet<(u64, B256)>,
    /// Blocks whose state is still held, but for genesis; what the retention policy looks at.
    with_state: OrdSet<(u64, B256)>,
    canonical: OrdMap<u64, B256>,
    transactions: TransactionRuns,
}

impl Tree {
    /// A tree with genesis alone, which is never pruned.
    pub(super) fn new(genesis: ExecutedBlock) -> Self {
        let mut tree = Self::default();
        tree.canonical.insert(0, genesis.hash());
        tree.blocks.insert(genesis.hash(), genesis);
        tree
    }

    pub(super) fn insert(&mut self, block: ExecutedBlock) {
        let key = (block.height().get(), block.hash());
        if block.has_state() {
            self.with_state.insert(key);
        }
        self.by_height.insert(key);
        self.blocks.insert(key.1, block);
    }

    /// Puts a block that differs in its seal alone in the place of the one that is here.
    pub(super) fn replace(&mut self, block: ExecutedBlock) {
        if let Some(kept) = self.blocks.get_mut(&block.hash()) {
            *kept = block;
        }
    }

    pub(super) fn get(&self, hash: &B256) -> Option<&ExecutedBlock> {
        self.blocks.get(hash)
    }

    pub(super) fn canonical(&self, height: Height) -> Option<B256> {
        self.canonical.get(&height.get()).copied()
    }

    /// Lowest canonical height above genesis that is held; `head` when there is none.
    pub(super) fn oldest(&self, head: Height) -> Height {
        self.canonical.range(1..).next().map_or(head, |(height, _)| Height::new(*height))
    }

    /// Lowest canonical height above genesis whose state is held; `head` when there is none.
    pub(super) fn oldest_state(&self, head: Height) -> Height {
        self.with_state.iter().next().map_or(head, |(height, _)| Height::new(*height))
    }

    /// Makes a block canonical; `index` says whether its transactions are to be found here.
    pub(super) fn apply(&mut self, block: &ExecutedBlock, index: bool) {
        let height = block.height().get();
        self.canonical.insert(height, block.hash());
        if index {
            let oldest = self.oldest(block.height()).get();
            let hashes = block.block().transactions().iter().map(|transaction| transaction.hash());
            self.transactions.add(height, hashes, oldest);
        }
    }

    /// Takes a block off the canonical chain; it stays in the tree.
    pub(super) fn revert(&mut self, block: &ExecutedBlock) {
        self.canonical.remove(&block.height().get());
    }

    /// Where a canonical transaction is that was indexed here.
    pub(super) fn transaction(&self, hash: &B256) -> Option<(Height, TransactionIndex)> {
        let is_it = |height: u64, index: TransactionIndex| {
            let block = self.canonical.get(&height).and_then(|hash| self.blocks.get(hash));
            let found = block.and_then(|block| block.block().transaction(index));
            found.is_some_and(|transaction| transaction.hash() == *hash)
        };
        self.transactions.find(hash, is_it).map(|(height, index)| (Height::new(height), index))
    }

    /// Lets go of the states of blocks below `height`.
    pub(super) fn drop_states_below(&mut self, height: u64) {
        while let Some(key) = self.with_state.get_min().copied().filter(|(lowest, _)| *lowest < height) {
            self.with_state.remove(&key);
            if let Some(block) = self.blocks.get_mut(&key.1) {
                *block = block.pruned();
            }
        }
    }

    /// Lets go of blocks below `height`, but for genesis.
    pub(super) fn drop_blocks_below(&mut self, height: u64) {
        while let Some(key) = self.by_height.get_min().copied().filter(|(lowest, _)| *lowest < height) {
            self.remove(key);
        }
    }

    /// Lets go of blocks in these heights that are not canonical, and of all that extend them.
    pub(super) fn drop_side_blocks(&mut self, heights: core::ops::RangeInclusive<u64>) {
        let range = (*heights.start(), B256::ZERO)..=(*heights.end(), B256::repeat_byte(0xff));
        let is_side = |(height, hash): &&(u64, B256)| self.canonical.get(height) != Some(hash);
        let mut gone: BTreeSet<B256> = self.by_height.range(range).filter(is_side).map(|(_, hash)| *hash).collect();
        if gone.is_empty() {
            return;
        }
        // Parents come before their children in this order, so one pass finds every descendant.
        for (_, hash) in self.by_height.range((heights.end().saturating_add(1), B256::ZERO)..) {
            let parent = self.blocks.get(hash).map(|block| block.block().parent_hash());
            if parent.is_some_and(|parent| gone.contains(&parent)) {
                gone.insert(*hash);
            }
        }
        for hash in gone {
            if let Some(height) = self.blocks.get(&hash).map(|block| block.height().get()) {
                self.remove((height, hash));
            }
        }
    }

    fn remove(&mut self, key: (u64, B256)) {
        self.by_height.remove(&key);
        self.with_state.remove(&key);
        self.blocks.remove(&key.1);
        if self.canonical.get(&key.0) == Some(&key.1) {
            self.canonical.remove(&key.0);
        }
    }
}
