//! What validators sign: votes and proposals.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Checkpoint, Offence};
use crate::{
    consensus::{Authenticator, BlockId, Encoder, SealError, Signer, encoding::Decoder},
    primitives::{Address, B256, Bytes, keccak256},
};

/// Lengths of what is signed.
const VOTE_BYTES: usize = 4 + 17 + 8 + 3 * 40 + 2 * 8;
const PROPOSAL_BYTES: usize = 4 + 21 + 8 + 40;
const REVEAL_BYTES: usize = 4 + 19 + 8;

/// What an attester says: which block is the head, and from which checkpoint to which its epoch goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct VoteData {
    /// When.
    pub slot: u64,
    /// The head (LMD-GHOST).
    pub head: BlockId,
    /// The justified checkpoint that it starts from (Casper).
    pub source: Checkpoint,
    /// The checkpoint of its epoch.
    pub target: Checkpoint,
}

impl VoteData {
    /// What is signed: keccak of the kind and the canonical encoding.
    pub fn signing_hash(&self) -> B256 {
        keccak256(self.message().as_bytes())
    }

    fn message(&self) -> Encoder {
        let mut out = Encoder::with_capacity(VOTE_BYTES);
        out.bytes(b"chainbox pos vote");
        self.encode(&mut out);
        out
    }

    /// Whether signing both is an offence: two votes for one epoch, or one that surrounds the other (`s1 < s2`, `t2 < t1`).
    pub fn conflicts(&self, other: &Self) -> bool {
        self.is_double(other) || self.surrounds(other) || other.surrounds(self)
    }

    /// Whether both are for one target epoch, and differ.
    pub fn is_double(&self, other: &Self) -> bool {
        self != other && self.target.epoch == other.target.epoch
    }

    /// Whether this one's source is older and its target newer.
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
    /// What is said.
    pub data: VoteData,
    /// The attester's signature over [`VoteData::signing_hash`].
    pub signature: Bytes,
}

impl Vote {
    /// Signs `data`.
    pub fn signed(data: VoteData, signer: &Signer) -> Self {
        Self { data, signature: signer.sign(data.signing_hash()) }
    }

    /// Who signed.
    ///
    /// # Errors
    /// [`SealError`] when nobody did.
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

/// A block that was sealed for a slot. The seal beside a block is this signature.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Proposal {
    /// For which slot.
    pub slot: u64,
    /// Which block.
    pub block: BlockId,
    /// The proposer's signature over [`proposal_hash`].
    pub signature: Bytes,
}

impl Proposal {
    /// Signs a block for a slot.
    pub fn signed(slot: u64, block: BlockId, signer: &Signer) -> Self {
        Self { slot, block, signature: signer.sign(proposal_hash(slot, &block)) }
    }

    /// Who signed.
    ///
    /// # Errors
    /// [`SealError`] when nobody did.
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

/// What the proposer of `slot` signs to propose `block`. It names the slot, so that two of them prove a double proposal
/// without the blocks.
pub fn proposal_hash(slot: u64, block: &BlockId) -> B256 {
    keccak256(proposal_message(slot, block).as_bytes())
}

/// Who proposed `block` for `slot` by this signature; the hash is made once for all who ask.
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

/// What a proposer signs to reveal its part of the randomness of `epoch`.
///
/// The signatures that are made here are deterministic (RFC 6979), so an honest proposer has one reveal an epoch. Unlike
/// Ethereum's BLS signatures they are not unique: a dishonest one may choose among many.
pub fn reveal_hash(epoch: u64) -> B256 {
    keccak256(reveal_message(epoch).as_bytes())
}

/// Who made this reveal for `epoch`; the hash is made once for all who ask.
pub(super) fn revealer_of(authenticator: &Authenticator, epoch: u64, reveal: &[u8]) -> Result<Address, SealError> {
    authenticator.author(authenticator.keccak(reveal_message(epoch).as_bytes()), reveal)
}

fn reveal_message(epoch: u64) -> Encoder {
    let mut out = Encoder::with_capacity(REVEAL_BYTES);
    out.bytes(b"chainbox pos reveal");
    out.u64(epoch);
    out
}

/// What replicas say besides blocks.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum PosMessage {
    /// An attester's vote.
    Vote(Vote),
    /// Proof of an offence, for proposers to pack.
    Offence(Offence),
}

impl PosMessage {
    /// The kind, for filters, traces and digests.
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Vote(_) => "vote",
            Self::Offence(_) => "offence",
        }
    }

    /// Length in bytes, as a link's bandwidth counts it.
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

/// Why a message was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// Signed by nobody.
    #[error(transparent)]
    Signature(#[from] SealError),
    /// Signed by somebody without a vote in that epoch.
    #[error("{signer} is no validator of epoch {epoch}")]
    NotValidator {
        /// Who.
        signer: Address,
        /// Which epoch.
        epoch: u64,
    },
    /// Of a slot that is not here yet.
    #[error("slot {slot} is in the future; it is slot {now}")]
    FutureSlot {
        /// The message's.
        slot: u64,
        /// The replica's.
        now: u64,
    },
    /// Of an epoch that no longer counts.
    #[error("epoch {epoch} is over; it is epoch {now}")]
    OldEpoch {
        /// The message's.
        epoch: u64,
        /// The replica's.
        now: u64,
    },
    /// The same was said before.
    #[error("already known")]
    Known,
    /// As many wait already as may.
    #[error("{limit} messages wait for blocks already")]
    Overloaded {
        /// The bound.
        limit: usize,
    },
    /// A form that no honest replica sends.
    #[error("malformed: {what}")]
    Malformed {
        /// What is wrong.
        what: &'static str,
    },
    /// The block is built upon something that finality has left behind.
    #[error("{block} is not built upon the final checkpoint")]
    NotFinal {
        /// Which block.
        block: BlockId,
    },
    /// This replica has been away for longer than stake stays slashable, and can't tell the true chain from a forged one.
    #[error("the newest final epoch {finalized} is more than {limit} before epoch {now}: give a trusted checkpoint")]
    WeakSubjectivity {
        /// The newest final epoch that it knows.
        finalized: u64,
        /// The present epoch.
        now: u64,
        /// How many epochs it may be away.
        limit: u64,
    },
    /// The branch does not hold the block that the operator trusts.
    #[error("epoch {epoch} begins with {got}, the operator trusts {want}")]
    Untrusted {
        /// Of the trusted checkpoint.
        epoch: u64,
        /// What the branch has.
        got: B256,
        /// What it must have.
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
