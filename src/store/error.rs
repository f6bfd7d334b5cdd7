//! Why a store could not do what it was asked.

use alloy_primitives::B256;

use super::Table;

/// A store's failure. A failed write leaves the store as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The medium failed.
    #[error("store: {operation} failed: {reason}")]
    Io {
        /// What was being done: `open`, `read`, `write`, `scan`.
        operation: &'static str,
        /// What the medium said.
        reason: String,
    },
    /// Stored bytes do not decode.
    #[error("store: {table:?} holds bytes that do not decode under key {key}: {reason}")]
    Corrupt {
        /// Where.
        table: Table,
        /// The key, in hexadecimal.
        key: String,
        /// What is wrong with them.
        reason: String,
    },
    /// Another process has the database open.
    #[error("store: the database at {path} is in use by another process; stop it or choose another path")]
    Locked {
        /// The database's folder.
        path: String,
    },
    /// The database is not one of ours, or was made for another chain.
    #[error("store: the database at {path} is not usable here: {reason}")]
    Foreign {
        /// The database's folder.
        path: String,
        /// Why it is refused.
        reason: String,
    },
    /// The store holds the data of something else, another chain for example.
    #[error("store: it belongs to {found}, not to {expected}; choose another path, or the genesis it was made with")]
    WrongIdentity {
        /// What it was made for.
        found: B256,
        /// What was asked for.
        expected: B256,
    },
    /// The database was written by an older chainbox, whose records this build does not read.
    #[error(
        "store: the database has format {found}, this build reads format {supported}; \
         use the chainbox that made it, or another path"
    )]
    OlderFormat {
        /// The database's format.
        found: u32,
        /// The only format that this build reads.
        supported: u32,
    },
    /// The database was written by a newer chainbox.
    #[error("store: the database has format {found}, this build reads format {supported}; use a newer chainbox")]
    NewerFormat {
        /// What the database says.
        found: u32,
        /// What this build knows.
        supported: u32,
    },
}
