//! Blocks: header verification, orphans, blocks of future slots, adoption after execution.

use std::sync::Arc;

use super::{
    MessageError, Payload, Pos, Proposal, State,
    config::Trusted,
    proposal::proposer_of,
    record,
    rules::{HeaderContext, StakeSource, check_header},
    tree::Node,
    votes::UnknownBlockVote,
};
use crate::{
    chain::Block,
    consensus::{
        BlockId, ChainEvent, ConsensusMessage, Effect, Recipients, Rejection, ReplicaId, Ticket, Verdict,
        intake::{BlockIntake, CatchUp, Intake, IntakePolicy, Overflow, Parked, PendingBlock},
        mutation::{self, Mutation},
        orphans::Orphan,
    },
    primitives::{Address, B256, Height, Timestamp},
    system::ValidatorUpdates,
};

/// Most blocks of the next slot kept of one author, who is a validator.
const FUTURE_BLOCKS_PER_AUTHOR_MAX: usize = 2;
/// Most blocks of one proposer for one slot that are taken before anybody builds on them or votes for them. (The
/// specifications' gossip passes the first one only; the second one is evidence.)
pub(super) const TWINS_MAX: u32 = 2;
/// Author in whose name blocks without their parent are kept when their proposers are unknown.
const STRANGERS: Address = Address::ZERO;
/// Bounds of the block intake.
pub(super) const INTAKE: IntakePolicy = IntakePolicy {
    pending_max: 1_024,
    pending_per_author_max: Some(8),
    ahead_max: None,
    orphans_max: 4_096,
    orphans_per_author_max: Some(64),
    overflow: Overflow::Reject,
    gap_max: Some(24),
};

/// Result of verifying the header of a pending block.
#[derive(Clone, Debug)]
pub(in crate::consensus) struct Verified {
    pub(super) node: Node,
    /// Whether the block was received before the attestation deadline of its slot, for the proposer boost.
    pub(super) is_timely: bool,
}

impl BlockIntake for Pos {
    type Verified = Verified;

    fn intake(&mut self) -> &mut Intake<Verified> {
        &mut self.intake
    }

    /// As in every protocol; a block of the next slot is kept until that slot starts.
    fn admit(
        &mut self,
        from: Option<ReplicaId>,
        block: Arc<Block>,
        own: Option<Ticket>,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Rejection> {
        let id = BlockId::of(&block);
        if self.tree.get(&id.hash).is_some() && self.is_synced(from, id.height) {
            // The head is on another branch, and the first blocks of the chain that is requested are here.
            effects.extend(self.intake.continue_catch_up(id.height, self.slot));
            return Ok(());
        }
        if self.tree.get(&id.hash).is_some() || self.is_waiting(&id) {
            return Err(Rejection::Unexpected { what: "block" });
        }
        let oldest = self.tree.root().height;
        if id.height <= oldest {
            return Err(Rejection::TooOld { block: id, oldest });
        }
        let refuse = |reason: String| Rejection::Header { block: id, reason };
        let slot =
            Payload::slot_of(block.protocol_payload()).ok_or_else(|| refuse("payload names no slot".to_owned()))?;
        let author = proposer_of(&self.authenticator, slot, &id, block.seal())?;
        if own.is_none() {
            self.intake.check_pending_of(author)?;
        }
        self.check_subjectivity()?;
        let parent = BlockId::parent_of(&block);
        let parent_node = self.tree.get(&parent.hash).cloned();
        if self.has_timers() {
            // Other branches may number slots unlike.
            let begins = parent_node
                .as_ref()
                .map_or(block.timestamp(), |parent| parent.context.state.times_at(&self.config, slot).time_of(slot));
            if begins >= self.times.time_of(self.slot.saturating_add(1)) {
                return self.wait_for_slot(from, block, (slot, begins), author);
            }
        }
        let Some(parent_node) = parent_node else {
            if parent.height <= oldest {
                return Err(MessageError::NotFinal { block: id }.into());
            }
            return self.wait_for_parent(Orphan { from, author, block }, effects);
        };
        let candidate = block.as_ref().into();
        let context =
            check_header(&self.config, &self.authenticator, &parent_node.context, &candidate, StakeSource::Executed)
                .map_err(|error| refuse(error.to_string()))?;
        self.check_trusted(&parent_node, &context)?;
        // The block that makes the evidence is one of those before it.
        let twins_max = self.twins_max(slot, &author);
        let proposal = Proposal { slot, block: id, signature: block.seal().clone() };
        self.record_proposal(author, proposal, effects);
        let of_slot = self.taken.get(&(slot, author)).copied().unwrap_or_default();
        if own.is_none() && of_slot >= twins_max && !self.is_needed(from, id) {
            return Err(Rejection::TooManySiblings { block: id, author, limit: twins_max as usize });
        }
        self.taken.insert((slot, author), of_slot.saturating_add(1));
        let is_timely = self.has_timers() && self.is_within(self.slot, context.timestamp) && !self.is_late;
        let verified = Verified { node: Node::new(context, parent.hash), is_timely };
        self.intake.pending.insert(id, PendingBlock { block: block.clone(), author, own, verified });
        if let Some(from) = from {
            self.remember_peer(from);
        }
        effects.push(Effect::Validate { block });
        Ok(())
    }
}

impl Pos {
    /// Returns how many blocks of `author` for `slot` are taken unless others need them: of one with evidence against it only
    /// the first of a slot that is not long over.
    fn twins_max(&self, slot: u64, author: &Address) -> u32 {
        match self.offences.contains_key(author) {
            _ if mutation::active(Mutation::PosTakesEveryTwin) => u32::MAX,
            true => u32::from(slot.saturating_add(1) >= self.slot),
            false => TWINS_MAX,
        }
    }

