//! Changes of the head and of finality, and hooks that write in their batch.

use core::fmt::Debug;

use super::executed_block::ExecutedBlock;
use crate::{
    primitives::Height,
    store::{Batch, StoreError},
};

/// A change of the head.
#[derive(Clone, Debug)]
pub struct HeadChange {
    /// The head before the change.
    pub old: ExecutedBlock,
    /// The head after the change.
    pub new: ExecutedBlock,
    /// Blocks that left the canonical chain, newest first.
    pub reverted: Vec<ExecutedBlock>,
    /// Blocks that joined the canonical chain, oldest first.
    pub applied: Vec<ExecutedBlock>,
}

impl HeadChange {
    /// Returns whether canonical blocks were reverted.
    pub const fn is_reorg(&self) -> bool {
        !self.reverted.is_empty()
    }

    /// Returns whether the new head is a block of the old chain that comes with a state that the store has not: an earlier dump
    /// brought the block without it, and another one ends in it.
    pub(super) fn brings_state(&self) -> bool {
        self.applied.is_empty() && self.new.has_state() && !self.new.is_stored()
    }
}

/// The safe and the finalized block of a chain.
#[derive(Clone, Debug)]
pub struct Finality {
    /// The newest block that the protocol calls safe.
    pub safe: ExecutedBlock,
    /// The newest block that the protocol calls finalized.
    pub finalized: ExecutedBlock,
    /// Height up to which no block is ever reverted: the finalized block's, unless finality is advisory.
    pub irreversible: Height,
}

impl Finality {
    /// Finality of a chain on which only genesis is final.
    pub(super) fn at_genesis(genesis: &ExecutedBlock) -> Self {
        Self { safe: genesis.clone(), finalized: genesis.clone(), irreversible: Height::GENESIS }
    }

    /// Returns whether both name the same blocks and height.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let key = |finality: &Self| (finality.safe.hash(), finality.finalized.hash(), finality.irreversible);
        key(self) == key(other)
    }
}

/// A change of the safe block, the finalized block or the irreversible height.
#[derive(Clone, Debug)]
pub struct FinalityChange {
    /// Finality before the change.
    pub old: Finality,
    /// Finality after the change. It is older than `old` after a reorg over advisory finality and when a snapshot is
    /// restored.
    pub new: Finality,
}

/// Writes into the batch that makes a change of the head or of finality durable. Object-safe, and stays so.
///
/// A hook must give the same writes for the same change: after a failed write the change may be tried again, with a new
/// call. Only the chain that writes to the store calls hooks, [detached](super::Chain::detached) clones don't.
pub trait CommitHook: Debug + Send + Sync {
    /// Adds what must be stored together with `change`; called before it is written.
    ///
    /// # Errors
    /// [`StoreError`] aborts the change.
    fn on_head(&self, change: &HeadChange, batch: &mut Batch) -> Result<(), StoreError>;

    /// Adds what must be stored together with `change`; called before it is written. Does nothing by default.
    ///
    /// Called once a change, whether the protocol finalized blocks or a change of the head moved finality with it (a
    /// reorg over advisory finality, a restored snapshot); in the latter case after [`CommitHook::on_head`], with the
    /// same batch.
    ///
    /// # Errors
    /// [`StoreError`] aborts the change.
    fn on_finality(&self, change: &FinalityChange, batch: &mut Batch) -> Result<(), StoreError> {
        let _ = (change, batch);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `CommitHook` is object-safe.
    const _: fn(&dyn CommitHook) = |_| {};
}
