//! Running a network: step by step, for a time, until a condition holds.

use core::time::Duration;

use super::{
    Network,
    envelope::Envelope,
    environment::SimEvent,
    error::{NetworkError, RunProgress},
    production::Production,
    record_states,
    replica::{Replica, process::ProcessState},
    step::SimStep,
};
use crate::{
    consensus::{Event, ReplicaId},
    primitives::Height,
    sim::{check::violation::Violation, engine::clock::SimTime, faults::plan::FaultId},
};

/// Steps between two records of a replica's whole state in the run digest; the replicas take turns.
const STATE_DIGEST_EVERY: u64 = 2_048;
/// Most virtual time that [`Network::run_to_height`] takes: one hour. Timers of a protocol that can't go on are set again for ever, so that
/// its queue never runs empty.
pub const RUN_TO_HEIGHT_MAX: Duration = Duration::from_secs(3_600);
/// Most virtual time in which a network on demand whose timers always run may come to rest.
const REST_MAX: Duration = Duration::from_secs(3_600);

impl Network {
    /// Processes the next event; returns `None` when the queue is empty.
    ///
    /// # Errors
    /// [`NetworkError`] when an invariant is violated, a chain fails, or too many events share one instant.
    pub fn step(&mut self) -> Result<Option<SimStep>, NetworkError> {
        let Some(sim_event) = self.env.scheduler.next()? else { return Ok(None) };
        let step = self.describe(&sim_event);
        self.env.record_arrival(&step, &sim_event);
        self.dispatch(sim_event)?;
        self.env.steps += 1;
        if self.env.steps.is_multiple_of(STATE_DIGEST_EVERY)
            && let Some(digest) = &mut self.env.digest
        {
            let turn = (self.env.steps / STATE_DIGEST_EVERY) as usize % self.replicas.len().max(1);
            record_states(digest, &self.replicas[turn..=turn]);
        }
        if !self.invariants.is_empty() {
            self.check(&step)?;
        }
        if let Some(records) = self.primary().durable.as_ref().filter(|records| records.is_full()) {
            records.flush()?;
        }
        Ok(Some(step))
    }

    /// Writes a violation into the trace, and returns it as an error.
    pub(in crate::sim) fn violated(&mut self, violation: Violation) -> NetworkError {
        self.env.violated(violation)
    }

    /// Checks every invariant after a step.
    fn check(&mut self, step: &SimStep) -> Result<(), NetworkError> {
        let mut invariants = core::mem::take(&mut self.invariants);
        let outcome = invariants.iter_mut().try_for_each(|invariant| invariant.on_step(self, step));
        self.invariants = invariants;
        outcome.map_err(|violation| self.env.violated(violation))
    }

    /// Runs for `duration` of virtual time.
    ///
    /// # Errors
    /// As [`Network::step`].
    pub fn run_for(&mut self, duration: Duration) -> Result<(), NetworkError> {
        self.run_to(self.now().plus(duration))
    }

    /// Processes every event up to `until`, and advances time to it.
    ///
    /// # Errors
    /// As [`Network::step`].
    pub fn run_to(&mut self, until: SimTime) -> Result<(), NetworkError> {
        while self.env.scheduler.next_at().is_some_and(|next| next <= until) {
            self.step()?;
        }
        self.env.scheduler.advance(until);
        self.flush()
    }

    /// Writes the records that no block's batch included, before the driver's call returns. Does nothing while some replicas
    /// are ahead of the primary: their safety records are useless without their blocks.
    pub(super) fn flush(&self) -> Result<(), NetworkError> {
        match &self.primary().durable {
            Some(records) if self.is_agreed() => Ok(records.flush()?),
            _ => Ok(()),
        }
    }

    /// Returns the time of the next event; `None` when the queue is empty.
    pub fn next_at(&self) -> Option<SimTime> {
        self.env.scheduler.next_at()
    }

