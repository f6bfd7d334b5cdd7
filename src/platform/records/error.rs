//! Errors of the platform's records.

use crate::store::StoreError;

/// A refused or failed operation on records. Nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// There is no such record of this owner.
    #[error("{kind} {id:?} was not found")]
    Missing {
        /// Type of the record.
        kind: &'static str,
        /// Id that was looked for.
        id: String,
    },
    /// A record with this id exists.
    #[error("{kind} {id:?} exists already")]
    Exists {
        /// Type of the record.
        kind: &'static str,
        /// Id that is taken.
        id: String,
    },
    /// The record was changed since it was read.
    #[error("{kind} {id:?} was changed meanwhile: revision {expected} was read, {found} is stored; read it again")]
    Stale {
        /// Type of the record.
        kind: &'static str,
        /// Id of the record.
        id: String,
        /// Revision that the change was made on.
        expected: u64,
        /// Revision in the store.
        found: u64,
    },
    /// Another record has what must be unique.
    #[error("another {kind} has the same {index}")]
    Taken {
        /// Type of the record.
        kind: &'static str,
        /// Name of the unique index.
        index: &'static str,
    },
    /// The id is none: it has other characters than letters, digits, `_` and `-`, or not 1 to 64 of them.
    #[error("{id:?} is no id of a {kind}: expected 1 to 64 letters, digits, _ and -")]
    InvalidId {
        /// Type of the record.
        kind: &'static str,
        /// Text that is no id.
        id: String,
    },
    /// Stored bytes do not decode.
    #[error("{kind} {id:?} in the store does not decode: {reason}; restore a backup")]
    Corrupt {
        /// Type of the record, or what else it is.
        kind: &'static str,
        /// Id of the record, or its key.
        id: String,
        /// What is wrong with the bytes.
        reason: String,
    },
    /// The record was written by a newer chainbox.
    #[error(
        "a {kind} in the store has version {found}, this build reads {supported}; use the newer chainbox that wrote it"
    )]
    NewerRecord {
        /// Type of the record.
        kind: &'static str,
        /// Version in the store.
        found: u16,
        /// Newest version that this build reads.
        supported: u16,
    },
    /// The records were written by a newer chainbox.
    #[error(
        "the platform's records have format {found}, this build reads formats up to {supported}; \
         use the newer chainbox that wrote them, or restore a backup from before"
    )]
    NewerFormat {
        /// Format in the store.
        found: u32,
        /// Newest format that this build reads.
        supported: u32,
    },
    /// No migration leads from the stored format.
    #[error(
        "the platform's records have format {found}, which this build does not migrate to its format {supported}; \
         open them once with a chainbox that does"
    )]
    NoMigration {
        /// Format in the store.
        found: u32,
        /// Format of this build.
        supported: u32,
    },
    /// The store failed.
    #[error("the platform's store failed")]
    Store(#[from] StoreError),
}

impl RecordError {
    pub(super) fn corrupt(kind: &'static str, id: &str, reason: String) -> Self {
        Self::Corrupt { kind, id: id.to_owned(), reason }
    }
}
