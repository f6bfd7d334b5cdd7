//! Where the entries of a group of an index begin, as far as it is known.
//!
//! A store remembers for a while what was deleted, and a scan passes it. What takes entries from the front of a group, again and again, would
//! pass all that it took before. So the key that it found first is kept in memory: the group has none before it. Units of work alone note
//! such keys and write entries, one unit at a time.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::store::Batch;

/// Groups whose front is kept. Of one more, another one's is forgotten: its next scan begins with the group.
const GROUPS_MAX: usize = 64;

/// A key before which a group has none, by the prefix of the group's keys.
#[derive(Debug, Default)]
pub(super) struct Fronts(Mutex<BTreeMap<Vec<u8>, Vec<u8>>>);

impl Fronts {
    pub(super) fn of(&self, group: &[u8]) -> Option<Vec<u8>> {
        self.all().get(group).cloned()
    }

    /// Notes the first key of a group, in place of one that was found before.
    pub(super) fn note(&self, group: Vec<u8>, first: Vec<u8>) {
        let mut all = self.all();
        if all.len() >= GROUPS_MAX && !all.contains_key(&group) {
            all.pop_first();
        }
        all.insert(group, first);
    }

    /// Takes fronts back to what is about to be written before them.
    pub(super) fn lower(&self, batch: &Batch) {
        let mut all = self.all();
        for write in batch.writes().iter().filter(|write| write.value.is_some()) {
            for (group, first) in all.iter_mut() {
                if write.key < *first && write.key.starts_with(group) {
                    first.clone_from(&write.key);
                }
            }
        }
    }

    /// A poisoned lock guards nothing half-done: each front is a key before which there is none.
    fn all(&self) -> MutexGuard<'_, BTreeMap<Vec<u8>, Vec<u8>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
