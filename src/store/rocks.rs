//! The store on RocksDB: one database for the process, a column family for each table.
//!
//! RocksDB refuses every write after one has failed, also when the reason is gone. So the database is then closed and opened
//! again behind the store, between two reads.

mod backup;
mod folder;
#[cfg(test)]
mod full;
mod space;

use core::{
    ops::ControlFlow,
    sync::atomic::{AtomicBool, Ordering},
};
use std::{
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, TryLockError},
};

use alloy_primitives::Bytes;
use rocksdb::{
    BlockBasedOptions, Cache, ColumnFamily, ColumnFamilyDescriptor, DB, DBCompressionType, FlushOptions, Options,
    ReadOptions, WriteBatch, WriteOptions,
};

pub use self::space::FreeSpace;
use self::{folder::claim_folder, space::FolderSpace};
use super::{Batch, KeyValue, Order, StoreError, Table, memory::prefix_end};

/// The failures that a completed write survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// End of the process, `kill -9` included: the log is written to the operating system.
    #[default]
    Process,
    /// Loss of power: the log is synced to the disk before a write returns.
    Power,
}

/// Options of a [`RocksStore`]. The defaults suit a node on a developer's machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RocksOptions {
    durability: Durability,
    memtable_bytes_max: usize,
    cache_bytes_max: usize,
    free_bytes_min: u64,
}

impl RocksOptions {
    /// Sets the failures that a write survives.
    #[must_use]
    pub const fn with_durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Sets the memory for writes that are not yet in sorted files, in bytes over all tables.
    #[must_use]
    pub const fn with_memtable_bytes_max(mut self, bytes: usize) -> Self {
        self.memtable_bytes_max = bytes;
        self
    }

    /// Sets the memory for blocks read from sorted files, in bytes over all tables.
    #[must_use]
    pub const fn with_cache_bytes_max(mut self, bytes: usize) -> Self {
        self.cache_bytes_max = bytes;
        self
    }

    /// Sets the free bytes of the disk below which writes are refused, so that RocksDB itself never finds it full; 256 MiB by
    /// default.
    #[must_use]
    pub const fn with_free_bytes_min(mut self, bytes: u64) -> Self {
        self.free_bytes_min = bytes;
        self
    }
}

impl Default for RocksOptions {
    fn default() -> Self {
        Self {
            durability: Durability::Process,
            memtable_bytes_max: 96 << 20,
            cache_bytes_max: 64 << 20,
            free_bytes_min: 256 << 20,
        }
    }
}

/// A store in a folder, open in one process at a time.
pub struct RocksStore {
    /// `None` only between closing a database that has failed and opening it again.
    db: RwLock<Option<DB>>,
    path: PathBuf,
    options: RocksOptions,
    space: Arc<dyn FreeSpace>,
    /// Whether a write has failed, so that the database must be opened again before the next.
    has_failed: AtomicBool,
}

/// RocksDB's property for a family's bytes in memory.
const MEMTABLE_BYTES: &str = "rocksdb.cur-size-all-mem-tables";
/// Bytes at most that a closed store leaves in the log, to be replayed at the next open.
const UNSORTED_BYTES_MAX: u64 = 8 << 20;

impl RocksStore {
    /// Opens the database in the folder `path`, which is created when it does not exist.
    ///
    /// # Errors
    /// [`StoreError::Locked`] while another process has it open, [`StoreError::Foreign`] when the folder holds
    /// other files, [`StoreError::OlderFormat`] or [`StoreError::NewerFormat`] when an older or a newer chainbox created it,
    /// [`StoreError::Io`] otherwise.
    pub fn open(path: impl AsRef<Path>, options: RocksOptions) -> Result<Self, StoreError> {
        let space = FolderSpace(path.as_ref().to_owned());
        Self::open_with_space(path, options, Arc::new(space))
    }

    /// As [`RocksStore::open`], with another probe of free space, such as one that knows a quota.
    ///
    /// # Errors
    /// As [`RocksStore::open`].
    pub fn open_with_space(
        path: impl AsRef<Path>,
        options: RocksOptions,
        space: Arc<dyn FreeSpace>,
    ) -> Result<Self, StoreError> {
        let path = path.as_ref();
        claim_folder(path)?;
        let db = RwLock::new(Some(open_database(path, &options)?));
        Ok(Self { db, path: path.to_owned(), options, space, has_failed: AtomicBool::new(false) })
    }

