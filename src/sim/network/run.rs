//! Letting things happen: one by one, for a time, until something holds.

use core::time::Duration;

use super::{
    Network,
    envelope::Parcel,
    environment::{Happening, World},
    error::NetworkError,
    record_states,
    replica::{Replica, process::Process},
    step::Step,
};
use crate::{
    consensus::{Event, ReplicaId},
    primitives::Height,
    sim::{engine::clock::SimTime, faults::plan::FaultId},
};

/// A replica's whole state goes into the run's digest every this many steps, one replica after the other.
const STATE_DIGEST_EVERY: u64 = 2_048;
/// How much virtual time a network on demand may take to come to rest when its timers always run.
const REST_MAX: Duration = Duration::from_secs(3_600);

impl Network {
    /// Lets the next thing happen; `None` when nothing is left to.
    ///
    /// # Errors
    /// [`NetworkError`]: an invariant does not hold any more, a chain failed, or the queue spins.
    pub fn step(&mut self) -> Result<Option<Step>, NetworkError> {
        let Some(happening) = self.world.scheduler.next()? else { return Ok(None) };
        let step = self.describe(&happening);
        self.world.record_happening(&step, &happening);
        self.happen(happening)?;
        self.world.steps += 1;
        if self.world.steps.is_multiple_of(STATE_DIGEST_EVERY)
            && let Some(digest) = &mut self.world.digest
        {
            let turn = (self.world.steps / STATE_DIGEST_EVERY) as usize % self.replicas.len().max(1);
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

    /// Asks every invariant about a step.
    fn check(&mut self, step: &Step) -> Result<(), NetworkError> {
        let mut invariants = core::mem::take(&mut self.invariants);
        let outcome = invariants.iter_mut().try_for_each(|invariant| invariant.on_step(self, step));
        self.invariants = invariants;
        outcome.map_err(|violation| NetworkError::Violated(Box::new(violation)))
    }

    /// Lets `duration` of virtual time pass.
    ///
    /// # Errors
    /// As [`Network::step`].
    pub fn run_for(&mut self, duration: Duration) -> Result<(), NetworkError> {
        self.run_to(self.now().plus(duration))
    }

    /// Lets everything happen that happens up to `until`, and moves time there.
    ///
    /// # Errors
    /// As [`Network::step`].
    pub fn run_to(&mut self, until: SimTime) -> Result<(), NetworkError> {
        while self.world.scheduler.next_at().is_some_and(|next| next <= until) {
            self.step()?;
        }
        self.world.scheduler.advance(until);
        self.flush()
    }

    /// Makes durable what the replicas keep and no block's batch has taken along, before whoever drives the network hears what
    /// came of it; not while some are ahead of the primary, for their promises are worth nothing without their blocks.
    pub(super) fn flush(&self) -> Result<(), NetworkError> {
        match &self.primary().durable {
            Some(records) if self.is_agreed() => Ok(records.flush()?),
            _ => Ok(()),
        }
    }

    /// When the next thing happens; `None` when nothing is left to.
    pub fn next_at(&self) -> Option<SimTime> {
        self.world.scheduler.next_at()
    }

    /// Goes on until `condition` holds, looking after every step, for at most `limit` of virtual time.
    ///
    /// # Errors
    /// [`NetworkError::TimedOut`], [`NetworkError::Stalled`], and as [`Network::step`].
    pub fn run_until(&mut self, limit: Duration, mut condition: impl FnMut(&Self) -> bool) -> Result<(), NetworkError> {
        let until = self.now().plus(limit);
        while !condition(self) {
            match self.world.scheduler.next_at() {
                None => return Err(NetworkError::Stalled { at: self.now(), height: self.lowest_height() }),
                Some(next) if next > until => {
                    return Err(NetworkError::TimedOut { at: until, height: self.lowest_height() });
                }
                Some(_) => self.step()?,
            };
        }
        self.flush()
    }

    /// Goes on until every replica's head is at `height` or above.
    ///
    /// # Errors
    /// [`NetworkError::Stalled`] when nothing is left to happen, and as [`Network::step`].
    pub fn run_to_height(&mut self, height: u64) -> Result<(), NetworkError> {
        let height = Height::new(height);
        self.run_until(Duration::MAX, |network| network.lowest_height() >= height)
    }

    /// Lets everything happen that is on its way, however much time that takes. For networks on demand, which come to rest.
    ///
    /// A protocol whose timers always run is at rest when every replica has the same head, one of them waits to be asked for
    /// the next block, and no transaction travels.
    ///
    /// # Errors
    /// [`NetworkError::TimedOut`] when such a protocol does not come to rest within an hour, and as [`Network::step`].
    pub fn settle(&mut self) -> Result<(), NetworkError> {
        if self.shared.config.never_rests() {
            return self.run_until(REST_MAX, Self::is_at_rest);
        }
        while self.step()?.is_some() {}
        self.flush()
    }

    fn is_at_rest(&self) -> bool {
        let head = self.primary().head();
        let is_wanted = |replica: &Replica| replica.wanted().is_some_and(|request| request.parent == head);
        self.world.transactions_travelling == 0 && self.is_agreed() && self.replicas.iter().any(is_wanted)
    }
}

impl Network {
    fn describe(&self, happening: &Happening) -> Step {
        let (replica, label) = match happening {
            Happening::Arrival { to, parcel, .. } => (*to, parcel.label()),
            Happening::Departure { from, .. } => (*from, "departure"),
            Happening::Judgement { replica, .. } => (*replica, "judgement"),
            Happening::Timer { replica, .. } => (*replica, "timer"),
            Happening::Written { replica, .. } => (*replica, "written"),
            Happening::FaultBegins { index } => (self.victim(FaultId::new(*index as u64)), "fault-begins"),
            Happening::FaultEnds { fault } => (self.victim(*fault), "fault-ends"),
        };
        let replica = self.world.trouble.as_ref().map_or(replica, |trouble| trouble.identity(replica));
        Step { at: self.now(), replica, label }
    }

    /// To whom a fault of the plan happens; the first replica stands for the network.
    fn victim(&self, fault: FaultId) -> ReplicaId {
        let plan = self.world.trouble.as_ref().map(|trouble| &trouble.plan.faults);
        let fault = plan.and_then(|faults| faults.get(fault.get() as usize));
        fault.and_then(|fault| fault.what.replica()).unwrap_or_default()
    }

    /// Holds back or loses what reaches a machine that does not run; otherwise gives it back.
    fn intercept(&mut self, happening: Happening) -> Option<Happening> {
        let slot = match &happening {
            Happening::Arrival { to, .. } => *to,
            Happening::Judgement { replica, .. }
            | Happening::Timer { replica, .. }
            | Happening::Written { replica, .. } => *replica,
            Happening::Departure { .. } | Happening::FaultBegins { .. } | Happening::FaultEnds { .. } => {
                return Some(happening);
            }
        };
        let is_transaction = matches!(&happening, Happening::Arrival { parcel: Parcel::Transaction(_), .. });
        let machine = self.machine_mut(slot)?;
        match machine.process() {
            Process::Running => return Some(happening),
            Process::Paused => return machine.stall(happening),
            Process::Down => {}
        }
        let travelling = &mut self.world.transactions_travelling;
        *travelling = travelling.saturating_sub(u64::from(is_transaction));
        None
    }

    fn happen(&mut self, happening: Happening) -> Result<(), NetworkError> {
        let happening = match &self.world.trouble {
            None => happening,
            Some(_) => match self.intercept(happening) {
                Some(happening) => happening,
                None => return Ok(()),
            },
        };
        match happening {
            Happening::FaultBegins { index } => self.on_fault_begins(index),
            Happening::FaultEnds { fault } => self.end_fault(fault),
            Happening::Departure { from, to, message } => {
                self.world.send(from, to, Parcel::Message(message));
                Ok(())
            }
            Happening::Written { replica, ticket, life } => {
                let (machine, world) = machine_of(&mut self.replicas, &mut self.twins, &mut self.world, replica);
                machine.on_written(ticket, life, world)
            }
            Happening::Timer { replica, timer, generation } => {
                let (machine, world) = machine_of(&mut self.replicas, &mut self.twins, &mut self.world, replica);
                machine.on_timer(timer, generation, world)
            }
            Happening::Judgement { replica, block } => {
                let (machine, world) = machine_of(&mut self.replicas, &mut self.twins, &mut self.world, replica);
                machine.judge(block, world)
            }
            Happening::Arrival { from, to, parcel } => {
                let (receiver, world) = machine_of(&mut self.replicas, &mut self.twins, &mut self.world, to);
                match parcel {
                    Parcel::Message(message) => receiver.handle(Event::Message { from, message }, world),
                    Parcel::Transaction(transaction) => {
                        world.transactions_travelling = world.transactions_travelling.saturating_sub(1);
                        receiver.on_transaction(transaction)
                    }
                    Parcel::BlockResponse(block) => receiver.handle(Event::BlockSynced { from, block }, world),
                    Parcel::BlockRequest(block) => {
                        if let Some(block) = receiver.serve(block) {
                            world.send(to, from, Parcel::BlockResponse(block));
                        }
                        Ok(())
                    }
                }
            }
        }
    }
}

/// The machine with this number, and its surroundings. Every number in the queue is one that was given out.
fn machine_of<'a>(
    replicas: &'a mut [Replica],
    twins: &'a mut [Replica],
    world: &'a mut World,
    slot: ReplicaId,
) -> (&'a mut Replica, &'a mut World) {
    let count = replicas.len();
    let machine = if slot.index() < count { &mut replicas[slot.index()] } else { &mut twins[slot.index() - count] };
    (machine, world)
}
