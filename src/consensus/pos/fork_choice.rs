//! LMD-GHOST: which block is the head.
//!
//! The rule is that of Ethereum's consensus specifications (phase 0, "Fork choice", there `get_head`): from the
//! justified checkpoint down, always to the child whose subtree has most weight of latest messages, plus the proposer boost;
//! ties go to the higher hash. Subtrees without a viable leaf are left out (`filter_block_tree`), and whoever was seen
//! to equivocate counts nowhere. Weights are summed up the tree once for each question, over an array in which parents
//! come before their children (as "proto-array" implementations do).

use core::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};

use super::Checkpoint;
use crate::{
    consensus::{
        BlockId, Encoder, ValidatorSet,
        mutation::{self, Mutation},
    },
    primitives::{Address, B256},
};

/// What the rule needs of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForkBlock {
    /// The block.
    pub block: BlockId,
    /// Its parent's hash.
    pub parent: B256,
    /// Its slot.
    pub slot: u64,
    /// Its epoch.
    pub epoch: u64,
    /// What it holds for justified.
    pub justified: Checkpoint,
    /// What it would hold for justified if its epoch ended with it.
    pub unrealized: Checkpoint,
}

/// The newest vote of a validator for a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LatestMessage {
    /// Its target's epoch.
    pub epoch: u64,
    /// The head.
    pub block: B256,
}

/// What a question about the head depends upon besides blocks and votes.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// From where to look.
    pub justified: Checkpoint,
    /// The epoch of the present slot.
    pub epoch: u64,
    /// Who counts, and how much: the set of the justified checkpoint.
    pub weights: &'a ValidatorSet,
    /// What the boosted block has on top.
    pub boost: u128,
}

/// Blocks, latest messages, equivocators and the boosted block.
#[derive(Clone, Debug)]
pub struct ForkChoice {
    /// Parents before children.
    blocks: Vec<Entry>,
    /// Whether each is the child of the one before it, as mostly.
    is_line: bool,
    index: BTreeMap<B256, usize>,
    votes: BTreeMap<Address, LatestMessage>,
    equivocators: BTreeSet<Address>,
    boosted: Option<B256>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    block: ForkBlock,
    parent: Option<usize>,
}

impl ForkChoice {
    /// A tree of one block.
    pub fn new(root: ForkBlock) -> Self {
        Self {
            blocks: vec![Entry { block: root, parent: None }],
            is_line: true,
            index: BTreeMap::from([(root.block.hash, 0)]),
            votes: BTreeMap::new(),
            equivocators: BTreeSet::new(),
            boosted: None,
        }
    }

    /// Adds a block; answers whether its parent is here and it was not.
    pub fn insert(&mut self, block: ForkBlock) -> bool {
        let Some(parent) = self.index.get(&block.parent).copied() else { return false };
        if self.index.contains_key(&block.block.hash) {
            return false;
        }
        self.is_line &= parent + 1 == self.blocks.len();
        self.index.insert(block.block.hash, self.blocks.len());
        self.blocks.push(Entry { block, parent: Some(parent) });
        true
    }

    /// Counts a vote if it is newer than what its validator said before (`update_latest_messages`).
    pub fn vote(&mut self, validator: Address, message: LatestMessage) -> bool {
        if self.equivocators.contains(&validator) {
            return false;
        }
        let is_newer = self.votes.get(&validator).is_none_or(|known| message.epoch > known.epoch);
        if is_newer {
            self.votes.insert(validator, message);
        }
        is_newer
    }

    /// Takes a validator's votes out for good (`on_attester_slashing`).
    pub fn discount(&mut self, equivocator: Address) {
        self.votes.remove(&equivocator);
        self.equivocators.insert(equivocator);
    }

    /// Who was discounted.
    pub const fn equivocators(&self) -> &BTreeSet<Address> {
        &self.equivocators
    }

    /// The newest vote of each validator.
    pub const fn votes(&self) -> &BTreeMap<Address, LatestMessage> {
        &self.votes
    }

    /// Gives a block the proposer boost, until the next slot takes it away with `None`.
    pub const fn set_boost(&mut self, block: Option<B256>) {
        self.boosted = block;
    }

    /// The block that has the proposer boost.
    pub const fn boosted(&self) -> Option<B256> {
        self.boosted
    }

    /// The block with this hash.
    pub fn get(&self, hash: &B256) -> Option<&ForkBlock> {
        self.index.get(hash).map(|place| &self.blocks[*place].block)
    }

    /// All blocks, parents first.
    pub fn blocks(&self) -> impl Iterator<Item = &ForkBlock> {
        self.blocks.iter().map(|entry| &entry.block)
    }

    /// The newest block of `hash`'s branch at `slot` or before it (`get_ancestor`).
    pub fn ancestor_at(&self, hash: &B256, slot: u64) -> Option<BlockId> {
        let mut place = *self.index.get(hash)?;
        while self.blocks[place].block.slot > slot {
            place = self.blocks[place].parent?;
        }
        Some(self.blocks[place].block.block)
    }

