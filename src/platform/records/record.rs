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