    /// Runs until `condition` holds, checked after every step, for at most `limit` of virtual time.
    ///
    /// # Errors
    /// [`NetworkError::TimedOut`], [`NetworkError::Stalled`], and as [`Network::step`].
    pub fn run_until(&mut self, limit: Duration, mut condition: impl FnMut(&Self) -> bool) -> Result<(), NetworkError> {
        let until = self.now().plus(limit);
        while !condition(self) {
            match self.env.scheduler.next_at() {
                None => return Err(NetworkError::Stalled { at: self.now(), height: self.lowest_height() }),
                Some(next) if next > until => {
                    return Err(NetworkError::TimedOut { at: until, progress: self.progress() });
                }
                Some(_) => self.step()?,
            };
        }
        self.flush()
    }

    /// Runs until every replica's head is at `height` or above, for at most [`RUN_TO_HEIGHT_MAX`] of virtual time from now.
    ///
    /// # Errors
    /// [`NetworkError::TimedOut`] with every replica's height and the faults under way, [`NetworkError::Stalled`] when the queue is
    /// empty before, and as [`Network::step`].
    pub fn run_to_height(&mut self, height: Height) -> Result<(), NetworkError> {
        self.run_to_height_within(RUN_TO_HEIGHT_MAX, height)
    }

    /// Runs until every replica's head is at `height` or above, for at most `limit` of virtual time from now.
    ///
    /// # Errors
    /// As [`Network::run_to_height`].
    pub fn run_to_height_within(&mut self, limit: Duration, height: Height) -> Result<(), NetworkError> {
        self.run_until(limit, |network| network.lowest_height() >= height)
    }

    /// Returns how far every replica came, and the faults under way.
    pub fn progress(&self) -> RunProgress {
        let faults = self.env.faults.as_ref().map(|faults| &faults.active);
        RunProgress {
            heads: self.replicas.iter().map(|replica| (replica.id(), replica.head().height)).collect(),
            faults: faults.into_iter().flatten().map(|(id, kind)| (*id, kind.clone())).collect(),
        }
    }

    /// Runs until the network is at rest: for networks on demand, whose queue runs empty.
    ///
    /// A protocol whose timers always run is at rest when every replica has the same head, one of them waits to be asked for
    /// the next block, and no transaction is on a link.
    ///
    /// # Errors
    /// [`NetworkError::NeverRests`] when blocks are made automatically, [`NetworkError::TimedOut`] when a protocol whose timers
    /// always run does not come to rest within an hour, and as [`Network::step`].
    pub fn settle(&mut self) -> Result<(), NetworkError> {
        if self.env.production == Production::Automatic {
            return Err(NetworkError::NeverRests);
        }
        if self.setup.config.never_rests() {
            return self.run_until(REST_MAX, Self::is_at_rest);
        }
        while self.step()?.is_some() {}
        self.flush()
    }

    fn is_at_rest(&self) -> bool {
        let head = self.primary().head();
        let is_wanted = |replica: &Replica| replica.wanted().is_some_and(|request| request.parent == head);
        self.env.transactions_travelling == 0 && self.is_agreed() && self.replicas.iter().any(is_wanted)
    }
}

impl Network {
    fn describe(&self, sim_event: &SimEvent) -> SimStep {
        let (replica, label) = match sim_event {
            SimEvent::Arrival { to, envelope, .. } => (*to, envelope.label()),
            SimEvent::Departure { from, .. } => (*from, "departure"),
            SimEvent::Judgement { replica, .. } => (*replica, "judgement"),
            SimEvent::Building { replica, .. } => (*replica, "building"),
            SimEvent::Timer { replica, .. } => (*replica, "timer"),
            SimEvent::Written { replica, .. } => (*replica, "written"),
            SimEvent::FaultBegins { index } => (self.affected(FaultId::new(*index as u64)), "fault-begins"),
            SimEvent::FaultEnds { fault } => (self.affected(*fault), "fault-ends"),
        };
        let replica = self.env.faults.as_ref().map_or(replica, |faults| faults.identity(replica));
        SimStep { at: self.now(), replica, label }
    }

