//! Duties of a validator: slots, proposals, attestations.

use std::sync::Arc;

use super::{
    ATTEST_TIMER, Duty, OFFENCES_MAX, PROPOSE_TIMER, Payload, Pos, PosMessage, Proposal, SLOT_TIMER, State, VOTES_MAX,
    Vote, VoteData, forget, genesis_time, proposal::reveal_hash, rules::mixed, tree::state_in, votes::Counting,
};
use crate::{
    chain::Block,
    consensus::{
        BlockId, BuildRequest, Deadline, Effect, Message, Recipients, Signer, TimerId,
        intake::BlockIntake,
        mutation::{self, Mutation},
    },
    primitives::Timestamp,
};

/// Delay of a proposal after its slot began. Slots that passed unseen, in a crash for instance, are processed in
/// no time, without proposals.
const PROPOSE_NANOS: u64 = 1_000_000;

impl Pos {
    pub(super) fn start(&mut self, effects: &mut Vec<Effect>) {
        if self.has_timers() {
            self.arm_slot(effects);
        } else {
            self.attest(effects);
            self.plan(effects);
        }
    }

    pub(super) fn on_timer(&mut self, timer: TimerId, effects: &mut Vec<Effect>) {
        match timer {
            SLOT_TIMER if self.has_timers() => self.tick(effects),
            PROPOSE_TIMER if self.has_timers() => self.propose(effects),
            ATTEST_TIMER if self.has_timers() => {
                self.is_late = true;
                self.update_head(effects);
                self.attest(effects);
            }
            _ => effects.push(Effect::Mark("pos/stale-answer")),
        }
    }

    fn arm_slot(&self, effects: &mut Vec<Effect>) {
        let timestamp = self.config.time_of(genesis_time(&self.tree), self.slot + 1);
        let deadline = Deadline::AtTimestamp { timestamp, then_nanos: 0 };
        effects.push(Effect::ArmTimer { timer: SLOT_TIMER, deadline });
    }

    /// The next slot begins.
    fn tick(&mut self, effects: &mut Vec<Effect>) {
        let before = (self.tree.root(), self.tree.justified, self.tree.finalized);
        self.turn_to(self.slot + 1);
        self.arm_slot(effects);
        let after = |nanos| Deadline::After { nanos };
        effects.push(Effect::ArmTimer { timer: PROPOSE_TIMER, deadline: after(PROPOSE_NANOS) });
        let third = self.config.period.saturating_mul(1_000_000_000) / 3;
        effects.push(Effect::ArmTimer { timer: ATTEST_TIMER, deadline: after(third) });
        let moved = self.tree.choose(&self.config, self.slot);
        self.publish_changes(before, moved, Vec::new(), effects);
        self.release_early(effects);
        self.resend_vote(effects);
        self.fetch_again(effects);
    }

    /// Moves to a later slot (`on_tick`).
    pub(super) fn turn_to(&mut self, slot: u64) {
        let is_new_epoch = self.config.epoch_of(slot) > self.epoch();
        self.slot = slot;
        self.is_late = false;
        if !mutation::active(Mutation::PosBoostStays) {
            self.tree.forks.set_boost(None);
        }
        self.count_fresh();
        if is_new_epoch {
            self.tree.pull_up(&self.config);
            self.forget_old_votes();
            let oldest = self.config.start_of(self.epoch().saturating_sub(1));
            forget(&mut self.waiting, |(_, at), _| *at < oldest);
        }
    }

