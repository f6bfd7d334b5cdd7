//! Votes: counting, votes for unknown blocks, detection of offences.

use std::sync::Arc;

use super::{MessageError, Pos, PosMessage, SlashingEvidence, Vote, remove_old, tree::state_in};
use crate::{
    consensus::{
        BlockId, ConsensusMessage, Effect, Evidence, Recipients, Rejection, ReplicaId,
        mutation::{self, Mutation},
    },
    primitives::{Address, Timestamp},
};

/// Most votes of one validator kept for unknown blocks.
const UNKNOWN_BLOCK_VOTES_PER_VALIDATOR_MAX: usize = 4;
/// Most votes kept for unknown blocks.
const UNKNOWN_BLOCK_VOTES_MAX: usize = 4_096;
/// Number of epochs below the final one whose votes and proposals are kept, to detect late offences.
///
/// A vote that surrounds an older one has a source below it, which no branch above the final checkpoint has justified, so that it
/// counts on no branch that a replica follows. Who finalises another history with such votes is named by the votes in the blocks
/// of both ([`offenders`](super::offenders)).
pub(super) const HISTORY_EPOCHS: u64 = 8;
/// Largest number of epochs whose votes are kept when finality stalls.
const HISTORY_EPOCHS_MAX: u64 = 64;

/// A vote for a block that is not in the tree.
#[derive(Clone, Debug)]
pub(super) struct UnknownBlockVote {
    /// Sender of the vote; `None` for one that a block carries.
    pub(super) from: Option<ReplicaId>,
    pub(super) vote: Arc<Vote>,
}

/// Time from which a vote counts in fork choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counting {
    /// Immediately.
    Now,
    /// From the slot after its own, which ends then, so that a late vote does not influence other votes of its slot.
    AfterItsSlot { ends: Timestamp },
    /// Immediately, and for good: a block carries it.
    InBlock,
}

impl Pos {
    pub(super) fn on_vote(&mut self, from: ReplicaId, vote: &Vote, effects: &mut Vec<Effect>) -> Result<(), Rejection> {
        let signer = vote.signer(&self.authenticator).map_err(MessageError::from)?;
        let (data, target) = (&vote.data, vote.data.target.epoch);
        if self.config.epoch_of(data.slot) != target || data.source.epoch > target {
            return Err(MessageError::Malformed { what: "slot, source and target of the vote are inconsistent" }.into());
        }
        if self.signer.as_ref().is_some_and(|own| own.address() == signer) && self.is_own(vote) {
            return Err(MessageError::Known.into());
        }
        if self.votes.get(&(signer, target)).is_some_and(|known| known.data == *data) {
            return Err(MessageError::Known.into());
        }
        // On demand a vote may arrive before its block.
        let latest =
            if self.has_timers() { self.slot.saturating_add(1) } else { self.config.last_slot_after(self.slot) };
        if data.slot > latest && !self.has_begun(vote) {
            return Err(MessageError::FutureSlot { slot: data.slot, now: self.slot }.into());
        }
        let may_count = self.check_known(&signer).and_then(|()| self.check_recent(target));
        if let Err(refusal) = may_count {
            return self.punish_vote(signer, vote, effects).ok_or(refusal);
        }
        let Some(node) = self.tree.get(&data.head.hash).cloned() else {
            return self.wait_for_block(from, signer, vote, effects);
        };
        let state = &node.context.state;
        if state.slot > data.slot || node.context.block != data.head {
            return Err(MessageError::Malformed { what: "the head is newer than the vote" }.into());
        }
        let state = state_in(&self.config, state, target);
        if state.checkpoints[1] != data.target {
            return Err(MessageError::Malformed { what: "the target is not on the head's branch" }.into());
        }
        match state.current.attestation_slot(&self.config, &signer) {
            None => return Err(MessageError::NotValidator { signer, epoch: target }.into()),
            Some(duty) if data.slot < duty => {
                return Err(
                    MessageError::Malformed { what: "the vote is before its validator's attestation slot" }.into()
                );
            }
            Some(_) => {}
        }
        self.remember_peer(from);
        let ends = state.times.time_of(data.slot.saturating_add(1));
        let is_over = !self.has_timers() || ends <= self.times.time_of(self.slot);
        let counting = if is_over { Counting::Now } else { Counting::AfterItsSlot { ends } };
        self.count(signer, Arc::new(vote.clone()), counting, effects);
        if !self.has_timers() {
            self.update_head(effects);
            self.plan(effects);
        }
        Ok(())
    }

    /// Whether a vote's slot has begun, or is the next one, as the branch of its head counts, which may be unlike the own one.
    fn has_begun(&self, vote: &Vote) -> bool {
        let Some(node) = self.tree.get(&vote.data.head.hash).filter(|_| self.has_timers()) else { return false };
        let times = node.context.state.times_at(&self.config, vote.data.slot);
        times.time_of(vote.data.slot) < self.times.time_of(self.slot.saturating_add(2))
    }

