//! Extending a chain: building and inserting blocks, moving the head, restoring snapshots.

use std::sync::Arc;

use alloy_primitives::{B256, Bytes};
use imbl::Vector;

use super::{
    Chain,
    block::Block,
    candidates::{BuiltBlock, Candidates},
    error::{BlockError, BlockExecutionError, HeadError, InsertError, ReadError, RestoreError},
    executed_block::{ExecutedBlock, Execution},
    execution::{self, invalid_block, total_difficulty},
    garbage::GarbageChange,
    hook::{Finality, HeadChange},
    pending::PendingInterventions,
    persist::{self, Heads},
    prune::Move,
    rules::BlockAttributes,
    validate::Rules,
};
use crate::{primitives::Height, store::Batch};

/// The result of [`Chain::insert`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InsertOutcome {
    /// The block was verified and added to the tree.
    New,
    /// The block was in the tree or in the store already.
    Known,
}

/// Blocks to revert (newest first) and to apply (oldest first) on the way from one head to another.
type Path = (Vec<ExecutedBlock>, Vec<ExecutedBlock>);

impl Chain {
    /// Executes candidates on top of `parent` until the block is full or there are no more.
    ///
    /// Nothing is stored; the result is kept in the execution cache for [`Chain::insert`]. When `parent` is the head,
    /// pending interventions are put before those of `attributes`.
    ///
    /// # Errors
    /// [`BlockExecutionError`]; the chain is then unchanged.
    pub fn build(
        &self,
        parent: B256,
        attributes: &BlockAttributes,
        candidates: &mut dyn Candidates,
    ) -> Result<BuiltBlock, BlockExecutionError> {
        let parent = self.block(parent)?;
        let is_on_head = parent.hash() == self.head.hash();
        let pending = if is_on_head { self.pending.interventions.clone() } else { Vector::new() };
        let interventions = pending.into_iter().chain(attributes.interventions.iter().cloned()).collect();
        let built = execution::build(&self.context, &parent, attributes, interventions, candidates, self)?;
        self.context.cache.insert(Arc::new(built.block.clone()), built.execution);
        Ok(BuiltBlock { block: built.block, left_out: built.left_out })
    }

    /// Builds a block as a faulty proposer may: with transactions whose senders the chain's lists do not have. No chain inserts it, and
    /// it is kept nowhere.
    ///
    /// # Errors
    /// As [`Chain::build`].
    pub(crate) fn build_without_permissions(
        &self,
        parent: B256,
        attributes: &BlockAttributes,
        candidates: &mut dyn Candidates,
    ) -> Result<Block, BlockExecutionError> {
        let parent = self.block(parent)?;
        let interventions = attributes.interventions.to_vec();
        let rules = Rules { has_permissions: false, ..self.context.tx_rules(parent.height().next()) };
        execution::build_by(&self.context, rules, &parent, attributes, interventions, candidates, self)
            .map(|built| built.block)
    }

    /// Verifies a block by executing it and adds it to the tree. Does not move the head. A block that is there already is executed only
    /// when it may become canonical and its state is gone, or never came with the dump that brought the block.
    ///
    /// # Errors
    /// [`InsertError`], with the invalid field of an invalid block; the chain is then unchanged. [`InsertError::OtherBody`] for a body
    /// that differs from that of the known block with its hash.
    pub fn insert(&mut self, block: Arc<Block>) -> Result<InsertOutcome, InsertError> {
        let hash = block.hash();
        let is_known = self.contains_at(block.height(), hash);
        if is_known {
            self.check_known_body(&block)?;
            self.keep_branch(block.height(), hash)?;
            if !self.lacks_state(&block) {
                return Ok(InsertOutcome::Known);
            }
        }
        let parent = match self.block_near(block.height().parent().unwrap_or_default(), block.parent_hash()) {
            Err(ReadError::UnknownBlock { .. }) => {
                return Err(InsertError::UnknownParent { hash, parent: block.parent_hash() });
            }
            found => found?,
        };
        execution::verify_rules(&self.context, &parent, &block, self)?;
        let execution = self.execution_of(&parent, &block)?;
        self.keep_branch(parent.height(), parent.hash())?;
        let total = total_difficulty(&parent, block.header());
        self.tree.insert(ExecutedBlock::new(block, execution, total));
        Ok(if is_known { InsertOutcome::Known } else { InsertOutcome::New })
    }

