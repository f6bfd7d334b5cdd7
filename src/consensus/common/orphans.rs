//! Blocks that came before their parents.

use std::{collections::VecDeque, sync::Arc};

use imbl::OrdMap;

use super::{
    encoding::Encoder,
    event::{BlockId, ReplicaId},
};
use crate::{
    chain::Block,
    primitives::{Address, B256, Height},
};

/// Blocks kept while their parent is missing.
pub(in crate::consensus) const ORPHANS_MAX: usize = 256;
/// Of them, blocks of one author.
const OF_AUTHOR_MAX: usize = 64;

/// A block that can't be judged yet.
#[derive(Clone, Debug)]
pub(in crate::consensus) struct Orphan {
    /// Who said it; `None`: this replica, before a crash.
    pub(in crate::consensus) from: Option<ReplicaId>,
    pub(in crate::consensus) author: Address,
    pub(in crate::consensus) block: Arc<Block>,
}

/// Blocks that wait, lowest first.
#[derive(Clone, Debug, Default)]
pub(in crate::consensus) struct Orphans(OrdMap<BlockId, Orphan>);

impl Orphans {
    pub(in crate::consensus) fn contains(&self, id: &BlockId) -> bool {
        self.0.contains_key(id)
    }

    pub(in crate::consensus) fn len(&self) -> usize {
        self.0.len()
    }

    pub(in crate::consensus) fn ids(&self) -> impl Iterator<Item = &BlockId> {
        self.0.keys()
    }

    /// Whether there is room for one more block of this author: no single one may take all of it.
    pub(in crate::consensus) fn has_room_for(&self, author: Address) -> bool {
        let of_author = self.0.values().filter(|orphan| orphan.author == author).count();
        self.0.len() < ORPHANS_MAX && of_author < OF_AUTHOR_MAX
    }

    pub(in crate::consensus) fn insert(&mut self, orphan: Orphan) {
        self.0.insert(BlockId::of(&orphan.block), orphan);
    }

    pub(in crate::consensus) fn remove(&mut self, id: &BlockId) -> Option<Orphan> {
        self.0.remove(id)
    }

    /// The one furthest from the chain.
    pub(in crate::consensus) fn highest(&self) -> Option<BlockId> {
        self.0.get_max().map(|(highest, _)| *highest)
    }

    /// The nearest of a block and its ancestors that does not wait here: everything above it does.
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

    /// What waits for this very block.
    pub(in crate::consensus) fn children(&self, parent: BlockId) -> Vec<BlockId> {
        self.children_of(parent).collect()
    }

    fn children_of(&self, parent: BlockId) -> impl Iterator<Item = BlockId> {
        let height = parent.height.next();
        self.0
            .range(BlockId { height, hash: B256::ZERO }..)
            .take_while(move |(id, _)| id.height == height)
            .filter(move |(_, orphan)| orphan.block.parent_hash() == parent.hash)
            .map(|(id, _)| *id)
    }

    /// Forgets everything that stands on a block.
    pub(in crate::consensus) fn drop_descendants(&mut self, id: BlockId) {
        let mut dropped = VecDeque::from([id]);
        while let Some(parent) = dropped.pop_front() {
            for child in self.children(parent) {
                self.0.remove(&child);
                dropped.push_back(child);
            }
        }
    }

    /// Forgets what can have no place above a block that is final.
    pub(in crate::consensus) fn keep_above(&mut self, root: Height) {
        self.0 = core::mem::take(&mut self.0).into_iter().filter(|(id, _)| id.height > root).collect();
    }

    /// All of them, lowest first.
    pub(in crate::consensus) fn take(&mut self) -> impl Iterator<Item = Orphan> + use<> {
        core::mem::take(&mut self.0).into_iter().map(|(_, orphan)| orphan)
    }

    pub(in crate::consensus) fn encode(&self, out: &mut Encoder) {
        out.list(self.0.iter(), |out, (id, orphan)| {
            id.encode(out);
            out.bytes(orphan.block.seal());
            out.u32(orphan.from.map_or(u32::MAX, ReplicaId::get));
        });
    }
}
