//! Evidence of equivocation: collection, gossip and inclusion in blocks.
//!
//! No honest replica signs two blocks at one height, in one view and phase, since its votes are durable before they are sent.
//! A replica that receives such a pair broadcasts it, and the next primaries include it in a block's payload, where every
//! replica verifies it. The offender is removed from the committee at the next checkpoint, and on a chain with stake the
//! staking contract slashes it.

use std::sync::Arc;

use super::{
    Body, DoubleSigning, MessageError, Pbft, PbftMessage, Phase, View, broadcast,
    double_signing::EVIDENCE_PER_BLOCK_MAX,
};
use crate::{
    consensus::{
        BlockId, Effect, Evidence, OffenceProof, Rejection,
        mutation::{self, Mutation},
    },
    primitives::{Address, B256, Height},
};

impl Pbft {
    /// Reports equivocation that this replica observed, once its two signatures prove it, stores and broadcasts the proof.
    pub(super) fn report_equivocation(
        &mut self,
        offender: Address,
        height: Height,
        (first, second): (B256, B256),
        proof: Option<DoubleSigning>,
        effects: &mut Vec<Effect>,
    ) {
        if mutation::active(Mutation::PbftAccusesWithoutProof) {
            effects.push(Effect::Evidence(Evidence::DoubleSign { offender, height, first, second }));
        }
        let Some(proof) = proof else { return };
        let Ok(offender) = self.take_evidence(&proof) else { return };
        effects.push(Effect::Evidence(Evidence::DoubleSign { offender, height, first, second }));
        effects.push(Effect::Mark("pbft/evidence"));
        self.broadcast_evidence(&proof, effects);
    }

    /// Returns the offender that evidence from outside proves, if the next block may include it and this replica holds none against it.
    ///
    /// # Errors
    /// [`MessageError`].
    pub fn check_offence(&self, proof: &DoubleSigning) -> Result<Address, MessageError> {
        let offender = self.transition.check_evidence(&self.config, self.log.high(), proof, &self.authenticator)?;
        if self.evidence.contains_key(&offender) { Err(MessageError::Known) } else { Ok(offender) }
    }

    /// Stores and broadcasts evidence from outside, as that of messages which this replica has received itself.
    pub(super) fn on_offence(&mut self, proof: &OffenceProof, effects: &mut Vec<Effect>) -> Result<(), Rejection> {
        let OffenceProof::Pbft(proof) = proof else {
            return Err(Rejection::Unexpected { what: "evidence of another protocol" });
        };
        self.on_evidence(proof, effects)?;
        self.broadcast_evidence(proof, effects);
        Ok(())
    }

    /// Stores new evidence, another validator's or this replica's, and tells of it.
    pub(super) fn on_evidence(&mut self, proof: &DoubleSigning, effects: &mut Vec<Effect>) -> Result<(), MessageError> {
        let offender = self.take_evidence(proof)?;
        let (height, (first, second)) = (proof.height(), proof.blocks());
        effects.push(Effect::Evidence(Evidence::DoubleSign { offender, height, first, second }));
        effects.push(Effect::Mark("pbft/evidence"));
        Ok(())
    }

    /// Stores evidence until a block includes it, one piece per validator.
    fn take_evidence(&mut self, proof: &DoubleSigning) -> Result<Address, MessageError> {
        let offender = self.check_offence(proof)?;
        self.evidence.insert(offender, proof.clone());
        Ok(offender)
    }

    /// Iterates over the validators whose equivocation this replica can prove, and no block that it has includes yet.
    pub(crate) fn proven_offenders(&self) -> impl Iterator<Item = Address> {
        self.evidence.keys().copied()
    }

    /// Returns the member that signed a vote, if the log takes votes of its view and height.
    pub(crate) fn logged_vote(&self, message: &PbftMessage) -> Option<(Address, Phase, View, BlockId)> {
        let (phase, view, block) = match &message.body {
            Body::Prepare { view, block } => (Phase::Prepare, *view, *block),
            Body::Commit { view, block } => (Phase::Commit, *view, *block),
            _ => return None,
        };
        let is_settled = self.log.slot(block.height).is_some_and(|slot| slot.is_settled(view));
        self.check_place(view, block.height).ok().filter(|()| !is_settled)?;
        let sender = self.signed_by_validator(message).ok()?;
        (phase != Phase::Prepare || sender != self.committee().primary(view)).then_some((sender, phase, view, block))
    }

    /// Returns the evidence in a message of a member, if its height is committed here.
    pub(crate) fn evidence_of<'a>(&self, message: &'a PbftMessage) -> Option<&'a DoubleSigning> {
        let Body::Evidence(proof) = &message.body else { return None };
        (proof.height() <= self.head.height && self.signed_by_validator(message).is_ok()).then_some(proof)
    }

    /// Resends evidence that no block includes yet.
    pub(super) fn resend_evidence(&self, effects: &mut Vec<Effect>) {
        self.evidence.values().for_each(|proof| self.broadcast_evidence(proof, effects));
    }

    fn broadcast_evidence(&self, proof: &DoubleSigning, effects: &mut Vec<Effect>) {
        if let (Some(_), Some(signer)) = (self.me, &self.signer) {
            let message = PbftMessage::signed(Body::Evidence(proof.clone()), signer);
            broadcast(&Arc::new(message), None, effects);
        }
    }

    /// Returns the evidence for a block at `height`.
    pub(super) fn evidence_for(&self, height: Height) -> Vec<DoubleSigning> {
        let is_due = |proof: &&DoubleSigning| {
            self.transition.check_evidence(&self.config, height, proof, &self.authenticator).is_ok()
        };
        self.evidence.values().filter(is_due).take(EVIDENCE_PER_BLOCK_MAX).cloned().collect()
    }

    /// Drops evidence against validators that are convicted, or whose stake is withdrawable.
    pub(super) fn forget_evidence(&mut self) {
        let (config, transition, height) = (self.config, &self.transition, self.head.height);
        self.evidence.retain(|offender, _| {
            transition.is_accountable(&config, height, offender) && !transition.convicted().contains(offender)
        });
    }
}
