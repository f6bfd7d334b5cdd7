//! Everything around the replicas: queue, links, clock, draws and the run's fingerprint.

use std::sync::Arc;

use super::{BlockClock, Links, Production, RunDigest, Scheduler, SimRng, Step, trace::Recorder};
use crate::{
    chain::Block,
    consensus::{BlockId, Deadline, Encoder, Event, Message, Recipients, ReplicaId, TimerId},
    primitives::{Timestamp, Transaction},
};

/// How far ahead of the block clock a block may be, in seconds, as in the clients of Ethereum.
const FUTURE_SECS_MAX: u64 = 15;

/// What all replicas share. Cloning is O(1) in everything that grows.
#[derive(Clone, Debug)]
pub(super) struct World {
    pub(super) scheduler: Scheduler<Happening>,
    pub(super) links: Links,
    pub(super) clock: BlockClock,
    pub(super) draws: SimRng,
    pub(super) digest: Option<RunDigest>,
    pub(super) production: Production,
    pub(super) replica_count: u32,
    pub(super) steps: u64,
    /// Transactions that are on a link.
    pub(super) transactions_travelling: u64,
    /// What happens is recorded here, when somebody wants to know.
    pub(super) recorder: Option<Recorder>,
}

/// What the queue holds.
#[derive(Clone, Debug)]
pub(super) enum Happening {
    /// Something comes over a link.
    Arrival { from: ReplicaId, to: ReplicaId, parcel: Parcel },
    /// A block that came before its time may be judged.
    Judgement { replica: ReplicaId, block: Arc<Block> },
    /// A timer's deadline is here.
    Timer { replica: ReplicaId, timer: TimerId, generation: u64 },
}

/// What travels on links. Cloning is O(1).
#[derive(Clone, Debug)]
pub(super) enum Parcel {
    Message(Message),
    Transaction(Arc<Transaction>),
    BlockRequest(BlockId),
    BlockResponse(Arc<Block>),
}

impl Parcel {
    pub(super) const fn label(&self) -> &'static str {
        match self {
            Self::Message(_) => "message",
            Self::Transaction(_) => "transaction",
            Self::BlockRequest(_) => "block-request",
            Self::BlockResponse(_) => "block-response",
        }
    }

    const fn message(&self) -> Option<&Message> {
        match self {
            Self::Message(message) => Some(message),
            _ => None,
        }
    }
}

impl World {
    /// What the block clock shows now.
    pub(super) const fn timestamp(&self) -> Timestamp {
        self.clock.timestamp(self.scheduler.now())
    }

    /// Puts the judgement of a block off while it is from the future: it is pending until then, not false. Answers
    /// whether it did. Blocks on demand carry their driver's time, which this clock does not know.
    pub(super) fn postpone(&mut self, replica: ReplicaId, block: &Arc<Block>) -> bool {
        let latest = self.timestamp().saturating_add_secs(FUTURE_SECS_MAX);
        if self.production == Production::OnDemand || block.timestamp() <= latest {
            return false;
        }
        let acceptable = block.timestamp().as_secs().saturating_sub(FUTURE_SECS_MAX);
        let at = self.clock.moment(Timestamp::from_secs(acceptable));
        self.scheduler.at(at, Happening::Judgement { replica, block: block.clone() });
        true
    }

    /// Answers a protocol's draw.
    pub(super) fn draw(&mut self, bound: u64) -> u64 {
        self.draws.below(bound)
    }

    /// Puts a timer's event.
    pub(super) fn arm(&mut self, replica: ReplicaId, timer: TimerId, generation: u64, deadline: Deadline) {
        let now = self.scheduler.now();
        let at = match deadline {
            Deadline::After { nanos } => now.plus_nanos(nanos),
            Deadline::AtTimestamp { timestamp, then_nanos } => {
                self.clock.moment(timestamp).plus_nanos(then_nanos).max(now)
            }
        };
        self.scheduler.at(at, Happening::Timer { replica, timer, generation });
    }

    /// Sends a protocol's message.
    pub(super) fn send_message(&mut self, from: ReplicaId, to: Recipients, message: &Message) {
        let parcel = Parcel::Message(message.clone());
        match to {
            Recipients::Others => self.broadcast(from, &parcel),
            Recipients::One(to) => self.send(from, to, parcel),
        }
    }

    /// Asks a peer for a block.
    pub(super) fn request(&mut self, from: ReplicaId, to: ReplicaId, block: BlockId) {
        self.send(from, to, Parcel::BlockRequest(block));
    }

    /// Sends to every other replica.
    pub(super) fn broadcast(&mut self, from: ReplicaId, parcel: &Parcel) {
        for to in (0..self.replica_count).map(ReplicaId::new).filter(|to| *to != from) {
            self.send(from, to, parcel.clone());
        }
    }

    /// Puts a parcel on its link; to nobody that exists it is lost.
    pub(super) fn send(&mut self, from: ReplicaId, to: ReplicaId, parcel: Parcel) {
        if to.get() >= self.replica_count {
            return;
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

    /// Forgets everything that is on its way.
    pub(super) fn forget_all(&mut self) {
        self.scheduler.clear();
        self.transactions_travelling = 0;
    }

    /// Adds something to the run's fingerprint, with the time.
    pub(super) fn record(&mut self, label: &str, write: impl FnOnce(&mut Encoder)) {
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
