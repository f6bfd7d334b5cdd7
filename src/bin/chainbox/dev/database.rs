//! `--db-path`: opening a RocksDB database, in binaries that are built with RocksDB.

use std::{path::Path, sync::Arc};

use chainbox::{chain::GenesisSpec, store::KeyValue};

use crate::dev::args::DevOptions;

type Failure = Box<dyn std::error::Error>;

/// A database, with the genesis of the chain that it holds.
pub(crate) struct Opened {
    pub(crate) store: Arc<dyn KeyValue>,
    /// Genesis of the stored chain, without accounts; `None` in a new database, and with `--genesis`.
    pub(crate) genesis: Option<GenesisSpec>,
}

/// Opens the database in a folder, or creates it.
///
/// # Errors
/// The folder can't be opened.
#[cfg(feature = "rocksdb")]
pub(crate) fn open(path: &Path, options: &DevOptions) -> Result<Opened, Failure> {
    use chainbox::store::{RocksOptions, RocksStore};

    let default = RocksOptions::default();
    let rocks = options.min_free_space.map_or(default, |bytes| default.with_free_bytes_min(bytes));
    let store = RocksStore::open(path, rocks).map_err(|cause| crate::files::with_causes(&cause))?;
    let stored = || chainbox::chain::Chain::stored_spec(&store).map_err(|cause| crate::files::with_causes(&cause));
    let genesis = if options.genesis.is_some() { None } else { stored()? };
    Ok(Opened { store: Arc::new(store), genesis })
}

/// Refuses: this binary was built without RocksDB.
///
/// # Errors
/// Always; the error has the command that builds a binary with RocksDB.
#[cfg(not(feature = "rocksdb"))]
pub(crate) fn open(path: &Path, _options: &DevOptions) -> Result<Opened, Failure> {
    Err(format!(
        "--db-path {}: this chainbox was built without RocksDB. Install one with it by `cargo install chainbox --features \
         server,rocksdb`, or in a clone build it by `cargo build --features server,rocksdb` or run `scripts/dev --db-path {}`; without --db-path the chain is in memory, and --dump-state writes it to a file",
        path.display(),
        path.display(),
    )
    .into())
}
