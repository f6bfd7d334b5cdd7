//! The consensus payload of a proof-of-authority block: a vote, a checkpoint, changes by the validators' contract, a changed signer set.

use alloy_rlp::{Decodable, RlpDecodable, RlpEncodable};

use crate::{
    consensus::ValidatorSet,
    primitives::{Address, B256, Bytes},
    system::ValidatorUpdates,
};

/// A vote to add or remove a signer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Vote {
    /// Address to add or remove.
    pub target: Address,
    /// Whether to add (`true`) or remove it.
    pub authorize: bool,
}

/// The consensus payload. A default payload is encoded as no bytes, and `extraData` is free; otherwise `extraData` is the
/// keccak of the encoding.
///
/// Encoding: RLP of `[vote, target, checkpoint, next]`: vote 0 (none), 1 (add) or 2 (remove); the target's address or
/// zero; the signers in ascending order, empty except at checkpoints; the hash of the signers after this block, or no
/// bytes when they do not change. Where the validators' contract changed signers, its changes follow
/// ([`ValidatorUpdates::to_bytes`]).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Payload {
    /// The author's vote.
    pub vote: Option<Vote>,
    /// All signers in ascending order, at genesis and every epoch; otherwise `None`.
    pub checkpoint: Option<Vec<Address>>,
    /// [`ValidatorSet::hash`] of the signers from the next block on, when this block's vote or the contract changes them.
    pub next_signers: Option<B256>,
    /// Changes by the validators' contract in the parent's execution, in force from the next block on.
    pub changes: ValidatorUpdates,
}

/// Bytes that do not decode to a payload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PayloadError {
    /// The bytes are not the expected RLP.
    #[error("invalid proof-of-authority payload: {0}")]
    Rlp(#[from] alloy_rlp::Error),
    /// The RLP is not in canonical form.
    #[error("invalid proof-of-authority payload: not in canonical form")]
    NotCanonical,
}

#[derive(RlpEncodable, RlpDecodable)]
#[rlp(trailing)]
struct Fields {
    vote: u8,
    target: Address,
    checkpoint: Vec<Address>,
    next_signers: Bytes,
    changes: Option<Bytes>,
}

impl Payload {
    /// Returns the payload of a checkpoint that lists `signers`.
    pub fn checkpoint(signers: &ValidatorSet) -> Self {
        Self { checkpoint: Some(signers.addresses().collect()), ..Self::default() }
    }

    /// Returns the canonical encoding.
    pub fn encoded(&self) -> Bytes {
        if *self == Self::default() {
            return Bytes::new();
        }
        let Self { vote, checkpoint, next_signers, changes } = self;
        let (vote, target) = match *vote {
            None => (0, Address::ZERO),
            Some(Vote { target, authorize }) => (if authorize { 1 } else { 2 }, target),
        };
        let next_signers = next_signers.map(|hash| Bytes::copy_from_slice(hash.as_slice())).unwrap_or_default();
        let checkpoint = checkpoint.clone().unwrap_or_default();
        let changes = (!changes.is_empty()).then(|| changes.to_bytes().into());
        alloy_rlp::encode(Fields { vote, target, checkpoint, next_signers, changes }).into()
    }

    /// Decodes the canonical encoding.
    ///
    /// # Errors
    /// [`PayloadError`] for any other bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self, PayloadError> {
        if bytes.is_empty() {
            return Ok(Self::default());
        }
        let fields = Fields::decode(&mut &*bytes)?;
        let payload = Self {
            vote: match fields.vote {
                1 => Some(Vote { target: fields.target, authorize: true }),
                2 => Some(Vote { target: fields.target, authorize: false }),
                _ => None,
            },
            checkpoint: (!fields.checkpoint.is_empty()).then_some(fields.checkpoint),
            next_signers: B256::try_from(fields.next_signers.as_ref()).ok(),
            changes: match fields.changes {
                Some(changes) => ValidatorUpdates::from_bytes(&changes).ok_or(PayloadError::NotCanonical)?,
                None => ValidatorUpdates::NONE,
            },
        };
        if payload.encoded().as_ref() == bytes { Ok(payload) } else { Err(PayloadError::NotCanonical) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::system::ValidatorUpdate;

    fn payloads() -> impl Strategy<Value = Payload> {
        let address = any::<[u8; 20]>().prop_map(Address::new);
        let vote = proptest::option::of((address.clone(), any::<bool>()));
        let checkpoint = proptest::option::of(proptest::collection::vec(address, 1..5));
        let next = proptest::option::of(any::<[u8; 32]>().prop_map(B256::new));
        let change = (any::<[u8; 20]>(), any::<u64>())
            .prop_map(|(address, weight)| ValidatorUpdate { address: Address::new(address), weight });
        let changes = proptest::collection::vec(change, 0..4);
        (vote, checkpoint, next, changes).prop_map(|(vote, checkpoint, next_signers, changes)| Payload {
            vote: vote.map(|(target, authorize)| Vote { target, authorize }),
            checkpoint,
            next_signers,
            changes: ValidatorUpdates::new(changes),
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
    fn trailing_bytes_and_default_fields_are_rejected() {
        let mut bytes = Payload { next_signers: Some(B256::ZERO), ..Payload::default() }.encoded().to_vec();
        bytes.push(0);
        assert!(Payload::decode(&bytes).is_err());
        for changes in [None, Some(Bytes::new()), Some(Bytes::from_static(&[0; 27]))] {
            let (vote, target, checkpoint, next_signers) = (0, Address::ZERO, vec![], Bytes::new());
            let idle = Fields { vote, target, checkpoint, next_signers, changes };
            assert_eq!(Payload::decode(&alloy_rlp::encode(idle)), Err(PayloadError::NotCanonical));
        }
    }
}
