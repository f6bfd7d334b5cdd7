//! Verified blocks of all branches, from the final checkpoint up.

use std::sync::Arc;

use super::{
    Casper, Checkpoint, ForkChoice, HeaderContext, LatestMessage, PosConfig, State, View, fork_choice::ForkBlock,
};
use crate::{
    consensus::{
        BlockId, Encoder, ValidatorSet,
        branch_tree::{BranchNode, BranchTree, HeadMove},
        mutation::{self, Mutation},
    },
    primitives::{Address, B256},
};

/// A verified block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) context: HeaderContext,
    pub(super) parent: B256,
    /// Checkpoints of the branch if the epoch ended after this block.
    pub(super) unrealized: Casper,
}

impl Node {
    pub(super) fn new(context: HeaderContext, parent: B256) -> Self {
        let unrealized = context.state.unrealized();
        Self { context, parent, unrealized }
    }

    fn fork_block(&self) -> ForkBlock {
        let state = &self.context.state;
        ForkBlock {
            block: self.context.block,
            parent: self.parent,
            slot: state.slot,
            epoch: state.epoch(),
            justified: state.casper.justified,
            unrealized: self.unrealized.justified,
        }
    }
}

impl BranchNode for Node {
    type Key = B256;

    fn block(&self) -> BlockId {
        self.context.block
    }

    fn key(&self) -> B256 {
        self.context.block.hash
    }

    fn parent_key(&self) -> B256 {
        self.parent
    }
}

/// Verified blocks, their votes, and the replica's justified and final checkpoints (`Store` in the specifications).
#[derive(Clone, Debug)]
pub(super) struct Tree {
    branches: BranchTree<Node>,
    pub(super) forks: ForkChoice,
    root: BlockId,
    head: BlockId,
    pub(super) justified: Checkpoint,
    pub(super) finalized: Checkpoint,
    /// Newest checkpoints that any branch would justify and finalize; in force from the end of the epoch.
    pub(super) unrealized: [Checkpoint; 2],
    /// Weights for fork choice: the validators of the justified checkpoint.
    pub(super) weights: ValidatorSet,
}

impl Tree {
    /// Returns a tree of one trusted block: genesis or a stored head.
    pub(super) fn new(root: Node) -> Self {
        let (block, casper, weights) =
            (root.context.block, root.context.state.casper, root.context.state.current.set().clone());
        let (forks, unrealized) = (ForkChoice::new(root.fork_block()), [casper.justified, casper.finalized]);
        Self {
            branches: BranchTree::new(Arc::new(root)),
            forks,
            root: block,
            head: block,
            justified: casper.justified,
            finalized: casper.finalized,
            unrealized,
            weights,
        }
    }

    pub(super) fn get(&self, hash: &B256) -> Option<&Arc<Node>> {
        self.branches.get(hash)
    }

    /// Returns the head's node.
    pub(super) fn head_node(&self) -> Option<&Arc<Node>> {
        self.branches.get(&self.head.hash)
    }

    pub(super) const fn head(&self) -> BlockId {
        self.head
    }

    /// Returns the oldest block, the ancestor of all others.
    pub(super) const fn root(&self) -> BlockId {
        self.root
    }

    /// Adds a block whose parent is in the tree and applies its checkpoints (`on_block`).
    pub(super) fn insert(&mut self, config: &PosConfig, node: Node, now: u64) {
        let (casper, unrealized, epoch) = (node.context.state.casper, node.unrealized, node.context.state.epoch());
        self.forks.insert(node.fork_block());
        self.branches.insert(Arc::new(node));
        self.justify(config, casper.justified, casper.finalized);
        for (known, new) in self.unrealized.iter_mut().zip([unrealized.justified, unrealized.finalized]) {
            if new.epoch > known.epoch {
                *known = new;
            }
        }
        // The unrealized checkpoints of a block of an earlier epoch apply at once.
        if epoch < config.epoch_of(now) {
            self.justify(config, unrealized.justified, unrealized.finalized);
        }
    }

    /// Applies the unrealized checkpoints at the end of an epoch (`on_tick_per_slot`).
    pub(super) fn pull_up(&mut self, config: &PosConfig) {
        let [justified, finalized] = self.unrealized;
        self.justify(config, justified, finalized);
    }

