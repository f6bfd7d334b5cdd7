//! Model checking of the protocols' own step functions with `stateright`: every order of messages, timers and crashes
//! within bounds.
//!
//! A model's state has its replicas and the messages in flight as indices into a [`TransitionTable`], as SPIN's
//! collapse compression does: replicas are in few states of their own, and a model's states are combinations of them.
//! So each (replica's state, input) pair is stepped once, and a million states fit in memory.
//!
//! Effects are carried out by the same dispatch as in the simulator. The network is unordered. A message is delivered
//! at most once, at any time or never: that covers loss, delay and reordering. A disk write is done at once, or, where
//! [`TransitionTable::step_cut`] is asked to, a crash comes before it: after any number of the input's earlier writes.

use core::{convert::Infallible, hash};
use std::{
    collections::{BTreeSet, VecDeque},
    sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use super::{
    ApplyRecords, BlockId, BuildRequest, ChainEvent, ConsensusMessage, Deadline, Encoder, Event, Evidence, Protocol,
    Recipients, Record, Records, Rejection, ReplicaId, Ticket, TimerId, Verdict,
    effect_handler::{Durability, EffectHandler, Outbox, carry_out, persisted},
    mutation::{self, Mutation},
    testing::{Content, Envelope, build, receivers},
};
use crate::{
    chain::Block,
    primitives::{B256, maps::LookupMap},
};

/// The parts of a model that depend on the protocol.
pub(super) trait Setup: Send + Sync + 'static {
    /// The real state machine.
    type Protocol: Protocol + 'static;
    /// The part of a replica's state that the properties read.
    type View: Send + Sync + 'static;

    /// Whether replicas crash, so that their records are part of their state.
    const CRASHES: bool;

    /// Whether a block is built as soon as it is requested.
    const BUILDS_AT_ONCE: bool;

    /// Returns the number of replicas, including those whose messages the model makes itself.
    fn count(&self) -> u32;

    /// Returns whether this replica runs the protocol; the model makes the messages of the others.
    fn is_stepped(&self, number: u32) -> bool;

    /// The replica at genesis, or after a crash.
    fn recover(&self, number: u32, records: &Records) -> Self::Protocol;

    /// Normalises values without effect, such as tickets between two writes.
    fn normalize(&self, replica: &mut Replica<Self::Protocol>);

    fn view(&self, replica: &Replica<Self::Protocol>) -> Self::View;

    /// Returns the verdict on a block.
    fn judge(&self, _block: &Block) -> Verdict {
        Verdict::VALID
    }

    /// Returns whether the network loses every envelope with this content.
    fn is_lost(&self, _content: &Content) -> bool {
        false
    }

    /// Commands that a replica takes just before it builds a block.
    fn commands_before_build(&self, _replica: &Replica<Self::Protocol>) -> Vec<Event> {
        Vec::new()
    }

    /// The events of [`Input::Act`].
    fn act(&self, _replica: &Replica<Self::Protocol>) -> Vec<Event> {
        Vec::new()
    }

    /// Returns whether delivery changes nothing, now or later.
    fn is_dead(&self, view: &Self::View, content: &Content) -> bool;
}

/// One replica: its protocol, its disk, its timers and pending requests.
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

/// An envelope, by its number in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct EnvelopeKey(u32);

/// An input of a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Input {
    Deliver(EnvelopeKey),
    /// A timer that runs fires.
    Timer(TimerId),
    /// The requested block is built.
    Build,
    /// An input that the protocol's own model defines: several events in one step.
    Act,
    /// A crash and an immediate restart: a replica that is down behaves as a slow one.
    Restart,
}

/// The result of a step.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    pub(super) replica: ReplicaKey,
    pub(super) sent: Arc<[EnvelopeKey]>,
}