    /// Votes, once an epoch, from its duty's slot on.
    pub(super) fn attest(&mut self, effects: &mut Vec<Effect>) {
        let Some(signer) = self.signer.clone() else { return };
        let Some(node) = self.tree.head_node().cloned() else { return };
        // Without a clock it is the slot of the block that is attested.
        let slot = if self.has_timers() { self.slot } else { node.context.state.slot };
        let epoch = self.config.epoch_of(slot);
        let state = state_in(&self.config, &node.context.state, epoch);
        let duty = state.current.attestation_slot(&self.config, &signer.address());
        if duty.is_none_or(|duty| slot < duty) || node.context.state.slot > slot {
            return;
        }
        let (source, target) = (state.casper.justified, state.checkpoints[1]);
        let is_careless = mutation::active(Mutation::PosVotesEachSlot);
        if self.promises.vote.as_ref().is_some_and(|vote| vote.data.target.epoch >= epoch) && !is_careless {
            return;
        }
        if !self.promises.allows_vote(source.epoch, epoch) && !is_careless {
            return effects.push(Effect::Mark("pos/refuse-surround"));
        }
        let data = VoteData { slot, head: node.context.block, source, target };
        let vote = Vote::signed(data, &signer);
        self.promises.vote = Some(vote.clone());
        let ticket = self.promise(effects);
        self.count(
            signer.address(),
            Arc::new(vote.clone()),
            if self.has_timers() { Counting::AfterItsSlot } else { Counting::Now },
            effects,
        );
        effects.push(Effect::Send { to: Recipients::Others, message: vote.into(), after: Some(ticket) });
    }

    /// Rebroadcasts its newest vote when no block of the head's branch has it after a while.
    fn resend_vote(&self, effects: &mut Vec<Effect>) {
        let (Some(signer), Some(vote), Some(state)) = (&self.signer, &self.promises.vote, self.head_state()) else {
            return;
        };
        let epoch = vote.data.target.epoch;
        if self.slot > vote.data.slot + 1 && epoch + 1 >= self.epoch() && !state.has_vote(&signer.address(), epoch) {
            effects.push(Effect::Mark("pos/resend"));
            let message = Message::Pos(Arc::new(PosMessage::Vote(vote.clone())));
            effects.push(Effect::Send { to: Recipients::Others, message, after: self.promised });
        }
    }

    /// Requests a block when this slot is its own.
    fn propose(&mut self, effects: &mut Vec<Effect>) {
        self.update_head(effects);
        let Some(signer) = self.signer.clone() else { return };
        let Some(node) = self.tree.head_node().cloned() else { return };
        if node.context.state.slot >= self.slot {
            return;
        }
        let state = state_in(&self.config, &node.context.state, self.epoch());
        if state.current.proposer(&self.config, self.slot) == Some(signer.address()) {
            self.request_block(&signer, self.slot, effects);
        }
    }

    /// On demand: requests a block in the next slot that is its own.
    pub(super) fn plan(&mut self, effects: &mut Vec<Effect>) {
        let Some(signer) = self.signer.clone() else { return };
        let Some(slot) = self.next_own_slot(&signer) else {
            if self.duty != Duty::Idle {
                self.duty = Duty::Idle;
                effects.push(Effect::CancelBuild);
            }
            return;
        };
        self.request_block(&signer, slot, effects);
    }

    /// Returns its first slot after the head's, within the reach of a block.
    fn next_own_slot(&self, signer: &Signer) -> Option<u64> {
        let mut state = self.head_context()?.state.clone();
        let (first, last) = (state.slot + 1, state.slot.saturating_add(self.config.reach()));
        let mut epoch = state.epoch();
        loop {
            let (start, end) = (self.config.start_of(epoch), self.config.start_of(epoch + 1));
            let mut slots = start.max(first)..end.min(last + 1);
            let own = slots.find(|slot| state.current.proposer(&self.config, *slot) == Some(signer.address()));
            if own.is_some() || end > last || !state.is_validator_soon(&signer.address()) {
                return own;
            }
            epoch += 1;
            state = state_in(&self.config, &state, epoch);
        }
    }

