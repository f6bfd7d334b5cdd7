//! A part of a store: every key has one prefix, so that several chains share one database.

use core::ops::ControlFlow;
use std::sync::Arc;

use alloy_primitives::Bytes;

use super::{Batch, KeyValue, Order, StoreError, Table};

/// A store over another store, with a prefix before every key.
///
/// A batch made for it must be written to it, never to the store underneath. No prefix in a store may be
/// a prefix of another: give all of them the same length.
#[derive(Clone, Debug)]
pub struct PrefixedStore {
    inner: Arc<dyn KeyValue>,
    prefix: Vec<u8>,
}

impl PrefixedStore {
    /// Creates the part of `inner` under `prefix`.
    pub fn new(inner: Arc<dyn KeyValue>, prefix: impl Into<Vec<u8>>) -> Self {
        Self { inner, prefix: prefix.into() }
    }

    /// Returns `batch` with prefixed keys, as the store underneath expects it, to be joined with changes of other
    /// parts.
    #[must_use]
    pub fn translate(&self, batch: Batch) -> Batch {
        let mut translated = Batch::new();
        for write in batch.into_writes() {
            match write.value {
                Some(value) => translated.put(write.table, self.key(&write.key), value),
                None => translated.delete(write.table, self.key(&write.key)),
            }
        }
        translated
    }

    fn key(&self, key: &[u8]) -> Vec<u8> {
        [&self.prefix, key].concat()
    }
}

impl KeyValue for PrefixedStore {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.inner.get(table, &self.key(key))
    }

    fn scan_from(
        &self,
        table: Table,
        prefix: &[u8],
        from: Option<&[u8]>,
        order: Order,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let own = self.prefix.len();
        let from = from.map(|from| self.key(from));
        self.inner
            .scan_from(table, &self.key(prefix), from.as_deref(), order, &mut |key, value| visit(&key[own..], value))
    }

    fn write(&self, batch: Batch) -> Result<(), StoreError> {
        self.inner.write(self.translate(batch))
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
    fn passes_the_suite_beside_a_neighbour() {
        let whole: Arc<dyn KeyValue> = Arc::new(MemoryStore::new());
        let first = PrefixedStore::new(Arc::clone(&whole), *b"\xff\xff");
        let second = PrefixedStore::new(Arc::clone(&whole), *b"\xff\xfe");
        suite::run(&first);
        let before = suite::dump(&first);
        assert!(!before.is_empty());
        assert!(suite::dump(&second).is_empty(), "a neighbour sees nothing");
        suite::run(&second);
        assert_eq!(suite::dump(&first), before, "a neighbour changes nothing");
    }
}
