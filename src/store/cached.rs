//! What was read of one table, in memory: few values are read most of the time.

use core::{fmt, ops::ControlFlow};
use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use alloy_primitives::Bytes;
use quick_cache::{
    Weighter,
    sync::{Cache, GuardResult},
};

use super::{Batch, KeyValue, Order, StoreError, Table};

/// Bytes that a value takes beside its own and its key's: places in the cache's tables, and what the allocator keeps.
const ENTRY_BYTES: u64 = 128;

/// A store over another store, which keeps values of one table in memory after they were read. Scans go to the store underneath.
///
/// All changes of the table must be written to it, never to the store underneath. A read that begins after a write has returned sees it.
#[derive(Clone)]
pub struct CachedStore {
    inner: Arc<dyn KeyValue>,
    table: Table,
    values: Arc<Cache<Vec<u8>, Bytes, InBytes>>,
    /// Of two writes of one key the later one's value is kept.
    writing: Arc<Mutex<()>>,
}

/// Counts a value in bytes.
#[derive(Clone, Copy, Debug)]
struct InBytes;

impl Weighter<Vec<u8>, Bytes> for InBytes {
    fn weight(&self, key: &Vec<u8>, value: &Bytes) -> u64 {
        let bytes =
            u64::try_from(key.len()).unwrap_or(u64::MAX).saturating_add(u64::try_from(value.len()).unwrap_or(u64::MAX));
        bytes.saturating_add(ENTRY_BYTES)
    }
}

/// Leaves the values out.
impl fmt::Debug for CachedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CachedStore").field("inner", &self.inner).field("table", &self.table).finish_non_exhaustive()
    }
}

impl CachedStore {
    /// Keeps up to `bytes` of the values of a table; those that were read least lately go first.
    pub fn new(inner: Arc<dyn KeyValue>, table: Table, bytes: u64) -> Self {
        let expected = usize::try_from(bytes / (4 * ENTRY_BYTES)).unwrap_or(usize::MAX);
        Self { inner, table, values: Arc::new(Cache::with_weighter(expected, bytes, InBytes)), writing: Arc::default() }
    }

    /// Takes a written value in place of the one that is kept, if there is one. Without a value the store says what it has.
    fn note(&self, key: Vec<u8>, value: Option<Bytes>) {
        let unkept = match value {
            // What is being read is not kept yet: the read may have the value before this one, and is not to be kept.
            Some(value) => self.values.replace(key, value, true).err().map(|(key, _)| key),
            None => Some(key),
        };
        if let Some(key) = unkept {
            self.values.remove(&key);
        }
    }
}

impl KeyValue for CachedStore {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        if table != self.table {
            return self.inner.get(table, key);
        }
        match self.values.get_value_or_guard(key, None) {
            GuardResult::Value(value) => Ok(Some(value)),
            GuardResult::Guard(place) => {
                let found = self.inner.get(table, key)?;
                if let Some(value) = &found {
                    // A write since then has taken the place away: the value may be the one before it.
                    let _ = place.insert(value.clone());
                }
                Ok(found)
            }
            GuardResult::Timeout => self.inner.get(table, key),
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
        self.inner.scan_from(table, prefix, from, order, visit)
    }

    fn write(&self, batch: Batch) -> Result<(), StoreError> {
        let changed = batch.writes().iter().filter(|write| write.table == self.table);
        let changed: Vec<(Vec<u8>, Option<Bytes>)> =
            changed.map(|write| (write.key.clone(), write.value.clone().map(Bytes::from))).collect();
        let _turn = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let written = self.inner.write(batch);
        for (key, value) in changed {
            self.note(key, value.filter(|_| written.is_ok()));
        }
        written
    }

    fn is_durable(&self) -> bool {
        self.inner.is_durable()
    }

    fn back_up(&self, folder: &Path) -> Result<(), StoreError> {
        self.inner.back_up(folder)
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::store::{
        MemoryStore, suite,
        testing::{FailingStore, WriteFault},
    };

    /// A store that counts its reads, and does something before each of them returns.
    struct Watched {
        inner: MemoryStore,
        reads: AtomicU64,
        during: Box<dyn Fn() + Send + Sync>,
    }

    impl fmt::Debug for Watched {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_struct("Watched").finish_non_exhaustive()
        }
    }

    impl KeyValue for Watched {
        fn get(&self, table: Table, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
            self.reads.fetch_add(1, Ordering::Relaxed);
            let found = self.inner.get(table, key);
            (self.during)();
            found
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
            self.inner.write(batch)
        }

        fn is_durable(&self) -> bool {
            false
        }
    }

