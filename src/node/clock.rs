//! Where block times come from.

use core::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};

use super::TimeError;
use crate::primitives::Timestamp;

/// Tells what time it is. Object-safe, and stays so.
///
/// The library's own clock is [`ManualClock`]; the command line gives one that reads the machine's.
pub trait Clock: Debug + Send + Sync {
    /// The time now.
    fn now(&self) -> Timestamp;
}

/// A clock that stands still until it is moved by hand.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicU64);

impl ManualClock {
    /// A clock that shows `now`.
    pub const fn new(now: Timestamp) -> Self {
        Self(AtomicU64::new(now.as_secs()))
    }

    /// Moves the clock on by `seconds`.
    pub fn advance_secs(&self, seconds: u64) {
        self.0.fetch_add(seconds, Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_secs(self.0.load(Ordering::Relaxed))
    }
}

/// How the clock's time becomes a block's: `max(parent, clock + offset)`, unless it was set by hand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct BlockTime {
    /// Seconds that time travel has put between the clock and blocks.
    offset_secs: i64,
    /// The next block's time, set by hand; used once.
    next: Option<u64>,
    /// Seconds from one block to the next, set by hand.
    interval_secs: Option<u64>,
}

impl BlockTime {
    /// The clock's time as blocks see it.
    pub(super) fn now(&self, clock: &dyn Clock) -> Timestamp {
        Timestamp::from_secs(clock.now().as_secs().saturating_add_signed(self.offset_secs))
    }

    /// The time of a block on a parent of time `parent`.
    pub(super) fn next_timestamp(&self, clock: &dyn Clock, parent: Timestamp) -> Timestamp {
        let by_hand = self.next.map(Timestamp::from_secs);
        let by_interval = self.interval_secs.map(|interval| parent.saturating_add_secs(interval));
        by_hand.or(by_interval).unwrap_or_else(|| self.now(clock)).max(parent)
    }

    /// Notes that a block was made: what was set by hand for one block is spent, and the clock goes on from there.
    pub(super) fn block_made(&mut self, clock: &dyn Clock, timestamp: Timestamp) {
        if self.next.take().is_some() {
            self.go_to(clock, timestamp);
        }
    }

    /// Moves blocks' time on by `seconds`; answers the offset from the clock.
    pub(super) fn increase(&mut self, seconds: u64) -> i64 {
        self.offset_secs = self.offset_secs.saturating_add_unsigned(seconds);
        self.offset_secs
    }

    /// Makes blocks' time `timestamp` from now on.
    pub(super) fn go_to(&mut self, clock: &dyn Clock, timestamp: Timestamp) {
        let (target, now) = (i128::from(timestamp.as_secs()), i128::from(clock.now().as_secs()));
        self.offset_secs = (target - now).clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64;
    }

    /// Sets the next block's time.
    pub(super) fn set_next(&mut self, timestamp: Timestamp, parent: Timestamp) -> Result<(), TimeError> {
        if timestamp < parent {
            return Err(TimeError::BeforeParent { asked: timestamp, parent });
        }
        self.next = Some(timestamp.as_secs());
        Ok(())
    }

    /// Sets or removes the fixed distance between blocks.
    pub(super) fn set_interval(&mut self, seconds: Option<u64>) {
        self.interval_secs = seconds;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: Timestamp = Timestamp::from_secs(1_000);

    #[test]
    fn a_block_is_never_before_its_parent() {
        let time = BlockTime::default();
        for (now, expected) in [(10, 1_000), (1_000, 1_000), (2_000, 2_000)] {
            let clock = ManualClock::new(Timestamp::from_secs(now));
            assert_eq!(time.next_timestamp(&clock, PARENT).as_secs(), expected, "clock at {now}");
        }
    }

    #[test]
    fn a_time_set_by_hand_holds_once_and_time_goes_on_from_there() {
        let clock = ManualClock::new(Timestamp::from_secs(1_500));
        let mut time = BlockTime::default();
        let asked = Timestamp::from_secs(9_000);
        time.set_next(asked, PARENT).unwrap();
        assert_eq!(time.next_timestamp(&clock, PARENT), asked);
        time.block_made(&clock, asked);
        clock.advance_secs(5);
        assert_eq!(time.next_timestamp(&clock, asked).as_secs(), 9_005);
        let early = Timestamp::from_secs(999);
        assert_eq!(time.set_next(early, PARENT), Err(TimeError::BeforeParent { asked: early, parent: PARENT }));
    }

    #[test]
    fn time_travel_adds_up_and_an_interval_wins_over_the_clock() {
        let clock = ManualClock::new(Timestamp::from_secs(1_000));
        let mut time = BlockTime::default();
        assert_eq!(time.increase(60), 60);
        assert_eq!(time.increase(40), 100);
        assert_eq!(time.next_timestamp(&clock, PARENT).as_secs(), 1_100);
        time.set_interval(Some(12));
        assert_eq!(time.next_timestamp(&clock, PARENT).as_secs(), 1_012);
    }
}
