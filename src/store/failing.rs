//! A store that fails on purpose, to test recovery from a failed write.

use core::{
    ops::ControlFlow,
    sync::atomic::{AtomicU64, Ordering},
};
use std::sync::Arc;

use alloy_primitives::Bytes;

use super::{Batch, KeyValue, Order, StoreError, Table};

/// Fails every nth write, which leaves the store underneath unchanged; reads always succeed.
#[derive(Debug)]
pub struct FailingStore {
    inner: Arc<dyn KeyValue>,
    period: u64,
    writes: AtomicU64,
}

impl FailingStore {
    /// Creates a store that fails each `period`th write to `inner`, counted from 1; a period of 0 never fails.
    pub fn new(inner: Arc<dyn KeyValue>, period: u64) -> Self {
        Self { inner, period, writes: AtomicU64::new(0) }
    }

    /// Returns the number of writes attempted.
    pub fn writes(&self) -> u64 {
        self.writes.load(Ordering::SeqCst)
    }
}

impl KeyValue for FailingStore {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.inner.get(table, key)
    }

    fn scan(
        &self,
        table: Table,
        prefix: &[u8],
        order: Order,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        self.inner.scan(table, prefix, order, visit)
    }

    fn write(&self, batch: Batch) -> Result<(), StoreError> {
        let write = self.writes.fetch_add(1, Ordering::SeqCst) + 1;
        if self.period != 0 && write.is_multiple_of(self.period) {
            return Err(StoreError::Io { operation: "write", reason: format!("write {write} fails on purpose") });
        }
        self.inner.write(batch)
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
        suite::run(&FailingStore::new(Arc::new(MemoryStore::new()), 0));
    }

    #[test]
    fn a_failed_write_changes_nothing() {
        let inner = Arc::new(MemoryStore::new());
        let store = FailingStore::new(inner.clone(), 3);
        let results = (1..=7_u8).map(|number| {
            let mut batch = Batch::new();
            batch.put(Table::Blocks, [number], [number]);
            batch.put(Table::Receipts, [number], [number]);
            store.write(batch).is_ok()
        });
        assert_eq!(results.collect::<Vec<_>>(), [true, true, false, true, true, false, true]);
        for table in [Table::Blocks, Table::Receipts] {
            let kept = suite::dump(&*inner).into_iter().filter(|(found, ..)| *found == table).map(|(_, key, _)| key[0]);
            assert_eq!(kept.collect::<Vec<_>>(), [1, 2, 4, 5, 7]);
        }
        assert_eq!(store.writes(), 7);
    }
}