    /// Checks that a block whose hash is known has the known block's body too, which was verified; the hash covers the header alone.
    fn check_known_body(&self, block: &Block) -> Result<(), InsertError> {
        let known = self.block_near(block.height(), block.hash())?;
        match known.block().differing_part(block) {
            Some(part) => Err(InsertError::OtherBody { hash: block.hash(), part }),
            None => Ok(()),
        }
    }

    /// Returns whether a known block could not be built on as it is, but has a parent on which it can be executed.
    fn lacks_state(&self, block: &Block) -> bool {
        if !self.context.is_durable || block.height() <= self.finality.irreversible {
            return false;
        }
        let (known, parent) = (self.state_of(block.hash()), || self.state_of(block.parent_hash()));
        let is_gone = matches!(known, Err(ReadError::Pruned { .. })) && parent().is_ok();
        is_gone && !self.is_canonical(block.hash())
    }

    /// Keeps a block and its ancestors, as far as they were reverted for good, until they are irreversible: they may be canonical
    /// again.
    fn keep_branch(&self, mut height: Height, mut hash: B256) -> Result<(), ReadError> {
        while self.context.is_durable && self.context.garbage.keep(hash) {
            hash = self.block_near(height, hash)?.block().parent_hash();
            height = height.parent().unwrap_or_default();
        }
        Ok(())
    }

    /// Replaces the seal of a block that is not canonical, such as a proposal's signature by a certificate. The hash does
    /// not cover the seal. A canonical block keeps its seal.
    ///
    /// # Errors
    /// [`ReadError`]; the chain is then unchanged.
    pub fn reseal(&mut self, hash: B256, seal: Bytes) -> Result<(), ReadError> {
        let block = self.block(hash)?;
        if !self.is_canonical_block(&block) && *block.block().seal() != seal {
            self.tree.replace(block.resealed(seal));
        }
        Ok(())
    }

    /// Returns the block's execution result, from the cache or by executing it.
    fn execution_of(&self, parent: &ExecutedBlock, block: &Arc<Block>) -> Result<Execution, BlockExecutionError> {
        let (cache, is_paranoid) = (&self.context.cache, self.context.is_paranoid);
        // A result made on another copy of the parent's state would depend on a version that nothing keeps.
        let parent_version = parent.version().map(|version| version.commit().id);
        match cache.get(block).filter(|known| is_paranoid || Some(known.parent) == parent_version) {
            Some(execution) if !is_paranoid => Ok(execution),
            Some(other) => {
                let own = execution::verify(&self.context, parent, block, self)?;
                let same = own.receipts == other.receipts && own.version.commit().root == other.version.commit().root;
                let diverged = BlockError::Diverged { what: "receipts or state root" };
                if same { Ok(own) } else { Err(invalid_block(block, diverged).into()) }
            }
            None => {
                let own = execution::verify(&self.context, parent, block, self)?;
                cache.insert(block.clone(), own.clone());
                Ok(own)
            }
        }
    }

    /// Moves the head to a block of the tree.
    ///
    /// One batch makes durable: the applied blocks, their state, receipts and indices, the head, and the hooks' writes.
    ///
    /// # Errors
    /// [`HeadError`]; the chain is then unchanged.
    pub fn set_head(&mut self, hash: B256) -> Result<HeadChange, HeadError> {
        let new = self.block(hash)?;
        let (reverted, applied) = self.path_to(&new)?;
        let fork = self.head.height().get() - reverted.len() as u64;
        let Finality { safe, finalized, irreversible } = &self.finality;
        if fork < irreversible.get() {
            return Err(HeadError::BelowFinality { finalized: finalized.hash(), block: hash });
        }
        // Advisory finality above the fork moves back to the fork.
        let at_most_fork = |block: &ExecutedBlock| match reverted.last() {
            Some(lowest) if block.height().get() > fork => self.block(lowest.block().parent_hash()),
            _ => Ok(block.clone()),
        };
        let finality =
            Finality { safe: at_most_fork(safe)?, finalized: at_most_fork(finalized)?, irreversible: *irreversible };
        let change = HeadChange { old: self.head.clone(), new: new.clone(), reverted, applied };
        let pending = self.pending_after(&change)?;
        self.persist(&change, Move::Forward, &finality, &pending)?;
        self.lease = self.context.lease(&new);
        (self.head, self.finality, self.pending) = (new, finality, pending);
        self.update_tree(&change);
        Ok(change)
    }

