//! Moving the safe and the finalized block.

use alloy_primitives::B256;

use super::{
    Chain,
    error::ChainError,
    executed_block::ExecutedBlock,
    persist::{self, Heads},
};
use crate::{primitives::Height, store::Batch};

impl Chain {
    /// Moves the safe and the finalized block, which are ancestors of the head (or the head). Neither the finalized block
    /// nor anything below it is taken back from then on.
    ///
    /// # Errors
    /// [`ChainError::UnknownBlock`], [`ChainError::BelowFinality`], [`ChainError::Store`]; nothing is changed then.
    pub fn set_finality(&mut self, safe: B256, finalized: B256) -> Result<(), ChainError> {
        let irreversible = self.block(finalized)?.height();
        self.set_advisory_finality(safe, finalized, irreversible)
    }

    /// The same for a protocol whose finality is advice: both marks may move back, and only blocks up to the height
    /// `irreversible` are never taken back from then on.
    ///
    /// # Errors
    /// As [`Chain::set_finality`].
    pub fn set_advisory_finality(
        &mut self,
        safe: B256,
        finalized: B256,
        irreversible: Height,
    ) -> Result<(), ChainError> {
        let irreversible = irreversible.max(self.irreversible);
        if (safe, finalized, irreversible) == (self.safe.hash(), self.finalized.hash(), self.irreversible) {
            return Ok(());
        }
        let (safe, finalized) = (self.block(safe)?, self.block(finalized)?);
        let below =
            |block: &ExecutedBlock| ChainError::BelowFinality { finalized: self.finalized.hash(), block: block.hash() };
        for block in [&safe, &finalized] {
            if !self.is_canonical_block(block) {
                return Err(below(block));
            }
        }
        if finalized.height() < self.irreversible || safe.height() < finalized.height() {
            return Err(below(&finalized));
        }
        if self.is_persistent() {
            let mut batch = Batch::new();
            let heads = Heads { safe: safe.hash(), finalized: finalized.hash(), irreversible, ..self.heads() };
            persist::put_heads(heads, &mut batch);
            self.shared.store.write(batch)?;
        }
        self.tree.drop_side_blocks(self.irreversible.get() + 1..=irreversible.get());
        self.shared.cache.finalize(irreversible.get());
        (self.safe, self.finalized, self.irreversible) = (safe, finalized, irreversible);
        Ok(())
    }
}
