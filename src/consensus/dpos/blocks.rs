//! Blocks: header verification, orphans, catch-up, adoption after execution.
//!
//! A few missing blocks are requested from the newest down, each by its hash. Many are requested as chains of peers, from below:
//! see [`catch_up`](super::catch_up).

use std::sync::Arc;

use super::{
    ConflictingBlocks, Dpos, EvidenceError, HeaderContext, Infraction, OFFENCES_OF_ONE_MAX, PRODUCERS_MAX, QUIET_TIMER,
    check_header,
    evidence::evidence_age,
    has_room_for, record,
    tree::{Node, SAME_SLOT_BLOCKS_MAX, SIDE_BLOCKS_PER_AUTHOR_MAX},
};
use crate::{
    chain::Block,
    consensus::{
        BlockId, ChainEvent, ConsensusMessage, Deadline, Effect, Evidence, OffenceProof, Purpose, Recipients, Record,
        Rejection, ReplicaId, SealedHeader, Ticket, Verdict,
        branch_tree::HeadMove,
        intake::{BlockIntake, Intake, IntakePolicy, Overflow, Parked, PendingBlock},
        mutation::{self, Mutation},
        orphans::Orphan,
    },
    primitives::{Address, Height},
    system::ValidatorUpdates,
};

/// Most orphans while blocks of candidates that do not produce are kept too: the number of candidates has no bound.
const CANDIDATES_ORPHANS_MAX: usize = 256;

/// Bounds of the block intake. Those of all authors have room for every producer, so that none keeps others' blocks out.
pub(super) const INTAKE: IntakePolicy = IntakePolicy {
    pending_max: 64 * PRODUCERS_MAX as usize,
    pending_per_author_max: Some(64),
    // Blocks further ahead than the gap do not wait.
    ahead_max: None,
    orphans_max: 64 * PRODUCERS_MAX as usize,
    orphans_per_author_max: Some(64),
    overflow: Overflow::CatchUp,
    gap_max: Some(32),
};

/// Result of verifying the header of a pending block.
#[derive(Clone, Debug)]
pub(in crate::consensus) struct Verified {
    pub(super) node: Node,
    /// Sender; `None` for an own block.
    pub(super) from: Option<ReplicaId>,
}

impl BlockIntake for Dpos {
    type Verified = Verified;

    fn intake(&mut self) -> &mut Intake<Verified> {
        &mut self.intake
    }

    fn admit(
        &mut self,
        from: Option<ReplicaId>,
        block: Arc<Block>,
        own: Option<Ticket>,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Rejection> {
        let id = BlockId::of(&block);
        if self.tree.get(&id).is_some() || self.intake.contains(&id) {
            return Err(Rejection::Unexpected { what: "block" });
        }
        let oldest = self.tree.root().height;
        if id.height <= oldest {
            return Err(Rejection::TooOld { block: id, oldest });
        }
        let author = self.authenticator.author(Purpose::Block, id.hash, block.seal())?;
        let parent = BlockId::parent_of(&block);
        let Some(parent_node) = self.tree.get(&parent).cloned() else {
            return self.wait_for_parent(Orphan { from, author, block }, effects);
        };
        if own.is_none() {
            self.intake.check_pending_of(author)?;
            self.check_side_blocks(&id, parent, author)?;
        }
        let candidate = block.as_ref().into();
        let context = check_header(&self.config, &self.authenticator, &parent_node.context, &candidate, author, true)
            .map_err(|error| Rejection::Header { block: id, reason: error.to_string() })?;
        if mutation::active(Mutation::DposBoundsGaps) && context.slot.saturating_sub(self.head_context().slot) > 1 << 20
        {
            return Err(Rejection::TooFarAhead { block: id, limit: 1 << 20 });
        }
        let node = Node { context, parent, author, sealed: Some(Arc::new(SealedHeader::from(block.as_ref()))) };
        if own.is_none() {
            self.check_same_slot(&node, from)?;
        }
        let verified = Verified { node, from };
        self.intake.pending.insert(id, PendingBlock { block: block.clone(), author, own, verified });
        effects.push(Effect::Validate { block });
        Ok(())
    }
}

/// Requests the lowest missing ancestor of an orphan; all blocks above it are orphans already.
fn fetch_ancestor(missing: Option<BlockId>, from: ReplicaId, effects: &mut Vec<Effect>) {
    if let Some(block) = missing {
        effects.push(Effect::Fetch { block, from });
        effects.push(Effect::Mark("dpos/fetch-parent"));
    }
}

impl Dpos {
    /// Admits an announced block. What one that waits already lacks is requested from this sender too: whoever sent it first may have
    /// lied, or the answer was lost. An answer that is repeated requests nothing, see [`Dpos::on_synced`].
    pub(super) fn on_announced(&mut self, from: ReplicaId, block: Arc<Block>, effects: &mut Vec<Effect>) {
        if self.intake.orphans.contains(&BlockId::of(&block)) && !mutation::active(Mutation::DposAsksFirstSenderAlone) {
            return fetch_ancestor(self.intake.missing_ancestor(&block), from, effects);
        }
        self.on_block(Some(from), block, effects);
    }