    /// Switches to `snapshot`, an earlier clone of this chain or of another chain over the same store, also past finality.
    ///
    /// Where the retention policy has dropped blocks between the two heads, the change lists those that are left. Blocks that a chain
    /// with the snapshot's head is reopened from, and that the store has no more, are written again. What was canonical since and is unknown to
    /// the snapshot is deleted in time; a block on a branch above it is found by its hash for as long, and can't become the head.
    ///
    /// # Errors
    /// [`ReadError::Pruned`] when the store has the snapshot's state no more, or neither store nor memory have its safe or finalized
    /// block or one above these; [`RestoreError::Write`]; the chain is then unchanged.
    pub fn restore(&mut self, snapshot: &Self) -> Result<HeadChange, RestoreError> {
        let (reverted, applied) = snapshot.path_between(&self.head, self)?;
        let change = HeadChange { old: self.head.clone(), new: snapshot.head.clone(), reverted, applied };
        let missing = if self.is_persistent() { snapshot.missing_from_store(&change)? } else { Vec::new() };
        self.persist(&change, Move::Back { snapshot, missing: &missing }, &snapshot.finality, &snapshot.pending)?;
        let lease = self.context.lease(&snapshot.head);
        *self = Self { context: self.context.clone(), is_writer: self.is_writer, lease, ..snapshot.clone() };
        Ok(change)
    }

    /// Returns the blocks from the finalized one to the fork of `change` that the store has no more, the newest first, and checks that
    /// the head's state can be read: a chain with this head is reopened from these.
    fn missing_from_store(&self, change: &HeadChange) -> Result<Vec<ExecutedBlock>, ReadError> {
        self.latest_state()?;
        self.state_of(self.head.hash())?;
        let fork = self.head.height().get().saturating_sub(change.applied.len() as u64);
        let Finality { safe, finalized, .. } = &self.finality;
        let lowest = safe.height().min(finalized.height()).get().max(1);
        let is_stored = |block: &ExecutedBlock| self.context.has_stored(block.hash());
        let has_all = [safe, finalized].into_iter().all(|block| block.height().get() > fork || is_stored(block));
        if has_all && (fork < self.head.height().get() || is_stored(&self.head)) {
            return Ok(Vec::new());
        }
        let mut missing = Vec::new();
        for height in (lowest..=fork).rev().map(Height::new) {
            let kept = [&self.head, safe, finalized].into_iter().find(|block| block.height() == height);
            let block = kept.map_or_else(|| self.block_at(height), |block| Ok(block.clone()))?;
            if !is_stored(&block) {
                missing.push(if height == self.head.height() { block } else { block.forgetting_state() });
            }
        }
        Ok(missing)
    }

    /// Returns this chain as it was when its head was `hash`, without the blocks above: the state of a replica that lost
    /// its newest blocks in a crash. Only genesis is final in it. [`Chain::restore`] switches to it.
    ///
    /// # Errors
    /// [`ReadError::UnknownBlock`].
    pub fn rewound(&self, hash: B256) -> Result<Self, ReadError> {
        let head = self.block(hash)?;
        let (reverted, applied) = self.path_to(&head)?;
        let mut tree = self.tree.clone();
        reverted.iter().for_each(|block| tree.revert(block));
        applied.iter().for_each(|block| tree.apply(block, !self.context.is_durable));
        tree.drop_blocks_above(head.height().get());
        let finality = Finality::at_genesis(&self.genesis);
        let lease = self.context.lease(&head);
        Ok(Self { tree, head, finality, pending: PendingInterventions::default(), lease, ..self.clone() })
    }

    /// As [`Chain::rewound`] to a canonical block, with the finality that the chain had there, and the interventions of the block
    /// after it pending again.
    ///
    /// # Errors
    /// As [`Chain::rewound`]; [`ReadError::Pruned`] where the block has no state any more.
    pub(crate) fn rewound_to(&self, hash: B256, finality: Finality) -> Result<Self, ReadError> {
        let mut rewound = Self { finality, ..self.rewound(hash)? };
        let next = rewound.head.height().next();
        if next <= self.head.height() {
            let interventions = self.block_at(next)?.block().interventions().iter().cloned().collect();
            rewound.pending = rewound.apply_overrides(&rewound.head, interventions)?;
        }
        Ok(rewound)
    }

