//! State transfer: certified blocks of other replicas in order, and bodies that a new view needs.

use std::{collections::btree_map::Entry, sync::Arc};

use super::{MessageError, Pbft, Seal};
use crate::{
    chain::Block,
    consensus::{BlockId, Effect, Encoder, Rejection},
    primitives::{Address, B256, Height},
};

/// Greatest number of blocks above the head that are requested at once.
const FETCH_MAX: u64 = 32;

/// A block above the head that is requested from a peer.
#[derive(Clone, Debug, Default)]
pub(super) struct Fetched {
    /// The block with its verified certificate, once it arrived.
    pub(super) block: Option<Arc<Block>>,
    /// Whether it is being executed.
    pub(super) is_executing: bool,
}

impl Fetched {
    pub(super) fn encode(&self, out: &mut Encoder) {
        let Self { block, is_executing } = self;
        out.option(block.as_ref(), |out, block| {
            BlockId::of(block).encode(out);
            out.bytes(block.seal());
        });
        out.bool(*is_executing);
    }
}

impl Pbft {
    /// Records the height that a validator's message implies it committed.
    pub(super) fn claim(&mut self, validator: Address, height: Height) {
        let claim = self.claims.entry(validator).or_insert(height);
        *claim = height.max(*claim);
    }

    /// Requests the blocks above the head that `f + 1` validators have, at least one of them honest: several at once, but only
    /// up to the next checkpoint, since another committee may certify the blocks beyond.
    pub(super) fn catch_up(&mut self, effects: &mut Vec<Effect>) {
        let next = self.head.height.next();
        let mut ahead: Vec<Height> = self.claims.values().copied().filter(|height| *height >= next).collect();
        let weak = self.quorums().weak();
        if ahead.len() < weak {
            return;
        }
        ahead.sort_unstable_by(|one, other| other.cmp(one));
        let boundary = next.get().div_ceil(self.config.checkpoint_every).saturating_mul(self.config.checkpoint_every);
        let last = ahead[weak - 1].get().min(boundary).min(self.head.height.get() + FETCH_MAX);
        for height in (next.get()..=last).map(Height::new) {
            if let Entry::Vacant(place) = self.fetching.entry(height) {
                place.insert(Fetched::default());
                self.fetch(BlockId { height, hash: B256::ZERO }, effects);
            }
        }
    }

    /// Requests the body of a chosen block.
    pub(super) fn fetch_body(&mut self, block: BlockId, effects: &mut Vec<Effect>) {
        if self.wanted.insert(block) {
            effects.push(Effect::Mark("pbft/fetch-chosen"));
            self.fetch(block, effects);
        }
    }

    /// Requests missing blocks again, from other peers.
    pub(super) fn fetch_again(&mut self, effects: &mut Vec<Effect>) {
        let missing: Vec<_> = self.fetching.iter().filter(|(_, f)| f.block.is_none()).map(|(h, _)| *h).collect();
        for height in missing {
            self.fetch(BlockId { height, hash: B256::ZERO }, effects);
        }
        for block in self.wanted.clone() {
            self.fetch(block, effects);
        }
        self.catch_up(effects);
        self.fetch_on_single_claim(effects);
    }

    /// Requests the next block on a single validator's claim when several views passed without one. Replicas that committed
    /// a block that changes the committee vote in the new committee, and the others may be too few to commit it again; its
    /// certificate proves the block.
    fn fetch_on_single_claim(&mut self, effects: &mut Vec<Effect>) {
        let height = self.head.height.next();
        let is_stuck = self.is_changing && self.doublings > 1 && self.fetching.is_empty();
        if is_stuck && self.claims.values().any(|claim| *claim >= height) {
            self.fetching.insert(height, Fetched::default());
            effects.push(Effect::Mark("pbft/ask-who-is-ahead"));
            self.fetch(BlockId { height, hash: B256::ZERO }, effects);
        }
    }

    /// Requests a block from the known peers in turn; a committed block only from validators that claim to have it.
    fn fetch(&mut self, block: BlockId, effects: &mut Vec<Effect>) {
        let has = |validator: &Address| {
            block.hash != B256::ZERO || self.claims.get(validator).is_some_and(|height| *height >= block.height)
        };
        let peers: Vec<_> = self.peers.iter().filter(|(validator, _)| has(validator)).map(|(_, peer)| *peer).collect();
        let Some(turn) = self.requests.checked_rem(peers.len() as u64) else { return };
        self.requests += 1;
        effects.push(Effect::Fetch { block, from: peers[turn as usize] });
    }

    /// Handles a synced block: a committed one, proven by its certificate, or the body of a chosen one, proven by its hash.
    pub(super) fn on_synced(&mut self, block: Arc<Block>, effects: &mut Vec<Effect>) -> Result<(), Rejection> {
        let id = BlockId::of(&block);
        if self.wanted.remove(&id) {
            if let Some(slot) = self.log.slot_mut(id.height) {
                slot.bodies.insert(id.hash, block);
            }
            self.try_new_view(effects);
            self.execute_next(effects);
            return Ok(());
        }
        let is_asked = |fetched: &&mut Fetched| fetched.block.is_none();
        let Some(fetched) = self.fetching.get_mut(&id.height).filter(is_asked) else {
            return Err(Rejection::Unexpected { what: "block" });
        };
        let certificate = Seal::certificate(block.seal()).map_err(MessageError::from)?;
        let committee = self.transition.committee();
        certificate.verify(id, committee, &self.authenticator).map_err(MessageError::from)?;
        fetched.block = Some(block);
        self.execute_fetched(effects);
        Ok(())
    }

    /// Requests execution of the fetched block after the head, if it arrived.
    pub(super) fn execute_fetched(&mut self, effects: &mut Vec<Effect>) {
        let head = self.head;
        let Some(fetched) = self.fetching.get_mut(&head.height.next()).filter(|fetched| !fetched.is_executing) else {
            return;
        };
        let Some(block) = &fetched.block else { return };
        if block.parent_hash() == head.hash {
            fetched.is_executing = true;
            effects.push(Effect::Validate { block: block.clone() });
        } else {
            effects.push(Effect::Mark("pbft/conflicting-certificate"));
        }
    }

    /// Takes the fetched block with this id after its execution.
    pub(super) fn take_synced(&mut self, id: BlockId) -> Option<Arc<Block>> {
        let fetched = self.fetching.get(&id.height).filter(|fetched| fetched.is_executing)?;
        if fetched.block.as_ref().is_none_or(|block| BlockId::of(block) != id) {
            return None;
        }
        self.fetching.remove(&id.height)?.block
    }

    /// Drops requests at and below the head.
    pub(super) fn forget_fetched(&mut self) {
        let head = self.head.height;
        self.wanted.retain(|block| block.height > head);
        self.fetching.retain(|height, _| *height > head);
    }
}
