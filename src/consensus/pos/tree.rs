//! The blocks that may still matter: from the final checkpoint up.

use std::sync::Arc;

use super::{Casper, Checkpoint, ForkChoice, LatestMessage, Link, PosConfig, State, View, fork_choice::ForkBlock};
use crate::{
    consensus::{
        BlockId, Encoder, ValidatorSet,
        branch_tree::{BranchNode, BranchTree, HeadMove},
        mutation::{self, Mutation},
    },
    primitives::{Address, B256},
};

/// One judged block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) link: Link,
    pub(super) parent: B256,
    /// What its branch would justify if its epoch ended with it.
    pub(super) unrealized: Casper,
}

impl Node {
    pub(super) fn new(link: Link, parent: B256) -> Self {
        let unrealized = link.state.unrealized();
        Self { link, parent, unrealized }
    }

    fn fork_block(&self) -> ForkBlock {
        let state = &self.link.state;
        ForkBlock {
            block: self.link.block,
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
        self.link.block
    }

    fn key(&self) -> B256 {
        self.link.block.hash
    }

    fn parent_key(&self) -> B256 {
        self.parent
    }
}

/// Judged blocks, the votes for them, and what is justified and final in the replica's own view (`Store` in the
/// specifications).
#[derive(Clone, Debug)]
pub(super) struct Tree {
    branches: BranchTree<Node>,
    pub(super) forks: ForkChoice,
    root: BlockId,
    head: BlockId,
    pub(super) justified: Checkpoint,
    pub(super) finalized: Checkpoint,
    /// The newest that any branch would justify and finalise; taken over when the epoch turns.
    pub(super) unrealized: [Checkpoint; 2],
    /// Who counts in fork choice: the validators of the justified checkpoint.
    pub(super) weights: ValidatorSet,
}

impl Tree {
    /// A tree of one trusted block: genesis, or a head that was stored.
    pub(super) fn new(root: Node) -> Self {
        let (block, casper, weights) = (root.link.block, root.link.state.casper, root.link.state.current.set.clone());
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

    /// The head's node.
    pub(super) fn head_node(&self) -> Option<&Arc<Node>> {
        self.branches.get(&self.head.hash)
    }

    pub(super) const fn head(&self) -> BlockId {
        self.head
    }

    /// The oldest block: everything else is built upon it.
    pub(super) const fn root(&self) -> BlockId {
        self.root
    }

    /// Adds a block whose parent is here, and what it justifies (`on_block`).
    pub(super) fn insert(&mut self, config: &PosConfig, node: Node, now: u64) {
        let (casper, unrealized, epoch) = (node.link.state.casper, node.unrealized, node.link.state.epoch());
        self.forks.insert(node.fork_block());
        self.branches.insert(Arc::new(node));
        self.justify(config, casper.justified, casper.finalized);
        for (known, new) in self.unrealized.iter_mut().zip([unrealized.justified, unrealized.finalized]) {
            if new.epoch > known.epoch {
                *known = new;
            }
        }
        // A block of an epoch that is over is pulled up to its end.
        if epoch < config.epoch_of(now) {
            self.justify(config, unrealized.justified, unrealized.finalized);
        }
    }

    /// Takes over what the epoch that ended has justified (`on_tick_per_slot`).
    pub(super) fn pull_up(&mut self, config: &PosConfig) {
        let [justified, finalized] = self.unrealized;
        self.justify(config, justified, finalized);
    }

    /// Moves the checkpoints forward, never back (`update_checkpoints`).
    fn justify(&mut self, config: &PosConfig, justified: Checkpoint, finalized: Checkpoint) {
        if justified.epoch > self.justified.epoch {
            self.justified = justified;
            if let Some(node) = self.branches.get(&justified.block.hash) {
                self.weights = state_in(config, &node.link.state, justified.epoch).current.set.clone();
            }
        }
        let finalized = if mutation::active(Mutation::PosFinalizesJustified) { justified } else { finalized };
        if finalized.epoch > self.finalized.epoch {
            self.finalized = finalized;
        }
    }

    /// Drops what is not built upon the final checkpoint; answers what was dropped.
    pub(super) fn prune(&mut self) -> Vec<BlockId> {
        let root = self.finalized.block;
        if root == self.root || !self.branches.nodes.contains_key(&root.hash) {
            return Vec::new();
        }
        self.forks.prune(&root.hash);
        self.root = root;
        let gone: Vec<_> = self.branches.nodes.values().map(|node| node.link.block).collect();
        let gone: Vec<_> = gone.into_iter().filter(|block| self.forks.get(&block.hash).is_none()).collect();
        for block in &gone {
            self.branches.nodes.remove(&block.hash);
        }
        if self.forks.get(&self.justified.block.hash).is_none() {
            self.justified = self.finalized;
        }
        gone
    }

    /// Asks fork choice for the head and goes there.
    pub(super) fn choose(&mut self, config: &PosConfig, now: u64) -> Option<HeadMove> {
        let boost = config.boost(self.weights.total_weight());
        let view = View { justified: self.justified, epoch: config.epoch_of(now), weights: &self.weights, boost };
        let (old, new) = (self.head, self.forks.head(&view));
        if new == old {
            return None;
        }
        self.head = new;
        let root = self.root.height;
        let reorg_depth = match (self.get(&old.hash), self.get(&new.hash)) {
            (Some(old), Some(new)) => self.branches.reorg_depth(old, new, root),
            _ => old.height.get().saturating_sub(root.get()),
        };
        Some(HeadMove { old, new, reorg_depth, forgotten: Vec::new() })
    }

    /// Goes to a block that is known to be the head, such as a stored one.
    pub(super) fn set_head(&mut self, head: BlockId) {
        if self.branches.nodes.contains_key(&head.hash) {
            self.head = head;
        }
    }

    /// Counts a vote for a head.
    pub(super) fn vote(&mut self, validator: Address, epoch: u64, block: B256) {
        self.forks.vote(validator, LatestMessage { epoch, block });
    }

    /// Takes an equivocator's votes out.
    pub(super) fn discount(&mut self, offender: Address) {
        if !mutation::active(Mutation::PosCountsEquivocators) {
            self.forks.discount(offender);
        }
    }

    /// Blocks stand for themselves: what a branch knows follows from them.
    pub(super) fn encode(&self, out: &mut Encoder) {
        self.forks.encode(out);
        self.root.encode(out);
        self.head.encode(out);
        self.justified.encode(out);
        self.finalized.encode(out);
        self.unrealized.iter().for_each(|checkpoint| checkpoint.encode(out));
        out.hash(&self.weights.hash());
    }
}

/// A branch in this epoch: as it is, or with nothing but time gone by.
pub(super) fn state_in(config: &PosConfig, state: &Arc<State>, epoch: u64) -> Arc<State> {
    if epoch <= state.epoch() { state.clone() } else { Arc::new(state.advanced(config, config.start_of(epoch)).0) }
}