    /// Returns the folder of the database.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn read(&self) -> RwLockReadGuard<'_, Option<DB>> {
        // A poisoned lock guards a database that is open or not.
        self.db.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses a write when the disk is full; opens a database again that has failed.
    fn check_writable(&self) -> Result<(), StoreError> {
        let watermark = self.options.free_bytes_min;
        let free = self.free_bytes("write")?;
        if let Some(free) = free.filter(|free| *free < watermark) {
            return Err(StoreError::Full { free, watermark });
        }
        if self.has_failed.load(Ordering::Acquire) { self.reopen() } else { Ok(()) }
    }

    fn free_bytes(&self, operation: &'static str) -> Result<Option<u64>, StoreError> {
        let failed = |error: std::io::Error| StoreError::Io {
            operation,
            reason: format!("free space of {}: {error}", self.path.display()),
        };
        self.space.free_bytes().map_err(failed)
    }

    /// Closes the database and opens it again, unless it is being read: a later write tries again then.
    fn reopen(&self) -> Result<(), StoreError> {
        let mut db = match self.db.try_write() {
            Ok(db) => db,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => {
                let reason = "the database is opened again after a failed write once no reader uses it; try again";
                return Err(StoreError::Io { operation: "write", reason: reason.to_owned() });
            }
        };
        // The folder's lock is free only when the old one is closed.
        drop(db.take());
        match open_database(&self.path, &self.options) {
            Ok(opened) => {
                *db = Some(opened);
                self.has_failed.store(false, Ordering::Release);
                Ok(())
            }
            Err(error) => {
                // Reads go on without what opening for writing needs.
                *db = open_for_reading(&self.path, &self.options).ok();
                Err(error)
            }
        }
    }

    /// Notes a failed write; returns what is wrong.
    fn failure(&self, error: &rocksdb::Error) -> StoreError {
        self.has_failed.store(true, Ordering::Release);
        let watermark = self.options.free_bytes_min;
        match self.free_bytes("write") {
            Ok(Some(free)) if is_no_space(error) => StoreError::Full { free, watermark },
            _ => failed("write")(error),
        }
    }

    /// Puts the store in the state after a failed write.
    #[cfg(test)]
    fn fence(&self) {
        self.has_failed.store(true, Ordering::Release);
    }
}

fn open_database(path: &Path, options: &RocksOptions) -> Result<DB, StoreError> {
    DB::open_cf_descriptors(&database_options(options), path, families(options))
        .map_err(|error| open_error(path, &error))
}

fn open_for_reading(path: &Path, options: &RocksOptions) -> Result<DB, StoreError> {
    DB::open_cf_descriptors_read_only(&database_options(options), path, families(options), false)
        .map_err(|error| open_error(path, &error))
}

fn families(options: &RocksOptions) -> impl Iterator<Item = ColumnFamilyDescriptor> {
    let cache = Cache::new_lru_cache(options.cache_bytes_max);
    let family = |table| ColumnFamilyDescriptor::new(family_name(table), family_options(table, &cache, options));
    Table::ALL.map(family).into_iter()
}

/// Returns the open database.
fn opened(db: &Option<DB>) -> Result<&DB, StoreError> {
    db.as_ref().ok_or_else(|| StoreError::Io {
        operation: "open",
        reason: "the database could not be opened again after a failed write; the next write tries again".to_owned(),
    })
}

fn family(db: &DB, table: Table) -> Result<&ColumnFamily, StoreError> {
    // Every family was opened by name, so this holds; an error is still better than a panic.
    db.cf_handle(family_name(table)).ok_or_else(|| StoreError::Io {
        operation: "open",
        reason: format!("column family {} is missing", family_name(table)),
    })
}

/// Returns whether a write failed for want of space. RocksDB has no error code for it in this binding.
fn is_no_space(error: &rocksdb::Error) -> bool {
    error.kind() == rocksdb::ErrorKind::IOError && error.to_string().contains("No space left")
}

impl Drop for RocksStore {
    /// Flushes the log into sorted files when replaying it would slow the next open down. Nothing is lost without it.
    fn drop(&mut self) {
        let db = self.db.get_mut().unwrap_or_else(PoisonError::into_inner);
        let Some(db) = db.as_ref().filter(|_| !*self.has_failed.get_mut()) else { return };
        let families: Vec<_> = Table::ALL.iter().filter_map(|table| db.cf_handle(family_name(*table))).collect();
        let unsorted = families.iter().filter_map(|family| db.property_int_value_cf(family, MEMTABLE_BYTES).ok()?);
        if unsorted.sum::<u64>() > UNSORTED_BYTES_MAX {
            let _ = db.flush_cfs_opt(&families, &FlushOptions::default());
        }
    }
}

