//! Beginnings of slots, whose length the chain's block time decides.
//!
//! A branch's blocks decide when the length changes (`slot_length.rs`).

use std::sync::Arc;

use crate::{
    consensus::{Encoder, encoding::Decoder, slot_clock::SlotClock},
    primitives::Timestamp,
};

/// Most lengths kept; what is older than the oldest one counts as old as that one, so that evidence never expires too early.
const SEGMENTS_MAX: usize = 16;

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
    pub(super) fn last_period(&self) -> u64 {
        self.0.last().map(SlotClock::period).unwrap_or_default()
    }

    fn at(&self, slot: u64) -> &SlotClock {
        self.0.iter().rev().find(|segment| segment.since().0 <= slot).unwrap_or(&self.0[0])
    }

    /// Returns the times with slots of `secs` from `slot` on.
    pub(super) fn changed_at(&self, slot: u64, secs: u64) -> Self {
        let changed = SlotClock::starting_at((slot, self.time_of(slot)), secs);
        let kept = self.0.iter().copied().skip((self.0.len() + 1).saturating_sub(SEGMENTS_MAX));
        Self(kept.chain([changed]).collect())
    }

    pub(super) fn encode(&self, out: &mut Encoder) {
        out.list(self.0.iter(), |out, segment| segment.encode(out));
    }

    pub(super) fn decode(bytes: &mut Decoder<'_>) -> Option<Self> {
        let segments = bytes.list(SlotClock::decode)?;
        (!segments.is_empty()).then(|| Self(segments.into()))
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
