//! The blocks that may still matter to a replica: from a little below the settled one up.

use std::sync::Arc;

use imbl::OrdMap;

use super::{Link, Standing, light::newest_settled};
use crate::{
    consensus::{BlockId, Encoder, ValidatorSet},
    primitives::{Address, Height, Timestamp},
};

/// Blocks kept below the settled one, so that late siblings are still judged.
const KEPT_BELOW_SETTLED: u64 = 128;

/// One judged block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
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

/// How the head moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Moved {
    /// How many blocks were left; 0 when the branch only grew.
    pub(super) reorg_depth: u64,
    /// Whether the settled block was among them: its advice was wrong.
    pub(super) left_settled: bool,
    /// Blocks that are too deep to matter now, on whatever branch.
    pub(super) forgotten: Vec<BlockId>,
}

/// Judged blocks by height and hash. Cloning is O(1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tree {
    nodes: OrdMap<BlockId, Arc<Node>>,
    head: Arc<Node>,
    settled: BlockId,
}

impl Tree {
    /// A tree of one trusted block: genesis, or a head that was stored.
    pub(super) fn new(root: Node, settled: BlockId) -> Self {
        let (block, head) = (root.link.block, Arc::new(root));
        Self { nodes: OrdMap::unit(block, head.clone()), head, settled }
    }

    /// The same with blocks below, so that a branch that parts there can still win.
    pub(super) fn with_ancestors(mut self, ancestors: Vec<Node>) -> Self {
        self.nodes.extend(ancestors.into_iter().map(|node| (node.link.block, Arc::new(node))));
        self
    }

    /// The parent of the lowest block that is kept.
    pub(super) fn lowest_parent(&self) -> BlockId {
        self.nodes.get_min().map(|(_, node)| node.parent).unwrap_or_default()
    }

    /// The head's newest ancestors that are kept, itself the first.
    pub(super) fn newest(&self, count: usize) -> impl Iterator<Item = &Node> {
        self.branch(&self.head).take(count)
    }

    pub(super) fn get(&self, block: &BlockId) -> Option<&Arc<Node>> {
        self.nodes.get(block)
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
        self.nodes.get_min().map_or(Height::GENESIS, |(block, _)| block.height)
    }

    /// Another block of `author` at this height.
    pub(super) fn sibling_by(&self, block: &BlockId, author: &Address) -> Option<BlockId> {
        let same_height = BlockId { height: block.height, hash: Default::default() }..;
        let siblings = self.nodes.range(same_height).take_while(|(other, _)| other.height == block.height);
        siblings.filter(|(other, node)| *other != block && node.author == *author).map(|(other, _)| *other).next()
    }

    /// Adds a block whose parent is here; answers how the head moved, if it did.
    pub(super) fn insert(&mut self, node: Node) -> Option<Moved> {
        let node = Arc::new(node);
        self.nodes.insert(node.link.block, node.clone());
        if !node.standing.beats(&self.head.standing) {
            return None;
        }
        let reorg_depth = self.depth_left(&node);
        let fork = self.head.link.block.height.get() - reorg_depth;
        let left_settled = fork < self.settled.height.get();
        self.head = node;
        if left_settled {
            self.settled = self.ancestor_at(Height::new(fork));
        }
        Some(Moved { reorg_depth, left_settled, forgotten: self.settle() })
    }

    /// The head's ancestor at `height`, or the parent of the lowest one that is kept.
    fn ancestor_at(&self, height: Height) -> BlockId {
        let above = self.branch(&self.head).take_while(|node| node.link.block.height > height).last();
        above.map_or(self.head.link.block, |node| node.parent)
    }

    /// The head and its kept ancestors, newest first.
    fn branch(&self, from: &Arc<Node>) -> impl Iterator<Item = &Node> {
        let start = self.nodes.get(&from.link.block);
        core::iter::successors(start, |node| self.nodes.get(&node.parent)).map(Arc::as_ref)
    }

    /// How many blocks of the present branch are no ancestors of `new`.
    fn depth_left(&self, new: &Arc<Node>) -> u64 {
        let old = self.head.link.block;
        if new.parent == old {
            return 0;
        }
        let mut theirs = self.branch(new).map(|node| node.link.block).peekable();
        for ours in self.branch(&self.head).map(|node| node.link.block) {
            while theirs.next_if(|block| block.height > ours.height).is_some() {}
            if theirs.peek() == Some(&ours) {
                return old.height.get() - ours.height.get();
            }
        }
        old.height.get() - self.oldest().get()
    }

    /// Settles what can be; answers which blocks are forgotten.
    fn settle(&mut self) -> Vec<BlockId> {
        let signers = self.head.link.snapshot.signers().len();
        let newest = newest_settled(signers, self.branch(&self.head).map(|node| (node.link.block, node.author)));
        if let Some(block) = newest.filter(|block| block.height > self.settled.height) {
            self.settled = block;
        }
        let mut forgotten = Vec::new();
        while let Some((block, _)) = self.nodes.get_min() {
            if block.height.get() + KEPT_BELOW_SETTLED >= self.settled.height.get() {
                break;
            }
            let block = *block;
            self.nodes.remove(&block);
            forgotten.push(block);
        }
        forgotten
    }

    pub(super) fn encode(&self, out: &mut Encoder) {
        out.list(self.nodes.iter(), |out, (block, node)| {
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
