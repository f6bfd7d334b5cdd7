//! Model checking of the protocols' own step functions with `stateright`: every order of messages, timers and crashes
//! within bounds.
//!
//! A model's state names its replicas and the messages under way by numbers into a [`TransitionTable`], as SPIN's
//! collapse compression does: replicas are in few states of their own, and a model's states are combinations of them.
//! So each (replica's state, input) pair is stepped once, and a million states fit in memory.
//!
//! Effects are carried out by the same dispatch as in the simulator. The network is unordered. A message is delivered
//! at most once, at any time or never: that covers loss, delay and reordering. A disk write is done at once, or, where
//! [`TransitionTable::step`] is asked to, a crash comes before it.

use core::convert::Infallible;
use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{
    ApplyRecords, BlockId, BuildRequest, ChainEvent, ConsensusMessage, Deadline, Effect, Encoder, Event, Evidence,
    Protocol, Recipients, Record, Records, Rejection, ReplicaId, Ticket, TimerId, Verdict,
    effect_handler::{Durability, EffectHandler, Outbox, carry_out},
    mutation::{self, Mutation},
    testing::{Content, Envelope, build, receivers},
};
use crate::{chain::Block, primitives::B256};

/// What is particular to a protocol.
pub(super) trait Setup: Send + Sync + 'static {
    /// The real state machine.
    type Protocol: Protocol + 'static;
    /// What properties ask of a replica.
    type View: Send + Sync + 'static;

    /// Whether replicas crash, so that what they wrote is part of their state.
    const CRASHES: bool;

    /// Whether a block is built as soon as it is asked for.
    const BUILDS_AT_ONCE: bool;

    /// How many replicas the protocol counts, those included that the model plays itself.
    fn count(&self) -> u32;

    /// Whether the model steps this replica, rather than playing it.
    fn is_stepped(&self, number: u32) -> bool;

    /// The replica at genesis, or after a crash.
    fn recover(&self, number: u32, records: &Records) -> Self::Protocol;

    /// Gives everything its first name whose name means nothing, such as tickets between two writes.
    fn normalize(&self, replica: &mut Replica<Self::Protocol>);

    fn view(&self, replica: &Replica<Self::Protocol>) -> Self::View;

    /// Whether the network loses every envelope with this content.
    fn is_lost(&self, _content: &Content) -> bool {
        false
    }

    /// The events of [`Input::Act`].
    fn act(&self, _replica: &Replica<Self::Protocol>) -> Vec<Event> {
        Vec::new()
    }

    /// Whether delivering this changes nothing now nor ever.
    fn is_dead(&self, view: &Self::View, content: &Content) -> bool;
}

/// One replica: its protocol, its disk, and what it waits for.
#[derive(Clone, Debug)]
pub(super) struct Replica<P> {
    pub(super) number: u32,
    pub(super) protocol: P,
    pub(super) records: Records,
    pub(super) armed: BTreeSet<TimerId>,
    pub(super) wanted: Option<BuildRequest>,
}

/// A replica's state, by its number in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ReplicaKey(u32);

/// A envelope, by its number in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct EnvelopeKey(u32);

/// What can happen to a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Input {
    Deliver(EnvelopeKey),
    /// A timer that runs fires.
    Timer(TimerId),
    /// The block that it asked for is built.
    Build,
    /// What the protocol's own model defines: several events at once.
    Act,
    /// It crashes and comes back. Being down is the same as being slow, so it comes back at once.
    Restart,
}

/// What followed.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    pub(super) replica: ReplicaKey,
    pub(super) sent: Arc<[EnvelopeKey]>,
}

/// Every replica's state and every envelope that the exploration came across, and what led where.
pub(super) struct TransitionTable<S: Setup> {
    setup: S,
    /// A deliberate bug in every replica.
    mutation: Option<Mutation>,
    tables: Mutex<Tables<S>>,
}

/// A replica's state and what properties ask of it.
struct Known<S: Setup> {
    replica: Arc<Replica<S::Protocol>>,
    view: Arc<S::View>,
}

