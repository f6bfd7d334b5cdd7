//! Signed messages of validators: votes and proposals.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Checkpoint, Offence};
use crate::{
    consensus::{Authenticator, BlockId, Encoder, SealError, Signer, encoding::Decoder},
    primitives::{Address, B256, Bytes, keccak256},
};

/// Lengths of the signed messages, in bytes.
const VOTE_BYTES: usize = 4 + 17 + 8 + 3 * 40 + 2 * 8;
const PROPOSAL_BYTES: usize = 4 + 21 + 8 + 40;
const REVEAL_BYTES: usize = 4 + 19 + 8;

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
        Self { data, signature: signer.sign(data.signing_hash()) }
    }

    /// Returns the signer.
    ///
    /// # Errors
    /// [`SealError`] when the signature does not verify.
    pub fn signer(&self, authenticator: &Authenticator) -> Result<Address, SealError> {
        authenticator.author(authenticator.keccak(self.data.message().as_bytes()), &self.signature)
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

/// A block that was sealed for a slot. The block's seal is this signature.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Proposal {
    /// Slot of the block.
    pub slot: u64,
    /// The block.
    pub block: BlockId,
    /// The proposer's signature over [`proposal_hash`].
    pub signature: Bytes,
}

impl Proposal {
    /// Signs a block for a slot.
    pub fn signed(slot: u64, block: BlockId, signer: &Signer) -> Self {
        Self { slot, block, signature: signer.sign(proposal_hash(slot, &block)) }
    }

    /// Returns the signer.
    ///
    /// # Errors
    /// [`SealError`] when the signature does not verify.
    pub fn signer(&self, authenticator: &Authenticator) -> Result<Address, SealError> {
        proposer_of(authenticator, self.slot, &self.block, &self.signature)
    }

    pub(super) fn encode(&self, out: &mut Encoder) {
        let Self { slot, block, signature } = self;
        out.u64(*slot);
        block.encode(out);
        out.bytes(signature);
    }

    pub(super) fn decode(bytes: &mut Decoder<'_>) -> Option<Self> {
        Some(Self {
            slot: bytes.u64()?,
            block: BlockId::decode(bytes)?,
            signature: Bytes::copy_from_slice(bytes.bytes()?),
        })
    }
}

/// Returns the hash that the proposer of `slot` signs to propose `block`. It covers the slot, so that two signatures prove a
/// double proposal without the blocks.
pub fn proposal_hash(slot: u64, block: &BlockId) -> B256 {
    keccak256(proposal_message(slot, block).as_bytes())
}

/// Returns the signer of a proposal. The authenticator caches the hash.
pub(super) fn proposer_of(
    authenticator: &Authenticator,
    slot: u64,
    block: &BlockId,
    signature: &[u8],
) -> Result<Address, SealError> {
    let hash = authenticator.keccak(proposal_message(slot, block).as_bytes());
    authenticator.author(hash, signature)
}

fn proposal_message(slot: u64, block: &BlockId) -> Encoder {
    let mut out = Encoder::with_capacity(PROPOSAL_BYTES);
    out.bytes(b"chainbox pos proposal");
    out.u64(slot);
    block.encode(&mut out);
    out
}

/// Returns the hash that a proposer signs as its contribution to the randomness of `epoch` (RANDAO reveal).
///
/// Signatures here are deterministic (RFC 6979), so an honest proposer has one reveal an epoch. Unlike Ethereum's BLS
/// signatures they are not unique: a dishonest proposer may choose among many.
pub fn reveal_hash(epoch: u64) -> B256 {
    keccak256(reveal_message(epoch).as_bytes())
}

/// Returns the signer of a randomness reveal for `epoch`. The authenticator caches the hash.
pub(super) fn revealer_of(authenticator: &Authenticator, epoch: u64, reveal: &[u8]) -> Result<Address, SealError> {
    authenticator.author(authenticator.keccak(reveal_message(epoch).as_bytes()), reveal)
}

