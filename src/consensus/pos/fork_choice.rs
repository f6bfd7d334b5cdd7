//! LMD-GHOST fork choice.
//!
//! The rule is that of Ethereum's consensus specifications (phase 0, "Fork choice", there `get_head`): from the
//! justified checkpoint down, always to the child whose subtree has most weight of latest messages, plus the proposer boost;
//! ties go to the higher hash. Subtrees without a viable leaf are excluded (`filter_block_tree`), and so are the votes of
//! equivocating validators. Weights are summed from the leaves up once per choice, over an array in which parents come
//! before their children (as in "proto-array" implementations).

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

/// The part of a block that fork choice needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForkBlock {
    /// The block.
    pub block: BlockId,
    /// Hash of its parent.
    pub parent: B256,
    /// Slot of the block.
    pub slot: u64,
    /// Epoch of the block.
    pub epoch: u64,
    /// Checkpoint justified on its branch.
    pub justified: Checkpoint,
    /// Checkpoint justified on its branch if the epoch ended after this block.
    pub unrealized: Checkpoint,
}

/// The newest vote of a validator for a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LatestMessage {
    /// Epoch of the vote's target.
    pub epoch: u64,
    /// The head.
    pub block: B256,
}

/// Inputs of the choice of the head besides blocks and votes.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Checkpoint to start from.
    pub justified: Checkpoint,
    /// Epoch of the current slot.
    pub epoch: u64,
    /// Weights of the votes: the validators of the justified checkpoint.
    pub weights: &'a ValidatorSet,
    /// Weight added to the boosted block, in gwei.
    pub boost: u128,
}

/// Blocks, latest messages, equivocators and the boosted block.
#[derive(Clone, Debug)]
pub struct ForkChoice {
    /// Parents before children.
    blocks: Vec<Entry>,
    /// Whether each block is the child of the one before it, so that there is no fork.
    is_line: bool,
    index: BTreeMap<B256, usize>,
    votes: BTreeMap<Address, LatestMessage>,
    /// Newest vote of each validator that a block carries: at most as new as the one in `votes`.
    carried: BTreeMap<Address, LatestMessage>,
    equivocators: BTreeSet<Address>,
    boosted: Option<B256>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    block: ForkBlock,
    parent: Option<usize>,
}

impl ForkChoice {
    /// Returns a tree of one block.
    pub fn new(root: ForkBlock) -> Self {
        Self {
            blocks: vec![Entry { block: root, parent: None }],
            is_line: true,
            index: BTreeMap::from([(root.block.hash, 0)]),
            votes: BTreeMap::new(),
            carried: BTreeMap::new(),
            equivocators: BTreeSet::new(),
            boosted: None,
        }
    }

    /// Adds a block. Returns false when its parent is missing or it is in the tree already.
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

    /// Counts a vote if it is newer than its validator's last one (`update_latest_messages`) and returns whether it is.
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

    /// Counts a vote that a block carries, so that every replica with that block has it, as [`ForkChoice::vote`].
    pub fn vote_in_block(&mut self, validator: Address, message: LatestMessage) -> bool {
        if !self.equivocators.contains(&validator)
            && self.carried.get(&validator).is_none_or(|known| message.epoch > known.epoch)
        {
            self.carried.insert(validator, message);
        }
        self.vote(validator, message)
    }

    /// Drops the votes for epochs before `oldest` that no block carries; the newest carried vote of their validators counts
    /// instead.
    ///
    /// A message reaches only those to whom it was sent. Within two epochs it gets into a block, or will never: counted any
    /// longer, it would let replicas with the same blocks choose different heads for ever.
    pub fn expire_messages(&mut self, oldest: u64) {
        let is_expired = |(validator, message): &(&Address, &LatestMessage)| {
            message.epoch < oldest && self.carried.get(*validator) != Some(*message)
        };
        let expired: Vec<_> = self.votes.iter().filter(is_expired).map(|(validator, _)| *validator).collect();
        for validator in expired {
            match self.carried.get(&validator) {
                Some(message) => drop(self.votes.insert(validator, *message)),
                None => drop(self.votes.remove(&validator)),
            }
        }
    }

    /// Returns the newest vote of each validator that a block carries.
    pub const fn carried(&self) -> &BTreeMap<Address, LatestMessage> {
        &self.carried
    }

    /// Removes a validator's votes permanently (`on_attester_slashing`).
    pub fn discount(&mut self, equivocator: Address) {
        self.votes.remove(&equivocator);
        self.carried.remove(&equivocator);
        self.equivocators.insert(equivocator);
    }

