//! Everything around the replicas: queue, links, clock, draws and the run's fingerprint.

use std::{collections::VecDeque, sync::Arc};

use super::{
    envelope::Parcel,
    links::{Latency, Links},
    production::Production,
    step::Step,
};
use crate::{
    chain::Block,
    consensus::{BlockId, Deadline, Effect, Encoder, Event, Message, Recipients, ReplicaId, Ticket, TimerId},
    primitives::Timestamp,
    sim::{
        engine::{
            clock::{BlockClock, SimTime},
            digest::RunDigest,
            rng::{SimRng, Streams},
            scheduler::Scheduler,
        },
        faults::{active::Trouble, link_faults::Passage, plan::FaultId},
        trace::Recorder,
    },
};

/// How far ahead of the block clock a block may be, in seconds, as in the clients of Ethereum.
const FUTURE_SECS_MAX: u64 = 15;

/// What all replicas share. Cloning is O(1) in everything that grows.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) scheduler: Scheduler<Happening>,
    pub(crate) links: Links,
    pub(crate) clock: BlockClock,
    pub(crate) draws: SimRng,
    pub(crate) digest: Option<RunDigest>,
    pub(crate) production: Production,
    pub(crate) replica_count: u32,
    pub(crate) steps: u64,
    /// Transactions that are on a link.
    pub(super) transactions_travelling: u64,
    /// What happens is recorded here, when somebody wants to know.
    pub(super) recorder: Option<Recorder>,
    /// Of the seed, for what goes wrong.
    pub(crate) streams: Streams,
    /// What is wrong; nothing in a quiet network.
    pub(crate) trouble: Option<Box<Trouble>>,
    pub(super) buffers: Buffers,
}

/// Room for what a replica does about one thing, empty between two of them: it is not allocated anew each time.
#[derive(Clone, Debug, Default)]
pub(super) struct Buffers {
    /// Events that wait for its protocol.
    pub(crate) inbox: VecDeque<Event>,
    /// What its protocol asks for.
    pub(crate) effects: Vec<Effect>,
}

/// What the queue holds.
#[derive(Clone, Debug)]
pub(crate) enum Happening {
    /// Something comes over a link.
    Arrival { from: ReplicaId, to: ReplicaId, parcel: Parcel },
    /// A message that was held back by its sender goes on its link.
    Departure { from: ReplicaId, to: ReplicaId, message: Message },
    /// A block that came before its time may be judged.
    Judgement { replica: ReplicaId, block: Arc<Block> },
    /// A timer's deadline is here.
    Timer { replica: ReplicaId, timer: TimerId, generation: u64 },
    /// A write is durable, if the replica lives still.
    Written { replica: ReplicaId, ticket: Ticket, life: u64 },
    /// A fault of the plan begins.
    FaultBegins { index: usize },
    /// A fault of the plan is over.
    FaultEnds { fault: FaultId },
}

impl World {
    /// What the block clock shows now.
    pub(crate) const fn timestamp(&self) -> Timestamp {
        self.clock.timestamp(self.scheduler.now())
    }

    /// What a replica's own block clock shows now.
    pub(super) fn timestamp_of(&self, replica: ReplicaId) -> Timestamp {
        let now = self.scheduler.now();
        let skew = self.trouble.as_ref().and_then(|trouble| trouble.skew(replica));
        self.clock.timestamp(skew.map_or(now, |skew| skew.shows(now)))
    }

    /// When a replica's own clock shows `local`.
    fn moment_of(&self, replica: ReplicaId, local: SimTime) -> SimTime {
        let skew = self.trouble.as_ref().and_then(|trouble| trouble.skew(replica));
        skew.map_or(local, |skew| skew.moment(local))
    }

    /// Puts the judgement of a block off while it is from the future: it is pending until then, not false. Answers
    /// whether it did. Blocks on demand carry their driver's time, which this clock does not know.
    pub(super) fn postpone(&mut self, replica: ReplicaId, block: &Arc<Block>) -> bool {
        let latest = self.timestamp_of(replica).saturating_add_secs(FUTURE_SECS_MAX);
        if self.production == Production::OnDemand || block.timestamp() <= latest {
            return false;
        }
        let acceptable = block.timestamp().as_secs().saturating_sub(FUTURE_SECS_MAX);
        let at = self.moment_of(replica, self.clock.moment(Timestamp::from_secs(acceptable)));
        self.scheduler.at(at, Happening::Judgement { replica, block: block.clone() });
        true
    }

    /// How long a write takes on a slow disk.
    pub(super) fn disk_nanos(&mut self, latency: Latency) -> u64 {
        self.trouble.as_mut().map_or(0, |trouble| latency.draw_nanos(&mut trouble.disk))
    }

    /// Answers a protocol's draw.
    pub(crate) fn draw(&mut self, bound: u64) -> u64 {
        self.draws.below(bound)
    }

    /// When a timer with this deadline fires.
    pub(super) fn moment_of_timer(&self, replica: ReplicaId, deadline: Deadline) -> SimTime {
        let now = self.scheduler.now();
        let skew = self.trouble.as_ref().and_then(|trouble| trouble.skew(replica));
        let lasts = |nanos| skew.map_or(nanos, |skew| skew.lasts(nanos));
        match deadline {
            Deadline::After { nanos } => now.plus_nanos(lasts(nanos)),
            Deadline::AtTimestamp { timestamp, then_nanos } => {
                self.moment_of(replica, self.clock.moment(timestamp)).plus_nanos(lasts(then_nanos)).max(now)
            }
        }
    }

