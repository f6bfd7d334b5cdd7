//! The blocks that may still matter to a replica: from the last irreversible one up.

use std::sync::Arc;

use imbl::OrdSet;

use super::{Link, Standing};
use crate::{
    consensus::{
        BlockId, Encoder, SealedHeader,
        branch_tree::{BranchNode, BranchTree, HeadMove},
    },
    primitives::{Address, Height},
};

/// Blocks beside the head's branch that are kept; more wait until something becomes irreversible.
pub(super) const SIDE_BLOCKS_MAX: u64 = 4_096;

/// One judged block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) link: Link,
    pub(super) parent: BlockId,
    pub(super) author: Address,
    /// What it was judged by; not kept of a block that the replica started at.
    pub(super) sealed: Option<Arc<SealedHeader>>,
}

impl Node {
    pub(super) fn standing(&self) -> Standing {
        let progress = self.link.state.progress();
        let (irreversible, proposed) = (progress.irreversible(), progress.proposed());
        Standing { irreversible, proposed, block: self.link.block, slot: self.link.slot }
    }
}

impl BranchNode for Node {
    type Key = BlockId;

    fn block(&self) -> BlockId {
        self.link.block
    }

    fn key(&self) -> BlockId {
        self.link.block
    }

    fn parent_key(&self) -> BlockId {
        self.parent
    }
}

/// Judged blocks by height and hash. Cloning is O(1).
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tree {
    branches: BranchTree<Node>,
    slots: OrdSet<(u64, BlockId)>,
    head: Arc<Node>,
    root: BlockId,
    finalized: BlockId,
}

impl Tree {
    /// A tree of one trusted block: genesis, a last irreversible block, or a head that was stored with its mark.
    pub(super) fn new(root: Node, finalized: BlockId) -> Self {
        let (block, slot, head) = (root.link.block, root.link.slot, Arc::new(root));
        let slots = OrdSet::unit((slot, block));
        Self { branches: BranchTree::new(head.clone()), slots, head, root: block, finalized }
    }

    pub(super) fn get(&self, block: &BlockId) -> Option<&Arc<Node>> {
        self.branches.get(block)
    }

    pub(super) const fn head(&self) -> &Arc<Node> {
        &self.head
    }

    /// The lowest block that is kept; blocks at and below its height have no place any more.
    pub(super) const fn root(&self) -> BlockId {
        self.root
    }

    /// The last irreversible block.
    pub(super) const fn finalized(&self) -> BlockId {
        self.finalized
    }

    /// Blocks beside the head's branch.
    pub(super) fn side_blocks(&self) -> u64 {
        let branch = self.head.link.block.height.get() - self.root.height.get() + 1;
        (self.branches.nodes.len() as u64).saturating_sub(branch)
    }

    /// Another block of `author` in this slot.
    pub(super) fn twin(&self, node: &Node) -> Option<&Arc<Node>> {
        let (slot, block) = (node.link.slot, node.link.block);
        let same_slot = self.slots.range((slot, BlockId::default())..).take_while(|(other, _)| *other == slot);
        let twins = same_slot.filter(|(_, other)| *other != block).filter_map(|(_, other)| self.branches.get(other));
        twins.into_iter().find(|twin| twin.author == node.author)
    }

    /// Whether the branch that ends in `tip` has `block`; everything at or below the root is taken for a part of it.
    pub(super) fn has_ancestor(&self, tip: &Node, block: BlockId) -> bool {
        block.height <= self.root.height || self.ancestor_at(tip, block.height) == Some(block)
    }

    /// Returns the block at `height` of the branch that ends in `tip`, if it is kept.
    pub(super) fn ancestor_at(&self, tip: &Node, height: Height) -> Option<BlockId> {
        self.branches.ancestor_at(tip, height)
    }

    /// Adds a block whose parent is here and returns how the head moved, if it did.
    pub(super) fn insert(&mut self, node: Node) -> Option<HeadMove> {
        let node = Arc::new(node);
        self.slots.insert((node.link.slot, node.link.block));
        self.branches.insert(node.clone());
        if !node.standing().beats(&self.head.standing()) {
            return None;
        }
        let (old, new) = (self.head.link.block, node.link.block);
        let reorg_depth = self.branches.reorg_depth(&self.head, &node, self.root.height);
        self.head = node;
        Some(HeadMove { old, new, reorg_depth, forgotten: self.settle() })
    }

    /// Follows the head's branch with the mark, and forgets what can't come back.
    fn settle(&mut self) -> Vec<BlockId> {
        let irreversible = self.ancestor_at(&self.head, self.head.link.state.progress().irreversible());
        if let Some(finalized) = irreversible.filter(|block| block.height > self.finalized.height) {
            self.finalized = finalized;
        }
        if self.finalized.height <= self.root.height {
            return Vec::new();
        }
        self.root = self.finalized;
        let mut forgotten = Vec::new();
        let below = BlockId { height: self.root.height.next(), hash: Default::default() };
        forgotten
            .extend(self.branches.nodes.range(..below).map(|(block, _)| *block).filter(|block| *block != self.root));
        forgotten.iter().for_each(|block| self.forget(block));
        if self.side_blocks() > 0 {
            let above: Vec<_> = self.branches.nodes.range(below..).map(|(block, node)| (*block, node.parent)).collect();
            for (block, parent) in above {
                if !self.branches.nodes.contains_key(&parent) {
                    self.forget(&block);
                    forgotten.push(block);
                }
            }
        }
        forgotten
    }

    /// Forgets everything but the head's branch.
    pub(super) fn drop_side_blocks(&mut self) {
        let branch: OrdSet<BlockId> = self.branches.branch(&self.head).map(|node| node.link.block).collect();
        let side: Vec<_> = self.branches.nodes.keys().copied().filter(|block| !branch.contains(block)).collect();
        side.iter().for_each(|block| self.forget(block));
    }

    fn forget(&mut self, block: &BlockId) {
        if let Some(node) = self.branches.nodes.remove(block) {
            self.slots.remove(&(node.link.slot, *block));
        }
    }

    pub(super) fn encode(&self, out: &mut Encoder) {
        out.list(self.branches.nodes.iter(), |out, (block, node)| {
            block.encode(out);
            out.hash(&node.parent.hash);
            out.address(&node.author);
            out.bool(node.sealed.is_some());
            node.link.encode(out);
        });
        for mark in [self.head.link.block, self.root, self.finalized] {
            mark.encode(out);
        }
    }
}
