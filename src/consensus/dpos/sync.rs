//! Blocks that come before their parents, and catching up with a chain that is far ahead.
//!
//! A few missing blocks are asked for from the newest down, each by its hash. Many are asked for from the last irreversible block
//! up, which every honest peer has, one after the other.

use std::sync::Arc;

use super::Dpos;
use crate::{
    chain::Block,
    consensus::{BlockId, Effect, Encoder, Rejection, ReplicaId, orphans::Orphan},
    primitives::{Address, B256, Height},
};

/// How far above the head a block may be to be kept waiting.
const AHEAD_MAX: u64 = 8_192;
/// Gaps up to this are closed from above.
const WALK_MAX: u64 = 32;

/// Blocks that are asked of a peer, from below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CatchUp {
    from: ReplicaId,
    next: Height,
    target: Height,
}

impl CatchUp {
    pub(super) fn encode(&self, out: &mut Encoder) {
        out.u32(self.from.get());
        out.u64(self.next.get());
        out.u64(self.target.get());
    }
}

impl Dpos {
    pub(super) fn on_block(&mut self, from: ReplicaId, block: Arc<Block>, effects: &mut Vec<Effect>) {
        if let Err(rejection) = self.consider(Some(from), block, None, effects) {
            effects.push(Effect::Reject(rejection));
        }
    }

    /// A block that was asked for; one that is here already is a step on the way to those that are not.
    pub(super) fn on_synced(&mut self, from: ReplicaId, block: Arc<Block>, effects: &mut Vec<Effect>) {
        let id = BlockId::of(&block);
        let is_next = self.catch_up.is_some_and(|catch_up| catch_up.next == id.height);
        if is_next && self.tree.get(&id).is_some() {
            return self.go_on_fetching(id, effects);
        }
        self.on_block(from, block, effects);
    }

    /// Keeps a block until its parent came, and asks for what is missing.
    pub(super) fn keep_waiting(
        &mut self,
        from: Option<ReplicaId>,
        block: Arc<Block>,
        author: Address,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Rejection> {
        let (id, head) = (BlockId::of(&block), self.head_link().block);
        let Some(from) = from else { return Err(Rejection::Unexpected { what: "block without a parent" }) };
        if id.height.get() > head.height.get().saturating_add(AHEAD_MAX) {
            return Err(Rejection::TooFarAhead { block: id, limit: AHEAD_MAX });
        }
        let link = self.head_link();
        let is_known = link.state.active().producers().contains(&author) || link.candidates.contains_key(&author);
        // A stranger here may be elected on another branch: a producer that built upon its block vouches for it.
        if !is_known && !self.orphans.has_children(id) {
            let reason = format!("{author} sealed it, who is no candidate");
            return Err(Rejection::Header { block: id, reason });
        }
        if id.height.get() > head.height.get().saturating_add(WALK_MAX) {
            self.fetch_from_below(from, id.height, effects);
            return Ok(());
        }
        if !self.orphans.has_room_for(author) {
            self.fetch_from_below(from, id.height, effects);
            return Ok(());
        }
        let missing = self.orphans.missing_below(BlockId::parent_of(&block));
        self.orphans.insert(Orphan { from: Some(from), author, block });
        if !self.pending.contains_key(&missing) {
            effects.push(Effect::Fetch { block: missing, from });
            effects.push(Effect::Mark("dpos/fetch-parent"));
        }
        Ok(())
    }

    /// Asks a peer for its canonical blocks above the last irreversible one, up to `target`.
    fn fetch_from_below(&mut self, from: ReplicaId, target: Height, effects: &mut Vec<Effect>) {
        let start = self.tree.root().height.next();
        let next = match self.catch_up {
            Some(catch_up) if catch_up.from == from && catch_up.next > start => catch_up.next,
            _ => start,
        };
        self.catch_up = Some(CatchUp { from, next, target });
        effects.push(Effect::Fetch { block: BlockId { height: next, hash: B256::ZERO }, from });
        effects.push(Effect::Mark("dpos/fetch-from-below"));
    }

    /// Asks for the block after `id`, which is here now.
    pub(super) fn go_on_fetching(&mut self, id: BlockId, effects: &mut Vec<Effect>) {
        let Some(catch_up) = self.catch_up.filter(|catch_up| catch_up.next == id.height) else { return };
        let (from, next) = (catch_up.from, catch_up.next.next());
        if next > catch_up.target {
            self.catch_up = None;
            return;
        }
        self.catch_up = Some(CatchUp { next, ..catch_up });
        effects.push(Effect::Fetch { block: BlockId { height: next, hash: B256::ZERO }, from });
    }

    /// Looks again at the blocks that waited for `parent`.
    pub(super) fn release_children(&mut self, parent: BlockId, effects: &mut Vec<Effect>) {
        for child in self.orphans.children(parent) {
            if let Some(orphan) = self.orphans.remove(&child)
                && let Err(rejection) = self.consider(orphan.from, orphan.block, None, effects)
            {
                effects.push(Effect::Reject(rejection));
            }
        }
    }
}