    /// Admits a requested block; one that is in the tree already, or has no known parent, directs the catch-up only. An answer that nothing
    /// waits for, such as a repeated one, requests nothing.
    pub(super) fn on_synced(&mut self, from: ReplicaId, block: Arc<Block>, effects: &mut Vec<Effect>) {
        let (id, parent) = (BlockId::of(&block), BlockId::parent_of(&block));
        if self.take_requested(from, id, parent, effects) {
            return;
        }
        if self.is_attached(&parent) || self.intake.orphans.has_children(id) {
            return self.on_block(Some(from), block, effects);
        }
        effects.push(Effect::Reject(Rejection::Unexpected { what: "block" }));
    }

    /// Whether a child of this block can be admitted, now or once the block is executed.
    pub(super) fn is_attached(&self, parent: &BlockId) -> bool {
        self.tree.get(parent).is_some() || self.intake.pending.contains_key(parent)
    }

    /// Checks that one more block of this author outside the head's branch may be kept. One of an author that was caught takes the
    /// place of another, on which nothing is built.
    fn check_side_blocks(&self, id: &BlockId, parent: BlockId, author: Address) -> Result<(), Rejection> {
        let head = self.tree.head().context.block;
        let is_side = parent != head && id.height <= head.height;
        let limit = SIDE_BLOCKS_PER_AUTHOR_MAX;
        let is_shared = mutation::active(Mutation::DposSharesSideBlocks);
        let kept = if is_shared { self.tree.side_blocks() } else { self.tree.side_blocks_of(author) };
        let is_full = is_side && kept >= limit;
        if is_full && !(self.is_caught(author) && self.tree.side_leaf_of(author).is_some()) {
            return Err(Rejection::Overloaded { limit: limit as usize });
        }
        Ok(())
    }

    /// Returns what identifies the slot of a block on every branch.
    pub(super) const fn slot_id(&self, context: &HeaderContext) -> u64 {
        self.config.slot_id(context.slot, context.timestamp)
    }

    /// Checks that one more block of its author in a slot may be kept: one of the first two, or one that another block extends. Of an author
    /// with evidence against it the second one must be better than the head. Where the head has not moved for two rounds a better one is
    /// taken in the place of another: else replicas that know unlike twins might never have one head.
    fn check_same_slot(&self, node: &Node, from: Option<ReplicaId>) -> Result<(), Rejection> {
        let (id, slot, author) = (node.context.block, self.slot_id(&node.context), node.author);
        let pending = self.intake.pending.values().filter(|pending| pending.author == author);
        let pending = pending.filter(|pending| self.slot_id(&pending.verified.node.context) == slot).count();
        let kept = self.tree.blocks_of_slot(slot, author).take(SAME_SLOT_BLOCKS_MAX).count() + pending;
        let is_asked_for = self.intake.orphans.has_children(id)
            || from.is_some_and(|from| self.catch_up.is_requested(from, id.height));
        let is_better = node.fork_choice_key().beats(&self.tree.head().fork_choice_key())
            && !mutation::active(Mutation::DposRefusesBetterTwins);
        if kept == 0 || is_asked_for {
            return Ok(());
        }
        let is_offender = self.is_caught(author) && !mutation::active(Mutation::DposKeepsOffendersTwins);
        let limit = if is_offender && !is_better { 1 } else { SAME_SLOT_BLOCKS_MAX };
        let is_quiet = self.quiet_head == self.tree.head().context.block;
        if kept < limit || (is_better && is_quiet) { Ok(()) } else { Err(Rejection::Overloaded { limit }) }
    }

