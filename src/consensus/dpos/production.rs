//! Making blocks: when, on what, and how much of the branch to confirm.

use std::sync::Arc;

use super::{Dpos, Draft, Election, Lock, Offence, Payload, Promise, SLOT_TIMER, schedule::Schedule};
use crate::{
    chain::Block,
    consensus::{
        BlockId, BuildRequest, Deadline, Effect, Encoder, Signer, Ticket,
        intake::BlockIntake,
        mutation::{self, Mutation},
    },
    primitives::{B256, Height},
};

use super::EVIDENCE_PER_BLOCK_MAX;

/// What this replica is doing about its next slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Duty {
    /// Nothing: no producer, or its block is being judged.
    Idle,
    /// The timer runs until the slot begins.
    Waiting { slot: u64 },
    /// A block was asked for.
    Building { ticket: Ticket, slot: u64 },
}

impl Duty {
    pub(super) fn encode(&self, out: &mut Encoder) {
        let (kind, ticket, slot) = match *self {
            Self::Idle => (0, Ticket::default(), 0),
            Self::Waiting { slot } => (1, Ticket::default(), slot),
            Self::Building { ticket, slot } => (2, ticket, slot),
        };
        out.u8(kind);
        out.u64(ticket.get());
        out.u64(slot);
    }
}

impl Dpos {
    /// Decides anew what to do about the next slot of its own.
    pub(super) fn plan(&mut self, effects: &mut Vec<Effect>) {
        let next = self.next_slot();
        match (self.duty, next) {
            // Slots begin at the same time on every branch.
            (Duty::Waiting { slot }, Some(next)) if slot == next => return,
            (Duty::Waiting { .. }, _) => effects.push(Effect::DisarmTimer(SLOT_TIMER)),
            (Duty::Building { .. }, _) => effects.push(Effect::CancelBuild),
            (Duty::Idle, _) => {}
        }
        self.duty = Duty::Idle;
        let Some(slot) = next else { return };
        if self.config.period == 0 {
            return self.ask_for_block(slot, effects);
        }
        let head = &self.tree.head().link;
        let timestamp = self.config.time_of(slot, (head.slot, head.timestamp));
        self.duty = Duty::Waiting { slot };
        let deadline = Deadline::AtTimestamp { timestamp, then_nanos: 0 };
        effects.push(Effect::ArmTimer { timer: SLOT_TIMER, deadline });
    }

    /// The first slot above the head that it may take; on demand, only the very next one.
    fn next_slot(&self) -> Option<u64> {
        let head = &self.tree.head().link;
        let place = self.place(head.state.active())?;
        let next = head.slot.saturating_add(1);
        let taken = if mutation::active(Mutation::DposSlotTwice) { 0 } else { self.promise.slot };
        if self.config.period == 0 {
            let is_own = next > taken && head.state.active().is_turn(place, next, &self.config);
            return is_own.then_some(next);
        }
        let from = next.max(taken.saturating_add(1)).max(self.passed.saturating_add(1));
        head.state.active().next_turn(place, from, &self.config)
    }

    fn place(&self, schedule: &Schedule) -> Option<usize> {
        schedule.producers().index_of(&self.signer.as_ref()?.address())
    }

    pub(super) fn on_slot(&mut self, effects: &mut Vec<Effect>) {
        let Duty::Waiting { slot } = self.duty else {
            return effects.push(Effect::Mark("dpos/stale-answer"));
        };
        self.duty = Duty::Idle;
        self.ask_for_block(slot, effects);
    }

    fn ask_for_block(&mut self, slot: u64, effects: &mut Vec<Effect>) {
        let head = self.tree.head().clone();
        let link = &head.link;
        let (Some(beneficiary), Some(place)) =
            (self.signer.as_ref().map(Signer::address), self.place(link.state.active()))
        else {
            return;
        };
        let timestamp = self.config.time_of(slot, (link.slot, link.timestamp));
        let confirmed = self.confirmable(place, effects);
        let (offences, evidence): (Vec<_>, Vec<_>) = self.untold(slot).into_iter().unzip();
        let draft = Draft { slot, place, confirmed, offences: &offences };
        let says = match link.extend(&self.config, &draft, Election::Counted) {
            Ok((_, says)) => says,
            Err(_) => return effects.push(Effect::Mark("dpos/nothing-to-say")),
        };
        let (absent, proposes, activates) = (says.absent, says.proposes, says.activates);
        let ticket = self.next_ticket.take_next();
        self.duty = Duty::Building { ticket, slot };
        effects.push(Effect::Build(BuildRequest {
            ticket,
            parent: link.block,
            beneficiary,
            difficulty: 0,
            timestamp_min: timestamp,
            mix_hash: B256::ZERO,
            payload: Payload { confirmed, absent, proposes, activates, evidence }.encoded(),
        }));
    }