    /// Whether `ancestor` is `hash` or above which it is built.
    pub fn is_ancestor(&self, ancestor: &B256, hash: &B256) -> bool {
        let Some(slot) = self.get(ancestor).map(|block| block.slot) else { return false };
        self.ancestor_at(hash, slot).is_some_and(|found| found.hash == *ancestor)
    }

    /// The head (`get_head`); the justified block itself when nothing below it is viable, the root when that block is not
    /// here.
    pub fn head(&self, view: &View<'_>) -> BlockId {
        let justified = self.index.get(&view.justified.block.hash).copied().unwrap_or_default();
        if self.is_line {
            let leaf = self.blocks.len() - 1;
            let head = if self.is_viable_leaf(leaf, view) { leaf } else { justified };
            return self.blocks[head].block.block;
        }
        // Only siblings are weighed against each other.
        let weights = LazyCell::new(|| self.subtree_weights(view));
        let viable = self.viable(view);
        let mut best: Vec<Option<usize>> = vec![None; self.blocks.len()];
        for (place, entry) in self.blocks.iter().enumerate().filter(|(place, _)| viable[*place]) {
            let Some(parent) = entry.parent else { continue };
            let rank = |place: usize| (weights[place], self.blocks[place].block.block.hash);
            if best[parent].is_none_or(|known| rank(place) > rank(known)) {
                best[parent] = Some(place);
            }
        }
        let mut head = justified;
        while let Some(child) = best[head] {
            head = child;
        }
        self.blocks[head].block.block
    }

    /// Drops everything that is not built upon `root` (finality).
    pub fn prune(&mut self, root: &B256) {
        let Some(root) = self.index.get(root).copied() else { return };
        let mut moved: Vec<Option<usize>> = vec![None; self.blocks.len()];
        let mut kept = Vec::new();
        for (place, entry) in self.blocks.iter().enumerate() {
            let parent = entry.parent.and_then(|parent| moved[parent]);
            if place == root || parent.is_some() {
                moved[place] = Some(kept.len());
                kept.push(Entry { parent, ..*entry });
            }
        }
        self.is_line =
            kept.iter().enumerate().all(|(place, entry)| entry.parent.is_none_or(|parent| parent + 1 == place));
        self.blocks = kept;
        self.index = self.blocks.iter().enumerate().map(|(place, entry)| (entry.block.block.hash, place)).collect();
        if self.boosted.is_some_and(|boosted| !self.index.contains_key(&boosted)) {
            self.boosted = None;
        }
    }

    /// Weight of votes for each block or anything built upon it, with the boost (`get_weight`).
    fn subtree_weights(&self, view: &View<'_>) -> Vec<u128> {
        let mut weights = vec![0_u128; self.blocks.len()];
        for (validator, message) in &self.votes {
            let member = view.weights.index_of(validator).map(|place| view.weights.members()[place]);
            if let (Some(member), Some(place)) = (member, self.index.get(&message.block)) {
                weights[*place] += u128::from(member.weight);
            }
        }
        if let Some(place) = self.boosted.and_then(|boosted| self.index.get(&boosted)) {
            weights[*place] += view.boost;
        }
        for place in (0..self.blocks.len()).rev() {
            if let Some(parent) = self.blocks[place].parent {
                weights[parent] += weights[place];
            }
        }
        weights
    }

    /// Blocks with a viable leaf upon them. Everything here is built upon the finalised checkpoint already.
    fn viable(&self, view: &View<'_>) -> Vec<bool> {
        let mut has_child = vec![false; self.blocks.len()];
        let mut viable = vec![false; self.blocks.len()];
        for place in (0..self.blocks.len()).rev() {
            if !has_child[place] {
                viable[place] = self.is_viable_leaf(place, view);
            }
            if let Some(parent) = self.blocks[place].parent {
                has_child[parent] = true;
                viable[parent] |= viable[place];
            }
        }
        viable
    }

    /// Whether a leaf's vote would count: it knows the justified checkpoint, or at least a recent one (`filter_block_tree`).
    fn is_viable_leaf(&self, place: usize, view: &View<'_>) -> bool {
        let block = &self.blocks[place].block;
        let source = if view.epoch > block.epoch { block.unrealized } else { block.justified };
        view.justified.epoch == 0
            || mutation::active(Mutation::PosIgnoresViability)
            || source.epoch == view.justified.epoch
            || source.epoch.saturating_add(2) >= view.epoch
    }

    pub(super) fn encode(&self, out: &mut Encoder) {
        // Hashes stand for their blocks, which the index is in the order of; whether they make one line follows from them.
        let Self { blocks: _, is_line: _, index, votes, equivocators, boosted } = self;
        out.list(index.keys(), |out, hash| out.hash(hash));
        out.list(votes.iter(), |out, (validator, message)| {
            out.address(validator);
            out.u64(message.epoch);
            out.hash(&message.block);
        });
        out.list(equivocators.iter(), |out, validator| out.address(validator));
        out.option(boosted.as_ref(), |out, hash| out.hash(hash));
    }
}

#[cfg(test)]
mod tests;
