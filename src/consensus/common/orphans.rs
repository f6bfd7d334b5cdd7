//! Blocks that wait for their parents.

use std::{collections::VecDeque, sync::Arc};

use imbl::OrdMap;

use super::{
    encoding::Encoder,
    id::{BlockId, ReplicaId},
};
use crate::{
    chain::Block,
    primitives::{Address, B256, Height},
};

/// A block whose parent is missing, or whose slot has not begun.
#[derive(Clone, Debug)]
pub(in crate::consensus) struct Orphan {
    /// Sender; `None` for a block that this replica sealed before a crash.
    pub(in crate::consensus) from: Option<ReplicaId>,
    pub(in crate::consensus) author: Address,
    pub(in crate::consensus) block: Arc<Block>,
}

/// Waiting blocks, lowest first.
#[derive(Clone, Debug, Default)]
pub(in crate::consensus) struct Orphans(OrdMap<BlockId, Orphan>);

impl Orphans {
    pub(in crate::consensus) fn contains(&self, id: &BlockId) -> bool {
        self.0.contains_key(id)
    }

    pub(in crate::consensus) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the blocks of one height.
    pub(in crate::consensus) fn at_height(&self, height: Height) -> impl Iterator<Item = &Orphan> {
        self.0.range(BlockId::range_at(height)).map(|(_, orphan)| orphan)
    }

    /// Returns whether a block of another author than `author` waits for the block `id`.
    pub(in crate::consensus) fn is_awaited_by_another(&self, id: BlockId, author: Address) -> bool {
        let mut above = self.at_height(id.height.next());
        above.any(|orphan| orphan.author != author && orphan.block.parent_hash() == id.hash)
    }

    /// Returns the number of waiting blocks of these authors, and the highest.
    pub(in crate::consensus) fn count_and_highest(&self, of: impl Fn(&Address) -> bool) -> (usize, Option<BlockId>) {
        let theirs = self.0.iter().filter(|(_, orphan)| of(&orphan.author));
        theirs.fold((0, None), |(count, _), (id, _)| (count + 1, Some(*id)))
    }

    /// Returns the lowest waiting block of these authors.
    pub(in crate::consensus) fn lowest(&self, of: impl Fn(&Address) -> bool) -> Option<&Orphan> {
        self.0.values().find(|orphan| of(&orphan.author))
    }

    /// Returns the number of waiting blocks of one author.
    pub(in crate::consensus) fn count_of(&self, author: Address) -> usize {
        self.0.values().filter(|orphan| orphan.author == author).count()
    }

    pub(in crate::consensus) fn ids(&self) -> impl Iterator<Item = &BlockId> {
        self.0.keys()
    }

    pub(in crate::consensus) fn insert(&mut self, orphan: Orphan) {
        self.0.insert(BlockId::of(&orphan.block), orphan);
    }

    pub(in crate::consensus) fn remove(&mut self, id: &BlockId) -> Option<Orphan> {
        self.0.remove(id)
    }

    /// Returns the highest block, which is the furthest from the chain.
    pub(in crate::consensus) fn highest(&self) -> Option<BlockId> {
        self.0.get_max().map(|(highest, _)| *highest)
    }

    /// Returns the nearest of a block and its ancestors that does not wait here; all blocks above it do.
    pub(in crate::consensus) fn missing_below(&self, block: BlockId) -> BlockId {
        let mut missing = block;
        while let Some(orphan) = self.0.get(&missing) {
            missing = BlockId::parent_of(&orphan.block);
        }
        missing
    }

    pub(in crate::consensus) fn has_children(&self, parent: BlockId) -> bool {
        self.children_of(parent).next().is_some()
    }

    /// Removes and returns the children of a block.
    pub(in crate::consensus) fn take_children(&mut self, parent: BlockId) -> Vec<Orphan> {
        let children: Vec<_> = self.children_of(parent).collect();
        children.iter().filter_map(|child| self.0.remove(child)).collect()
    }

    fn children_of(&self, parent: BlockId) -> impl Iterator<Item = BlockId> {
        let height = parent.height.next();
        self.0
            .range(BlockId { height, hash: B256::ZERO }..)
            .take_while(move |(id, _)| id.height == height)
            .filter(move |(_, orphan)| orphan.block.parent_hash() == parent.hash)
            .map(|(id, _)| *id)
    }

    /// Drops all descendants of a block.
    pub(in crate::consensus) fn drop_descendants(&mut self, id: BlockId) {
        let mut dropped = VecDeque::from([id]);
        while let Some(parent) = dropped.pop_front() {
            dropped.extend(self.take_children(parent).iter().map(|orphan| BlockId::of(&orphan.block)));
        }
    }

    /// Drops all blocks at or below a final height.
    pub(in crate::consensus) fn keep_above(&mut self, root: Height) {
        self.0 = core::mem::take(&mut self.0).into_iter().filter(|(id, _)| id.height > root).collect();
    }

    /// Removes and returns all blocks, lowest first.
    pub(in crate::consensus) fn take(&mut self) -> impl Iterator<Item = Orphan> + use<> {
        core::mem::take(&mut self.0).into_iter().map(|(_, orphan)| orphan)
    }

    pub(in crate::consensus) fn encode(&self, out: &mut Encoder) {
        let Self(blocks) = self;
        out.list(blocks.iter(), |out, (id, orphan)| {
            // The author follows from the seal.
            let Orphan { from, author: _, block } = orphan;
            id.encode(out);
            out.bytes(block.seal());
            out.u32(from.map_or(u32::MAX, ReplicaId::get));
        });
    }
}
