//! A type of record, and its serialised form.

use core::fmt::Debug;

use serde::{Serialize, de::DeserializeOwned};

use super::{Index, RecordError, Stored, key::Owner};

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

/// Bytes before the serialised record: version, revision, times.
const HEADER_BYTES: usize = 2 + 8 + 8 + 8;

/// What is before the serialised record.
struct Header {
    version: u16,
    revision: u64,
    created_at_ms: u64,
    updated_at_ms: u64,
}

impl Header {
    /// Reads the header of a stored record; returns it and the serialised record, or what is missing.
    fn read(bytes: &[u8]) -> Result<(Self, &[u8]), &'static str> {
        let (version, rest) = bytes.split_first_chunk().ok_or("it has no version")?;
        let (revision, rest) = number(rest).ok_or("it has no revision")?;
        let (created_at_ms, rest) = number(rest).ok_or("it has no time of creation")?;
        let (updated_at_ms, payload) = number(rest).ok_or("it has no time of change")?;
        Ok((Self { version: u16::from_be_bytes(*version), revision, created_at_ms, updated_at_ms }, payload))
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
        let (Header { version, revision, created_at_ms, updated_at_ms }, payload) =
            Header::read(bytes).map_err(corrupt)?;
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

    /// Reads a record whose value is made of the version and the serialised form that the store has; `None` where none is made. Revision and
    /// times stay.
    pub(super) fn converted(
        owner: Owner,
        id: &str,
        bytes: &[u8],
        convert: impl FnOnce(&Owner, u16, &[u8]) -> Result<Option<T>, RecordError>,
    ) -> Result<Option<Self>, RecordError> {
        let (Header { version, revision, created_at_ms, updated_at_ms }, payload) =
            Header::read(bytes).map_err(|reason| RecordError::corrupt(T::KIND, id, reason.to_owned()))?;
        let value = convert(&owner, version, payload)?;
        Ok(value.map(|value| Self { owner, id: id.to_owned(), revision, created_at_ms, updated_at_ms, value }))
    }
}

fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((u64::from_be_bytes(*number), rest))
}
