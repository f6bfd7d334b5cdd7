//! Environment of the replicas: event queue, links, block clock, random draws, active faults, run digest and trace.

use core::time::Duration;
use std::{collections::VecDeque, sync::Arc};

use super::{
    envelope::Envelope,
    error::NetworkError,
    links::{Latency, Links},
    production::Production,
    sleeps::Sleeps,
    step::SimStep,
};
use crate::{
    chain::Block,
    consensus::{
        BlockId, BuildRequest, ConsensusMessage, Deadline, Effect, Encoder, Event, FutureBlocks, Recipients, ReplicaId,
        Ticket, TimerId,
    },
    primitives::{B256, Timestamp},
    sim::{
        check::violation::Violation,
        engine::{
            clock::{BlockClock, SimTime},
            digest::RunDigest,
            rng::{SimRng, Streams},
            scheduler::Scheduler,
        },
        faults::{active::ActiveFaults, link_faults::Delivery, plan::FaultId},
        trace::Recorder,
    },
};

/// Latency of a message that a misbehaving replica passes on at once, in nanoseconds.
const RUSH_NANOS: u64 = 100_000;

/// State that all replicas share. Cloning is O(1) in everything that grows.
#[derive(Clone, Debug)]
pub(crate) struct Environment {
    pub(crate) scheduler: Scheduler<SimEvent>,
    pub(crate) links: Links,
    pub(crate) clock: BlockClock,
    pub(crate) draws: SimRng,
    pub(crate) digest: Option<RunDigest>,
    pub(crate) production: Production,
    pub(crate) replica_count: u32,
    pub(crate) steps: u64,
    /// Times in which nothing ran.
    pub(crate) sleeps: Sleeps,
    /// Transactions on links.
    pub(super) transactions_travelling: u64,
    /// Latest time at which one of those that were put on links arrives.
    pub(super) transactions_arrive_by: SimTime,
    /// Records the trace, if the network was built with one.
    pub(super) recorder: Option<Recorder>,
    /// Random streams of the seed, for faults.
    pub(crate) streams: Streams,
    /// Faults in force; `None` until the first fault or plan, so that a run without faults keeps its digest.
    pub(crate) faults: Option<Box<ActiveFaults>>,
    pub(super) buffers: Buffers,
}

/// Reusable buffers for handling one event, empty between events.
#[derive(Clone, Debug, Default)]
pub(super) struct Buffers {
    /// Events queued for the protocol.
    pub(crate) inbox: VecDeque<Event>,
    /// Effects that the protocol requested.
    pub(crate) effects: Vec<Effect>,
}

/// Event in the scheduler's queue.
#[derive(Clone, Debug)]
pub(crate) enum SimEvent {
    /// An envelope arrives over a link.
    Arrival { from: ReplicaId, to: ReplicaId, envelope: Envelope },
    /// A message or block that its sender withheld is put on its link.
    Departure { from: ReplicaId, to: ReplicaId, envelope: Envelope },
    /// A block from the future is due for validation, or a slow processor comes to it, unless the replica crashed since (`life`).
    Judgement { replica: ReplicaId, block: Arc<Block>, life: u64 },
    /// A slow processor has built a block, unless the request was cancelled or the replica crashed since.
    Building { replica: ReplicaId, request: Box<BuildRequest>, timestamp: Timestamp, life: u64 },
    /// A timer expires; void unless `generation` is current.
    Timer { replica: ReplicaId, timer: TimerId, generation: u64 },
    /// A write is durable, unless the replica crashed since (`life`).
    Written { replica: ReplicaId, ticket: Ticket, life: u64 },
    /// A fault of the plan begins.
    FaultBegins { index: usize },
    /// A fault of the plan ends.
    FaultEnds { fault: FaultId },
}

impl SimEvent {
    /// Returns whether it is the arrival of the transaction with this hash, or of any with `None`.
    pub(super) fn carries_transaction(&self, hash: Option<&B256>) -> bool {
        matches!(self, Self::Arrival { envelope, .. } if envelope.is_transaction(hash))
    }
}

impl Environment {
    /// Returns the block clock's time.
    pub(crate) const fn timestamp(&self) -> Timestamp {
        self.clock.timestamp(self.scheduler.now())
    }

    /// Returns the time of a replica's own block clock, with its error.
    pub(super) fn timestamp_of(&self, replica: ReplicaId) -> Timestamp {
        let now = self.scheduler.now();
        let skew = self.faults.as_ref().and_then(|faults| faults.skew(replica));
        self.clock.timestamp(skew.map_or(now, |skew| skew.local_time(now)))
    }

    /// Returns the virtual time at which a replica's clock shows `local`.
    fn time_at_local(&self, replica: ReplicaId, local: SimTime) -> SimTime {
        let skew = self.faults.as_ref().and_then(|faults| faults.skew(replica));
        skew.map_or(local, |skew| skew.virtual_time(local))
    }

