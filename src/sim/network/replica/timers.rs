//! A replica's running timers.

use imbl::OrdMap;

use crate::{consensus::TimerId, sim::engine::clock::SimTime};

/// The running timers. Cloning is O(1).
#[derive(Clone, Debug, Default)]
pub(super) struct Timers {
    armed: OrdMap<TimerId, ArmedTimer>,
    /// Generation of the newest queued event.
    generation: u64,
}

/// A running timer. When it is moved to a later time, its event stays in the queue and is queued again when it is processed:
/// most timers are moved many times before they fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ArmedTimer {
    /// Current generation; events of earlier ones are void.
    pub(super) generation: u64,
    /// Time at which it fires.
    at: SimTime,
    /// Nanoseconds before `at` from which it measures a delay; before them it waits for a block's time.
    delay: u64,
    /// Time of its queued event, at most `at`.
    pub(super) queued: SimTime,
}

/// The effect of a timer's event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimerEvent {
    /// The timer was stopped or armed again since.
    Void,
    /// The timer was moved: its event is to be queued again at this time.
    Moved(SimTime),
    /// The timer fires.
    Fires,
}

impl Timers {
    /// Arms a timer, the last `delay` nanoseconds of which measure a delay; returns the generation of the event to queue at `at`, if
    /// no queued event can be used.
    pub(super) fn arm(&mut self, timer: TimerId, at: SimTime, delay: u64) -> Option<u64> {
        if let Some(armed) = self.armed.get_mut(&timer).filter(|armed| armed.queued <= at) {
            (armed.at, armed.delay) = (at, delay);
            return None;
        }
        self.generation += 1;
        let generation = self.generation;
        self.armed.insert(timer, ArmedTimer { generation, at, delay, queued: at });
        Some(generation)
    }

    /// Takes the time between `from` and `until` for one in which nothing ran: what was left of a delay is left then.
    pub(super) fn skip(&mut self, from: SimTime, until: SimTime) {
        let skipped = self.armed.iter().map(|(timer, armed)| {
            let left = armed.at.as_nanos().saturating_sub(from.as_nanos()).min(armed.delay);
            (*timer, ArmedTimer { at: armed.at.max(until.plus_nanos(left)), ..*armed })
        });
        self.armed = skipped.collect();
    }

    /// Stops a timer.
    pub(super) fn disarm(&mut self, timer: TimerId) {
        self.armed.remove(&timer);
    }

    /// Stops all timers.
    pub(super) fn clear(&mut self) {
        self.armed.clear();
    }

    /// Processes the event of this generation.
    pub(super) fn on_event(&mut self, timer: TimerId, generation: u64, now: SimTime) -> TimerEvent {
        let Some(armed) = self.armed.get_mut(&timer).filter(|armed| armed.generation == generation) else {
            return TimerEvent::Void;
        };
        if armed.at > now {
            armed.queued = armed.at;
            return TimerEvent::Moved(armed.at);
        }
        self.armed.remove(&timer);
        TimerEvent::Fires
    }

    /// Iterates over the running timers.
    pub(super) fn iter(&self) -> impl Iterator<Item = (TimerId, ArmedTimer)> {
        self.armed.iter().map(|(timer, armed)| (*timer, *armed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_moved_later_fires_once_and_its_earlier_events_are_void() {
        let (timer, at) = (TimerId::new(1), SimTime::from_nanos);
        let mut timers = Timers::default();
        let first = timers.arm(timer, at(10), 0).unwrap();
        assert_eq!(timers.arm(timer, at(30), 0), None, "its queued event is used");
        assert_eq!(timers.on_event(timer, first, at(10)), TimerEvent::Moved(at(30)));
        let second = timers.arm(timer, at(20), 0).unwrap();
        assert_eq!(timers.on_event(timer, second, at(20)), TimerEvent::Fires);
        assert_eq!(timers.on_event(timer, first, at(30)), TimerEvent::Void);
        let third = timers.arm(timer, at(40), 0).unwrap();
        timers.disarm(timer);
        assert_eq!(timers.on_event(timer, third, at(40)), TimerEvent::Void);
    }

    #[test]
    fn skipped_time_leaves_delays_what_was_left_of_them() {
        let at = SimTime::from_nanos;
        for (name, armed_at, delay, want) in [
            ("a block's time that passed", 30, 0, 100),
            ("a block's time to come", 130, 0, 130),
            ("a delay", 30, 30, 110),
            ("a delay to come", 130, 130, 210),
            ("a delay after a block's time that passed", 50, 5, 105),
            ("a delay after a block's time that had come", 25, 10, 105),
            ("a delay after a block's time to come", 130, 10, 130),
        ] {
            let (timer, mut timers) = (TimerId::new(1), Timers::default());
            let generation = timers.arm(timer, at(armed_at), delay).unwrap();
            timers.skip(at(20), at(100));
            if want > 100 {
                let moved = timers.on_event(timer, generation, at(100));
                assert_eq!(moved, TimerEvent::Moved(at(want)), "{name}");
            }
            assert_eq!(timers.on_event(timer, generation, at(want)), TimerEvent::Fires, "{name}");
        }
    }
}
