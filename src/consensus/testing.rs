//! A test lab: replicas of one protocol, the messages between them, their disks, timers and chains, without a simulator.
//!
//! Effects are carried out by the same dispatch as in the simulator. Blocks are never executed: each is valid that the
//! fixture does not refuse, with the updates of [`Lab::updates`]. Time, loss and order are the test's: nothing is delivered and no timer fires unless the
//! test, or a helper that it calls, does it. No two replicas may hold different blocks of one height for final; with
//! [`Fixture::CHECKS_STEPS`], a clone must also take the same way in every step, and refused input change nothing.
//!
//! What is particular to a protocol is in its [`Fixture`]. This module comes with the feature `internals`.

use core::{convert::Infallible, fmt::Debug};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

use super::{
    ApplyRecords, Authenticator, BlockId, BuildRequest, ChainEvent, ConsensusMessage, Deadline, Effect, Event,
    Evidence, Protocol, Recipients, Record, Records, Rejection, ReplicaId, Signer, Ticket, TimerId, Verdict,
    effect_handler::{Durability, EffectHandler, Outbox, carry_out, persisted},
};
use crate::{
    chain::Block,
    primitives::{B256, Bytes, Header, Height, U256},
    system::ValidatorUpdates,
};

/// Messages that one [`Lab::settle`] delivers at most.
const DELIVERIES_MAX: usize = 20_000;

/// What a lab must know of a protocol. All but [`Self::recover`] has a default.
pub trait Fixture: Clone + Debug + Sized {
    /// The protocol under test.
    type Protocol: Protocol;

    /// Whether a block that is asked for comes at once. If not, it is queued as messages are.
    const FETCHES_AT_ONCE: bool = true;

    /// Whether each step is made twice and compared, and refused input compared with the state before: about eight
    /// times the cost.
    const CHECKS_STEPS: bool = false;

    /// Returns a replica as it is after a restart from `records`.
    fn recover(lab: &Lab<Self>, index: usize, records: &Records) -> Self::Protocol;

    /// Returns a replica at genesis.
    fn start(lab: &Lab<Self>, index: usize) -> Self::Protocol {
        Self::recover(lab, index, &Records::new())
    }

    /// Builds a block at once. `None`: the request stays in [`Node::wanted`].
    fn build(_lab: &mut Lab<Self>, _index: usize, _request: &BuildRequest) -> Option<Block> {
        None
    }

    /// Returns why a replica's chain refuses a block; `None` when it is valid.
    fn judge(_lab: &Lab<Self>, _index: usize, _block: &Block) -> Option<String> {
        None
    }

    /// Returns what `peer` answers to a request for a block that it has; `None` for nothing.
    fn answer(_lab: &Lab<Self>, _peer: usize, block: Arc<Block>) -> Option<Arc<Block>> {
        Some(block)
    }

    /// Inspects a message when it is sent.
    fn on_send(_lab: &mut Lab<Self>, _index: usize, _to: Recipients, _message: &ConsensusMessage) {}

    /// Inspects a replica's move from one head to another; after a restart they are the same. Its canonical chain is
    /// up to date.
    fn on_head(_lab: &mut Lab<Self>, _index: usize, _old: BlockId, _new: BlockId) {}

    /// Inspects a replica after each step.
    fn after_step(_lab: &mut Lab<Self>, _index: usize) {}

    /// Acts after each delivery from the queue, such as firing timers that are due.
    fn after_delivery(_lab: &mut Lab<Self>) {}
}

/// Something under way from one replica to another.
#[derive(Clone, Debug)]
pub struct Envelope {
    /// The sender, as the receiver sees it.
    pub from: ReplicaId,
    /// The receiver.
    pub to: ReplicaId,
    /// What is under way.
    pub content: Content,
}

/// What is in an [`Envelope`].
#[derive(Clone, Debug)]
pub enum Content {
    /// A message.
    Message(ConsensusMessage),
    /// A block that the receiver asked for.
    Block(Arc<Block>),
}

