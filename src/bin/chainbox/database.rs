//! Opening a RocksDB database, in binaries that are built with RocksDB.

use std::{path::Path, sync::Arc};

use chainbox::store::KeyValue;

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