    /// Defers the validation of a block from the future until its timestamp is acceptable, and returns whether it did;
    /// `Err`: the seconds by which it is too far ahead for that. Blocks on demand are never deferred: they carry their
    /// driver's time, which is unrelated to this clock.
    pub(super) fn defer_future_block(
        &mut self,
        (replica, life): (ReplicaId, u64),
        block: &Arc<Block>,
        bounds: FutureBlocks,
    ) -> Result<bool, u64> {
        let ahead = block.timestamp().as_secs().saturating_sub(self.timestamp_of(replica).as_secs());
        if self.production == Production::OnDemand || ahead <= bounds.judged_secs_max {
            return Ok(false);
        }
        if bounds.queued_secs_max.is_some_and(|max| ahead > max) {
            return Err(ahead);
        }
        let acceptable = block.timestamp().as_secs().saturating_sub(bounds.judged_secs_max);
        let at = self.time_at_local(replica, self.clock.moment(Timestamp::from_secs(acceptable)));
        self.scheduler.at(at, SimEvent::Judgement { replica, block: block.clone(), life });
        Ok(true)
    }

    /// Draws the duration of a write on a slow disk, in nanoseconds.
    pub(super) fn disk_nanos(&mut self, latency: Latency) -> u64 {
        self.faults.as_mut().map_or(0, |faults| latency.draw_nanos(&mut faults.disk))
    }

    /// Draws the duration of a block on a slow processor, in nanoseconds.
    pub(super) fn execution_nanos(&mut self, latency: Latency) -> u64 {
        self.faults.as_mut().map_or(0, |faults| latency.draw_nanos(&mut faults.execution))
    }

    /// Draws a number below `bound` for a protocol.
    pub(crate) fn draw(&mut self, bound: u64) -> u64 {
        self.draws.below(bound)
    }

    /// Returns the virtual time at which a timer with this deadline fires, and the nanoseconds of delay in it: all from now, or those
    /// after a block's time.
    pub(super) fn timer_deadline(&self, replica: ReplicaId, deadline: Deadline) -> (SimTime, u64) {
        let now = self.scheduler.now();
        let skew = self.faults.as_ref().and_then(|faults| faults.skew(replica));
        let virtual_nanos = |nanos| skew.map_or(nanos, |skew| skew.virtual_nanos(nanos));
        match deadline {
            Deadline::After { nanos } => {
                let delay = virtual_nanos(nanos);
                (now.plus_nanos(delay), delay)
            }
            Deadline::AtTimestamp { timestamp, then_nanos } => {
                let (at, delay) =
                    (self.time_at_local(replica, self.clock.moment(timestamp)), virtual_nanos(then_nanos));
                (at.plus_nanos(delay).max(now), delay)
            }
        }
    }

    /// Sends a protocol's message.
    pub(super) fn send_message(&mut self, from: ReplicaId, to: Recipients, message: ConsensusMessage) {
        let envelope = Envelope::Message(message);
        match to {
            Recipients::Others => self.broadcast(from, &envelope),
            Recipients::One(to) => self.send(from, to, envelope),
        }
    }

    /// Requests a block from a peer.
    pub(crate) fn request(&mut self, from: ReplicaId, to: ReplicaId, block: BlockId) {
        self.send(from, to, Envelope::BlockRequest(block));
    }

    /// Sends to every other replica.
    pub(super) fn broadcast(&mut self, from: ReplicaId, envelope: &Envelope) {
        for to in (0..self.replica_count).map(ReplicaId::new).filter(|to| *to != from) {
            self.send(from, to, envelope.clone());
        }
    }

    /// Puts an envelope on its link after `late`.
    pub(crate) fn send_late(&mut self, from: ReplicaId, to: ReplicaId, envelope: Envelope, late: Duration) {
        if late.is_zero() {
            return self.send(from, to, envelope);
        }
        let at = self.scheduler.now().plus(late);
        self.scheduler.at(at, SimEvent::Departure { from, to, envelope });
    }

    /// Puts a message on its link, which takes at most [`RUSH_NANOS`] for it: an adversary has good connections.
    pub(crate) fn rush(&mut self, from: ReplicaId, to: ReplicaId, message: ConsensusMessage) {
        self.send_under_faults(from, to, Envelope::Message(message), RUSH_NANOS);
    }

    /// Puts an envelope on its link; one to a replica that does not exist is lost.
    pub(crate) fn send(&mut self, from: ReplicaId, to: ReplicaId, envelope: Envelope) {
        if to.get() >= self.replica_count {
            return;
        }
        if self.faults.is_some() {
            return self.send_under_faults(from, to, envelope, u64::MAX);
        }
        let delay = self.links.delay_nanos(from, to);
        if let Some(recorder) = &mut self.recorder {
            let (now, label, message) = (self.scheduler.now(), envelope.label(), envelope.message());
            recorder.sent(now, (from, to), label, message, delay.map(|delay| now.plus_nanos(delay)));
        }
        if let Some(delay) = delay {
            self.note_transaction(&envelope, delay);
            self.scheduler.after_nanos(delay, SimEvent::Arrival { from, to, envelope });
        }
    }

