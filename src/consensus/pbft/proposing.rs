//! Block production by the primary: requesting and proposing blocks.

use std::sync::Arc;

use super::{
    BUILD_TIMER, Body, BuildState, Pbft, PbftMessage, Seal, broadcast,
    log::{Proposal, ProposalStatus},
};
use crate::{
    chain::Block,
    consensus::{BlockId, BuildRequest, Deadline, Effect, Purpose, Ticket},
    primitives::{B64, B256, Timestamp},
};

impl Pbft {
    /// Schedules or requests the block after the head, if this replica is the primary.
    pub(super) fn schedule_block(&mut self, effects: &mut Vec<Effect>) {
        let height = self.head.height.next();
        if self.is_changing || !self.is_primary() || self.build_state != BuildState::Idle {
            return;
        }
        let Some(slot) = self.log.slot_mut(height) else {
            return effects.push(Effect::Mark("pbft/log-full"));
        };
        if slot.proposal.is_some() {
            return;
        }
        if slot.has_other_in(self.view, B256::ZERO) {
            return effects.push(Effect::Mark("pbft/refuse-double-proposal"));
        }
        if self.config.period == 0 {
            return self.request_block(effects);
        }
        self.build_state = BuildState::Scheduled;
        let deadline = Deadline::AtTimestamp { timestamp: self.earliest_next(), then_nanos: 0 };
        effects.push(Effect::ArmTimer { timer: BUILD_TIMER, deadline });
    }

    /// Cancels a scheduled or requested block.
    pub(super) fn cancel_build(&mut self, effects: &mut Vec<Effect>) {
        match core::mem::replace(&mut self.build_state, BuildState::Idle) {
            BuildState::Idle => {}
            BuildState::Scheduled => effects.push(Effect::DisarmTimer(BUILD_TIMER)),
            BuildState::Building(_) => effects.push(Effect::CancelBuild),
        }
    }

    pub(super) fn request_block(&mut self, effects: &mut Vec<Effect>) {
        let Some(me) = self.me else { return };
        let ticket = self.next_ticket.take_next();
        let height = self.head.height.next();
        self.build_state = BuildState::Building(ticket);
        effects.push(Effect::Build(BuildRequest {
            ticket,
            parent: self.head,
            beneficiary: me,
            difficulty: 0,
            timestamp_min: self.earliest_next(),
            mix_hash: B256::ZERO,
            nonce: B64::ZERO,
            payload: self.transition.payload(&self.config, height, self.evidence_for(height), self.absent()),
        }));
    }

    /// Handles a built block: has it executed like any other; it is proposed once it is valid.
    pub(super) fn on_built(&mut self, ticket: Ticket, block: Arc<Block>, effects: &mut Vec<Effect>) {
        let id = BlockId::of(&block);
        let (Some(signer), Some(slot)) = (self.signer.as_ref(), self.log.slot_mut(id.height)) else {
            return effects.push(Effect::Mark("pbft/stale-build"));
        };
        if self.build_state != BuildState::Building(ticket)
            || BlockId::parent_of(&block) != self.head
            || slot.proposal.is_some()
        {
            return effects.push(Effect::Mark("pbft/stale-build"));
        }
        self.build_state = BuildState::Idle;
        let signature =
            signer.sign(Purpose::Message, self.authenticator.keccak(&super::vote::pre_prepare(self.view, &id)));
        let sealed =
            Arc::new(Arc::unwrap_or_clone(block).with_seal(Seal::Proposal { view: self.view, signature }.encoded()));
        slot.proposal = Some(Proposal { hash: id.hash, status: ProposalStatus::Executing, is_chosen: false });
        slot.bodies.insert(id.hash, sealed.clone());
        effects.push(Effect::Validate { block: sealed });
    }

    /// Sends the pre-prepare of an own new block. The new-view already proposed the blocks that it chose.
    pub(super) fn propose(&mut self, body: Option<&Arc<Block>>, effects: &mut Vec<Effect>) {
        let Some(message) = body.and_then(|body| self.proposal_of_view(body)) else { return };
        let ticket = self.persist(effects);
        broadcast(&message, Some(ticket), effects);
    }

    /// Returns the pre-prepare of a block that was proposed in this view; `None` for one of an earlier view.
    pub(super) fn proposal_of_view(&self, body: &Arc<Block>) -> Option<Arc<PbftMessage>> {
        match Seal::decode(body.seal()) {
            Ok(Seal::Proposal { view, signature }) if view == self.view => {
                Some(Arc::new(PbftMessage { body: Body::PrePrepare { view, block: body.clone() }, signature }))
            }
            _ => None,
        }
    }

    fn earliest_next(&self) -> Timestamp {
        self.transition.config_in_force(&self.config).earliest_after(self.timestamp)
    }
}