    /// Checks that votes for a target of this epoch still count.
    fn check_recent(&self, target: u64) -> Result<(), Rejection> {
        let now = self.epoch();
        if target + 1 < now { Err(MessageError::OldEpoch { epoch: target, now }.into()) } else { Ok(()) }
    }

    /// Reports the offence that a vote which does not count is together with an earlier one: it is too old, or of a validator that
    /// has left and still has locked stake. Returns `None` where there is none to report.
    fn punish_vote(&mut self, signer: Address, vote: &Vote, effects: &mut Vec<Effect>) -> Option<()> {
        let ignores_leavers = mutation::active(Mutation::PosIgnoresLeaversVotes);
        let is_checked = if ignores_leavers { self.check_known(&signer) } else { self.check_accountable(&signer) };
        is_checked.ok()?;
        let offence = self.find_offence(&signer, vote).filter(|offence| self.is_new_offence(&signer, offence))?;
        self.report_offence(signer, offence, true, effects);
        Some(())
    }

    fn wait_for_block(
        &mut self,
        from: ReplicaId,
        signer: Address,
        vote: &Vote,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Rejection> {
        let key = (signer, vote.data.slot);
        if self.unknown_block_votes.contains_key(&key) {
            return Err(MessageError::Known.into());
        }
        if !self.has_room_for_vote(signer) {
            return Err(MessageError::Overloaded { limit: UNKNOWN_BLOCK_VOTES_MAX }.into());
        }
        if vote.data.head.height <= self.tree.root().height {
            return Err(MessageError::NotFinal { block: vote.data.head }.into());
        }
        let head = vote.data.head;
        self.unknown_block_votes.insert(key, UnknownBlockVote { from: Some(from), vote: Arc::new(vote.clone()) });
        // A head that waits for an ancestor may be a liar's, who does not answer; whoever votes for it has the ancestor.
        let asks_for_head_alone = mutation::active(Mutation::PosAsksNoVoterForAncestors);
        let missing = if asks_for_head_alone { head } else { self.intake.orphans.missing_below(head) };
        if !self.is_waiting(&missing) && !self.is_far(head.height) {
            effects.push(Effect::Fetch { block: missing, from });
            effects.push(Effect::Mark("pos/fetch-voted"));
        }
        Ok(())
    }

    fn has_room_for_vote(&self, signer: Address) -> bool {
        let of_validator = self.unknown_block_votes.range((signer, 0)..=(signer, u64::MAX)).count();
        self.unknown_block_votes.len() < UNKNOWN_BLOCK_VOTES_MAX && of_validator < UNKNOWN_BLOCK_VOTES_PER_VALIDATOR_MAX
    }

    /// Counts a vote that a block of the tree carries. While its head is unknown, that block is requested from peers: others
    /// with the same blocks may have it, and count the vote.
    pub(super) fn count_in_block(&mut self, signer: Address, vote: Vote, effects: &mut Vec<Effect>) {
        let head = vote.data.head;
        let is_missing = self.tree.get(&head.hash).is_none() && head.height > self.tree.root().height;
        let key = (signer, vote.data.slot);
        let vote = Arc::new(vote);
        if is_missing && !self.unknown_block_votes.contains_key(&key) && self.has_room_for_vote(signer) {
            self.unknown_block_votes.insert(key, UnknownBlockVote { from: None, vote: vote.clone() });
        }
        self.count(signer, vote, Counting::InBlock, effects);
    }

    /// Processes the votes for `block`, which was unknown before.
    pub(super) fn release_votes(&mut self, block: BlockId, effects: &mut Vec<Effect>) {
        let ready: Vec<_> = self
            .unknown_block_votes
            .iter()
            .filter(|(_, unknown)| unknown.vote.data.head == block)
            .map(|(key, _)| *key)
            .collect();
        for key in ready {
            match self.unknown_block_votes.remove(&key) {
                Some(UnknownBlockVote { from: None, vote }) => {
                    self.count(key.0, vote, Counting::InBlock, effects);
                }
                Some(UnknownBlockVote { from: Some(from), vote }) => {
                    if let Err(rejection) = self.on_vote(from, &vote, effects) {
                        effects.push(Effect::Reject(rejection));
                    }
                }
                None => {}
            }
        }
    }

    /// Stores and counts a verified vote, and detects an offence together with its validator's earlier votes.
    pub(super) fn count(&mut self, signer: Address, vote: Arc<Vote>, counting: Counting, effects: &mut Vec<Effect>) {
        let epoch = vote.data.target.epoch;
        if let Some(offence) = self.find_offence(&signer, &vote) {
            self.report_offence(signer, offence, true, effects);
        }
        if !self.votes.contains_key(&(signer, epoch)) {
            self.votes.insert((signer, epoch), vote.clone());
        }
        match counting {
            Counting::AfterItsSlot { ends } => drop(self.queued_votes.insert(signer, (ends, vote))),
            Counting::InBlock if self.tree.get(&vote.data.head.hash).is_some() => {
                self.tree.vote_in_block(signer, epoch, vote.data.head.hash);
            }
            Counting::Now if self.tree.get(&vote.data.head.hash).is_some() => {
                self.tree.vote(signer, epoch, vote.data.head.hash);
            }
            Counting::Now | Counting::InBlock => {}
        }
    }

    /// Counts the queued votes of earlier slots.
    pub(super) fn count_queued_votes(&mut self) {
        let now = self.times.time_of(self.slot);
        let due: Vec<_> =
            self.queued_votes.iter().filter(|(_, (ends, _))| *ends <= now).map(|(signer, _)| *signer).collect();
        for signer in due {
            if let Some((_, vote)) = self.queued_votes.remove(&signer) {
                self.tree.vote(signer, vote.data.target.epoch, vote.data.head.hash);
            }
        }
    }

    /// Returns the offence of this vote and an earlier one of the same validator, if any.
    fn find_offence(&self, signer: &Address, vote: &Vote) -> Option<SlashingEvidence> {
        let of_signer = self.votes.range((*signer, 0)..=(*signer, u64::MAX));
        of_signer.map(|(_, known)| known).find_map(|known| SlashingEvidence::of_votes(known, vote))
    }

    pub(super) fn on_offence(
        &mut self,
        offence: &SlashingEvidence,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Rejection> {
        let offender = self.check_offence(offence)?;
        self.report_offence(offender, offence.clone(), false, effects);
        Ok(())
    }

    /// Returns whom evidence would be noted against.
    ///
    /// # Errors
    /// [`Rejection::Pos`] for evidence that proves nothing, is known or too old, and against who has no stake to lose.
    pub fn check_offence(&self, offence: &SlashingEvidence) -> Result<Address, Rejection> {
        let refuse = |_| MessageError::Malformed { what: "the evidence proves no offence" };
        let offender = offence.offender(&self.authenticator).map_err(refuse)?;
        if !self.is_new_offence(&offender, offence) {
            return Err(MessageError::Known.into());
        }
        let epoch = self.config.epoch_of(offence.slot());
        if epoch > self.epoch() + 1 || self.is_expired(offence) {
            return Err(MessageError::OldEpoch { epoch, now: self.epoch() }.into());
        }
        self.check_accountable(&offender)?;
        Ok(offender)
    }

    /// Whether an offence is the first known of its offender, or the first that removes its votes from fork choice.
    fn is_new_offence(&self, offender: &Address, offence: &SlashingEvidence) -> bool {
        !self.offences.contains_key(offender)
            || (discounts(offence) && !self.tree.forks.equivocators().contains(offender))
    }

    /// Stores new evidence for a block and reports it; the offender's votes are removed from fork choice.
    ///
    /// (The specifications remove them for conflicting votes, and for two proposals once the evidence is in the justified
    /// state. A block carries only one piece of evidence of an offender, so that replicas with the same blocks may know
    /// different ones: they must follow from either.)
    pub(super) fn report_offence(
        &mut self,
        offender: Address,
        offence: SlashingEvidence,
        is_own: bool,
        effects: &mut Vec<Effect>,
    ) {
        if !self.is_new_offence(&offender, &offence) {
            return;
        }
        if discounts(&offence) {
            self.tree.discount(offender);
        }
        let offence = Arc::new(offence);
        self.offences.insert(offender, offence.clone());
        effects.push(Effect::Mark("pos/offence"));
        effects.push(Effect::Evidence(Evidence::Slashable { offender, offence: offence.clone() }));
        if is_own {
            let message = ConsensusMessage::Pos(Arc::new(PosMessage::Offence(offence.as_ref().clone())));
            effects.push(Effect::Send { to: Recipients::Others, message, after: None });
        }
    }

    /// Removes votes below the history kept and offences that can no longer be punished.
    pub(super) fn remove_old_votes(&mut self) {
        let oldest = self.tree.finalized.epoch.saturating_sub(HISTORY_EPOCHS);
        let oldest = oldest.max(self.epoch().saturating_sub(HISTORY_EPOCHS_MAX));
        remove_old(&mut self.votes, |(_, epoch), _| *epoch < oldest);
        let expired: Vec<_> = self.offences.iter().filter(|(_, offence)| self.is_expired(offence)).collect();
        let expired: Vec<Address> = expired.into_iter().map(|(offender, _)| *offender).collect();
        for offender in &expired {
            self.offences.remove(offender);
        }
    }

    /// Whether evidence no longer counts at the head.
    pub(crate) fn is_expired(&self, offence: &SlashingEvidence) -> bool {
        let (blocks, secs) = offence.age(&self.times, self.tree.head().height, self.slot);
        let window = self.head_state().map_or(self.config.evidence, |state| state.evidence(&self.config));
        window.is_expired(blocks, secs)
    }

    /// Whether `vote` is this replica's own newest vote.
    fn is_own(&self, vote: &Vote) -> bool {
        self.slashing_protection.vote.as_ref().is_some_and(|own| own.data == vote.data)
    }
}

/// Whether evidence removes the offender's votes from fork choice.
fn discounts(offence: &SlashingEvidence) -> bool {
    matches!(offence, SlashingEvidence::Votes { .. }) || !mutation::active(Mutation::PosKeepsMessages)
}
