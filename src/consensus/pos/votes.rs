//! Votes: counting, waiting for their blocks, and finding out who voted twice.

use std::sync::Arc;

use super::{MessageError, Offence, Pos, PosMessage, Vote, forget, tree::state_in};
use crate::{
    consensus::{BlockId, Effect, Evidence, Message, Recipients, Rejection, ReplicaId},
    primitives::Address,
};

/// Votes that wait for their block, of one validator.
const WAITING_OF_VALIDATOR_MAX: usize = 4;
/// Votes that wait for their block.
const WAITING_MAX: usize = 512;
/// Epochs below the final one of which votes and proposals are kept, to find offences that come late.
pub(super) const HISTORY_EPOCHS: u64 = 8;
/// Epochs of which votes are kept at most, when finality is late.
const HISTORY_EPOCHS_MAX: u64 = 64;

/// A vote for a block that is not here.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    pub(super) from: ReplicaId,
    pub(super) vote: Arc<Vote>,
}

/// From when on a vote counts in fork choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counting {
    /// At once.
    Now,
    /// From the slot after its own, so that nobody's late vote sways those of its slot.
    AfterItsSlot,
}

impl Pos {
    pub(super) fn on_vote(&mut self, from: ReplicaId, vote: &Vote, effects: &mut Vec<Effect>) -> Result<(), Rejection> {
        let signer = vote.signer(&self.authenticator).map_err(MessageError::from)?;
        let (data, target) = (&vote.data, vote.data.target.epoch);
        if self.config.epoch_of(data.slot) != target || data.source.epoch > target {
            return Err(MessageError::Malformed { what: "slot, target and source of a vote do not fit" }.into());
        }
        if self.signer.as_ref().is_some_and(|own| own.address() == signer) && self.is_own(vote) {
            return Err(MessageError::Known.into());
        }
        if self.votes.get(&(signer, target)).is_some_and(|known| known.data == *data) {
            return Err(MessageError::Known.into());
        }
        // Without a clock a vote comes with its block or before it.
        let latest = self.slot.saturating_add(if self.has_timers() { 1 } else { self.config.reach() });
        if data.slot > latest {
            return Err(MessageError::FutureSlot { slot: data.slot, now: self.slot }.into());
        }
        self.check_known(&signer)?;
        if target + 1 < self.epoch() {
            return self.on_old_vote(signer, vote, effects);
        }
        let Some(node) = self.tree.get(&data.head.hash).cloned() else {
            return self.keep_vote(from, signer, vote, effects);
        };
        let state = &node.link.state;
        if state.slot > data.slot || node.link.block != data.head {
            return Err(MessageError::Malformed { what: "the head is newer than the vote" }.into());
        }
        let state = state_in(&self.config, state, target);
        if state.checkpoints[1] != data.target {
            return Err(MessageError::Malformed { what: "the target is not on the head's branch" }.into());
        }
        match state.current.attestation_slot(&self.config, &signer) {
            None => return Err(MessageError::NotValidator { signer, epoch: target }.into()),
            Some(duty) if data.slot < duty => {
                return Err(MessageError::Malformed { what: "the vote is before its validator's duty" }.into());
            }
            Some(_) => {}
        }
        self.note_peer(from);
        let counting = if self.has_timers() && data.slot >= self.slot { Counting::AfterItsSlot } else { Counting::Now };
        self.count(signer, Arc::new(vote.clone()), counting, effects);
        if !self.has_timers() {
            self.update_head(effects);
            self.plan(effects);
        }
        Ok(())
    }

    /// A vote that no longer counts may still prove an offence.
    fn on_old_vote(&mut self, signer: Address, vote: &Vote, effects: &mut Vec<Effect>) -> Result<(), Rejection> {
        match self.contradiction(&signer, vote) {
            Some(offence) if self.is_news(&signer, &offence) => {
                self.punish(signer, offence, true, effects);
                Ok(())
            }
            _ => Err(MessageError::OldEpoch { epoch: vote.data.target.epoch, now: self.epoch() }.into()),
        }
    }

