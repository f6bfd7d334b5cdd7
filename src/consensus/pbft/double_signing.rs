//! Proof of double signing: two signatures of one validator over two blocks at one height, in one view and phase.

use alloy_rlp::{RlpDecodable, RlpEncodable};
use serde::{Deserialize, Serialize};

use super::{PbftConfig, Phase, View, vote::vote};
use crate::{
    consensus::{Authenticator, BlockId, Encoder, Purpose, SealError},
    primitives::{Address, B256, Bytes, Height},
};

/// Pieces of evidence in one block.
pub const EVIDENCE_PER_BLOCK_MAX: usize = 4;
/// Age up to which evidence counts, in blocks, when stake is not locked for longer.
pub const EVIDENCE_BLOCKS_MAX: u64 = 8_192;

/// Votes of one validator in one view, height and phase for two blocks, in ascending order of hash.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RlpEncodable, RlpDecodable)]
pub struct DoubleSigning {
    /// Number of the phase in signed messages: 1 pre-prepare, 2 prepare, 3 commit.
    pub(super) kind: u8,
    pub(super) view: u64,
    pub(super) height: u64,
    pub(super) first: B256,
    #[serde(alias = "firstSignature")]
    pub(super) first_signature: Bytes,
    pub(super) second: B256,
    #[serde(alias = "secondSignature")]
    pub(super) second_signature: Bytes,
}

/// Invalid evidence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EvidenceError {
    /// The blocks are equal or out of order, or the phase is unknown.
    #[error("evidence is not of two blocks in ascending order of hash")]
    Form,
    /// The height is in the future or too far in the past.
    #[error("evidence of height {got} is after {newest}, or stake of that time is not locked any more")]
    Age {
        /// Height of the votes.
        got: Height,
        /// Greatest valid height.
        newest: Height,
    },
    /// The signers differ, or the signer is no validator.
    #[error("evidence is signed by {first} and {second}; expected one validator of the committee")]
    Offender {
        /// Signer of the first block.
        first: Address,
        /// Signer of the second block.
        second: Address,
    },
    /// The signer has no stake that is locked.
    #[error("{offender} is no validator, and if it was one, it left so long ago that its stake is withdrawable")]
    Withdrawable {
        /// Signer of both blocks.
        offender: Address,
    },
    /// The validator is already convicted.
    #[error("{offender} is already convicted by earlier evidence")]
    Convicted {
        /// The validator.
        offender: Address,
    },
    /// A block has too much evidence.
    #[error("{got} pieces of evidence in one block; at most {EVIDENCE_PER_BLOCK_MAX} are allowed")]
    TooMuch {
        /// Number of pieces.
        got: usize,
    },
    /// A signature is malformed or has no signer.
    #[error(transparent)]
    Seal(#[from] SealError),
}

impl DoubleSigning {
    /// Returns evidence of two votes, given in either order.
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

    /// Returns the phase of both votes; `None` when it is unknown.
    pub fn phase(&self) -> Option<Phase> {
        Phase::ALL.into_iter().find(|phase| phase.code() == self.kind)
    }

    /// Returns the view of both votes.
    pub const fn view(&self) -> View {
        View::new(self.view)
    }

    /// Returns the height of both blocks.
    pub const fn height(&self) -> Height {
        Height::new(self.height)
    }

    /// Returns the hashes of the two blocks.
    pub const fn blocks(&self) -> (B256, B256) {
        (self.first, self.second)
    }

    /// Returns the signer of both votes, without checking that it is a validator.
    ///
    /// # Errors
    /// [`EvidenceError::Form`], [`EvidenceError::Seal`], [`EvidenceError::Offender`].
    pub fn offender(&self, authenticator: &Authenticator) -> Result<Address, EvidenceError> {
        let phase = self.phase().filter(|_| self.first < self.second).ok_or(EvidenceError::Form)?;
        let signer = |hash, signature: &Bytes| {
            let block = BlockId { height: self.height(), hash };
            authenticator.author(Purpose::Message, authenticator.keccak(&vote(phase, self.view(), &block)), signature)
        };
        let first = signer(self.first, &self.first_signature)?;
        let second = signer(self.second, &self.second_signature)?;
        if first == second { Ok(first) } else { Err(EvidenceError::Offender { first, second }) }
    }

    /// Returns the signer of both votes if they are recent enough for a block at height `newest`.
    pub(super) fn recent_offender(
        &self,
        config: &PbftConfig,
        newest: Height,
        authenticator: &Authenticator,
    ) -> Result<Address, EvidenceError> {
        let got = self.height();
        let blocks_max = EVIDENCE_BLOCKS_MAX.max(config.blocks_in(config.evidence.secs));
        if got > newest || newest.get() - got.get() > blocks_max {
            return Err(EvidenceError::Age { got, newest });
        }
        self.offender(authenticator)
    }

    pub(super) fn encode_to(&self, out: &mut Encoder) {
        out.bytes(&alloy_rlp::encode(self));
    }
}
