//! Model checking of the protocols' own step functions with `stateright`: every order of messages, timers and crashes
//! within bounds.
//!
//! A model's state names its replicas and the messages under way by numbers into the tables of a [`World`], as SPIN's
//! collapse compression does: replicas are in few states of their own, and a model's states are combinations of them.
//! So each (replica's state, input) pair is stepped once, and a million states fit in memory.
//!
//! The network is unordered. A message is delivered at most once, at any time or never: that covers loss, delay and
//! reordering. A disk write is done at once, or, where [`World::step`] is told so, a crash comes before it.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{
    BlockId, BuildRequest, ChainEvent, Effect, Encoder, Event, Message, Protocol, Recipients, Records, ReplicaId,
    TimerId, Verdict,
    mutation::{self, Mutation},
};
use crate::{
    chain::Block,
    primitives::{B256, Header, U256},
};

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

    /// Whether the network loses whatever says this.
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

/// Something under way to a replica.
#[derive(Clone, Debug)]
pub(super) struct Parcel {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) content: Content,
}

/// What is under way.
#[derive(Clone, Debug)]
pub(super) enum Content {
    Message(Message),
    /// A block that was asked for.
    Synced(Arc<Block>),
}

/// A replica's state, by its number in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ReplicaKey(u32);

/// A parcel, by its number in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ParcelKey(u32);

/// What can happen to a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Input {
    Deliver(ParcelKey),
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
    pub(super) sent: Arc<[ParcelKey]>,
}

/// Every replica's state and every parcel that the exploration came across, and what led where.
pub(super) struct World<S: Setup> {
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
    parcels: Vec<Arc<Parcel>>,
    parcel_keys: HashMap<B256, ParcelKey>,
    /// Every block that was executed.
    blocks: HashMap<B256, Arc<Block>>,
    outcomes: HashMap<(ReplicaKey, Input, bool), Option<Outcome>>,
}

impl<S: Setup> World<S> {
    pub(super) fn new(setup: S, mutation: Option<Mutation>) -> Self {
        let tables = Tables {
            replicas: Vec::new(),
            replica_keys: HashMap::new(),
            parcels: Vec::new(),
            parcel_keys: HashMap::new(),
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

    /// The number of a parcel that the model itself puts under way.
    pub(super) fn parcel_key(&self, parcel: Parcel) -> ParcelKey {
        self.tables().parcel_key(parcel)
    }

    pub(super) fn parcel(&self, key: ParcelKey) -> Arc<Parcel> {
        self.tables().parcels[key.0 as usize].clone()
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
            let sent = sent.into_iter().map(|parcel| tables.parcel_key(parcel)).collect();
            Outcome { replica: tables.replica_key(&self.setup, replica), sent }
        });
        self.tables().outcomes.insert((key, input, torn), outcome.clone());
        outcome
    }

    /// Takes away what no longer matters to `key` from the parcels to its replica.
    pub(super) fn forget_dead(&self, key: ReplicaKey, wire: &mut Vec<ParcelKey>) {
        let tables = self.tables();
        let Known { replica, view } = &tables.replicas[key.0 as usize];
        wire.retain(|parcel| {
            let Parcel { to, content, .. } = tables.parcels[parcel.0 as usize].as_ref();
            *to != replica.number || !self.setup.is_dead(view, content)
        });
    }

