//! Times of slots, or of heights, whose spacing follows the chain's block time.

use super::encoding::{Decoder, Encoder};
use crate::{
    primitives::Timestamp,
    system::{ParameterUpdates, parameters::Parameter},
};

/// A line of slots at equal distances, from the slot on at which the distance was last changed. On demand, without a distance, a slot
/// counts as a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::consensus) struct SlotClock {
    /// A slot, and the time at which it begins.
    since: (u64, Timestamp),
    /// Seconds from a slot to the next; 0 on demand.
    period: u64,
}

impl SlotClock {
    /// Returns the clock of a chain whose slots are multiples of its period.
    pub(in crate::consensus) const fn at_genesis(period: u64) -> Self {
        Self { since: (0, Timestamp::from_secs(0)), period }
    }

    /// Returns the clock of slots from one slot and its time on.
    pub(in crate::consensus) const fn starting_at(since: (u64, Timestamp), period: u64) -> Self {
        Self { since, period }
    }

    /// Returns the slot from which on the distance is the present one, and its time.
    pub(in crate::consensus) const fn since(&self) -> (u64, Timestamp) {
        self.since
    }

    /// Returns the seconds from a slot to the next; 0 on demand.
    pub(in crate::consensus) const fn period(&self) -> u64 {
        self.period
    }

    /// Returns the beginning of a slot; of one before the last change the change's.
    pub(in crate::consensus) const fn time_of(&self, slot: u64) -> Timestamp {
        let step = if self.period == 0 { 1 } else { self.period };
        self.since.1.saturating_add_secs(slot.saturating_sub(self.since.0).saturating_mul(step))
    }

    /// Returns the newest slot that has begun at a time; before the last change the change's.
    pub(in crate::consensus) fn slot_begun(&self, time: Timestamp) -> u64 {
        let elapsed = time.as_secs().saturating_sub(self.since.1.as_secs());
        self.since.0.saturating_add(elapsed / self.period.max(1))
    }

    /// Returns the clock from `slot` on, where `changes` come into force.
    #[must_use]
    pub(in crate::consensus) fn changed_at(self, slot: u64, changes: &ParameterUpdates) -> Self {
        match changes.value(Parameter::BlockTime) {
            Some(secs) => Self { since: (slot, self.time_of(slot)), period: secs as u64 },
            None => self,
        }
    }

    pub(in crate::consensus) fn encode(&self, out: &mut Encoder) {
        let Self { since: (slot, time), period } = self;
        out.u64(*slot);
        out.timestamp(*time);
        out.u64(*period);
    }

    pub(in crate::consensus) fn decode(bytes: &mut Decoder<'_>) -> Option<Self> {
        Some(Self { since: (bytes.u64()?, Timestamp::from_secs(bytes.u64()?)), period: bytes.u64()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::ParameterUpdate;

    fn every(secs: u128) -> ParameterUpdates {
        ParameterUpdates::new([ParameterUpdate { parameter: Parameter::BlockTime, value: secs }])
    }

    #[test]
    fn a_change_counts_from_its_slot_on() {
        let clock = SlotClock::at_genesis(3);
        assert_eq!(clock.time_of(4).as_secs(), 12);
        let changed = clock.changed_at(4, &every(10)).changed_at(6, &every(2));
        let times: Vec<_> = (3..9).map(|slot| changed.time_of(slot).as_secs()).collect();
        assert_eq!(times, [32, 32, 32, 32, 34, 36]);
        let between = clock.changed_at(4, &every(10));
        assert_eq!([11, 21, 22].map(|secs| between.slot_begun(Timestamp::from_secs(secs))), [4, 4, 5]);
        assert_eq!(clock.changed_at(4, &ParameterUpdates::NONE), clock);
        let mut out = Encoder::new();
        between.encode(&mut out);
        assert_eq!(SlotClock::decode(&mut Decoder::new(out.as_bytes())), Some(between));
    }

    #[test]
    fn on_demand_a_slot_counts_as_a_second() {
        let clock = SlotClock::at_genesis(0);
        assert_eq!((clock.time_of(7).as_secs(), clock.slot_begun(Timestamp::from_secs(7))), (7, 7));
    }
}
