//! Catch-up: few missing parents are requested one by one, many as a peer's chain from the head up.

use super::Pos;
use crate::{
    consensus::{
        Effect, Recipients, ReplicaId, Signer,
        intake::CatchUp,
        mutation::{self, Mutation},
    },
    primitives::Height,
};

/// Slots without progress after which a peer's chain is abandoned.
const CATCH_UP_TIMEOUT_SLOTS: u64 = 4;
/// Most peers remembered.
const PEERS_MAX: usize = 256;

impl Pos {
    /// Whether a block is so far above the head that a peer's chain is requested.
    pub(super) fn is_far(&self, height: Height) -> bool {
        self.intake.is_far(height, self.tree.head().height)
    }

    /// Requests the chain of a peer that announced a block far above the head, up to that `target`, from the block after the head on. While
    /// another one's is requested, the peer is remembered: in each slot another one is asked to go on, so that who answers slowly holds up
    /// nobody for long.
    pub(super) fn start_sync(&mut self, from: ReplicaId, target: Height, effects: &mut Vec<Effect>) {
        if !mutation::active(Mutation::PosForgetsAnnouncers) {
            self.remember_peer(from);
        }
        let start = self.tree.head().height.next();
        if let Some(request) = self.intake.start_catch_up(from, start, target, self.slot) {
            effects.push(Effect::Mark("pos/sync"));
            effects.push(request);
        }
    }

    /// Requests missing blocks again, each time from another peer, also where one has come since the last slot, and abandons a peer's chain
    /// without progress.
    pub(super) fn retry_fetches(&mut self, effects: &mut Vec<Effect>) {
        if let Some(catch_up) = self.intake.catch_up {
            if self.slot > catch_up.progress_slot + CATCH_UP_TIMEOUT_SLOTS {
                self.intake.catch_up = None;
            } else if self.slot > catch_up.progress_slot
                && let Some(from) = self.next_peer()
            {
                let retry = CatchUp { from, ..catch_up };
                self.intake.catch_up = Some(retry);
                effects.push(retry.request());
            }
        }
        let orphans = &self.intake.orphans;
        let missing = orphans.ids().map(|id| orphans.missing_below(*id));
        let voted = self
            .unknown_block_votes
            .values()
            .map(|unknown| unknown.vote.data.head)
            .filter(|head| !self.is_far(head.height));
        let mut missing: Vec<_> = missing.chain(voted).collect();
        missing.sort_unstable();
        missing.dedup();
        for block in missing.into_iter().take(8) {
            if !self.intake.contains(&block)
                && let Some(from) = self.next_peer()
            {
                effects.push(Effect::Fetch { block, from });
            }
        }
    }

    /// Shows the head to all others once an epoch while somebody proposes on a branch that has justified less, unless this replica is a
    /// validator on the head's branch.
    ///
    /// A proposer sends its block to whom it likes. When a replica that neither proposes nor votes is the only one to have the blocks that
    /// justify a checkpoint, no message of its own names them: it would follow their branch alone, for ever. Who is shown the head asks for
    /// the blocks below it, as for those below a head that a validator votes for.
    pub(super) fn show_head_to_those_behind(&self, effects: &mut Vec<Effect>) {
        if mutation::active(Mutation::PosShowsNoHead) {
            return;
        }
        let own = self.signer.as_ref().map(Signer::address);
        if own.is_some_and(|own| self.head_state().is_some_and(|state| state.current.set().contains(&own))) {
            return;
        }
        let (head, since) = (self.tree.head(), self.config.start_of(self.epoch().saturating_sub(1)));
        if self.tree.forks.has_other_branch_behind(&head.hash, &self.tree.justified, since) {
            effects.push(Effect::Mark("pos/show-head"));
            effects.push(Effect::Show { block: head, to: Recipients::Others, after: None });
        }
    }

    /// Adds a peer to those that missing blocks are requested from.
    pub(super) fn remember_peer(&mut self, peer: ReplicaId) {
        if self.peers.len() < PEERS_MAX && !self.peers.contains(&peer) {
            self.peers.insert(peer);
        }
    }

    /// Returns the next known peer in rotation.
    fn next_peer(&mut self) -> Option<ReplicaId> {
        let turn = self.requests.checked_rem(self.peers.len() as u64)?;
        self.requests = self.requests.wrapping_add(1);
        self.peers.iter().nth(turn as usize).copied()
    }
}