    /// Returns the validators whose votes were removed.
    pub const fn equivocators(&self) -> &BTreeSet<Address> {
        &self.equivocators
    }

    /// Returns the newest vote of each validator.
    pub const fn votes(&self) -> &BTreeMap<Address, LatestMessage> {
        &self.votes
    }

    /// Sets the block that has the proposer boost, `None` at the start of a slot.
    pub const fn set_boost(&mut self, block: Option<B256>) {
        self.boosted = block;
    }

    /// Returns the block that has the proposer boost.
    pub const fn boosted(&self) -> Option<B256> {
        self.boosted
    }

    /// Returns the block with this hash.
    pub fn get(&self, hash: &B256) -> Option<&ForkBlock> {
        self.index.get(hash).map(|place| &self.blocks[*place].block)
    }

    /// Returns all blocks, parents first.
    pub fn blocks(&self) -> impl Iterator<Item = &ForkBlock> {
        self.blocks.iter().map(|entry| &entry.block)
    }

    /// Returns the newest block of `hash`'s branch at or before `slot` (`get_ancestor`).
    pub fn ancestor_at(&self, hash: &B256, slot: u64) -> Option<BlockId> {
        let mut place = *self.index.get(hash)?;
        while self.blocks[place].block.slot > slot {
            place = self.blocks[place].parent?;
        }
        Some(self.blocks[place].block.block)
    }

    /// Whether `ancestor` is `hash` or one of its ancestors.
    pub fn is_ancestor(&self, ancestor: &B256, hash: &B256) -> bool {
        let Some(slot) = self.get(ancestor).map(|block| block.slot) else { return false };
        self.ancestor_at(hash, slot).is_some_and(|found| found.hash == *ancestor)
    }

    /// Whether a branch without `head` has a block from slot `since` on, and has justified no checkpoint as new as `justified`.
    pub fn has_other_branch_behind(&self, head: &B256, justified: &Checkpoint, since: u64) -> bool {
        let is_behind = |block: &ForkBlock| {
            block.slot >= since
                && block.justified.epoch.max(block.unrealized.epoch) < justified.epoch
                && !self.is_ancestor(&block.block.hash, head)
        };
        !self.is_line && self.blocks().any(is_behind)
    }

    /// Returns the head (`get_head`): the justified block when it has no viable descendant, the root when the justified block is
    /// not in the tree.
    pub fn head(&self, view: &View<'_>) -> BlockId {
        let justified = self.index.get(&view.justified.block.hash).copied().unwrap_or_default();
        if self.is_line {
            let leaf = self.blocks.len() - 1;
            let head = if self.is_viable_leaf(leaf, view) { leaf } else { justified };
            return self.blocks[head].block.block;
        }
        // Weights are needed only where a block has siblings.
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

    /// Removes all blocks that do not descend from `root`, after finality.
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

    /// Returns the weight of the votes for each block and its descendants, with the boost (`get_weight`).
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

    /// Returns whether each block has a viable leaf. All blocks descend from the finalized checkpoint.
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

    /// Whether a leaf may be the head: its branch has justified the justified checkpoint or a recent one
    /// (`filter_block_tree`).
    fn is_viable_leaf(&self, place: usize, view: &View<'_>) -> bool {
        let block = &self.blocks[place].block;
        let source = if view.epoch > block.epoch { block.unrealized } else { block.justified };
        view.justified.epoch == 0
            || mutation::active(Mutation::PosIgnoresViability)
            || source.epoch == view.justified.epoch
            || source.epoch.saturating_add(2) >= view.epoch
    }

    pub(super) fn encode(&self, out: &mut Encoder) {
        // Hashes determine the blocks and whether there is a fork.
        let Self { blocks: _, is_line: _, index, votes, carried, equivocators, boosted } = self;
        out.list(index.keys(), |out, hash| out.hash(hash));
        encode_messages(votes, out);
        encode_messages(carried, out);
        out.list(equivocators.iter(), |out, validator| out.address(validator));
        out.option(boosted.as_ref(), |out, hash| out.hash(hash));
    }
}

pub(super) fn encode_messages(messages: &BTreeMap<Address, LatestMessage>, out: &mut Encoder) {
    out.list(messages.iter(), |out, (validator, LatestMessage { epoch, block })| {
        out.address(validator);
        out.u64(*epoch);
        out.hash(block);
    });
}

#[cfg(test)]
mod tests;