struct Tables<S: Setup> {
    replicas: Vec<Known<S>>,
    replica_keys: HashMap<B256, ReplicaKey>,
    envelopes: Vec<Arc<Envelope>>,
    envelope_keys: HashMap<B256, EnvelopeKey>,
    /// Every block that was executed.
    blocks: HashMap<B256, Arc<Block>>,
    outcomes: HashMap<(ReplicaKey, Input, bool), Option<Outcome>>,
}

impl<S: Setup> TransitionTable<S> {
    pub(super) fn new(setup: S, mutation: Option<Mutation>) -> Self {
        let tables = Tables {
            replicas: Vec::new(),
            replica_keys: HashMap::new(),
            envelopes: Vec::new(),
            envelope_keys: HashMap::new(),
            blocks: HashMap::new(),
            outcomes: HashMap::new(),
        };
        Self { setup, mutation, tables: Mutex::new(tables) }
    }

    pub(super) const fn setup(&self) -> &S {
        &self.setup
    }

    /// A replica at genesis, started.
    pub(super) fn first(&self, number: u32) -> ReplicaKey {
        let records = Records::new();
        let mut replica = self.started(number, &records);
        self.setup.normalize(&mut replica);
        self.tables().replica_key(&self.setup, replica)
    }

    pub(super) fn replica(&self, key: ReplicaKey) -> Arc<Replica<S::Protocol>> {
        self.tables().replicas[key.0 as usize].replica.clone()
    }

    pub(super) fn view(&self, key: ReplicaKey) -> Arc<S::View> {
        self.tables().replicas[key.0 as usize].view.clone()
    }

    /// The number of an envelope that the model itself puts under way.
    pub(super) fn envelope_key(&self, envelope: Envelope) -> EnvelopeKey {
        self.tables().envelope_key(envelope)
    }

    pub(super) fn envelope(&self, key: EnvelopeKey) -> Arc<Envelope> {
        self.tables().envelopes[key.0 as usize].clone()
    }

    /// How many states of single replicas there were, and how many real steps.
    pub(super) fn sizes(&self) -> (usize, usize) {
        let tables = self.tables();
        (tables.replicas.len(), tables.outcomes.len())
    }

    /// Gives a replica an input. `torn`: it crashes before the write that follows is done, and comes back; `None` when
    /// nothing is written.
    pub(super) fn step(&self, key: ReplicaKey, input: Input, torn: bool) -> Option<Outcome> {
        if let Some(known) = self.tables().outcomes.get(&(key, input, torn)) {
            return known.clone();
        }
        let before = self.replica(key);
        // The checker's thread is not the test's: a mutation is switched on where the step is made.
        let computed = match self.mutation {
            Some(mutation) => mutation::with(mutation, || self.compute(&before, input, torn)),
            None => self.compute(&before, input, torn),
        };
        let outcome = computed.map(|(replica, sent)| {
            let mut tables = self.tables();
            let sent = sent.into_iter().map(|envelope| tables.envelope_key(envelope)).collect();
            Outcome { replica: tables.replica_key(&self.setup, replica), sent }
        });
        self.tables().outcomes.insert((key, input, torn), outcome.clone());
        outcome
    }

    /// Takes away what no longer matters to `key` from the envelopes to its replica.
    pub(super) fn forget_dead(&self, key: ReplicaKey, wire: &mut Vec<EnvelopeKey>) {
        let tables = self.tables();
        let Known { replica, view } = &tables.replicas[key.0 as usize];
        wire.retain(|envelope| {
            let Envelope { to, content, .. } = tables.envelopes[envelope.0 as usize].as_ref();
            to.get() != replica.number || !self.setup.is_dead(view, content)
        });
    }

