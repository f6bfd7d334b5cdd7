//! A store that fails on purpose, to test recovery from a failed write.

use core::{
    fmt,
    ops::ControlFlow,
    sync::atomic::{AtomicU64, Ordering},
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alloy_primitives::Bytes;

use super::fault::{ActiveFault, Fate, WriteFault};
use crate::store::{Batch, KeyValue, Order, StoreError, Table};

/// A store before another one that fails writes as a [`WriteFault`] says, from when a test wants it. Reads always succeed.
///
/// ```
/// use std::sync::Arc;
/// use chainbox::store::{Batch, KeyValue, MemoryStore, Table, testing::{FailingStore, WriteFault}};
/// let store = FailingStore::new(Arc::new(MemoryStore::new()));
/// let write = || {
///     let mut batch = Batch::new();
///     batch.put(Table::Platform, *b"key", *b"value");
///     store.write(batch)
/// };
/// store.fail(WriteFault::only(2));
/// assert!(write().is_ok() && write().is_err() && write().is_ok());
/// store.fail(WriteFault::after(0).disk_full());
/// assert!(write().unwrap_err().to_string().contains("the disk is full"));
/// store.recover();
/// assert!(write().is_ok());
/// assert_eq!((store.writes(), store.failures()), (5, 2));
/// ```
pub struct FailingStore {
    inner: Arc<dyn KeyValue>,
    fault: Mutex<Option<ActiveFault>>,
    observer: Option<Observer>,
    writes: AtomicU64,
    failures: AtomicU64,
}

type Observer = Box<dyn Fn(&Batch) + Send + Sync>;

impl FailingStore {
    /// Creates a store before `inner` that fails nothing yet.
    pub fn new(inner: Arc<dyn KeyValue>) -> Self {
        Self { inner, fault: Mutex::default(), observer: None, writes: AtomicU64::new(0), failures: AtomicU64::new(0) }
    }

    /// Returns the store with a fault in force from the first write on.
    #[must_use]
    pub fn with_fault(self, fault: WriteFault) -> Self {
        self.fail(fault);
        self
    }

    /// Returns the store with a function that is called with every batch, before it is written or fails.
    #[must_use]
    pub fn with_observer(self, observer: impl Fn(&Batch) + Send + Sync + 'static) -> Self {
        Self { observer: Some(Box::new(observer)), ..self }
    }

    /// Puts a fault in force, in place of another one; writes are counted for it from now on.
    pub fn fail(&self, fault: WriteFault) {
        *self.active() = Some(ActiveFault::new(fault));
    }

    /// Ends the fault: writes succeed again.
    pub fn recover(&self) {
        *self.active() = None;
    }

    /// Returns the number of writes attempted since the store was created.
    pub fn writes(&self) -> u64 {
        self.writes.load(Ordering::SeqCst)
    }

    /// Returns the number of writes that failed or were dropped since the store was created.
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::SeqCst)
    }

    /// A poisoned lock guards nothing half-done: a fault is replaced whole, and its counters only grow.
    fn active(&self) -> MutexGuard<'_, Option<ActiveFault>> {
        self.fault.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for FailingStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("FailingStore");
        debug.field("inner", &self.inner).field("fault", &self.active());
        debug.field("writes", &self.writes()).field("failures", &self.failures()).finish_non_exhaustive()
    }
}

