//! Votes: what an attester signs.

use serde::{Deserialize, Serialize};

use super::Checkpoint;
use crate::{
    consensus::{Authenticator, BlockId, Encoder, Purpose, SealError, Signer, encoding::Decoder},
    primitives::{Address, B256, Bytes, keccak256},
};

/// Length of a vote's signed bytes.
const VOTE_BYTES: usize = 4 + 17 + 8 + 3 * 40 + 2 * 8;

/// Contents of a vote (attestation): the head, and the source and target checkpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct VoteData {
    /// Slot of the vote.
    pub slot: u64,
    /// Head block (LMD-GHOST).
    pub head: BlockId,
    /// Justified checkpoint that the vote starts from (Casper FFG source).
    pub source: Checkpoint,
    /// Checkpoint of the vote's epoch (Casper FFG target).
    pub target: Checkpoint,
}

impl VoteData {
    /// Returns the hash that is signed: keccak of the kind and the canonical encoding.
    pub fn signing_hash(&self) -> B256 {
        keccak256(self.message().as_bytes())
    }

    fn message(&self) -> Encoder {
        let mut out = Encoder::with_capacity(VOTE_BYTES);
        out.bytes(b"chainbox pos vote");
        self.encode(&mut out);
        out
    }

    /// Whether signing both is slashable: two votes for one target epoch, or one that surrounds the other (`s1 < s2`, `t2 < t1`).
    pub fn conflicts(&self, other: &Self) -> bool {
        self.is_double(other) || self.surrounds(other) || other.surrounds(self)
    }

    /// Whether the votes differ and have the same target epoch.
    pub fn is_double(&self, other: &Self) -> bool {
        self != other && self.target.epoch == other.target.epoch
    }

    /// Whether this vote's source epoch is lower and its target epoch higher than the other's.
    pub const fn surrounds(&self, other: &Self) -> bool {
        self.source.epoch < other.source.epoch && other.target.epoch < self.target.epoch
    }

    pub(super) fn encode(&self, out: &mut Encoder) {
        let Self { slot, head, source, target } = self;
        out.u64(*slot);
        head.encode(out);
        source.encode(out);
        target.encode(out);
    }

    pub(super) fn decode(bytes: &mut Decoder<'_>) -> Option<Self> {
        Some(Self {
            slot: bytes.u64()?,
            head: BlockId::decode(bytes)?,
            source: Checkpoint::decode(bytes)?,
            target: Checkpoint::decode(bytes)?,
        })
    }
}

/// A vote and its signature.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Vote {
    /// Contents that are signed.
    pub data: VoteData,
    /// The attester's signature over [`VoteData::signing_hash`].
    pub signature: Bytes,
}

impl Vote {
    /// Signs `data`.
    pub fn signed(data: VoteData, signer: &Signer) -> Self {
        Self { data, signature: signer.sign(Purpose::Message, data.signing_hash()) }
    }

    /// Returns the signer.
    ///
    /// # Errors
    /// [`SealError`] when the signature does not verify.
    pub fn signer(&self, authenticator: &Authenticator) -> Result<Address, SealError> {
        authenticator.author(Purpose::Message, authenticator.keccak(self.data.message().as_bytes()), &self.signature)
    }

    pub(in crate::consensus) fn encode(&self, out: &mut Encoder) {
        let Self { data, signature } = self;
        data.encode(out);
        out.bytes(signature);
    }

    pub(super) fn decode(bytes: &mut Decoder<'_>) -> Option<Self> {
        Some(Self { data: VoteData::decode(bytes)?, signature: Bytes::copy_from_slice(bytes.bytes()?) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitives::{Height, KeyPair};

    fn data(source: u64, target: u64, byte: u8) -> VoteData {
        let block = BlockId { height: Height::new(target), hash: B256::repeat_byte(byte) };
        let checkpoint = |epoch| Checkpoint { epoch, block };
        VoteData { slot: target * 4, head: block, source: checkpoint(source), target: checkpoint(target) }
    }

    #[test]
    fn double_and_surround_votes_conflict_and_nothing_else_does() {
        for (name, first, second, want) in [
            ("the same", data(1, 2, 1), data(1, 2, 1), false),
            ("one target, other blocks", data(1, 2, 1), data(1, 2, 2), true),
            ("one target, other sources", data(0, 2, 1), data(1, 2, 1), true),
            ("one after the other", data(1, 2, 1), data(2, 3, 2), false),
            ("surround", data(0, 5, 1), data(1, 4, 1), true),
            ("one source", data(1, 5, 1), data(1, 4, 1), false),
            ("touching", data(1, 3, 1), data(2, 4, 1), false),
        ] {
            assert_eq!(first.conflicts(&second), want, "{name}");
            assert_eq!(second.conflicts(&first), want, "{name}, the other way");
        }
    }

    #[test]
    fn a_signature_is_for_its_own_data_only() {
        let authenticator = Authenticator::symbolic(1);
        let signer = authenticator.signer(&KeyPair::from_seed(1, "validator"));
        let mut vote = Vote::signed(data(1, 2, 1), &signer);
        assert_eq!(vote.signer(&authenticator), Ok(signer.address()));
        vote.data.slot += 1;
        assert!(vote.signer(&authenticator).is_err());
    }
}