impl Envelope {
    /// An envelope with a message.
    pub const fn message(from: ReplicaId, to: ReplicaId, message: ConsensusMessage) -> Self {
        Self { from, to, content: Content::Message(message) }
    }

    /// The event of its arrival.
    pub fn into_event(self) -> Event {
        let from = self.from;
        match self.content {
            Content::Message(message) => Event::Message { from, message },
            Content::Block(block) => Event::BlockSynced { from, block },
        }
    }
}

/// One replica with its surroundings.
#[derive(Clone, Debug)]
pub struct Node<P> {
    /// The state machine.
    pub protocol: P,
    /// Whether the process runs; one that does not takes no events.
    pub is_up: bool,
    /// Whether the checks leave it out, because it lies.
    pub is_faulty: bool,
    /// Whether writes wait for [`Lab::flush`].
    pub has_slow_disk: bool,
    /// Durable records.
    pub records: Records,
    /// Every durable write, in order.
    pub writes: Vec<Vec<Record>>,
    unsynced: VecDeque<(Ticket, Vec<Record>)>,
    outbox: Outbox,
    /// Running timers.
    pub timers: BTreeMap<TimerId, Deadline>,
    /// The block that it waits for.
    pub wanted: Option<BuildRequest>,
    /// Blocks that it executed, each with its newest seal, and genesis.
    pub blocks: BTreeMap<B256, Arc<Block>>,
    /// Its chain, from genesis to its head.
    pub canonical: BTreeMap<Height, BlockId>,
    /// What happened to its chain, in order.
    pub chain_events: Vec<ChainEvent>,
    /// How often each named point of coverage was passed.
    pub marks: BTreeMap<&'static str, u64>,
}

/// A safety property that did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Its name.
    pub property: &'static str,
    /// The height, or the slot for properties of slots.
    pub at: u64,
    /// The blocks that contradict each other; zero where the property has none.
    pub blocks: [B256; 2],
}

/// Replicas of one protocol and everything between them.
#[derive(Clone, Debug)]
pub struct Lab<F: Fixture> {
    /// What is particular to the protocol.
    pub fixture: F,
    /// The block at height 0.
    pub genesis: Arc<Block>,
    /// Verifies seals.
    pub authenticator: Authenticator,
    /// The key of each replica.
    pub signers: Vec<Signer>,
    /// The replicas.
    pub nodes: Vec<Node<F::Protocol>>,
    /// Under way, oldest first.
    pub queue: VecDeque<Envelope>,
    /// The group of each replica; messages between groups are lost on delivery.
    pub groups: Vec<usize>,
    /// Links (from, to) that lose everything.
    pub cut: BTreeSet<(usize, usize)>,
    /// Labels of messages that are lost on delivery, by receiver.
    pub lost_labels: Vec<Vec<&'static str>>,
    /// What executing the block at a height changes in the set of validators, on every branch.
    pub updates: BTreeMap<Height, ValidatorUpdates>,
    /// Refused inputs with the replica that refused, in order.
    pub rejections: Vec<(usize, Rejection)>,
    /// Proofs of misbehaviour with the replica that found them, in order.
    pub evidence: Vec<(usize, Evidence)>,
    /// Properties that did not hold, each once.
    pub violations: Vec<Violation>,
    /// The first block seen by [`Self::check_agreement`], by its arguments.
    agreed: BTreeMap<(&'static str, u64, Height), B256>,
}

impl<F: Fixture> Lab<F> {
    /// Makes a replica at genesis for each signer, and starts them.
    pub fn assemble(fixture: F, genesis: Block, authenticator: Authenticator, signers: Vec<Signer>) -> Self {
        let (count, genesis) = (signers.len(), Arc::new(genesis));
        let mut lab = Self {
            fixture,
            genesis,
            authenticator,
            signers,
            nodes: Vec::new(),
            queue: VecDeque::new(),
            groups: vec![0; count],
            cut: BTreeSet::new(),
            lost_labels: vec![Vec::new(); count],
            updates: BTreeMap::new(),
            rejections: Vec::new(),
            evidence: Vec::new(),
            violations: Vec::new(),
            agreed: BTreeMap::new(),
        };
        lab.nodes = (0..count).map(|index| Node::new(F::start(&lab, index), &lab.genesis)).collect();
        (0..count).for_each(|index| lab.deliver(index, Event::Start));
        lab
    }

