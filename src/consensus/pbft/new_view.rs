//! Starting a view: the primary's choice of blocks, and its verification by the backups (section 5.4 of the paper).

use std::{collections::BTreeSet, sync::Arc};

use super::{
    Body, InView, MessageError, NewView, Pbft, PbftMessage, Quorums, VIEW_CHANGES_AHEAD_MAX, View, ViewChange,
    broadcast,
    log::{Proposal, ProposalStatus},
    view_change::view_of,
};
use crate::{
    consensus::{BlockId, Effect},
    primitives::{Address, Height},
};

/// Outcome of the decision procedure over a set of view-changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decision {
    /// Checkpoint that the view starts from.
    pub(super) checkpoint: BlockId,
    /// Blocks proposed again, from the height after the checkpoint on.
    pub(super) chosen: Vec<BlockId>,
}

/// Applies the paper's decision procedure; `None` when it needs more view-changes.
///
/// A height without a prepared block gets the null request. A replica pre-prepares a block only after it committed the
/// parent, so no block is chosen above such a height, and the primary may propose any block from there on.
pub(super) fn decide(view_changes: &[&ViewChange], quorums: &Quorums, window: u64) -> Option<Decision> {
    let checkpoint = start_checkpoint(view_changes, quorums)?;
    let mut chosen = Vec::new();
    for offset in 1..=window {
        let height = Height::new(checkpoint.height.get().saturating_add(offset));
        match choose(height, view_changes, quorums) {
            Choice::Block(block) => chosen.push(block),
            Choice::Null => break,
            Choice::Open => return None,
        }
    }
    Some(Decision { checkpoint, chosen })
}

/// Returns the highest checkpoint that `f + 1` replicas have and above which a quorum has the log.
fn start_checkpoint(view_changes: &[&ViewChange], quorums: &Quorums) -> Option<BlockId> {
    let candidates: BTreeSet<_> = view_changes.iter().flat_map(|message| &message.checkpoints).collect();
    let holds = |block: &BlockId| {
        let below = view_changes.iter().filter(|message| message.stable.height <= block.height).count();
        let having = view_changes.iter().filter(|message| message.checkpoints.contains(block)).count();
        below >= quorums.strong() && having >= quorums.weak()
    };
    candidates.into_iter().rev().find(|block| holds(block)).copied()
}

enum Choice {
    Block(BlockId),
    Null,
    /// Neither condition holds yet.
    Open,
}

fn choose(height: Height, view_changes: &[&ViewChange], quorums: &Quorums) -> Choice {
    let with_log = || view_changes.iter().filter(|message| message.stable.height < height);
    let prepared = |message: &ViewChange| message.prepared.iter().find(|entry| entry.block.height == height).copied();
    let verifies = |candidate: &InView| {
        // A1: a quorum has prepared no other block in this view or later.
        let unopposed = with_log()
            .filter(|message| prepared(message).is_none_or(|other| other.view < candidate.view || other == *candidate));
        // A2: at least one honest replica pre-prepared the block.
        let vouching = view_changes.iter().filter(|message| {
            message.pre_prepared.iter().any(|entry| entry.block == candidate.block && entry.view >= candidate.view)
        });
        unopposed.count() >= quorums.strong() && vouching.count() >= quorums.weak()
    };
    let mut candidates: Vec<_> = view_changes.iter().filter_map(|message| prepared(message)).collect();
    candidates.sort_unstable_by_key(|entry| (core::cmp::Reverse(entry.view), entry.block));
    if let Some(candidate) = candidates.iter().find(|candidate| verifies(candidate)) {
        return Choice::Block(candidate.block);
    }
    // B: a quorum has prepared no block.
    let without = with_log().filter(|message| prepared(message).is_none()).count();
    if without >= quorums.strong() { Choice::Null } else { Choice::Open }
}

impl Pbft {
    /// As primary: starts the view once the view-changes decide it and all chosen bodies are available.
    pub(super) fn try_new_view(&mut self, effects: &mut Vec<Effect>) {
        if !self.is_changing || !self.is_primary() {
            return;
        }
        let of_view = self.view_changes.values().filter(|message| view_of(message) == self.view);
        let messages: Vec<PbftMessage> = of_view.map(|message| message.as_ref().clone()).collect();
        if messages.len() < self.quorums().strong() {
            return;
        }
        let Some(Decision { checkpoint, chosen }) = self.decide(&messages) else {
            return effects.push(Effect::Mark("pbft/undecided-view"));
        };
        if checkpoint.height > self.head.height {
            return effects.push(Effect::Mark("pbft/primary-behind"));
        }
        // A3: the primary has the bodies that it proposes.
        let missing: Vec<_> = chosen.iter().filter(|block| self.misses_body(block)).copied().collect();
        if !missing.is_empty() {
            return missing.into_iter().for_each(|block| self.fetch_body(block, effects));
        }
        let body =
            Body::NewView(NewView { view: self.view, view_changes: messages, checkpoint, chosen: chosen.clone() });
        let Some(signer) = self.signer.as_ref() else { return };
        let message = Arc::new(PbftMessage::signed(body, signer));
        self.enter(self.view, message.clone(), checkpoint, &chosen, effects);
        broadcast(&message, self.last_write, effects);
        self.resume_chosen(&chosen, effects);
    }

