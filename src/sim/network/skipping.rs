//! Time in which a network did not run, as that of a process on a machine that was busy or asleep: nothing of it is made up for.

use core::time::Duration;

use super::{Network, error::NetworkError, replica::process::ProcessState};
use crate::{
    consensus::{Admin, ConsensusKind, Event},
    sim::engine::clock::SimTime,
};

/// Steps that one replica may take for each skipped second more than usual: one that was stopped meanwhile counts the slots that it missed, one
/// by one, when it is started.
const STEPS_PER_SKIPPED_SECOND: u64 = 2;

impl Network {
    /// Returns the virtual time at a time since 1970; the start for one before the block clock's.
    pub(in crate::sim) fn time_at(&self, since_1970: Duration) -> SimTime {
        self.env.clock.time_at(since_1970)
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
        if self.config().kind() == Some(ConsensusKind::Pos) {
            self.tell_stood_still(until)?;
        }
        let secs = until.as_nanos().saturating_sub(from.as_nanos()) / SimTime::from_secs(1).as_nanos();
        let processes = (self.replicas.len() + self.twins.len()) as u64;
        let more = secs.saturating_mul(processes).saturating_mul(STEPS_PER_SKIPPED_SECOND);
        Ok(self.env.scheduler.skip(until, more))
    }

    /// Tells the replicas that run that no other went on meanwhile, so that they count the slots of it at once. One that is stopped was away
    /// before.
    fn tell_stood_still(&mut self, until: SimTime) -> Result<(), NetworkError> {
        let until = self.env.clock.timestamp(until);
        let processes = self.replicas.iter_mut().chain(&mut self.twins);
        for replica in processes.filter(|replica| replica.process() == ProcessState::Running) {
            replica.handle(Event::Admin(Admin::StoodStill { until }), &mut self.env)?;
        }
        Ok(())
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
