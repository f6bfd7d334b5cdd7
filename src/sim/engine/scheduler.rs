//! The event queue in virtual time.

use core::cmp::Ordering;
use std::{collections::BinaryHeap, sync::Arc};

use super::clock::SimTime;

/// Default bound of events at one instant.
pub(super) const EVENTS_AT_INSTANT_MAX: u64 = 1_000_000;

/// Events ordered by virtual time. The seed decides the order of events at one instant.
///
/// Cloning is O(1): the queue is shared until one of the two changes.
///
/// ```
/// use chainbox::sim::{Scheduler, SimTime};
/// let mut scheduler = Scheduler::new(7);
/// scheduler.after_nanos(20, "later");
/// scheduler.after_nanos(10, "sooner");
/// assert_eq!(scheduler.next()?, Some("sooner"));
/// assert_eq!(scheduler.now(), SimTime::from_nanos(10));
/// # Ok::<(), chainbox::sim::SchedulerError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Scheduler<E> {
    queue: Arc<BinaryHeap<Entry<E>>>,
    now: SimTime,
    sequence: u64,
    tie_seed: u64,
    at_instant: u64,
    at_instant_max: u64,
}

/// Failure to take the next event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchedulerError {
    /// Events create events without time passing.
    #[error("more than {max} events at {at}: an event loop makes no time pass")]
    Spinning {
        /// The instant.
        at: SimTime,
        /// The bound.
        max: u64,
    },
}

#[derive(Clone, Debug)]
struct Entry<E> {
    at: SimTime,
    tie: u64,
    sequence: u64,
    event: E,
}

impl<E> Scheduler<E> {
    /// Creates an empty queue at the start of time; `tie_seed` orders events at one instant.
    pub fn new(tie_seed: u64) -> Self {
        Self {
            queue: Arc::default(),
            now: SimTime::ZERO,
            sequence: 0,
            tie_seed,
            at_instant: 0,
            at_instant_max: EVENTS_AT_INSTANT_MAX,
        }
    }

    /// Sets the bound of events at one instant.
    #[must_use]
    pub const fn with_events_at_instant_max(mut self, max: u64) -> Self {
        self.at_instant_max = max;
        self
    }

    /// Returns the current time: that of the last event taken, or of the last advance.
    pub const fn now(&self) -> SimTime {
        self.now
    }

    /// Removes every event; time stays.
    pub fn clear(&mut self) {
        self.queue = Arc::default();
    }

    /// Returns the number of queued events.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Returns whether the queue is empty.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Returns the time of the next event.
    pub fn next_at(&self) -> Option<SimTime> {
        self.queue.peek().map(|entry| entry.at)
    }

    /// Advances time to `until`, but not past the next event; never goes back.
    pub fn advance(&mut self, until: SimTime) {
        let until = self.next_at().map_or(until, |next| next.min(until));
        if until > self.now {
            self.now = until;
            self.at_instant = 0;
        }
    }
}

impl<E: Clone> Scheduler<E> {
    /// Queues an event at `at`, or now if that is past.
    pub fn at(&mut self, at: SimTime, event: E) {
        let sequence = self.sequence;
        self.sequence += 1;
        let entry = Entry { at: at.max(self.now), tie: mix(self.tie_seed.wrapping_add(sequence)), sequence, event };
        Arc::make_mut(&mut self.queue).push(entry);
    }

    /// Queues an event `nanos` nanoseconds from now.
    pub fn after_nanos(&mut self, nanos: u64, event: E) {
        self.at(self.now.plus_nanos(nanos), event);
    }

    /// Removes the events that do not pass; the order of the others stays.
    pub fn retain(&mut self, is_kept: impl Fn(&E) -> bool) {
        if self.queue.iter().any(|entry| !is_kept(&entry.event)) {
            Arc::make_mut(&mut self.queue).retain(|entry| is_kept(&entry.event));
        }
    }

    /// Advances time to `until`. Events that were due before happen then, in their order and a nanosecond apart; returns the time of
    /// the last of them.
    pub(in crate::sim) fn skip(&mut self, until: SimTime) -> SimTime {
        let mut missed = Vec::new();
        while self.next_at().is_some_and(|next| next < until) {
            missed.extend(Arc::make_mut(&mut self.queue).pop());
        }
        self.advance(until);
        let mut last = until;
        for (place, entry) in (0..).zip(missed) {
            last = until.plus_nanos(place);
            self.at(last, entry.event);
        }
        last
    }

