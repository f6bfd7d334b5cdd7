//! Requests for missing blocks: of certificates, of orphans' ancestors, and of a peer's committed blocks from below.

use serde::{Serialize, de::DeserializeOwned};

use super::BlockTree;
use crate::{
    consensus::{BlockId, Deadline, Effect, ReplicaId},
    primitives::Height,
};

/// Wait until missing blocks are asked for again.
const FETCH_NANOS: u64 = 2_000_000_000;
/// Ancestors of orphans that are asked for at once.
const FETCHED_MAX: usize = 256;

impl<T> BlockTree<T>
where
    T: Clone + core::fmt::Debug + Serialize + DeserializeOwned,
{
    /// Asks for a block that a certificate names, or for its lowest missing ancestor, unless it is here or was asked for.
    pub fn fetch(&mut self, id: BlockId, effects: &mut Vec<Effect>) {
        let missing = if self.get(id).is_some() { id } else { self.intake.orphans.missing_below(id) };
        if missing.height > self.root.id.height && !self.is_here(missing) && self.fetched.insert(missing) {
            self.request(missing, self.participant.peer(self.attempts), effects);
        }
    }

    /// Asks again for all that is missing, each time another replica.
    pub(super) fn fetch_again(&mut self, effects: &mut Vec<Effect>) {
        self.is_waiting = false;
        self.attempts += 1;
        let from = self.participant.peer(self.attempts);
        let missing: Vec<_> = self.fetched.iter().filter(|id| !self.is_here(**id)).copied().collect();
        missing.into_iter().for_each(|missing| self.request(missing, from, effects));
        if let Some(catch_up) = &mut self.intake.catch_up {
            catch_up.from = from;
            let Effect::Fetch { block, from } = catch_up.request() else { return };
            self.request(block, from, effects);
        }
    }

    /// Asks the sender of an orphan for the ancestor that it waits for.
    pub(super) fn ask(&mut self, missing: Option<BlockId>, from: Option<ReplicaId>, effects: &mut Vec<Effect>) {
        let Some(missing) = missing.filter(|missing| missing.height > self.root.id.height) else { return };
        if self.fetched.len() < FETCHED_MAX {
            self.fetched.insert(missing);
        }
        let from = from.unwrap_or_else(|| self.participant.peer(self.attempts));
        self.request(missing, from, effects);
    }

    fn request(&mut self, block: BlockId, from: ReplicaId, effects: &mut Vec<Effect>) {
        effects.push(Effect::Mark(Self::FETCHED));
        effects.push(Effect::Fetch { block, from });
        if !core::mem::replace(&mut self.is_waiting, true) {
            let deadline = Deadline::After { nanos: FETCH_NANOS };
            effects.push(Effect::ArmTimer { timer: self.timers.fetch, deadline });
        }
    }

    pub(super) fn catch_up(&mut self, from: Option<ReplicaId>, target: Height, effects: &mut Vec<Effect>) {
        let from = from.unwrap_or_else(|| self.participant.peer(self.attempts));
        let start = self.root.id.height.next();
        if let Some(Effect::Fetch { block, from }) = self.intake.start_catch_up(from, start, target, 0) {
            effects.push(Effect::Mark(Self::CAUGHT_UP));
            self.request(block, from, effects);
        }
    }
}