    /// Whether a block is needed to follow others: a child of it waits, a validator without offence voted for it, or it is the
    /// next one of the peer's chain that is requested.
    fn is_needed(&self, from: Option<ReplicaId>, id: BlockId) -> bool {
        let is_voted = |((signer, _), unknown): (&(Address, u64), &UnknownBlockVote)| {
            unknown.vote.data.head == id && !self.offences.contains_key(signer)
        };
        self.intake.orphans.has_children(id)
            || self.unknown_block_votes.iter().any(is_voted)
            || self.is_synced(from, id.height)
    }

    /// Whether a block of this height is the next one of the peer's chain that is requested.
    fn is_synced(&self, from: Option<ReplicaId>, height: Height) -> bool {
        let is_next = |catch_up: CatchUp| Some(catch_up.from) == from && catch_up.next == height;
        self.intake.catch_up.is_some_and(is_next)
    }

    /// Whether a block is pending, waits for its parent, or waits for its slot.
    pub(super) fn is_waiting(&self, id: &BlockId) -> bool {
        self.intake.contains(id) || self.future_blocks.contains(id)
    }

    /// Checks that this replica was not offline for longer than the weak subjectivity period, unless a checkpoint is trusted. One
    /// that takes blocks in their slots is not offline, however long finality takes.
    fn check_subjectivity(&self) -> Result<(), Rejection> {
        let limit = self.config.weak_subjectivity_epochs_of(self.times.longest_period(), self.tree.weights.len());
        let (finalized, now) = (self.tree.finalized.epoch, self.epoch());
        let is_away = self.has_timers() && now.saturating_sub(finalized.max(self.active_epoch)) > limit;
        let is_trusting = self.config.trusted.is_some_and(|trusted| now.saturating_sub(trusted.epoch) <= limit);
        if is_away && !is_trusting {
            return Err(MessageError::WeakSubjectivity { finalized, now, limit }.into());
        }
        Ok(())
    }

    /// Checks that the branch contains the checkpoint that the operator trusts.
    fn check_trusted(&self, parent: &Node, context: &HeaderContext) -> Result<(), Rejection> {
        let Some(Trusted { epoch, block: want }) = self.config.trusted else { return Ok(()) };
        if parent.context.state.epoch() >= epoch || context.state.epoch() < epoch {
            return Ok(());
        }
        let is_first = context.state.slot == self.config.start_of(epoch);
        let got: B256 = if is_first { context.block.hash } else { parent.context.block.hash };
        if got == want { Ok(()) } else { Err(MessageError::Untrusted { epoch, got, want }.into()) }
    }

    fn wait_for_slot(
        &mut self,
        from: Option<ReplicaId>,
        block: Arc<Block>,
        (slot, begins): (u64, Timestamp),
        author: Address,
    ) -> Result<(), Rejection> {
        let now = self.slot;
        let next_ends = self.times.time_of(now.saturating_add(2));
        let Some(from) = from.filter(|_| begins < next_ends) else {
            return Err(MessageError::FutureSlot { slot, now }.into());
        };
        self.check_known(&author)?;
        let shared = mutation::active(Mutation::PosSharesEarlyBlocks);
        let (kept, limit) = match shared {
            true => (self.future_blocks.len(), 16),
            false => (self.future_blocks.count_of(author), FUTURE_BLOCKS_PER_AUTHOR_MAX),
        };
        if kept >= limit {
            return Err(Rejection::Overloaded { limit });
        }
        self.future_blocks.insert(Orphan { from: Some(from), author, block });
        Ok(())
    }

    fn wait_for_parent(&mut self, mut orphan: Orphan, effects: &mut Vec<Effect>) -> Result<(), Rejection> {
        let Some(from) = orphan.from else { return Err(Rejection::Unexpected { what: "block" }) };
        let id = BlockId::of(&orphan.block);
        // A replica that was offline does not know new validators. The proposer of a kept child has verified its block; all other
        // strangers have one share together.
        if let Err(stranger) = self.check_known(&orphan.author)
            && !self.intake.orphans.has_children(id)
        {
            if mutation::active(Mutation::PosShutsOutStrangers) {
                return Err(stranger);
            }
            orphan.author = STRANGERS;
        }
        match self.intake.park(orphan, self.tree.head().height)? {
            Parked::TooFar => self.start_sync(from, id.height, effects),
            Parked::Waiting { missing } => {
                self.remember_peer(from);
                if let Some(block) = missing.filter(|missing| !self.future_blocks.contains(missing)) {
                    effects.push(Effect::Fetch { block, from });
                    effects.push(Effect::Mark("pos/fetch-parent"));
                }
            }
        }
        Ok(())
    }

