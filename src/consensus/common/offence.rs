//! Proof of an offence that somebody outside the network has seen, as the protocols take it.

use serde::{Deserialize, Serialize};

use super::encoding::Encoder;
use crate::consensus::{dpos::ConflictingBlocks, pbft::DoubleSigning, pos::SlashingEvidence};

/// Two messages that one validator has signed and that contradict each other. Raft and proof of authority know of none.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
#[expect(clippy::large_enum_variant, reason = "there is one at a time, and events have it in a box")]
pub enum OffenceProof {
    /// Two votes or two blocks (proof of stake).
    Pos(SlashingEvidence),
    /// Two sealed headers (delegated proof of stake).
    Dpos(ConflictingBlocks),
    /// Two votes of one phase (PBFT).
    Pbft(DoubleSigning),
}

impl OffenceProof {
    pub(super) fn encode(&self, out: &mut Encoder) {
        match self {
            Self::Pos(proof) => proof.encode(out),
            Self::Dpos(proof) => out.bytes(&alloy_rlp::encode(proof)),
            Self::Pbft(proof) => out.bytes(&alloy_rlp::encode(proof)),
        }
    }
}

impl From<SlashingEvidence> for OffenceProof {
    fn from(proof: SlashingEvidence) -> Self {
        Self::Pos(proof)
    }
}

impl From<ConflictingBlocks> for OffenceProof {
    fn from(proof: ConflictingBlocks) -> Self {
        Self::Dpos(proof)
    }
}

impl From<DoubleSigning> for OffenceProof {
    fn from(proof: DoubleSigning) -> Self {
        Self::Pbft(proof)
    }
}
