//! The consensus payload of a block of delegated proof of stake.

use alloy_rlp::{Decodable, RlpDecodable, RlpEncodable};

use super::{ConflictingBlocks, EVIDENCE_PER_BLOCK_MAX, PRODUCERS_MAX};
use crate::{
    consensus::{Validator, ValidatorSet},
    primitives::{Address, B256, Bytes},
};

/// Largest encoded payload, in bytes.
pub const PAYLOAD_BYTES_MAX: usize = 24 * 1_024;

/// The consensus payload; its keccak is in `extraData`.
///
/// Encoding: RLP of `[absent, proposes, activates, evidence]`: addresses in ascending order, producers as
/// `[address, weight]` in ascending order of address (empty: none), the hash of a schedule or no bytes, evidence as
/// `[header, seal, header, seal]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Payload {
    /// Producers of the empty slots between the parent and this block, in ascending order of address.
    pub absent: Vec<Address>,
    /// Producers of a schedule that is pending from this block on.
    pub proposes: Option<ValidatorSet>,
    /// [`Schedule::hash`](super::Schedule::hash) of the schedule that is in force after this block.
    pub activates: Option<B256>,
    /// Contradictions of producers that the branch has not reported before.
    pub evidence: Vec<ConflictingBlocks>,
}

/// Bytes that do not decode to a payload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PayloadError {
    /// The bytes are not the expected RLP.
    #[error("invalid delegated-proof-of-stake payload: {0}")]
    Rlp(#[from] alloy_rlp::Error),
    /// The RLP is not in canonical form.
    #[error("invalid delegated-proof-of-stake payload: not in canonical form")]
    NotCanonical,
    /// Too many bytes or elements.
    #[error("invalid delegated-proof-of-stake payload: {got} {what}, at most {limit} are allowed")]
    TooMuch {
        /// What is counted.
        what: &'static str,
        /// Number found.
        got: usize,
        /// Number allowed.
        limit: usize,
    },
}

#[derive(RlpEncodable, RlpDecodable)]
struct Fields {
    absent: Vec<Address>,
    proposes: Vec<Member>,
    activates: Bytes,
    evidence: Vec<ConflictingBlocks>,
}

#[derive(RlpEncodable, RlpDecodable)]
struct Member {
    address: Address,
    weight: u64,
}

impl Payload {
    /// Returns the canonical encoding.
    pub fn encoded(&self) -> Bytes {
        let Self { absent, proposes, activates, evidence } = self;
        let members = proposes.iter().flat_map(ValidatorSet::members);
        let fields = Fields {
            absent: absent.clone(),
            proposes: members.map(|member| Member { address: member.address, weight: member.weight }).collect(),
            activates: activates.map(|hash| Bytes::copy_from_slice(hash.as_slice())).unwrap_or_default(),
            evidence: evidence.clone(),
        };
        alloy_rlp::encode(fields).into()
    }

    /// Decodes the canonical encoding.
    ///
    /// # Errors
    /// [`PayloadError`] for any other bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, PayloadError> {
        at_most("bytes", bytes.len(), PAYLOAD_BYTES_MAX)?;
        let fields = Fields::decode(&mut &*bytes)?;
        at_most("absent producers", fields.absent.len(), PRODUCERS_MAX as usize)?;
        at_most("proposed producers", fields.proposes.len(), PRODUCERS_MAX as usize)?;
        at_most("pieces of evidence", fields.evidence.len(), EVIDENCE_PER_BLOCK_MAX)?;
        let members = fields.proposes.iter().map(|member| Validator { address: member.address, weight: member.weight });
        let payload = Self {
            absent: fields.absent,
            proposes: ValidatorSet::new(members).ok(),
            activates: B256::try_from(fields.activates.as_ref()).ok(),
            evidence: fields.evidence,
        };
        if payload.encoded().as_ref() == bytes { Ok(payload) } else { Err(PayloadError::NotCanonical) }
    }
}

const fn at_most(what: &'static str, got: usize, limit: usize) -> Result<(), PayloadError> {
    if got > limit { Err(PayloadError::TooMuch { what, got, limit }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::primitives::Header;

    fn payloads() -> impl Strategy<Value = Payload> {
        let address = any::<[u8; 20]>().prop_map(Address::new);
        let absent = proptest::collection::vec(address.clone(), 0..4);
        let producers = proptest::collection::btree_set(address, 0..5);
        let activates = proptest::option::of(any::<[u8; 32]>().prop_map(B256::new));
        let evidence = proptest::collection::vec((any::<u64>(), any::<u64>()), 0..3);
        (absent, producers, activates, evidence).prop_map(|(absent, producers, activates, evidence)| {
            let header = |number| (Header { number, ..Header::default() }, Bytes::from_static(b"seal"));
            let double = |(one, other)| ConflictingBlocks::new(header(one), header(other));
            let proposes = ValidatorSet::equal(producers).ok();
            Payload { absent, proposes, activates, evidence: evidence.into_iter().map(double).collect() }
        })
    }

    proptest! {
        #[test]
        fn every_payload_round_trips(payload in payloads()) {
            prop_assert_eq!(Payload::decode(&payload.encoded()), Ok(payload));
        }

        #[test]
        fn what_decodes_is_canonical(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            if let Ok(payload) = Payload::decode(&bytes) {
                prop_assert_eq!(payload.encoded(), bytes);
            }
        }
    }

    #[test]
    fn other_forms_of_the_same_and_too_much_are_refused() {
        let good = Payload { activates: Some(B256::ZERO), ..Payload::default() };
        assert!(Payload::decode(&[good.encoded().as_ref(), &[0]].concat()).is_err());
        let member = |byte, weight| Member { address: Address::repeat_byte(byte), weight };
        for proposes in [vec![member(1, 0)], vec![member(2, 1), member(1, 1)], vec![member(1, 1), member(1, 1)]] {
            let fields = Fields { absent: vec![], proposes, activates: Bytes::new(), evidence: Vec::new() };
            assert_eq!(Payload::decode(&alloy_rlp::encode(fields)), Err(PayloadError::NotCanonical));
        }
        let crowd = Payload { absent: vec![Address::ZERO; 126], ..Payload::default() };
        assert!(matches!(Payload::decode(&crowd.encoded()), Err(PayloadError::TooMuch { got: 126, .. })));
    }
}