    /// Checks that a signer is a validator on the head's branch or at the final checkpoint: validators that left the head's branch
    /// may be validators of another.
    pub(super) fn check_known(&self, signer: &Address) -> Result<(), Rejection> {
        let root = self.tree.get(&self.tree.root().hash).map(|node| node.context.state.as_ref());
        let is_known = self.head_state().into_iter().chain(root).any(|state| state.knows(signer));
        let epoch = self.epoch();
        if is_known { Ok(()) } else { Err(MessageError::NotValidator { signer: *signer, epoch }.into()) }
    }

    /// Checks that evidence against `offender` may count on the head's branch or at the final checkpoint: it is a validator, or
    /// left and its stake is locked.
    pub(super) fn check_accountable(&self, offender: &Address) -> Result<(), Rejection> {
        let root = self.tree.get(&self.tree.root().hash).map(|node| node.context.state.as_ref());
        let is_accountable = |state: &State| state.knows(offender) || state.is_accountable(offender);
        let (signer, epoch) = (*offender, self.epoch());
        if self.head_state().into_iter().chain(root).any(is_accountable) {
            Ok(())
        } else {
            Err(MessageError::NotValidator { signer, epoch }.into())
        }
    }

    /// Stores a proposal and detects a second one for the same slot.
    fn record_proposal(&mut self, author: Address, proposal: Proposal, effects: &mut Vec<Effect>) {
        let key = (proposal.slot, author);
        match self.proposals.get(&key) {
            None => drop(self.proposals.insert(key, Arc::new(proposal))),
            Some(first) => {
                if let Some(offence) = super::SlashingEvidence::of_proposals(first, &proposal) {
                    self.report_offence(author, offence, true, effects);
                }
            }
        }
    }

    pub(super) fn on_judged(
        &mut self,
        id: BlockId,
        verdict: Verdict,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Rejection> {
        let (pending, updates) = self.intake.resolve(id, verdict)?;
        self.adopt(pending, &updates, effects);
        Ok(())
    }

    fn adopt(&mut self, pending: PendingBlock<Verified>, updates: &ValidatorUpdates, effects: &mut Vec<Effect>) {
        let PendingBlock { block, own, verified: Verified { mut node, is_timely }, .. } = pending;
        let id = node.context.block;
        // The parent may have been pruned by finality meanwhile.
        if self.tree.get(&node.parent).is_none() {
            return effects.push(Effect::Mark("pos/left-behind"));
        }
        if !updates.is_empty() {
            node.context.state = Arc::new(node.context.state.with_updates(updates));
        }
        let before = (self.tree.root(), self.tree.justified, self.tree.finalized);
        let (slot, timestamp) = (node.context.state.slot, node.context.timestamp);
        if !self.has_timers() && slot > self.slot {
            self.advance_to_slot(slot);
        }
        let records = vec![record::node(&node)];
        let is_of_now = if self.has_timers() { self.is_within(self.slot, timestamp) } else { slot == self.slot };
        if is_of_now {
            self.active_epoch = self.epoch();
        }
        self.tree.insert(&self.config, node, self.slot);
        if is_timely && slot == self.slot && is_of_now && self.tree.forks.boosted().is_none() {
            self.tree.forks.set_boost(Some(id.hash));
        }
        effects.push(Effect::Chain(ChainEvent::Inserted(id)));
        self.process_payload(&block, effects);
        let moved = self.tree.choose(&self.config, self.slot);
        let has_moved = moved.is_some();
        self.publish_changes(before, moved, records, effects);
        if let Some(ticket) = own {
            let message = ConsensusMessage::Block(block);
            effects.push(Effect::Send { to: Recipients::Others, message, after: Some(ticket) });
        }
        effects.extend(self.intake.continue_catch_up(id.height, self.slot));
        self.release_votes(id, effects);
        if !self.has_timers() {
            self.attest(effects);
            if has_moved {
                self.plan(effects);
            }
        }
        self.release_children(id, effects);
    }

    /// Counts the votes and evidence in a block as if they had been received as messages.
    fn process_payload(&mut self, block: &Block, effects: &mut Vec<Effect>) {
        // The payload was decoded when the header was verified.
        let Ok(payload) = Payload::decode(block.protocol_payload()) else { return };
        for offence in payload.offences {
            if let Ok(offender) = offence.offender(&self.authenticator) {
                self.report_offence(offender, offence, false, effects);
            }
        }
        for vote in payload.votes {
            if let Ok(signer) = vote.signer(&self.authenticator) {
                self.count_in_block(signer, vote, effects);
            }
        }
    }

    /// Admits the blocks that were received before their slot.
    pub(super) fn admit_future_blocks(&mut self, effects: &mut Vec<Effect>) {
        for orphan in self.future_blocks.take() {
            self.on_block(orphan.from, orphan.block, effects);
        }
    }
}
