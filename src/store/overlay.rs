//! A store over another one that is only read: what is written stays in memory.

use core::ops::{Bound, ControlFlow};
use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
};

use alloy_primitives::Bytes;

use super::{Batch, KeyValue, Order, StoreError, Table};

/// What was written: a value, or `None` for a key that was deleted.
type Changes = BTreeMap<(Table, Vec<u8>), Option<Bytes>>;

/// A store whose content is that of another one with the changes that were written to this one. The other one is never changed: with it,
/// what opening a database would change (migrations, recovery) is tried out.
#[derive(Debug)]
pub struct OverlayStore {
    inner: Arc<dyn KeyValue>,
    changes: RwLock<Changes>,
}

impl OverlayStore {
    /// Creates a store with the content of another one.
    pub fn new(inner: Arc<dyn KeyValue>) -> Self {
        Self { inner, changes: RwLock::default() }
    }

    /// The changes of the keys under a prefix, in ascending order.
    fn changed(&self, table: Table, prefix: &[u8]) -> Vec<(Vec<u8>, Option<Bytes>)> {
        // A poisoned lock guards nothing half-done: a batch is applied by insertions that don't panic.
        let changes = self.changes.read().unwrap_or_else(PoisonError::into_inner);
        let from = Bound::Included((table, prefix.to_vec()));
        let under = changes.range((from, Bound::Unbounded)).map(|((of, key), value)| (of, key, value));
        let under = under.take_while(|(of, key, _)| **of == table && key.starts_with(prefix));
        under.map(|(_, key, value)| (key.clone(), value.clone())).collect()
    }
}

impl KeyValue for OverlayStore {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        let changes = self.changes.read().unwrap_or_else(PoisonError::into_inner);
        match changes.get(&(table, key.to_vec())) {
            Some(changed) => Ok(changed.clone()),
            None => self.inner.get(table, key),
        }
    }

    fn scan_from(
        &self,
        table: Table,
        prefix: &[u8],
        from: Option<&[u8]>,
        order: Order,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let mut changed = self.changed(table, prefix);
        if order == Order::Descending {
            changed.reverse();
        }
        let is_before = |key: &[u8], other: &[u8]| if order == Order::Ascending { key < other } else { key > other };
        changed.retain(|(key, _)| from.is_none_or(|from| !is_before(key, from)));
        let mut changed = changed.into_iter().peekable();
        let mut flow = ControlFlow::Continue(());
        self.inner.scan_from(table, prefix, from, order, &mut |key, value| {
            while let Some((own, change)) = changed.next_if(|(own, _)| is_before(own, key)) {
                if let Some(value) = change {
                    flow = visit(&own, &value);
                    if flow.is_break() {
                        return flow;
                    }
                }
            }
            flow = match changed.next_if(|(own, _)| own == key) {
                Some((own, Some(value))) => visit(&own, &value),
                Some((_, None)) => ControlFlow::Continue(()),
                None => visit(key, value),
            };
            flow
        })?;
        while flow.is_continue()
            && let Some((own, change)) = changed.next()
        {
            if let Some(value) = change {
                flow = visit(&own, &value);
            }
        }
        Ok(())
    }

    fn write(&self, batch: Batch) -> Result<(), StoreError> {
        let mut changes = self.changes.write().unwrap_or_else(PoisonError::into_inner);
        for write in batch.into_writes() {
            changes.insert((write.table, write.key), write.value.map(Bytes::from));
        }
        Ok(())
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
    fn passes_the_suite() {
        suite::run(&OverlayStore::new(Arc::new(MemoryStore::new())));
    }

    /// Keys of both, in turn, changed and deleted ones among them.
    #[test]
    fn shows_the_changes_and_leaves_the_other_store_alone() {
        let inner = Arc::new(MemoryStore::new());
        let mut batch = Batch::new();
        for key in [b"a1", b"a3", b"a5", b"a7", b"b1"] {
            batch.put(Table::Meta, *key, *b"inner");
        }
        inner.write(batch).unwrap();
        let before = suite::dump(&*inner);
        let overlay = OverlayStore::new(inner.clone());
        let mut batch = Batch::new();
        for key in [b"a0", b"a3", b"a4", b"a9"] {
            batch.put(Table::Meta, *key, *b"own");
        }
        batch.delete(Table::Meta, *b"a5");
        batch.delete(Table::Meta, *b"a6");
        overlay.write(batch).unwrap();

        let scan = |from: Option<&[u8]>, order, most: usize| {
            let mut found = Vec::new();
            let visit = &mut |key: &[u8], value: &[u8]| {
                found.push(format!("{}={}", String::from_utf8_lossy(key), String::from_utf8_lossy(value)));
                if found.len() == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            overlay.scan_from(Table::Meta, b"a", from, order, visit).unwrap();
            found
        };
        let all = ["a0=own", "a1=inner", "a3=own", "a4=own", "a7=inner", "a9=own"];
        for most in 1..=all.len() {
            assert_eq!(scan(None, Order::Ascending, most), all[..most], "{most}");
        }
        assert_eq!(scan(Some(b"a4"), Order::Ascending, 99), all[3..]);
        let mut down = all;
        down.reverse();
        for most in 1..=all.len() {
            assert_eq!(scan(None, Order::Descending, most), down[..most], "{most}");
        }
        assert_eq!(scan(Some(b"a5"), Order::Descending, 99), down[2..]);
        assert_eq!(overlay.get(Table::Meta, b"a5").unwrap(), None);
        assert_eq!(suite::dump(&*inner), before);
    }
}
