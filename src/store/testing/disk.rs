//! A disk in memory that crashes whenever a test wants it to.

use core::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alloy_primitives::Bytes;

use crate::store::{Batch, KeyValue, MemoryStore, Order, StoreError, Table};

/// A store in memory that claims to be durable, and knows what it held after each write.
///
/// Every write is kept when it is acknowledged, as with a disk that is flushed each time. The history shares structure: a
/// version takes the memory of what changed in it.
#[derive(Debug, Default)]
pub struct MemoryDisk {
    now: MemoryStore,
    after_writes: Mutex<Vec<MemoryStore>>,
}

impl MemoryDisk {
    /// Creates an empty disk.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a disk with a copy of what `content` holds, and no history.
    fn holding(content: &MemoryStore) -> Arc<Self> {
        Arc::new(Self { now: content.clone(), after_writes: Mutex::default() })
    }

    /// Returns what a crash at this instant leaves: an independent disk with the same content and no history.
    pub fn crashed(&self) -> Arc<Self> {
        Self::holding(&self.now)
    }

    /// Returns what a crash after each write so far leaves, from the first write to the newest.
    pub fn crashes(&self) -> Vec<Arc<Self>> {
        self.history().iter().map(Self::holding).collect()
    }

    /// Returns the number of writes since the disk was created.
    pub fn writes(&self) -> usize {
        self.history().len()
    }

    /// A poisoned lock guards nothing half-done: the history changes in one step.
    fn history(&self) -> MutexGuard<'_, Vec<MemoryStore>> {
        self.after_writes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KeyValue for MemoryDisk {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.now.get(table, key)
    }

    fn scan_from(
        &self,
        table: Table,
        prefix: &[u8],
        from: Option<&[u8]>,
        order: Order,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        self.now.scan_from(table, prefix, from, order, visit)
    }

    fn write(&self, batch: Batch) -> Result<(), StoreError> {
        let mut history = self.history();
        self.now.write(batch)?;
        history.push(self.now.clone());
        Ok(())
    }

    fn is_durable(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::suite;

    fn put(disk: &MemoryDisk, key: u8) {
        let mut batch = Batch::new();
        batch.put(Table::Meta, [key], [key]);
        disk.write(batch).unwrap();
    }

    fn keys(disk: &MemoryDisk) -> Vec<u8> {
        suite::dump(disk).into_iter().map(|(_, key, _)| key[0]).collect()
    }

    #[test]
    fn passes_the_suite() {
        suite::run(&MemoryDisk::new());
    }

    #[test]
    fn a_crash_leaves_the_writes_before_it() {
        let disk = MemoryDisk::new();
        for key in 1..=3 {
            put(&disk, key);
        }
        let crashed = disk.crashed();
        put(&disk, 4);
        assert_eq!((keys(&crashed), crashed.writes()), (vec![1, 2, 3], 0));
        put(&crashed, 9);
        assert_eq!((keys(&disk), disk.writes()), (vec![1, 2, 3, 4], 4), "a crashed disk is independent");
        let left: Vec<_> = disk.crashes().iter().map(|crashed| keys(crashed)).collect();
        assert_eq!(left, [vec![1], vec![1, 2], vec![1, 2, 3], vec![1, 2, 3, 4]]);
    }
}
