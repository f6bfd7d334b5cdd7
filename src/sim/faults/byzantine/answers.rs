//! Lies in answers to requests for blocks.

use core::time::Duration;
use std::sync::Arc;

use super::garble;
use crate::{
    chain::Block,
    consensus::{BlockId, ReplicaId},
    primitives::Height,
    sim::{
        engine::rng::SimRng,
        faults::plan::Behaviour,
        network::{environment::Environment, replica::Replica},
    },
};

fn before(block: &Block) -> Height {
    Height::new(block.height().get().saturating_sub(1))
}

impl Replica {
    /// Returns what a misbehaving replica answers to `to`'s request for `block`, and how late; `None` when it does not answer.
    pub(in crate::sim) fn misleading_answer(
        &self,
        to: ReplicaId,
        block: BlockId,
        env: &mut Environment,
    ) -> Option<(Arc<Block>, Duration)> {
        let mut rng = env.faults.as_ref().map(|faults| faults.byzantine.clone())?;
        let (mut answer, mut late) = (self.serve_block(block), Duration::ZERO);
        for behaviour in self.behaviours(&mut rng) {
            match behaviour {
                Behaviour::Silent => answer = None,
                Behaviour::SelectiveSend { to: some } if !some.contains(&to) => answer = None,
                Behaviour::Withhold { delay } => late += delay,
                Behaviour::LyingAnswers => answer = answer.and_then(|block| self.lie(block, &mut rng)),
                _ => {}
            }
        }
        if let Some(faults) = &mut env.faults {
            faults.byzantine = rng;
        }
        answer.map(|block| (block, late))
    }

    fn lie(&self, block: Arc<Block>, rng: &mut SimRng) -> Option<Arc<Block>> {
        match rng.below(6) {
            0 => None,
            // Another block of the chain.
            1 => self.serve_block(BlockId { height: block.height().next(), hash: Default::default() }).or(Some(block)),
            2 => Some(Arc::new(garble::garbled_block(&block, self.misbehaviour.signer.as_ref(), rng))),
            _ => Some(Arc::new(self.with_other_body(&block, rng))),
        }
    }

    /// Returns the block with its header and seal, and another payload or other transactions: nothing that its hash commits to
    /// changes, so that only one who compares them finds out.
    pub(in crate::sim) fn with_other_body(&self, block: &Block, rng: &mut SimRng) -> Block {
        let (mut payload, mut transactions) = (block.payload().clone(), block.transactions().to_vec());
        let other = self.serve_block(BlockId { height: before(block), hash: Default::default() });
        match rng.below(4) {
            // A validator set of its own.
            0 => {
                let forged = self.address().and_then(|own| garble::payload_for(&self.protocol, own));
                payload = forged.unwrap_or_default();
            }
            1 => payload = other.map(|other| other.payload().clone()).unwrap_or_default(),
            2 => payload = garble::flipped(&payload, rng),
            _ if transactions.is_empty() => {
                transactions = other.map(|other| other.transactions().to_vec()).unwrap_or_default();
            }
            _ => drop(transactions.pop()),
        }
        Block::new(block.header().clone(), transactions, payload, block.interventions().to_vec())
            .with_seal(block.seal().clone())
    }
}
