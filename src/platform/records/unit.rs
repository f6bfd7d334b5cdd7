//! The unit of work: changes that are written together or not at all.

use super::{
    Collection, Index, Page, PageRequest, Record, RecordError, SortKey, Stored,
    collection::{encode_place, number},
    entries::{IndexEntry, entries},
    fronts::Fronts,
    key::{self, Owner},
    view::{Pending, View},
};
use crate::store::{Batch, KeyValue, Table};

/// Changes in the making. Reads through it see them; nobody else does until all are written as one batch.
///
/// A unit is made by [`Records::unit`](super::Records::unit), which lets one run at a time. So what is read in a unit holds until it is
/// written, and rules over several records need no further care. What was read before is checked by [`Unit::replace`] and
/// [`Unit::delete`].
#[derive(Debug)]
pub struct Unit<'a> {
    store: &'a dyn KeyValue,
    now_ms: u64,
    pending: Pending,
    fronts: &'a Fronts,
    /// Groups with the key that was found first in each.
    found: Vec<(Vec<u8>, Vec<u8>)>,
}

impl<'a> Unit<'a> {
    pub(super) const fn new(store: &'a dyn KeyValue, fronts: &'a Fronts, now_ms: u64) -> Self {
        Self { store, now_ms, pending: Pending::new(), fronts, found: Vec::new() }
    }

    /// Time of the unit, in milliseconds since the Unix epoch: that of every record that it changes.
    pub const fn now_ms(&self) -> u64 {
        self.now_ms
    }

