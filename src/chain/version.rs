//! A version of the state that lives as long as somebody holds it.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use crate::{
    state::{Commit, StateError, StateStore, StateView},
    store::Batch,
};

/// One state version, shared by the block that made it, the empty blocks after it and everybody's snapshots.
///
/// Dropping the last holder gives the version back to the store, unless it was made durable.
#[derive(Debug)]
pub(super) struct Version {
    store: Arc<dyn StateStore>,
    commit: Commit,
    /// What makes it durable, until it is.
    pending: Mutex<Option<Batch>>,
    is_durable: AtomicBool,
}

impl Version {
    /// A version just committed; `batch` makes it durable.
    pub(super) fn new(store: Arc<dyn StateStore>, commit: Commit, batch: Batch) -> Self {
        Self { store, commit, pending: Mutex::new(Some(batch)), is_durable: AtomicBool::new(false) }
    }

    /// A version that the store holds durably.
    pub(super) fn stored(store: Arc<dyn StateStore>, commit: Commit) -> Self {
        Self { store, commit, pending: Mutex::new(None), is_durable: AtomicBool::new(true) }
    }

    pub(super) const fn commit(&self) -> Commit {
        self.commit
    }

    pub(super) fn view(&self) -> Result<Arc<dyn StateView>, StateError> {
        self.store.view(self.commit.id)
    }

    /// Adds what makes it durable to `batch`; nothing when it is. Call [`Version::set_durable`] once that is written.
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
