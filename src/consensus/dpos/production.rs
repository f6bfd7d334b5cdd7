//! Block production: slots, block requests, and the range to confirm.

use std::sync::Arc;

use super::{
    BlockInputs, Confirmation, Dpos, Election, Infraction, NothingToConfirm, Payload, SLOT_TIMER, SafetyState,
    schedule::Schedule,
};
use crate::{
    chain::Block,
    consensus::{
        BlockId, BuildRequest, Deadline, Effect, Encoder, Purpose, Signer, Ticket,
        intake::BlockIntake,
        mutation::{self, Mutation},
        slot_clock::SlotClock,
    },
    primitives::{B256, Timestamp},
};

use super::EVIDENCE_PER_BLOCK_MAX;

/// The state of this replica's production in its next slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Production {
    /// The replica is not a producer, or its block is pending execution.
    Idle,
    /// The timer is armed for the start of the slot.
    Scheduled { slot: u64, begins: Timestamp },
    /// A block was requested.
    Building { ticket: Ticket, slot: u64 },
}

impl Production {
    pub(super) fn encode(&self, out: &mut Encoder) {
        let (kind, ticket, slot) = match *self {
            Self::Idle => (0, Ticket::default(), 0),
            // The timer's time, which the slot's number does not tell when branches count unlike.
            Self::Scheduled { slot, begins } => {
                out.timestamp(begins);
                (1, Ticket::default(), slot)
            }
            Self::Building { ticket, slot } => (2, ticket, slot),
        };
        out.u8(kind);
        out.u64(ticket.get());
        out.u64(slot);
    }
}

impl Dpos {
    /// Schedules production in this replica's next slot.
    pub(super) fn plan(&mut self, effects: &mut Vec<Effect>) {
        let head = &self.tree.head().context;
        let time_of = |slot| head.config(&self.config).time_of(slot, (head.slot, head.timestamp));
        let next = self.next_slot().map(|slot| (slot, time_of(slot)));
        match (self.production, next) {
            // Branches may number slots unlike.
            (Production::Scheduled { slot, begins }, Some(next)) if (slot, begins) == next => return,
            (Production::Scheduled { .. }, _) => effects.push(Effect::DisarmTimer(SLOT_TIMER)),
            (Production::Building { .. }, _) => effects.push(Effect::CancelBuild),
            (Production::Idle, _) => {}
        }
        self.production = Production::Idle;
        let Some((slot, timestamp)) = next else { return };
        if self.config.period == 0 {
            return self.request_block(slot, effects);
        }
        self.production = Production::Scheduled { slot, begins: timestamp };
        let deadline = Deadline::AtTimestamp { timestamp, then_nanos: 0 };
        effects.push(Effect::ArmTimer { timer: SLOT_TIMER, deadline });
    }

    /// Returns the first slot after the head's in which this replica may produce; on demand, only the slot right after it.
    fn next_slot(&self) -> Option<u64> {
        let head = &self.tree.head().context;
        let place = self.place(head.state.active())?;
        let next = head.slot.saturating_add(1);
        let config = head.config(&self.config);
        let (clock, genesis) = (config.slot_clock(), SlotClock::at_genesis(self.config.period));
        let last_produced =
            if mutation::active(Mutation::DposSlotTwice) { 0 } else { self.safety_state.slot_on(clock, genesis) };
        if config.period == 0 {
            let is_own = next > last_produced && head.state.active().is_turn(place, next, &config);
            return is_own.then_some(next);
        }
        let elapsed = match mutation::active(Mutation::DposLateByNumber) {
            true => genesis.slot_begun(self.elapsed),
            false => config.slot_begun(self.elapsed, (head.slot, head.timestamp)),
        };
        let from = next.max(last_produced.saturating_add(1)).max(elapsed.saturating_add(1));
        head.state.active().next_turn(place, from, &config)
    }

    fn place(&self, schedule: &Schedule) -> Option<usize> {
        schedule.producers().index_of(&self.signer.as_ref()?.address())
    }

    pub(super) fn on_slot(&mut self, effects: &mut Vec<Effect>) {
        let Production::Scheduled { slot, .. } = self.production else {
            return effects.push(Effect::Mark("dpos/stale-answer"));
        };
        self.production = Production::Idle;
        self.request_block(slot, effects);
    }

    fn request_block(&mut self, slot: u64, effects: &mut Vec<Effect>) {
        let head = self.tree.head().clone();
        let context = &head.context;
        let (Some(beneficiary), Some(place)) =
            (self.signer.as_ref().map(Signer::address), self.place(context.state.active()))
        else {
            return;
        };
        let config = context.config(&self.config);
        let timestamp = config.time_of(slot, (context.slot, context.timestamp));
        let vote = self.vote(place, effects);
        let (offences, evidence): (Vec<_>, Vec<_>) = self.unreported(slot).into_iter().unzip();
        let confirmed = vote.map_or(0, |vote| vote.confirmed);
        let inputs = BlockInputs { slot, place, confirmed, offences: &offences };
        let derived = match context.extend(&config, &inputs, Election::Counted) {
            Ok((_, derived)) => derived,
            Err(_) => return effects.push(Effect::Mark("dpos/nothing-to-say")),
        };
        let (absent, proposes, activates) = (derived.absent, derived.proposes, derived.activates);
        let ticket = self.next_ticket.take_next();
        self.production = Production::Building { ticket, slot };
        effects.push(Effect::Build(BuildRequest {
            ticket,
            parent: context.block,
            beneficiary,
            difficulty: 0,
            timestamp_min: timestamp,
            mix_hash: B256::ZERO,
            nonce: vote.and_then(|vote| vote.nonce(context.block.height.next())).unwrap_or_default(),
            payload: Payload { absent, proposes, activates, evidence }.encoded(),
        }));
    }

