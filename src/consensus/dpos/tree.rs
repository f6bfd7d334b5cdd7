//! Verified blocks of all branches, from the last irreversible one up.

use std::sync::Arc;

use imbl::{OrdMap, OrdSet};

use super::{Confirmation, ConflictingBlocks, DposConfig, ForkChoiceKey, HeaderContext};
use crate::{
    consensus::{
        BlockId, Encoder, SealedHeader,
        branch_tree::{BranchNode, BranchTree, HeadMove},
        in_force::InForce,
        mutation::{self, Mutation},
    },
    primitives::{Address, B256, Height},
};

/// Most blocks of one author kept outside the head's branch, until a block becomes irreversible. No author takes the room of others.
pub(super) const SIDE_BLOCKS_PER_AUTHOR_MAX: u64 = 4_096;
/// Most blocks kept of one author in one slot: two are evidence. Of one with evidence against it the first is kept, and one that is better than
/// the head. More are kept only where another block waits for them, or a peer's chain was asked for and has them; where nothing moves, a better one
/// takes the place of another.
pub(super) const SAME_SLOT_BLOCKS_MAX: usize = 2;

/// A verified block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) context: HeaderContext,
    pub(super) parent: BlockId,
    pub(super) author: Address,
    /// Header, payload and seal; `None` for the block that the replica started at.
    pub(super) sealed: Option<Arc<SealedHeader>>,
}

impl Node {
    pub(super) fn fork_choice_key(&self) -> ForkChoiceKey {
        let HeaderContext { block, slot, state, .. } = &self.context;
        let (rule, irreversible) = (state.progress().rule(), state.progress().irreversible());
        ForkChoiceKey { rule, prepared: state.prepared(), irreversible, block: *block, slot: *slot }
    }

    fn slot_id(&self, config: &DposConfig) -> u64 {
        config.slot_id(self.context.slot, self.context.timestamp)
    }

