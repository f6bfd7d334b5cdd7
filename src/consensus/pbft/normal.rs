//! The normal case: pre-prepare, prepare, commit (section 4.3 of the paper).

use std::sync::Arc;

use super::{
    Body, DoubleSigning, MessageError, Pbft, PbftMessage, Phase, Seal, VIEWS_AHEAD_MAX, View,
    log::{Counted, Proposal, ProposalStatus, Vote},
    sync::check_body,
};
use crate::{
    chain::Block,
    consensus::{
        BlockId, ConsensusMessage, Effect, Recipients, ReplicaId,
        mutation::{self, Mutation},
    },
    primitives::{Address, B256, Bytes, Height},
};

impl Pbft {
    pub(super) fn on_pre_prepare(
        &mut self,
        sender: Address,
        view: View,
        block: &Arc<Block>,
        message: &Arc<PbftMessage>,
        effects: &mut Vec<Effect>,
    ) -> Result<(), MessageError> {
        self.check_place(view, block.height())?;
        if sender != self.committee().primary(view) {
            return Err(MessageError::NotPrimary { signer: sender, view });
        }
        if *block.seal() != (Seal::Proposal { view, signature: message.signature.clone() }).encoded() {
            return Err(MessageError::Malformed { what: "the proposed block's seal is another signature" });
        }
        check_body(block)?;
        if block.height() <= self.head.height {
            return Err(MessageError::Known);
        }
        if view == self.view && !self.is_changing {
            return self.accept_proposal(sender, block, effects);
        }
        let Some(slot) = self.log.slot_mut(block.height()) else { return Err(MessageError::Known) };
        match slot.early.as_deref() {
            Some(PbftMessage { body: Body::PrePrepare { view: earlier, .. }, .. }) if *earlier <= view => {
                Err(MessageError::Known)
            }
            _ => {
                slot.early = Some(message.clone());
                Ok(())
            }
        }
    }

    /// Accepts a proposal of the current view, unless its primary proposed another block.
    pub(super) fn accept_proposal(
        &mut self,
        primary: Address,
        block: &Arc<Block>,
        effects: &mut Vec<Effect>,
    ) -> Result<(), MessageError> {
        let (id, view, head, offender) = (BlockId::of(block), self.view, self.head, primary);
        let Some(slot) = self.log.slot_mut(id.height) else { return Err(MessageError::Known) };
        if mutation::active(Mutation::PbftTwoProposals) {
            (slot.proposal, slot.pre_prepared) = (None, Default::default());
        }
        let earlier = slot.pre_prepared.iter().find(|(_, at)| **at == view).map(|(hash, _)| *hash);
        match slot.proposal.map(|proposal| proposal.hash).or(earlier) {
            Some(first) if first != id.hash => {
                let proof = self.double_proposal(first, block);
                if proof.is_some() || mutation::active(Mutation::PbftAccusesWithoutProof) {
                    self.report_equivocation(offender, id.height, (first, id.hash), proof, effects);
                }
                effects.push(Effect::Mark("pbft/equivocating-primary"));
                self.start_view_change(view.next(), effects);
                return Ok(());
            }
            _ if slot.proposal.is_some() => return Err(MessageError::Known),
            _ => {}
        }
        if id.height == head.height.next() && block.parent_hash() != head.hash {
            return Err(MessageError::Parent { got: block.parent_hash(), head });
        }
        slot.proposal = Some(Proposal { hash: id.hash, status: ProposalStatus::Waiting, is_chosen: false });
        slot.bodies.insert(id.hash, block.clone());
        self.execute_next(effects);
        Ok(())
    }

    /// Returns the proof that the primary of this view proposed both `first` and `second`, if the body of `first` is available.
    fn double_proposal(&self, first: B256, second: &Block) -> Option<DoubleSigning> {
        let first = self.log.slot(second.height())?.bodies.get(&first)?;
        let signature = |block: &Block| match Seal::decode(block.seal()) {
            Ok(Seal::Proposal { view, signature }) if view == self.view => Some((block.hash(), signature)),
            _ => None,
        };
        let (one, other) = (signature(first)?, signature(second)?);
        Some(DoubleSigning::new(Phase::PrePrepare, self.view, second.height(), one, other))
    }