    /// How much of the head's branch the next block confirms: all that this producer never confirmed, on any branch; nothing
    /// while a lock stands against the branch.
    fn confirmable(&self, place: usize, effects: &mut Vec<Effect>) -> u16 {
        let head = self.tree.head();
        let progress = head.link.state.progress();
        if self.is_locked_out() {
            effects.push(Effect::Mark("dpos/locked-out"));
            return 0;
        }
        let watermark =
            if mutation::active(Mutation::DposConfirmsTwice) { Height::default() } else { self.promise.confirmed };
        if watermark > progress.height() {
            effects.push(Effect::Mark("dpos/below-watermark"));
        }
        progress.confirmable(place, watermark)
    }

    /// Whether it implied a block that the head's branch does not have, and nothing there outweighs that.
    fn is_locked_out(&self) -> bool {
        let Some(Lock { block, at }) = self.promise.lock else { return false };
        let head = self.tree.head();
        let is_ignored = mutation::active(Mutation::DposLockIgnored) || mutation::active(Mutation::DposClassic);
        let is_released = is_ignored || head.link.state.progress().proposed() > at;
        !is_released && !self.tree.has_ancestor(head, block)
    }

    /// Double productions that the head's branch was not told of, as a block at `slot` may tell them.
    fn untold(&self, slot: u64) -> Vec<(Offence, super::DoubleProduction)> {
        let link = &self.tree.head().link;
        let at = (slot, self.config.time_of(slot, (link.slot, link.timestamp)));
        let known = self.offences.values().filter_map(|proof| {
            let offence = proof.check(&self.config, at, &self.authenticator).ok()?;
            let is_producer = link.state.active().producers().contains(&offence.offender);
            (is_producer && !link.state.was_told(&offence)).then(|| (offence, proof.as_ref().clone()))
        });
        known.take(EVIDENCE_PER_BLOCK_MAX).collect()
    }

    pub(super) fn on_built(&mut self, ticket: Ticket, block: Arc<Block>, effects: &mut Vec<Effect>) {
        let head = self.tree.head().clone();
        let (Duty::Building { ticket: asked, slot }, Some(signer)) = (self.duty, &self.signer) else {
            return effects.push(Effect::Mark("dpos/stale-build"));
        };
        if asked != ticket || BlockId::parent_of(&block) != head.link.block {
            return effects.push(Effect::Mark("dpos/stale-build"));
        }
        let from = (head.link.slot, head.link.timestamp);
        if self.config.period > 0 && block.timestamp() != self.config.time_of(slot, from) {
            // The slot has passed; the block's time tells how long ago.
            let late = block.timestamp().as_secs().saturating_sub(from.1.as_secs()) / self.config.period;
            self.passed = self.passed.max(from.0.saturating_add(late)).max(slot);
            self.duty = Duty::Idle;
            effects.push(Effect::Mark("dpos/late"));
            return self.plan(effects);
        }
        let seal = signer.sign(block.hash());
        let (id, sealed) = (BlockId::of(&block), Arc::new(Arc::unwrap_or_clone(block).with_seal(seal)));
        let record = self.next_ticket;
        match self.admit(None, sealed, Some(record), effects) {
            Ok(()) => {
                let ticket = self.next_ticket.take_next();
                self.promise = self.promise_of(id, slot);
                effects.push(Effect::Persist { ticket, records: vec![self.promise.record()] });
                self.duty = Duty::Idle;
            }
            Err(rejection) => effects.push(Effect::Reject(rejection)),
        }
    }

    /// What its own block, which is being judged, binds it to.
    fn promise_of(&self, block: BlockId, slot: u64) -> Promise {
        let kept = Promise { slot, ..self.promise };
        let Some(judging) = self.intake.pending.get(&block) else { return kept };
        let confirms = Payload::decode(judging.block.payload()).is_ok_and(|payload| payload.confirmed > 0);
        if !confirms {
            return kept;
        }
        let head = self.tree.head();
        let implied = self.tree.ancestor_at(head, head.link.state.progress().proposed());
        let lock = implied.map_or(self.promise.lock, |implied| Some(Lock { block: implied, at: block.height }));
        Promise { slot, confirmed: block.height, lock }
    }
}
