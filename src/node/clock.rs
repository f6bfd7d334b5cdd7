//! Block timestamps: the clock, and what time travel adds to it.

use core::{fmt::Debug, time::Duration};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::TimeError;
use crate::primitives::Timestamp;

/// A source of time. Object-safe, and stays so.
///
/// The library's own clock is [`ManualClock`]; the command line uses one that reads the system's.
pub trait Clock: Debug + Send + Sync {
    /// Returns the time now.
    fn now(&self) -> Timestamp;

    /// Returns the time now in milliseconds since the Unix epoch; that of whole seconds unless the clock knows better.
    fn now_ms(&self) -> u64 {
        self.now().as_secs().saturating_mul(1000)
    }
}

/// A clock that stands still until it is advanced.
#[derive(Debug, Default)]
pub struct ManualClock {
    /// Time since the Unix epoch.
    now: Mutex<Duration>,
}

impl ManualClock {
    /// A clock at `now`.
    pub const fn new(now: Timestamp) -> Self {
        Self { now: Mutex::new(Duration::from_secs(now.as_secs())) }
    }

    /// Advances the clock by `duration`.
    pub fn advance(&self, duration: Duration) {
        let mut now = self.lock();
        *now = now.saturating_add(duration);
    }

    /// Advances the clock to `time`, the time since the Unix epoch; one that is there or past it stands still.
    pub fn advance_to(&self, time: Duration) {
        let mut now = self.lock();
        *now = now.max(time);
    }

    /// Sets the clock to `now`.
    pub(super) fn set(&self, now: Timestamp) {
        *self.lock() = Duration::from_secs(now.as_secs());
    }

    fn lock(&self) -> MutexGuard<'_, Duration> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_secs(self.lock().as_secs())
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.lock().as_millis()).unwrap_or(u64::MAX)
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

/// Whether a block may have its parent's timestamp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum TimestampRule {
    /// It is later than its parent, as in Ethereum (YP 4.4.4; EIP-3675).
    #[default]
    Rising,
    /// It may have its parent's timestamp.
    EqualAllowed,
}

impl TimestampRule {
    /// The earliest timestamp of a block whose parent's is `parent`.
    pub(super) const fn earliest(self, parent: Timestamp) -> Timestamp {
        match self {
            Self::Rising => parent.saturating_add_secs(1),
            Self::EqualAllowed => parent,
        }
    }
}

/// The rule of a block's timestamp: `max(parent + 1, clock + offset)`, unless a timestamp or an interval is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct BlockTime {
    #[serde(rename = "offsetSecs")]
    offset: ClockOffset,
    /// Timestamp of the next block, in seconds; used once.
    next: Option<u64>,
    /// Seconds from one block to the next, in place of the clock.
    interval_secs: Option<u64>,
    /// Earliest timestamp of the next block after time travel, in seconds; used once. Blocks' time may be ahead of the clock, and
    /// time travel goes on from there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    travelled_to: Option<u64>,
}

impl BlockTime {
    /// With a fixed interval between blocks, in whole seconds; without one by the clock.
    pub(super) fn new(interval: Option<Duration>) -> Self {
        let mut time = Self::default();
        time.set_interval(interval);
        time
    }

    /// The clock's time with the offset, and no earlier than time travel has led to.
    pub(super) fn now(&self, clock: &dyn Clock) -> Timestamp {
        let by_clock = Timestamp::from_secs(clock.now().as_secs().saturating_add_signed(self.offset.0));
        self.travelled_to.map_or(by_clock, |earliest| by_clock.max(Timestamp::from_secs(earliest)))
    }

    pub(super) const fn offset(&self) -> ClockOffset {
        self.offset
    }

    /// The timestamp of a block whose parent's is `parent`.
    pub(super) fn next_timestamp(&self, clock: &dyn Clock, parent: Timestamp, rule: TimestampRule) -> Timestamp {
        let unset = || match self.interval_secs {
            Some(interval) => {
                let earliest = Timestamp::from_secs(self.travelled_to.unwrap_or(0));
                parent.saturating_add_secs(interval).max(earliest)
            }
            None => self.now(clock),
        };
        self.next.map_or_else(unset, Timestamp::from_secs).max(rule.earliest(parent))
    }