    /// Whether there is evidence against this author, held or reported on the head's branch.
    fn is_caught(&self, author: Address) -> bool {
        self.offences.keys().any(|(_, offender)| *offender == author)
            || self.head_context().state.reported_offenders().any(|offender| offender == author)
    }

    /// Drops the side block that gives its place to another one of the same author, and returns the deletion of its record.
    fn make_room(&mut self, node: &Node) -> Option<Record> {
        let is_side = node.parent != self.tree.head().context.block;
        if !is_side || self.tree.side_blocks_of(node.author) < SIDE_BLOCKS_PER_AUTHOR_MAX {
            return None;
        }
        let leaf = self.tree.side_leaf_of(node.author).filter(|leaf| *leaf != node.parent)?;
        self.tree.drop_leaf(&leaf);
        Some(record::no_block(leaf))
    }

    /// Keeps an orphan until its parent is adopted, and requests the missing ancestor.
    fn wait_for_parent(&mut self, orphan: Orphan, effects: &mut Vec<Effect>) -> Result<(), Rejection> {
        let (id, author, context) = (BlockId::of(&orphan.block), orphan.author, self.head_context());
        let Some(from) = orphan.from else { return Err(Rejection::Unexpected { what: "block without a parent" }) };
        let head = context.block.height;
        // Who produces there may have been elected since.
        if self.intake.is_far(id.height, head) {
            self.request_chain(from, id.height, effects);
            return Ok(());
        }
        let is_candidate =
            context.candidates.contains_key(&author) && self.intake.orphans.len() < CANDIDATES_ORPHANS_MAX;
        let is_known = context.state.active().producers().contains(&author) || is_candidate;
        // An author unknown here may be elected on another branch: the producer of a kept child has verified its block. Else it may be
        // anybody's, and is not kept: its sender's chain shows who the author is.
        if !is_known && !self.intake.orphans.has_children(id) {
            if mutation::active(Mutation::DposRefusesStrangers) {
                let reason = format!("author {author} is not a candidate");
                return Err(Rejection::Header { block: id, reason });
            }
            self.request_chain(from, id.height, effects);
            return Ok(());
        }
        match self.intake.park(orphan, head)? {
            Parked::TooFar => self.request_chain(from, id.height, effects),
            Parked::Waiting { missing } => fetch_ancestor(missing, from, effects),
        }
        Ok(())
    }

    pub(super) fn on_judged(&mut self, id: BlockId, verdict: Verdict, effects: &mut Vec<Effect>) {
        let is_own = self.intake.pending.get(&id).is_some_and(|pending| pending.own.is_some());
        match self.intake.resolve(id, verdict) {
            // The parent may have been dropped meanwhile.
            Ok((pending, _)) if self.tree.get(&pending.verified.node.parent).is_none() => {
                effects.push(Effect::Mark("dpos/judged-too-late"));
            }
            Ok((pending, updates)) => self.adopt(pending, &updates, effects),
            Err(rejection) => {
                effects.push(Effect::Reject(rejection));
                if is_own {
                    self.plan(effects);
                }
            }
        }
    }

