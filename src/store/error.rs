//! Errors of a store.

use alloy_primitives::B256;

use super::Table;

/// A store's error. A failed write leaves the store unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Input or output of the medium failed.
    #[error("store: {operation} failed: {reason}")]
    Io {
        /// Operation that failed: `open`, `read`, `write` or `scan`.
        operation: &'static str,
        /// The medium's message.
        reason: String,
    },
    /// The disk is full, or nearly so. Reads go on, and so do writes once there is room.
    #[error(
        "store: the disk is full: {free} bytes are free, writes stop below {watermark}; make room, writing then resumes by itself"
    )]
    Full {
        /// Free bytes of the file system.
        free: u64,
        /// Free bytes below which writes are refused.
        watermark: u64,
    },
    /// Stored bytes do not decode.
    #[error("store: {table:?} holds bytes that do not decode under key {key}: {reason}")]
    Corrupt {
        /// Table of the record.
        table: Table,
        /// Key of the record, in hexadecimal.
        key: String,
        /// What is wrong with the bytes.
        reason: String,
    },
    /// Another process has the database open.
    #[error("store: the database at {path} is in use by another process; stop it or choose another path")]
    Locked {
        /// Folder of the database.
        path: String,
    },
    /// The folder holds no chainbox database, or its format file is damaged.
    #[error("store: the database at {path} is not usable here: {reason}")]
    Foreign {
        /// Folder of the database.
        path: String,
        /// Reason of the refusal.
        reason: String,
    },
    /// The store has another identity, another chain's genesis for example.
    #[error(
        "store: its identity is {found}, expected {expected}; choose another path, or the genesis it was created with"
    )]
    WrongIdentity {
        /// Identity in the store.
        found: B256,
        /// Identity expected.
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
        /// Format number of the database.
        found: u32,
        /// Newest format that this build supports.
        supported: u32,
    },
}
