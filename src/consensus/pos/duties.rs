//! Validator duties: slots, proposals, attestations.

use std::sync::Arc;

use super::{
    ATTEST_TIMER, OFFENCES_MAX, PROPOSE_TIMER, Payload, Pos, PosMessage, Production, Proposal, SLOT_TIMER, State,
    VOTES_MAX, Vote, VoteData, remove_old, reveal::mixed, tree::state_in, votes::Counting,
};
use crate::{
    chain::Block,
    consensus::{
        BlockId, BuildRequest, ConsensusMessage, Deadline, Effect, Recipients, Signer, TimerId,
        branch_tree::HeadMove,
        intake::BlockIntake,
        mutation::{self, Mutation},
    },
    primitives::{B64, Timestamp},
};

/// Delay of a proposal after the start of its slot, in nanoseconds. Slots that were missed, for instance in a crash, are
/// processed at once, without proposals.
const PROPOSE_NANOS: u64 = 1_000_000;
/// Most heads that are followed at once, each in a slot by the clock of the one before; the next slot chooses anew.
const HEADS_FOLLOWED_MAX: usize = 4;

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
            SLOT_TIMER if self.has_timers() => self.on_tick(effects),
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
        let timestamp = self.times.time_of(self.slot + 1);
        let deadline = Deadline::AtTimestamp { timestamp, then_nanos: 0 };
        effects.push(Effect::ArmTimer { timer: SLOT_TIMER, deadline });
    }

    /// Starts the next slot.
    fn on_tick(&mut self, effects: &mut Vec<Effect>) {
        let before = (self.tree.root(), self.tree.justified, self.tree.finalized);
        let epoch = self.epoch();
        self.advance_to_slot(self.slot + 1);
        if self.epoch() > epoch {
            self.follow_clock();
        }
        self.arm_slot(effects);
        let after = |nanos| Deadline::After { nanos };
        effects.push(Effect::ArmTimer { timer: PROPOSE_TIMER, deadline: after(PROPOSE_NANOS) });
        let third = self.times.period_at(self.slot).saturating_mul(1_000_000_000) / 3;
        effects.push(Effect::ArmTimer { timer: ATTEST_TIMER, deadline: after(third) });
        let moved = self.tree.choose(&self.config, self.slot);
        self.publish_changes(before, moved, Vec::new(), effects);
        if self.epoch() > epoch {
            self.show_head_to_those_behind(effects);
        }
        self.admit_future_blocks(effects);
        self.rebroadcast_vote(effects);
        self.retry_fetches(effects);
    }

    /// Counts the slots that are over while this replica did not run as missed, at once: the slot that has begun is the next one to start.
    /// While all stood still it was not away from the others.
    pub(super) fn resume(&mut self, now: Timestamp, stood_still_secs: u64, effects: &mut Vec<Effect>) {
        if !self.has_timers() {
            return;
        }
        let before = (self.tree.root(), self.tree.justified, self.tree.finalized);
        let mut last = self.times.slot_begun(now).saturating_sub(1);
        while last > self.slot {
            self.advance_to_slot(last);
            if !self.follow_clock() {
                break;
            }
            last = self.times.slot_begun(now).saturating_sub(1);
        }
        let Some(head) = self.head_context() else { return };
        let stood_still_secs = if mutation::active(Mutation::PosTakesSleepForAbsence) { 0 } else { stood_still_secs };
        let together = Timestamp::from_secs(head.timestamp.as_secs().saturating_add(stood_still_secs)).min(now);
        let epoch = self.config.epoch_of(self.times.slot_begun(together));
        self.active_epoch = self.active_epoch.max(epoch);
        let moved = self.tree.choose(&self.config, self.slot);
        self.publish_changes(before, moved, Vec::new(), effects);
    }

    /// Counts slots as the head's branch does, from the time of the current slot on. Returns whether the slot, or the time of the next
    /// one, is another then. What has happened meanwhile is at least the time of the current slot, so that the timer makes up for the
    /// rest.
    pub(super) fn follow_clock(&mut self) -> bool {
        let before = (self.slot, self.times.time_of(self.slot + 1));
        // A later slot may be in an epoch in which more is known.
        while let Some(state) = self.head_state()
            && let times = state.times_at(&self.config, self.slot)
            && times != self.times
        {
            let slot = times.slot_begun(self.times.time_of(self.slot));
            self.times = times;
            if slot > self.slot {
                self.advance_to_slot(slot);
            } else if slot < self.slot {
                self.slot = slot;
                self.tree.forks.set_boost(None);
            }
        }
        before != (self.slot, self.times.time_of(self.slot + 1))
    }

    /// Follows the clock of a head that has moved, and arms the timer by it. In another slot there may be another head. Returns the whole
    /// move, if any is left.
    pub(super) fn follow_head(&mut self, moved: HeadMove, effects: &mut Vec<Effect>) -> Option<HeadMove> {
        if !self.has_timers() || !self.follow_clock() {
            return Some(moved);
        }
        for _ in 0..HEADS_FOLLOWED_MAX {
            if self.tree.choose(&self.config, self.slot).is_none() || !self.follow_clock() {
                break;
            }
        }
        effects.push(Effect::Mark("pos/other-clock"));
        effects.push(Effect::DisarmTimer(SLOT_TIMER));
        self.arm_slot(effects);
        self.tree.head_move_from(moved.old)
    }

    /// Advances to a later slot (`on_tick` of the specifications).
    pub(super) fn advance_to_slot(&mut self, slot: u64) {
        let is_new_epoch = self.config.epoch_of(slot) > self.epoch();
        self.slot = slot;
        self.is_late = false;
        if !mutation::active(Mutation::PosBoostStays) {
            self.tree.forks.set_boost(None);
        }
        self.count_queued_votes();
        if is_new_epoch {
            self.tree.pull_up(&self.config);
            self.tree.expire_messages(self.epoch());
            self.remove_old_votes();
            let oldest = self.config.start_of(self.epoch().saturating_sub(1));
            remove_old(&mut self.unknown_block_votes, |(_, at), _| *at < oldest);
        }
    }

    /// Votes once an epoch, at or after the attestation slot.
    pub(super) fn attest(&mut self, effects: &mut Vec<Effect>) {
        let Some(signer) = self.signer.clone() else { return };
        let Some(node) = self.tree.head_node().cloned() else { return };
        // On demand it is the slot of the head.
        let slot = if self.has_timers() { self.slot } else { node.context.state.slot };
        let epoch = self.config.epoch_of(slot);
        let state = state_in(&self.config, &node.context.state, epoch);
        let assigned = state.current.attestation_slot(&self.config, &signer.address());
        if assigned.is_none_or(|assigned| slot < assigned) || node.context.state.slot > slot {
            return;
        }
        let (source, target) = (state.casper.justified, state.checkpoints[1]);
        let is_unprotected = mutation::active(Mutation::PosVotesEachSlot);
        if self.slashing_protection.vote.as_ref().is_some_and(|vote| vote.data.target.epoch >= epoch) && !is_unprotected
        {
            return;
        }
        if !self.slashing_protection.allows_vote(source.epoch, epoch) && !is_unprotected {
            return effects.push(Effect::Mark("pos/refuse-surround"));
        }
        let data = VoteData { slot, head: node.context.block, source, target };
        let vote = Vote::signed(data, &signer);
        self.slashing_protection.vote = Some(vote.clone());
        let ticket = self.persist_slashing_protection(effects);
        self.count(
            signer.address(),
            Arc::new(vote.clone()),
            if self.has_timers() {
                Counting::AfterItsSlot { ends: self.times.time_of(slot + 1) }
            } else {
                Counting::Now
            },
            effects,
        );
        effects.push(Effect::Send { to: Recipients::Others, message: vote.into(), after: Some(ticket) });
    }

    /// Rebroadcasts the newest vote when no block of the head's branch includes it one slot after the next.
    fn rebroadcast_vote(&self, effects: &mut Vec<Effect>) {
        let (Some(signer), Some(vote), Some(state)) = (&self.signer, &self.slashing_protection.vote, self.head_state())
        else {
            return;
        };
        let epoch = vote.data.target.epoch;
        if self.slot > vote.data.slot + 1 && epoch + 1 >= self.epoch() && !state.has_vote(&signer.address(), epoch) {
            effects.push(Effect::Mark("pos/resend"));
            let message = ConsensusMessage::Pos(Arc::new(PosMessage::Vote(vote.clone())));
            effects.push(Effect::Send { to: Recipients::Others, message, after: self.protection_ticket });
        }
    }

    /// Requests a block when this validator is the proposer of the current slot.
    fn propose(&mut self, effects: &mut Vec<Effect>) {
        self.withdraw_late_build(effects);
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

    /// Withdraws the request for a block whose slot is over: it would not be sealed, and finality may have passed its parent.
    fn withdraw_late_build(&mut self, effects: &mut Vec<Effect>) {
        if let Production::Building { slot, .. } = self.production
            && slot < self.slot
        {
            self.production = Production::Idle;
            effects.push(Effect::Mark("pos/late-build"));
            effects.push(Effect::CancelBuild);
        }
    }

    /// Requests on demand a block in the next slot of which this validator is the proposer.
    pub(super) fn plan(&mut self, effects: &mut Vec<Effect>) {
        let Some(signer) = self.signer.clone() else { return };
        let Some(slot) = self.next_own_slot(&signer) else {
            if self.production != Production::Idle {
                self.production = Production::Idle;
                effects.push(Effect::CancelBuild);
            }
            return;
        };
        self.request_block(&signer, slot, effects);
    }

    /// Returns the first slot after the head's with `signer` as proposer, up to [`PosConfig::last_slot_after`](super::PosConfig::last_slot_after).
    fn next_own_slot(&self, signer: &Signer) -> Option<u64> {
        let mut state = self.head_context()?.state.clone();
        let (first, last) = (state.slot + 1, self.config.last_slot_after(state.slot));
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
        if !self.slashing_protection.allows_block(slot) {
            return effects.push(Effect::Mark("pos/refuse-double-proposal"));
        }
        let Some(node) = self.tree.head_node().cloned() else { return };
        let (mut state, deltas) = node.context.state.advanced(&self.config, slot);
        let chain = state.reveal_chain(&signer.address());
        let reveal = self.own_reveals.reveal(&self.config, signer, &chain, slot);
        effects.extend(chain.mark_of(&reveal).map(Effect::Mark));
        let mix_hash = mixed(&self.authenticator, state.mix, reveal.element);
        let accounting = state.apply_epoch(deltas, None);
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
        self.production = Production::Building { ticket, slot, parent };
        let timestamp_min = if self.has_timers() { self.times.time_of(slot) } else { node.context.timestamp };
        effects.push(Effect::Build(BuildRequest {
            ticket,
            parent,
            beneficiary: signer.address(),
            difficulty: 0,
            timestamp_min,
            mix_hash,
            nonce: B64::ZERO,
            payload: payload.encoded(),
        }));
    }

    /// Returns votes for the next block: those that the branch has not counted yet.
    fn packed_votes(&self, state: &State) -> Vec<Vote> {
        let counts = |signer, vote: &Vote| state.check_vote(&self.config, vote, signer).is_ok();
        let countable = self.votes.iter().filter(|((signer, _), vote)| counts(signer, vote));
        let mut votes: Vec<_> = countable.map(|(_, vote)| vote.as_ref().clone()).take(VOTES_MAX).collect();
        votes.sort();
        votes
    }

    /// Returns offences for the next block: those that the branch has not punished yet.
    fn packed_offences(&self, state: &State) -> Vec<super::SlashingEvidence> {
        let due =
            self.offences.iter().filter(|(offender, offence)| state.check_due(&self.config, offence, offender).is_ok());
        let mut offences: Vec<_> = due.map(|(_, offence)| offence.as_ref().clone()).take(OFFENCES_MAX).collect();
        offences.sort();
        offences
    }

    pub(super) fn on_built(&mut self, ticket: crate::consensus::Ticket, block: Arc<Block>, effects: &mut Vec<Effect>) {
        let Production::Building { ticket: requested, slot, parent } = self.production else {
            return effects.push(Effect::Mark("pos/stale-build"));
        };
        let Some(signer) = self.signer.clone().filter(|_| requested == ticket) else {
            return effects.push(Effect::Mark("pos/stale-build"));
        };
        // A block whose slot is over is not sealed.
        let is_in_time = !self.has_timers() || (slot == self.slot && self.is_within(slot, block.timestamp()));
        if BlockId::parent_of(&block) != parent || !is_in_time || !self.slashing_protection.allows_block(slot) {
            self.production = Production::Idle;
            return effects.push(Effect::Mark("pos/stale-build"));
        }
        let id = BlockId::of(&block);
        let seal = Proposal::signed(slot, id, &signer).signature;
        let sealed = Arc::new(Arc::unwrap_or_clone(block).with_seal(seal));
        let record = self.next_ticket;
        let mut after = Vec::new();
        match self.admit(None, sealed, Some(record), &mut after) {
            Ok(()) => {
                self.slashing_protection.proposed = Some(slot);
                self.production = Production::Idle;
                self.persist_slashing_protection(effects);
                effects.append(&mut after);
            }
            Err(rejection) => effects.push(Effect::Reject(rejection)),
        }
    }

    /// Whether a time is within a slot, on the head's branch.
    pub(super) fn is_within(&self, slot: u64, time: Timestamp) -> bool {
        self.times.time_of(slot) <= time && time < self.times.time_of(slot + 1)
    }

    /// Persists the slashing protection before a message that depends on it is sent.
    fn persist_slashing_protection(&mut self, effects: &mut Vec<Effect>) -> crate::consensus::Ticket {
        let ticket = self.next_ticket.take_next();
        self.protection_ticket = Some(ticket);
        effects.push(Effect::Persist { ticket, records: vec![self.slashing_protection.record()] });
        ticket
    }
}