    fn tables(&self) -> MutexGuard<'_, Tables<S>> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn started(&self, number: u32, records: &Records) -> Replica<S::Protocol> {
        let protocol = self.setup.recover(number, records);
        let (armed, records) = (BTreeSet::new(), records.clone());
        let mut replica = Replica { number, protocol, records, armed, wanted: None };
        let mut effects = Vec::new();
        replica.protocol.step(Event::Start, &mut effects);
        let mut inbox = VecDeque::new();
        let mut driver = Driver::new(self, replica);
        for effect in effects {
            let Ok(()) = carry_out(effect, &mut driver, &mut inbox);
        }
        assert!(inbox.is_empty() && driver.sent.is_empty(), "a start that does something is not modelled");
        driver.replica
    }

    fn compute(
        &self,
        before: &Replica<S::Protocol>,
        input: Input,
        torn: bool,
    ) -> Option<(Replica<S::Protocol>, Vec<Envelope>)> {
        let mut replica = before.clone();
        let events = match input {
            Input::Restart => {
                let mut replica = self.started(before.number, &before.records);
                self.setup.normalize(&mut replica);
                return Some((replica, Vec::new()));
            }
            Input::Deliver(key) => vec![self.envelope(key).as_ref().clone().into_event()],
            Input::Timer(timer) => {
                replica.armed.remove(&timer);
                vec![Event::Timer(timer)]
            }
            Input::Act => self.setup.act(before),
            Input::Build => {
                let request = replica.wanted.take()?;
                vec![Event::BlockBuilt { ticket: request.ticket, block: Arc::new(build(&request)) }]
            }
        };
        let mut inbox = VecDeque::from(events);
        let mut driver = Driver::new(self, replica);
        while let Some(event) = inbox.pop_front() {
            let mut effects = Vec::new();
            driver.replica.protocol.step(event, &mut effects);
            let is_writing = effects.iter().any(|effect| matches!(effect, Effect::Persist { .. }));
            for effect in effects {
                let waits = matches!(effect, Effect::Send { after: Some(_), .. } | Effect::Persist { .. });
                if !(torn && is_writing && waits) {
                    let Ok(()) = carry_out(effect, &mut driver, &mut inbox);
                }
            }
            if torn && is_writing {
                // What an earlier write of the same input made durable stays.
                let mut replica = self.started(before.number, &driver.replica.records);
                self.setup.normalize(&mut replica);
                return Some((replica, driver.sent));
            }
        }
        let Driver { mut replica, sent, outbox, .. } = driver;
        assert!(outbox.is_empty(), "a message that waits between two inputs is not modelled");
        self.setup.normalize(&mut replica);
        (!torn).then_some((replica, sent))
    }
}

/// Carries out the effects of one input.
struct Driver<'a, S: Setup> {
    table: &'a TransitionTable<S>,
    replica: Replica<S::Protocol>,
    outbox: Outbox,
    sent: Vec<Envelope>,
}

impl<'a, S: Setup> Driver<'a, S> {
    fn new(table: &'a TransitionTable<S>, replica: Replica<S::Protocol>) -> Self {
        Self { table, replica, outbox: Outbox::default(), sent: Vec::new() }
    }

    fn id(&self) -> ReplicaId {
        ReplicaId::new(self.replica.number)
    }
}

