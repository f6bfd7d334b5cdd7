//! Times in which nothing of a network ran.

use core::time::Duration;

use imbl::Vector;

use crate::sim::engine::clock::SimTime;

/// Most sleeps that are remembered one by one.
const KEPT_MAX: usize = 256;

/// When all processes stood still together. Cloning is O(1).
#[derive(Clone, Debug, Default)]
pub(crate) struct Sleeps {
    total: Duration,
    /// Beginnings and ends of the latest ones, oldest first.
    kept: Vector<(SimTime, SimTime)>,
}

impl Sleeps {
    /// Adds a sleep, which is later than all before.
    pub(super) fn add(&mut self, from: SimTime, until: SimTime) {
        self.total = self.total.saturating_add(length(from, until));
        if self.kept.len() == KEPT_MAX {
            self.kept.pop_front();
        }
        self.kept.push_back((from, until));
    }

    /// Returns the sum of all.
    pub(crate) const fn total(&self) -> Duration {
        self.total
    }

    /// Returns the part of the time since `since` that was slept, as far as it is remembered.
    pub(super) fn since(&self, since: SimTime) -> Duration {
        let later = self.kept.iter().rev().take_while(|(_, until)| *until > since);
        later.map(|(from, until)| length((*from).max(since), *until)).sum()
    }
}

fn length(from: SimTime, until: SimTime) -> Duration {
    Duration::from_nanos(until.as_nanos().saturating_sub(from.as_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_slept_is_counted_from_a_moment_on() {
        let (at, nanos) = (SimTime::from_nanos, Duration::from_nanos);
        let mut sleeps = Sleeps::default();
        assert_eq!((sleeps.total(), sleeps.since(at(0))), (Duration::ZERO, Duration::ZERO));
        sleeps.add(at(10), at(30));
        sleeps.add(at(50), at(55));
        assert_eq!(sleeps.total(), nanos(25));
        for (since, want) in [(0, 25), (10, 25), (20, 15), (30, 5), (40, 5), (52, 3), (55, 0), (90, 0)] {
            assert_eq!(sleeps.since(at(since)), nanos(want), "{since}");
        }
    }

    #[test]
    fn of_many_the_latest_are_remembered_and_the_sum_is_of_all() {
        let mut sleeps = Sleeps::default();
        let count = KEPT_MAX as u64 + 10;
        (0..count).for_each(|n| sleeps.add(SimTime::from_nanos(10 * n), SimTime::from_nanos(10 * n + 1)));
        assert_eq!(sleeps.total(), Duration::from_nanos(count));
        assert_eq!(sleeps.since(SimTime::ZERO), Duration::from_nanos(KEPT_MAX as u64));
    }
}