    /// Records that a block with `timestamp` was made: what was set for it is used up, and time continues from it.
    pub(super) fn on_block(&mut self, clock: &dyn Clock, timestamp: Timestamp) {
        let (is_set, travelled_to) = (self.next.take().is_some(), self.travelled_to.take());
        if is_set || (travelled_to.is_some() && self.now(clock) < timestamp) {
            self.set_offset(clock, timestamp);
        }
    }

    /// Advances blocks' time by the whole seconds of `duration`, from the clock's time or from that of the last block, `head`, where it
    /// is later.
    pub(super) fn increase(&mut self, head: Timestamp, duration: Duration) {
        let secs = duration.as_secs();
        if secs > 0 {
            self.offset.0 = self.offset.0.saturating_add_unsigned(secs);
            let from = self.travelled_to.unwrap_or(0).max(head.as_secs());
            self.travelled_to = Some(from.saturating_add(secs));
        }
    }

    /// Sets blocks' time to `timestamp`; it advances with the clock.
    pub(super) fn set_now(&mut self, clock: &dyn Clock, timestamp: Timestamp) {
        self.set_offset(clock, timestamp);
        self.travelled_to = Some(timestamp.as_secs());
    }

    fn set_offset(&mut self, clock: &dyn Clock, timestamp: Timestamp) {
        let (target, now) = (i128::from(timestamp.as_secs()), i128::from(clock.now().as_secs()));
        self.offset.0 = target.saturating_sub(now).clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64;
    }

