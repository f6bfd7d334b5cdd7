//! Proof of double signing: two signatures of one validator over two blocks at one height, in one view and phase.

use std::collections::BTreeSet;

use alloy_rlp::{RlpDecodable, RlpEncodable};
use serde::{Deserialize, Serialize};

use super::{Committee, Phase, View, vote::vote};
use crate::{
    consensus::{Authenticator, BlockId, Encoder, SealError},
    primitives::{Address, B256, Bytes, Height},
};

/// Pieces of evidence in one block.
pub const EVIDENCE_PER_BLOCK_MAX: usize = 4;
/// Blocks after which evidence is too old to be told.
pub const EVIDENCE_BLOCKS_MAX: u64 = 8_192;

/// Two promises of one validator in one view at one height, for two blocks; the one of the lower hash first.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RlpEncodable, RlpDecodable)]
pub struct DoubleSigning {
    /// Its number in signed messages: 1 pre-prepare, 2 prepare, 3 commit.
    pub(super) kind: u8,
    pub(super) view: u64,
    pub(super) height: u64,
    pub(super) first: B256,
    pub(super) first_signature: Bytes,
    pub(super) second: B256,
    pub(super) second_signature: Bytes,
}

/// Why it proves nothing, or is of no use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EvidenceError {
    /// One block twice, blocks not in the order of their hashes, or promises of no kind.
    #[error("evidence is not of two blocks in ascending order of hash")]
    Form,
    /// It is of a height that is not reached, or long past.
    #[error("evidence of height {got} is not of the last {EVIDENCE_BLOCKS_MAX} heights up to {newest}")]
    Age {
        /// Of the promises.
        got: Height,
        /// The newest height that may be.
        newest: Height,
    },
    /// Signatures of two, or of somebody who is no validator.
    #[error("{first} and {second} signed what evidence shows; expected one and the same validator")]
    Offender {
        /// Who signed for the first block.
        first: Address,
        /// Who signed for the second.
        second: Address,
    },
    /// This validator's end is known already.
    #[error("evidence against {offender} was told before")]
    Convicted {
        /// Who.
        offender: Address,
    },
    /// More than a block may tell.
    #[error("{got} pieces of evidence in one block; at most {EVIDENCE_PER_BLOCK_MAX} are allowed")]
    TooMuch {
        /// How many.
        got: usize,
    },
    /// A signature of nobody.
    #[error(transparent)]
    Seal(#[from] SealError),
}

impl DoubleSigning {
    /// Evidence from two promises, in either order.
    pub fn new(phase: Phase, view: View, height: Height, one: (B256, Bytes), other: (B256, Bytes)) -> Self {
        let (first, second) = if one.0 < other.0 { (one, other) } else { (other, one) };
        Self {
            kind: phase.code(),
            view: view.get(),
            height: height.get(),
            first: first.0,
            first_signature: first.1,
            second: second.0,
            second_signature: second.1,
        }
    }

    /// Which promise was given twice.
    pub fn phase(&self) -> Option<Phase> {
        Phase::ALL.into_iter().find(|phase| phase.code() == self.kind)
    }

    /// In which view.
    pub const fn view(&self) -> View {
        View::new(self.view)
    }

    /// At which height.
    pub const fn height(&self) -> Height {
        Height::new(self.height)
    }

    /// The two blocks.
    pub const fn blocks(&self) -> (B256, B256) {
        (self.first, self.second)
    }

    /// Who gave both promises; nothing is said about whether that is a validator.
    ///
    /// # Errors
    /// [`EvidenceError::Form`], [`EvidenceError::Seal`], [`EvidenceError::Offender`].
    pub fn offender(&self, authenticator: &Authenticator) -> Result<Address, EvidenceError> {
        let phase = self.phase().filter(|_| self.first < self.second).ok_or(EvidenceError::Form)?;
        let signer = |hash, signature: &Bytes| {
            let block = BlockId { height: self.height(), hash };
            authenticator.author(authenticator.keccak(&vote(phase, self.view(), &block)), signature)
        };
        let first = signer(self.first, &self.first_signature)?;
        let second = signer(self.second, &self.second_signature)?;
        if first == second { Ok(first) } else { Err(EvidenceError::Offender { first, second }) }
    }

    /// The same in the eyes of `committee` at a block of height `newest`, when it may still be told.
    pub(super) fn check(
        &self,
        newest: Height,
        committee: &Committee,
        convicted: &BTreeSet<Address>,
        authenticator: &Authenticator,
    ) -> Result<Address, EvidenceError> {
        let got = self.height();
        if got > newest || newest.get() - got.get() > EVIDENCE_BLOCKS_MAX {
            return Err(EvidenceError::Age { got, newest });
        }
        let offender = self.offender(authenticator)?;
        if !committee.contains(&offender) {
            return Err(EvidenceError::Offender { first: offender, second: offender });
        }
        if convicted.contains(&offender) { Err(EvidenceError::Convicted { offender }) } else { Ok(offender) }
    }

    pub(super) fn encode_to(&self, out: &mut Encoder) {
        out.bytes(&alloy_rlp::encode(self));
    }
}