    fn keep_vote(
        &mut self,
        from: ReplicaId,
        signer: Address,
        vote: &Vote,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Rejection> {
        let key = (signer, vote.data.slot);
        if self.waiting.contains_key(&key) {
            return Err(MessageError::Known.into());
        }
        let of_validator = self.waiting.range((signer, 0)..=(signer, u64::MAX)).count();
        if self.waiting.len() >= WAITING_MAX || of_validator >= WAITING_OF_VALIDATOR_MAX {
            return Err(MessageError::Overloaded { limit: WAITING_MAX }.into());
        }
        if vote.data.head.height <= self.tree.root().height {
            return Err(MessageError::NotFinal { block: vote.data.head }.into());
        }
        let head = vote.data.head;
        self.waiting.insert(key, Waiting { from, vote: Arc::new(vote.clone()) });
        let is_coming = self.is_waiting(&head);
        if !is_coming && !self.is_far(head.height) {
            effects.push(Effect::Fetch { block: head, from });
            effects.push(Effect::Mark("pos/fetch-voted"));
        }
        Ok(())
    }

    /// Looks again at votes that waited for `block`.
    pub(super) fn release_votes(&mut self, block: BlockId, effects: &mut Vec<Effect>) {
        let ready: Vec<_> =
            self.waiting.iter().filter(|(_, waiting)| waiting.vote.data.head == block).map(|(key, _)| *key).collect();
        for key in ready {
            if let Some(Waiting { from, vote }) = self.waiting.remove(&key)
                && let Err(rejection) = self.on_vote(from, &vote, effects)
            {
                effects.push(Effect::Reject(rejection));
            }
        }
    }

    /// Takes a vote that is of its branch: keeps it, counts it, and compares it with what its validator said before.
    pub(super) fn count(&mut self, signer: Address, vote: Arc<Vote>, counting: Counting, effects: &mut Vec<Effect>) {
        let epoch = vote.data.target.epoch;
        if let Some(offence) = self.contradiction(&signer, &vote) {
            self.punish(signer, offence, true, effects);
        }
        if !self.votes.contains_key(&(signer, epoch)) {
            self.votes.insert((signer, epoch), vote.clone());
        }
        match counting {
            Counting::AfterItsSlot => drop(self.fresh.insert(signer, vote)),
            Counting::Now if self.tree.get(&vote.data.head.hash).is_some() => {
                self.tree.vote(signer, epoch, vote.data.head.hash);
            }
            Counting::Now => {}
        }
    }

    /// Lets the votes of earlier slots count.
    pub(super) fn count_fresh(&mut self) {
        let now = self.slot;
        let due: Vec<_> =
            self.fresh.iter().filter(|(_, vote)| vote.data.slot < now).map(|(signer, _)| *signer).collect();
        for signer in due {
            if let Some(vote) = self.fresh.remove(&signer) {
                self.tree.vote(signer, vote.data.target.epoch, vote.data.head.hash);
            }
        }
    }

    /// An offence that this vote makes together with an earlier one.
    fn contradiction(&self, signer: &Address, vote: &Vote) -> Option<Offence> {
        let of_signer = self.votes.range((*signer, 0)..=(*signer, u64::MAX));
        of_signer.map(|(_, known)| known).find_map(|known| Offence::of_votes(known, vote))
    }

    pub(super) fn on_offence(&mut self, offence: &Offence, effects: &mut Vec<Effect>) -> Result<(), Rejection> {
        let refuse = |_| MessageError::Malformed { what: "evidence proves nothing" };
        let offender = offence.offender(&self.authenticator).map_err(refuse)?;
        if !self.is_news(&offender, offence) {
            return Err(MessageError::Known.into());
        }
        let epoch = self.config.epoch_of(offence.slot());
        let oldest = self.epoch().saturating_sub(self.config.unbonding_epochs);
        if epoch > self.epoch() + 1 || epoch < oldest {
            return Err(MessageError::OldEpoch { epoch, now: self.epoch() }.into());
        }
        self.check_known(&offender)?;
        self.punish(offender, offence.clone(), false, effects);
        Ok(())
    }

    /// Whether an offence is the first that is known of its offender, or the first by votes: those take its votes out of fork
    /// choice, whatever else it did before.
    fn is_news(&self, offender: &Address, offence: &Offence) -> bool {
        let by_votes = matches!(offence, Offence::Votes { .. });
        !self.offences.contains_key(offender) || (by_votes && !self.tree.forks.equivocators().contains(offender))
    }

    /// Takes an offender's votes out of fork choice, keeps the proof for a block, and tells the world, once.
    pub(super) fn punish(&mut self, offender: Address, offence: Offence, is_own: bool, effects: &mut Vec<Effect>) {
        if !self.is_news(&offender, &offence) {
            return;
        }
        if matches!(offence, Offence::Votes { .. }) {
            self.tree.discount(offender);
        }
        let offence = Arc::new(offence);
        self.offences.insert(offender, offence.clone());
        effects.push(Effect::Mark("pos/offence"));
        effects.push(Effect::Evidence(Evidence::Slashable { offender, offence: offence.clone() }));
        if is_own {
            let message = Message::Pos(Arc::new(PosMessage::Offence(offence.as_ref().clone())));
            effects.push(Effect::Send { to: Recipients::Others, message, after: None });
        }
    }

    /// Forgets votes that neither count nor could prove anything that is likely.
    pub(super) fn forget_old_votes(&mut self) {
        let oldest = self.tree.finalized.epoch.saturating_sub(HISTORY_EPOCHS);
        let oldest = oldest.max(self.epoch().saturating_sub(HISTORY_EPOCHS_MAX));
        forget(&mut self.votes, |(_, epoch), _| *epoch < oldest);
        let oldest = self.epoch().saturating_sub(self.config.unbonding_epochs);
        let config = self.config;
        forget(&mut self.offences, |_, offence| config.epoch_of(offence.slot()) < oldest);
    }

    /// Whether it is this replica's own newest vote, reflected.
    fn is_own(&self, vote: &Vote) -> bool {
        self.promises.vote.as_ref().is_some_and(|own| own.data == vote.data)
    }
}
