//! Block production: turns, payloads, and rebroadcasting blocks after silence.

use std::sync::Arc;

use super::{ANNOUNCE_TIMER, HeaderContext, Payload, Poa, PoaConfig, Production, SEAL_TIMER, Vote, record, rules};
use crate::{
    chain::Block,
    consensus::{
        BlockId, BuildRequest, ConsensusMessage, Deadline, Effect, Purpose, Recipients, Signer, Ticket,
        intake::BlockIntake,
        mutation::{self, Mutation},
    },
    primitives::{Address, B64, B256},
};

impl Poa {
    /// Schedules the production of the block after the head (EIP-225, "Authorization strategies").
    pub(super) fn plan(&mut self, effects: &mut Vec<Effect>) {
        self.arm_announce_timer(effects);
        match self.production {
            Production::Scheduled => effects.push(Effect::DisarmTimer(SEAL_TIMER)),
            Production::Building(_) => effects.push(Effect::CancelBuild),
            Production::Idle | Production::DrawingDelay(_) => {}
        }
        self.production = Production::Idle;
        let Some(signer) = self.signer.as_ref().map(Signer::address) else { return };
        let context = &self.tree.head().context;
        let height = context.block.height.next();
        if context.snapshot.may_sign(height, &signer).is_err() {
            return;
        }
        if !self.may_extend_head() {
            return effects.push(Effect::Mark("poa/refuse-double-sign"));
        }
        if self.signed.is_some_and(|signed| signed.block.height >= height) {
            effects.push(Effect::Mark("poa/seal-height-again"));
        }
        if self.config.period == 0 {
            self.request_block(effects);
        } else if context.snapshot.is_in_turn(height, &signer) {
            self.schedule(0, effects);
        } else {
            let (bound, ticket) =
                (self.config.wiggle_nanos(context.snapshot.signers().len()), self.next_ticket.take_next());
            self.production = Production::DrawingDelay(ticket);
            effects.push(Effect::Draw { ticket, bound });
        }
    }

    /// Returns whether this signer may seal a block on the head: never two blocks on one parent, whatever crashes between.
    ///
    /// The head only moves to a branch that the fork choice prefers, so that it is, or beats, the newest block that this
    /// signer sealed. It does not after a crash that lost blocks: then the signer waits for those that it sealed, or for a
    /// heavier branch. Of every block that it sealed before, the parent is beaten by the head, and so is not the head. On
    /// another branch it may seal a height again, as Clique's signers do: without that, a split can leave a head that only
    /// those may extend who have sealed its next height on the branch that lost.
    fn may_extend_head(&self) -> bool {
        let head = self.tree.head();
        let id = head.context.block;
        if mutation::active(Mutation::PoaNeverSealsHeightAgain) {
            return self.signed.is_none_or(|signed| signed.block.height <= id.height);
        }
        let is_newest =
            self.signed.is_none_or(|signed| signed == head.fork_choice_key || head.fork_choice_key.beats(&signed));
        is_newest && !self.sealed.iter().any(|block| BlockId::parent_of(block) == id)
    }

    /// Returns the configuration by which the next block is made.
    fn config_at_head(&self) -> PoaConfig {
        self.config.with_parameters(&self.tree.head().context.parameters)
    }

    /// Arms the timer to rebroadcast the head when no block is received for twice the longest delay. After a partition all signers
    /// may be waiting for blocks of others, and none would send anything.
    fn arm_announce_timer(&self, effects: &mut Vec<Effect>) {
        if self.config.period > 0 && self.signer.is_some() {
            let longest = self.config.wiggle_nanos(self.snapshot().signers().len());
            let nanos =
                self.config_at_head().period.saturating_mul(1_000_000_000).saturating_add(longest).saturating_mul(2);
            effects.push(Effect::ArmTimer { timer: ANNOUNCE_TIMER, deadline: Deadline::After { nanos } });
        }
    }

    /// Rebroadcasts the sealed blocks that the chain does not have. When all replicas restart at once, some of them ahead of the
    /// stored chain, no other replica has these blocks, and their signers may not seal other blocks in their place.
    pub(super) fn rebroadcast_sealed(&mut self, effects: &mut Vec<Effect>) {
        let settled = self.tree.settled().height;
        let is_lost = |block: &Arc<Block>| block.height() > settled && self.tree.get(&BlockId::of(block)).is_none();
        let (lost, found): (Vec<_>, Vec<_>) = core::mem::take(&mut self.sealed).into_iter().partition(is_lost);
        let newest = self.signed.map(|signed| signed.block.height);
        let unneeded = found.iter().map(|block| block.height()).filter(|height| Some(*height) != newest);
        let records: Vec<_> = unneeded.map(record::no_sealed).collect();
        if !records.is_empty() {
            let ticket = self.next_ticket.take_next();
            effects.push(Effect::Persist { ticket, records });
        }
        self.sealed.clone_from(&lost);
        for block in lost {
            let message = ConsensusMessage::Block(block.clone());
            effects.push(Effect::Send { to: Recipients::Others, message, after: None });
            effects.push(Effect::Mark("poa/say-sealed-again"));
            self.on_block(None, block, effects);
        }
    }