/// All replica states and envelopes of the exploration so far, with the transitions between them.
pub(super) struct TransitionTable<S: Setup> {
    setup: S,
    /// A deliberate bug in every replica.
    mutation: Option<Mutation>,
    tables: RwLock<Tables<S>>,
}

/// A replica's state and the part of it that properties read.
struct Known<S: Setup> {
    replica: Arc<Replica<S::Protocol>>,
    view: Arc<S::View>,
}

/// Values by numbers, in the order in which they were first seen; equal ones have one number.
pub(super) struct Interned<K, T> {
    all: Vec<T>,
    numbers: LookupMap<K, u32>,
}

impl<K: Eq + hash::Hash, T> Interned<K, T> {
    pub(super) fn new() -> Self {
        Self { all: Vec::new(), numbers: LookupMap::default() }
    }

    /// The number of the value with this key, which is made when it is new.
    pub(super) fn number(&mut self, key: K, make: impl FnOnce() -> T) -> u32 {
        let next = self.all.len() as u32;
        let number = *self.numbers.entry(key).or_insert(next);
        if number == next {
            self.all.push(make());
        }
        number
    }

    pub(super) fn get(&self, number: u32) -> &T {
        &self.all[number as usize]
    }
}

struct Tables<S: Setup> {
    /// By their digests, as the envelopes.
    replicas: Interned<B256, Known<S>>,
    envelopes: Interned<B256, Arc<Envelope>>,
    /// Every block that was executed.
    blocks: LookupMap<B256, Arc<Block>>,
    outcomes: LookupMap<(ReplicaKey, Input, Option<u8>), Option<Outcome>>,
}

impl<S: Setup> TransitionTable<S> {
    pub(super) fn new(setup: S, mutation: Option<Mutation>) -> Self {
        let tables = Tables {
            replicas: Interned::new(),
            envelopes: Interned::new(),
            blocks: LookupMap::default(),
            outcomes: LookupMap::default(),
        };
        Self { setup, mutation, tables: RwLock::new(tables) }
    }

    pub(super) const fn setup(&self) -> &S {
        &self.setup
    }

    /// A replica at genesis, started.
    pub(super) fn first(&self, number: u32) -> ReplicaKey {
        let records = Records::new();
        let mut replica = self.started(number, &records);
        self.setup.normalize(&mut replica);
        self.tables_mut().replica_key(&self.setup, replica)
    }

    pub(super) fn replica(&self, key: ReplicaKey) -> Arc<Replica<S::Protocol>> {
        self.tables().replicas.get(key.0).replica.clone()
    }

    pub(super) fn view(&self, key: ReplicaKey) -> Arc<S::View> {
        self.tables().replicas.get(key.0).view.clone()
    }

    pub(super) fn views<const N: usize>(&self, keys: [ReplicaKey; N]) -> [Arc<S::View>; N] {
        let tables = self.tables();
        keys.map(|key| tables.replicas.get(key.0).view.clone())
    }

    /// Returns the number of an envelope that the model itself sends.
    pub(super) fn envelope_key(&self, envelope: Envelope) -> EnvelopeKey {
        self.tables_mut().envelope_key(envelope)
    }

    pub(super) fn envelope(&self, key: EnvelopeKey) -> Arc<Envelope> {
        self.tables().envelopes.get(key.0).clone()
    }

    /// Returns the number of states of single replicas, and of protocol steps.
    pub(super) fn sizes(&self) -> (usize, usize) {
        let tables = self.tables();
        (tables.replicas.all.len(), tables.outcomes.len())
    }

    /// Steps a replica by an input. `torn`: it crashes before the first write that follows is durable, and restarts; `None`
    /// when nothing is written.
    pub(super) fn step(&self, key: ReplicaKey, input: Input, torn: bool) -> Option<Outcome> {
        self.step_cut(key, input, torn.then_some(0))
    }

