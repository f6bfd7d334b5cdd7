//! The records from which a replica recovers after a restart, and their one codec.
//!
//! A record's value is a checksum (the first 8 bytes of the content's BLAKE3), then its content in the canonical encoding of
//! [`Encoder`]. The checksum detects a damaged record, or one whose write a crash cut short; it is no protection
//! against forgery. A change of it, or of any record's content, is a new format of the database
//! (`store/rocks.rs`).

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
    /// Checksum and content; empty to delete the key.
    pub value: Bytes,
}

/// The durable records of a replica, by key.
pub type Records = BTreeMap<Bytes, Bytes>;

impl Record {
    pub(crate) fn new(key: impl Into<Bytes>, value: impl Into<Bytes>) -> Self {
        Self { key: key.into(), value: value.into() }
    }

    /// Returns a record with this content, after a checksum by which [`Record::content`] detects damage.
    pub fn whole(key: impl Into<Bytes>, content: &[u8]) -> Self {
        Self::new(key, checked_record(content.len(), |out| out.raw(content)))
    }

    /// Returns the content of a value that [`Record::whole`] wrote; `None` for a damaged one.
    pub fn content(value: &[u8]) -> Option<&[u8]> {
        check_record(value)
    }

    /// Returns a record with the encoding of `value` in postcard's wire format as its content, for [`Record::read`].
    ///
    /// # Panics
    /// When the `Serialize` of `T` fails: it has a list of unknown length, which derived ones have not.
    pub fn of<T: Serialize + ?Sized>(key: impl Into<Bytes>, value: &T) -> Self {
        Self::whole(key, &encode_value(value))
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
        Self::new(key, Bytes::new())
    }
}

/// Bytes of the checksum that a record begins with.
const CHECKSUM_LEN: usize = 8;

/// Returns a record's value: a checksum, then the content that `write` writes. `capacity` is the expected length of the content.
pub(crate) fn checked_record(capacity: usize, write: impl FnOnce(&mut Encoder)) -> Vec<u8> {
    let mut out = Encoder::with_capacity(capacity + CHECKSUM_LEN);
    out.raw(&[0; CHECKSUM_LEN]);
    write(&mut out);
    let mut value = out.into_bytes();
    let checksum = checksum(&value[CHECKSUM_LEN..]);
    value[..CHECKSUM_LEN].copy_from_slice(&checksum);
    value
}

/// Returns whether the checksum of a record's value matches its content.
pub(crate) fn is_whole_record(record: &[u8]) -> bool {
    check_record(record).is_some()
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
    fn set(&mut self, key: Bytes, value: Bytes);

    /// Deletes the value under `key`, if there is one.
    fn delete(&mut self, key: &[u8]);

    /// Applies one write; a record without a value deletes its key.
    fn apply(&mut self, records: impl IntoIterator<Item = Record>) {
        for Record { key, value } in records {
            if value.is_empty() {
                self.delete(&key);
            } else {
                self.set(key, value);
            }
        }
    }
}

impl ApplyRecords for BTreeMap<Bytes, Bytes> {
    fn set(&mut self, key: Bytes, value: Bytes) {
        self.insert(key, value);
    }

    fn delete(&mut self, key: &[u8]) {
        self.remove(key);
    }
}

impl ApplyRecords for PersistentMap<Bytes, Bytes> {
    fn set(&mut self, key: Bytes, value: Bytes) {
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
        let record = |key: u8, value: &[u8]| Record::new(vec![key], value.to_vec());
        let writes = [record(1, b"a"), record(2, b"b"), record(1, b""), record(3, b""), record(2, b"c")];
        let mut ordered = BTreeMap::new();
        ordered.apply(writes.clone());
        assert_eq!(ordered, BTreeMap::from([(Bytes::from([2]), Bytes::from_static(b"c"))]));
        let mut hashed = PersistentMap::default();
        hashed.apply(writes);
        assert_eq!(hashed.into_iter().collect::<BTreeMap<_, _>>(), ordered);
    }

    #[test]
    fn a_value_is_read_from_its_record_unless_that_is_damaged() {
        let Record { key, mut value } = Record::of(b"state".as_slice(), &(7_u64, true));
        assert_eq!((key.as_ref(), Record::read(&value)), (b"state".as_slice(), Ok((7_u64, true))));
        assert_eq!(Record::read::<u64>(&value), Err(DecodeError::Trailing { count: 1 }));
        let mut damaged = value.to_vec();
        damaged[9] ^= 1;
        value = damaged.into();
        assert_eq!(Record::read::<(u64, bool)>(&value), Err(DecodeError::Damaged));
    }

    #[test]
    fn a_truncated_or_damaged_record_is_detected() {
        let record = checked_record(20, |out| (0..20).for_each(|byte| out.u8(byte)));
        assert_eq!(check_record(&record).unwrap(), (0..20).collect::<Vec<_>>());
        assert!((0..record.len()).all(|length| check_record(&record[..length]).is_none()));
        for at in 0..record.len() {
            let mut damaged = record.clone();
            damaged[at] ^= 0x10;
            assert_eq!(check_record(&damaged), None);
        }
        let empty = checked_record(0, |_| {});
        assert_eq!(check_record(&empty), Some([].as_slice()));
        // BLAKE3 of no input, from its published test vectors.
        assert_eq!(empty, [0xaf, 0x13, 0x49, 0xb9, 0xf5, 0xf9, 0xa1, 0xa6]);
    }
}
