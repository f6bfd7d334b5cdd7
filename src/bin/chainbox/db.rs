//! `chainbox db`: check, backup, restore and prune of a database that is not served.

pub(crate) mod args;
#[cfg(feature = "rocksdb")]
mod commands;

use std::error::Error;

use self::args::DbOptions;

/// Runs a command; returns whether nothing was found wrong.
///
/// # Errors
/// The database can't be opened or written.
#[cfg(feature = "rocksdb")]
pub(crate) fn run(options: &DbOptions) -> Result<bool, Box<dyn Error>> {
    commands::run(options)
}

/// Refuses: this binary was built without RocksDB.
///
/// # Errors
/// Always.
#[cfg(not(feature = "rocksdb"))]
pub(crate) fn run(options: &DbOptions) -> Result<bool, Box<dyn Error>> {
    crate::database::open(options.command.database(), None).map(|_| false)
}