    /// The state machine of a replica.
    pub fn replica(&self, index: usize) -> &F::Protocol {
        &self.nodes[index].protocol
    }

    /// The state machine of a replica, to be stepped or changed behind the lab's back.
    pub fn replica_mut(&mut self, index: usize) -> &mut F::Protocol {
        &mut self.nodes[index].protocol
    }

    /// All state machines, in order.
    pub fn replicas(&self) -> impl DoubleEndedIterator<Item = &F::Protocol> + ExactSizeIterator {
        self.nodes.iter().map(|node| &node.protocol)
    }

    /// How often a named point of coverage was passed, by all replicas together.
    pub fn mark(&self, name: &str) -> u64 {
        self.nodes.iter().filter_map(|node| node.marks.get(name)).sum()
    }

    /// What a replica refused, in order.
    pub fn rejections_of(&self, index: usize) -> impl DoubleEndedIterator<Item = &Rejection> {
        self.rejections.iter().filter(move |(by, _)| *by == index).map(|(_, rejection)| rejection)
    }

    /// The canonical block of a replica at `height`, as it executed it.
    ///
    /// # Panics
    /// When its chain has none.
    pub fn canonical(&self, index: usize, height: u64) -> Arc<Block> {
        let node = &self.nodes[index];
        node.blocks[&node.canonical[&Height::new(height)].hash].clone()
    }

    /// Delivers an event to a replica that is up, and carries out everything that follows here and now.
    pub fn deliver(&mut self, index: usize, event: Event) {
        let mut inbox = VecDeque::from([event]);
        while let Some(event) = inbox.pop_front() {
            if !self.nodes[index].is_up {
                return;
            }
            for effect in self.step(index, event) {
                let Ok(()) = carry_out(effect, &mut Driver { lab: self, index }, &mut inbox);
            }
            F::after_step(self, index);
        }
    }

    /// Steps a state machine, with the checks of [`Fixture::CHECKS_STEPS`].
    fn step(&mut self, index: usize, event: Event) -> Vec<Effect> {
        let (protocol, mut effects) = (&mut self.nodes[index].protocol, Vec::new());
        if !F::CHECKS_STEPS {
            protocol.step(event, &mut effects);
            return effects;
        }
        let (before, mut twin) = (protocol.clone(), protocol.clone());
        protocol.step(event.clone(), &mut effects);
        twin.step(event, &mut Vec::new());
        assert_eq!(twin, *protocol, "a clone went another way");
        if effects.iter().any(|effect| matches!(effect, Effect::Reject(_))) {
            assert_eq!(before, *protocol, "refused input changed the state: {effects:?}");
        }
        effects
    }

    /// Whether what `from` sends now would reach `to`, if that is up.
    pub fn is_linked(&self, from: usize, to: usize) -> bool {
        self.groups[from] == self.groups[to] && !self.cut.contains(&(from, to))
    }

    /// Puts a replica into a group of its own.
    pub fn isolate(&mut self, index: usize) {
        self.groups[index] = index + 1;
    }

    /// Whether a replica is in another group than at first.
    pub fn is_isolated(&self, index: usize) -> bool {
        self.groups[index] != 0
    }

    /// Puts a replica back into the group of those that were never isolated.
    pub fn reconnect(&mut self, index: usize) {
        self.groups[index] = 0;
    }

    /// Links all replicas again.
    pub fn heal(&mut self) {
        self.groups.fill(0);
        self.cut.clear();
    }