impl KeyValue for FailingStore {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.inner.get(table, key)
    }

    fn scan_from(
        &self,
        table: Table,
        prefix: &[u8],
        from: Option<&[u8]>,
        order: Order,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        self.inner.scan_from(table, prefix, from, order, visit)
    }

    fn write(&self, batch: Batch) -> Result<(), StoreError> {
        if let Some(observer) = &self.observer {
            observer(&batch);
        }
        self.writes.fetch_add(1, Ordering::SeqCst);
        let fate = self.active().as_mut().map_or(Fate::Kept, |fault| fault.decide(&batch));
        if !matches!(fate, Fate::Kept) {
            self.failures.fetch_add(1, Ordering::SeqCst);
        }
        match fate {
            Fate::Kept => self.inner.write(batch),
            Fate::Dropped => Ok(()),
            Fate::Failed(error) => Err(error),
        }
    }

    fn is_durable(&self) -> bool {
        self.inner.is_durable()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{MemoryStore, suite};

    #[test]
    fn passes_the_suite_when_it_never_fails() {
        suite::run(&FailingStore::new(Arc::new(MemoryStore::new())).with_fault(WriteFault::every(0)));
    }

    /// Writes 1 to 7, of two tables each, under a fault; returns what was acknowledged and what is kept.
    fn seven_writes(fault: WriteFault) -> (Vec<u8>, Vec<u8>) {
        let inner = Arc::new(MemoryStore::new());
        let store = FailingStore::new(inner.clone()).with_fault(fault);
        let acknowledged = (1..=7_u8).filter(|number| {
            let mut batch = Batch::new();
            batch.put(Table::Blocks, [*number], [*number]);
            batch.put(if number.is_multiple_of(2) { Table::Receipts } else { Table::Consensus }, [*number], [*number]);
            store.write(batch).is_ok()
        });
        let acknowledged = acknowledged.collect();
        let kept = |tables: &[Table]| {
            let kept = suite::dump(&*inner).into_iter().filter(|(found, ..)| tables.contains(found));
            let mut kept: Vec<_> = kept.map(|(_, key, _)| key[0]).collect();
            kept.sort_unstable();
            kept
        };
        let blocks = kept(&[Table::Blocks]);
        assert_eq!(blocks, kept(&[Table::Receipts, Table::Consensus]), "{fault:?}: a batch is whole or not at all");
        assert_eq!((store.writes(), store.failures()), (7, 7 - blocks.len() as u64), "{fault:?}");
        (acknowledged, blocks)
    }

    #[test]
    fn a_failed_write_changes_nothing() {
        let all = || (1..=7).collect::<Vec<u8>>();
        let full = WriteFault::full_after_bytes;
        for (fault, acknowledged) in [
            (WriteFault::every(0), all()),
            (WriteFault::every(1), vec![]),
            (WriteFault::every(3), vec![1, 2, 4, 5, 7]),
            (WriteFault::only(2), vec![1, 3, 4, 5, 6, 7]),
            (WriteFault::after(3), vec![1, 2, 3]),
            (WriteFault::after(3).disk_full(), vec![1, 2, 3]),
            (WriteFault::every(2).in_table(Table::Consensus), vec![1, 2, 4, 5, 6]),
            // Each write has four bytes.
            (full(3), vec![]),
            (full(8), vec![1, 2]),
            (full(28), all()),
        ] {
            assert_eq!(seven_writes(fault), (acknowledged.clone(), acknowledged), "{fault:?}");
        }
    }

    #[test]
    fn a_dropped_write_is_acknowledged_and_not_kept() {
        let all: Vec<u8> = (1..=7).collect();
        assert_eq!(seven_writes(WriteFault::after(5).dropped()), (all.clone(), vec![1, 2, 3, 4, 5]));
        assert_eq!(seven_writes(WriteFault::full_after_bytes(8).dropped()), (all, vec![1, 2]));
    }

    #[test]
    fn errors_say_why_and_recovery_ends_them() {
        let store = FailingStore::new(Arc::new(MemoryStore::new()));
        let write = |bytes: usize| {
            let mut batch = Batch::new();
            batch.put(Table::Meta, *b"k", vec![0; bytes]);
            store.write(batch).map_err(|error| error.to_string())
        };
        assert_eq!(write(1), Ok(()));
        store.fail(WriteFault::every(2));
        assert_eq!(write(1), Ok(()), "the count begins with the fault");
        assert_eq!(write(1), Err("store: write failed: write 2 fails on purpose".to_owned()));
        store.fail(WriteFault::full_after_bytes(10));
        let full = |free, watermark| StoreError::Full { free, watermark }.to_string();
        assert_eq!(write(10), Err(full(10, 11)));
        assert_eq!(write(9), Ok(()), "a smaller write has room");
        let mut deletion = Batch::new();
        deletion.delete(Table::Meta, *b"k");
        assert!(store.write(deletion).is_ok(), "a deletion needs no room");
        assert_eq!(write(1), Err(full(0, 2)));
        store.recover();
        assert_eq!(write(100), Ok(()));
    }

    #[test]
    fn an_observer_sees_a_batch_before_it_fails() {
        let seen = Arc::new(AtomicU64::new(0));
        let count = seen.clone();
        let observer = move |batch: &Batch| {
            count.fetch_add(batch.writes().len() as u64, Ordering::SeqCst);
        };
        let store = FailingStore::new(Arc::new(MemoryStore::new()));
        let store = store.with_observer(observer).with_fault(WriteFault::every(1));
        let mut batch = Batch::new();
        batch.put(Table::Meta, *b"k", *b"v");
        assert!(store.write(batch).is_err());
        assert_eq!(seen.load(Ordering::SeqCst), 1);
    }
}