impl core::fmt::Debug for RocksStore {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("RocksStore").field("path", &self.path).field("options", &self.options).finish_non_exhaustive()
    }
}

impl KeyValue for RocksStore {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        let db = self.read();
        let db = opened(&db)?;
        let found = db.get_cf(family(db, table)?, key).map_err(|error| failed("read")(&error))?;
        Ok(found.map(Bytes::from))
    }

    fn scan_from(
        &self,
        table: Table,
        prefix: &[u8],
        from: Option<&[u8]>,
        order: Order,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let mut options = ReadOptions::default();
        options.set_iterate_lower_bound(prefix);
        if let Some(end) = prefix_end(prefix) {
            options.set_iterate_upper_bound(end);
        }
        // An iterator reads from one moment of the database, so a batch is seen whole or not at all.
        let db = self.read();
        let db = opened(&db)?;
        let mut pairs = db.raw_iterator_cf_opt(family(db, table)?, options);
        match (order, from) {
            (Order::Ascending, None) => pairs.seek_to_first(),
            (Order::Descending, None) => pairs.seek_to_last(),
            (Order::Ascending, Some(from)) => pairs.seek(from),
            (Order::Descending, Some(from)) => pairs.seek_for_prev(from),
        }
        while let Some((key, value)) = pairs.item() {
            if visit(key, value).is_break() {
                break;
            }
            match order {
                Order::Ascending => pairs.next(),
                Order::Descending => pairs.prev(),
            }
        }
        pairs.status().map_err(|error| failed("scan")(&error))
    }

    fn write(&self, batch: Batch) -> Result<(), StoreError> {
        if batch.is_empty() {
            return Ok(());
        }
        self.check_writable()?;
        let db = self.read();
        let db = opened(&db)?;
        let mut writes = WriteBatch::default();
        for write in batch.writes() {
            let family = family(db, write.table)?;
            match &write.value {
                Some(value) => writes.put_cf(family, &write.key, value),
                None => writes.delete_cf(family, &write.key),
            }
        }
        let mut options = WriteOptions::default();
        options.set_sync(self.options.durability == Durability::Power);
        db.write_opt(writes, &options).map_err(|error| self.failure(&error))
    }

    fn is_durable(&self) -> bool {
        true
    }

    fn back_up(&self, folder: &Path) -> Result<(), StoreError> {
        self.write_backup(folder)
    }
}

/// Entries of a file of which a quarter may be deletions; with more the file is compacted.
const DELETIONS_WINDOW: usize = 1024;

fn database_options(options: &RocksOptions) -> Options {
    let mut database = Options::default();
    database.create_if_missing(true);
    database.create_missing_column_families(true);
    database.set_db_write_buffer_size(options.memtable_bytes_max);
    // What a killed process leaves is replayed from the log at the next open, at some 200 MB a second.
    database.set_max_total_wal_size(options.memtable_bytes_max as u64);
    database.set_keep_log_file_num(2);
    database.set_max_background_jobs(2);
    // Each family would start fifteen threads to open its files, even few: two thirds of the time of an open.
    database.set_max_file_opening_threads(1);
    database
}

fn family_options(table: Table, cache: &Cache, options: &RocksOptions) -> Options {
    let mut blocks = BlockBasedOptions::default();
    blocks.set_block_cache(cache);
    blocks.set_bloom_filter(10.0, false);
    let mut family = Options::default();
    family.set_block_based_table_factory(&blocks);
    // State nodes are mostly hashes, which do not compress.
    family.set_compression_type(match table {
        Table::StateNodes => DBCompressionType::None,
        _ => DBCompressionType::Lz4,
    });
    family.set_write_buffer_size(options.memtable_bytes_max / 3);
    if table == Table::Platform {
        // Indices of records that come and go: scans pass what was deleted until a compaction drops it.
        family.add_compact_on_deletion_collector_factory(DELETIONS_WINDOW, DELETIONS_WINDOW / 4, 0.0);
    }
    family
}