    fn request_block(&mut self, signer: &Signer, slot: u64, effects: &mut Vec<Effect>) {
        if !self.promises.allows_block(slot) {
            return effects.push(Effect::Mark("pos/refuse-double-proposal"));
        }
        let Some(node) = self.tree.head_node().cloned() else { return };
        let (mut state, penalties) = node.context.state.advanced(&self.config, slot);
        let reveal = signer.sign(reveal_hash(state.epoch()));
        let mix_hash = mixed(&self.authenticator, state.mix, &reveal);
        let accounting = state.apply_epoch(penalties, None);
        let payload = Payload {
            slot,
            reveal,
            votes: self.packed_votes(&state),
            offences: self.packed_offences(&state),
            absent: state.stake.absent.clone(),
            accounting,
        };
        let ticket = self.next_ticket.take_next();
        let parent = node.context.block;
        self.duty = Duty::Building { ticket, slot, parent };
        let timestamp_min =
            if self.has_timers() { self.config.time_of(state.genesis_time, slot) } else { node.context.timestamp };
        effects.push(Effect::Build(BuildRequest {
            ticket,
            parent,
            beneficiary: signer.address(),
            difficulty: 0,
            timestamp_min,
            mix_hash,
            payload: payload.encoded(),
        }));
    }

    /// Votes that the branch has not counted yet.
    fn packed_votes(&self, state: &State) -> Vec<Vote> {
        let counts = |signer, vote: &Vote| state.check_vote(&self.config, vote, signer).is_ok();
        let fitting = self.votes.iter().filter(|((signer, _), vote)| counts(signer, vote));
        let mut votes: Vec<_> = fitting.map(|(_, vote)| vote.as_ref().clone()).take(VOTES_MAX).collect();
        votes.sort();
        votes
    }

    fn packed_offences(&self, state: &State) -> Vec<super::Offence> {
        let due = self.offences.iter().filter(|(offender, offence)| state.is_due(&self.config, offence, offender));
        let mut offences: Vec<_> = due.map(|(_, offence)| offence.as_ref().clone()).take(OFFENCES_MAX).collect();
        offences.sort();
        offences
    }

    pub(super) fn on_built(&mut self, ticket: crate::consensus::Ticket, block: Arc<Block>, effects: &mut Vec<Effect>) {
        let Duty::Building { ticket: asked, slot, parent } = self.duty else {
            return effects.push(Effect::Mark("pos/stale-build"));
        };
        let Some(signer) = self.signer.clone().filter(|_| asked == ticket) else {
            return effects.push(Effect::Mark("pos/stale-build"));
        };
        // A block that was built too late is not sealed: its slot is over.
        let is_in_time = !self.has_timers() || (slot == self.slot && self.is_within(slot, block.timestamp()));
        if BlockId::parent_of(&block) != parent || !is_in_time || !self.promises.allows_block(slot) {
            self.duty = Duty::Idle;
            return effects.push(Effect::Mark("pos/stale-build"));
        }
        let id = BlockId::of(&block);
        let seal = Proposal::signed(slot, id, &signer).signature;
        let sealed = Arc::new(Arc::unwrap_or_clone(block).with_seal(seal));
        let record = self.next_ticket;
        let mut after = Vec::new();
        match self.admit(None, sealed, Some(record), &mut after) {
            Ok(()) => {
                self.promises.proposed = Some(slot);
                self.duty = Duty::Idle;
                self.promise(effects);
                effects.append(&mut after);
            }
            Err(rejection) => effects.push(Effect::Reject(rejection)),
        }
    }

    fn is_within(&self, slot: u64, time: Timestamp) -> bool {
        let genesis = genesis_time(&self.tree);
        self.config.time_of(genesis, slot) <= time && time < self.config.time_of(genesis, slot + 1)
    }

    /// Persists the promises that this validator may not contradict.
    fn promise(&mut self, effects: &mut Vec<Effect>) -> crate::consensus::Ticket {
        let ticket = self.next_ticket.take_next();
        self.promised = Some(ticket);
        effects.push(Effect::Persist { ticket, records: vec![self.promises.record()] });
        ticket
    }
}
