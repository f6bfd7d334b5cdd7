//! Virtual time, and the time that blocks carry.

use core::{fmt, time::Duration};

use serde::{Deserialize, Serialize};

use crate::primitives::Timestamp;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// Virtual time: nanoseconds since the network began. Sums clamp at the largest time (584 years).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SimTime(u64);

impl SimTime {
    /// The beginning.
    pub const ZERO: Self = Self(0);

    /// `nanos` nanoseconds after the beginning.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the beginning.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Later by `nanos`.
    #[must_use]
    pub const fn plus_nanos(self, nanos: u64) -> Self {
        Self(self.0.saturating_add(nanos))
    }

    /// Later by `duration`.
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

/// Whole nanoseconds, clamped at the largest `u64`.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// What time blocks show: the genesis time plus whole seconds of virtual time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockClock {
    genesis: Timestamp,
}

impl BlockClock {
    /// A clock that shows `genesis` at the beginning.
    pub const fn starting_at(genesis: Timestamp) -> Self {
        Self { genesis }
    }

    /// The timestamp of this moment.
    pub const fn timestamp(&self, now: SimTime) -> Timestamp {
        self.genesis.saturating_add_secs(now.0 / NANOS_PER_SECOND)
    }

    /// The first moment that shows `timestamp`.
    pub const fn moment(&self, timestamp: Timestamp) -> SimTime {
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
    }
}
