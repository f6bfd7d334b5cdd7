//! How a chain grows: building, inserting, moving the head, finality, changes by hand, snapshots.

use std::sync::Arc;

use alloy_primitives::{B256, Bytes};
use imbl::Vector;

use super::{
    Chain,
    block::Block,
    candidates::{BuiltBlock, Candidates},
    error::{BlockError, ChainError},
    executed_block::{ExecutedBlock, Execution},
    execution::{self, invalid_block, total_difficulty},
    hook::HeadChange,
    pending::Hand,
    persist::{self, Heads},
    rules::BlockAttributes,
};
use crate::{primitives::Height, store::Batch};

/// What inserting a block did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inserted {
    /// It is stored now.
    New,
    /// It was there.
    Known,
}

/// Growing.
impl Chain {
    /// Executes candidates on top of `parent` until the block is full or there are no more.
    ///
    /// Nothing is stored; the result waits in the execution cache for [`Chain::insert`]. Interventions that wait here
    /// are put before those of `attributes` when `parent` is the head.
    ///
    /// # Errors
    /// [`ChainError`]; the chain is then unchanged.
    pub fn build(
        &self,
        parent: B256,
        attributes: &BlockAttributes,
        candidates: &mut dyn Candidates,
    ) -> Result<BuiltBlock, ChainError> {
        let parent = self.block(parent)?;
        let waiting = if parent.hash() == self.head.hash() { self.hand.interventions.clone() } else { Vector::new() };
        let interventions = waiting.into_iter().chain(attributes.interventions.iter().cloned()).collect();
        let built = execution::build(&self.shared, &parent, attributes, interventions, candidates)?;
        self.shared.cache.insert(Arc::new(built.block.clone()), built.execution);
        Ok(BuiltBlock { block: built.block, left_out: built.left_out })
    }

    /// Judges a block by its own execution and stores it. The head stays.
    ///
    /// # Errors
    /// [`ChainError::UnknownParent`], [`ChainError::InvalidBlock`] with the field that is wrong; a failing store. The
    /// chain is then unchanged.
    pub fn insert(&mut self, block: Arc<Block>) -> Result<Inserted, ChainError> {
        let hash = block.hash();
        if self.contains_at(block.height(), hash) {
            return Ok(Inserted::Known);
        }
        let parent = match self.block_near(block.height().parent().unwrap_or_default(), block.parent_hash()) {
            Err(ChainError::UnknownBlock { .. }) => {
                return Err(ChainError::UnknownParent { hash, parent: block.parent_hash() });
            }
            found => found?,
        };
        execution::verify_rules(&self.shared, &parent, &block, self)?;
        let execution = self.execution_of(&parent, &block)?;
        let total = total_difficulty(&parent, block.header());
        self.tree.insert(ExecutedBlock::new(block, execution, total));
        Ok(Inserted::New)
    }

    /// Puts another seal beside a block that waits in the tree, such as a certificate in place of a proposal's
    /// signature. The hash does not cover it. A block that is canonical already keeps the seal that it was adopted with.
    ///
    /// # Errors
    /// [`ChainError::UnknownBlock`], a failing store; nothing is changed then.
    pub fn reseal(&mut self, hash: B256, seal: Bytes) -> Result<(), ChainError> {
        let block = self.block(hash)?;
        if !self.is_canonical_block(&block) && *block.block().seal() != seal {
            self.tree.replace(block.resealed(seal));
        }
        Ok(())
    }

    /// Another replica's result, or one's own.
    fn execution_of(&self, parent: &ExecutedBlock, block: &Arc<Block>) -> Result<Execution, ChainError> {
        // A result made on another copy of the parent's state would hang on a version that nobody keeps.
        let parent_version = parent.version().map(|version| version.commit().id);
        let known = self
            .shared
            .cache
            .get(block)
            .filter(|known| self.shared.is_paranoid || Some(known.parent) == parent_version);
        match known {
            Some(execution) if !self.shared.is_paranoid => Ok(execution),
            Some(other) => {
                let own = execution::verify(&self.shared, parent, block)?;
                let same = own.receipts == other.receipts && own.version.commit().root == other.version.commit().root;
                let diverged = BlockError::Diverged { what: "receipts or state root" };
                if same { Ok(own) } else { Err(invalid_block(block, diverged)) }
            }
            None => {
                let own = execution::verify(&self.shared, parent, block)?;
                self.shared.cache.insert(block.clone(), own.clone());
                Ok(own)
            }
        }
    }

    /// Moves the head to a block of the tree.
    ///
    /// One batch makes durable: the blocks on the way, their state, receipts and indices, the head, and what hooks add.
    ///
    /// # Errors
    /// [`ChainError::UnknownBlock`], [`ChainError::BelowFinality`], [`ChainError::Store`]; nothing is changed then.
    pub fn set_head(&mut self, hash: B256) -> Result<HeadChange, ChainError> {
        let new = self.block(hash)?;
        let (reverted, applied) = self.path_to(&new)?;
        let fork = self.head.height().get() - reverted.len() as u64;
        if fork < self.irreversible.get() {
            return Err(ChainError::BelowFinality { finalized: self.finalized.hash(), block: hash });
        }
        // Finality that was advice falls back to where the branches part.
        let standing = |mark: &ExecutedBlock| match reverted.last() {
            Some(lowest) if mark.height().get() > fork => self.block(lowest.block().parent_hash()),
            _ => Ok(mark.clone()),
        };
        let (safe, finalized) = (standing(&self.safe)?, standing(&self.finalized)?);
        let change = HeadChange { old: self.head.clone(), new: new.clone(), reverted, applied };
        let hand = self.hand_after(&change)?;
        let heads = Heads { head: hash, safe: safe.hash(), finalized: finalized.hash(), ..self.heads() };
        self.persist(&change, heads, &hand, self.irreversible.get())?;
        (self.head, self.safe, self.finalized, self.hand) = (new, safe, finalized, hand);
        self.follow(&change);
        Ok(change)
    }