const fn family_name(table: Table) -> &'static str {
    match table {
        Table::Meta => "meta",
        Table::Blocks => "blocks",
        Table::Receipts => "receipts",
        Table::Canonical => "canonical",
        Table::Transactions => "transactions",
        Table::StateNodes => "state-nodes",
        Table::StateCommits => "state-commits",
        Table::Code => "code",
        Table::Consensus => "consensus",
        Table::Platform => "platform",
    }
}

fn open_error(path: &Path, error: &rocksdb::Error) -> StoreError {
    let reason = error.to_string();
    // RocksDB has no error code for this; its message is "While lock file: ...LOCK" or "lock hold by current process".
    if error.kind() == rocksdb::ErrorKind::IOError && reason.contains("lock ") {
        return StoreError::Locked { path: path.display().to_string() };
    }
    StoreError::Io { operation: "open", reason }
}

/// Returns how many deleted keys the scans of this thread have passed since it was first asked.
#[cfg(test)]
pub(crate) fn deleted_keys_passed() -> u64 {
    use rocksdb::perf::{PerfContext, PerfMetric, PerfStatsLevel, set_perf_stats};

    set_perf_stats(PerfStatsLevel::EnableCount);
    PerfContext::default().metric(PerfMetric::InternalDeleteSkippedCount)
}

fn failed(operation: &'static str) -> impl Fn(&rocksdb::Error) -> StoreError {
    move |error| StoreError::Io { operation, reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{folder::FORMAT_FILE, *};
    use crate::store::suite;

    fn open(path: &Path) -> Result<RocksStore, StoreError> {
        RocksStore::open(path, RocksOptions::default())
    }

    #[test]
    fn passes_the_suite_and_reopens() {
        for durability in [Durability::Process, Durability::Power] {
            let folder = tempfile::tempdir().unwrap();
            let options = RocksOptions::default().with_durability(durability);
            let store = RocksStore::open(folder.path(), options).unwrap();
            suite::run(&store);
            let before = suite::dump(&store);
            drop(store);
            assert_eq!(suite::dump(&RocksStore::open(folder.path(), options).unwrap()), before);
        }
    }

    #[test]
    fn a_database_in_use_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let first = open(folder.path()).unwrap();
        let refused = open(folder.path()).unwrap_err();
        assert!(matches!(refused, StoreError::Locked { .. }), "{refused}");
        drop(first);
        open(folder.path()).unwrap();
    }

    #[test]
    fn a_folder_of_something_else_is_refused_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("thesis.txt"), "mine").unwrap();
        let refused = open(folder.path()).unwrap_err();
        assert!(matches!(refused, StoreError::Foreign { .. }), "{refused}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);

        let folder = tempfile::tempdir().unwrap();
        drop(DB::open_default(folder.path()).unwrap());
        let refused = open(folder.path()).unwrap_err();
        assert!(matches!(refused, StoreError::Foreign { .. }), "{refused}");
    }

    #[test]
    fn the_format_is_checked() {
        let folder = tempfile::tempdir().unwrap();
        drop(open(folder.path()).unwrap());
        let file = folder.path().join(FORMAT_FILE);
        assert_eq!(fs::read_to_string(&file).unwrap(), "chainbox database, format 3\n");

        fs::write(&file, "chainbox database, format 4\n").unwrap();
        let refused = open(folder.path()).unwrap_err();
        assert!(matches!(refused, StoreError::NewerFormat { found: 4, supported: 3 }), "{refused}");

        fs::write(&file, "chainbox database, format 2\n").unwrap();
        let refused = open(folder.path()).unwrap_err();
        assert!(matches!(refused, StoreError::OlderFormat { found: 2, supported: 3 }), "{refused}");
        let text = refused.to_string();
        assert!(text.contains("format 2") && text.contains("format 3"), "{text}");

        for damaged in [&b"chainbox database, format one"[..], b"", b"\xff\xfe"] {
            fs::write(&file, damaged).unwrap();
            let refused = open(folder.path()).unwrap_err();
            assert!(matches!(refused, StoreError::Foreign { .. }), "{refused}");
        }
    }

    #[test]
    fn a_kill_while_the_folder_is_made_leaves_one_that_opens() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("CHAINBOX.new"), "chainb").unwrap();
        drop(open(folder.path()).unwrap());

        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(FORMAT_FILE), "chainbox database, format 3\n").unwrap();
        drop(open(folder.path()).unwrap());
    }
}
