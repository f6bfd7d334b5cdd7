//! Blocks: header verification, orphans, blocks of future slots, adoption after execution.

use std::sync::Arc;

use super::{
    MessageError, Payload, Pos, Proposal,
    config::Trusted,
    proposal::proposer_of,
    record,
    rules::{HeaderContext, StakeSource, check_header},
    tree::Node,
    votes::Counting,
};
use crate::{
    chain::Block,
    consensus::{
        BlockId, ChainEvent, ConsensusMessage, Effect, Recipients, Rejection, ReplicaId, Ticket, Verdict,
        intake::{BlockIntake, CatchUpMode, CatchUpPolicy, Intake, IntakePolicy, Overflow, Parked, PendingBlock},
        orphans::Orphan,
    },
    primitives::{Address, B256},
    system::ValidatorUpdates,
};

/// Most blocks of the next slot kept.
const FUTURE_BLOCKS_MAX: usize = 16;
/// Bounds of the block intake.
pub(super) const INTAKE: IntakePolicy = IntakePolicy {
    pending_max: 256,
    pending_per_author_max: None,
    ahead_max: None,
    orphans_max: 256,
    orphans_per_author_max: Some(64),
    overflow: Overflow::Reject,
    catch_up: Some(CatchUpPolicy { gap_max: 24, mode: CatchUpMode::FirstPeer }),
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
        if self.tree.get(&id.hash).is_some() || self.is_waiting(&id) {
            return Err(Rejection::Unexpected { what: "block" });
        }
        let oldest = self.tree.root().height;
        if id.height <= oldest {
            return Err(Rejection::TooOld { block: id, oldest });
        }
        if own.is_none() {
            self.intake.check_pending()?;
        }
        let refuse = |reason: String| Rejection::Header { block: id, reason };
        let slot = Payload::slot_of(block.payload()).ok_or_else(|| refuse("payload names no slot".to_owned()))?;
        let author = proposer_of(&self.authenticator, slot, &id, block.seal())?;
        self.check_subjectivity()?;
        if self.has_timers() && slot > self.slot {
            return self.wait_for_slot(from, block, slot, author);
        }
        let parent = BlockId::parent_of(&block);
        let Some(parent_node) = self.tree.get(&parent.hash).cloned() else {
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
        let proposal = Proposal { slot, block: id, signature: block.seal().clone() };
        self.record_proposal(author, proposal, effects);
        let is_timely = self.has_timers() && slot == self.slot && !self.is_late;
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
    /// Whether a block is pending, waits for its parent, or waits for its slot.
    pub(super) fn is_waiting(&self, id: &BlockId) -> bool {
        self.intake.contains(id) || self.future_blocks.contains(id)
    }

    /// Checks that this replica was not offline for longer than stake stays slashable, unless a checkpoint is trusted.
    fn check_subjectivity(&self) -> Result<(), Rejection> {
        let (finalized, now, limit) = (self.tree.finalized.epoch, self.epoch(), self.config.unbonding_epochs);
        let is_away = self.has_timers() && now.saturating_sub(finalized) > limit;
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
        slot: u64,
        author: Address,
    ) -> Result<(), Rejection> {
        let now = self.slot;
        let Some(from) = from.filter(|_| slot == now + 1) else {
            return Err(MessageError::FutureSlot { slot, now }.into());
        };
        self.check_known(&author)?;
        if self.future_blocks.len() >= FUTURE_BLOCKS_MAX {
            return Err(Rejection::Overloaded { limit: FUTURE_BLOCKS_MAX });
        }
        self.future_blocks.insert(Orphan { from: Some(from), author, block });
        Ok(())
    }

    fn wait_for_parent(&mut self, orphan: Orphan, effects: &mut Vec<Effect>) -> Result<(), Rejection> {
        let Some(from) = orphan.from else { return Err(Rejection::Unexpected { what: "block" }) };
        let id = BlockId::of(&orphan.block);
        // A replica that was offline does not know new validators: the proposer of a kept child has verified its block.
        if !self.intake.orphans.has_children(id) {
            self.check_known(&orphan.author)?;
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
        let slot = node.context.state.slot;
        if !self.has_timers() && slot > self.slot {
            self.advance_to_slot(slot);
        }
        let records = vec![record::node(&node)];
        self.tree.insert(&self.config, node, self.slot);
        if is_timely && slot == self.slot && self.tree.forks.boosted().is_none() {
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
        let Ok(payload) = Payload::decode(block.payload()) else { return };
        for offence in payload.offences {
            if let Ok(offender) = offence.offender(&self.authenticator) {
                self.report_offence(offender, offence, false, effects);
            }
        }
        for vote in payload.votes {
            if let Ok(signer) = vote.signer(&self.authenticator) {
                self.count(signer, Arc::new(vote), Counting::Now, effects);
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