    fn watched(during: impl Fn() + Send + Sync + 'static) -> Arc<Watched> {
        Arc::new(Watched { inner: MemoryStore::new(), reads: AtomicU64::new(0), during: Box::new(during) })
    }

    fn put(store: &dyn KeyValue, key: &[u8], value: &[u8]) {
        let mut batch = Batch::new();
        batch.put(Table::Platform, key, value);
        store.write(batch).unwrap();
    }

    fn get(store: &dyn KeyValue, key: &[u8]) -> Option<Vec<u8>> {
        store.get(Table::Platform, key).unwrap().map(|value| value.to_vec())
    }

    #[test]
    fn passes_the_suite() {
        suite::run(&CachedStore::new(Arc::new(MemoryStore::new()), Table::Platform, 1 << 20));
    }

    #[test]
    fn a_value_is_read_once_until_it_changes() {
        let inner = watched(|| ());
        let store = CachedStore::new(Arc::clone(&inner) as _, Table::Platform, 1 << 20);
        put(&store, b"key", b"first");
        (0..3).for_each(|_| assert_eq!(get(&store, b"key"), Some(b"first".to_vec())));
        assert_eq!(inner.reads.load(Ordering::Relaxed), 1);
        put(&store, b"key", b"second");
        (0..3).for_each(|_| assert_eq!(get(&store, b"key"), Some(b"second".to_vec())));
        assert_eq!(inner.reads.load(Ordering::Relaxed), 1, "what is written is known");
        let mut batch = Batch::new();
        batch.delete(Table::Platform, b"key");
        store.write(batch).unwrap();
        assert_eq!(get(&store, b"key"), None);
        (0..3).for_each(|_| assert_eq!(store.get(Table::Meta, b"key").unwrap(), None));
        put(&store, b"other", b"value");
        assert_eq!(inner.reads.load(Ordering::Relaxed), 5, "what is not there, and other tables, are read each time");
        assert_eq!(get(&store, b"other"), Some(b"value".to_vec()));
        assert_eq!(inner.reads.load(Ordering::Relaxed), 6, "what nobody has read is not kept");
    }

    #[test]
    fn a_value_that_changes_while_it_is_read_is_not_kept() {
        let slot: Arc<std::sync::OnceLock<CachedStore>> = Arc::default();
        let (own, is_first) = (Arc::clone(&slot), AtomicU64::new(0));
        let inner = watched(move || {
            if is_first.fetch_add(1, Ordering::Relaxed) == 0 {
                put(own.get().unwrap(), b"key", b"second");
            }
        });
        let store = slot.get_or_init(|| CachedStore::new(Arc::clone(&inner) as _, Table::Platform, 1 << 20));
        put(&*inner, b"key", b"first");
        assert_eq!(get(store, b"key"), Some(b"first".to_vec()), "it began before the change");
        assert_eq!(get(store, b"key"), Some(b"second".to_vec()));
    }

    #[test]
    fn of_writes_at_one_time_the_value_of_the_store_is_kept() {
        let inner = Arc::new(MemoryStore::new());
        let store = CachedStore::new(Arc::clone(&inner) as _, Table::Platform, 1 << 20);
        put(&store, b"key", &[0]);
        std::thread::scope(|scope| {
            for writer in 1..=4_u8 {
                let store = store.clone();
                scope.spawn(move || {
                    for number in 0..200_u8 {
                        put(&store, b"key", &[writer, number]);
                        assert!(get(&store, b"key").is_some());
                    }
                });
            }
        });
        assert_eq!(get(&store, b"key"), get(&*inner, b"key"));
    }

    #[test]
    fn a_write_that_fails_leaves_what_the_store_has() {
        let inner = FailingStore::new(Arc::new(MemoryStore::new())).with_fault(WriteFault::only(2));
        let store = CachedStore::new(Arc::new(inner), Table::Platform, 1 << 20);
        put(&store, b"key", b"first");
        assert_eq!(get(&store, b"key"), Some(b"first".to_vec()));
        let mut batch = Batch::new();
        batch.put(Table::Platform, b"key", b"second");
        assert!(store.write(batch).is_err());
        assert_eq!(get(&store, b"key"), Some(b"first".to_vec()));
    }

    #[test]
    fn values_take_no_more_than_the_bound() {
        let bytes = 1 << 16;
        let store = CachedStore::new(Arc::new(MemoryStore::new()), Table::Platform, bytes);
        for number in 0..1000_u32 {
            put(&store, &number.to_be_bytes(), &[7; 512]);
            assert_eq!(get(&store, &number.to_be_bytes()), Some(vec![7; 512]));
            assert!(store.values.weight() <= bytes, "{}", store.values.weight());
        }
        assert!(store.values.len() > 50, "{}", store.values.len());
    }
}