    /// Steps a replica by an input. With `cut`, it crashes when so many of the input's writes are durable, in their order, and
    /// restarts; `None` when there are no more writes than that.
    pub(super) fn step_cut(&self, key: ReplicaKey, input: Input, cut: Option<u8>) -> Option<Outcome> {
        if let Some(known) = self.tables().outcomes.get(&(key, input, cut)) {
            return known.clone();
        }
        let before = self.replica(key);
        // The checker runs on other threads than the test: a mutation is enabled for the step alone.
        let computed = match self.mutation {
            Some(mutation) => mutation::with(mutation, || self.compute(&before, input, cut)),
            None => self.compute(&before, input, cut),
        };
        let outcome = computed.map(|(replica, sent)| {
            let mut tables = self.tables_mut();
            let sent = sent.into_iter().map(|envelope| tables.envelope_key(envelope)).collect();
            Outcome { replica: tables.replica_key(&self.setup, replica), sent }
        });
        self.tables_mut().outcomes.insert((key, input, cut), outcome.clone());
        outcome
    }

    /// Removes the envelopes that can no longer change the replica that they are sent to.
    pub(super) fn forget_dead(&self, replicas: &[ReplicaKey], wire: &mut Vec<EnvelopeKey>) {
        let tables = self.tables();
        wire.retain(|envelope| {
            let Envelope { to, content, .. } = tables.envelopes.get(envelope.0).as_ref();
            let mut known = replicas.iter().map(|key| tables.replicas.get(key.0));
            let receiver = known.find(|known| known.replica.number == to.get());
            receiver.is_none_or(|receiver| !self.setup.is_dead(&receiver.view, content))
        });
    }

    fn tables(&self) -> RwLockReadGuard<'_, Tables<S>> {
        self.tables.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known is read by all threads beside each other.
    fn tables_mut(&self) -> RwLockWriteGuard<'_, Tables<S>> {
        self.tables.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn started(&self, number: u32, records: &Records) -> Replica<S::Protocol> {
        let protocol = self.setup.recover(number, records);
        let (armed, records) = (BTreeSet::new(), records.clone());
        let replica = Replica { number, protocol, records, armed, wanted: None };
        let mut driver = Driver::new(self, replica);
        driver.run([Event::Start]);
        assert!(driver.sent.is_empty() && driver.outbox.is_empty(), "a start that sends is not modelled");
        driver.replica
    }

    fn compute(
        &self,
        before: &Replica<S::Protocol>,
        input: Input,
        cut: Option<u8>,
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
            Input::Build => self.setup.commands_before_build(before),
        };
        let mut driver = Driver { is_disk_slow: cut.is_some(), ..Driver::new(self, replica) };
        driver.run(events);
        if input == Input::Build {
            let request = driver.replica.wanted.take()?;
            driver.run([Event::BlockBuilt { ticket: request.ticket, block: Arc::new(build(&request)) }]);
        }
        if let Some(writes) = cut {
            (0..writes).for_each(|_| driver.finish_write());
            if driver.unsynced.is_empty() {
                return None;
            }
            let mut replica = self.started(before.number, &driver.replica.records);
            self.setup.normalize(&mut replica);
            return Some((replica, driver.sent));
        }
        let Driver { mut replica, sent, outbox, .. } = driver;
        assert!(outbox.is_empty(), "a message held between two inputs is not modelled");
        self.setup.normalize(&mut replica);
        Some((replica, sent))
    }
}

/// Carries out the effects of one input.
struct Driver<'a, S: Setup> {
    table: &'a TransitionTable<S>,
    replica: Replica<S::Protocol>,
    outbox: Outbox,
    sent: Vec<Envelope>,
    /// Whether writes wait for [`Self::finish_write`].
    is_disk_slow: bool,
    unsynced: VecDeque<(Ticket, Vec<Record>)>,
}

impl<'a, S: Setup> Driver<'a, S> {
    fn new(table: &'a TransitionTable<S>, replica: Replica<S::Protocol>) -> Self {
        let (outbox, unsynced) = (Outbox::default(), VecDeque::new());
        Self { table, replica, outbox, sent: Vec::new(), is_disk_slow: false, unsynced }
    }