    /// Takes the next event and advances time to it.
    ///
    /// # Errors
    /// [`SchedulerError::Spinning`] past the bound on events at one instant; nothing is taken then.
    #[allow(clippy::should_implement_trait, reason = "an iterator could not report the error")]
    pub fn next(&mut self) -> Result<Option<E>, SchedulerError> {
        let Some(at) = self.next_at() else { return Ok(None) };
        if at > self.now {
            self.now = at;
            self.at_instant = 0;
        }
        let max = self.at_instant_max;
        if self.at_instant >= max {
            return Err(SchedulerError::Spinning { at, max });
        }
        self.at_instant += 1;
        Ok(Arc::make_mut(&mut self.queue).pop().map(|entry| entry.event))
    }
}

/// Applies the finaliser of SplitMix64: a bijection, so that the seed picks a permutation of ties.
const fn mix(value: u64) -> u64 {
    let value = value.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

impl<E> Entry<E> {
    const fn key(&self) -> (SimTime, u64, u64) {
        (self.at, self.tie, self.sequence)
    }
}

/// Reverse order of time: the heap returns the greatest first.
impl<E> Ord for Entry<E> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<E> Eq for Entry<E> {}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(mut scheduler: Scheduler<u32>) -> Vec<u32> {
        core::iter::from_fn(|| scheduler.next().unwrap()).collect()
    }

    #[test]
    fn time_orders_and_the_seed_breaks_ties() {
        let fill = |seed| {
            let mut scheduler = Scheduler::new(seed);
            for event in 0..20 {
                scheduler.at(SimTime::from_nanos(u64::from(event / 10)), event);
            }
            drain(scheduler)
        };
        assert_eq!(fill(1), fill(1));
        assert_ne!(fill(1), fill(2));
        let mut halves = fill(1);
        assert!(halves[..10].iter().all(|event| *event < 10));
        halves.sort_unstable();
        assert_eq!(halves, (0..20).collect::<Vec<_>>());
    }

    #[test]
    fn a_clone_goes_its_own_way() {
        let mut one = Scheduler::new(1);
        one.after_nanos(5, 1);
        let mut other = one.clone();
        other.after_nanos(1, 2);
        assert_eq!(other.next(), Ok(Some(2)));
        assert_eq!((one.len(), other.len()), (1, 1));
        assert_eq!(one.next(), Ok(Some(1)));
    }

    #[test]
    fn spinning_is_an_error_exactly_past_the_bound() {
        let mut scheduler = Scheduler::new(1).with_events_at_instant_max(3);
        for event in 0..4 {
            scheduler.at(SimTime::ZERO, event);
        }
        for _ in 0..3 {
            assert!(scheduler.next().unwrap().is_some());
        }
        assert_eq!(scheduler.next(), Err(SchedulerError::Spinning { at: SimTime::ZERO, max: 3 }));
        assert_eq!(scheduler.len(), 1);
    }

    #[test]
    fn skipped_events_happen_at_the_end_in_their_order() {
        let mut scheduler = Scheduler::new(1);
        for (at, event) in [(30, 3), (10, 1), (20, 2), (100, 4), (150, 5)] {
            scheduler.at(SimTime::from_nanos(at), event);
        }
        assert_eq!(scheduler.skip(SimTime::from_nanos(90)), SimTime::from_nanos(92));
        let mut left = Vec::new();
        while let Some(event) = scheduler.next().unwrap() {
            left.push((event, scheduler.now().as_nanos()));
        }
        assert_eq!(left, [(1, 90), (2, 91), (3, 92), (4, 100), (5, 150)]);
    }

    #[test]
    fn removed_events_leave_the_order_of_the_others() {
        let mut scheduler = Scheduler::new(1);
        (0..20).for_each(|event| scheduler.after_nanos(5, event));
        let all = drain(scheduler.clone());
        let kept = scheduler.clone();
        scheduler.retain(|event| event % 3 == 0);
        assert_eq!(drain(scheduler), all.iter().copied().filter(|event| event % 3 == 0).collect::<Vec<_>>());
        assert_eq!(drain(kept), all, "a clone keeps them");
    }

    #[test]
    fn time_passes_without_events_but_not_past_one() {
        let mut scheduler = Scheduler::new(1);
        scheduler.advance(SimTime::from_nanos(5));
        assert_eq!(scheduler.now(), SimTime::from_nanos(5));
        scheduler.at(SimTime::ZERO, 1);
        scheduler.advance(SimTime::from_nanos(9));
        assert_eq!((scheduler.now(), scheduler.next_at()), (SimTime::from_nanos(5), Some(SimTime::from_nanos(5))));
    }
}