    fn adopt(&mut self, pending: PendingBlock<Verified>, updates: &ValidatorUpdates, effects: &mut Vec<Effect>) {
        let PendingBlock { block, own, verified: Verified { mut node, from }, .. } = pending;
        node.context = node.context.with_updates(updates);
        let (id, slot) = (node.context.block, self.slot_id(&node.context));
        self.detect_conflicts(&node, effects);
        let irreversible = self.tree.finalized();
        let mut records: Vec<_> = node.sealed.iter().map(|sealed| record::block(id, sealed, updates)).collect();
        records.extend(self.make_room(&node));
        let moved = self.tree.insert(node);
        effects.push(Effect::Chain(ChainEvent::Inserted(id)));
        if let Some(HeadMove { forgotten, .. }) = &moved {
            if self.tree.finalized() != irreversible {
                records.extend(self.tree.get(&self.tree.root()).map(|root| record::root(root)));
            }
            records.push(record::head(&self.tree, &self.safety_state));
            records.extend(forgotten.iter().map(|block| record::no_block(*block)));
            records.extend((self.tree.finalized() != irreversible).then(|| record::no_block(self.tree.root())));
        }
        if moved.is_some() {
            records.extend(self.drop_twins().into_iter().map(record::no_block));
        }
        let ticket = self.next_ticket.take_next();
        effects.push(Effect::Persist { ticket, records });
        if self.tree.finalized() != irreversible {
            self.unreported_finality.push_back((ticket, self.tree.finalized()));
        }
        if let Some(head_move) = &moved {
            self.head_ticket = Some(ticket);
            self.publish_head(head_move, irreversible, effects);
        } else if let Some(from) = from.filter(|_| self.is_recent(slot)) {
            self.show_head(Recipients::One(from), effects);
        }
        if let Some(ticket) = own {
            let message = ConsensusMessage::Block(block);
            effects.push(Effect::Send { to: Recipients::Others, message, after: Some(ticket) });
        }
        if moved.is_some() || own.is_some() {
            self.plan(effects);
        }
        self.continue_catch_up(id.height, effects);
        self.release_children(id, effects);
    }

    /// Drops other blocks of the head's author in its slot, on which nothing is built, and returns them: two stay, which are evidence.
    fn drop_twins(&mut self) -> Vec<BlockId> {
        let head = self.tree.head().clone();
        let kept = self.tree.blocks_of_slot(self.slot_id(&head.context), head.author).count();
        let is_needed = |twin: &BlockId| {
            self.intake.pending.values().any(|pending| pending.verified.node.parent == *twin)
                || self.intake.orphans.has_children(*twin)
        };
        let mut twins = self.tree.twins_without_children(&head);
        twins.retain(|twin| !is_needed(twin));
        // The worst first.
        twins.reverse();
        twins.truncate(kept.saturating_sub(SAME_SLOT_BLOCKS_MAX));
        twins.iter().for_each(|twin| self.tree.drop_leaf(twin));
        twins
    }

    /// Whether this slot is later than the head's, or less than a round before it: who extends a worse branch now may do so just before
    /// each block of the head's branch, in whatever slots the schedules of both give.
    fn is_recent(&self, slot: u64) -> bool {
        let head = self.head_context();
        if mutation::active(Mutation::DposShowsToLaterAlone) {
            return slot > self.slot_id(head);
        }
        let round = head.state.active().slots_per_round(&self.config);
        slot.saturating_add(round.saturating_mul(head.config(&self.config).period.max(1))) > self.slot_id(head)
    }

    /// Shows the head to a replica that extends a worse branch, or to all others. When the producers that the head's
    /// branch has elected were partitioned from it, no other producer may produce on it, and they would never receive the block that
    /// elects them: they produce on the other branch, or, all of them new, nowhere.
    fn show_head(&self, to: Recipients, effects: &mut Vec<Effect>) {
        effects.push(Effect::Mark("dpos/show-head"));
        effects.push(Effect::Show { block: self.tree.head().context.block, to, after: self.head_ticket });
    }

    /// Shows the head when it has not moved for two rounds.
    pub(super) fn on_quiet(&mut self, effects: &mut Vec<Effect>) {
        let head = self.tree.head().context.block;
        let is_quiet = core::mem::replace(&mut self.quiet_head, head) == head;
        if is_quiet && head.height > Height::GENESIS && !mutation::active(Mutation::DposElectorsFallSilent) {
            self.show_head(Recipients::Others, effects);
        }
        self.arm_quiet_timer(effects);
    }

    /// Arms the timer, unless blocks are made on demand.
    pub(super) fn arm_quiet_timer(&self, effects: &mut Vec<Effect>) {
        let head = self.head_context();
        let slots = head.state.active().slots_per_round(&self.config).saturating_mul(2);
        let nanos = slots.saturating_mul(head.config(&self.config).period).saturating_mul(1_000_000_000);
        if nanos > 0 {
            effects.push(Effect::ArmTimer { timer: QUIET_TIMER, deadline: Deadline::After { nanos } });
        }
    }

