//! The records by which a replica goes on after a restart, and their one codec.
//!
//! A record's value is a checksum, then its content in the canonical encoding of [`Encoder`]. The checksum tells a damaged
//! record, or one whose write a crash cut short, from a whole one; it is no protection against forgery.

use std::collections::BTreeMap;

use super::{
    encoding::{Decoder, Encoder},
    event::BlockId,
};
use crate::primitives::Bytes;

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

    /// Deletes the value under `key`.
    pub(crate) fn forgotten(key: impl Into<Bytes>) -> Self {
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
    value[..CHECKSUM_LEN].copy_from_slice(&checksum.to_be_bytes());
    value
}

/// Whether the checksum of a record's value matches its content.
pub(crate) fn is_whole_record(record: &[u8]) -> bool {
    check_record(record).is_some()
}

/// Returns the content of a record's value; `None` when the checksum does not match.
pub(crate) fn check_record(record: &[u8]) -> Option<&[u8]> {
    let (stored, content) = record.split_first_chunk::<CHECKSUM_LEN>()?;
    (u64::from_be_bytes(*stored) == checksum(content)).then_some(content)
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

/// In the manner of FNV-1a, over words of eight bytes in four lanes, what is left filled up with zeros, and the length.
/// Against accidents, not enemies.
pub(in crate::consensus) fn checksum(bytes: &[u8]) -> u64 {
    let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let word = |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_be_bytes(word)
    };
    let mut lanes: [u64; 4] = [0xcbf2_9ce4_8422_2325, 1, 2, 3];
    let (blocks, rest) = bytes.as_chunks::<32>();
    for block in blocks {
        for (lane, bytes) in lanes.iter_mut().zip(block.as_chunks::<8>().0) {
            *lane = mix(*lane, u64::from_be_bytes(*bytes));
        }
    }
    let hash = lanes.into_iter().reduce(mix).unwrap_or_default();
    mix(rest.chunks(8).map(word).fold(hash, mix), bytes.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_was_cut_or_damaged_is_told() {
        let record = checked_record(20, |out| (0..20).for_each(|byte| out.u8(byte)));
        assert_eq!(check_record(&record).unwrap(), (0..20).collect::<Vec<_>>());
        assert!((0..record.len()).all(|length| check_record(&record[..length]).is_none()));
        for at in 0..record.len() {
            let mut damaged = record.clone();
            damaged[at] ^= 0x10;
            assert_eq!(check_record(&damaged), None);
        }
        assert_eq!(check_record(&checked_record(0, |_| {})), Some([].as_slice()));
    }
}
