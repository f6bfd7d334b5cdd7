//! Making blocks: when it is whose turn, what they say, and saying them again when nobody seems to have heard.

use std::sync::Arc;

use super::{ANNOUNCE_TIMER, Duty, Link, Payload, Poa, SEAL_TIMER, Vote, record, rules};
use crate::{
    chain::Block,
    consensus::{BlockId, BuildRequest, Deadline, Effect, Message, Recipients, Signer, Ticket, intake::BlockIntake},
    primitives::{Address, B256},
};

impl Poa {
    /// Decides anew what to do about the block after the head (EIP-225, "Authorization strategies").
    pub(super) fn plan(&mut self, effects: &mut Vec<Effect>) {
        self.watch(effects);
        match self.duty {
            Duty::Waiting => effects.push(Effect::DisarmTimer(SEAL_TIMER)),
            Duty::Building(_) => effects.push(Effect::CancelBuild),
            Duty::Idle | Duty::Drawing(_) => {}
        }
        self.duty = Duty::Idle;
        let Some(signer) = self.signer.as_ref().map(Signer::address) else { return };
        let link = &self.tree.head().link;
        let height = link.block.height.next();
        if link.snapshot.may_sign(height, &signer).is_err() {
            return;
        }
        if self.signed.is_some_and(|signed| signed.height >= height) {
            return effects.push(Effect::Mark("poa/refuse-double-sign"));
        }
        if self.config.period == 0 {
            self.ask_for_block(effects);
        } else if link.snapshot.is_in_turn(height, &signer) {
            self.wait(0, effects);
        } else {
            let (bound, ticket) =
                (self.config.wiggle_nanos(link.snapshot.signers().len()), self.next_ticket.take_next());
            self.duty = Duty::Drawing(ticket);
            effects.push(Effect::Draw { ticket, bound });
        }
    }

    /// Signers that were cut off from each other may all have to wait for others' blocks when they are connected again, and
    /// then nobody says anything: so each says its head again, whoever made it, when none came for twice the longest wait.
    fn watch(&self, effects: &mut Vec<Effect>) {
        if self.config.period > 0 && self.signer.is_some() {
            let longest = self.config.wiggle_nanos(self.snapshot().signers().len());
            let nanos = self.config.period.saturating_mul(1_000_000_000).saturating_add(longest).saturating_mul(2);
            effects.push(Effect::ArmTimer { timer: ANNOUNCE_TIMER, deadline: Deadline::After { nanos } });
        }
    }

    /// Says the blocks again that it had sealed and does not find in the chain: when everybody comes back at once, some of
    /// them ahead of the chain that was kept, nobody else has them, and whoever sealed may not seal other blocks in their
    /// place.
    pub(super) fn say_sealed_again(&mut self, effects: &mut Vec<Effect>) {
        let settled = self.tree.settled().height;
        let is_lost = |block: &Arc<Block>| block.height() > settled && self.tree.get(&BlockId::of(block)).is_none();
        let (lost, found): (Vec<_>, Vec<_>) = core::mem::take(&mut self.sealed).into_iter().partition(is_lost);
        let newest = self.signed.map(|block| block.height);
        let of_no_use = found.iter().map(|block| block.height()).filter(|height| Some(*height) != newest);
        let records: Vec<_> = of_no_use.map(record::no_sealed).collect();
        if !records.is_empty() {
            let ticket = self.next_ticket.take_next();
            effects.push(Effect::Persist { ticket, records });
        }
        self.sealed.clone_from(&lost);
        for block in lost {
            let message = Message::Block(block.clone());
            effects.push(Effect::Send { to: Recipients::Others, message, after: None });
            effects.push(Effect::Mark("poa/say-sealed-again"));
            self.on_block(None, block, effects);
        }
    }

    pub(super) fn announce_again(&mut self, effects: &mut Vec<Effect>) {
        if let Some(block) = &self.newest {
            let message = Message::Block(block.clone());
            effects.push(Effect::Send { to: Recipients::Others, message, after: None });
            effects.push(Effect::Mark("poa/announce-again"));
        }
        self.say_sealed_again(effects);
        self.watch(effects);
    }

    /// Waits for the time of the next block and `then_nanos` more.
    pub(super) fn wait(&mut self, then_nanos: u64, effects: &mut Vec<Effect>) {
        let timestamp = self.config.earliest_after(self.tree.head().link.timestamp);
        self.duty = Duty::Waiting;
        let deadline = Deadline::AtTimestamp { timestamp, then_nanos };
        effects.push(Effect::ArmTimer { timer: SEAL_TIMER, deadline });
    }

    pub(super) fn ask_for_block(&mut self, effects: &mut Vec<Effect>) {
        let Some(beneficiary) = self.signer.as_ref().map(Signer::address) else { return };
        let ticket = self.next_ticket.take_next();
        let link = &self.tree.head().link;
        let height = link.block.height.next();
        self.duty = Duty::Building(ticket);
        effects.push(Effect::Build(BuildRequest {
            ticket,
            parent: link.block,
            beneficiary,
            difficulty: link.snapshot.difficulty(height, &beneficiary),
            timestamp_min: self.config.earliest_after(link.timestamp),
            mix_hash: B256::ZERO,
            payload: self.payload(link, beneficiary).encoded(),
        }));
    }

    /// What the next block says: the signers at a checkpoint, otherwise one of the operator's wishes, each in its turn.
    fn payload(&self, link: &Link, signer: Address) -> Payload {
        let height = link.block.height.next();
        if height.get().is_multiple_of(self.config.epoch) {
            return Payload::checkpoint(link.snapshot.signers());
        }
        let wishes = self.wishes.iter().map(|(target, authorize)| Vote { target: *target, authorize: *authorize });
        let meaningful: Vec<_> = wishes.filter(|vote| link.snapshot.is_meaningful(*vote)).collect();
        let chosen = height.get().checked_rem(meaningful.len() as u64).unwrap_or_default();
        let mut payload = Payload { vote: meaningful.get(chosen as usize).copied(), ..Payload::default() };
        if let Ok(after) = link.snapshot.apply(height, signer, &payload, self.config.epoch) {
            payload.next_signers = rules::next_signers(&link.snapshot, &after);
        }
        payload
    }

    pub(super) fn on_built(&mut self, ticket: Ticket, block: Arc<Block>, effects: &mut Vec<Effect>) {
        let head = self.tree.head().link.block;
        let (Duty::Building(asked), Some(signer)) = (self.duty, &self.signer) else {
            return effects.push(Effect::Mark("poa/stale-build"));
        };
        if asked != ticket || BlockId::parent_of(&block) != head {
            return effects.push(Effect::Mark("poa/stale-build"));
        }
        let seal = signer.sign(block.hash());
        let sealed = Arc::new(Arc::unwrap_or_clone(block).with_seal(seal));
        let (record, id) = (self.next_ticket, BlockId::of(&sealed));
        let mut records = vec![record::signed(id)];
        if self.config.period > 0 {
            records.push(record::sealed(&sealed));
            records.extend(self.signed.map(|before| record::no_sealed(before.height)));
        }
        match self.admit(None, sealed, Some(record), effects) {
            Ok(()) => {
                let ticket = self.next_ticket.take_next();
                effects.push(Effect::Persist { ticket, records });
                self.signed = Some(id);
                self.duty = Duty::Idle;
            }
            Err(rejection) => effects.push(Effect::Reject(rejection)),
        }
    }
}
