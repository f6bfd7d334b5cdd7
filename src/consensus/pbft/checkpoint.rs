//! Checkpoints and garbage collection (section 4.4 of the paper).

use std::sync::Arc;

use super::{Body, MessageError, Pbft, PbftMessage, broadcast};
use crate::{
    consensus::{BlockId, Effect, Evidence, Ticket},
    primitives::{Address, Height},
};

impl Pbft {
    /// Broadcasts, once `after` is durable, that this replica committed this checkpoint.
    pub(super) fn vote_checkpoint(&mut self, block: BlockId, after: Option<Ticket>, effects: &mut Vec<Effect>) {
        if let (Some(me), Some(message)) = (self.me, self.checkpoint_message(block)) {
            broadcast(&message, after, effects);
            if self.log.contains(block.height) {
                self.log.checkpoint_votes.entry(block.height).or_default().insert(me, block.hash);
            }
        }
        self.stabilize(block.height, effects);
    }

    pub(super) fn on_checkpoint(
        &mut self,
        sender: Address,
        block: BlockId,
        effects: &mut Vec<Effect>,
    ) -> Result<(), MessageError> {
        let (height, (low, high)) = (block.height, self.watermarks());
        if !self.config.is_checkpoint(&block) {
            return Err(MessageError::Malformed { what: "height is not a checkpoint height" });
        }
        if !self.log.contains(height) {
            return Err(MessageError::Watermarks { height, low, high });
        }
        let votes = self.log.checkpoint_votes.entry(height).or_default();
        match votes.get(&sender).copied() {
            Some(first) if first != block.hash => {
                let (offender, second) = (sender, block.hash);
                effects.push(Effect::Evidence(Evidence::DoubleSign { offender, height, first, second }));
                Err(MessageError::Contradiction { signer: offender })
            }
            Some(_) => Err(MessageError::Known),
            None => {
                votes.insert(sender, block.hash);
                self.stabilize(height, effects);
                Ok(())
            }
        }
    }

    /// Raises the low watermark to this replica's own checkpoint at `height` once a quorum voted for it.
    fn stabilize(&mut self, height: Height, effects: &mut Vec<Effect>) {
        let Some(hash) = self.log.checkpoints.get(&height).copied() else { return };
        let Some(votes) = self.log.checkpoint_votes.get(&height) else { return };
        let agreeing = votes.values().filter(|vote| **vote == hash).count();
        if agreeing >= self.quorums().strong() {
            self.make_stable(BlockId { height, hash });
            effects.push(Effect::Mark("pbft/stable-checkpoint"));
            self.schedule_block(effects);
        } else if votes.len() - agreeing >= self.quorums().strong() {
            effects.push(Effect::Mark("pbft/conflicting-checkpoint"));
        }
    }

    /// Makes the newest own checkpoint below a synced head stable: the quorum that certified the head committed its parent,
    /// so it has the checkpoint too, even where the votes for it were lost.
    pub(super) fn trust_proven_checkpoint(&mut self) {
        let newest = self.log.checkpoints.range(..self.head.height).next_back();
        let newest = newest.map(|(height, hash)| BlockId { height: *height, hash: *hash });
        if let Some(block) = newest {
            self.make_stable(block);
        }
    }

    /// Raises the low watermark to a checkpoint that a quorum has; the next write deletes the records below it.
    pub(super) fn make_stable(&mut self, checkpoint: BlockId) {
        if checkpoint.height <= self.log.stable.height {
            return;
        }
        self.log.make_stable(checkpoint);
        self.journal.stable(checkpoint, self.head.height);
    }

    /// Votes again for its checkpoints that are not stable: after a restart of all replicas the votes are lost.
    pub(super) fn vote_again(&mut self, effects: &mut Vec<Effect>) {
        let stable = self.log.stable.height;
        let unstable: Vec<_> = self.log.own_checkpoints().filter(|block| block.height > stable).collect();
        for block in unstable {
            self.vote_checkpoint(block, None, effects);
        }
    }

    pub(super) fn resend_checkpoint(&self, effects: &mut Vec<Effect>) {
        let newest = self.log.own_checkpoints().last();
        let unstable = newest.filter(|block| block.height > self.log.stable.height);
        if let Some(message) = unstable.filter(|_| self.me.is_some()).and_then(|block| self.checkpoint_message(block)) {
            broadcast(&message, self.last_write, effects);
        }
    }

    pub(super) fn checkpoint_message(&self, block: BlockId) -> Option<Arc<PbftMessage>> {
        Some(Arc::new(PbftMessage::signed(Body::Checkpoint { block }, self.signer.as_ref()?)))
    }
}
