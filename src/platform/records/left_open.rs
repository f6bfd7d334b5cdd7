//! Which accepted requests nobody works on any more although the process goes on: neither effect nor response could be written, as on a full
//! disk.
//!
//! The store has them as unfinished, and at the next start they are run to their end. They are noted here too, so that it needs no start: who
//! takes one runs it to its end by the same rule.

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::key::Owner;

/// A request by the time at which it was accepted, owner and id: the oldest sorts first.
pub(super) type Place = (u64, Owner, String);

/// The requests that are left open, each until somebody takes it.
#[derive(Debug, Default)]
pub(super) struct LeftOpen(Mutex<BTreeSet<Place>>);

impl LeftOpen {
    pub(super) fn add(&self, place: Place) {
        self.places().insert(place);
    }

    /// Returns all of them, the oldest first, and leaves them.
    pub(super) fn all(&self) -> Vec<Place> {
        self.places().iter().cloned().collect()
    }

    /// Takes one; returns whether it was left.
    pub(super) fn take(&self, place: &Place) -> bool {
        self.places().remove(place)
    }

    /// A poisoned lock guards nothing half-done: each change is one step.
    fn places(&self) -> MutexGuard<'_, BTreeSet<Place>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