    /// Delivers what is under way at this place of the queue, unless it is lost.
    pub fn deliver_at(&mut self, place: usize) {
        if let Some(envelope) = self.queue.remove(place) {
            self.transmit(envelope);
        }
    }

    /// Delivers an envelope, unless it is lost.
    pub fn transmit(&mut self, envelope: Envelope) {
        let (from, to) = (envelope.from.index(), envelope.to.index());
        let is_lost_label = match &envelope.content {
            Content::Message(message) => self.lost_labels[to].contains(&message.label()),
            Content::Block(_) => false,
        };
        if self.is_linked(from, to) && !is_lost_label {
            self.deliver(to, envelope.into_event());
            F::after_delivery(self);
        }
    }

    /// Delivers everything, in order, until nothing is under way.
    ///
    /// # Panics
    /// When that takes more than 20,000 deliveries.
    pub fn settle(&mut self) {
        for _ in 0..DELIVERIES_MAX {
            if self.queue.is_empty() {
                return;
            }
            self.deliver_at(0);
        }
        panic!("messages never end");
    }

    /// Fires a timer if it runs.
    pub fn fire(&mut self, index: usize, timer: TimerId) {
        let node = &mut self.nodes[index];
        if node.is_up && node.timers.remove(&timer).is_some() {
            self.deliver(index, Event::Timer(timer));
        }
    }

    /// Builds the block that a replica waits for; nothing is delivered.
    pub fn complete_build(&mut self, index: usize) -> Option<BlockId> {
        let request = self.nodes[index].wanted.take()?;
        let block = Arc::new(build(&request));
        self.deliver(index, Event::BlockBuilt { ticket: request.ticket, block: block.clone() });
        Some(BlockId::of(&block))
    }

    /// Makes all writes of a slow disk durable.
    pub fn flush(&mut self, index: usize) {
        let mut events = Vec::new();
        for (ticket, records) in core::mem::take(&mut self.nodes[index].unsynced) {
            self.nodes[index].write(records);
            events.push(persisted(ticket, &mut Driver { lab: self, index }));
        }
        events.into_iter().for_each(|event| self.deliver(index, event));
    }

    /// Makes the oldest write of a slow disk durable.
    pub fn flush_one(&mut self, index: usize) {
        let Some((ticket, records)) = self.nodes[index].unsynced.pop_front() else { return };
        self.nodes[index].write(records);
        let event = persisted(ticket, &mut Driver { lab: self, index });
        self.deliver(index, event);
    }

    /// Stops a replica: its timers, and what was not durable or not sent, are gone.
    pub fn stop(&mut self, index: usize) {
        let node = &mut self.nodes[index];
        node.is_up = false;
        node.timers.clear();
        node.unsynced.clear();
        node.outbox = Outbox::default();
        node.wanted = None;
    }

    /// Starts a replica from its durable records.
    pub fn restart(&mut self, index: usize) {
        self.stop(index);
        let recovered = F::recover(self, index, &self.nodes[index].records);
        let head = recovered.head();
        let node = &mut self.nodes[index];
        (node.protocol, node.is_up) = (recovered, true);
        node.canonical.clear();
        self.follow(index, head, head);
        self.deliver(index, Event::Start);
    }

    /// Notes a block that a replica holds for decided in `round`, and a violation of `property` if another one was
    /// before.
    pub fn check_agreement(&mut self, property: &'static str, round: u64, block: BlockId) -> bool {
        let first = *self.agreed.entry((property, round, block.height)).or_insert(block.hash);
        let is_agreed = first == block.hash;
        if !is_agreed {
            self.violate(property, block.height.get(), [first, block.hash]);
        }
        is_agreed
    }

    /// Notes that a property did not hold.
    pub fn violate(&mut self, property: &'static str, at: u64, blocks: [B256; 2]) {
        let violation = Violation { property, at, blocks };
        if !self.violations.contains(&violation) {
            self.violations.push(violation);
        }
    }

    /// Forgets which blocks were decided, for a test that takes decisions back.
    pub fn forget_decided(&mut self) {
        self.agreed.clear();
    }

