//! State transfer: certified blocks of other replicas in order, and bodies that a new view needs.

use std::sync::Arc;

use super::{MessageError, Pbft, Seal};
use crate::{
    chain::Block,
    consensus::{
        BlockId, Effect, Encoder, Rejection, ReplicaId,
        mutation::{self, Mutation},
    },
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
    /// Requests made for it.
    pub(super) requests: u32,
    /// Whether enough claimed to have it when it was requested last.
    pub(super) claimed: Claimed,
}

/// Whether `f + 1` validators, at least one of them honest, claim to have a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Claimed {
    #[default]
    Enough,
    TooFew,
}

impl Fetched {
    pub(super) fn encode(&self, out: &mut Encoder) {
        let Self { block, is_executing, requests, claimed } = self;
        out.option(block.as_ref(), |out, block| {
            BlockId::of(block).encode(out);
            out.bytes(block.seal());
        });
        out.bool(*is_executing);
        out.u32(*requests);
        out.bool(*claimed == Claimed::TooFew);
    }
}

impl Pbft {
    /// Records the height that a validator's message implies it committed.
    pub(super) fn claim(&mut self, validator: Address, height: Height) {
        let claim = self.claims.entry(validator).or_insert(height);
        *claim = height.max(*claim);
    }

    /// Records the link over which a validator's message came. The first ones stay: a relay that is faster than the validator can't
    /// take its place. `f` liars relay over `f` links, so that the validator's own is among `f + 1`.
    ///
    /// Returns whether the link is new.
    pub(super) fn learn_link(&mut self, validator: Address, from: ReplicaId) -> bool {
        let most = self.quorums().weak();
        let links = self.peers.entry(validator).or_default();
        if mutation::active(Mutation::PbftRebindsPeers) {
            *links = vec![from];
            return false;
        }
        let is_new = links.len() < most && !links.contains(&from);
        if is_new {
            links.push(from);
            self.strangers.remove(&from);
        }
        is_new
    }