    /// Returns the replica that a fault of the plan affects; replica 0 for a fault of the network.
    fn affected(&self, fault: FaultId) -> ReplicaId {
        let plan = self.env.faults.as_ref().map(|faults| &faults.plan.faults);
        let fault = plan.and_then(|faults| faults.get(fault.get() as usize));
        fault.and_then(|fault| fault.kind.replica()).unwrap_or_default()
    }

    /// Returns the event if its process runs; defers it for a paused process and drops it for a stopped one.
    fn intercept(&mut self, sim_event: SimEvent) -> Option<SimEvent> {
        let slot = match &sim_event {
            SimEvent::Arrival { to, .. } => *to,
            SimEvent::Judgement { replica, .. }
            | SimEvent::Building { replica, .. }
            | SimEvent::Timer { replica, .. }
            | SimEvent::Written { replica, .. } => *replica,
            SimEvent::Departure { .. } | SimEvent::FaultBegins { .. } | SimEvent::FaultEnds { .. } => {
                return Some(sim_event);
            }
        };
        let is_transaction = matches!(&sim_event, SimEvent::Arrival { envelope: Envelope::Transaction(_), .. });
        let (process, _) = self.slot_mut(slot)?;
        match process.process() {
            ProcessState::Running => return Some(sim_event),
            ProcessState::Paused if process.defer(sim_event) => return None,
            ProcessState::Paused | ProcessState::Down => {}
        }
        let travelling = &mut self.env.transactions_travelling;
        *travelling = travelling.saturating_sub(u64::from(is_transaction));
        None
    }

    fn dispatch(&mut self, sim_event: SimEvent) -> Result<(), NetworkError> {
        let sim_event = match &self.env.faults {
            None => sim_event,
            Some(_) => match self.intercept(sim_event) {
                Some(sim_event) => sim_event,
                None => return Ok(()),
            },
        };
        // Every slot in the queue was given out before.
        match sim_event {
            SimEvent::FaultBegins { index } => self.on_fault_begins(index),
            SimEvent::FaultEnds { fault } => self.on_fault_ends(fault),
            SimEvent::Departure { from, to, envelope } => {
                self.env.send(from, to, envelope);
                Ok(())
            }
            SimEvent::Written { replica, ticket, life } => {
                let Some((replica, env)) = self.slot_mut(replica) else { return Ok(()) };
                replica.on_written(ticket, life, env)
            }
            SimEvent::Timer { replica, timer, generation } => {
                let Some((replica, env)) = self.slot_mut(replica) else { return Ok(()) };
                replica.on_timer(timer, generation, env)
            }
            SimEvent::Judgement { replica, block, life } => {
                let Some((replica, env)) = self.slot_mut(replica) else { return Ok(()) };
                replica.validate_deferred(block, life, env)
            }
            SimEvent::Building { replica, request, timestamp, life } => {
                let Some((replica, env)) = self.slot_mut(replica) else { return Ok(()) };
                replica.build_deferred(&request, timestamp, life, env)
            }
            SimEvent::Arrival { from, to, envelope } => {
                let Some((receiver, env)) = self.slot_mut(to) else { return Ok(()) };
                match envelope {
                    Envelope::Message(message) => {
                        if !receiver.misbehaviour.is_empty() {
                            receiver.relay_altered(from, &message, env);
                        }
                        receiver.handle(Event::Message { from, message }, env)
                    }
                    Envelope::Transaction(transaction) => {
                        env.transactions_travelling = env.transactions_travelling.saturating_sub(1);
                        receiver.on_transaction(transaction)
                    }
                    Envelope::BlockResponse(block) => receiver.handle(Event::BlockSynced { from, block }, env),
                    Envelope::BlockRequest(block) => {
                        receiver.answer(from, block, env);
                        Ok(())
                    }
                }
            }
        }
    }
}
