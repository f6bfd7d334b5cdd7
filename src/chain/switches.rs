//! Where the stored canonical chain was replaced: an earlier clone of a chain must not read the new one there.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The heights at which stored canonical blocks were replaced, in the order of the replacements.
#[derive(Debug, Default)]
pub(super) struct Switches(Mutex<Record>);

#[derive(Debug, Default)]
struct Record {
    count: u64,
    /// Number of a switch and the height that it left in place, both ascending: what a later and deeper switch covers is removed.
    forks: Vec<(u64, u64)>,
}

impl Switches {
    /// Records that the canonical blocks above `fork` are about to be replaced.
    pub(super) fn record(&self, fork: u64) {
        let mut record = self.lock();
        record.count = record.count.saturating_add(1);
        let count = record.count;
        while record.forks.last().is_some_and(|(_, earlier)| *earlier >= fork) {
            record.forks.pop();
        }
        record.forks.push((count, fork));
    }

    /// Number of switches so far.
    pub(super) fn count(&self) -> u64 {
        self.lock().count
    }

    /// Returns whether the canonical block at `height` was replaced after the first `seen` switches.
    pub(super) fn replaced_since(&self, seen: u64, height: u64) -> bool {
        let record = self.lock();
        let lowest = record.forks.iter().find(|(number, _)| *number > seen);
        lowest.is_some_and(|(_, fork)| height > *fork)
    }

    fn lock(&self) -> MutexGuard<'_, Record> {
        // A holder does nothing that panics.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_height_is_replaced_by_any_later_switch_below_it(
            forks in proptest::collection::vec(0..12_u64, 0..20),
            seen in 0..20_u64,
            height in 0..14_u64,
        ) {
            let switches = Switches::default();
            forks.iter().for_each(|fork| switches.record(*fork));
            let expected = forks.iter().skip(seen as usize).any(|fork| height > *fork);
            prop_assert_eq!(switches.replaced_since(seen, height), expected);
            prop_assert_eq!(switches.count(), forks.len() as u64);
        }
    }
}
