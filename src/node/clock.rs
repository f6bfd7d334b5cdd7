//! Block timestamps: the clock, and what time travel adds to it.

use core::{fmt::Debug, time::Duration};
use std::sync::atomic::{AtomicU64, Ordering};

use super::TimeError;
use crate::primitives::Timestamp;

/// A source of time. Object-safe, and stays so.
///
/// The library's own clock is [`ManualClock`]; the command line uses one that reads the system's.
pub trait Clock: Debug + Send + Sync {
    /// Returns the time now.
    fn now(&self) -> Timestamp;
}

/// A clock that stands still until it is advanced.
#[derive(Debug, Default)]
pub struct ManualClock(AtomicU64);

impl ManualClock {
    /// A clock at `now`.
    pub const fn new(now: Timestamp) -> Self {
        Self(AtomicU64::new(now.as_secs()))
    }

    /// Advances the clock by the whole seconds of `duration`.
    pub fn advance(&self, duration: Duration) {
        self.0.fetch_add(duration.as_secs(), Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_secs(self.0.load(Ordering::Relaxed))
    }
}

/// By how many seconds blocks' time is ahead of the clock; negative when it is behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct ClockOffset(i64);

impl ClockOffset {
    /// The offset in seconds.
    pub const fn as_secs(self) -> i64 {
        self.0
    }
}

/// The rule of a block's timestamp: `max(parent, clock + offset)`, unless a timestamp or an interval is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct BlockTime {
    #[serde(rename = "offsetSecs")]
    offset: ClockOffset,
    /// Timestamp of the next block, in seconds; used once.
    next: Option<u64>,
    /// Seconds from one block to the next, in place of the clock.
    interval_secs: Option<u64>,
}

impl BlockTime {
    /// The clock's time with the offset.
    pub(super) fn now(&self, clock: &dyn Clock) -> Timestamp {
        Timestamp::from_secs(clock.now().as_secs().saturating_add_signed(self.offset.0))
    }

    pub(super) const fn offset(&self) -> ClockOffset {
        self.offset
    }

    /// The timestamp of a block whose parent's is `parent`.
    pub(super) fn next_timestamp(&self, clock: &dyn Clock, parent: Timestamp) -> Timestamp {
        let set = self.next.map(Timestamp::from_secs);
        let by_interval = self.interval_secs.map(|interval| parent.saturating_add_secs(interval));
        set.or(by_interval).unwrap_or_else(|| self.now(clock)).max(parent)
    }

    /// Records that a block with `timestamp` was made: a timestamp set for it is used up, and time continues from it.
    pub(super) fn on_block(&mut self, clock: &dyn Clock, timestamp: Timestamp) {
        if self.next.take().is_some() {
            self.set_now(clock, timestamp);
        }
    }

    /// Advances blocks' time by the whole seconds of `duration`.
    pub(super) fn increase(&mut self, duration: Duration) {
        self.offset.0 = self.offset.0.saturating_add_unsigned(duration.as_secs());
    }

    /// Sets blocks' time to `timestamp`; it advances with the clock.
    pub(super) fn set_now(&mut self, clock: &dyn Clock, timestamp: Timestamp) {
        let (target, now) = (i128::from(timestamp.as_secs()), i128::from(clock.now().as_secs()));
        self.offset.0 = target.saturating_sub(now).clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64;
    }

    /// Sets the next block's timestamp.
    pub(super) fn set_next(&mut self, timestamp: Timestamp, parent: Timestamp) -> Result<(), TimeError> {
        if timestamp < parent {
            return Err(TimeError::BeforeParent { asked: timestamp, parent });
        }
        self.next = Some(timestamp.as_secs());
        Ok(())
    }

    /// Sets or removes the fixed interval between blocks, in whole seconds.
    pub(super) fn set_interval(&mut self, interval: Option<Duration>) {
        self.interval_secs = interval.map(|interval| interval.as_secs());
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
    fn a_set_timestamp_is_used_once_and_time_continues_from_it() {
        let clock = ManualClock::new(Timestamp::from_secs(1_500));
        let mut time = BlockTime::default();
        let asked = Timestamp::from_secs(9_000);
        time.set_next(asked, PARENT).unwrap();
        assert_eq!(time.next_timestamp(&clock, PARENT), asked);
        time.on_block(&clock, asked);
        clock.advance(Duration::from_secs(5));
        assert_eq!(time.next_timestamp(&clock, asked).as_secs(), 9_005);
        let early = Timestamp::from_secs(999);
        let refused = time.set_next(early, PARENT);
        assert!(matches!(refused, Err(TimeError::BeforeParent { asked, parent: PARENT }) if asked == early));
    }

    #[test]
    fn time_travel_adds_up_and_an_interval_replaces_the_clock() {
        let clock = ManualClock::new(Timestamp::from_secs(1_000));
        let mut time = BlockTime::default();
        for (seconds, total) in [(60, 60), (40, 100)] {
            time.increase(Duration::from_secs(seconds));
            assert_eq!(time.offset().as_secs(), total);
        }
        assert_eq!(time.next_timestamp(&clock, PARENT).as_secs(), 1_100);
        time.set_interval(Some(Duration::from_secs(12)));
        assert_eq!(time.next_timestamp(&clock, PARENT).as_secs(), 1_012);
        time.set_now(&clock, Timestamp::from_secs(400));
        assert_eq!((time.offset().as_secs(), time.now(&clock).as_secs()), (-600, 400));
    }

    #[test]
    fn the_dumped_form_names_its_units() {
        let mut time = BlockTime::default();
        time.increase(Duration::from_secs(7));
        let json = serde_json::to_string(&time).unwrap();
        assert_eq!(json, r#"{"offsetSecs":7,"next":null,"intervalSecs":null}"#);
    }
}