    /// Sends under the faults in force; without those of links it takes at most `most` nanoseconds.
    fn send_under_faults(&mut self, from: ReplicaId, to: ReplicaId, envelope: Envelope, most: u64) {
        let Some(faults) = &mut self.faults else { return };
        let (receiver, from) = (faults.receiver(from, to), faults.identity(from));
        // A twin that was removed sends nothing more.
        if from == to || from.get() >= self.replica_count {
            return;
        }
        let now = self.scheduler.now();
        let usual = self.links.delay_nanos(from, to).map(|usual| usual.min(most));
        let delivery = match (usual, receiver) {
            (Some(usual), Some(_)) => faults.links.delivery(now, (from, to), &envelope, usual),
            _ => Delivery::Lost,
        };
        if let Some(recorder) = &mut self.recorder {
            let (label, message) = (envelope.label(), envelope.message());
            let arrivals = match &delivery {
                Delivery::Arrives(delays) => delays.iter().map(|delay| Some(now.plus_nanos(*delay))).collect(),
                Delivery::Held(_) | Delivery::Lost => vec![None],
            };
            arrivals.into_iter().for_each(|arrival| recorder.sent(now, (from, to), label, message, arrival));
        }
        match (delivery, receiver) {
            (Delivery::Arrives(delays), Some(to)) => {
                for delay in delays {
                    self.note_transaction(&envelope, delay);
                    self.scheduler.after_nanos(delay, SimEvent::Arrival { from, to, envelope: envelope.clone() });
                }
            }
            (Delivery::Held(fault), _) => {
                if let Some(faults) = &mut self.faults {
                    faults.links.hold(fault, from, to, envelope);
                }
            }
            _ => {}
        }
    }

    /// Counts a transaction that was put on a link.
    fn note_transaction(&mut self, envelope: &Envelope, delay: u64) {
        if envelope.is_transaction(None) {
            self.transactions_travelling += 1;
            let arrival = self.scheduler.now().plus_nanos(delay);
            self.transactions_arrive_by = self.transactions_arrive_by.max(arrival);
        }
    }

    /// Counts transactions that will not arrive.
    pub(super) fn on_transactions_gone(&mut self, count: usize) {
        self.transactions_travelling = self.transactions_travelling.saturating_sub(count as u64);
    }

    /// Takes a transaction, or all with `None`, from the links.
    pub(super) fn drop_transactions(&mut self, hash: Option<&B256>) {
        let queued = self.scheduler.len();
        self.scheduler.retain(|sim_event| !sim_event.carries_transaction(hash));
        self.on_transactions_gone(queued - self.scheduler.len());
        if let Some(faults) = &mut self.faults {
            faults.links.drop_held(|envelope| envelope.is_transaction(hash));
        }
    }

    /// Discards every queued event.
    pub(super) fn forget_all(&mut self) {
        self.scheduler.clear();
        self.transactions_travelling = 0;
    }

    /// Writes a violation into the trace, and returns it as an error.
    pub(super) fn violated(&mut self, violation: Violation) -> NetworkError {
        let now = self.scheduler.now();
        if let Some(recorder) = &mut self.recorder {
            recorder.violation(now, &violation);
        }
        NetworkError::Violated(Box::new(violation))
    }

    /// Adds a labelled record, with the time, to the run digest.
    pub(crate) fn record(&mut self, label: &str, write: impl FnOnce(&mut Encoder)) {
        let now = self.scheduler.now();
        if let Some(digest) = &mut self.digest {
            digest.record(label, |out| {
                out.u64(now.as_nanos());
                write(out);
            });
        }
    }

    /// Adds a protocol's event to the run digest.
    pub(super) fn record_event(&mut self, replica: ReplicaId, event: &Event) {
        self.record(event.label(), |out| {
            out.u32(replica.get());
            event.encode(out);
        });
    }

    /// Adds transactions and block requests that arrive to the run digest: no protocol event records them.
    pub(super) fn record_arrival(&mut self, step: &SimStep, sim_event: &SimEvent) {
        let SimEvent::Arrival { from, envelope, .. } = sim_event else { return };
        let label = step.label;
        match envelope {
            Envelope::Message(_) | Envelope::BlockResponse(_) => {}
            Envelope::Transaction(transaction) => self.record(label, |out| {
                out.u32(step.replica.get());
                out.u32(from.get());
                out.hash(&transaction.hash());
            }),
            Envelope::BlockRequest(block) => self.record(label, |out| {
                out.u32(step.replica.get());
                out.u32(from.get());
                out.u64(block.height.get());
                out.hash(&block.hash);
            }),
        }
    }
}
