//! Catching up: parents one by one when they are few, otherwise a peer's chain from below.

use super::Pos;
use crate::{
    consensus::{BlockId, Effect, Encoder, ReplicaId},
    primitives::{B256, Height},
};

/// How far above the head a block may be for its parents to be fetched one by one, downwards.
const BACKWARDS_MAX: u64 = 24;
/// Slots without progress after which a peer's chain is given up.
const PATIENCE_SLOTS: u64 = 4;
/// Peers that are remembered.
const PEERS_MAX: usize = 256;

/// A peer's chain that is being followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sync {
    from: ReplicaId,
    /// The height that was asked for.
    next: Height,
    /// Up to where the peer has shown to be.
    target: Height,
    /// The slot of the last progress.
    progress: u64,
}

impl Sync {
    pub(super) fn encode(&self, out: &mut Encoder) {
        out.u32(self.from.get());
        out.u64(self.next.get());
        out.u64(self.target.get());
        out.u64(self.progress);
    }
}

impl Pos {
    /// Whether a block is so far above the head that its parents are better fetched upwards.
    pub(super) fn is_far(&self, height: Height) -> bool {
        height.get() > self.tree.head().height.get().saturating_add(BACKWARDS_MAX)
    }

    /// Follows a peer's chain up to `target`, from the block after the head on.
    pub(super) fn start_sync(&mut self, from: ReplicaId, target: Height, effects: &mut Vec<Effect>) {
        match &mut self.sync {
            Some(sync) => sync.target = sync.target.max(target),
            None => {
                let next = self.tree.head().height.next();
                self.sync = Some(Sync { from, next, target, progress: self.slot });
                effects.push(Effect::Mark("pos/sync"));
                effects.push(Effect::Fetch { block: BlockId { height: next, hash: B256::ZERO }, from });
            }
        }
    }

    /// Asks for the next block once one of the peer's chain is here.
    pub(super) fn go_on_syncing(&mut self, adopted: BlockId, effects: &mut Vec<Effect>) {
        let Some(sync) = &mut self.sync else { return };
        if adopted.height < sync.next {
            return;
        }
        sync.next = adopted.height.next();
        sync.progress = self.slot;
        if sync.next > sync.target {
            self.sync = None;
        } else {
            effects.push(Effect::Fetch { block: BlockId { height: sync.next, hash: B256::ZERO }, from: sync.from });
        }
    }

    /// Asks again for what did not come, another peer each time.
    pub(super) fn fetch_again(&mut self, effects: &mut Vec<Effect>) {
        if let Some(sync) = self.sync {
            if self.slot > sync.progress + PATIENCE_SLOTS {
                self.sync = None;
            } else if self.slot > sync.progress
                && let Some(from) = self.next_peer()
            {
                self.sync = Some(Sync { from, ..sync });
                effects.push(Effect::Fetch { block: BlockId { height: sync.next, hash: B256::ZERO }, from });
            }
        }
        let wanted = self.orphans.ids().map(|id| self.orphans.missing_below(*id));
        let voted =
            self.waiting.values().map(|waiting| waiting.vote.data.head).filter(|head| !self.is_far(head.height));
        let mut wanted: Vec<_> = wanted.chain(voted).collect();
        wanted.sort_unstable();
        wanted.dedup();
        for block in wanted.into_iter().take(8) {
            let is_here = self.pending.contains_key(&block) || self.orphans.contains(&block);
            if !is_here && let Some(from) = self.next_peer() {
                effects.push(Effect::Fetch { block, from });
            }
        }
    }

    pub(super) fn note_peer(&mut self, peer: ReplicaId) {
        if self.peers.len() < PEERS_MAX && !self.peers.contains(&peer) {
            self.peers.insert(peer);
        }
    }

    /// The peers that were heard of, each in its turn.
    fn next_peer(&mut self) -> Option<ReplicaId> {
        let turn = self.requests.checked_rem(self.peers.len() as u64)?;
        self.requests = self.requests.wrapping_add(1);
        self.peers.iter().nth(turn as usize).copied()
    }
}