    fn view(&self) -> View<'_> {
        View::with_pending(self.store, &self.pending)
    }

    /// Returns the records of a type, with the changes of the unit.
    pub fn of<T: Record>(&self) -> Collection<'_, T> {
        Collection::over(self.view())
    }

    /// Returns the first records of a group of an index, ascending, at most as many as `request` takes: for what deletes them. What was
    /// deleted before the record that the last such page began with is not passed again.
    ///
    /// # Errors
    /// As [`Collection::page`].
    pub fn front<T: Record>(
        &mut self,
        index: &Index<T>,
        owner: &Owner,
        group: &SortKey,
        request: &PageRequest,
    ) -> Result<Page<T>, RecordError> {
        let request = PageRequest { is_counted: request.is_counted, ..PageRequest::first(request.limit) };
        let prefix = key::group(T::KIND, index.name(), index.reach_of(owner), group.as_bytes());
        let known = self.fronts.of(&prefix).filter(|front| self.first_pending(&prefix).is_none_or(|new| new >= front));
        let (page, first) = self.of::<T>().page_from(index, owner, group, &request, known.as_deref())?;
        self.found.extend(first.map(|first| (prefix, first)));
        Ok(page)
    }

    /// Returns the first key of a group that the unit writes.
    fn first_pending(&self, group: &[u8]) -> Option<&Vec<u8>> {
        let mut changed = self.pending.range(group.to_vec()..).take_while(|(key, _)| key.starts_with(group));
        changed.find(|(_, change)| change.is_some()).map(|(key, _)| key)
    }

    /// Adds a record.
    ///
    /// # Errors
    /// [`RecordError::InvalidId`], [`RecordError::Exists`], [`RecordError::Taken`], and those of reading. The unit is then to be given up.
    pub fn insert<T: Record>(&mut self, owner: &Owner, id: &str, value: T) -> Result<Stored<T>, RecordError> {
        if !key::is_id(id) {
            return Err(RecordError::InvalidId { kind: T::KIND, id: id.to_owned() });
        }
        let key = key::record(T::KIND, owner, id);
        if self.view().get(&key)?.is_some() {
            return Err(RecordError::Exists { kind: T::KIND, id: id.to_owned() });
        }
        let stored = Stored::first(owner.clone(), id.to_owned(), self.now_ms, value);
        self.reindex::<T>(None, Some(&stored))?;
        self.pending.insert(key, Some(stored.encode()?));
        Ok(stored)
    }

    /// Replaces a record by a changed copy of it, and returns it with its next revision.
    ///
    /// # Errors
    /// [`RecordError::Missing`], [`RecordError::Stale`] when it was changed since it was read, [`RecordError::Taken`], and those of
    /// reading. The unit is then to be given up.
    pub fn replace<T: Record>(&mut self, changed: &Stored<T>) -> Result<Stored<T>, RecordError> {
        let present = self.present(changed)?;
        let next = changed.next(self.now_ms);
        self.reindex(Some(&present), Some(&next))?;
        self.pending.insert(key::record(T::KIND, next.owner(), next.id()), Some(next.encode()?));
        Ok(next)
    }

    /// Deletes a record.
    ///
    /// # Errors
    /// [`RecordError::Missing`], [`RecordError::Stale`], and those of reading. The unit is then to be given up.
    pub fn delete<T: Record>(&mut self, read: &Stored<T>) -> Result<(), RecordError> {
        let present = self.present(read)?;
        self.reindex::<T>(Some(&present), None)?;
        self.pending.insert(key::record(T::KIND, read.owner(), read.id()), None);
        Ok(())
    }

    /// Returns the stored record, when it has the revision of the one that was read.
    fn present<T: Record>(&self, read: &Stored<T>) -> Result<Stored<T>, RecordError> {
        let present = self.of::<T>().require(read.owner(), read.id())?;
        let (expected, found) = (read.revision(), present.revision());
        if expected == found {
            return Ok(present);
        }
        Err(RecordError::Stale { kind: T::KIND, id: read.id().to_owned(), expected, found })
    }

    /// Removes the index entries of the record as it was, and adds those of the record as it will be.
    fn reindex<T: Record>(&mut self, old: Option<&Stored<T>>, new: Option<&Stored<T>>) -> Result<(), RecordError> {
        let left = old.map(entries).unwrap_or_default();
        let entered = new.map(entries).unwrap_or_default();
        // In a group that the record only moves within, the count stays.
        let stays = |entry: &IndexEntry, others: &[IndexEntry]| others.iter().any(|other| other.count == entry.count);
        for entry in left.iter().filter(|entry| !entered.contains(entry)) {
            self.pending.insert(entry.key.clone(), None);
            if !stays(entry, &entered) {
                self.change_count(entry, |count| count.saturating_sub(1))?;
            }
        }
        let Some(new) = new else { return Ok(()) };
        for entry in entered.iter().filter(|entry| !left.contains(entry)) {
            if entry.is_unique && self.view().get(&entry.key)?.is_some() {
                return Err(RecordError::Taken { kind: T::KIND, index: entry.index });
            }
            self.pending.insert(entry.key.clone(), Some(encode_place(new)));
            if !stays(entry, &left) {
                self.change_count(entry, |count| count.saturating_add(1))?;
            }
        }
        Ok(())
    }

    fn change_count(&mut self, entry: &IndexEntry, change: impl FnOnce(u64) -> u64) -> Result<(), RecordError> {
        let Some(key) = &entry.count else { return Ok(()) };
        let count = change(number(&self.view(), key)?);
        // A group without entries leaves nothing behind.
        self.pending.insert(key.clone(), (count > 0).then(|| count.to_be_bytes().to_vec()));
        Ok(())
    }

    /// Returns a counter of an owner; 0 before it was first added to.
    ///
    /// # Errors
    /// [`RecordError::Store`], [`RecordError::Corrupt`].
    pub fn counter(&self, owner: &Owner, name: &str) -> Result<u64, RecordError> {
        number(&self.view(), &key::counter(owner, name))
    }

    /// Adds to a counter of an owner and returns its new value, which stays at the largest number.
    ///
    /// # Errors
    /// As [`Unit::counter`].
    pub fn add(&mut self, owner: &Owner, name: &str, amount: u64) -> Result<u64, RecordError> {
        let sum = self.counter(owner, name)?.saturating_add(amount);
        self.pending.insert(key::counter(owner, name), Some(sum.to_be_bytes().to_vec()));
        Ok(sum)
    }

    /// Takes from a counter of an owner and returns its new value, which stays at 0.
    ///
    /// # Errors
    /// As [`Unit::counter`].
    pub fn subtract(&mut self, owner: &Owner, name: &str, amount: u64) -> Result<u64, RecordError> {
        let left = self.counter(owner, name)?.saturating_sub(amount);
        self.pending.insert(key::counter(owner, name), Some(left.to_be_bytes().to_vec()));
        Ok(left)
    }

    /// Returns the changes as one batch, and what is known of the front of groups once it is written.
    pub(super) fn into_parts(self) -> (Batch, Vec<(Vec<u8>, Vec<u8>)>) {
        let mut batch = Batch::new();
        let lowered = |(group, first): &(Vec<u8>, Vec<u8>)| {
            let new = self.first_pending(group).filter(|new| *new < first);
            (group.clone(), new.unwrap_or(first).clone())
        };
        let found = self.found.iter().map(lowered).collect();
        for (key, change) in self.pending {
            match change {
                Some(value) => batch.put(Table::Platform, key, value),
                None => batch.delete(Table::Platform, key),
            }
        }
        (batch, found)
    }
}
