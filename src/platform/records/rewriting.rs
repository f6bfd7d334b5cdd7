//! Writing all records of a type anew, for a migration.

use serde::de::DeserializeOwned;

use super::{
    Record, RecordError, Stored,
    key::{self, Owner},
    verify::{WantedPairs, found_pairs, pairs, pairs_of_index, place},
    view::View,
};
use crate::store::{Batch, KeyValue, Table};

/// A record as the store has it.
#[derive(Clone, Copy, Debug)]
pub(in crate::platform) struct Former<'a> {
    kind: &'static str,
    /// Its owner.
    pub(in crate::platform) owner: &'a Owner,
    id: &'a str,
    version: u16,
    payload: &'a [u8],
}

impl Former<'_> {
    /// Reads its value in the form of a version of its type.
    ///
    /// # Errors
    /// [`RecordError::Corrupt`] for a record of another version, and for one that is not of this form.
    pub(in crate::platform) fn read<V: DeserializeOwned>(&self, version: u16) -> Result<V, RecordError> {
        let read = if self.version == version { postcard::from_bytes(self.payload).ok() } else { None };
        let reason = || format!("version {} of it can't be converted", self.version);
        read.ok_or_else(|| RecordError::corrupt(self.kind, self.id, reason()))
    }
}

/// Returns the changes by which all records of a type have the values that `convert` makes of them, with their revisions and times, and those of
/// which it makes none are gone. The indices of the type hold what they must then, and those of the names in `dropped`, which it had, nothing.
///
/// # Errors
/// [`RecordError::Taken`] for two records in a group of a unique index, those of reading, and those of `convert`.
pub(in crate::platform) fn rewritten<T: Record>(
    store: &dyn KeyValue,
    dropped: &[&str],
    mut convert: impl FnMut(&Former<'_>) -> Result<Option<T>, RecordError>,
) -> Result<Batch, RecordError> {
    let (view, mut batch, mut wanted) = (View::stored(store), Batch::new(), WantedPairs::default());
    for (rest, bytes) in pairs(&view, &key::records_of(T::KIND))? {
        let (owner, id) = place::<T>(&rest)?;
        let key = key::record(T::KIND, &owner, id);
        let converted = Stored::<T>::converted(owner, id, &bytes, |owner, version, payload| {
            convert(&Former { kind: T::KIND, owner, id, version, payload })
        })?;
        match converted {
            Some(stored) => {
                wanted.add(&stored)?;
                batch.put(Table::Platform, key, stored.encode()?);
            }
            None => batch.delete(Table::Platform, key),
        }
    }
    let (wanted, mut found) = (wanted.into_pairs(), found_pairs::<T>(&view)?);
    for index in dropped {
        found.extend(pairs_of_index(&view, T::KIND, index)?);
    }
    for key in found.keys().filter(|key| !wanted.contains_key(*key)) {
        batch.delete(Table::Platform, key.clone());
    }
    for (key, value) in wanted.into_iter().filter(|(key, value)| found.get(key) != Some(value)) {
        batch.put(Table::Platform, key, value);
    }
    Ok(batch)
}
