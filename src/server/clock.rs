//! The wall clock, which only the server and the command line read, and dates as text.

use core::fmt;
use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use jiff::fmt::temporal::DateTimePrinter;

use crate::{
    node::{Clock, MachineClock, Node, RealTimeClock},
    primitives::Timestamp,
};

/// The last second of the year 2400, since the Unix epoch: time travel leads no further. Other chains go with it and do not come back.
pub(crate) const TRAVEL_SECS_MAX: u64 = 13_601_087_999;

/// Clock of the operating system; `chainbox dev` gives it to its node.
#[derive(Clone, Copy, Debug, Default)]
pub struct WallClock;

impl Clock for WallClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_secs(since_epoch().as_secs())
    }

    fn now_ms(&self) -> u64 {
        now_ms()
    }
}

/// The wall clock as far ahead or behind as time travel has moved a node's (`evm_increaseTime`): `chainbox dev` gives it to its
/// platform, so that what expires there moves with the default chain.
#[derive(Clone, Debug)]
pub struct ChainClock(Node);

impl ChainClock {
    /// Creates the clock of a node.
    pub const fn of(node: Node) -> Self {
        Self(node)
    }
}

impl Clock for ChainClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_secs(self.now_ms() / 1000)
    }

    fn now_ms(&self) -> u64 {
        now_ms().saturating_add_signed(self.0.view().clock_offset().as_secs().saturating_mul(1000))
    }
}

/// The machine's clock as far ahead as time travel has moved a node's at most (`evm_increaseTime`): `chainbox dev` gives it to the networks of
/// its other chains, so that what waits for their blocks' time moves with the default chain. Where that is taken back to a snapshot, or behind
/// the wall, the networks stay ahead: their blocks are not taken back. No lead goes past the year 2400, wherever the node's own time is.
#[derive(Debug)]
pub struct TravelClock {
    machine: MachineClock,
    node: Node,
    /// Greatest lead so far.
    lead: Mutex<Duration>,
}

impl TravelClock {
    /// Creates the clock by a node's time travel.
    pub fn of(node: Node) -> Self {
        Self { machine: MachineClock::default(), node, lead: Mutex::default() }
    }
}

impl RealTimeClock for TravelClock {
    fn now(&self) -> Duration {
        let ahead = u64::try_from(self.node.view().clock_offset().as_secs()).unwrap_or(0);
        let ahead_max = TRAVEL_SECS_MAX.saturating_sub(since_epoch().as_secs());
        let mut lead = self.lead.lock().unwrap_or_else(PoisonError::into_inner);
        *lead = (*lead).max(Duration::from_secs(ahead.min(ahead_max)));
        self.machine.now().saturating_add(*lead)
    }
}

/// Returns the wall time in milliseconds since the Unix epoch.
pub fn now_ms() -> u64 {
    u64::try_from(since_epoch().as_millis()).unwrap_or(u64::MAX)
}

/// A clock that never goes back, for what expires; tests move theirs.
pub(crate) trait Ticks: fmt::Debug + Send + Sync {
    /// Time since the clock was made.
    fn elapsed(&self) -> Duration;
}

/// The operating system's monotonic clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MonotonicClock(Instant);

impl Default for MonotonicClock {
    #[expect(clippy::disallowed_methods, reason = "the server's filters expire by the machine's time")]
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Ticks for MonotonicClock {
    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place where the server reads the wall clock")]
fn since_epoch() -> Duration {
    // A clock set before 1970 reads as 1970.
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

/// Prints seconds, and milliseconds.
const SECONDS: DateTimePrinter = DateTimePrinter::new().precision(Some(0));
const MILLISECONDS: DateTimePrinter = DateTimePrinter::new().precision(Some(3));

/// Returns a block's time as ISO 8601 in UTC: `2026-01-02T03:04:05Z`. Times past the year 9999 are its last second.
pub fn date(time: Timestamp) -> String {
    let time = i64::try_from(time.as_secs()).ok().and_then(|secs| jiff::Timestamp::from_second(secs).ok());
    SECONDS.timestamp_to_string(&time.unwrap_or(jiff::Timestamp::MAX))
}

/// Returns milliseconds since the Unix epoch as ISO 8601 in UTC: `2026-01-02T03:04:05.678Z`. Times past the year 9999 are its last millisecond.
pub(crate) fn iso_8601(ms: u64) -> String {
    let time = i64::try_from(ms).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    MILLISECONDS.timestamp_to_string(&time.unwrap_or(jiff::Timestamp::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chains_clock_moves_with_its_time_travel() {
        let node = Node::builder().with_clock(std::sync::Arc::new(WallClock)).build().unwrap();
        let clock = ChainClock::of(node.clone());
        assert!(clock.now_ms() < now_ms() + 60_000);
        node.increase_time(Duration::from_secs(3_600));
        assert!((now_ms() + 3_600_000 - 60_000..now_ms() + 3_660_000).contains(&clock.now_ms()));
    }

    #[test]
    fn networks_travel_ahead_with_a_node_and_never_back() {
        let node = Node::builder().with_clock(std::sync::Arc::new(WallClock)).build().unwrap();
        let clock = TravelClock::of(node.clone());
        let (began, snapshot) = (clock.now(), node.snapshot());
        node.increase_time(Duration::from_secs(3_600));
        let (hour, minute) = (Duration::from_secs(3_600), Duration::from_secs(60));
        let moved = clock.now();
        assert!((began + hour..began + hour + minute).contains(&moved));
        assert!(node.revert(snapshot).unwrap());
        assert_eq!(node.view().clock_offset().as_secs(), 0);
        assert!((moved..moved + minute).contains(&clock.now()), "the lead is kept");
    }

    #[test]
    fn networks_travel_no_further_than_the_year_2400() {
        let node = Node::builder().with_clock(std::sync::Arc::new(WallClock)).build().unwrap();
        let clock = TravelClock::of(node.clone());
        let (began, left) = (clock.now(), Duration::from_secs(TRAVEL_SECS_MAX - since_epoch().as_secs()));
        node.increase_time(Duration::from_secs(u64::MAX));
        let minute = Duration::from_secs(60);
        assert!((began + left..began + left + minute).contains(&(clock.now() + minute / 2)));
        assert_eq!(date(Timestamp::from_secs(TRAVEL_SECS_MAX)), "2400-12-31T23:59:59Z");
    }

    #[test]
    fn known_times_have_their_dates() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_251_199_999, "2024-02-29T23:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(iso_8601(ms), text);
        }
        assert_eq!(date(Timestamp::from_secs(1_735_689_600)), "2025-01-01T00:00:00Z");
        assert_eq!(date(Timestamp::from_secs(u64::MAX)), "9999-12-30T22:00:00Z");
        assert_eq!(iso_8601(u64::MAX), "9999-12-30T22:00:00.999Z");
    }
}
