//! The blocks that may still matter to a replica: from a little below the settled one up.

use std::sync::Arc;

use super::{Link, Standing, light::newest_settled};
use crate::{
    consensus::{
        BlockId, Encoder, ValidatorSet,
        branch_tree::{BranchNode, BranchTree, HeadMove},
    },
    primitives::{Address, Height, Timestamp},
};

/// Blocks kept below the settled one, so that late siblings are still judged.
const KEPT_BELOW_SETTLED: u64 = 128;

/// One judged block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::consensus) struct Node {
    pub(super) link: Link,
    pub(super) parent: BlockId,
    pub(super) author: Address,
    pub(super) standing: Standing,
}

impl Node {
    pub(super) fn genesis((block, timestamp): (BlockId, Timestamp), signers: ValidatorSet) -> Self {
        Self {
            link: Link::genesis(block, timestamp, signers),
            parent: BlockId::default(),
            author: Address::ZERO,
            standing: Standing { total_difficulty: 0, block, blocks_since_turn: 0 },
        }
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
    head: Arc<Node>,
    settled: BlockId,
}

impl Tree {
    /// A tree of one trusted block: genesis, or a head that was stored.
    pub(super) fn new(root: Node, settled: BlockId) -> Self {
        let head = Arc::new(root);
        Self { branches: BranchTree::new(head.clone()), head, settled }
    }

    /// The same with blocks below, so that a branch that parts there can still win.
    pub(super) fn with_ancestors(mut self, ancestors: Vec<Node>) -> Self {
        ancestors.into_iter().for_each(|node| self.branches.insert(Arc::new(node)));
        self
    }

    /// The parent of the lowest block that is kept.
    pub(super) fn lowest_parent(&self) -> BlockId {
        self.branches.nodes.get_min().map(|(_, node)| node.parent).unwrap_or_default()
    }

    /// The head's newest ancestors that are kept, itself the first.
    pub(super) fn newest(&self, count: usize) -> impl Iterator<Item = &Node> {
        self.branches.branch(&self.head).take(count)
    }

    pub(super) fn get(&self, block: &BlockId) -> Option<&Arc<Node>> {
        self.branches.get(block)
    }

    pub(super) const fn head(&self) -> &Arc<Node> {
        &self.head
    }

    pub(super) const fn settled(&self) -> BlockId {
        self.settled
    }

    /// Up to this height nothing is ever taken back: branches part at the lowest kept height at the earliest.
    pub(super) fn irreversible(&self) -> Height {
        self.oldest().parent().unwrap_or_default().min(self.settled.height)
    }

    /// The lowest height that is kept; blocks below it have no place any more.
    pub(super) fn oldest(&self) -> Height {
        self.branches.nodes.get_min().map_or(Height::GENESIS, |(block, _)| block.height)
    }

    /// Another block of `author` at this height.
    pub(super) fn sibling_by(&self, block: &BlockId, author: &Address) -> Option<BlockId> {
        let same_height = BlockId { height: block.height, hash: Default::default() }..;
        let siblings = self.branches.nodes.range(same_height).take_while(|(other, _)| other.height == block.height);
        siblings.filter(|(other, node)| *other != block && node.author == *author).map(|(other, _)| *other).next()
    }

    /// Adds a block whose parent is here and returns how the head moved, if it did.
    pub(super) fn insert(&mut self, node: Node) -> Option<HeadMove> {
        let node = Arc::new(node);
        self.branches.insert(node.clone());
        if !node.standing.beats(&self.head.standing) {
            return None;
        }
        let (old, new) = (self.head.link.block, node.link.block);
        let reorg_depth = self.branches.reorg_depth(&self.head, &node, self.oldest());
        self.head = node;
        let mut head_move = HeadMove { old, new, reorg_depth, forgotten: Vec::new() };
        if head_move.fork_height() < self.settled.height {
            self.settled = self.ancestor_at(head_move.fork_height());
        }
        head_move.forgotten = self.settle();
        Some(head_move)
    }

    /// The head's ancestor at `height`, or the parent of the lowest one that is kept.
    fn ancestor_at(&self, height: Height) -> BlockId {
        let above = self.branches.branch(&self.head).take_while(|node| node.link.block.height > height).last();
        above.map_or(self.head.link.block, |node| node.parent)
    }

    /// Moves the settled block up the head's branch and returns the blocks that are dropped.
    fn settle(&mut self) -> Vec<BlockId> {
        let signers = self.head.link.snapshot.signers().len();
        let newest =
            newest_settled(signers, self.branches.branch(&self.head).map(|node| (node.link.block, node.author)));
        if let Some(block) = newest.filter(|block| block.height > self.settled.height) {
            self.settled = block;
        }
        let mut forgotten = Vec::new();
        while let Some((block, _)) = self.branches.nodes.get_min() {
            if block.height.get() + KEPT_BELOW_SETTLED >= self.settled.height.get() {
                break;
            }
            let block = *block;
            self.branches.nodes.remove(&block);
            forgotten.push(block);
        }
        forgotten
    }

    pub(super) fn encode(&self, out: &mut Encoder) {
        out.list(self.branches.nodes.iter(), |out, (block, node)| {
            block.encode(out);
            out.hash(&node.parent.hash);
            out.timestamp(node.link.timestamp);
            out.address(&node.author);
            out.u128(node.standing.total_difficulty);
            out.u64(node.standing.blocks_since_turn);
            node.link.snapshot.encode(out);
        });
        self.head.link.block.encode(out);
        self.settled.encode(out);
    }
}
