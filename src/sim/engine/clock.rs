//! Virtual time, and the clock of block timestamps.

use core::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

use crate::primitives::Timestamp;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// Virtual time: nanoseconds since the network began. Sums clamp at the largest time (584 years).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SimTime(u64);

impl SimTime {
    /// Start of the run.
    pub const ZERO: Self = Self(0);

    /// Returns the time `nanos` nanoseconds after the start.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Returns the nanoseconds since the start.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns the time later by `nanos` nanoseconds.
    #[must_use]
    pub const fn plus_nanos(self, nanos: u64) -> Self {
        Self(self.0.saturating_add(nanos))
    }

    /// Returns the time later by `duration`.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        self.plus_nanos(nanos(duration))
    }
}

impl fmt::Display for SimTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09} s", self.0 / NANOS_PER_SECOND, self.0 % NANOS_PER_SECOND)
    }
}

/// Returns the whole nanoseconds, clamped at the largest `u64`.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Clock of block timestamps: the genesis time plus whole seconds of virtual time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BlockClock {
    genesis: Timestamp,
}

impl BlockClock {
    /// Creates a clock that shows `genesis` at the start.
    pub(crate) const fn starting_at(genesis: Timestamp) -> Self {
        Self { genesis }
    }

    /// Returns the timestamp at a virtual time.
    pub(crate) const fn timestamp(&self, now: SimTime) -> Timestamp {
        self.genesis.saturating_add_secs(now.0 / NANOS_PER_SECOND)
    }

    /// Returns the virtual time of a time since 1970; the start for one before genesis.
    pub(in crate::sim) fn time_at(&self, since_1970: Duration) -> SimTime {
        SimTime(nanos(since_1970.saturating_sub(Duration::from_secs(self.genesis.as_secs()))))
    }

    /// Returns the first virtual time with this timestamp.
    pub(crate) const fn moment(&self, timestamp: Timestamp) -> SimTime {
        let seconds = timestamp.as_secs().saturating_sub(self.genesis.as_secs());
        SimTime(seconds.saturating_mul(NANOS_PER_SECOND))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_and_timestamps_agree() {
        let clock = BlockClock::starting_at(Timestamp::from_secs(1_000));
        let moment = clock.moment(Timestamp::from_secs(1_007));
        assert_eq!(clock.timestamp(moment), Timestamp::from_secs(1_007));
        assert_eq!(clock.timestamp(SimTime(moment.0 - 1)), Timestamp::from_secs(1_006));
        assert_eq!(clock.moment(Timestamp::from_secs(3)), SimTime::ZERO);
        assert_eq!(moment.to_string(), "7.000000000 s");
        assert_eq!(clock.time_at(Duration::from_millis(1_007_250)), moment.plus(Duration::from_millis(250)));
        assert_eq!(clock.time_at(Duration::from_secs(999)), SimTime::ZERO);
    }
}
