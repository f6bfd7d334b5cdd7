//! Beginnings of slots, whose length the chain's block time decides.
//!
//! The first block of an epoch commits to a new block time with the chain's other parameters. Slots have the new length later, by the
//! rule of the validators' sets (see [`State`]): once a checkpoint above that block is final, from the second epoch after the one in
//! which that was seen. So every branch above the final checkpoint includes the change, a replica knows the length of its slots an
//! epoch ahead, and nobody's clock runs by a change that may be undone. One change is under way at a time; of those that come
//! meanwhile the newest follows.
//!
//! Two branches may see finality in different epochs, and then number slots unlike for a while. Safety does not depend on it: votes
//! are compared by epoch, whatever the time. A replica counts slots as its head's branch does, and judges what belongs to other
//! branches by time.

use std::sync::Arc;

use super::{PosConfig, State};
use crate::{
    consensus::{
        Encoder,
        encoding::Decoder,
        mutation::{self, Mutation},
        slot_clock::SlotClock,
    },
    primitives::Timestamp,
    system::parameters::Parameter,
};

/// Most lengths kept; what is older than the oldest one counts as old as that one, so that evidence never expires too early.
const SEGMENTS_MAX: usize = 16;
/// Epochs without blocks in which the votes of those before may still make a checkpoint final.
const FINAL_WITHOUT_BLOCKS_EPOCHS: u64 = 3;

/// The beginnings of a branch's slots: lines of slots of equal length, oldest first, each from its own first slot on. Cloning is O(1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SlotTimes(Arc<[SlotClock]>);

/// A block time whose commitment is not final.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PendingLength {
    /// Epoch whose first block commits to it.
    pub(super) epoch: u64,
    /// Length of a slot, in seconds.
    pub(super) secs: u64,
}

impl SlotTimes {
    /// Returns slots of one length; slot 0 begins at `genesis`.
    pub(super) fn from_genesis(genesis: Timestamp, period: u64) -> Self {
        Self(Arc::new([SlotClock::starting_at((0, genesis), period)]))
    }

    /// Whether no change of the length is known.
    pub(super) fn is_of_genesis(&self) -> bool {
        self.0.len() == 1 && self.0[0].since().0 == 0
    }

    /// Returns the beginning of a slot.
    pub(super) fn time_of(&self, slot: u64) -> Timestamp {
        self.at(slot).time_of(slot)
    }

    /// Returns the newest slot that has begun at a time.
    pub(super) fn slot_begun(&self, time: Timestamp) -> u64 {
        let begun = self.0.iter().rev().find(|segment| segment.since().1 <= time);
        begun.unwrap_or(&self.0[0]).slot_begun(time)
    }

    /// Returns the length of a slot, in seconds; 0 on demand.
    pub(super) fn period_at(&self, slot: u64) -> u64 {
        self.at(slot).period()
    }

    /// Returns the greatest length, in seconds.
    pub(super) fn longest_period(&self) -> u64 {
        self.0.iter().map(SlotClock::period).max().unwrap_or_default()
    }

    /// Returns the seconds from the beginning of a slot to that of a later one; 0 on demand, where slots have no length.
    pub(super) fn secs_between(&self, slot: u64, later: u64) -> u64 {
        if self.last_period() == 0 {
            return 0;
        }
        self.time_of(later).as_secs().saturating_sub(self.time_of(slot).as_secs())
    }

    /// Returns the length of the slots after all known changes.
    fn last_period(&self) -> u64 {
        self.0.last().map(SlotClock::period).unwrap_or_default()
    }

    fn at(&self, slot: u64) -> &SlotClock {
        self.0.iter().rev().find(|segment| segment.since().0 <= slot).unwrap_or(&self.0[0])
    }

    /// Returns the times with slots of `secs` from `slot` on.
    fn changed_at(&self, slot: u64, secs: u64) -> Self {
        let changed = SlotClock::starting_at((slot, self.time_of(slot)), secs);
        let kept = self.0.iter().copied().skip((self.0.len() + 1).saturating_sub(SEGMENTS_MAX));
        Self(kept.chain([changed]).collect())
    }

    pub(super) fn encode(&self, out: &mut Encoder) {
        out.list(self.0.iter(), |out, segment| segment.encode(out));
    }

    fn decode(bytes: &mut Decoder<'_>) -> Option<Self> {
        let segments = bytes.list(SlotClock::decode)?;
        (!segments.is_empty()).then(|| Self(segments.into()))
    }
}

