//! Messages of others that are passed on altered.

use std::sync::Arc;

use super::garble;
use crate::{
    consensus::{
        ConsensusMessage, ReplicaId,
        pbft::{Body, PbftMessage},
    },
    sim::{
        engine::rng::SimRng,
        faults::plan::Behaviour,
        network::{environment::Environment, replica::Replica},
    },
};

/// Most messages that a replica passes on altered at one height, so that two of them do not answer each other for ever.
const RELAYED_MAX: u32 = 32;

impl Replica {
    /// Passes a message that it receives from `from` on to all others, altered and at once, if its misbehaviour wants that.
    pub(in crate::sim) fn relay_altered(&mut self, from: ReplicaId, message: &ConsensusMessage, env: &mut Environment) {
        let Some(mut rng) = env.faults.as_ref().map(|faults| faults.byzantine.clone()) else { return };
        let wants = self.behaviours(&mut rng).contains(&Behaviour::AlteredRelays);
        let height = self.head().height;
        let (since, count) = &mut self.misbehaviour.relayed;
        if *since != height {
            (*since, *count) = (height, 0);
        }
        let is_wanted = wants && *count < RELAYED_MAX;
        *count += u32::from(is_wanted);
        let altered = is_wanted.then(|| self.altered(message, &mut rng));
        if let Some(faults) = &mut env.faults {
            faults.byzantine = rng;
        }
        let Some(altered) = altered else { return };
        let (id, replicas) = (self.id(), env.replica_count);
        for to in (0..replicas).map(ReplicaId::new).filter(|to| *to != id && *to != from) {
            env.rush(self.slot, to, altered.clone());
        }
    }

    /// Returns the message with another body or another field, and the signature of its author.
    fn altered(&self, message: &ConsensusMessage, rng: &mut SimRng) -> ConsensusMessage {
        match message {
            ConsensusMessage::Block(block) => ConsensusMessage::Block(Arc::new(self.with_other_body(block, rng))),
            ConsensusMessage::Pbft(signed) => match &signed.body {
                Body::PrePrepare { view, block } => {
                    let block = Arc::new(self.with_other_body(block, rng));
                    let body = Body::PrePrepare { view: *view, block };
                    ConsensusMessage::Pbft(Arc::new(PbftMessage { body, signature: signed.signature.clone() }))
                }
                _ => garble::garbled(message, None, rng),
            },
            _ => garble::garbled(message, None, rng),
        }
    }
}