    /// Rebroadcasts the head, or after a crash the newest block sealed by this replica, and the lost sealed blocks.
    pub(super) fn rebroadcast_head(&mut self, effects: &mut Vec<Effect>) {
        if let Some(block) = &self.newest {
            let message = ConsensusMessage::Block(block.clone());
            effects.push(Effect::Send { to: Recipients::Others, message, after: None });
            effects.push(Effect::Mark("poa/announce-again"));
        }
        self.rebroadcast_sealed(effects);
        self.arm_announce_timer(effects);
    }

    /// Arms the seal timer for the earliest time of the next block plus `then_nanos`.
    pub(super) fn schedule(&mut self, then_nanos: u64, effects: &mut Vec<Effect>) {
        let timestamp = self.config_at_head().earliest_after(self.tree.head().context.timestamp);
        self.production = Production::Scheduled;
        let deadline = Deadline::AtTimestamp { timestamp, then_nanos };
        effects.push(Effect::ArmTimer { timer: SEAL_TIMER, deadline });
    }

    /// Requests a block with the head as its parent.
    pub(super) fn request_block(&mut self, effects: &mut Vec<Effect>) {
        let Some(beneficiary) = self.signer.as_ref().map(Signer::address) else { return };
        let ticket = self.next_ticket.take_next();
        let context = &self.tree.head().context;
        let height = context.block.height.next();
        self.production = Production::Building(ticket);
        effects.push(Effect::Build(BuildRequest {
            ticket,
            parent: context.block,
            beneficiary,
            difficulty: context.snapshot.difficulty(height, &beneficiary),
            timestamp_min: self.config_at_head().earliest_after(context.timestamp),
            mix_hash: B256::ZERO,
            nonce: B64::ZERO,
            payload: self.payload(context, beneficiary).encoded(),
        }));
    }

    /// Returns the payload of the next block: the signers at a checkpoint, otherwise one of the pending votes, in rotation; where the
    /// validators' contract decides, its changes and no vote.
    fn payload(&self, context: &HeaderContext, signer: Address) -> Payload {
        let mut payload = self.unchanged_payload(context);
        payload.changes = context.pending.clone().unwrap_or_default();
        let height = context.block.height.next();
        if let Ok(after) = context.snapshot.apply(height, signer, &payload, self.config.epoch) {
            payload.next_signers = rules::next_signers(&context.snapshot, &after);
        }
        payload
    }

    /// Returns the payload of the next block without what follows from the contract's changes.
    fn unchanged_payload(&self, context: &HeaderContext) -> Payload {
        let height = context.block.height.next();
        if height.get().is_multiple_of(self.config.epoch) {
            return Payload::checkpoint(context.snapshot.signers());
        }
        let pending_votes =
            self.pending_votes.iter().map(|(target, authorize)| Vote { target: *target, authorize: *authorize });
        let meaningful: Vec<_> = pending_votes.filter(|vote| context.snapshot.is_meaningful(*vote)).collect();
        let chosen = height.get().checked_rem(meaningful.len() as u64).unwrap_or_default();
        Payload { vote: meaningful.get(chosen as usize).copied(), ..Payload::default() }
    }

    /// Seals the requested block and admits it; it is sent once its record is durable.
    pub(super) fn on_built(&mut self, ticket: Ticket, block: Arc<Block>, effects: &mut Vec<Effect>) {
        let head = self.tree.head().context.block;
        let (Production::Building(requested), Some(signer)) = (self.production, &self.signer) else {
            return effects.push(Effect::Mark("poa/stale-build"));
        };
        if requested != ticket || BlockId::parent_of(&block) != head {
            return effects.push(Effect::Mark("poa/stale-build"));
        }
        let seal = signer.sign(Purpose::Block, block.hash());
        let sealed = Arc::new(Arc::unwrap_or_clone(block).with_seal(seal));
        let (record, id) = (self.next_ticket, BlockId::of(&sealed));
        let mut records = Vec::new();
        if self.config.period > 0 {
            records.push(record::sealed(&sealed));
            let before = self.signed.map(|before| before.block.height).filter(|before| *before != id.height);
            records.extend(before.map(record::no_sealed));
        }
        match self.admit(None, sealed, Some(record), effects) {
            Ok(()) => {
                let ticket = self.next_ticket.take_next();
                let signed = self.intake.pending.get(&id).map(|pending| pending.verified.fork_choice_key);
                records.extend(signed.as_ref().map(record::signed));
                effects.push(Effect::Persist { ticket, records });
                self.signed = signed;
                self.production = Production::Idle;
            }
            Err(rejection) => effects.push(Effect::Reject(rejection)),
        }
    }
}