    /// Brings a replica's canonical chain to its new head.
    fn follow(&mut self, index: usize, old: BlockId, new: BlockId) {
        let Node { canonical, blocks, .. } = &mut self.nodes[index];
        canonical.split_off(&new.height.next());
        let mut block = new;
        while canonical.insert(block.height, block) != Some(block) && block.height > Height::GENESIS {
            block = BlockId::parent_of(&blocks[&block.hash]);
        }
        F::on_head(self, index, old, new);
    }

    /// Checks that every final block of a replica is that of all others.
    fn check_finality(&mut self, index: usize, finalized: BlockId) {
        let chain = self.nodes[index].canonical.range(..=finalized.height).rev();
        // Down to the newest block that was known: what is below it was checked with it.
        let is_known = |block: &BlockId| self.agreed.get(&("finality", 0, block.height)) == Some(&block.hash);
        let new: Vec<_> = chain.map(|(_, block)| *block).take_while(|block| !is_known(block)).collect();
        for block in new.into_iter().rev() {
            self.check_agreement("finality", 0, block);
        }
    }

    /// The block that `peer` gives to one that asks for it; without a hash, its canonical one of that height.
    fn serve(&self, to: usize, peer: usize, wanted: BlockId) -> Option<Arc<Block>> {
        let node = self.nodes.get(peer).filter(|node| node.is_up)?;
        if !self.is_linked(to, peer) || !self.is_linked(peer, to) {
            return None;
        }
        let canonical = || node.canonical.get(&wanted.height).map(|block| block.hash);
        let hash = if wanted.hash.is_zero() { canonical()? } else { wanted.hash };
        node.blocks.get(&hash).cloned()
    }
}

impl<P> Node<P> {
    fn new(protocol: P, genesis: &Arc<Block>) -> Self {
        Self {
            protocol,
            is_up: true,
            is_faulty: false,
            has_slow_disk: false,
            records: Records::new(),
            writes: Vec::new(),
            unsynced: VecDeque::new(),
            outbox: Outbox::default(),
            timers: BTreeMap::new(),
            wanted: None,
            blocks: BTreeMap::from([(genesis.hash(), genesis.clone())]),
            canonical: BTreeMap::from([(Height::GENESIS, BlockId::of(genesis))]),
            chain_events: Vec::new(),
            marks: BTreeMap::new(),
        }
    }

    fn write(&mut self, records: Vec<Record>) {
        self.records.apply(records.clone());
        self.writes.push(records);
    }
}

/// Carries out the effects of one replica.
struct Driver<'a, F: Fixture> {
    lab: &'a mut Lab<F>,
    index: usize,
}

impl<F: Fixture> Driver<'_, F> {
    fn node(&mut self) -> &mut Node<F::Protocol> {
        &mut self.lab.nodes[self.index]
    }

    fn id(&self) -> ReplicaId {
        ReplicaId::new(self.index as u32)
    }
}