    /// Sets the next block's timestamp.
    pub(super) fn set_next(
        &mut self,
        timestamp: Timestamp,
        parent: Timestamp,
        rule: TimestampRule,
    ) -> Result<(), TimeError> {
        if timestamp < parent {
            return Err(TimeError::BeforeParent { asked: timestamp, parent });
        }
        if timestamp < rule.earliest(parent) {
            return Err(TimeError::EqualsParent { asked: timestamp });
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
    const RISING: TimestampRule = TimestampRule::Rising;
    const EQUAL: TimestampRule = TimestampRule::EqualAllowed;

    #[test]
    fn a_manual_clock_moves_forward_by_parts_of_a_second() {
        let clock = ManualClock::new(Timestamp::from_secs(1_000));
        let read = || (clock.now().as_secs(), clock.now_ms());
        assert_eq!(read(), (1_000, 1_000_000));
        clock.advance(Duration::from_millis(700));
        assert_eq!(read(), (1_000, 1_000_700));
        clock.advance(Duration::from_millis(700));
        assert_eq!(read(), (1_001, 1_001_400));
        clock.advance_to(Duration::from_millis(1_000_000));
        assert_eq!(read(), (1_001, 1_001_400), "it never goes back");
        clock.advance_to(Duration::from_millis(1_002_000));
        assert_eq!(read(), (1_002, 1_002_000));
        clock.advance(Duration::MAX);
        assert_eq!(read(), (u64::MAX, u64::MAX), "time has an end");
    }

    #[test]
    fn a_block_is_later_than_its_parent_unless_equal_times_are_allowed() {
        let time = BlockTime::default();
        for (now, rising, equal) in
            [(10, 1_001, 1_000), (1_000, 1_001, 1_000), (1_001, 1_001, 1_001), (2_000, 2_000, 2_000)]
        {
            let clock = ManualClock::new(Timestamp::from_secs(now));
            assert_eq!(time.next_timestamp(&clock, PARENT, RISING).as_secs(), rising, "clock at {now}");
            assert_eq!(time.next_timestamp(&clock, PARENT, EQUAL).as_secs(), equal, "clock at {now}");
        }
        let last = Timestamp::from_secs(u64::MAX);
        assert_eq!(time.next_timestamp(&ManualClock::default(), last, RISING), last, "time has an end");
    }

    #[test]
    fn a_set_timestamp_is_used_once_and_time_continues_from_it() {
        let clock = ManualClock::new(Timestamp::from_secs(1_500));
        let mut time = BlockTime::default();
        let asked = Timestamp::from_secs(9_000);
        time.set_next(asked, PARENT, RISING).unwrap();
        assert_eq!(time.next_timestamp(&clock, PARENT, RISING), asked);
        time.on_block(&clock, asked);
        clock.advance(Duration::from_secs(5));
        assert_eq!(time.next_timestamp(&clock, asked, RISING).as_secs(), 9_005);
        let early = Timestamp::from_secs(999);
        let refused = time.set_next(early, PARENT, EQUAL);
        assert!(matches!(refused, Err(TimeError::BeforeParent { asked, parent: PARENT }) if asked == early));
        assert!(matches!(time.set_next(PARENT, PARENT, RISING), Err(TimeError::EqualsParent { asked: PARENT })));
        time.set_next(PARENT, PARENT, EQUAL).unwrap();
        assert_eq!(time.next_timestamp(&clock, PARENT, EQUAL), PARENT);
    }

    #[test]
    fn time_travel_adds_up_and_an_interval_replaces_the_clock() {
        let clock = ManualClock::new(Timestamp::from_secs(1_000));
        let mut time = BlockTime::default();
        for (seconds, total) in [(60, 60), (40, 100)] {
            time.increase(PARENT, Duration::from_secs(seconds));
            assert_eq!(time.offset().as_secs(), total);
        }
        assert_eq!(time.next_timestamp(&clock, PARENT, RISING).as_secs(), 1_100);
        time.on_block(&clock, Timestamp::from_secs(1_100));
        time.set_interval(Some(Duration::from_secs(12)));
        assert_eq!(time.next_timestamp(&clock, PARENT, RISING).as_secs(), 1_012);
        time.set_now(&clock, Timestamp::from_secs(400));
        assert_eq!((time.offset().as_secs(), time.now(&clock).as_secs()), (-600, 400));
        assert_eq!(time.next_timestamp(&clock, PARENT, RISING).as_secs(), 1_012);
    }

    #[test]
    fn time_travel_goes_on_from_a_block_that_is_ahead_of_the_clock() {
        let clock = ManualClock::new(Timestamp::from_secs(1_000));
        let (mut time, ahead) = (BlockTime::default(), Timestamp::from_secs(1_030));
        time.increase(ahead, Duration::from_secs(60));
        assert_eq!((time.offset().as_secs(), time.now(&clock).as_secs()), (60, 1_090));
        let next = time.next_timestamp(&clock, ahead, RISING);
        assert_eq!(next.as_secs(), 1_090);
        time.on_block(&clock, next);
        clock.advance(Duration::from_secs(7));
        assert_eq!(time.next_timestamp(&clock, next, RISING).as_secs(), 1_097);
        // A clock that has caught up decides again.
        let mut time = BlockTime::default();
        clock.advance(Duration::from_secs(1_000));
        time.increase(ahead, Duration::from_secs(60));
        assert_eq!(time.next_timestamp(&clock, ahead, RISING).as_secs(), 2_067);
    }

    #[test]
    fn time_travel_makes_one_interval_longer() {
        let clock = ManualClock::new(Timestamp::from_secs(9_000_000));
        let mut time = BlockTime::new(Some(Duration::from_secs(12)));
        assert_eq!(time.next_timestamp(&clock, PARENT, RISING).as_secs(), 1_012);
        time.increase(PARENT, Duration::from_secs(5));
        assert_eq!(time.next_timestamp(&clock, PARENT, RISING).as_secs(), 1_012, "shorter than the interval");
        time.increase(PARENT, Duration::from_secs(3_600));
        let next = time.next_timestamp(&clock, PARENT, RISING);
        assert_eq!(next.as_secs(), 4_605);
        time.on_block(&clock, next);
        assert_eq!(time.next_timestamp(&clock, next, RISING).as_secs(), 4_617);
        time.set_interval(Some(Duration::ZERO));
        assert_eq!(time.next_timestamp(&clock, next, RISING).as_secs(), 4_606);
        assert_eq!(time.next_timestamp(&clock, next, EQUAL), next);
    }

    #[test]
    fn the_dumped_form_names_its_units() {
        let mut time = BlockTime::default();
        let plain = r#"{"offsetSecs":0,"next":null,"intervalSecs":null}"#;
        assert_eq!(serde_json::to_string(&time).unwrap(), plain);
        time.increase(PARENT, Duration::from_secs(7));
        let json = r#"{"offsetSecs":7,"next":null,"intervalSecs":null,"travelledTo":1007}"#;
        assert_eq!(serde_json::to_string(&time).unwrap(), json);
        assert_eq!(serde_json::from_str::<BlockTime>(json).unwrap(), time);
        assert_eq!(serde_json::from_str::<BlockTime>(plain).unwrap(), BlockTime::default());
    }
}