fn reveal_message(epoch: u64) -> Encoder {
    let mut out = Encoder::with_capacity(REVEAL_BYTES);
    out.bytes(b"chainbox pos reveal");
    out.u64(epoch);
    out
}

/// Messages between replicas besides blocks.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum PosMessage {
    /// An attester's vote.
    Vote(Vote),
    /// Evidence of an offence, for proposers to include in a block.
    Offence(Offence),
}

impl PosMessage {
    /// Returns the kind, for filters, traces and digests.
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Vote(_) => "vote",
            Self::Offence(_) => "offence",
        }
    }

    /// Returns the encoded length in bytes, which a link's bandwidth limits.
    pub fn size_bytes(&self) -> usize {
        let mut out = Encoder::new();
        self.encode(&mut out);
        out.as_bytes().len()
    }

    pub(in crate::consensus) fn encode(&self, out: &mut Encoder) {
        match self {
            Self::Vote(vote) => {
                out.u8(1);
                vote.encode(out);
            }
            Self::Offence(offence) => {
                out.u8(2);
                offence.encode(out);
            }
        }
    }
}

impl From<Vote> for crate::consensus::Message {
    fn from(vote: Vote) -> Self {
        Self::Pos(Arc::new(PosMessage::Vote(vote)))
    }
}

/// Invalid message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// The signature does not verify.
    #[error(transparent)]
    Signature(#[from] SealError),
    /// The signer is not a validator of that epoch.
    #[error("{signer} is no validator of epoch {epoch}")]
    NotValidator {
        /// Signer of the message.
        signer: Address,
        /// Epoch of the message.
        epoch: u64,
    },
    /// The slot is in the future.
    #[error("slot {slot} is in the future; it is slot {now}")]
    FutureSlot {
        /// Slot of the message.
        slot: u64,
        /// Current slot of the replica.
        now: u64,
    },
    /// The epoch no longer counts.
    #[error("epoch {epoch} is over; it is epoch {now}")]
    OldEpoch {
        /// Epoch of the message.
        epoch: u64,
        /// Current epoch of the replica.
        now: u64,
    },
    /// The message was received before.
    #[error("already known")]
    Known,
    /// Too many votes for unknown blocks are kept.
    #[error("{limit} messages wait for blocks already")]
    Overloaded {
        /// Number allowed.
        limit: usize,
    },
    /// The message contradicts itself or its branch.
    #[error("malformed: {what}")]
    Malformed {
        /// What is wrong.
        what: &'static str,
    },
    /// The block does not descend from the final checkpoint.
    #[error("{block} is not built upon the final checkpoint")]
    NotFinal {
        /// The block.
        block: BlockId,
    },
    /// The replica was offline for longer than stake stays slashable and cannot distinguish the chain from a forged one.
    #[error("the newest final epoch {finalized} is more than {limit} before epoch {now}: give a trusted checkpoint")]
    WeakSubjectivity {
        /// Newest final epoch that the replica has.
        finalized: u64,
        /// Current epoch.
        now: u64,
        /// Largest number of epochs between the two.
        limit: u64,
    },
    /// The branch does not include the checkpoint that the operator trusts.
    #[error("epoch {epoch} begins with {got}, the operator trusts {want}")]
    Untrusted {
        /// Epoch of the trusted checkpoint.
        epoch: u64,
        /// Checkpoint of the branch.
        got: B256,
        /// Checkpoint that the operator trusts.
        want: B256,
    },
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
    fn a_signature_is_for_its_own_words_only() {
        let authenticator = Authenticator::symbolic(1);
        let signer = authenticator.signer(&KeyPair::from_seed(1, "validator"));
        let mut vote = Vote::signed(data(1, 2, 1), &signer);
        assert_eq!(vote.signer(&authenticator), Ok(signer.address()));
        vote.data.slot += 1;
        assert!(vote.signer(&authenticator).is_err());
        let block = data(1, 2, 3).head;
        let mut proposal = Proposal::signed(7, block, &signer);
        assert_eq!(proposal.signer(&authenticator), Ok(signer.address()));
        proposal.slot = 8;
        assert!(proposal.signer(&authenticator).is_err());
    }
}
