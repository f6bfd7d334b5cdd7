//! The platform's records in a store: opening it, its format version, and its one writer.

use std::sync::{Arc, Mutex, PoisonError};

use alloy_primitives::hex;

use super::{
    Collection, Owner, Record, RecordError, Unit, collection::number, fronts::Fronts, key, left_open::LeftOpen,
    view::View,
};
use crate::{
    node::Clock,
    store::{Batch, CachedStore, KeyValue, Table},
};

/// Bytes of records that are kept in memory after they were read: those of some ten thousand callers.
const KEPT_BYTES_MAX: u64 = 16 << 20;

/// A step from one format of the records to the next.
#[derive(Clone, Copy, Debug)]
pub struct Migration {
    /// Format that it starts from; it leads to the next.
    pub from: u32,
    /// Returns the changes. They are written together with the new format number, so that a migration that is interrupted starts again.
    pub changes: fn(&dyn KeyValue) -> Result<Batch, RecordError>,
}

/// The platform's records in a store.
#[derive(Debug)]
pub struct Records {
    store: Arc<dyn KeyValue>,
    clock: Arc<dyn Clock>,
    /// Held while a unit of work is made and written.
    writing: Mutex<()>,
    /// Where groups of indices begin.
    fronts: Fronts,
    /// Requests whose end could not be written.
    pub(super) left_open: LeftOpen,
}

impl Records {
    /// Opens the records in a store, and migrates those of an older format to this one.
    ///
    /// # Errors
    /// [`RecordError::NewerFormat`], [`RecordError::NoMigration`], [`RecordError::Corrupt`], [`RecordError::Store`].
    pub(in crate::platform) fn open_with(
        store: Arc<dyn KeyValue>,
        clock: Arc<dyn Clock>,
        format: u32,
        migrations: &[Migration],
    ) -> Result<Self, RecordError> {
        migrate(&*store, format, migrations)?;
        let store = Arc::new(CachedStore::new(store, Table::Platform, KEPT_BYTES_MAX));
        let (fronts, left_open) = (Fronts::default(), LeftOpen::default());
        Ok(Self { store, clock, writing: Mutex::new(()), fronts, left_open })
    }

    /// Returns the format of the records in a store; `None` when it has none.
    ///
    /// # Errors
    /// [`RecordError::Corrupt`], [`RecordError::Store`].
    pub fn format_of(store: &dyn KeyValue) -> Result<Option<u32>, RecordError> {
        stored_format(store)
    }

    /// Checks that the records of a store have a format, or one that migrations lead to it from.
    ///
    /// # Errors
    /// [`RecordError::NewerFormat`], [`RecordError::NoMigration`], and as [`Records::format_of`].
    pub(in crate::platform) fn check_format_with(
        store: &dyn KeyValue,
        format: u32,
        migrations: &[Migration],
    ) -> Result<(), RecordError> {
        let Some(found) = stored_format(store)? else { return Ok(()) };
        if found > format {
            return Err(RecordError::NewerFormat { found, supported: format });
        }
        match (found..format).find(|older| !migrations.iter().any(|migration| migration.from == *older)) {
            Some(found) => Err(RecordError::NoMigration { found, supported: format }),
            None => Ok(()),
        }
    }

    /// The clock of the records.
    pub const fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    pub(super) fn store(&self) -> &dyn KeyValue {
        &*self.store
    }

    /// Returns the records of a type as they are stored.
    pub fn of<T: Record>(&self) -> Collection<'_, T> {
        Collection::over(View::stored(self.store()))
    }

    /// Returns a counter of an owner as it is stored.
    ///
    /// # Errors
    /// [`RecordError::Store`], [`RecordError::Corrupt`].
    pub fn counter(&self, owner: &Owner, name: &str) -> Result<u64, RecordError> {
        number(&View::stored(self.store()), &key::counter(owner, name))
    }

    /// Writes a batch that is made of what the store has, while no unit of work runs. It changes no record, only what is derived from records.
    pub(super) fn write_alone(
        &self,
        make: impl FnOnce(&dyn KeyValue) -> Result<Batch, RecordError>,
    ) -> Result<(), RecordError> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let batch = make(self.store())?;
        self.fronts.lower(&batch);
        if batch.is_empty() { Ok(()) } else { Ok(self.store.write(batch)?) }
    }

    /// Runs a unit of work: what `work` changes is written as one batch when it succeeds, and dropped when it fails.
    ///
    /// One unit runs at a time. `work` must be short: it reads and decides. What takes long (building a chain, sending a transaction,
    /// hashing a password) is done before or after it. A unit within a unit of the same records would wait for ever.
    ///
    /// # Errors
    /// Those of `work`; [`RecordError::Store`] when the batch can't be written, and nothing is changed.
    pub fn unit<R, E: From<RecordError>>(&self, work: impl FnOnce(&mut Unit<'_>) -> Result<R, E>) -> Result<R, E> {
        // A poisoned lock guards nothing: a unit that panicked was dropped with its changes.
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut unit = Unit::new(self.store(), &self.fronts, self.clock.now_ms());
        let result = work(&mut unit)?;
        let (batch, found) = unit.into_parts();
        if !batch.is_empty() {
            self.fronts.lower(&batch);
            self.store.write(batch).map_err(RecordError::from)?;
        }
        found.into_iter().for_each(|(group, first)| self.fronts.note(group, first));
        Ok(result)
    }
}

fn migrate(store: &dyn KeyValue, format: u32, migrations: &[Migration]) -> Result<(), RecordError> {
    let Some(mut found) = stored_format(store)? else { return write_format(store, Batch::new(), format) };
    while found < format {
        let step = migrations.iter().find(|migration| migration.from == found);
        let step = step.ok_or(RecordError::NoMigration { found, supported: format })?;
        found = found.saturating_add(1);
        write_format(store, (step.changes)(store)?, found)?;
    }
    if found > format { Err(RecordError::NewerFormat { found, supported: format }) } else { Ok(()) }
}

fn write_format(store: &dyn KeyValue, mut batch: Batch, format: u32) -> Result<(), RecordError> {
    batch.put(Table::Platform, key::format(), format.to_be_bytes());
    Ok(store.write(batch)?)
}

fn stored_format(store: &dyn KeyValue) -> Result<Option<u32>, RecordError> {
    let Some(bytes) = store.get(Table::Platform, &key::format())? else { return Ok(None) };
    let bytes = <[u8; 4]>::try_from(&bytes[..]).map_err(|_| RecordError::Corrupt {
        kind: "format",
        id: hex::encode(key::format()),
        reason: format!("it has {} bytes, not 4", bytes.len()),
    })?;
    Ok(Some(u32::from_be_bytes(bytes)))
}