    /// Goes back (or over) to `snapshot`, an earlier clone of this chain, also past finality.
    ///
    /// # Errors
    /// [`ChainError::Store`]; nothing is changed then.
    pub fn restore(&mut self, snapshot: &Self) -> Result<HeadChange, ChainError> {
        let (reverted, applied) = snapshot.path_between(&self.head, self)?;
        let change = HeadChange { old: self.head.clone(), new: snapshot.head.clone(), reverted, applied };
        self.persist(&change, snapshot.heads(), &snapshot.hand, snapshot.irreversible.get())?;
        *self = Self { shared: self.shared.clone(), is_writer: self.is_writer, ..snapshot.clone() };
        Ok(change)
    }

    /// This chain as it was when its head was `hash`, without anything above: what a replica finds that lost its newest
    /// blocks in a crash. Nothing is final on it yet but genesis. [`Chain::restore`] goes over to it.
    ///
    /// # Errors
    /// [`ChainError::UnknownBlock`].
    pub fn rewound(&self, hash: B256) -> Result<Self, ChainError> {
        let head = self.block(hash)?;
        let (reverted, applied) = self.path_to(&head)?;
        let mut tree = self.tree.clone();
        reverted.iter().for_each(|block| tree.revert(block));
        applied.iter().for_each(|block| tree.apply(block, !self.shared.is_durable));
        tree.drop_blocks_above(head.height().get());
        let (safe, finalized, irreversible) = (self.genesis.clone(), self.genesis.clone(), Height::GENESIS);
        Ok(Self { tree, head, safe, finalized, irreversible, hand: Hand::default(), ..self.clone() })
    }

    /// Blocks to take back (newest first) and to apply (oldest first) on the way from the head to `target`.
    fn path_to(&self, target: &ExecutedBlock) -> Result<(Vec<ExecutedBlock>, Vec<ExecutedBlock>), ChainError> {
        if target.block().parent_hash() == self.head.hash() {
            return Ok((Vec::new(), vec![target.clone()]));
        }
        walk(self.head.clone(), target.clone(), self, self)
    }

    /// The same from `old`, a block of `other`, to the head of this chain.
    fn path_between(
        &self,
        old: &ExecutedBlock,
        other: &Self,
    ) -> Result<(Vec<ExecutedBlock>, Vec<ExecutedBlock>), ChainError> {
        walk(old.clone(), self.head.clone(), other, self)
    }

    /// Writes what a head change makes durable, and what hooks add. This chain is still as it was before.
    fn persist(&self, change: &HeadChange, heads: Heads, hand: &Hand, finalized: u64) -> Result<(), ChainError> {
        let mut batch = Batch::new();
        if self.is_persistent() {
            change.reverted.iter().for_each(|block| persist::remove_canonical(block, &mut batch));
            for block in &change.applied {
                if !block.is_stored() {
                    persist::put_block(block, &mut batch);
                }
                persist::put_canonical(block, &mut batch);
            }
            persist::put_heads(heads, &mut batch);
            persist::remove_interventions(self.hand.interventions.len(), &mut batch);
            for (index, intervention) in hand.interventions.iter().enumerate() {
                persist::put_intervention(index, intervention, &mut batch);
            }
            self.prune_stored(change.new.height().get(), finalized, &mut batch)?;
        }
        if self.is_writer {
            for hook in &self.shared.hooks {
                hook.on_head(change, &mut batch)?;
            }
        }
        if !batch.is_empty() {
            self.shared.store.write(batch)?;
        }
        if self.is_persistent() {
            change.applied.iter().for_each(ExecutedBlock::set_stored);
        }
        Ok(())
    }
}

/// Walks from two blocks down to where they meet. `old` is looked up in `from`, `new` in `to`.
fn walk(
    mut old: ExecutedBlock,
    mut new: ExecutedBlock,
    from: &Chain,
    to: &Chain,
) -> Result<(Vec<ExecutedBlock>, Vec<ExecutedBlock>), ChainError> {
    let (mut reverted, mut applied) = (Vec::new(), Vec::new());
    let lower = |height: Height| height.parent().unwrap_or_default();
    while old.hash() != new.hash() {
        let (old_height, new_height) = (old.height(), new.height());
        if old_height >= new_height {
            let parent = from.block_near(lower(old_height), old.block().parent_hash())?;
            reverted.push(core::mem::replace(&mut old, parent));
        }
        if new_height >= old_height {
            let parent = to.block_near(lower(new_height), new.block().parent_hash())?;
            applied.push(core::mem::replace(&mut new, parent));
        }
    }
    applied.reverse();
    Ok((reverted, applied))
}
