//! Opening a RocksDB database, in binaries that are built with RocksDB, and closing it before the process ends.

use core::time::Duration;
use std::{path::Path, sync::Arc};

use chainbox::store::KeyValue;

/// Looks of the main thread at who else has the database, at most: two seconds of them.
const RELEASE_LOOKS: u32 = 400;
/// Time between two looks.
const RELEASE_INTERVAL: Duration = Duration::from_millis(5);

/// The main thread's hold on a database, which is to be the last. RocksDB aborts a process that ends while another thread closes a database:
/// the end destroys a lock of RocksDB's own that closing takes (RocksDB's issue 11349).
///
/// Dropping it waits until nobody else has the database. Where somebody does after two seconds, such as a call that goes on for long, nobody
/// closes it: what was written is in its log, as after `kill -9`.
#[derive(Debug)]
pub(crate) struct LastHold(Arc<dyn KeyValue>);

impl LastHold {
    /// To be made before, and so dropped after, everything of the main thread that has the database.
    pub(crate) const fn new(store: Arc<dyn KeyValue>) -> Self {
        Self(store)
    }

    fn is_last(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }
}

impl Drop for LastHold {
    fn drop(&mut self) {
        for _ in 0..RELEASE_LOOKS {
            if self.is_last() {
                return;
            }
            std::thread::sleep(RELEASE_INTERVAL);
        }
        core::mem::forget(Arc::clone(&self.0));
    }
}

/// Opens the database in a folder, or creates it. `free_bytes_min` is the free space of the disk below which it takes no writes.
///
/// # Errors
/// The folder can't be opened.
#[cfg(feature = "rocksdb")]
pub(crate) fn open(path: &Path, free_bytes_min: Option<u64>) -> Result<Arc<dyn KeyValue>, Box<dyn std::error::Error>> {
    use chainbox::store::{RocksOptions, RocksStore};

    let default = RocksOptions::default();
    let rocks = free_bytes_min.map_or(default, |bytes| default.with_free_bytes_min(bytes));
    Ok(Arc::new(RocksStore::open(path, rocks).map_err(|cause| crate::files::with_causes(&cause))?))
}

/// Refuses: this binary was built without RocksDB.
///
/// # Errors
/// Always; the error has the command that builds a binary with RocksDB.
#[cfg(not(feature = "rocksdb"))]
pub(crate) fn open(path: &Path, _: Option<u64>) -> Result<Arc<dyn KeyValue>, Box<dyn std::error::Error>> {
    Err(format!(
        "--db-path {}: this chainbox was built without RocksDB. Install one with it by `cargo install chainbox --features \
         server,rocksdb`, or in a clone build it by `cargo build --features server,rocksdb` or run `scripts/dev --db-path {}`; without --db-path the chain is in memory, and --dump-state writes it to a file",
        path.display(),
        path.display(),
    )
    .into())
}

#[cfg(test)]
mod tests {
    use std::thread;

    use chainbox::store::MemoryStore;

    use super::*;

    fn held() -> (Arc<dyn KeyValue>, LastHold) {
        let store: Arc<dyn KeyValue> = Arc::new(MemoryStore::default());
        (Arc::clone(&store), LastHold::new(store))
    }

    #[test]
    fn the_main_thread_closes_it_after_the_others() {
        let (store, hold) = held();
        let weak = Arc::downgrade(&store);
        let other = thread::spawn(move || {
            thread::sleep(Duration::from_millis(100));
            drop(store);
        });
        drop(hold);
        assert!(weak.upgrade().is_none(), "dropped here, and not by the thread");
        other.join().unwrap();
    }

    #[test]
    fn what_another_thread_keeps_is_closed_by_nobody() {
        let (store, hold) = held();
        let weak = Arc::downgrade(&store);
        drop(hold);
        drop(store);
        assert!(weak.upgrade().is_some());
    }
}
