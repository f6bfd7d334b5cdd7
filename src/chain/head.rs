//! Executed blocks and how the head moves along them.

use core::fmt::Debug;
use std::sync::Arc;

use alloy_primitives::{B256, U256};

use super::{Block, Receipt};
use crate::{
    primitives::Height,
    state::Commit,
    store::{Batch, StoreError},
};

/// A block with what its execution gave. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ExecutedBlock {
    pub(super) block: Arc<Block>,
    pub(super) receipts: Arc<[Receipt]>,
    pub(super) commit: Commit,
    pub(super) total_difficulty: U256,
}

impl ExecutedBlock {
    /// The block.
    pub const fn block(&self) -> &Arc<Block> {
        &self.block
    }

    /// Its hash.
    pub fn hash(&self) -> B256 {
        self.block.hash()
    }

    /// Its height.
    pub fn height(&self) -> Height {
        self.block.height()
    }

    /// One receipt a transaction, in order.
    pub fn receipts(&self) -> &[Receipt] {
        &self.receipts
    }

    /// The state after it.
    pub const fn commit(&self) -> Commit {
        self.commit
    }

    /// Sum of the difficulties from genesis up to and with this block.
    pub const fn total_difficulty(&self) -> U256 {
        self.total_difficulty
    }
}

/// How the head moved.
#[derive(Clone, Debug)]
pub struct HeadChange {
    /// The head before.
    pub old: ExecutedBlock,
    /// The head now.
    pub new: ExecutedBlock,
    /// Blocks that left the canonical chain, newest first.
    pub reverted: Vec<ExecutedBlock>,
    /// Blocks that joined it, oldest first.
    pub applied: Vec<ExecutedBlock>,
}

impl HeadChange {
    /// Whether canonical blocks were taken back.
    pub const fn is_reorg(&self) -> bool {
        !self.reverted.is_empty()
    }
}

/// Writes into the batch that makes a head change durable. Object-safe, and stays so.
pub trait CommitHook: Debug + Send + Sync {
    /// Adds what must be stored together with `change`; called once for each, before it is written.
    ///
    /// A hook must give the same writes for the same change: a failed write is tried again with a new call.
    ///
    /// # Errors
    /// [`StoreError`] stops the head from moving.
    fn on_head(&self, change: &HeadChange, batch: &mut Batch) -> Result<(), StoreError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The promise of object safety.
    const _: fn(&dyn CommitHook) = |_| {};
}