    pub(super) fn on_new_view(
        &mut self,
        sender: Address,
        new_view: &NewView,
        message: &Arc<PbftMessage>,
        effects: &mut Vec<Effect>,
    ) -> Result<(), MessageError> {
        let (got, current, limit) = (new_view.view, self.view, VIEW_CHANGES_AHEAD_MAX);
        if got < current || (got == current && !self.is_changing) {
            return Err(MessageError::OldView { got, current });
        }
        if got.get() > current.get().saturating_add(limit) {
            return Err(MessageError::FarView { got, current, limit });
        }
        if sender != self.committee().primary(got) {
            return Err(MessageError::NotPrimary { signer: sender, view: got });
        }
        let claims = self.check_view_changes(new_view)?;
        let decision = self.decide(&new_view.view_changes);
        let (checkpoint, chosen) = (new_view.checkpoint, new_view.chosen.clone());
        if decision != Some(Decision { checkpoint, chosen: chosen.clone() }) {
            return Err(MessageError::Malformed { what: "its view-changes give another new-view" });
        }
        for (validator, height) in claims {
            self.claim(validator, height);
        }
        self.cancel_build(effects);
        self.enter(got, message.clone(), checkpoint, &chosen, effects);
        self.resume_chosen(&chosen, effects);
        Ok(())
    }

    /// Verifies a new-view's view-changes, and returns the height of each signer's newest checkpoint.
    fn check_view_changes(&self, new_view: &NewView) -> Result<Vec<(Address, Height)>, MessageError> {
        let malformed = |what| MessageError::Malformed { what };
        let count = new_view.view_changes.len();
        if count < self.quorums().strong() || count > self.committee().validators().len() {
            return Err(malformed("a new-view without a quorum of view-changes"));
        }
        let mut claims: Vec<(Address, Height)> = Vec::with_capacity(count);
        for message in &new_view.view_changes {
            let Body::ViewChange(view_change) = &message.body else {
                return Err(malformed("a new-view with a message that is not a view-change"));
            };
            if view_change.view != new_view.view {
                return Err(malformed("a new-view with a view-change to another view"));
            }
            let (got, current) = (view_change.since, self.transition.since());
            if got != current {
                return Err(MessageError::OtherCommittee { got, current });
            }
            let signer = self.signed_by_validator(message)?;
            if claims.last().is_some_and(|(last, _)| *last >= signer) {
                return Err(malformed("a new-view with view-changes out of order"));
            }
            self.check_form(view_change)?;
            claims.push((signer, view_change.checkpoints.last().map_or(Height::GENESIS, |block| block.height)));
        }
        Ok(claims)
    }

    fn decide(&self, messages: &[PbftMessage]) -> Option<Decision> {
        let bodies = messages.iter().filter_map(|message| match &message.body {
            Body::ViewChange(view_change) => Some(view_change),
            _ => None,
        });
        decide(&bodies.collect::<Vec<_>>(), self.quorums(), self.config.log_window)
    }

    /// Returns whether the body of a chosen block that is not committed is missing.
    pub(super) fn misses_body(&self, block: &BlockId) -> bool {
        let held = self.log.slot(block.height).is_some_and(|slot| slot.bodies.contains_key(&block.hash));
        block.height > self.head.height && !held
    }

    /// Enters the view and sets the chosen blocks as its proposals.
    fn enter(
        &mut self,
        view: View,
        message: Arc<PbftMessage>,
        checkpoint: BlockId,
        chosen: &[BlockId],
        effects: &mut Vec<Effect>,
    ) {
        (self.view, self.is_changing, self.is_awaited) = (view, false, false);
        self.new_view = Some(message);
        self.view_changes.retain(|_, earlier| view_of(earlier) > view);
        self.forget_suspicions();
        self.wanted.clear();
        self.log.begin_view(view);
        if self.log.checkpoints.get(&checkpoint.height) == Some(&checkpoint.hash) {
            self.make_stable(checkpoint);
        }
        let is_primary = self.is_primary();
        if self.me.is_some() {
            self.journal.view(self.transition.since(), view, Some(chosen));
        }
        for block in chosen {
            if let Some(slot) = self.log.slot_mut(block.height) {
                slot.proposal = Some(Proposal { hash: block.hash, status: ProposalStatus::Waiting, is_chosen: true });
                // The new-view counts as its primary's pre-prepare of the chosen blocks.
                if is_primary {
                    slot.pre_prepare(view, block.hash);
                    self.journal.pre_prepared(view, *block);
                }
            }
        }
        if self.me.is_some() {
            self.persist(effects);
        }
        effects.push(Effect::Mark("pbft/new-view"));
    }

    /// Resumes in a new view: votes for chosen blocks that are already committed, executes or fetches the others, then
    /// handles proposals that arrived before the new-view.
    fn resume_chosen(&mut self, chosen: &[BlockId], effects: &mut Vec<Effect>) {
        for block in chosen {
            if self.misses_body(block) {
                self.fetch_body(*block, effects);
            }
            let committed = self.log.slot(block.height).and_then(|slot| slot.committed);
            match committed {
                Some((_, hash)) if hash == block.hash => self.vote_for(*block, effects),
                Some(_) => {
                    effects.push(Effect::Mark("pbft/conflicting-new-view"));
                    self.set_status(block.height, ProposalStatus::Rejected);
                }
                None => {}
            }
        }
        self.arm_suspect(effects);
        self.execute_next(effects);
        self.accept_early_proposals(effects);
        self.schedule_block(effects);
    }

    fn accept_early_proposals(&mut self, effects: &mut Vec<Effect>) {
        let heights: Vec<_> = self.log.slots.keys().copied().collect();
        for height in heights {
            let Some(slot) = self.log.slots.get_mut(&height) else { continue };
            let Some(PbftMessage { body: Body::PrePrepare { view, block }, .. }) = slot.early.as_deref() else {
                continue;
            };
            let (view, block) = (*view, block.clone());
            if view > self.view {
                continue;
            }
            slot.early = None;
            if view == self.view && !self.is_changing {
                let primary = self.committee().primary(view);
                if self.accept_proposal(primary, &block, effects).is_err() {
                    effects.push(Effect::Mark("pbft/useless-early-proposal"));
                }
            }
        }
    }
}