impl<S: Setup> EffectHandler for Driver<'_, S> {
    type Error = Infallible;

    fn outbox(&mut self) -> &mut Outbox {
        &mut self.outbox
    }

    fn send(&mut self, to: Recipients, message: ConsensusMessage) {
        let (setup, from, content) = (&self.table.setup, self.id(), Content::Message(message));
        if setup.is_lost(&content) {
            return;
        }
        let stepped = receivers(from, to, setup.count()).into_iter().filter(|to| setup.is_stepped(to.get()));
        self.sent.extend(stepped.map(|to| Envelope { from, to, content: content.clone() }));
    }

    fn arm_timer(&mut self, timer: TimerId, _deadline: Deadline) {
        self.replica.armed.insert(timer);
    }

    fn disarm_timer(&mut self, timer: TimerId) {
        self.replica.armed.remove(&timer);
    }

    fn persist(&mut self, _ticket: Ticket, records: Vec<Record>) -> Durability {
        if S::CRASHES {
            self.replica.records.apply(records);
        }
        Durability::Now
    }

    fn build(&mut self, request: BuildRequest) -> Result<Option<Arc<Block>>, Infallible> {
        if S::BUILDS_AT_ONCE {
            return Ok(Some(Arc::new(build(&request))));
        }
        self.replica.wanted = Some(request);
        Ok(None)
    }

    fn cancel_build(&mut self) {
        self.replica.wanted = None;
    }

    fn validate(&mut self, block: Arc<Block>) -> Result<Option<Verdict>, Infallible> {
        self.table.tables().blocks.insert(block.hash(), block);
        Ok(Some(Verdict::VALID))
    }

    /// What is drawn only decides when a timer fires, and here it fires at any time.
    fn draw(&mut self, _bound: u64) -> u64 {
        0
    }

    /// Every peer has every block; the answer may be lost as everything else.
    fn fetch(&mut self, block: BlockId, from: ReplicaId) -> Option<Arc<Block>> {
        let block = self.table.tables().blocks.get(&block.hash).expect("a block that was executed").clone();
        self.sent.push(Envelope { from, to: self.id(), content: Content::Block(block) });
        None
    }

    fn on_chain_event(&mut self, event: ChainEvent) -> Result<Option<Event>, Infallible> {
        if let ChainEvent::HeadMoved { reorg_depth, .. } = event {
            assert_eq!(reorg_depth, 0);
        }
        Ok(None)
    }

    fn on_evidence(&mut self, _evidence: Evidence) {}

    fn on_rejection(&mut self, _rejection: Rejection) {}

    fn on_mark(&mut self, _name: &'static str) {}
}

impl<S: Setup> Tables<S> {
    fn replica_key(&mut self, setup: &S, replica: Replica<S::Protocol>) -> ReplicaKey {
        let next = ReplicaKey(self.replicas.len() as u32);
        let key = *self.replica_keys.entry(replica.digest()).or_insert(next);
        if key == next {
            let view = Arc::new(setup.view(&replica));
            self.replicas.push(Known { replica: Arc::new(replica), view });
        }
        key
    }

    fn envelope_key(&mut self, envelope: Envelope) -> EnvelopeKey {
        let next = EnvelopeKey(self.envelopes.len() as u32);
        let key = *self.envelope_keys.entry(digest(&envelope)).or_insert(next);
        if key == next {
            self.envelopes.push(Arc::new(envelope));
        }
        key
    }
}

impl<P: Protocol> Replica<P> {
    fn digest(&self) -> B256 {
        let mut out = Encoder::new();
        out.u32(self.number);
        self.protocol.encode(&mut out);
        out.list(self.records.iter(), |out, (key, value)| {
            out.bytes(key);
            out.bytes(value);
        });
        out.list(self.armed.iter(), |out, timer| out.u64(timer.get()));
        out.option(self.wanted.as_ref(), |out, request| {
            out.u64(request.ticket.get());
            out.hash(&build(request).hash());
        });
        out.digest()
    }
}

fn digest(envelope: &Envelope) -> B256 {
    let mut out = Encoder::new();
    out.u32(envelope.from.get());
    out.u32(envelope.to.get());
    match &envelope.content {
        Content::Message(message) => {
            out.bytes(message.label().as_bytes());
            message.encode(&mut out);
        }
        Content::Block(block) => {
            out.u8(0);
            BlockId::of(block).encode(&mut out);
            out.bytes(block.seal());
        }
    }
    out.digest()
}

/// Puts envelopes under way, in their canonical order.
pub(super) fn post(wire: &mut Vec<EnvelopeKey>, sent: &[EnvelopeKey]) {
    wire.extend_from_slice(sent);
    wire.sort_unstable();
}

/// Takes one envelope of this kind off the wire.
pub(super) fn take(wire: &mut Vec<EnvelopeKey>, envelope: EnvelopeKey) {
    if let Some(place) = wire.iter().position(|under_way| *under_way == envelope) {
        wire.remove(place);
    }
}