    /// Sends a protocol's message.
    pub(super) fn send_message(&mut self, from: ReplicaId, to: Recipients, message: Message) {
        let parcel = Parcel::Message(message);
        match to {
            Recipients::Others => self.broadcast(from, &parcel),
            Recipients::One(to) => self.send(from, to, parcel),
        }
    }

    /// Asks a peer for a block.
    pub(crate) fn request(&mut self, from: ReplicaId, to: ReplicaId, block: BlockId) {
        self.send(from, to, Parcel::BlockRequest(block));
    }

    /// Sends to every other replica.
    pub(super) fn broadcast(&mut self, from: ReplicaId, parcel: &Parcel) {
        for to in (0..self.replica_count).map(ReplicaId::new).filter(|to| *to != from) {
            self.send(from, to, parcel.clone());
        }
    }

    /// Puts a protocol's message on its link, so many milliseconds late.
    pub(crate) fn send_late(&mut self, from: ReplicaId, to: ReplicaId, message: Message, late_ms: u64) {
        if late_ms == 0 {
            return self.send(from, to, Parcel::Message(message));
        }
        let at = self.scheduler.now().plus_nanos(late_ms.saturating_mul(1_000_000));
        self.scheduler.at(at, Happening::Departure { from, to, message });
    }

    /// Puts a parcel on its link; to nobody that exists it is lost.
    pub(crate) fn send(&mut self, from: ReplicaId, to: ReplicaId, parcel: Parcel) {
        if to.get() >= self.replica_count {
            return;
        }
        if self.trouble.is_some() {
            return self.send_in_trouble(from, to, parcel);
        }
        let delay = self.links.delay_nanos(from, to);
        if let Some(recorder) = &mut self.recorder {
            let (now, label, message) = (self.scheduler.now(), parcel.label(), parcel.message());
            recorder.sent(now, (from, to), label, message, delay.map(|delay| now.plus_nanos(delay)));
        }
        if let Some(delay) = delay {
            self.transactions_travelling += u64::from(matches!(parcel, Parcel::Transaction(_)));
            self.scheduler.after_nanos(delay, Happening::Arrival { from, to, parcel });
        }
    }

    /// The same while something is or was wrong.
    fn send_in_trouble(&mut self, from: ReplicaId, to: ReplicaId, parcel: Parcel) {
        let Some(trouble) = &mut self.trouble else { return };
        let (machine, from) = (trouble.machine(from, to), trouble.identity(from));
        // What a second machine still had to say when it was taken away is said by nobody.
        if from == to || from.get() >= self.replica_count {
            return;
        }
        let now = self.scheduler.now();
        let usual = self.links.delay_nanos(from, to);
        let passage = match (usual, machine) {
            (Some(usual), Some(_)) => trouble.weather.passage(now, (from, to), &parcel, usual),
            _ => Passage::Lost,
        };
        if let Some(recorder) = &mut self.recorder {
            let (label, message) = (parcel.label(), parcel.message());
            let arrivals = match &passage {
                Passage::Arrives(delays) => delays.iter().map(|delay| Some(now.plus_nanos(*delay))).collect(),
                Passage::Waits(_) | Passage::Lost => vec![None],
            };
            arrivals.into_iter().for_each(|arrival| recorder.sent(now, (from, to), label, message, arrival));
        }
        let is_transaction = matches!(parcel, Parcel::Transaction(_));
        match (passage, machine) {
            (Passage::Arrives(delays), Some(to)) => {
                for delay in delays {
                    self.transactions_travelling += u64::from(is_transaction);
                    self.scheduler.after_nanos(delay, Happening::Arrival { from, to, parcel: parcel.clone() });
                }
            }
            (Passage::Waits(fault), _) => {
                trouble.weather.keep(fault, from, to, parcel);
            }
            _ => {}
        }
    }

    /// Forgets everything that is on its way.
    pub(super) fn forget_all(&mut self) {
        self.scheduler.clear();
        self.transactions_travelling = 0;
    }

    /// Adds something to the run's fingerprint, with the time.
    pub(crate) fn record(&mut self, label: &str, write: impl FnOnce(&mut Encoder)) {
        let now = self.scheduler.now();
        if let Some(digest) = &mut self.digest {
            digest.record(label, |out| {
                out.u64(now.as_nanos());
                write(out);
            });
        }
    }

    /// Adds an event of a protocol.
    pub(super) fn record_event(&mut self, replica: ReplicaId, event: &Event) {
        self.record(event.label(), |out| {
            out.u32(replica.get());
            event.encode(out);
        });
    }

    /// Adds what comes over a link and reaches no protocol as an event of its own.
    pub(super) fn record_happening(&mut self, step: &Step, happening: &Happening) {
        let Happening::Arrival { from, parcel, .. } = happening else { return };
        let label = step.label;
        match parcel {
            Parcel::Message(_) | Parcel::BlockResponse(_) => {}
            Parcel::Transaction(transaction) => self.record(label, |out| {
                out.u32(step.replica.get());
                out.u32(from.get());
                out.hash(&transaction.hash());
            }),
            Parcel::BlockRequest(block) => self.record(label, |out| {
                out.u32(step.replica.get());
                out.u32(from.get());
                out.u64(block.height.get());
                out.hash(&block.hash);
            }),
        }
    }
}