    /// The path from the head to `target`.
    fn path_to(&self, target: &ExecutedBlock) -> Result<Path, ReadError> {
        if target.block().parent_hash() == self.head.hash() {
            return Ok((Vec::new(), vec![target.clone()]));
        }
        walk(self.head.clone(), target.clone(), self, self)
    }

    /// The path from `old`, a block of `other`, to the head of this chain.
    fn path_between(&self, old: &ExecutedBlock, other: &Self) -> Result<Path, ReadError> {
        walk(old.clone(), self.head.clone(), other, self)
    }

    /// Writes a head change with the finality and the pending interventions after it, and the hooks' writes. This chain
    /// must still be as before the change.
    fn persist(
        &self,
        change: &HeadChange,
        kind: Move<'_>,
        finality: &Finality,
        pending: &PendingInterventions,
    ) -> Result<(), RestoreError> {
        let mut batch = Batch::new();
        let mut garbage = GarbageChange::default();
        let new = change.brings_state().then_some(&change.new);
        let written = change.applied.iter().chain(new).filter(|block| !block.is_stored());
        let written: Vec<_> = written.chain(kind.missing()).collect();
        if self.is_persistent() {
            change.reverted.iter().for_each(|block| persist::remove_canonical(block, &mut batch));
            written.iter().for_each(|block| persist::put_block(block, &mut batch));
            change.applied.iter().chain(kind.missing()).for_each(|block| persist::put_canonical(block, &mut batch));
            if change.applied.is_empty() {
                // Retention may have removed it from the indices.
                persist::put_canonical(&change.new, &mut batch);
            }
            persist::put_heads(Heads::of(&change.new, finality), &mut batch);
            persist::remove_interventions(self.pending.interventions.len(), &mut batch);
            for (index, intervention) in pending.interventions.iter().enumerate() {
                persist::put_intervention(index, intervention, &mut batch);
            }
            garbage = self.prune_stored(change, kind, finality, &mut batch)?;
        }
        if self.is_writer {
            for hook in &self.context.hooks {
                hook.on_head(change, &mut batch).map_err(RestoreError::Write)?;
            }
        }
        self.call_finality_hooks(finality, &mut batch).map_err(RestoreError::Write)?;
        if !self.is_persistent() {
            let written = if batch.is_empty() { Ok(()) } else { self.context.store.write(batch) };
            return written.map_err(RestoreError::Write);
        }
        // Readers with another branch must know before the store's index changes.
        let fork = change.new.height().get().saturating_sub(change.applied.len() as u64);
        let limited = if change.is_reorg() { self.context.leases.limit_to(fork) } else { Vec::new() };
        if let Err(error) = self.context.store.write(batch) {
            limited.iter().for_each(|(lease, before)| lease.set_limit(*before));
            return Err(RestoreError::Write(error));
        }
        self.context.garbage.apply(garbage);
        for block in written {
            block.set_stored();
            // It may have been read without its state, or with one that is deleted.
            self.context.decoded_blocks.remove(block.hash());
        }
        Ok(())
    }
}

/// Walks from two blocks down to their last common ancestor. `old` is looked up in `from`, `new` in `to`.
fn walk(mut old: ExecutedBlock, mut new: ExecutedBlock, from: &Chain, to: &Chain) -> Result<Path, ReadError> {
    let (mut reverted, mut applied) = (Vec::new(), Vec::new());
    let lower = |height: Height| height.parent().unwrap_or_default();
    while old.hash() != new.hash() {
        let (old_height, new_height) = (old.height(), new.height());
        if old_height >= new_height {
            let parent = match from.block_near(lower(old_height), old.block().parent_hash()) {
                // Pruned: nothing is left between it and the new head below.
                Err(ReadError::UnknownBlock { .. })
                    if new_height < old_height && lower(old_height) < from.oldest_block() =>
                {
                    reverted.push(old);
                    break;
                }
                parent => parent?,
            };
            reverted.push(core::mem::replace(&mut old, parent));
        }
        if new_height >= old_height {
            let parent_hash = new.block().parent_hash();
            let parent = match to.block_near(lower(new_height), parent_hash) {
                // Pruned before it was dumped: the other chain may have the parent, or both have genesis alone in common.
                Err(ReadError::UnknownBlock { .. }) if lower(new_height) < to.oldest_block() => {
                    from.block(parent_hash).unwrap_or_else(|_| from.genesis().clone())
                }
                parent => parent?,
            };
            applied.push(core::mem::replace(&mut new, parent));
        }
    }
    applied.reverse();
    Ok((reverted, applied))
}