    /// Applies checkpoints that are newer than the present ones (`update_checkpoints`).
    fn justify(&mut self, config: &PosConfig, justified: Checkpoint, finalized: Checkpoint) {
        if justified.epoch > self.justified.epoch {
            self.justified = justified;
            if let Some(node) = self.branches.get(&justified.block.hash) {
                self.weights = state_in(config, &node.context.state, justified.epoch).current.set().clone();
            }
        }
        let finalized = if mutation::active(Mutation::PosFinalizesJustified) { justified } else { finalized };
        if finalized.epoch > self.finalized.epoch {
            self.finalized = finalized;
        }
    }

    /// Removes the blocks that do not descend from the final checkpoint and returns them.
    pub(super) fn prune(&mut self) -> Vec<BlockId> {
        let root = self.finalized.block;
        if root == self.root || !self.branches.nodes.contains_key(&root.hash) {
            return Vec::new();
        }
        self.forks.prune(&root.hash);
        self.root = root;
        let removed: Vec<_> = self.branches.nodes.values().map(|node| node.context.block).collect();
        let removed: Vec<_> = removed.into_iter().filter(|block| self.forks.get(&block.hash).is_none()).collect();
        for block in &removed {
            self.branches.nodes.remove(&block.hash);
        }
        if self.forks.get(&self.justified.block.hash).is_none() {
            self.justified = self.finalized;
        }
        removed
    }

    /// Updates the head by fork choice and returns its move, if any.
    pub(super) fn choose(&mut self, config: &PosConfig, now: u64) -> Option<HeadMove> {
        let boost = config.boost(self.weights.total_weight());
        let view = View { justified: self.justified, epoch: config.epoch_of(now), weights: &self.weights, boost };
        let (old, new) = (self.head, self.forks.head(&view));
        if new == old {
            return None;
        }
        self.head = new;
        self.head_move_from(old)
    }

    /// Returns the move from an earlier head to the present one; `None` where they are the same.
    pub(super) fn head_move_from(&self, old: BlockId) -> Option<HeadMove> {
        let (new, root) = (self.head, self.root.height);
        if new == old {
            return None;
        }
        let reorg_depth = match (self.get(&old.hash), self.get(&new.hash)) {
            (Some(old), Some(new)) => self.branches.reorg_depth(old, new, root),
            _ => old.height.get().saturating_sub(root.get()),
        };
        Some(HeadMove { old, new, reorg_depth, forgotten: Vec::new() })
    }

    /// Sets the head without fork choice, to a stored one.
    pub(super) fn set_head(&mut self, head: BlockId) {
        if self.branches.nodes.contains_key(&head.hash) {
            self.head = head;
        }
    }

    /// Counts a vote for a head.
    pub(super) fn vote(&mut self, validator: Address, epoch: u64, block: B256) {
        self.forks.vote(validator, LatestMessage { epoch, block });
    }

    /// Counts a vote for a head that a block carries.
    pub(super) fn vote_in_block(&mut self, validator: Address, epoch: u64, block: B256) {
        self.forks.vote_in_block(validator, LatestMessage { epoch, block });
    }

    /// Drops votes of epochs that ended before the last one, unless a block carries them.
    pub(super) fn expire_messages(&mut self, epoch: u64) {
        if !mutation::active(Mutation::PosKeepsMessages) {
            self.forks.expire_messages(epoch.saturating_sub(1));
        }
    }

    /// Removes an equivocator's votes from fork choice.
    pub(super) fn discount(&mut self, offender: Address) {
        if !mutation::active(Mutation::PosCountsEquivocators) {
            self.forks.discount(offender);
        }
    }

    /// Encodes blocks by hash, which determines the state of a branch.
    pub(super) fn encode(&self, out: &mut Encoder) {
        // The forks have the same blocks as the branches.
        let Self { branches: _, forks, root, head, justified, finalized, unrealized, weights } = self;
        forks.encode(out);
        root.encode(out);
        head.encode(out);
        justified.encode(out);
        finalized.encode(out);
        unrealized.iter().for_each(|checkpoint| checkpoint.encode(out));
        out.hash(&weights.hash());
    }
}

/// Returns the state of a branch in an epoch: as it is, or advanced without blocks.
pub(super) fn state_in(config: &PosConfig, state: &Arc<State>, epoch: u64) -> Arc<State> {
    if epoch <= state.epoch() { state.clone() } else { Arc::new(state.advanced(config, config.start_of(epoch)).0) }
}
