//! Whether indices and counts say what the records say.

use core::ops::ControlFlow;
use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::hex;

use super::{
    Record, RecordError, Records, Stored,
    collection::encode_place,
    entries::{entries, indices},
    key::{self, Owner},
    view::View,
};
use crate::store::{Batch, Order, Table};

/// Keys and values of the entries of all indices of a type, and of the numbers of entries.
pub(super) type IndexPairs = BTreeMap<Vec<u8>, Vec<u8>>;

impl Records {
    /// Returns the kinds of records that the store has, those of other versions among them.
    ///
    /// # Errors
    /// [`RecordError::Store`].
    pub fn kinds(&self) -> Result<BTreeSet<String>, RecordError> {
        let (view, all) = (View::stored(self.store()), key::records_of_all());
        let (mut kinds, mut from) = (BTreeSet::new(), Vec::new());
        loop {
            let mut next = None;
            view.scan_from(&all, Some(&from), Order::Ascending, &mut |key, _| {
                next = key[all.len()..].split(|byte| *byte == 0).next().map(<[u8]>::to_vec);
                ControlFlow::Break(())
            })?;
            let Some(kind) = next else { return Ok(kinds) };
            kinds.insert(String::from_utf8_lossy(&kind).into_owned());
            // Past all keys of the kind, which end it by a zero.
            from = [&all[..], &kind, &[1]].concat();
        }
    }

    /// Calls `visit` with every record of a type, of all owners, in the order of their keys.
    ///
    /// # Errors
    /// Those of reading, and those of `visit`.
    pub fn for_every<T: Record, E: From<RecordError>>(
        &self,
        mut visit: impl FnMut(Stored<T>) -> Result<(), E>,
    ) -> Result<(), E> {
        let view = View::stored(self.store());
        for (rest, bytes) in pairs(&view, &key::records_of(T::KIND)).map_err(E::from)? {
            visit(stored::<T>(&rest, &bytes)?)?;
        }
        Ok(())
    }

    /// Checks that the indices and counts of a type are those of its records, by reading all of them; returns how many records there are.
    ///
    /// # Errors
    /// [`RecordError::Corrupt`] with the first difference, and those of reading.
    pub fn verify<T: Record>(&self) -> Result<u64, RecordError> {
        let view = View::stored(self.store());
        let (count, wanted) = wanted_pairs::<T>(&view)?;
        let found = found_pairs::<T>(&view)?;
        let differing = wanted.iter().find(|(key, value)| found.get(*key) != Some(value));
        let differing = differing.or_else(|| found.iter().find(|(key, _)| !wanted.contains_key(*key)));
        let Some((key, _)) = differing else { return Ok(count) };
        let reason = "an index or a count is not what the records say".to_owned();
        Err(RecordError::corrupt(T::KIND, &hex::encode(key), reason))
    }
}

impl Records {
    /// Writes what the indices of a type lack of its records, in one batch: for an index that the store's writer did not know. To be called
    /// before the type is used.
    ///
    /// # Errors
    /// [`RecordError`] of reading and writing.
    pub fn complete_indices<T: Record>(&self) -> Result<(), RecordError> {
        self.write_alone(|store| {
            let view = View::stored(store);
            let (wanted, found) = (wanted_pairs::<T>(&view)?.1, found_pairs::<T>(&view)?);
            let mut batch = Batch::new();
            for (key, value) in wanted.into_iter().filter(|(key, value)| found.get(key) != Some(value)) {
                batch.put(Table::Platform, key, value);
            }
            Ok(batch)
        })
    }

    /// Does what a store needs once, such as completing indices that are newer than it; a counter of the service notes that it is done. What
    /// fails is done again the next time.
    ///
    /// # Errors
    /// Those of `work`, and [`RecordError`] of the counter.
    pub fn once(&self, counter: &str, work: impl FnOnce(&Self) -> Result<(), RecordError>) -> Result<(), RecordError> {
        if self.counter(&Owner::Service, counter)? > 0 {
            return Ok(());
        }
        work(self)?;
        self.unit(|unit| unit.add(&Owner::Service, counter, 1).map(drop))
    }
}

/// Returns the number of records of a type, and what its indices must hold.
pub(super) fn wanted_pairs<T: Record>(view: &View<'_>) -> Result<(u64, IndexPairs), RecordError> {
    let (mut wanted, mut count) = (WantedPairs::default(), 0_u64);
    for (rest, bytes) in pairs(view, &key::records_of(T::KIND))? {
        count = count.saturating_add(1);
        wanted.add(&stored::<T>(&rest, &bytes)?)?;
    }
    Ok((count, wanted.into_pairs()))
}

/// What the indices of a type must hold of the records that were added.
#[derive(Default)]
pub(super) struct WantedPairs {
    entries: IndexPairs,
    counts: BTreeMap<Vec<u8>, u64>,
}

impl WantedPairs {
    pub(super) fn add<T: Record>(&mut self, stored: &Stored<T>) -> Result<(), RecordError> {
        for entry in entries(stored) {
            if self.entries.insert(entry.key, encode_place(stored)).is_some() {
                return Err(RecordError::Taken { kind: T::KIND, index: entry.index });
            }
            if let Some(key) = entry.count {
                let sum = self.counts.entry(key).or_default();
                *sum = sum.saturating_add(1);
            }
        }
        Ok(())
    }

    pub(super) fn into_pairs(self) -> IndexPairs {
        let mut pairs = self.entries;
        pairs.extend(self.counts.into_iter().map(|(key, sum)| (key, sum.to_be_bytes().to_vec())));
        pairs
    }
}

/// Reads a record from its key, without the prefix, and its bytes.
fn stored<T: Record>(rest: &[u8], bytes: &[u8]) -> Result<Stored<T>, RecordError> {
    let (owner, id) = place::<T>(rest)?;
    Stored::<T>::decode(owner, id, bytes)
}

/// Reads owner and id of a record from its key, without the prefix.
pub(super) fn place<T: Record>(rest: &[u8]) -> Result<(Owner, &str), RecordError> {
    key::owner_and_id(rest)
        .ok_or_else(|| RecordError::corrupt(T::KIND, &hex::encode(rest), "its key has no owner".to_owned()))
}

/// Returns what the indices of a type hold.
pub(super) fn found_pairs<T: Record>(view: &View<'_>) -> Result<IndexPairs, RecordError> {
    let mut found = IndexPairs::new();
    for index in indices::<T>() {
        found.extend(pairs_of_index(view, T::KIND, index.name())?);
    }
    Ok(found)
}

/// Returns what an index holds, by its name.
pub(super) fn pairs_of_index(view: &View<'_>, kind: &str, index: &str) -> Result<IndexPairs, RecordError> {
    let mut found = IndexPairs::new();
    for prefix in [key::entries_of(kind, index), key::counts_of(kind, index)] {
        found.extend(pairs(view, &prefix)?.into_iter().map(|(rest, value)| ([&prefix[..], &rest].concat(), value)));
    }
    Ok(found)
}

/// Pairs under a prefix, which is left out of their keys.
pub(super) fn pairs(view: &View<'_>, prefix: &[u8]) -> Result<Vec<(Vec<u8>, Vec<u8>)>, RecordError> {
    let mut pairs = Vec::new();
    view.scan_from(prefix, None, Order::Ascending, &mut |key, value| {
        pairs.push((key[prefix.len()..].to_vec(), value.to_vec()));
        ControlFlow::Continue(())
    })?;
    Ok(pairs)
}
