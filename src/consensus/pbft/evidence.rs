//! Proof that a validator contradicted itself, and what a block does with it.
//!
//! Two signatures of one validator over two blocks at one height, in one view and of one kind (pre-prepare, prepare or
//! commit) are something that no honest replica gives away: it makes every promise durable before it speaks. Whoever finds
//! such a pair tells the others, and the next primaries put it in a block's payload. There every replica checks it again. The
//! offender leaves the committee at the next checkpoint, and on a chain with stake the staking contract slashes it.

use std::sync::Arc;

use super::{Body, DoubleSigning, MessageError, Pbft, PbftMessage, broadcast, double_signing::EVIDENCE_PER_BLOCK_MAX};
use crate::{
    consensus::{Effect, Evidence},
    primitives::{Address, B256, Height},
};

impl Pbft {
    /// Takes note of a contradiction that this replica saw itself, with the proof where it has it, and tells the others.
    pub(super) fn accuse(
        &mut self,
        offender: Address,
        height: Height,
        (first, second): (B256, B256),
        proof: Option<DoubleSigning>,
        effects: &mut Vec<Effect>,
    ) {
        effects.push(Effect::Evidence(Evidence::DoubleSign { offender, height, first, second }));
        let Some(proof) = proof else { return };
        if self.take_evidence(&proof).is_ok() {
            effects.push(Effect::Mark("pbft/evidence"));
            self.tell_evidence(&proof, effects);
        }
    }

    /// Another validator tells of a contradiction.
    pub(super) fn on_evidence(&mut self, proof: &DoubleSigning, effects: &mut Vec<Effect>) -> Result<(), MessageError> {
        let offender = self.take_evidence(proof)?;
        let (height, (first, second)) = (proof.height(), proof.blocks());
        effects.push(Effect::Evidence(Evidence::DoubleSign { offender, height, first, second }));
        effects.push(Effect::Mark("pbft/evidence"));
        Ok(())
    }

    /// Keeps evidence until a block tells it, one piece a validator.
    fn take_evidence(&mut self, proof: &DoubleSigning) -> Result<Address, MessageError> {
        let (newest, committee) = (self.log.high(), self.transition.committee());
        let offender = proof.check(newest, committee, self.transition.convicted(), &self.authenticator)?;
        if self.evidence.contains_key(&offender) {
            return Err(MessageError::Known);
        }
        self.evidence.insert(offender, proof.clone());
        Ok(offender)
    }

    /// Says again what no block has told yet.
    pub(super) fn resend_evidence(&self, effects: &mut Vec<Effect>) {
        self.evidence.values().for_each(|proof| self.tell_evidence(proof, effects));
    }

    fn tell_evidence(&self, proof: &DoubleSigning, effects: &mut Vec<Effect>) {
        if let (Some(_), Some(signer)) = (self.me, &self.signer) {
            let message = PbftMessage::signed(Body::Evidence(proof.clone()), signer);
            broadcast(&Arc::new(message), None, effects);
        }
    }

    /// What a block at `height` tells.
    pub(super) fn evidence_for(&self, height: Height) -> Vec<DoubleSigning> {
        let is_due = |proof: &&DoubleSigning| {
            proof.check(height, self.transition.committee(), self.transition.convicted(), &self.authenticator).is_ok()
        };
        self.evidence.values().filter(is_due).take(EVIDENCE_PER_BLOCK_MAX).cloned().collect()
    }

    /// Lets go of evidence that was told, or is against nobody who is still there.
    pub(super) fn forget_evidence(&mut self) {
        let (committee, convicted) = (self.transition.committee(), self.transition.convicted());
        self.evidence.retain(|offender, _| committee.contains(offender) && !convicted.contains(offender));
    }
}
