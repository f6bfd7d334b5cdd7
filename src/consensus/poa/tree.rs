//! Verified blocks of all branches, from 128 blocks below the settled one up.

use std::sync::Arc;

use super::{ForkChoiceKey, HeaderContext, light::newest_settled};
use crate::{
    consensus::{
        BlockId, Encoder, ValidatorSet,
        branch_tree::{BranchNode, BranchTree, HeadMove},
    },
    primitives::{Address, Height, Timestamp},
    system::ParameterUpdates,
};

/// Number of heights kept below the settled block, so that late siblings can still be verified.
const KEPT_BELOW_SETTLED: u64 = 128;

/// A verified block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::consensus) struct Node {
    pub(super) context: HeaderContext,
    pub(super) parent: BlockId,
    pub(super) author: Address,
    pub(super) fork_choice_key: ForkChoiceKey,
}

impl Node {
    pub(super) fn genesis((block, timestamp): (BlockId, Timestamp), signers: ValidatorSet) -> Self {
        Self {
            context: HeaderContext::genesis(block, timestamp, signers),
            parent: BlockId::default(),
            author: Address::ZERO,
            fork_choice_key: ForkChoiceKey { total_difficulty: 0, block, blocks_since_turn: 0 },
        }
    }
}

impl BranchNode for Node {
    type Key = BlockId;

    fn block(&self) -> BlockId {
        self.context.block
    }

    fn key(&self) -> BlockId {
        self.context.block
    }

    fn parent_key(&self) -> BlockId {
        self.parent
    }
}

/// Verified blocks by height and hash, the head, and the settled block. Cloning is O(1).
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tree {
    branches: BranchTree<Node>,
    head: Arc<Node>,
    settled: BlockId,
}

impl Tree {
    /// Returns a tree of one trusted block: genesis or a stored head.
    pub(super) fn new(root: Node, settled: BlockId) -> Self {
        let head = Arc::new(root);
        Self { branches: BranchTree::new(head.clone()), head, settled }
    }

    /// Adds ancestors of the root, so that a branch that forks there can still win.
    pub(super) fn with_ancestors(mut self, ancestors: Vec<Node>) -> Self {
        ancestors.into_iter().for_each(|node| self.branches.insert(Arc::new(node)));
        self
    }

    /// Returns the parent of the lowest block that is kept.
    pub(super) fn lowest_parent(&self) -> BlockId {
        self.branches.nodes.get_min().map(|(_, node)| node.parent).unwrap_or_default()
    }

    /// Returns up to `count` kept blocks of the head's branch, newest first, beginning with the head.
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

    /// Returns the height up to which no block is ever reverted: no kept branch forks below the lowest kept height.
    pub(super) fn irreversible(&self) -> Height {
        self.oldest().parent().unwrap_or_default().min(self.settled.height)
    }

    /// Returns the lowest height that is kept; blocks at or below it are rejected.
    pub(super) fn oldest(&self) -> Height {
        self.branches.nodes.get_min().map_or(Height::GENESIS, |(block, _)| block.height)
    }

    /// Returns the blocks at a height.
    pub(super) fn at_height(&self, height: Height) -> impl Iterator<Item = &Node> {
        self.branches.nodes.range(BlockId::range_at(height)).map(|(_, node)| node.as_ref())
    }

    /// Returns another block of the same author on the same parent: no honest signer makes two.
    pub(super) fn twin_of(&self, node: &Node) -> Option<BlockId> {
        let is_twin = |other: &&Node| {
            (other.author, other.parent) == (node.author, node.parent) && other.context.block != node.context.block
        };
        self.at_height(node.context.block.height).find(is_twin).map(|other| other.context.block)
    }

    /// Adds a block whose parent is in the tree and returns the move of the head, if any.
    pub(super) fn insert(&mut self, node: Node) -> Option<HeadMove> {
        let node = Arc::new(node);
        self.branches.insert(node.clone());
        if !node.fork_choice_key.beats(&self.head.fork_choice_key) {
            return None;
        }
        let (old, new) = (self.head.context.block, node.context.block);
        let reorg_depth = self.branches.reorg_depth(&self.head, &node, self.oldest());
        self.head = node;
        let mut head_move = HeadMove { old, new, reorg_depth, forgotten: Vec::new() };
        if head_move.fork_height() < self.settled.height {
            self.settled = self.ancestor_at(head_move.fork_height());
        }
        head_move.forgotten = self.settle();
        Some(head_move)
    }

    /// Returns the head's ancestor at `height`, or the parent of the lowest one that is kept.
    fn ancestor_at(&self, height: Height) -> BlockId {
        let above = self.branches.branch(&self.head).take_while(|node| node.context.block.height > height).last();
        above.map_or(self.head.context.block, |node| node.parent)
    }

    /// Moves the settled block up the head's branch and returns the blocks that are dropped.
    fn settle(&mut self) -> Vec<BlockId> {
        let signers = self.head.context.snapshot.signers().len();
        let newest =
            newest_settled(signers, self.branches.branch(&self.head).map(|node| (node.context.block, node.author)));
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
        let Self { branches: BranchTree { nodes }, head, settled } = self;
        out.list(nodes.iter(), |out, (block, node)| {
            let Node { context, parent, author, fork_choice_key } = node.as_ref();
            let HeaderContext { block: _, timestamp, snapshot, parameters: _, pending: _ } = context;
            let ForkChoiceKey { total_difficulty, block: _, blocks_since_turn } = fork_choice_key;
            block.encode(out);
            out.hash(&parent.hash);
            out.timestamp(*timestamp);
            out.address(author);
            out.u128(*total_difficulty);
            out.u64(*blocks_since_turn);
            snapshot.encode(out);
        });
        head.context.block.encode(out);
        settled.encode(out);
        for node in nodes.values().filter(|node| !node.context.parameters.is_empty()) {
            node.context.block.encode(out);
            out.parameters_at_end(&node.context.parameters);
        }
        for node in nodes.values() {
            if let Some(pending) = node.context.pending.as_ref().filter(|pending| !pending.is_empty()) {
                node.context.block.encode(out);
                out.updates_at_end(pending, &ParameterUpdates::NONE);
            }
        }
    }
}
