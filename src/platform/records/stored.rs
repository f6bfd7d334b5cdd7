//! One record as it is stored.

use super::key::Owner;

/// A record with its owner, id, times and revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored<T> {
    pub(super) owner: Owner,
    pub(super) id: String,
    pub(super) revision: u64,
    pub(super) created_at_ms: u64,
    pub(super) updated_at_ms: u64,
    /// The record itself. Change it and give the whole to [`Unit::replace`](super::Unit::replace).
    pub value: T,
}

impl<T> Stored<T> {
    pub(super) const fn first(owner: Owner, id: String, now_ms: u64, value: T) -> Self {
        Self { owner, id, revision: 1, created_at_ms: now_ms, updated_at_ms: now_ms, value }
    }

    pub(super) fn next(&self, now_ms: u64) -> Self
    where
        T: Clone,
    {
        // A clock that went back must not make a record younger than its creation.
        let updated_at_ms = now_ms.max(self.updated_at_ms);
        Self { revision: self.revision.saturating_add(1), updated_at_ms, ..self.clone() }
    }

    /// Returns a copy as it was read at another revision.
    #[cfg(test)]
    pub(super) fn at_revision(self, revision: u64) -> Self {
        Self { revision, ..self }
    }

    /// Owner of the record.
    pub const fn owner(&self) -> &Owner {
        &self.owner
    }

    /// Id of the record, unique among those of its owner and type.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Number of the record's changes, its creation included. A change is refused when the stored record has another.
    pub const fn revision(&self) -> u64 {
        self.revision
    }

    /// Time of creation, in milliseconds since the Unix epoch.
    pub const fn created_at_ms(&self) -> u64 {
        self.created_at_ms
    }

    /// Time of the last change, in milliseconds since the Unix epoch.
    pub const fn updated_at_ms(&self) -> u64 {
        self.updated_at_ms
    }
}
