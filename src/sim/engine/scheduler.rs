//! One queue of events in virtual time.

use core::cmp::Ordering;
use std::{collections::BinaryHeap, sync::Arc};

use super::clock::SimTime;

/// How many events one instant may have unless told otherwise.
pub(super) const EVENTS_AT_INSTANT_MAX: u64 = 1_000_000;

/// Events ordered by virtual time. Those of one instant come in an order that the seed decides.
///
/// A clone costs the same at any length: it shares the queue until one of the two changes.
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

/// Why there is no next event, though the queue is not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchedulerError {
    /// Events beget events without time passing.
    #[error("more than {max} events at {at}: something spins without letting time pass")]
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
    /// An empty queue at the beginning of time; `tie_seed` orders events of one instant.
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

    /// The same with another bound on events at one instant.
    #[must_use]
    pub const fn with_events_at_instant_max(mut self, max: u64) -> Self {
        self.at_instant_max = max;
        self
    }

    /// The time of the newest event that was taken.
    pub const fn now(&self) -> SimTime {
        self.now
    }

    /// Forgets everything that is on its way; time stays.
    pub fn clear(&mut self) {
        self.queue = Arc::default();
    }

    /// How many events wait.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// When the next event is.
    pub fn next_at(&self) -> Option<SimTime> {
        self.queue.peek().map(|entry| entry.at)
    }

    /// Lets time pass up to `until`, but not past the next event. Never goes back.
    pub fn advance(&mut self, until: SimTime) {
        let until = self.next_at().map_or(until, |next| next.min(until));
        if until > self.now {
            self.now = until;
            self.at_instant = 0;
        }
    }
}

impl<E: Clone> Scheduler<E> {
    /// Puts an event at `at`; a time that is past means now.
    pub fn at(&mut self, at: SimTime, event: E) {
        let sequence = self.sequence;
        self.sequence += 1;
        let entry = Entry { at: at.max(self.now), tie: mix(self.tie_seed.wrapping_add(sequence)), sequence, event };
        Arc::make_mut(&mut self.queue).push(entry);
    }

    /// Puts an event `nanos` nanoseconds from now.
    pub fn after_nanos(&mut self, nanos: u64, event: E) {
        self.at(self.now.plus_nanos(nanos), event);
    }

    /// Takes the next event and moves time to it.
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
        if self.at_instant >= self.at_instant_max {
            return Err(SchedulerError::Spinning { at, max: self.at_instant_max });
        }
        self.at_instant += 1;
        Ok(Arc::make_mut(&mut self.queue).pop().map(|entry| entry.event))
    }
}

/// The finaliser of SplitMix64: a bijection, so ties are a permutation that the seed picks.
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

/// The earliest is the greatest, as the heap gives the greatest first.
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
    fn time_passes_without_events_but_not_past_one() {
        let mut scheduler = Scheduler::new(1);
        scheduler.advance(SimTime::from_nanos(5));
        assert_eq!(scheduler.now(), SimTime::from_nanos(5));
        scheduler.at(SimTime::ZERO, 1);
        scheduler.advance(SimTime::from_nanos(9));
        assert_eq!((scheduler.now(), scheduler.next_at()), (SimTime::from_nanos(5), Some(SimTime::from_nanos(5))));
    }
}
