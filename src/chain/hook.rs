//! Moves of the head, and hooks that write with them.

use core::fmt::Debug;

use super::executed_block::ExecutedBlock;
use crate::store::{Batch, StoreError};

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
    /// Adds what must be stored together with `change`; called before it is written.
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
