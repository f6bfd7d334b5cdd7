//! What a producer must not contradict, and what it may confirm because of that.

use super::{Confirmation, Irreversibility, Prepared};
use crate::{
    consensus::{
        mutation::{self, Mutation},
        slot_clock::SlotClock,
    },
    primitives::{Height, Timestamp},
};

/// The blocks and votes that a producer must not contradict, on any branch. It is durable before a block that changes it is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SafetyState {
    /// Newest slot in which it produced.
    pub slot: u64,
    /// When that slot began on the clock of slots, once the chain's block time has changed: branches may count slots unlike then.
    pub began: Option<Timestamp>,
    /// Newest height that it confirmed: its *watermark*.
    pub confirmed: Height,
    /// Highest prepared height that it implied: its *lock*.
    pub lock: Prepared,
}

/// The reason why a producer confirms nothing with its next block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NothingToConfirm {
    /// Its lock is above what the branch has prepared.
    Locked,
    /// Its watermark is not below the next block.
    Confirmed,
    /// The vote has no room in a header.
    NoRoom,
}

impl SafetyState {
    /// Returns the vote of the next block on a branch, by the producer at `place`: for all heights above its watermark, while the
    /// branch has prepared as much as it implied before.
    ///
    /// # Errors
    /// The reason why the block confirms nothing.
    pub fn vote(
        &self,
        place: usize,
        progress: &Irreversibility,
        version: u64,
    ) -> Result<Confirmation, NothingToConfirm> {
        let implied = Prepared { version, height: progress.prepared() };
        let is_heeded = progress.rule().is_locked() && !mutation::active(Mutation::DposLockIgnored);
        if is_heeded && implied < self.lock {
            return Err(NothingToConfirm::Locked);
        }
        let watermark = if mutation::active(Mutation::DposConfirmsTwice) { Height::GENESIS } else { self.confirmed };
        let vote = Confirmation { confirmed: progress.confirmable(place, watermark), implied };
        if vote.confirmed == 0 {
            return Err(NothingToConfirm::Confirmed);
        }
        let has_room = vote.nonce(progress.height().next()).is_some();
        if has_room { Ok(vote) } else { Err(NothingToConfirm::NoRoom) }
    }

    /// Returns the newest slot that had begun when it last produced, as `clock` counts; `genesis` is the clock of a chain without changes.
    pub(super) fn slot_on(&self, clock: SlotClock, genesis: SlotClock) -> u64 {
        if clock == genesis && self.began.is_none() {
            return self.slot;
        }
        clock.slot_begun(self.began.unwrap_or_else(|| genesis.time_of(self.slot)))
    }

    /// Returns the state after a block in `slot`, which began at that time, at `height`, with this vote.
    #[must_use]
    pub fn after(self, slot: u64, began: Option<Timestamp>, height: Height, vote: Option<Confirmation>) -> Self {
        let Some(Confirmation { implied, .. }) = vote else { return Self { slot, began, ..self } };
        Self { slot, began, confirmed: self.confirmed.max(height), lock: self.lock.max(implied) }
    }
}
