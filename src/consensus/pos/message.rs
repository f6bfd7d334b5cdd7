//! Messages of proof of stake besides blocks: votes and offences.

use serde::{Deserialize, Serialize};

use super::{SlashingEvidence, Vote};
use crate::{
    consensus::{BlockId, Encoder, SealError},
    primitives::{Address, B256},
};

/// Messages between replicas besides blocks.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum PosMessage {
    /// An attester's vote.
    Vote(Vote),
    /// Evidence of an offence, for proposers to include in a block.
    Offence(SlashingEvidence),
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

/// Invalid message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// The signature does not verify.
    #[error(transparent)]
    Signature(#[from] SealError),
    /// The signer is not a validator of that epoch.
    #[error("{signer} is no validator of epoch {epoch}, nor one that left and whose stake is locked")]
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
    /// The replica was offline for longer than the weak subjectivity period and cannot distinguish the chain from a forged one.
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
