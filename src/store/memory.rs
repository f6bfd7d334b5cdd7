//! The store in memory: persistent ordered maps, which copy in O(1).

use core::ops::{Bound, ControlFlow};
use std::sync::{Arc, Mutex, PoisonError};

use alloy_primitives::Bytes;
use arc_swap::ArcSwap;
use imbl::OrdMap;

use super::{Batch, KeyValue, Order, StoreError, Table};

/// A store that is not durable.
///
/// Its clone is an independent store with the same content, made in O(1) by structural sharing.
/// Readers hold a whole version and never wait; writers wait for one another.
pub struct MemoryStore {
    tables: ArcSwap<Tables>,
    /// Lock of the one writer: a batch is applied to a copy, which then replaces the version.
    writing: Mutex<()>,
}

type Tables = [OrdMap<Vec<u8>, Bytes>; Table::ALL.len()];

impl MemoryStore {
    /// Creates an empty store.
    pub fn new() -> Self {
        Self::with_tables(Arc::new(Tables::default()))
    }

    fn with_tables(tables: Arc<Tables>) -> Self {
        Self { tables: ArcSwap::new(tables), writing: Mutex::new(()) }
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl Clone for MemoryStore {
    fn clone(&self) -> Self {
        Self::with_tables(self.tables.load_full())
    }
}

impl core::fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let tables = self.tables.load();
        f.debug_map().entries(Table::ALL.iter().map(|table| (table, tables[*table as usize].len()))).finish()
    }
}

impl KeyValue for MemoryStore {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        Ok(self.tables.load()[table as usize].get(key).cloned())
    }

    fn scan_from(
        &self,
        table: Table,
        prefix: &[u8],
        from: Option<&[u8]>,
        order: Order,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let tables = self.tables.load_full();
        let end = prefix_end(prefix);
        let Some(range) = scan_range(prefix, end.as_deref(), from, order) else { return Ok(()) };
        let pairs = tables[table as usize].range::<_, [u8]>(range);
        let mut pairs = pairs.map(|(key, value)| (key.as_slice(), &value[..]));
        let _ = match order {
            Order::Ascending => pairs.try_for_each(|(key, value)| visit(key, value)),
            Order::Descending => pairs.rev().try_for_each(|(key, value)| visit(key, value)),
        };
        Ok(())
    }

    fn write(&self, batch: Batch) -> Result<(), StoreError> {
        // A poisoned lock guards nothing half-done: the version changes in one step, at the end.
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut tables = Tables::clone(&self.tables.load());
        for write in batch.into_writes() {
            let table = &mut tables[write.table as usize];
            match write.value {
                Some(value) => table.insert(write.key, value.into()),
                None => table.remove(&write.key),
            };
        }
        self.tables.store(Arc::new(tables));
        Ok(())
    }

    fn is_durable(&self) -> bool {
        false
    }
}

/// Returns the smallest key above every key with `prefix`; `None` when there is none.
pub(super) fn prefix_end(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte != u8::MAX)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end)
}

/// Returns the keys with `prefix`, whose end is `end`, from `from` on; `None` when there can be none.
fn scan_range<'a>(
    prefix: &'a [u8],
    end: Option<&'a [u8]>,
    from: Option<&'a [u8]>,
    order: Order,
) -> Option<(Bound<&'a [u8]>, Bound<&'a [u8]>)> {
    let above = end.map_or(Bound::Unbounded, Bound::Excluded);
    let is_past_the_end = |from: &[u8]| end.is_some_and(|end| from >= end);
    match (order, from) {
        (_, None) => Some((Bound::Included(prefix), above)),
        (Order::Ascending, Some(from)) if is_past_the_end(from) => None,
        (Order::Ascending, Some(from)) => Some((Bound::Included(from.max(prefix)), above)),
        (Order::Descending, Some(from)) if from < prefix => None,
        (Order::Descending, Some(from)) if is_past_the_end(from) => Some((Bound::Included(prefix), above)),
        (Order::Descending, Some(from)) => Some((Bound::Included(prefix), Bound::Included(from))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_the_suite() {
        crate::store::suite::run(&MemoryStore::new());
    }

    #[test]
    fn a_clone_is_independent() {
        let store = MemoryStore::new();
        let mut batch = Batch::new();
        batch.put(Table::Meta, *b"key", *b"old");
        store.write(batch).unwrap();

        let fork = store.clone();
        let mut batch = Batch::new();
        batch.put(Table::Meta, *b"key", *b"new");
        fork.write(batch).unwrap();

        assert_eq!(store.get(Table::Meta, b"key").unwrap().unwrap(), b"old"[..]);
        assert_eq!(fork.get(Table::Meta, b"key").unwrap().unwrap(), b"new"[..]);
    }

    #[test]
    fn the_end_of_a_prefix() {
        for (prefix, want) in [
            (&b""[..], None),
            (b"a", Some(&b"b"[..])),
            (b"a\xff", Some(b"b")),
            (b"\xff\xff", None),
            (b"a\xffb", Some(b"a\xffc")),
        ] {
            assert_eq!(prefix_end(prefix).as_deref(), want, "{prefix:?}");
        }
    }
}
