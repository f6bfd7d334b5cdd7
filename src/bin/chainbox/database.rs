//! The folder that `--db-path` names, opened as a RocksDB database by binaries that have it.

use std::path::Path;

use chainbox::{chain::GenesisSpec, node::Database};

use crate::args::DevOptions;

type Failure = Box<dyn std::error::Error>;

/// A database, and the genesis of the chain that it holds already.
pub(crate) struct Opened {
    pub(crate) database: Database,
    /// `None` in a new database, and where the command line names a genesis itself.
    pub(crate) genesis: Option<GenesisSpec>,
}

/// Opens the database in a folder, creating it when there is none.
///
/// # Errors
/// The folder can't be opened, or it holds a chain with another id than `--chain-id` asks for.
#[cfg(feature = "rocksdb")]
pub(crate) fn open(path: &Path, options: &DevOptions) -> Result<Opened, Failure> {
    use chainbox::store::{RocksOptions, RocksStore};

    let store = RocksStore::open(path, RocksOptions::default()).map_err(|cause| crate::files::with_causes(&cause))?;
    let genesis = if options.genesis.is_some() { None } else { stored_genesis(&store, path, options)? };
    Ok(Opened { database: Database::Store(std::sync::Arc::new(store)), genesis })
}

/// Refuses: this binary was built without RocksDB.
///
/// # Errors
/// Always, with the command that builds a binary that can.
#[cfg(not(feature = "rocksdb"))]
pub(crate) fn open(path: &Path, _options: &DevOptions) -> Result<Opened, Failure> {
    Err(format!(
        "this chainbox was built without RocksDB, so it can't keep a chain in {}: run `scripts/dev --db-path {}`, or build it \
         with `cargo build --features server,rocksdb`; without --db-path the chain is in memory, and --dump-state keeps it",
        path.display(),
        path.display(),
    )
    .into())
}

/// Genesis of the chain that a database holds, which needs no options to be opened again.
#[cfg(feature = "rocksdb")]
fn stored_genesis(
    store: &dyn chainbox::store::KeyValue,
    path: &Path,
    options: &DevOptions,
) -> Result<Option<GenesisSpec>, Failure> {
    let stored = chainbox::chain::Chain::stored_spec(store).map_err(|cause| crate::files::with_causes(&cause))?;
    match stored.as_ref().map(|genesis| genesis.chain_id) {
        Some(held) if held != options.chain_id && options.chain_id != crate::args::DEFAULT_CHAIN_ID => Err(format!(
            "the database at {} holds the chain with id {held}, --chain-id says {}: leave it out, or choose another folder",
            path.display(),
            options.chain_id,
        )
        .into()),
        _ => Ok(stored),
    }
}
