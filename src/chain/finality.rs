//! Moving the safe and the finalized block.

use alloy_primitives::B256;

use super::{
    Chain,
    error::HeadError,
    executed_block::ExecutedBlock,
    hook::{Finality, FinalityChange},
    persist::{self, Heads},
};
use crate::{
    primitives::Height,
    store::{Batch, StoreError},
};

impl Chain {
    /// Moves the safe and the finalized block, each the head or one of its ancestors. The finalized block and its
    /// ancestors are never reverted from then on.
    ///
    /// # Errors
    /// [`HeadError`]; the chain is then unchanged.
    pub fn set_finality(&mut self, safe: B256, finalized: B256) -> Result<(), HeadError> {
        let irreversible = self.block(finalized)?.height();
        self.set_advisory_finality(safe, finalized, irreversible)
    }

    /// Moves the safe and the finalized block of a protocol whose finality is advisory: both may move back, and only
    /// blocks up to the height `irreversible` are never reverted from then on.
    ///
    /// # Errors
    /// As [`Chain::set_finality`].
    pub fn set_advisory_finality(
        &mut self,
        safe: B256,
        finalized: B256,
        irreversible: Height,
    ) -> Result<(), HeadError> {
        let old = &self.finality;
        let irreversible = irreversible.max(old.irreversible);
        if (safe, finalized, irreversible) == (old.safe.hash(), old.finalized.hash(), old.irreversible) {
            return Ok(());
        }
        let (safe, finalized) = (self.block(safe)?, self.block(finalized)?);
        let below =
            |block: &ExecutedBlock| HeadError::BelowFinality { finalized: old.finalized.hash(), block: block.hash() };
        for block in [&safe, &finalized] {
            if !self.is_canonical_block(block) {
                return Err(below(block));
            }
        }
        if finalized.height() < old.irreversible || safe.height() < finalized.height() {
            return Err(below(&finalized));
        }
        let new = Finality { safe, finalized, irreversible };
        let mut batch = Batch::new();
        if self.is_persistent() {
            persist::put_heads(Heads::of(&self.head, &new), &mut batch);
        }
        self.call_finality_hooks(&new, &mut batch).map_err(HeadError::Write)?;
        if !batch.is_empty() {
            self.context.store.write(batch).map_err(HeadError::Write)?;
        }
        self.tree.drop_side_blocks(self.finality.irreversible.get() + 1..=irreversible.get());
        self.context.cache.prune_finalized(irreversible);
        self.finality = new;
        Ok(())
    }

    /// Lets the hooks add to `batch` when `new` differs from the finality of this chain, which must still be the old one.
    pub(super) fn call_finality_hooks(&self, new: &Finality, batch: &mut Batch) -> Result<(), StoreError> {
        if !self.is_writer || self.context.hooks.is_empty() {
            return Ok(());
        }
        let change = FinalityChange { old: self.finality.clone(), new: new.clone() };
        if !change.old.is_same(&change.new) {
            for hook in &self.context.hooks {
                hook.on_finality(&change, batch)?;
            }
        }
        Ok(())
    }
}
