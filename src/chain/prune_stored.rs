//! Pruning a stored chain that nobody extends: the states below a bound, a step at a time.

use super::{
    Chain,
    error::HeadError,
    garbage::GarbageChange,
    persist::{self, Pruned},
};
use crate::{primitives::Height, store::Batch};

/// Heights whose states one step deletes at most.
const HEIGHTS_PER_STEP: u64 = 256;

impl Chain {
    /// Deletes from the store the oldest states that are more than `kept` blocks below the head, as far as they are irreversible; genesis
    /// keeps its own. A call is one bounded step and one batch; it returns the number of heights that it went through, 0 when nothing
    /// is left. Blocks and receipts stay.
    ///
    /// # Errors
    /// [`HeadError::Read`], [`HeadError::Write`] when the store fails; nothing is then deleted.
    pub fn prune_states(&mut self, kept: u64) -> Result<u64, HeadError> {
        let store = &*self.context.store;
        let from = persist::pruned_below(store, Pruned::States).map_err(super::ReadError::from)?.unwrap_or(1);
        let lowest = self.head.height().get().saturating_sub(kept).min(self.finality.irreversible.get());
        let to = lowest.clamp(from, from.saturating_add(HEIGHTS_PER_STEP));
        if !self.is_persistent() || to == from {
            return Ok(0);
        }
        let (mut batch, mut garbage, mut commits) = (Batch::new(), GarbageChange::default(), Vec::new());
        for height in (from..to).map(Height::new) {
            commits.extend(self.pruned_commit(height, &mut garbage).map_err(super::ReadError::from)?);
        }
        let collected = self.collect(self.finality.irreversible, commits, &mut garbage, &mut batch);
        collected.map_err(super::ReadError::from)?;
        persist::put_pruned_below(Pruned::States, to, &mut batch);
        store.write(batch).map_err(HeadError::Write)?;
        self.context.garbage.apply(garbage);
        Ok(to.saturating_sub(from))
    }
}
