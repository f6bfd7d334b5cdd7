//! The records from which a replica recovers after a restart, and their one codec.
//!
//! A record's value is a checksum (the first 8 bytes of the content's BLAKE3), then its content in the canonical encoding of
//! [`Encoder`]. The checksum detects a damaged record, or one whose write a crash cut short; it is no protection
//! against forgery. A change of it, or of any record's content, is a new format of the database
//! (`store/rocks.rs`).
//!
//! A written record is held without its checksum, which is computed when the value is read: most records are overwritten
//! or deleted before anyone reads them.

use std::collections::BTreeMap;

use serde::{Serialize, de::DeserializeOwned};

use super::{
    codec::{DecodeError, decode_value, encode_value},
    encoding::{Decoder, Encoder},
    id::BlockId,
};
use crate::primitives::{Bytes, maps::PersistentMap};

/// A value to be stored under a key, over the earlier one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    /// Unique within the replica's protocol.
    pub key: Bytes,
    /// `None` to delete the key.
    pub(crate) value: Option<RecordValue>,
}

/// A record's value in memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum RecordValue {
    /// The content, without its checksum.
    Whole(Bytes),
    /// All bytes of a value whose checksum does not match.
    Damaged(Bytes),
}

/// The durable records of a replica, by key: checksums and contents.
pub type Records = BTreeMap<Bytes, Bytes>;

impl Record {
    /// Returns a record with this content, whose value has a checksum by which [`Record::content`] detects damage.
    pub fn whole(key: impl Into<Bytes>, content: &[u8]) -> Self {
        Self::with_content(key, Bytes::copy_from_slice(content))
    }

    /// Returns a record with the content that `write` writes. `capacity` is its expected length.
    pub(in crate::consensus) fn written(
        key: impl Into<Bytes>,
        capacity: usize,
        write: impl FnOnce(&mut Encoder),
    ) -> Self {
        let mut out = Encoder::with_capacity(capacity);
        write(&mut out);
        Self::with_content(key, out.into_bytes())
    }

    /// Returns a record with a value that was read.
    pub(crate) fn stored(key: impl Into<Bytes>, value: &Bytes) -> Self {
        Self { key: key.into(), value: Some(RecordValue::read(value)) }
    }

    /// Returns the checksum and the content, computed at each call; `None` when the key is deleted.
    pub fn value(&self) -> Option<Bytes> {
        self.value.as_ref().map(RecordValue::bytes)
    }

    /// Returns the content of the [`Record::value`] of a whole record; `None` for a damaged one.
    pub fn content(value: &[u8]) -> Option<&[u8]> {
        check_record(value)
    }

    /// Returns a record with the encoding of `value` in postcard's wire format as its content, for [`Record::read`].
    ///
    /// # Panics
    /// When the `Serialize` of `T` fails: it has a list of unknown length, which derived ones have not.
    pub fn of<T: Serialize + ?Sized>(key: impl Into<Bytes>, value: &T) -> Self {
        Self::with_content(key, encode_value(value))
    }

    /// Reads what [`Record::of`] wrote from a record's value.
    ///
    /// # Errors
    /// [`DecodeError::Damaged`] when the checksum does not match, another [`DecodeError`] for any other content.
    pub fn read<T: Serialize + DeserializeOwned>(value: &[u8]) -> Result<T, DecodeError> {
        decode_value(Self::content(value).ok_or(DecodeError::Damaged)?)
    }

    /// Returns the record that deletes the value under `key`.
    pub fn forgotten(key: impl Into<Bytes>) -> Self {
        Self { key: key.into(), value: None }
    }

    fn with_content(key: impl Into<Bytes>, content: impl Into<Bytes>) -> Self {
        Self { key: key.into(), value: Some(RecordValue::Whole(content.into())) }
    }
}

impl RecordValue {
    /// Returns the value with these bytes.
    pub(crate) fn read(bytes: &Bytes) -> Self {
        match check_record(bytes) {
            Some(content) => Self::Whole(bytes.slice_ref(content)),
            None => Self::Damaged(bytes.clone()),
        }
    }

    /// Returns the checksum and the content.
    pub(crate) fn bytes(&self) -> Bytes {
        match self {
            Self::Whole(content) => checked_record(content).into(),
            Self::Damaged(bytes) => bytes.clone(),
        }
    }

    /// Returns the length of checksum and content, in bytes.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Whole(content) => CHECKSUM_LEN + content.len(),
            Self::Damaged(bytes) => bytes.len(),
        }
    }

    /// Returns whether the checksum matches the content.
    pub(crate) const fn is_whole(&self) -> bool {
        matches!(self, Self::Whole(_))
    }
}

/// Bytes of the checksum that a record begins with.
const CHECKSUM_LEN: usize = 8;

/// Returns a record's value: a checksum, then the content.
pub(crate) fn checked_record(content: &[u8]) -> Vec<u8> {
    [checksum(content).as_slice(), content].concat()
}

/// Returns the content of a record's value; `None` when the checksum does not match.
pub(crate) fn check_record(record: &[u8]) -> Option<&[u8]> {
    let (stored, content) = record.split_first_chunk::<CHECKSUM_LEN>()?;
    (*stored == checksum(content)).then_some(content)
}

/// Decodes a record's value with `read`; `None` when the checksum does not match, `read` fails, or bytes are left over.
pub(in crate::consensus) fn decode_record<'a, T>(
    record: &'a [u8],
    read: impl FnOnce(&mut Decoder<'a>) -> Option<T>,
) -> Option<T> {
    decode_content(check_record(record)?, read)
}