    /// Returns the vote of the next block, if it may confirm something.
    fn vote(&self, place: usize, effects: &mut Vec<Effect>) -> Option<Confirmation> {
        let head = self.tree.head();
        let (progress, version) = (head.context.state.progress(), head.context.state.active().version());
        if mutation::active(Mutation::DposImpliedForEver) && self.is_locked_to_a_block() {
            return None;
        }
        let mark = match self.safety_state.vote(place, progress, version) {
            Ok(vote) => return Some(vote),
            Err(NothingToConfirm::Locked) => "dpos/locked-out",
            Err(NothingToConfirm::Confirmed) => "dpos/below-watermark",
            Err(NothingToConfirm::NoRoom) => "dpos/no-room",
        };
        effects.push(Effect::Mark(mark));
        None
    }

    /// The lock before a vote needed a run of confirmations: on the block that this producer's newest vote implied, until the
    /// head's branch has prepared more than the height of that vote.
    fn is_locked_to_a_block(&self) -> bool {
        let SafetyState { confirmed, lock, .. } = self.safety_state;
        let head = self.tree.head();
        let own = self.signer.as_ref().and_then(|signer| self.tree.confirming_block(signer.address(), confirmed));
        let implied = own.and_then(|own| self.tree.ancestor_at(own, lock.height));
        let is_released = head.context.state.progress().prepared() > confirmed;
        !is_released && implied.is_some_and(|implied| !self.tree.has_ancestor(head, implied))
    }

    /// Returns the infractions that a block at `slot` may report on the head's branch.
    pub(super) fn unreported(&self, slot: u64) -> Vec<(Infraction, super::ConflictingBlocks)> {
        let context = &self.tree.head().context;
        let config = context.config(&self.config);
        let at = (slot, config.time_of(slot, (context.slot, context.timestamp)));
        let known = self.offences.values().filter_map(|proof| {
            let offence = proof.check(&config, at, &self.authenticator).ok()?;
            let is_in_office = || context.state.active().producers().contains(&offence.offender);
            let is_forgotten = mutation::active(Mutation::DposReportsProducersOnly) && !is_in_office();
            let is_accountable = context.is_accountable(&config, &offence.offender) && !is_forgotten;
            (is_accountable && !context.state.is_reported(&offence)).then(|| (offence, proof.as_ref().clone()))
        });
        known.take(EVIDENCE_PER_BLOCK_MAX).collect()
    }

    pub(super) fn on_built(&mut self, ticket: Ticket, block: Arc<Block>, effects: &mut Vec<Effect>) {
        let head = self.tree.head().clone();
        let (Production::Building { ticket: requested, slot }, Some(signer)) = (self.production, &self.signer) else {
            return effects.push(Effect::Mark("dpos/stale-build"));
        };
        if requested != ticket || BlockId::parent_of(&block) != head.context.block {
            return effects.push(Effect::Mark("dpos/stale-build"));
        }
        let from = (head.context.slot, head.context.timestamp);
        let config = head.context.config(&self.config);
        if config.period > 0 && block.timestamp() != config.time_of(slot, from) {
            // The slot is over; the block's timestamp shows since when.
            self.elapsed = self.elapsed.max(block.timestamp()).max(config.time_of(slot, from));
            self.production = Production::Idle;
            effects.push(Effect::Mark("dpos/late"));
            return self.plan(effects);
        }
        let seal = signer.sign(Purpose::Block, block.hash());
        let (id, sealed) = (BlockId::of(&block), Arc::new(Arc::unwrap_or_clone(block).with_seal(seal)));
        let record = self.next_ticket;
        match self.admit(None, sealed, Some(record), effects) {
            Ok(()) => {
                let ticket = self.next_ticket.take_next();
                self.safety_state = self.safety_state_after(id, slot);
                effects.push(Effect::Persist { ticket, records: vec![self.safety_state.record()] });
                self.production = Production::Idle;
            }
            Err(rejection) => effects.push(Effect::Reject(rejection)),
        }
    }

    /// Returns the safety state after sealing this pending block.
    fn safety_state_after(&self, block: BlockId, slot: u64) -> SafetyState {
        let pending = self.intake.pending.get(&block);
        let vote = pending.and_then(|pending| Confirmation::of_header(pending.block.header()).ok().flatten());
        let clock = self.tree.head().context.in_force.as_ref().map(|in_force| in_force.clock);
        self.safety_state.after(slot, clock.map(|clock| clock.time_of(slot)), block.height, vote)
    }
}