    fn tables(&self) -> MutexGuard<'_, Tables<S>> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn started(&self, number: u32, records: &Records) -> Replica<S::Protocol> {
        let protocol = self.setup.recover(number, records);
        let (armed, records) = (BTreeSet::new(), records.clone());
        let mut replica = Replica { number, protocol, records, armed, wanted: None };
        let (mut effects, mut sent) = (Vec::new(), Vec::new());
        replica.protocol.step(Event::Start, &mut effects);
        let mut inbox = VecDeque::new();
        for effect in effects {
            self.carry_out(&mut replica, effect, &mut inbox, &mut sent);
        }
        assert!(inbox.is_empty() && sent.is_empty(), "a start that does something is not modelled");
        replica
    }

    fn compute(
        &self,
        before: &Replica<S::Protocol>,
        input: Input,
        torn: bool,
    ) -> Option<(Replica<S::Protocol>, Vec<Parcel>)> {
        let mut replica = before.clone();
        let events = match input {
            Input::Restart => {
                let mut replica = self.started(before.number, &before.records);
                self.setup.normalize(&mut replica);
                return Some((replica, Vec::new()));
            }
            Input::Deliver(key) => {
                let Parcel { from, content, .. } = self.parcel(key).as_ref().clone();
                let from = ReplicaId::new(from);
                vec![match content {
                    Content::Message(message) => Event::Message { from, message },
                    Content::Synced(block) => Event::BlockSynced { from, block },
                }]
            }
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
        let mut sent = Vec::new();
        let mut inbox = VecDeque::from(events);
        while let Some(event) = inbox.pop_front() {
            let mut effects = Vec::new();
            replica.protocol.step(event, &mut effects);
            let is_writing = effects.iter().any(|effect| matches!(effect, Effect::Persist { .. }));
            for effect in effects {
                let waits = matches!(effect, Effect::Send { after: Some(_), .. } | Effect::Persist { .. });
                if !(torn && is_writing && waits) {
                    self.carry_out(&mut replica, effect, &mut inbox, &mut sent);
                }
            }
            if torn && is_writing {
                // What an earlier write of the same input made durable stays.
                let mut replica = self.started(before.number, &replica.records);
                self.setup.normalize(&mut replica);
                return Some((replica, sent));
            }
        }
        self.setup.normalize(&mut replica);
        (!torn).then_some((replica, sent))
    }

    fn carry_out(
        &self,
        replica: &mut Replica<S::Protocol>,
        effect: Effect,
        inbox: &mut VecDeque<Event>,
        sent: &mut Vec<Parcel>,
    ) {
        match effect {
            Effect::Send { to, message, .. } => {
                let to: Vec<_> = match to {
                    Recipients::Others => (0..self.setup.count()).filter(|to| *to != replica.number).collect(),
                    Recipients::One(one) => vec![one.get()],
                };
                let content = Content::Message(message);
                if self.setup.is_lost(&content) {
                    return;
                }
                let stepped = to.into_iter().filter(|to| self.setup.is_stepped(*to));
                sent.extend(stepped.map(|to| Parcel { from: replica.number, to, content: content.clone() }));
            }
            Effect::ArmTimer { timer, .. } => drop(replica.armed.insert(timer)),
            Effect::DisarmTimer(timer) => drop(replica.armed.remove(&timer)),
            Effect::Persist { ticket, records } => {
                if S::CRASHES {
                    replica.records.extend(records.into_iter().map(|record| (record.key, record.value)));
                }
                inbox.push_back(Event::Persisted(ticket));
            }
            Effect::Build(request) if S::BUILDS_AT_ONCE => {
                inbox.push_back(Event::BlockBuilt { ticket: request.ticket, block: Arc::new(build(&request)) });
            }
            Effect::Build(request) => replica.wanted = Some(request),
            Effect::CancelBuild => replica.wanted = None,
            Effect::Validate { block } => {
                self.tables().blocks.insert(block.hash(), block.clone());
                inbox.push_back(Event::BlockJudged { block: BlockId::of(&block), verdict: Verdict::VALID });
            }
            // What was drawn only says when a timer fires, and here it fires at any time.
            Effect::Draw { ticket, .. } => inbox.push_back(Event::Random { ticket, value: 0 }),
            // Whoever is asked has it; the answer may be lost as everything else.
            Effect::Fetch { block, from } => {
                let block = self.tables().blocks.get(&block.hash).expect("a block that somebody executed").clone();
                sent.push(Parcel { from: from.get(), to: replica.number, content: Content::Synced(block) });
            }
            Effect::Chain(ChainEvent::HeadMoved { reorg_depth, .. }) => assert_eq!(reorg_depth, 0),
            Effect::Chain(_) | Effect::Evidence(_) | Effect::Reject(_) | Effect::Mark(_) => {}
        }
    }
}

/// The block that every builder makes of this request: nothing is executed, and nothing but the request counts.
pub(super) fn build(request: &BuildRequest) -> Block {
    let header = Header {
        parent_hash: request.parent.hash,
        number: request.parent.height.get() + 1,
        timestamp: request.timestamp_min.as_secs(),
        beneficiary: request.beneficiary,
        difficulty: U256::from(request.difficulty),
        mix_hash: request.mix_hash,
        extra_data: Block::extra_data_of(&request.payload).unwrap_or_default(),
        ..Header::default()
    };
    Block::new(header, Vec::new(), request.payload.clone(), Vec::new())
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

    fn parcel_key(&mut self, parcel: Parcel) -> ParcelKey {
        let next = ParcelKey(self.parcels.len() as u32);
        let key = *self.parcel_keys.entry(parcel.digest()).or_insert(next);
        if key == next {
            self.parcels.push(Arc::new(parcel));
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

impl Parcel {
    fn digest(&self) -> B256 {
        let mut out = Encoder::new();
        out.u32(self.from);
        out.u32(self.to);
        match &self.content {
            Content::Message(message) => {
                out.bytes(message.label().as_bytes());
                message.encode(&mut out);
            }
            Content::Synced(block) => {
                out.u8(0);
                BlockId::of(block).encode(&mut out);
                out.bytes(block.seal());
            }
        }
        out.digest()
    }
}

/// Puts parcels under way, in their canonical order.
pub(super) fn post(wire: &mut Vec<ParcelKey>, sent: &[ParcelKey]) {
    wire.extend_from_slice(sent);
    wire.sort_unstable();
}

/// Takes one parcel of this kind off the wire.
pub(super) fn take(wire: &mut Vec<ParcelKey>, parcel: ParcelKey) {
    if let Some(place) = wire.iter().position(|under_way| *under_way == parcel) {
        wire.remove(place);
    }
}
