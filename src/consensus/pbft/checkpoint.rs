//! Checkpoints and garbage collection (section 4.4 of the paper).

use std::sync::Arc;

use super::{Body, MessageError, Pbft, PbftMessage, broadcast};
use crate::{
    consensus::{
        BlockId, ConsensusMessage, Effect, Recipients, ReplicaId, Signer, Ticket,
        mutation::{self, Mutation},
    },
    primitives::{Address, Height},
};

impl Pbft {
    /// Broadcasts, once `after` is durable, that this replica committed this checkpoint.
    pub(super) fn vote_checkpoint(&mut self, block: BlockId, after: Option<Ticket>, effects: &mut Vec<Effect>) {
        if let Some(message) = self.checkpoint_message(block).filter(|_| self.me.is_some()) {
            broadcast(&message, after, effects);
        }
        self.count_own_checkpoint(block, effects);
    }

    /// Counts this replica's own vote for a checkpoint that it committed.
    fn count_own_checkpoint(&mut self, block: BlockId, effects: &mut Vec<Effect>) {
        if let Some(me) = self.me.filter(|_| self.log.contains(block.height)) {
            self.log.checkpoint_votes.entry(block.height).or_default().insert(me, block.hash);
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
            // Not evidence, which is two signed votes of the agreement: a checkpoint message decides nothing alone.
            Some(first) if first != block.hash => Err(MessageError::Contradiction { signer: sender }),
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

    /// Makes the newest own checkpoint below a synced block stable: the quorum that certified the block committed its parent,
    /// so it has the checkpoint too, even where the votes for it were lost. The checkpoint's record comes before the block's, which
    /// would else be above the high watermark after a crash between the two.
    pub(super) fn trust_proven_checkpoint(&mut self, synced: Height) {
        let newest = self.log.checkpoints.range(..synced).next_back();
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

    /// Counts its own votes after a restart: no record has them, but each follows from a head.
    pub(super) fn count_own_checkpoints(&mut self, effects: &mut Vec<Effect>) {
        for block in self.unstable_checkpoints() {
            self.count_own_checkpoint(block, effects);
        }
    }

    /// Votes again for its checkpoints that are not stable: after a restart of all replicas the votes are lost.
    pub(super) fn vote_again(&mut self, effects: &mut Vec<Effect>) {
        for block in self.unstable_checkpoints() {
            self.vote_checkpoint(block, None, effects);
        }
    }

    fn unstable_checkpoints(&self) -> Vec<BlockId> {
        let stable = self.log.stable.height;
        self.log.own_checkpoints().filter(|block| block.height > stable).collect()
    }

    pub(super) fn resend_checkpoint(&self, effects: &mut Vec<Effect>) {
        let newest = self.log.own_checkpoints().last();
        let unstable = newest.filter(|block| block.height > self.log.stable.height);
        if let Some(message) = unstable.filter(|_| self.me.is_some()).and_then(|block| self.checkpoint_message(block)) {
            broadcast(&message, self.last_write, effects);
        }
    }

    /// Broadcasts the head once more if it removed this replica from the committee and no block follows yet. This replica has no vote
    /// any more, and may be the only honest one that committed the head: the members then are too few to commit it again, and wait
    /// for its certificate, which they request of whoever has it. The block after it has a quorum's certificate of the new
    /// committee, each of which has committed the head.
    pub(super) fn announce_departure(&self, effects: &mut Vec<Effect>) {
        let own = self.signer.as_ref().map(Signer::address);
        let is_newest = self.transition.since() == self.head.height;
        if is_newest
            && own.is_some_and(|own| self.transition.leavers().contains(&own))
            && !mutation::active(Mutation::PbftLeaverFallsSilent)
            && let Some(message) = self.checkpoint_message(self.head)
        {
            effects.push(Effect::Mark("pbft/departure-announced"));
            broadcast(&message, self.last_write, effects);
        }
    }

    /// Answers a view-change of an earlier committee with this replica's stable checkpoint, which is above it: its sender is behind,
    /// and requests the blocks in between of those who say so. Once for each author between two ticks of the resend timer.
    pub(super) fn answer_by_checkpoint(
        &mut self,
        author: Address,
        to: ReplicaId,
        effects: &mut Vec<Effect>,
    ) -> Result<(), MessageError> {
        if self.me.is_none() && mutation::active(Mutation::PbftLeaverFallsSilent) {
            return Err(MessageError::NotValidator { signer: author });
        }
        if !self.answered.insert(author) {
            return Err(MessageError::Known);
        }
        if let Some(message) = self.checkpoint_message(self.log.stable) {
            effects.push(Effect::Mark("pbft/checkpoint-shown"));
            let message = ConsensusMessage::Pbft(message);
            effects.push(Effect::Send { to: Recipients::One(to), message, after: self.last_write });
        }
        Ok(())
    }

    /// Handles a message of an address that is no validator: a view-change of one that the newest change removed, and that does not
    /// know it yet, is answered. Whoever is behind itself, and has no link to a validator, asks over this one.
    pub(super) fn on_message_of_former(
        &mut self,
        signer: Address,
        from: ReplicaId,
        message: &PbftMessage,
        effects: &mut Vec<Effect>,
    ) -> Result<(), MessageError> {
        if message.body.committed().is_some_and(|height| height > self.head.height) {
            self.learn_stranger(from);
        }
        match &message.body {
            Body::ViewChange(view_change)
                if view_change.since < self.transition.since() && self.transition.leavers().contains(&signer) =>
            {
                self.answer_by_checkpoint(signer, from, effects)
            }
            _ => Err(MessageError::NotValidator { signer }),
        }
    }

    pub(super) fn checkpoint_message(&self, block: BlockId) -> Option<Arc<PbftMessage>> {
        Some(Arc::new(PbftMessage::signed(Body::Checkpoint { block }, self.signer.as_ref()?)))
    }
}
