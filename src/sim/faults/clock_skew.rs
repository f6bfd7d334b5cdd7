//! Clock errors of replicas.

use core::time::Duration;

use crate::sim::engine::clock::SimTime;

const PER_MILLION: i128 = 1_000_000;
const NANOS_PER_MILLI: i128 = 1_000_000;

/// Deviation of a replica's clock from virtual time: an offset and a drift since a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClockSkew {
    since: SimTime,
    offset_nanos: i128,
    drift_ppm: i128,
}

impl ClockSkew {
    pub(crate) fn new(since: SimTime, offset_ms: i64, drift_ppm: i64) -> Self {
        Self { since, offset_nanos: i128::from(offset_ms) * NANOS_PER_MILLI, drift_ppm: drift_ppm.into() }
    }

    /// Takes this time for one in which the clock did not drift: all clocks of a machine that sleeps go on by the same one.
    pub(crate) fn sleep(&mut self, duration: Duration) {
        self.since = self.since.plus(duration);
    }

    /// Returns the clock's time at virtual time `now`, at least zero.
    pub(crate) fn local_time(&self, now: SimTime) -> SimTime {
        let elapsed = i128::from(now.as_nanos()) - i128::from(self.since.as_nanos());
        let ahead = self.offset_nanos + elapsed * self.drift_ppm / PER_MILLION;
        time(i128::from(now.as_nanos()) + ahead)
    }

    /// Returns the virtual time at which the clock shows `local`.
    pub(crate) fn virtual_time(&self, local: SimTime) -> SimTime {
        let since = i128::from(self.since.as_nanos());
        let elapsed_here = i128::from(local.as_nanos()) - since - self.offset_nanos;
        // Rounded up, so that the clock has reached `local` by then.
        let rate = PER_MILLION + self.drift_ppm;
        let elapsed = elapsed_here * PER_MILLION;
        time(since + elapsed.div_euclid(rate) + i128::from(elapsed.rem_euclid(rate) > 0))
    }

    /// Returns the virtual nanoseconds in which the clock advances by `nanos`.
    pub(crate) fn virtual_nanos(&self, nanos: u64) -> u64 {
        let virtual_nanos = i128::from(nanos) * PER_MILLION / (PER_MILLION + self.drift_ppm);
        u64::try_from(virtual_nanos).unwrap_or(u64::MAX)
    }
}

fn time(nanos: i128) -> SimTime {
    SimTime::from_nanos(u64::try_from(nanos.max(0)).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_and_virtual_time_are_inverse() {
        let at = SimTime::from_nanos(5_000_000_000);
        for (offset_ms, drift_ppm) in [(0, 0), (300, 0), (-300, 0), (0, 200_000), (0, -333_333), (700, -1_234)] {
            let skew = ClockSkew::new(at, offset_ms, drift_ppm);
            for seconds in [6, 7, 100, 10_000] {
                let local = SimTime::from_nanos(seconds * 1_000_000_000);
                let virtual_time = skew.virtual_time(local);
                let shown = skew.local_time(virtual_time).as_nanos();
                assert!((local.as_nanos()..local.as_nanos() + 3).contains(&shown), "{offset_ms} {drift_ppm} {seconds}");
            }
        }
        let mut slept = ClockSkew::new(at, 0, 100_000);
        slept.sleep(Duration::from_secs(1_000));
        let later = SimTime::from_nanos(1_015_000_000_000);
        assert_eq!(slept.local_time(later).as_nanos(), 1_016_000_000_000, "it drifted for ten seconds");
        assert_eq!(ClockSkew::new(at, 0, 250_000).virtual_nanos(1_000), 800);
        assert_eq!(ClockSkew::new(at, -9_000, 0).local_time(at), SimTime::ZERO);
    }
}