    /// Steps the protocol by events and everything that follows here and now.
    fn run(&mut self, events: impl IntoIterator<Item = Event>) {
        let mut inbox: VecDeque<_> = events.into_iter().collect();
        while let Some(event) = inbox.pop_front() {
            let mut effects = Vec::new();
            self.replica.protocol.step(event, &mut effects);
            for effect in effects {
                let Ok(()) = carry_out(effect, self, &mut inbox);
            }
        }
    }

    /// Makes the oldest write of a slow disk durable.
    fn finish_write(&mut self) {
        if let Some((ticket, records)) = self.unsynced.pop_front() {
            self.replica.records.apply(records);
            let event = persisted(ticket, self);
            self.run([event]);
        }
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

    fn persist(&mut self, ticket: Ticket, records: Vec<Record>) -> Durability {
        if self.is_disk_slow {
            self.unsynced.push_back((ticket, records));
            return Durability::Later;
        }
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
        let verdict = self.table.setup.judge(&block);
        if matches!(verdict, Verdict::Valid { .. }) {
            self.table.tables_mut().blocks.insert(block.hash(), block);
        }
        Ok(Some(verdict))
    }

    /// A draw only delays a timer, which may fire at any time here.
    fn draw(&mut self, _bound: u64) -> u64 {
        0
    }

    /// Every peer has every block that is requested by its hash; the response may be lost.
    fn fetch(&mut self, block: BlockId, from: ReplicaId) -> Option<Arc<Block>> {
        if block.hash.is_zero() {
            return None;
        }
        let block = self.table.tables().blocks.get(&block.hash).expect("a block that was executed").clone();
        self.sent.push(Envelope { from, to: self.id(), content: Content::Block(block) });
        None
    }

    fn stored(&mut self, block: BlockId) -> Option<Arc<Block>> {
        self.table.tables().blocks.get(&block.hash).cloned()
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
        let known = |replica| Known { view: Arc::new(setup.view(&replica)), replica: Arc::new(replica) };
        ReplicaKey(self.replicas.number(replica.digest(), || known(replica)))
    }

    fn envelope_key(&mut self, envelope: Envelope) -> EnvelopeKey {
        EnvelopeKey(self.envelopes.number(digest(&envelope), || Arc::new(envelope)))
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
            out.bytes(block.payload());
        }
    }
    out.digest()
}

/// Adds envelopes to those in flight, in their canonical order.
pub(super) fn post(wire: &mut Vec<EnvelopeKey>, sent: &[EnvelopeKey]) {
    wire.extend_from_slice(sent);
    wire.sort_unstable();
}

/// Removes one envelope of this kind from those in flight.
pub(super) fn take(wire: &mut Vec<EnvelopeKey>, envelope: EnvelopeKey) {
    if let Some(place) = wire.iter().position(|under_way| *under_way == envelope) {
        wire.remove(place);
    }
}

/// Checks the number of states of a whole exploration, which `docs/model-checking.md` has too. It is the number of states that the model reaches within
/// its bounds: the order in which they are found does not matter.
pub(super) fn assert_states(got: usize, want: usize) {
    assert_eq!(
        got, want,
        "the protocol or the model has changed: if it was meant to, docs/model-checking.md has to follow"
    );
    let cell = format!("| {} |", grouped(want));
    assert!(include_str!("../../docs/model-checking.md").contains(&cell), "docs/model-checking.md has no {cell}");
}

/// Returns a number with a comma before every three digits, as in the documents.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[test]
fn numbers_are_grouped_as_in_the_documents() {
    let written = [7, 999, 1_000, 24_420, 1_433_113].map(grouped);
    assert_eq!(written, ["7", "999", "1,000", "24,420", "1,433,113"]);
}