    /// Reports the move of the head and drops orphans and offences that no longer matter.
    fn publish_head(&mut self, head_move: &HeadMove, finalized_before: BlockId, effects: &mut Vec<Effect>) {
        head_move.report("dpos/reorg", effects);
        let head = self.tree.head().context.clone();
        if head.state.pending().is_some_and(|pending| pending.proposed_at == head.block.height) {
            effects.push(Effect::Mark("dpos/schedule-proposed"));
        }
        if self.tree.finalized() != finalized_before {
            effects.push(Effect::Mark("dpos/irreversible"));
            self.intake.orphans.keep_above(self.tree.root().height);
            self.catch_up.keep_above(self.tree.root().height);
        }
        if self.offences.is_empty() {
            return;
        }
        // What only the head's branch reports is due again where that branch loses.
        let last_irreversible = self.tree.get(&self.tree.root()).map(|root| root.context.clone());
        let is_heads_enough = mutation::active(Mutation::DposTakesReportsForDone);
        let reports = last_irreversible.filter(|_| !is_heads_enough).unwrap_or_else(|| head.clone());
        let is_open = |(slot, offender): &(u64, Address)| {
            let offence = Infraction { slot: *slot, offender: *offender, height: head.block.height };
            !reports.state.is_reported(&offence) && !self.is_expired(*slot)
        };
        if self.offences.keys().any(|offence| !is_open(offence)) {
            self.offences = self.offences.iter().filter(|(offence, _)| is_open(offence)).map(clone_pair).collect();
        }
    }

    /// Whether evidence of this slot is too old for the blocks after the head.
    pub(crate) fn is_expired(&self, slot: u64) -> bool {
        let head = self.head_context();
        slot.saturating_add(evidence_age(&head.config(&self.config))) <= self.slot_id(head)
    }

    /// Returns the infraction that evidence from outside proves, if the next block may report it and this replica does not hold it.
    ///
    /// # Errors
    /// [`EvidenceError`].
    pub fn check_offence(&self, proof: &ConflictingBlocks) -> Result<Infraction, EvidenceError> {
        let context = &self.tree.head().context;
        let (config, slot) = (context.config(&self.config), context.slot.saturating_add(1));
        let at = (slot, config.time_of(slot, (context.slot, context.timestamp)));
        let found = proof.check(&config, at, &self.authenticator)?;
        let Infraction { slot, offender, .. } = found;
        if !context.is_accountable(&config, &offender) {
            return Err(EvidenceError::Unaccountable { offender });
        }
        if context.state.is_reported(&found) || self.offences.contains_key(&(slot, offender)) {
            return Err(EvidenceError::AlreadyReported { offender, slot });
        }
        if !has_room_for(&self.offences, offender) {
            return Err(EvidenceError::Waiting { offender, max: OFFENCES_OF_ONE_MAX });
        }
        Ok(found)
    }

    /// Keeps evidence from outside for a block, as that of blocks which this replica has itself.
    pub(super) fn on_offence(&mut self, proof: OffenceProof, effects: &mut Vec<Effect>) -> Result<(), Rejection> {
        let OffenceProof::Dpos(proof) = proof else {
            return Err(Rejection::Unexpected { what: "evidence of another protocol" });
        };
        let refused = |cause: EvidenceError| Rejection::Admin { reason: cause.to_string() };
        let Infraction { slot, offender, height } = self.check_offence(&proof).map_err(refused)?;
        let (first, second) = proof.hashes();
        effects.push(Effect::Evidence(Evidence::DoubleSign { offender, height, first, second }));
        self.offences.insert((slot, offender), Arc::new(proof));
        Ok(())
    }

    /// Records evidence when this producer has another block in this slot, or one whose vote contradicts this block's.
    fn detect_conflicts(&mut self, node: &Node, effects: &mut Vec<Effect>) {
        let Some((known, mark)) = self.tree.conflicting_block(node) else { return };
        let (first, second) = (known.context.block, node.context.block);
        let (offender, height) = (node.author, first.height.max(second.height));
        effects.push(Effect::Mark(mark));
        let evidence = Evidence::DoubleSign { offender, height, first: first.hash, second: second.hash };
        effects.push(Effect::Evidence(evidence));
        if let Some((infraction, proof)) = self.tree.proof_of(known, node)
            && has_room_for(&self.offences, offender)
        {
            self.offences.insert(infraction, proof);
        }
    }
}

fn clone_pair<K: Clone, V: Clone>((key, value): (&K, &V)) -> (K, V) {
    (key.clone(), value.clone())
}