/// Decodes the whole of a record's content with `read`; `None` when it fails or bytes are left over.
pub(in crate::consensus) fn decode_content<'a, T>(
    content: &'a [u8],
    read: impl FnOnce(&mut Decoder<'a>) -> Option<T>,
) -> Option<T> {
    let mut bytes = Decoder::new(content);
    read(&mut bytes).filter(|_| bytes.is_empty())
}

/// Returns the records whose key begins with `prefix`, in ascending order of key.
pub(in crate::consensus) fn records_under<'a>(
    records: &'a Records,
    prefix: &'static [u8],
) -> impl Iterator<Item = (&'a Bytes, &'a Bytes)> {
    records.range(Bytes::from_static(prefix)..).take_while(move |(key, _)| key.starts_with(prefix))
}

/// Returns the key of a block's record: `prefix`, the height (8 bytes, big-endian) and the hash.
pub(in crate::consensus) fn block_key(prefix: &[u8], block: BlockId) -> Bytes {
    [prefix, &block.height.get().to_be_bytes(), block.hash.as_slice()].concat().into()
}

/// Returns the block of a key that [`block_key`] made with `prefix`; `None` for any other key.
pub(in crate::consensus) fn block_of_key(prefix: &[u8], key: &[u8]) -> Option<BlockId> {
    decode_content(key.strip_prefix(prefix)?, BlockId::decode)
}

/// Returns the first 8 bytes of the content's BLAKE3.
fn checksum(content: &[u8]) -> [u8; CHECKSUM_LEN] {
    let mut checksum = [0; CHECKSUM_LEN];
    checksum.copy_from_slice(&blake3::hash(content).as_bytes()[..CHECKSUM_LEN]);
    checksum
}

/// A map of records by key that writes are applied to: a disk's, or a test's in place of one.
pub(crate) trait ApplyRecords {
    /// Sets the value under `key`, over an earlier one.
    fn set(&mut self, key: Bytes, value: RecordValue);

    /// Deletes the value under `key`, if there is one.
    fn delete(&mut self, key: &[u8]);

    /// Applies one write.
    fn apply(&mut self, records: impl IntoIterator<Item = Record>) {
        for Record { key, value } in records {
            match value {
                Some(value) => self.set(key, value),
                None => self.delete(&key),
            }
        }
    }
}

impl ApplyRecords for Records {
    fn set(&mut self, key: Bytes, value: RecordValue) {
        self.insert(key, value.bytes());
    }

    fn delete(&mut self, key: &[u8]) {
        self.remove(key);
    }
}

impl ApplyRecords for PersistentMap<Bytes, RecordValue> {
    fn set(&mut self, key: Bytes, value: RecordValue) {
        self.insert(key, value);
    }

    fn delete(&mut self, key: &[u8]) {
        self.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_without_a_value_deletes_its_key() {
        let record = |key: u8, content: &[u8]| Record::whole(vec![key], content);
        let forgotten = |key: u8| Record::forgotten(vec![key]);
        let writes = [record(1, b"a"), record(2, b"b"), forgotten(1), forgotten(3), record(2, b"")];
        let mut ordered = Records::new();
        ordered.apply(writes.clone());
        assert_eq!(ordered, Records::from([(Bytes::from([2]), checked_record(b"").into())]));
        let mut hashed = PersistentMap::default();
        hashed.apply(writes);
        assert_eq!(hashed.into_iter().map(|(key, value)| (key, value.bytes())).collect::<Records>(), ordered);
    }

    #[test]
    fn a_value_is_read_from_its_record_unless_that_is_damaged() {
        let record = Record::of(b"state".as_slice(), &(7_u64, true));
        let value = record.value().unwrap();
        assert_eq!((record.key.as_ref(), Record::read(&value)), (b"state".as_slice(), Ok((7_u64, true))));
        assert_eq!(Record::read::<u64>(&value), Err(DecodeError::Trailing { count: 1 }));
        let mut damaged = value.to_vec();
        damaged[9] ^= 1;
        assert_eq!(Record::read::<(u64, bool)>(&damaged), Err(DecodeError::Damaged));
        assert_eq!(Record::forgotten(b"state".as_slice()).value(), None);
    }

    #[test]
    fn a_value_in_memory_has_the_bytes_that_were_read() {
        let whole = Bytes::from(checked_record(b"content"));
        let mut flipped = whole.to_vec();
        flipped[3] ^= 4;
        for (bytes, is_whole) in [(whole.clone(), true), (flipped.into(), false), (whole.slice(..7), false)] {
            let value = RecordValue::read(&bytes);
            assert_eq!((value.bytes(), value.len(), value.is_whole()), (bytes.clone(), bytes.len(), is_whole));
        }
        let record = Record::whole(b"key".as_slice(), b"content");
        assert_eq!(Record::stored(b"key".as_slice(), &whole), record);
        assert_eq!(record.value(), Some(whole));
    }

    #[test]
    fn a_truncated_or_damaged_record_is_detected() {
        let content: Vec<u8> = (0..20).collect();
        let record = checked_record(&content);
        assert_eq!(check_record(&record).unwrap(), content);
        assert!((0..record.len()).all(|length| check_record(&record[..length]).is_none()));
        for at in 0..record.len() {
            let mut damaged = record.clone();
            damaged[at] ^= 0x10;
            assert_eq!(check_record(&damaged), None);
        }
        let empty = checked_record(&[]);
        assert_eq!(check_record(&empty), Some([].as_slice()));
        // BLAKE3 of no input, from its published test vectors.
        assert_eq!(empty, [0xaf, 0x13, 0x49, 0xb9, 0xf5, 0xf9, 0xa1, 0xa6]);
    }
}
