//! Verified blocks of all branches that may still become the chain. Cloning is O(1).

use core::{fmt::Debug, iter};
use std::sync::Arc;

use imbl::OrdMap;

use super::{
    effect::{ChainEvent, Effect},
    id::BlockId,
};
use crate::primitives::Height;

/// A block of a tree.
pub(in crate::consensus) trait BranchNode: Clone + Debug + PartialEq {
    /// Key by which the tree orders blocks.
    type Key: Ord + Copy + Debug;

    fn block(&self) -> BlockId;

    fn key(&self) -> Self::Key;

    fn parent_key(&self) -> Self::Key;
}

/// Blocks by key.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::consensus) struct BranchTree<N: BranchNode> {
    pub(in crate::consensus) nodes: OrdMap<N::Key, Arc<N>>,
}

/// A move of the head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::consensus) struct HeadMove {
    pub(in crate::consensus) old: BlockId,
    pub(in crate::consensus) new: BlockId,
    /// Blocks of the old head's branch that are no ancestors of the new head; 0 when the branch only grew.
    pub(in crate::consensus) reorg_depth: u64,
    /// Blocks dropped from the tree, as they can't become part of the chain any more.
    pub(in crate::consensus) forgotten: Vec<BlockId>,
}

impl<N: BranchNode> BranchTree<N> {
    pub(in crate::consensus) fn new(root: Arc<N>) -> Self {
        Self { nodes: OrdMap::unit(root.key(), root) }
    }

    pub(in crate::consensus) fn get(&self, key: &N::Key) -> Option<&Arc<N>> {
        self.nodes.get(key)
    }

    pub(in crate::consensus) fn insert(&mut self, node: Arc<N>) {
        self.nodes.insert(node.key(), node);
    }

    /// Returns a block and its kept ancestors, newest first.
    pub(in crate::consensus) fn branch(&self, tip: &N) -> impl Iterator<Item = &N> {
        let start = self.nodes.get(&tip.key());
        iter::successors(start, |node| self.nodes.get(&node.parent_key())).map(Arc::as_ref)
    }

    /// Returns the block at `height` of the branch that ends in `tip`, if it is kept.
    pub(in crate::consensus) fn ancestor_at(&self, tip: &N, height: Height) -> Option<BlockId> {
        let block = self.branch(tip).map(BranchNode::block).find(|block| block.height <= height);
        block.filter(|block| block.height == height)
    }

    /// Returns the number of blocks of the branch of `old` that are no ancestors of `new`. Branches without a common block
    /// are taken to fork at `lowest`, the lowest height kept.
    pub(in crate::consensus) fn reorg_depth(&self, old: &N, new: &N, lowest: Height) -> u64 {
        let height = old.block().height.get();
        if new.parent_key() == old.key() {
            return 0;
        }
        let mut theirs = self.branch(new).map(BranchNode::block).peekable();
        for ours in self.branch(old).map(BranchNode::block) {
            while theirs.next_if(|block| block.height > ours.height).is_some() {}
            if theirs.peek() == Some(&ours) {
                return height - ours.height.get();
            }
        }
        height.saturating_sub(lowest.get())
    }
}

impl HeadMove {
    /// Returns the height of the common ancestor.
    pub(in crate::consensus) const fn fork_height(&self) -> Height {
        Height::new(self.old.height.get() - self.reorg_depth)
    }

    /// Reports the move to the chain, and a reorganisation under `mark`.
    pub(in crate::consensus) fn report(&self, mark: &'static str, effects: &mut Vec<Effect>) {
        let Self { old, new, reorg_depth, .. } = *self;
        effects.push(Effect::Chain(ChainEvent::HeadMoved { old, new, reorg_depth }));
        if reorg_depth > 0 {
            effects.push(Effect::Mark(mark));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitives::B256;

    #[derive(Clone, Debug, PartialEq)]
    struct Node {
        block: BlockId,
        parent: BlockId,
    }

    impl BranchNode for Node {
        type Key = BlockId;

        fn block(&self) -> BlockId {
            self.block
        }

        fn key(&self) -> BlockId {
            self.block
        }

        fn parent_key(&self) -> BlockId {
            self.parent
        }
    }

    fn id(height: u64, branch: u8) -> BlockId {
        BlockId { height: Height::new(height), hash: B256::repeat_byte(branch) }
    }

    /// Blocks 0 to 5 of branch 1; branch 2 forks above block 2 and ends at 6, branch 3 forks below the lowest kept block.
    fn tree() -> BranchTree<Node> {
        let node = |block, parent| Arc::new(Node { block, parent });
        let mut tree = BranchTree::new(node(id(0, 1), BlockId::default()));
        (1..=5).for_each(|height| tree.insert(node(id(height, 1), id(height - 1, 1))));
        tree.insert(node(id(3, 2), id(2, 1)));
        (4..=6).for_each(|height| tree.insert(node(id(height, 2), id(height - 1, 2))));
        tree.insert(node(id(2, 3), id(1, 3)));
        tree
    }

    #[test]
    fn the_depth_of_a_reorganisation_is_counted_from_the_common_ancestor() {
        let tree = tree();
        let depth = |old, new| tree.reorg_depth(&tree.nodes[&old], &tree.nodes[&new], Height::GENESIS);
        for (name, old, new, want) in [
            ("child", id(4, 1), id(5, 1), 0),
            ("descendant", id(2, 1), id(6, 2), 0),
            ("longer branch", id(5, 1), id(6, 2), 3),
            ("shorter branch", id(6, 2), id(3, 1), 4),
            ("ancestor", id(5, 1), id(3, 1), 2),
            ("no common block", id(5, 1), id(2, 3), 5),
        ] {
            assert_eq!(depth(old, new), want, "{name}");
        }
    }

    #[test]
    fn ancestors_are_found_while_they_are_kept() {
        let tree = tree();
        let at = |tip, height| tree.ancestor_at(&tree.nodes[&tip], Height::new(height));
        assert_eq!(at(id(6, 2), 6), Some(id(6, 2)));
        assert_eq!(at(id(6, 2), 3), Some(id(3, 2)));
        assert_eq!(at(id(6, 2), 1), Some(id(1, 1)));
        assert_eq!(at(id(6, 2), 7), None);
        assert_eq!(at(id(2, 3), 1), None);
        assert_eq!(tree.branch(&tree.nodes[&id(6, 2)]).count(), 7);
    }
}