impl<F: Fixture> EffectHandler for Driver<'_, F> {
    type Error = Infallible;

    fn outbox(&mut self) -> &mut Outbox {
        &mut self.node().outbox
    }

    fn send(&mut self, to: Recipients, message: ConsensusMessage) {
        F::on_send(self.lab, self.index, to, &message);
        let from = self.id();
        for to in receivers(from, to, self.lab.nodes.len() as u32) {
            self.lab.queue.push_back(Envelope::message(from, to, message.clone()));
        }
    }

    fn arm_timer(&mut self, timer: TimerId, deadline: Deadline) {
        self.node().timers.insert(timer, deadline);
    }

    fn disarm_timer(&mut self, timer: TimerId) {
        self.node().timers.remove(&timer);
    }

    fn persist(&mut self, ticket: Ticket, records: Vec<Record>) -> Durability {
        let node = self.node();
        if node.has_slow_disk || !node.unsynced.is_empty() {
            node.unsynced.push_back((ticket, records));
            return Durability::Later;
        }
        node.write(records);
        Durability::Now
    }

    fn build(&mut self, request: BuildRequest) -> Result<Option<Arc<Block>>, Infallible> {
        let block = F::build(self.lab, self.index, &request).map(Arc::new);
        if block.is_none() {
            self.node().wanted = Some(request);
        }
        Ok(block)
    }

    fn cancel_build(&mut self) {
        self.node().wanted = None;
    }

    fn validate(&mut self, block: Arc<Block>) -> Result<Option<Verdict>, Infallible> {
        if let Some(reason) = F::judge(self.lab, self.index, &block) {
            return Ok(Some(Verdict::Invalid { reason }));
        }
        let updates = self.lab.updates.get(&block.height()).cloned().unwrap_or_default();
        self.node().blocks.entry(block.hash()).or_insert(block);
        Ok(Some(Verdict::Valid { updates }))
    }

    /// The least: a wait that was drawn is as short as can be.
    fn draw(&mut self, _bound: u64) -> u64 {
        0
    }

    fn fetch(&mut self, block: BlockId, from: ReplicaId) -> Option<Arc<Block>> {
        let block = self.lab.serve(self.index, from.index(), block)?;
        let block = F::answer(self.lab, from.index(), block)?;
        if F::FETCHES_AT_ONCE {
            return Some(block);
        }
        let to = self.id();
        self.lab.queue.push_back(Envelope { from, to, content: Content::Block(block) });
        None
    }

    fn stored(&mut self, block: BlockId) -> Option<Arc<Block>> {
        self.node().blocks.get(&block.hash).cloned()
    }

    fn on_chain_event(&mut self, event: ChainEvent) -> Result<Option<Event>, Infallible> {
        self.node().chain_events.push(event.clone());
        match event {
            ChainEvent::Sealed { block, seal } => {
                let blocks = &mut self.node().blocks;
                let resealed = blocks[&block.hash].as_ref().clone().with_seal(seal);
                blocks.insert(block.hash, Arc::new(resealed));
            }
            ChainEvent::HeadMoved { old, new, .. } => self.lab.follow(self.index, old, new),
            ChainEvent::Final { finality, .. } if !self.node().is_faulty => {
                self.lab.check_finality(self.index, finality.finalized);
            }
            _ => {}
        }
        Ok(None)
    }

    fn on_evidence(&mut self, evidence: Evidence) {
        self.lab.evidence.push((self.index, evidence));
    }

    fn on_rejection(&mut self, rejection: Rejection) {
        self.lab.rejections.push((self.index, rejection));
    }

    fn on_mark(&mut self, name: &'static str) {
        *self.node().marks.entry(name).or_default() += 1;
    }
}

/// A genesis block at time `timestamp`, in seconds.
pub fn genesis(timestamp: u64) -> Block {
    Block::new(Header { timestamp, ..Header::default() }, Vec::new(), Bytes::new(), Vec::new())
}

/// The block that follows from a request alone: empty, at the earliest time.
pub fn build(request: &BuildRequest) -> Block {
    let header = Header {
        parent_hash: request.parent.hash,
        number: request.parent.height.get() + 1,
        timestamp: request.timestamp_min.as_secs(),
        beneficiary: request.beneficiary,
        difficulty: U256::from(request.difficulty),
        mix_hash: request.mix_hash,
        nonce: request.nonce,
        extra_data: Block::extra_data_of(&request.payload).unwrap_or_default(),
        ..Header::default()
    };
    Block::new(header, Vec::new(), request.payload.clone(), Vec::new())
}

/// The replicas among `count` that a message of `from` goes to, in order.
pub fn receivers(from: ReplicaId, to: Recipients, count: u32) -> Vec<ReplicaId> {
    match to {
        Recipients::Others => (0..count).map(ReplicaId::new).filter(|to| *to != from).collect(),
        Recipients::One(one) => vec![one].into_iter().filter(|to| *to != from).collect(),
    }
}
