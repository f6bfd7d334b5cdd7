//! What validators had to do for a block, and what of it they did, as the block says it.
//!
//! | protocol | duties of a block | done |
//! |---|---|---|
//! | proof of authority | the block, of the signer whose turn it is | sealed in turn (difficulty 2, EIP-225) |
//! | proof of stake | a block in each slot since the parent's | the block |
//! | delegated proof of stake | the block, and one of each producer that the block reports for an empty slot | the block |
//! | PBFT | a commit of the parent by each member of the committee | all but those that the block reports as absent |
//! | Raft | the block, and a block of each term that ended since the parent | the block |
//!
//! A chain on demand has no slots, and its PBFT blocks report nobody: a block has one duty. The time in which a chain is paused or its
//! process is away has slots too, for the protocol counts them as missed; it is over with the window of blocks. Slots are those that blocks
//! name, so that a change of the block time needs no other rule.

use serde::{Deserialize, Serialize};

use crate::{
    chain::Block,
    consensus::{ConsensusKind, dpos, pbft, pos, raft},
    primitives::U256,
};

/// Difficulty of a block that is sealed in turn (EIP-225).
const IN_TURN: u64 = 2;

/// How the duties of a chain's blocks are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::platform) struct DutyRule {
    kind: ConsensusKind,
    /// Whether blocks come by the clock, not on demand.
    is_paced: bool,
    /// Validators of genesis.
    validators: u64,
}

/// What a block's duties depend on of those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DutyState {
    /// Members of PBFT's committee.
    members: u64,
    /// Raft's term of the block, or proof of stake's slot.
    term: u64,
}

impl DutyRule {
    /// Creates the rule of a protocol with `validators` at genesis, whose blocks come by the clock or on demand.
    pub(in crate::platform) const fn new(kind: ConsensusKind, is_paced: bool, validators: u64) -> Self {
        Self { kind, is_paced, validators }
    }

    pub(super) const fn first(&self) -> DutyState {
        DutyState { members: self.validators, term: 0 }
    }

    /// Returns the duties of a block, how many were done, and the state after it. Before the first block nobody had to do anything.
    pub(super) fn duties(&self, before: &DutyState, is_first: bool, block: &Block) -> (u64, u64, DutyState) {
        match self.kind {
            ConsensusKind::Poa => {
                let is_in_turn = block.header().difficulty == U256::from(IN_TURN);
                (1, u64::from(is_in_turn), *before)
            }
            ConsensusKind::Pos => {
                let slot = pos::Payload::decode(block.protocol_payload()).map_or(before.term, |payload| payload.slot);
                let slots = if is_first || !self.is_paced { 1 } else { slot.saturating_sub(before.term).max(1) };
                (slots, 1, DutyState { term: slot, ..*before })
            }
            ConsensusKind::Dpos => {
                let empty = dpos::Payload::decode(block.protocol_payload()).map_or(0, |payload| payload.absent.len());
                let empty = if is_first { 0 } else { empty as u64 };
                (empty.saturating_add(1), 1, *before)
            }
            ConsensusKind::Pbft => {
                let payload = pbft::Payload::decode(block.protocol_payload()).unwrap_or_default();
                let members = payload.successor.as_ref().map_or(before.members, |set| set.len() as u64);
                let duties = if self.is_paced { before.members.max(1) } else { 1 };
                let done = duties.saturating_sub(payload.absent.len() as u64);
                (duties, done, DutyState { members, ..*before })
            }
            ConsensusKind::Raft => {
                let term = raft::Payload::decode(block.protocol_payload()).map_or(before.term, |payload| payload.term);
                let lost = if is_first { 0 } else { term.saturating_sub(before.term) };
                (lost.saturating_add(1), 1, DutyState { term, ..*before })
            }
        }
    }
}
