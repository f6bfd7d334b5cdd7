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

/// Groups whose front is kept. Of one more, the one's that was noted the longest ago is forgotten: its next scan begins with the group.
const GROUPS_MAX: usize = 64;

/// A key before which a group has none, by the prefix of the group's keys.
#[derive(Debug, Default)]
pub(super) struct Fronts(Mutex<Noted>);

#[derive(Debug, Default)]
struct Noted {
    groups: BTreeMap<Vec<u8>, Front>,
    /// How often a front was noted.
    notes: u64,
}

#[derive(Debug)]
struct Front {
    first: Vec<u8>,
    /// The number of the note: the group with the lowest was used the longest ago.
    noted: u64,
}

impl Fronts {
    pub(super) fn of(&self, group: &[u8]) -> Option<Vec<u8>> {
        self.all().groups.get(group).map(|front| front.first.clone())
    }

    /// Notes the first key of a group, in place of one that was found before.
    pub(super) fn note(&self, group: Vec<u8>, first: Vec<u8>) {
        let mut all = self.all();
        all.notes = all.notes.saturating_add(1);
        if all.groups.len() >= GROUPS_MAX && !all.groups.contains_key(&group) {
            let oldest = all.groups.iter().min_by_key(|(_, front)| front.noted).map(|(group, _)| group.clone());
            oldest.map(|oldest| all.groups.remove(&oldest));
        }
        let noted = all.notes;
        all.groups.insert(group, Front { first, noted });
    }

    /// Takes fronts back to what is about to be written before them.
    pub(super) fn lower(&self, batch: &Batch) {
        let mut all = self.all();
        for write in batch.writes().iter().filter(|write| write.value.is_some()) {
            for (group, front) in &mut all.groups {
                if write.key < front.first && write.key.starts_with(group) {
                    front.first.clone_from(&write.key);
                }
            }
        }
    }

    /// A poisoned lock guards nothing half-done: each front is a key before which there is none.
    fn all(&self) -> MutexGuard<'_, Noted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_that_is_in_use_is_kept_however_many_others_are_noted() {
        let fronts = Fronts::default();
        for other in 0..4 * GROUPS_MAX {
            fronts.note(b"a".to_vec(), vec![1]);
            fronts.note(format!("b{other}").into_bytes(), vec![2]);
            assert_eq!(fronts.of(b"a"), Some(vec![1]), "{other}");
        }
        assert_eq!(fronts.of(b"b0"), None);
        assert_eq!(fronts.all().groups.len(), GROUPS_MAX);
    }
}
