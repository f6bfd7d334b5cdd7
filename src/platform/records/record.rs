//! A type of record, and one record as it is stored.

use core::fmt::Debug;

use serde::{Serialize, de::DeserializeOwned};

use super::{Index, RecordError, key::Owner};

/// A type of record.
///
/// Its serialised form is postcard's, which has no field names: a change of the type's fields needs the next [`VERSION`](Self::VERSION)
/// and an arm in [`upgrade`](Self::upgrade). Where an index would hold something else for a converted record, a
/// [`Migration`](super::Migration) writes it.
pub trait Record: Clone + Debug + Send + Sync + Serialize + DeserializeOwned + 'static {
    /// Name of the type, a word that is part of keys and messages and never changes.
    const KIND: &'static str;
    /// Version of the serialised form.
    const VERSION: u16 = 1;
    /// Its indices beside [`Index::CREATED`].
    const INDICES: &'static [Index<Self>] = &[];

    /// Converts the serialised form of an older version; `None` for one that was never released.
    fn upgrade(_version: u16, _bytes: &[u8]) -> Option<Self> {
        None
    }
}

/// A record with its owner, id, times and revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored<T> {
    owner: Owner,
    id: String,
    revision: u64,
    created_at_ms: u64,
    updated_at_ms: u64,
    /// The record itself. Change it and give the whole to [`Unit::replace`](super::Unit::replace).
    pub value: T,
}

/// Bytes before the serialised record: version, revision, times.
const HEADER_BYTES: usize = 2 + 8 + 8 + 8;

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

impl<T: Record> Stored<T> {
    pub(super) fn encode(&self) -> Result<Vec<u8>, RecordError> {
        let mut bytes = Vec::with_capacity(HEADER_BYTES + 64);
        bytes.extend_from_slice(&T::VERSION.to_be_bytes());
        bytes.extend_from_slice(&self.revision.to_be_bytes());
        bytes.extend_from_slice(&self.created_at_ms.to_be_bytes());
        bytes.extend_from_slice(&self.updated_at_ms.to_be_bytes());
        let failed = |cause: postcard::Error| RecordError::corrupt(T::KIND, &self.id, cause.to_string());
        postcard::to_extend(&self.value, bytes).map_err(failed)
    }

    pub(super) fn decode(owner: Owner, id: &str, bytes: &[u8]) -> Result<Self, RecordError> {
        let corrupt = |reason: &str| RecordError::corrupt(T::KIND, id, reason.to_owned());
        let (version, rest) = bytes.split_first_chunk().ok_or_else(|| corrupt("it has no version"))?;
        let (revision, rest) = number(rest).ok_or_else(|| corrupt("it has no revision"))?;
        let (created_at_ms, rest) = number(rest).ok_or_else(|| corrupt("it has no time of creation"))?;
        let (updated_at_ms, payload) = number(rest).ok_or_else(|| corrupt("it has no time of change"))?;
        let version = u16::from_be_bytes(*version);
        let value = match version {
            own if own == T::VERSION => match postcard::take_from_bytes(payload) {
                Ok((value, [])) => value,
                Ok(_) => return Err(corrupt("bytes follow it")),
                Err(cause) => return Err(corrupt(&cause.to_string())),
            },
            newer if newer > T::VERSION => {
                return Err(RecordError::NewerRecord { kind: T::KIND, found: newer, supported: T::VERSION });
            }
            older => T::upgrade(older, payload)
                .ok_or_else(|| corrupt(&format!("version {older} of it can't be converted")))?,
        };
        Ok(Self { owner, id: id.to_owned(), revision, created_at_ms, updated_at_ms, value })
    }
}

fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((u64::from_be_bytes(*number), rest))
}
