//! The byte form of serde values: postcard's wire format, version 1, in which every value has one encoding.
//!
//! Fields stand in the order of their type, integers are varints, byte strings and lists follow their length. Messages, payloads
//! and records of a [protocol of one's own](crate::consensus::OwnProtocol) are written so.

use serde::{Serialize, de::DeserializeOwned};

/// Bytes that are not the encoding of a value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes have another type, or end early.
    #[error("not a value of the expected type: {reason}")]
    Malformed {
        /// What the decoder found.
        reason: String,
    },
    /// The value is followed by other bytes.
    #[error("{count} bytes follow the value; expected none")]
    Trailing {
        /// Number of bytes after the value.
        count: usize,
    },
    /// The value has another encoding, which is the only one that is taken.
    #[error("not the shortest encoding of its value")]
    NotCanonical,
    /// A record's checksum is not that of its content.
    #[error("its checksum is not that of its content: the record is damaged or was cut short")]
    Damaged,
}

/// Returns the encoding of a value.
///
/// # Panics
/// When the type's `Serialize` fails: it has a sequence or map of unknown length, such as one flattened by `#[serde(flatten)]`.
pub(in crate::consensus) fn encode_value<T: Serialize + ?Sized>(value: &T) -> Vec<u8> {
    postcard::to_allocvec(value).expect("lists of the type have a length, as derived ones do")
}

/// Decodes the whole of `bytes`.
///
/// # Errors
/// [`DecodeError`] for bytes that [`encode_value`] does not give.
pub(in crate::consensus) fn decode_value<T: Serialize + DeserializeOwned>(bytes: &[u8]) -> Result<T, DecodeError> {
    let (value, rest) =
        postcard::take_from_bytes::<T>(bytes).map_err(|error| DecodeError::Malformed { reason: error.to_string() })?;
    if !rest.is_empty() {
        return Err(DecodeError::Trailing { count: rest.len() });
    }
    // A varint may be padded, and a list of pairs read as a map in another order.
    if encode_value(&value) == bytes { Ok(value) } else { Err(DecodeError::NotCanonical) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::{
        collection::{btree_map, vec},
        prelude::*,
    };
    use serde::Deserialize;

    use super::*;
    use crate::{
        consensus::BlockId,
        primitives::{Address, B256, Bytes, Height},
    };

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    enum Content {
        Number(u64),
        Block { block: BlockId, by: Address, bytes: Bytes },
        Map(BTreeMap<u64, Vec<Option<u32>>>),
    }

    #[test]
    fn the_wire_format_is_fixed() {
        assert_eq!(encode_value(&(1_u8, 300_u64, [7_u8; 2], Bytes::from_static(b"ab"))), b"\x01\xac\x02\x07\x07\x02ab");
        let block = BlockId { height: Height::new(5), hash: B256::repeat_byte(9) };
        assert_eq!(encode_value(&block)[0], 5);
        assert_eq!(decode_value(&encode_value(&block)), Ok(block));
    }

    #[test]
    fn other_bytes_are_refused_by_name() {
        assert_eq!(decode_value::<u64>(&[5, 0]), Err(DecodeError::Trailing { count: 1 }));
        assert_eq!(decode_value::<u64>(&[0x85, 0]), Err(DecodeError::NotCanonical), "a padded varint");
        let twice = encode_value(&vec![(1_u64, Vec::<Option<u32>>::new()); 2]);
        assert_eq!(decode_value::<BTreeMap<u64, Vec<Option<u32>>>>(&twice), Err(DecodeError::NotCanonical));
        assert!(matches!(decode_value::<u64>(&[]), Err(DecodeError::Malformed { .. })));
        assert!(matches!(decode_value::<Content>(&[9]), Err(DecodeError::Malformed { .. })), "no such variant");
        assert!(matches!(
            decode_value::<Vec<u64>>(&[0xff, 0xff, 0xff, 0xff, 0x0f]),
            Err(DecodeError::Malformed { .. })
        ));
    }

    proptest! {
        #[test]
        fn values_round_trip(
            number in any::<u64>(),
            bytes in vec(any::<u8>(), 0..9),
            map in btree_map(any::<u64>(), vec(any::<Option<u32>>(), 0..3), 0..4),
        ) {
            let block = BlockId { height: Height::new(number), hash: B256::repeat_byte(1) };
            let by = Address::repeat_byte(2);
            for value in [Content::Number(number), Content::Block { block, by, bytes: bytes.into() }, Content::Map(map)] {
                prop_assert_eq!(decode_value::<Content>(&encode_value(&value)), Ok(value));
            }
        }

        #[test]
        fn what_decodes_has_no_other_encoding(bytes in vec(any::<u8>(), 0..60)) {
            if let Ok(value) = decode_value::<Content>(&bytes) {
                prop_assert_eq!(encode_value(&value), bytes);
            }
        }
    }
}
