//! Catching up: blocks of others with their certificates, one after the other, and bodies that a new view needs.

use std::sync::Arc;

use super::{MessageError, Pbft, Seal};
use crate::{
    chain::Block,
    consensus::{BlockId, Effect, Encoder, Rejection},
    primitives::{B256, Height},
};

/// The block after the head, asked of a peer.
#[derive(Clone, Debug)]
pub(super) struct Fetching {
    pub(super) height: Height,
    /// It came and is being executed.
    pub(super) block: Option<Arc<Block>>,
}

impl Fetching {
    pub(super) fn encode(&self, out: &mut Encoder) {
        out.u64(self.height.get());
        out.option(self.block.as_ref(), |out, block| {
            BlockId::of(block).encode(out);
            out.bytes(block.seal());
        });
    }
}

impl Pbft {
    /// Takes note of what a validator showed to have committed.
    pub(super) fn claim(&mut self, validator: usize, height: Height) {
        let claim = self.claims.entry(validator).or_insert(height);
        *claim = height.max(*claim);
    }

    /// Asks for the block after the head when `f + 1` validators have it, one of them honest.
    pub(super) fn catch_up(&mut self, effects: &mut Vec<Effect>) {
        let next = self.head.height.next();
        let ahead = self.claims.values().filter(|height| **height >= next).count();
        if ahead >= self.rules.quorums.weak() && self.fetching.is_none() {
            self.fetching = Some(Fetching { height: next, block: None });
            self.fetch(BlockId { height: next, hash: B256::ZERO }, effects);
        }
    }

    /// Asks for the body of a chosen block.
    pub(super) fn want(&mut self, block: BlockId, effects: &mut Vec<Effect>) {
        if self.wanted.insert(block) {
            effects.push(Effect::Mark("pbft/fetch-chosen"));
            self.fetch(block, effects);
        }
    }

    /// Asks other peers for what did not come.
    pub(super) fn fetch_again(&mut self, effects: &mut Vec<Effect>) {
        if let Some(height) = self.fetching.as_ref().filter(|f| f.block.is_none()).map(|f| f.height) {
            self.fetch(BlockId { height, hash: B256::ZERO }, effects);
        }
        for block in self.wanted.clone() {
            self.fetch(block, effects);
        }
    }

    /// Asks the validators that were heard of, each in its turn; for a committed block, those that showed to have it.
    fn fetch(&mut self, block: BlockId, effects: &mut Vec<Effect>) {
        let has = |validator: &usize| {
            block.hash != B256::ZERO || self.claims.get(validator).is_some_and(|height| *height >= block.height)
        };
        let peers: Vec<_> = self.peers.iter().filter(|(validator, _)| has(validator)).map(|(_, peer)| *peer).collect();
        let Some(turn) = self.requests.checked_rem(peers.len() as u64) else { return };
        self.requests += 1;
        effects.push(Effect::Fetch { block, from: peers[turn as usize] });
    }

    /// A block came: the next one with its certificate, or the body of a chosen one, which its hash proves.
    pub(super) fn on_synced(&mut self, block: Arc<Block>, effects: &mut Vec<Effect>) -> Result<(), Rejection> {
        let id = BlockId::of(&block);
        if self.wanted.remove(&id) {
            if let Some(slot) = self.log.slot_mut(id.height) {
                slot.bodies.insert(id.hash, block);
            }
            self.try_new_view(effects);
            self.judge_next(effects);
            return Ok(());
        }
        let is_next = id.height == self.head.height.next() && block.parent_hash() == self.head.hash;
        let Some(fetching) = self.fetching.as_mut().filter(|f| is_next && f.height == id.height && f.block.is_none())
        else {
            return Err(Rejection::Unexpected { what: "block" });
        };
        let certificate = Seal::certificate(block.seal()).map_err(MessageError::from)?;
        let rules = &self.rules;
        certificate.verify(id, &rules.validators, &rules.quorums, &rules.authenticator).map_err(MessageError::from)?;
        fetching.block = Some(block.clone());
        effects.push(Effect::Validate { block });
        Ok(())
    }

    /// The fetched block with this id, once it was executed.
    pub(super) fn take_synced(&mut self, id: BlockId) -> Option<Arc<Block>> {
        let is_it = |block: &Arc<Block>| BlockId::of(block) == id;
        if self.fetching.as_ref().and_then(|fetching| fetching.block.as_ref()).is_some_and(is_it) {
            return self.fetching.take().and_then(|fetching| fetching.block);
        }
        None
    }

    /// Forgets requests that the head has overtaken.
    pub(super) fn forget_fetched(&mut self) {
        let head = self.head.height;
        self.wanted.retain(|block| block.height > head);
        if self.fetching.as_ref().is_some_and(|fetching| fetching.height <= head) {
            self.fetching = None;
        }
    }
}