    /// Sends the primary's proposal to a replica that prepares another block, as proof of equivocation.
    fn show_proposal(&self, height: Height, hash: B256, to: ReplicaId, effects: &mut Vec<Effect>) {
        let slot = self.log.slot(height);
        let Some((slot, proposal)) = slot.and_then(|slot| Some((slot, slot.proposal?))) else { return };
        let body = slot.bodies.get(&proposal.hash).filter(|_| proposal.hash != hash);
        if let Some(message) = body.and_then(|body| self.proposal_of_view(body)) {
            effects.push(Effect::Mark("pbft/shown-other-proposal"));
            let message = ConsensusMessage::Pbft(message);
            effects.push(Effect::Send { to: Recipients::One(to), message, after: None });
        }
    }

    pub(super) fn on_prepare(
        &mut self,
        (sender, from): (Address, ReplicaId),
        view: View,
        block: BlockId,
        signature: &Bytes,
        effects: &mut Vec<Effect>,
    ) -> Result<(), MessageError> {
        self.check_place(view, block.height)?;
        if sender == self.committee().primary(view) {
            return Err(MessageError::Malformed { what: "a primary sends no prepare; its pre-prepare counts as one" });
        }
        let Some(slot) = self.log.slot_mut(block.height) else { return Err(MessageError::Known) };
        if slot.is_settled(view) {
            return Ok(());
        }
        let vote = Vote { view, hash: block.hash, signature: signature.clone() };
        let counted = slot.prepares.count(sender, vote);
        if counted == Counted::Yes && view == self.view && !self.is_changing {
            self.show_proposal(block.height, block.hash, from, effects);
        }
        self.after_vote(Phase::Prepare, counted, (sender, signature), block, effects)
    }

    pub(super) fn on_commit(
        &mut self,
        sender: Address,
        view: View,
        block: BlockId,
        signature: &Bytes,
        effects: &mut Vec<Effect>,
    ) -> Result<(), MessageError> {
        self.check_place(view, block.height)?;
        let Some(slot) = self.log.slot_mut(block.height) else { return Err(MessageError::Known) };
        if slot.is_settled(view) {
            return Ok(());
        }
        let vote = Vote { view, hash: block.hash, signature: signature.clone() };
        let counted = slot.commits.count(sender, vote);
        self.after_vote(Phase::Commit, counted, (sender, signature), block, effects)
    }

    fn after_vote(
        &mut self,
        phase: Phase,
        counted: Counted,
        (offender, signature): (Address, &Bytes),
        block: BlockId,
        effects: &mut Vec<Effect>,
    ) -> Result<(), MessageError> {
        match counted {
            Counted::Yes => self.progress(block.height, effects),
            Counted::Known => return Err(MessageError::Known),
            Counted::Contradiction { first } => {
                let (height, both) = (block.height, (first.hash, block.hash));
                let (one, other) = ((first.hash, first.signature), (block.hash, signature.clone()));
                let proof = DoubleSigning::new(phase, first.view, height, one, other);
                if self.evidence.contains_key(&offender) {
                    return Err(MessageError::Contradiction { signer: offender });
                }
                self.report_equivocation(offender, height, both, Some(proof), effects);
            }
        }
        Ok(())
    }

    /// Checks that the view is not too old or too far ahead and that the height is between the watermarks.
    pub(super) fn check_place(&self, got: View, height: Height) -> Result<(), MessageError> {
        let (current, limit) = (self.view, VIEWS_AHEAD_MAX);
        if got < current {
            return Err(MessageError::OldView { got, current });
        }
        if got.get() - current.get() > limit {
            return Err(MessageError::FarView { got, current, limit });
        }
        let (low, high) = self.watermarks();
        if self.log.contains(height) { Ok(()) } else { Err(MessageError::Watermarks { height, low, high }) }
    }
}
