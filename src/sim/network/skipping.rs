//! Time in which a network did not run, as that of a process on a machine that was busy or asleep: nothing of it is made up for.

use core::time::Duration;

use super::{Network, error::NetworkError, replica::process::ProcessState};
use crate::sim::engine::clock::SimTime;

impl Network {
    /// Returns the virtual time at a time since 1970; the start for one before the block clock's.
    pub(in crate::sim) fn time_at(&self, since_1970: Duration) -> SimTime {
        self.env.clock.time_at(since_1970)
    }

    /// Returns how long all processes stood still together since the network began.
    pub(in crate::sim) const fn slept(&self) -> Duration {
        self.env.sleeps.total()
    }

    /// Lets all processes stand still for `duration` of virtual time from now on, as on one machine that sleeps. A fault plan's other times
    /// count time in which they run.
    ///
    /// # Errors
    /// As [`Network::step`].
    pub fn sleep(&mut self, duration: Duration) -> Result<(), NetworkError> {
        let now = self.now();
        self.skip(now, now.plus(duration)).map(|_| ())
    }

    /// Advances time to `until` without running: what was due since `from`, the time of the next event, is late and happens then, once,
    /// in its order. Timers that wait for a block's time fire if it has come; delays have what was left of them at `from`. Returns the
    /// time of the last late event, some nanoseconds later.
    ///
    /// # Errors
    /// As [`Network::step`].
    pub(in crate::sim) fn skip(&mut self, from: SimTime, until: SimTime) -> Result<SimTime, NetworkError> {
        self.env.record("skip", |out| out.u64(until.as_nanos()));
        self.replicas.iter_mut().chain(&mut self.twins).for_each(|replica| replica.skip(from, until));
        self.env.sleeps.add(from, until);
        if let Some(faults) = &mut self.env.faults {
            faults.sleep(Duration::from_nanos(until.as_nanos().saturating_sub(from.as_nanos())));
        }
        let last = self.env.scheduler.skip(until);
        let processes = self.replicas.iter_mut().chain(&mut self.twins);
        for replica in processes.filter(|replica| replica.process() == ProcessState::Running) {
            replica.tell_resumed(&mut self.env)?;
        }
        Ok(last)
    }

    /// As [`Network::run_to`], of at most `steps_max` events; returns how many were processed. Time has advanced to `until` only if no
    /// event before it is left.
    ///
    /// # Errors
    /// As [`Network::step`].
    pub(in crate::sim) fn run_some(&mut self, until: SimTime, steps_max: u64) -> Result<u64, NetworkError> {
        let mut steps = 0;
        while self.next_at().is_some_and(|next| next <= until) {
            if steps == steps_max {
                return self.flush().map(|()| steps);
            }
            self.step()?;
            steps += 1;
        }
        self.env.scheduler.advance(until);
        self.flush().map(|()| steps)
    }
}
