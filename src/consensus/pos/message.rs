//! Messages of proof of stake besides blocks: votes and offences.

use serde::{Deserialize, Serialize};

use super::{Offence, Vote};
use crate::{
    consensus::{BlockId, Encoder, SealError},
    primitives::{Address, B256},
};

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
