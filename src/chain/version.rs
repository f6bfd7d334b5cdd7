//! Reference-counted versions of the state.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use crate::{
    state::{Commit, StateError, StateStore, StateView},
    store::Batch,
};

/// A state version, shared by the block that produced it, the empty blocks after it and snapshots.
///
/// Dropping the last reference discards the version in the state store, unless it is durable.
#[derive(Debug)]
pub(super) struct Version {
    store: Arc<dyn StateStore>,
    commit: Commit,
    /// The writes that make it durable; `None` once they are made.
    pending: Mutex<Option<Batch>>,
    is_durable: AtomicBool,
}

impl Version {
    /// Returns a version just committed; `batch` makes it durable.
    pub(super) fn new(store: Arc<dyn StateStore>, commit: Commit, batch: Batch) -> Self {
        Self { store, commit, pending: Mutex::new(Some(batch)), is_durable: AtomicBool::new(false) }
    }

    /// Returns a version that is durable in the store.
    pub(super) fn stored(store: Arc<dyn StateStore>, commit: Commit) -> Self {
        Self { store, commit, pending: Mutex::new(None), is_durable: AtomicBool::new(true) }
    }

    pub(super) const fn commit(&self) -> Commit {
        self.commit
    }

    /// Returns how many bytes of memory its parent takes beside it.
    pub(super) fn superseded_bytes(&self) -> u64 {
        self.store.superseded_bytes(self.commit.id)
    }

    pub(super) fn view(&self) -> Result<Arc<dyn StateView>, StateError> {
        self.store.view(self.commit.id)
    }

    /// Adds to `batch` the writes that make it durable, if any are left. Call [`Version::set_durable`] once they are made.
    pub(super) fn write_to(&self, batch: &mut Batch) {
        let pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        for write in pending.iter().flat_map(Batch::writes).cloned() {
            match write.value {
                Some(value) => batch.put(write.table, write.key, value),
                None => batch.delete(write.table, write.key),
            }
        }
    }

    pub(super) fn is_durable(&self) -> bool {
        self.is_durable.load(Ordering::Relaxed)
    }

    pub(super) fn set_durable(&self) {
        self.is_durable.store(true, Ordering::Relaxed);
        *self.pending.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Drop for Version {
    fn drop(&mut self) {
        if !*self.is_durable.get_mut() {
            self.store.discard(self.commit.id);
        }
    }
}
