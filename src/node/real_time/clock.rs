//! Clocks of networks in real time.

use core::{fmt::Debug, time::Duration};
use std::{
    sync::{Mutex, PoisonError},
    time::{Instant, SystemTime},
};

/// How far the wall clock gets ahead of the monotonic one before that follows: 2 s, above what adjustments of a wall clock add up to in
/// a day.
const AHEAD_MAX: Duration = Duration::from_secs(2);

/// A source of real time. Object-safe, and stays so.
pub trait RealTimeClock: Debug + Send + Sync {
    /// Returns the time since 1970. It never goes back.
    fn now(&self) -> Duration;
}

/// The machine's clocks: the wall's time when it was made, and the monotonic clock from then on. That one stands still while some
/// machines sleep, so that a wall clock well ahead of it is followed.
#[derive(Debug)]
pub struct MachineClock {
    began: Instant,
    follower: Mutex<WallFollower>,
}

impl Default for MachineClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the pool of networks in real time, and nothing below it, reads the clock"
    )]
    fn default() -> Self {
        Self {
            began: Instant::now(),
            follower: Mutex::new(WallFollower { offset: since_1970(), latest: Duration::ZERO }),
        }
    }
}

impl RealTimeClock for MachineClock {
    fn now(&self) -> Duration {
        let mut follower = self.follower.lock().unwrap_or_else(PoisonError::into_inner);
        follower.read(self.began.elapsed(), since_1970())
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the pool of networks in real time, and nothing below it, reads the clock"
)]
fn since_1970() -> Duration {
    // A clock set before 1970 reads as 1970.
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

/// The time by two clocks.
#[derive(Debug)]
struct WallFollower {
    /// Time since 1970 at the monotonic clock's zero.
    offset: Duration,
    latest: Duration,
}

impl WallFollower {
    /// Returns the time by the readings of the monotonic clock and the wall's.
    fn read(&mut self, monotonic: Duration, wall: Duration) -> Duration {
        let mut now = self.offset.saturating_add(monotonic);
        if wall.saturating_sub(now) > AHEAD_MAX {
            self.offset = wall.saturating_sub(monotonic);
            now = wall;
        }
        self.latest = self.latest.max(now);
        self.latest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_follows_a_wall_clock_that_gets_ahead_and_none_that_is_set_back() {
        let secs = Duration::from_secs;
        let mut follower = WallFollower { offset: secs(1_000), latest: Duration::ZERO };
        for (name, monotonic, wall, want) in [
            ("at the start", 0, 1_000, 1_000),
            ("an hour later", 3_600, 4_600, 4_600),
            ("the wall's clock was adjusted", 3_700, 4_702, 4_700),
            ("the wall's clock was set back a day", 3_800, 10, 4_800),
            ("the machine slept, and its monotonic clock stood still", 3_801, 40_000, 40_000),
            ("the wall's clock was set back again", 3_811, 4_811, 40_010),
            ("the monotonic clock went back, against its promise", 3_711, 4_711, 40_010),
        ] {
            assert_eq!(follower.read(secs(monotonic), secs(wall)), secs(want), "{name}");
        }
    }

    #[test]
    fn the_machines_clock_reads_the_present() {
        let clock = MachineClock::default();
        let (first, wall) = (clock.now(), since_1970());
        assert!(first <= clock.now() && wall.abs_diff(first) < Duration::from_secs(60));
        let object: &dyn RealTimeClock = &clock;
        assert!(object.now() >= first);
    }
}