impl State {
    /// Returns the times of a branch's slots as they are known in `epoch` without further blocks. They are those up to the end of
    /// the epoch after it.
    pub(super) fn times_in(&self, config: &PosConfig, epoch: u64) -> SlotTimes {
        if self.pending_length.is_none() || epoch <= self.epoch() {
            return self.times.clone();
        }
        let last = epoch.min(self.epoch().saturating_add(FINAL_WITHOUT_BLOCKS_EPOCHS));
        self.advanced(config, config.start_of(last)).0.times
    }

    /// Returns the times of a branch's slots, known for `slot` and the one after it.
    pub(super) fn times_at(&self, config: &PosConfig, slot: u64) -> SlotTimes {
        self.times_in(config, config.epoch_of(slot))
    }

    /// Makes the block time in force the next length of slots, unless another change is under way.
    pub(super) fn commit_length(&mut self) {
        let secs = self.parameters.value(Parameter::BlockTime).map(|secs| secs as u64);
        if let Some(secs) = secs.filter(|secs| self.pending_length.is_none() && *secs != self.times.last_period()) {
            self.pending_length = Some(PendingLength { epoch: self.epoch(), secs });
        }
    }

    /// Sets the first slot of the pending length at the end of the state's epoch, once a checkpoint above its block is final.
    pub(super) fn settle_length(&mut self, config: &PosConfig) {
        let finalized = self.casper.finalized.epoch;
        let is_final = |epoch| finalized > epoch || mutation::active(Mutation::PosUnfinalSlotLength);
        if let Some(PendingLength { secs, .. }) = self.pending_length.take_if(|pending| is_final(pending.epoch)) {
            self.times = self.times.changed_at(config.start_of(self.epoch() + 2), secs);
            self.commit_length();
        }
    }

    /// Encodes what differs from genesis, where a parameter of the chain has changed.
    pub(super) fn encode_times(&self, out: &mut Encoder) {
        if !self.parameters.is_empty() {
            self.times.encode(out);
            out.option(self.pending_length, |out, PendingLength { epoch, secs }| {
                out.u64(epoch);
                out.u64(secs);
            });
        }
    }

    /// Decodes [`State::encode_times`], after the state's parameters.
    pub(super) fn decode_times(mut self, config: &PosConfig, bytes: &mut Decoder<'_>) -> Option<Self> {
        self.times = SlotTimes::from_genesis(self.genesis_time, config.period);
        if !self.parameters.is_empty() {
            self.times = SlotTimes::decode(bytes)?;
            self.pending_length =
                bytes.option(|bytes| Some(PendingLength { epoch: bytes.u64()?, secs: bytes.u64()? }))?;
        }
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secs(times: &SlotTimes, slots: impl IntoIterator<Item = u64>) -> Vec<u64> {
        slots.into_iter().map(|slot| times.time_of(slot).as_secs()).collect()
    }

    #[test]
    fn each_length_counts_from_its_slot_on() {
        let times = SlotTimes::from_genesis(Timestamp::from_secs(100), 3);
        assert!(times.is_of_genesis());
        let times = times.changed_at(4, 10).changed_at(6, 1);
        assert!(!times.is_of_genesis());
        assert_eq!(secs(&times, 0..9), [100, 103, 106, 109, 112, 122, 132, 133, 134]);
        for slot in 0..9 {
            let begins = times.time_of(slot).as_secs();
            let last = times.time_of(slot + 1).as_secs() - 1;
            assert_eq!([begins, last].map(|secs| times.slot_begun(Timestamp::from_secs(secs))), [slot; 2], "{slot}");
        }
        assert_eq!([3, 4, 5, 6].map(|slot| times.period_at(slot)), [3, 10, 10, 1]);
        assert_eq!((times.longest_period(), times.secs_between(3, 7)), (10, 24));
        let mut out = Encoder::new();
        times.encode(&mut out);
        assert_eq!(SlotTimes::decode(&mut Decoder::new(out.as_bytes())), Some(times));
        let on_demand = SlotTimes::from_genesis(Timestamp::from_secs(100), 0);
        assert_eq!(on_demand.secs_between(3, 7), 0);
    }

    #[test]
    fn of_many_lengths_the_newest_are_kept_and_what_is_older_is_no_older_than_they() {
        let times = SlotTimes::from_genesis(Timestamp::from_secs(0), 1);
        let times = (1..=40).fold(times, |times, change| times.changed_at(change * 8, 1 + change % 3));
        assert_eq!(times.0.len(), SEGMENTS_MAX);
        let oldest = times.0[0].since();
        assert_eq!(times.time_of(0), oldest.1);
        assert!(times.secs_between(0, 320) < times.time_of(320).as_secs());
        assert!(!times.is_of_genesis());
    }
}
