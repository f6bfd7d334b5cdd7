//! A replica's next block, as far as it can be assumed where no replica waits to be asked for one.

use super::{Network, replica::Replica};
use crate::{
    chain::BlockAttributes,
    consensus::{ConsensusKind, dpos, pbft, pos},
    primitives::{Address, B256, Bytes},
};

impl Network {
    /// Returns attributes with which a block on the replica's head can be simulated: one of its validators makes it, with a consensus
    /// payload that reports nothing. The real one depends on whose turn it is, and on messages that are still to come.
    pub(crate) fn assumed_attributes(&self, replica: &Replica) -> BlockAttributes {
        let head = replica.chain().head().block().header();
        let kind = self.config().kind();
        BlockAttributes {
            beneficiary: replica.validators().members().first().map_or(Address::ZERO, |member| member.address),
            difficulty: head.difficulty,
            // Elsewhere the chain gives it.
            mix_hash: if kind == Some(ConsensusKind::Pos) { head.mix_hash } else { B256::ZERO },
            payload: payload_without_reports(kind),
            ..BlockAttributes::default()
        }
    }
}

/// The payload of a block without absences, evidence and accounting. Protocols whose system calls don't depend on it need none.
fn payload_without_reports(kind: Option<ConsensusKind>) -> Bytes {
    match kind {
        Some(ConsensusKind::Pos) => pos::Payload::default().encoded(),
        Some(ConsensusKind::Dpos) => dpos::Payload::default().encoded(),
        Some(ConsensusKind::Pbft) => pbft::Payload::default().encoded(),
        Some(ConsensusKind::Poa | ConsensusKind::Raft) | None => Bytes::new(),
    }
}