    /// Returns the vote of the block; `None` where it confirms nothing, and for the block that the replica started at.
    fn vote(&self) -> Option<Confirmation> {
        Confirmation::of_header(&self.sealed.as_ref()?.header).ok()?
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

/// Verified blocks by height, hash, slot and author, the head, and the last irreversible block. Cloning is O(1).
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tree {
    branches: BranchTree<Node>,
    /// Blocks by [`DposConfig::slot_id`].
    slots: OrdSet<(u64, BlockId)>,
    /// Parameters of genesis, which identify slots.
    config: DposConfig,
    /// Number of blocks kept, by author.
    authors: OrdMap<Address, u64>,
    /// Votes of confirming blocks, by author and block.
    votes: OrdMap<(Address, BlockId), Confirmation>,
    head: Arc<Node>,
    root: BlockId,
    finalized: BlockId,
}

impl Tree {
    /// Returns a tree of one trusted block: genesis, a last irreversible block, or a stored head above `finalized`.
    pub(super) fn new(config: &DposConfig, root: Node, finalized: BlockId) -> Self {
        let (block, head) = (root.context.block, Arc::new(root));
        let slots = OrdSet::unit((head.slot_id(config), block));
        let branches = BranchTree::new(head.clone());
        let authors = OrdMap::unit(head.author, 1);
        Self { branches, slots, config: *config, authors, votes: OrdMap::new(), head, root: block, finalized }
    }

    pub(super) fn get(&self, block: &BlockId) -> Option<&Arc<Node>> {
        self.branches.get(block)
    }

    pub(super) const fn head(&self) -> &Arc<Node> {
        &self.head
    }

    /// Returns the lowest block that is kept; blocks at or below its height are rejected.
    pub(super) const fn root(&self) -> BlockId {
        self.root
    }

    /// Returns the last irreversible block.
    pub(super) const fn finalized(&self) -> BlockId {
        self.finalized
    }

    /// Returns the number of blocks outside the head's branch.
    pub(super) fn side_blocks(&self) -> u64 {
        let branch = self.head.context.block.height.get() - self.root.height.get() + 1;
        (self.branches.nodes.len() as u64).saturating_sub(branch)
    }

    /// Returns the number of blocks of an author outside the head's branch.
    pub(super) fn side_blocks_of(&self, author: Address) -> u64 {
        let kept = self.authors.get(&author).copied().unwrap_or_default();
        // The head's branch is counted only where it matters.
        if kept < SIDE_BLOCKS_PER_AUTHOR_MAX {
            return 0;
        }
        kept - self.branches.branch(&self.head).filter(|node| node.author == author).count() as u64
    }

    /// Returns a block of the author outside the head's branch on which nothing is built: the highest one.
    pub(super) fn side_leaf_of(&self, author: Address) -> Option<BlockId> {
        let of_author = self.branches.nodes.iter().rev().filter(|(_, node)| node.author == author);
        let mut blocks = of_author.map(|(block, _)| *block);
        blocks.find(|block| *block != self.head.context.block && *block != self.root && !self.has_child(block))
    }

    fn has_child(&self, block: &BlockId) -> bool {
        let height = block.height.next();
        let above = self.branches.nodes.range(BlockId { height, hash: B256::ZERO }..);
        above.take_while(|(id, _)| id.height == height).any(|(_, node)| node.parent == *block)
    }

    /// Returns the blocks of the head's author in the head's slot on which nothing is built, other than the head.
    pub(super) fn twins_without_children(&self, head: &Node) -> Vec<BlockId> {
        let same_slot = self.blocks_of_slot(head.slot_id(&self.config), head.author).map(|node| node.context.block);
        let is_twin = |block: &BlockId| *block != head.context.block && *block != self.root && !self.has_child(block);
        same_slot.filter(is_twin).collect()
    }

    /// Drops a block on which nothing is built.
    pub(super) fn drop_leaf(&mut self, leaf: &BlockId) {
        self.forget(leaf);
    }

    /// Iterates over the blocks of an author in a slot, on all branches.
    pub(super) fn blocks_of_slot(&self, slot: u64, author: Address) -> impl Iterator<Item = &Arc<Node>> {
        let same_slot = self.slots.range((slot, BlockId::default())..).take_while(move |(other, _)| *other == slot);
        let blocks = same_slot.filter_map(|(_, block)| self.branches.get(block));
        blocks.filter(move |block| block.author == author)
    }

    /// Returns another block of the same author in the same slot.
    fn same_slot_block(&self, node: &Node) -> Option<&Arc<Node>> {
        let mut blocks = self.blocks_of_slot(node.slot_id(&self.config), node.author);
        blocks.find(|block| block.context.block != node.context.block)
    }

    /// Returns a block of the same author whose vote contradicts the one of `node`. The votes of a producer that keeps to the rules rise in
    /// height and in what they imply, so that the neighbours by height are enough.
    fn conflicting_vote(&self, node: &Node) -> Option<&Arc<Node>> {
        let vote = node.vote().filter(|_| !mutation::active(Mutation::DposReportsSlotsAlone))?;
        let height = node.context.block.height;
        let of_author = |from: Height| {
            let from = BlockId { height: from, hash: B256::ZERO };
            self.votes.range((node.author, from)..).take_while(|((author, _), _)| *author == node.author)
        };
        let mut lower = self.votes.range(..(node.author, BlockId { height: vote.first(height), hash: B256::ZERO }));
        let lower = lower.next_back().filter(|((author, _), _)| *author == node.author);
        let others = lower.into_iter().chain(of_author(vote.first(height)).take(2));
        let conflicts = |((_, block), other): &(&(Address, BlockId), &Confirmation)| {
            *block != node.context.block && Confirmation::conflict((block.height, **other), (height, vote)).is_some()
        };
        others.filter(conflicts).find_map(|((_, block), _)| self.branches.get(block))
    }

    /// Returns a block of the same author that contradicts `node`, and the mark of such a contradiction.
    pub(super) fn conflicting_block(&self, node: &Node) -> Option<(&Arc<Node>, &'static str)> {
        let same_slot = self.same_slot_block(node).map(|known| (known, "dpos/double-production"));
        same_slot.or_else(|| Some((self.conflicting_vote(node)?, "dpos/conflicting-votes")))
    }

    /// Returns the evidence that two blocks of one author are, with the slot and the author that it is kept under; `None` where a
    /// header is not kept, and for what is no offence under the chain's finality rule.
    pub(super) fn proof_of(&self, one: &Node, other: &Node) -> Option<((u64, Address), Arc<ConflictingBlocks>)> {
        let sealed = |node: &Node| node.sealed.as_ref().map(|sealed| (sealed.header.clone(), sealed.seal.clone()));
        let proof = ConflictingBlocks::new(sealed(one)?, sealed(other)?);
        proof.conflict(&self.config)?;
        Some(((one.slot_id(&self.config).max(other.slot_id(&self.config)), other.author), Arc::new(proof)))
    }

    /// Returns the block of `author` at `height` that confirms something.
    pub(super) fn confirming_block(&self, author: Address, height: Height) -> Option<&Arc<Node>> {
        let from = (author, BlockId { height, hash: B256::ZERO });
        let ((of, block), _) = self.votes.range(from..).next()?;
        self.branches.get(block).filter(|_| *of == author && block.height == height)
    }

    /// Whether the branch that ends in `tip` includes `block`; true for any block at or below the root's height.
    pub(super) fn has_ancestor(&self, tip: &Node, block: BlockId) -> bool {
        block.height <= self.root.height || self.ancestor_at(tip, block.height) == Some(block)
    }

    /// Returns the block at `height` of the branch that ends in `tip`, if it is kept.
    pub(super) fn ancestor_at(&self, tip: &Node, height: Height) -> Option<BlockId> {
        self.branches.ancestor_at(tip, height)
    }

    /// Adds a block whose parent is in the tree and returns the move of the head, if any.
    pub(super) fn insert(&mut self, node: Node) -> Option<HeadMove> {
        let node = Arc::new(node);
        self.slots.insert((node.slot_id(&self.config), node.context.block));
        *self.authors.entry(node.author).or_default() += 1;
        if let Some(vote) = node.vote() {
            self.votes.insert((node.author, node.context.block), vote);
        }
        self.branches.insert(node.clone());
        if !node.fork_choice_key().beats(&self.head.fork_choice_key()) {
            return None;
        }
        let (old, new) = (self.head.context.block, node.context.block);
        let reorg_depth = self.branches.reorg_depth(&self.head, &node, self.root.height);
        self.head = node;
        Some(HeadMove { old, new, reorg_depth, forgotten: self.settle() })
    }

    /// Advances the last irreversible block on the head's branch and returns the blocks that are dropped.
    fn settle(&mut self) -> Vec<BlockId> {
        let irreversible = self.ancestor_at(&self.head, self.head.context.state.progress().irreversible());
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

    /// Drops all blocks outside the head's branch.
    pub(super) fn drop_side_blocks(&mut self) {
        let branch: OrdSet<BlockId> = self.branches.branch(&self.head).map(|node| node.context.block).collect();
        let side: Vec<_> = self.branches.nodes.keys().copied().filter(|block| !branch.contains(block)).collect();
        side.iter().for_each(|block| self.forget(block));
    }

    fn forget(&mut self, block: &BlockId) {
        if let Some(node) = self.branches.nodes.remove(block) {
            self.slots.remove(&(node.slot_id(&self.config), *block));
            self.votes.remove(&(node.author, *block));
            if let Some(kept) = self.authors.get_mut(&node.author) {
                *kept -= 1;
            }
            if self.authors.get(&node.author) == Some(&0) {
                self.authors.remove(&node.author);
            }
        }
    }

    pub(super) fn encode(&self, out: &mut Encoder) {
        // Slots, authors and votes follow from the nodes.
        let Self { branches: BranchTree { nodes }, slots: _, config: _, authors: _, votes: _, head, root, finalized } =
            self;
        out.list(nodes.iter(), |out, (block, node)| {
            let Node { context, parent, author, sealed } = node.as_ref();
            block.encode(out);
            out.hash(&parent.hash);
            out.address(author);
            out.bool(sealed.is_some());
            context.encode(out);
        });
        [&head.context.block, root, finalized].into_iter().for_each(|block| block.encode(out));
        nodes.values().for_each(|node| InForce::encode_at_end(node.context.in_force.as_ref(), out));
    }
}