    /// Records the link of a stranger that says that it is ahead: one entry for each, however many messages come.
    pub(super) fn learn_stranger(&mut self, from: ReplicaId) {
        if !self.peers.values().any(|links| links.contains(&from)) {
            self.strangers.insert(from);
        }
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
            let is_requested = |fetched: &Fetched| fetched.block.is_some() || fetched.claimed == Claimed::Enough;
            if !self.fetching.get(&height).is_some_and(is_requested) {
                self.fetch_committed(height, Claimed::Enough, effects);
            }
        }
    }

    /// Requests the body of a chosen block.
    pub(super) fn fetch_body(&mut self, block: BlockId, effects: &mut Vec<Effect>) {
        if !self.wanted.contains_key(&block) {
            effects.push(Effect::Mark("pbft/fetch-chosen"));
            self.fetch_chosen(block, effects);
        }
    }

    /// Requests missing blocks again, each from another peer than before.
    pub(super) fn fetch_again(&mut self, effects: &mut Vec<Effect>) {
        let missing = self.fetching.iter().filter(|(_, fetched)| fetched.block.is_none());
        for (height, claimed) in missing.map(|(height, fetched)| (*height, fetched.claimed)).collect::<Vec<_>>() {
            self.fetch_committed(height, claimed, effects);
        }
        for block in self.wanted.keys().copied().collect::<Vec<_>>() {
            self.fetch_chosen(block, effects);
        }
        self.catch_up(effects);
        let next = self.head.height.next();
        if self.is_stuck() && !self.fetching.contains_key(&next) {
            effects.push(Effect::Mark("pbft/ask-who-is-ahead"));
            self.fetch_committed(next, Claimed::TooFew, effects);
        }
    }

    /// Returns whether this replica waits for a new view, or had no block for longer than the timeouts of two views. Then it
    /// requests the next block on a single validator's claim, or on none: those who committed a block that changes the committee
    /// vote in the new committee or, if they leave, in none, and the others may be too few to commit it again. The block's
    /// certificate proves it, whoever has it.
    fn is_stuck(&self) -> bool {
        self.is_changing || self.ticks_without_block > self.ticks_of_patience()
    }

    /// Requests the next block after one that fewer than `f + 1` claimed: too few whom this replica knows may be in the committee of now to
    /// claim what they have, for as many blocks as it is behind.
    pub(super) fn ask_on(&mut self, effects: &mut Vec<Effect>) {
        let next = self.head.height.next();
        if !self.fetching.contains_key(&next) && !mutation::active(Mutation::PbftAsksOnceInPatience) {
            self.fetch_committed(next, Claimed::TooFew, effects);
        }
    }

    /// Ticks of the resend timer, each half a timeout, in a block period and two timeouts.
    fn ticks_of_patience(&self) -> u32 {
        let period = self.transition.config_in_force(&self.config).period;
        let periods = period.saturating_mul(2_000) / self.config.timeout_ms;
        let ticks = periods.saturating_add(4);
        if ticks > u32::MAX as u64 { u32::MAX } else { ticks as u32 }
    }

    /// Requests the committed block of a height from the next in turn: those that claim to have it and, where those are too few or this
    /// replica is stuck, all others after them, strangers last. A replica that restarts after its whole committee was replaced knows
    /// nobody but strangers.
    fn fetch_committed(&mut self, height: Height, claimed: Claimed, effects: &mut Vec<Effect>) {
        let turn = self.fetching.get(&height).map_or(0, |fetched| fetched.requests);
        let is_claimed = |validator: &Address| self.claims.get(validator).is_some_and(|claim| *claim >= height);
        let mut links = self.links_of(is_claimed);
        let asks_others = claimed == Claimed::TooFew || self.is_stuck();
        if asks_others && !mutation::active(Mutation::PbftAsksClaimantsOnly) {
            let others = self.links_of(|_| true);
            links.extend(others.into_iter().filter(|link| !links.contains(link)).collect::<Vec<_>>());
            if !mutation::active(Mutation::PbftAsksNoStranger) {
                links.extend(&self.strangers);
            }
        }
        let Some(from) = in_turn(&links, height, turn) else { return };
        let fetched = self.fetching.entry(height).or_default();
        (fetched.requests, fetched.claimed) = (fetched.requests.wrapping_add(1), claimed);
        effects.push(Effect::Fetch { block: BlockId { height, hash: B256::ZERO }, from });
    }

    /// Requests the body of a chosen block from the next peer in turn; all may have it.
    fn fetch_chosen(&mut self, block: BlockId, effects: &mut Vec<Effect>) {
        let turn = self.wanted.get(&block).copied().unwrap_or_default();
        let links = self.links_of(|_| true);
        self.wanted.insert(block, turn.wrapping_add(1));
        if let Some(from) = in_turn(&links, block.height, turn) {
            effects.push(Effect::Fetch { block, from });
        }
    }

    /// Returns the links of some validators, present and former, each once, in order of addresses.
    fn links_of(&self, of: impl Fn(&Address) -> bool) -> Vec<ReplicaId> {
        let mut links = Vec::new();
        for link in self.peers.iter().filter(|(validator, _)| of(validator)).flat_map(|(_, links)| links) {
            if !links.contains(link) {
                links.push(*link);
            }
        }
        links
    }

    /// Handles a synced block: a committed one, proven by its certificate, or the body of a chosen one, proven by its hash. Its body is
    /// that of the header in both cases: nobody signs it but through the header.
    pub(super) fn on_synced(&mut self, block: Arc<Block>, effects: &mut Vec<Effect>) -> Result<(), Rejection> {
        let id = BlockId::of(&block);
        let is_fetched = self.fetching.get(&id.height).is_some_and(|fetched| fetched.block.is_none());
        if !is_fetched && !self.wanted.contains_key(&id) {
            return Err(Rejection::Unexpected { what: "block" });
        }
        check_body(&block)?;
        if self.wanted.remove(&id).is_some() {
            if let Some(slot) = self.log.slot_mut(id.height) {
                slot.bodies.insert(id.hash, block);
            }
            self.try_new_view(effects);
            self.execute_next(effects);
            return Ok(());
        }
        let certificate = Seal::certificate(block.seal()).map_err(MessageError::from)?;
        let committee = self.transition.committee();
        certificate.verify(id, committee, &self.authenticator).map_err(MessageError::from)?;
        self.fetching.entry(id.height).or_default().block = Some(block);
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

    /// Takes the fetched block with this id after its execution, and whether enough claimed to have it.
    pub(super) fn take_synced(&mut self, id: BlockId) -> Option<(Arc<Block>, Claimed)> {
        let fetched = self.fetching.get(&id.height).filter(|fetched| fetched.is_executing)?;
        if fetched.block.as_ref().is_none_or(|block| BlockId::of(block) != id) {
            return None;
        }
        let Fetched { block, claimed, .. } = self.fetching.remove(&id.height)?;
        Some((block?, claimed))
    }

    /// Drops requests at and below the head.
    pub(super) fn forget_fetched(&mut self) {
        let head = self.head.height;
        self.wanted.retain(|block, _| block.height > head);
        self.fetching.retain(|height, _| *height > head);
    }
}

/// Returns the link in turn for a request of a height that was made `turn` times before: each time the next one.
fn in_turn(links: &[ReplicaId], height: Height, turn: u32) -> Option<ReplicaId> {
    let turn = if mutation::active(Mutation::PbftRepeatsPeer) { 0 } else { u64::from(turn) };
    let place = height.get().wrapping_add(turn).checked_rem(links.len() as u64)?;
    links.get(place as usize).copied()
}

/// Checks that a block's body is the one that its header names. Only the header is signed, by its hash: a message or an answer with
/// another body is the fault of whoever passed it on, and nothing follows from it for the block or its author.
pub(super) fn check_body(block: &Block) -> Result<(), MessageError> {
    if mutation::active(Mutation::PbftTakesAnyBody) {
        return Ok(());
    }
    Ok(block.check_body()?)
}
