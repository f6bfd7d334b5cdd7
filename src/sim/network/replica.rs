//! One replica: a protocol, its chain and its pool, and the carrying out of effects.

pub(in crate::sim) mod disk;
mod inclusion_timeout;
pub(in crate::sim) mod process;

use std::{collections::VecDeque, sync::Arc};

use imbl::{OrdMap, Vector};

use self::{
    disk::{Disk, Kept, Writing},
    inclusion_timeout::Waiting,
    process::Process,
};
use super::{
    environment::{Buffers, Happening, World},
    error::NetworkError,
    production::{BlockOrder, Production},
    records::RecordStore,
};
use crate::{
    chain::{
        AddOutcome, Block, BlockAttributes, BlockError, BuiltBlock, Candidates, Chain, ChainDump, ChainError,
        InvalidTransaction, Pool, RuleError,
    },
    consensus::{
        BlockId, BuildRequest, ChainEvent, Effect, Event, Evidence, Machine, Message, Protocol, Recipients, Records,
        Rejection, ReplicaId, Ticket, TimerId, Verdict,
    },
    primitives::{Address, Timestamp, Transaction, U256},
    sim::{
        engine::clock::SimTime,
        faults::byzantine::{Censored, Conduct},
    },
};

/// Pieces of evidence kept; later ones are only counted.
const EVIDENCE_MAX: usize = 256;

/// Candidates that a block leaves out, with why.
type LeftOut = Vec<(Arc<Transaction>, InvalidTransaction)>;

/// A validator's or observer's node. Cloning costs the same at any size of chain and pool.
#[derive(Clone, Debug)]
pub struct Replica {
    pub(in crate::sim) id: ReplicaId,
    /// The number of its machine; its own unless its key runs on two.
    pub(in crate::sim) slot: ReplicaId,
    address: Option<Address>,
    pub(in crate::sim) machine: Machine,
    pub(in crate::sim) chain: Chain,
    pub(in crate::sim) pool: Pool,
    /// Running timers.
    pub(super) timers: OrdMap<TimerId, Armed>,
    generation: u64,
    /// The block that was asked for and is made on demand.
    pub(in crate::sim) wanted: Option<BuildRequest>,
    pub(in crate::sim) disk: Disk,
    /// Messages that wait for a record.
    pub(in crate::sim) held: Vector<(Ticket, Recipients, Message)>,
    pub(super) persisted: Ticket,
    /// Where its records go when the network's store is durable.
    pub(in crate::sim) durable: Option<Arc<RecordStore>>,
    pub(in crate::sim) process: Process,
    /// What waits while it stands still.
    pub(super) stalled: Vector<Happening>,
    /// How it misbehaves.
    pub(in crate::sim) conduct: Conduct,
    /// What its disk had when its amnesia began.
    pub(in crate::sim) remembered: Option<Kept>,
    /// What nobody takes.
    pub(in crate::sim) waiting: Option<Waiting>,
    evidence: Vector<Evidence>,
    marks: OrdMap<&'static str, u64>,
    last_rejection: Option<Rejection>,
    pub(in crate::sim) counters: Counters,
}

/// A running timer. When it is moved to later, its event stays in the queue and is put anew when it comes: most are moved
/// many times before they fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Armed {
    /// The one that counts; an event of an older one is void.
    pub(super) generation: u64,
    /// When it fires.
    pub(in crate::sim) at: SimTime,
    /// When its event comes, not later.
    pub(super) queued: SimTime,
}

/// What a replica did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Counters {
    /// Blocks built here.
    pub blocks_built: u64,
    /// Times that the head moved.
    pub heads: u64,
    /// Of them, times that blocks were taken back.
    pub reorgs: u64,
    /// Inputs refused by the protocol.
    pub rejected: u64,
    /// Transactions from peers that the pool did not take.
    pub transactions_refused: u64,
    /// Pieces of evidence found.
    pub evidence: u64,
    /// Times that it came back after a crash.
    pub restarts: u64,
    /// Writes that crashes took.
    pub writes_lost: u64,
    /// Of them, those that were torn.
    pub writes_torn: u64,
    /// Times that it lost its disk, or could not trust it.
    pub wipes: u64,
    /// Records that a disk gave back damaged, told by their checksums.
    pub records_damaged: u64,
}

impl Replica {
    pub(in crate::sim) fn new(
        id: ReplicaId,
        address: Option<Address>,
        machine: Machine,
        chain: Chain,
        pool: Pool,
        durable: Option<Arc<RecordStore>>,
    ) -> Self {
        Self {
            id,
            slot: id,
            address,
            machine,
            chain,
            pool,
            timers: OrdMap::new(),
            generation: 0,
            wanted: None,
            disk: Disk::default(),
            held: Vector::new(),
            persisted: Ticket::default(),
            durable,
            process: Process::default(),
            stalled: Vector::new(),
            conduct: Conduct::default(),
            remembered: None,
            waiting: None,
            evidence: Vector::new(),
            marks: OrdMap::new(),
            last_rejection: None,
            counters: Counters::default(),
        }
    }

    /// Its number in the network.
    pub const fn id(&self) -> ReplicaId {
        self.id
    }

    /// The address that it seals with; `None` for an observer.
    pub const fn address(&self) -> Option<Address> {
        self.address
    }

    /// Its protocol.
    pub const fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Its chain.
    pub const fn chain(&self) -> &Chain {
        &self.chain
    }

    /// Its pool.
    pub const fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Its newest block.
    pub fn head(&self) -> BlockId {
        self.machine.head()
    }

    /// What it did so far.
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    /// Who broke the protocol before its eyes; the first few hundred pieces.
    pub fn evidence(&self) -> impl Iterator<Item = &Evidence> {
        self.evidence.iter()
    }

    /// How often each named point of coverage was passed.
    pub fn marks(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.marks.iter().map(|(name, count)| (*name, *count))
    }

    /// The newest input that was refused.
    pub const fn last_rejection(&self) -> Option<&Rejection> {
        self.last_rejection.as_ref()
    }

    /// The block that its protocol waits for, when blocks are made on demand.
    pub const fn wanted(&self) -> Option<&BuildRequest> {
        self.wanted.as_ref()
    }

    /// The chain, for changes by hand that no protocol is asked about.
    pub(super) const fn chain_mut(&mut self) -> &mut Chain {
        &mut self.chain
    }

    /// The pool, for changes by hand.
    pub(super) const fn pool_mut(&mut self) -> &mut Pool {
        &mut self.pool
    }

    /// The same in memory only.
    pub(in crate::sim) fn forked(&self) -> Self {
        Self { chain: self.chain.detached(), durable: None, ..self.clone() }
    }

    /// The same with what its protocol keeps, as it was stored.
    pub(super) fn with_records(mut self, records: &Records) -> Self {
        records.iter().for_each(|(key, value)| self.disk.put(key, Some(value)));
        self
    }

    /// What its protocol keeps of its head.
    pub(super) fn head_record(&self) -> Option<&[u8]> {
        self.disk.get(self.machine.kind().head_key())
    }

    /// Takes a dump's chain in place of its own, with the protocol at its head. What was promised on the chain before means
    /// nothing on this one.
    pub(in crate::sim) fn load(
        &mut self,
        dump: &ChainDump,
        machine: Machine,
        head_record: Option<&[u8]>,
    ) -> Result<(), NetworkError> {
        self.chain.load(dump).map_err(|source| self.chain_error(source))?;
        self.note_written();
        self.disk.wipe();
        self.disk.put(machine.kind().head_key(), head_record);
        self.machine = machine;
        (self.wanted, self.held) = (None, Vector::new());
        self.timers.clear();
        Ok(())
    }

    /// Goes back (or over) to an earlier clone, on the durable store too.
    pub(in crate::sim) fn restore(&mut self, snapshot: &Self) -> Result<(), NetworkError> {
        self.chain.restore(&snapshot.chain).map_err(|source| self.chain_error(source))?;
        let restored = core::mem::replace(self, snapshot.clone());
        (self.chain, self.durable) = (restored.chain, restored.durable);
        self.note_written();
        Ok(())
    }

    /// The head of a durable chain is written, and with it everybody's records.
    fn note_written(&self) {
        if let Some(durable) = self.durable.as_ref().filter(|_| self.id == ReplicaId::default()) {
            durable.written(self.chain.finalized().height());
        }
    }

    /// Takes one event and everything that follows from it here and now.
    pub(super) fn handle(&mut self, event: Event, world: &mut World) -> Result<(), NetworkError> {
        let Buffers { mut inbox, mut effects } = core::mem::take(&mut world.buffers);
        inbox.push_back(event);
        while let Some(event) = inbox.pop_front() {
            if !self.conduct.is_empty() {
                self.equivocate(&event, world)?;
            }
            world.record_event(self.id, &event);
            let now = world.scheduler.now();
            let input = world.recorder.as_mut().map(|recorder| recorder.input(now, &event));
            self.machine.step(event, &mut effects);
            if let (Some(recorder), Some(input)) = (&mut world.recorder, input) {
                recorder.step(now, self.id, input, &effects, &self.machine);
            }
            for effect in effects.drain(..) {
                self.carry_out(effect, world, &mut inbox)?;
            }
        }
        world.buffers = Buffers { inbox, effects };
        Ok(())
    }

    /// The judgement of a block that was from the future before.
    pub(super) fn judge(&mut self, block: Arc<Block>, world: &mut World) -> Result<(), NetworkError> {
        match self.validate(block)? {
            Some(judged) => self.handle(judged, world),
            None => Ok(()),
        }
    }

    /// A timer's event; void when the timer was moved or stopped since.
    pub(super) fn on_timer(&mut self, timer: TimerId, generation: u64, world: &mut World) -> Result<(), NetworkError> {
        let Some(armed) = self.timers.get_mut(&timer).filter(|armed| armed.generation == generation) else {
            return Ok(());
        };
        if armed.at > world.scheduler.now() {
            armed.queued = armed.at;
            let replica = self.slot;
            world.scheduler.at(armed.at, Happening::Timer { replica, timer, generation });
            return Ok(());
        }
        self.timers.remove(&timer);
        self.handle(Event::Timer(timer), world)
    }

    /// Takes a transaction from a client or a peer.
    pub(in crate::sim) fn submit(&mut self, transaction: Arc<Transaction>) -> Result<AddOutcome, NetworkError> {
        let context = self.chain.pool_context().map_err(|source| self.chain_error(source))?;
        Ok(self.pool.add(transaction, &context)?)
    }

    /// A peer's transaction: refusing it is no error.
    pub(super) fn on_transaction(&mut self, transaction: Arc<Transaction>) -> Result<(), NetworkError> {
        match self.submit(transaction) {
            Err(NetworkError::Pool(_)) => self.counters.transactions_refused += 1,
            other => return other.map(drop),
        }
        Ok(())
    }

    /// A block of this replica for a peer that asks; without a hash, the canonical one of its height.
    pub(super) fn serve(&self, block: BlockId) -> Option<Arc<Block>> {
        let hash = if block.hash.is_zero() { self.chain.hash_at(block.height).ok()? } else { block.hash };
        self.chain.block(hash).ok().map(|executed| executed.block().clone())
    }

    /// Makes the wanted block at once and hands it to the protocol. Whether it becomes the head is seen later: a protocol may
    /// ask the other replicas first.
    pub(in crate::sim) fn produce(
        &mut self,
        order: &BlockOrder,
        world: &mut World,
    ) -> Result<(BlockId, LeftOut), NetworkError> {
        let parent = self.head();
        let height = parent.height.next();
        let request = self.wanted.clone().ok_or(NetworkError::NobodyBuilds { height })?;
        let earliest = request.timestamp_min.max(self.chain.head().block().timestamp());
        let timestamp = match order.timestamp {
            Some(got) if got < earliest => return Err(NetworkError::TooEarly { got, earliest }),
            Some(ordered) => ordered,
            None => earliest.max(world.timestamp()),
        };
        let attributes = attributes(&request, timestamp, order);
        let built = self.build(&request, &attributes, order, world)?;
        let block = BlockId::of(&built.block);
        self.wanted = None;
        let rejected = self.counters.rejected;
        let event = Event::BlockBuilt { ticket: request.ticket, block: Arc::new(built.block) };
        self.handle(event, world)?;
        if self.counters.rejected > rejected && self.head() != block {
            // Nothing has changed: the block is still wanted.
            self.wanted = Some(request);
            let reason = self.last_rejection.as_ref().map(ToString::to_string).unwrap_or_default();
            return Err(NetworkError::NotAdopted { height, reason });
        }
        Ok((block, built.left_out))
    }

    fn build(
        &mut self,
        request: &BuildRequest,
        attributes: &BlockAttributes,
        order: &BlockOrder,
        world: &mut World,
    ) -> Result<BuiltBlock, NetworkError> {
        let parent = request.parent.hash;
        let censored = if self.conduct.is_empty() { None } else { self.censored(world) };
        let built = match &order.transactions {
            Some(only) => self.chain.build(parent, attributes, &mut Only { rest: only.iter() }),
            None => {
                let base_fee = self.chain.next_base_fee().unwrap_or_default();
                let mut best = self.pool.best(base_fee);
                match censored {
                    None => self.chain.build(parent, attributes, &mut best),
                    Some(senders) => self.chain.build(parent, attributes, &mut Censored { from: &mut best, senders }),
                }
            }
        };
        let built = built.map_err(|source| self.chain_error(source))?;
        self.counters.blocks_built += 1;
        Ok(built)
    }

    fn carry_out(
        &mut self,
        effect: Effect,
        world: &mut World,
        inbox: &mut VecDeque<Event>,
    ) -> Result<(), NetworkError> {
        match effect {
            Effect::Send { to, message, after } => match after {
                Some(ticket) if ticket >= self.persisted => self.held.push_back((ticket, to, message)),
                _ => self.say(to, message, world),
            },
            Effect::ArmTimer { timer, deadline } => {
                let at = world.moment_of_timer(self.slot, deadline);
                match self.timers.get_mut(&timer).filter(|armed| armed.queued <= at) {
                    Some(armed) => armed.at = at,
                    None => {
                        self.generation += 1;
                        let (replica, generation) = (self.slot, self.generation);
                        world.scheduler.at(at, Happening::Timer { replica, timer, generation });
                        self.timers.insert(timer, Armed { generation, at, queued: at });
                    }
                }
            }
            Effect::DisarmTimer(timer) => {
                self.timers.remove(&timer);
            }
            Effect::Persist { ticket, records } => {
                let now = world.scheduler.now();
                if let Some(durable) = &self.durable {
                    durable.put(self.id, &records);
                }
                match self.disk.write(ticket, records, now, |latency| world.disk_nanos(latency)) {
                    Writing::Done => {
                        self.on_persisted(ticket, world);
                        inbox.push_back(Event::Persisted(ticket));
                    }
                    Writing::Until { at, life } => {
                        world.scheduler.at(at, Happening::Written { replica: self.slot, ticket, life });
                    }
                }
            }
            Effect::Build(request) => match world.production {
                Production::OnDemand => self.wanted = Some(request),
                Production::Automatic => {
                    let timestamp = request.timestamp_min.max(world.timestamp_of(self.slot));
                    let order = BlockOrder::default();
                    let built = self.build(&request, &attributes(&request, timestamp, &order), &order, world)?;
                    inbox.push_back(Event::BlockBuilt { ticket: request.ticket, block: Arc::new(built.block) });
                }
            },
            Effect::CancelBuild => self.wanted = None,
            Effect::Validate { block } => {
                if !world.postpone(self.slot, &block) {
                    inbox.extend(self.validate(block)?);
                }
            }
            Effect::Draw { ticket, bound } => {
                inbox.push_back(Event::Random { ticket, value: world.draw(bound) });
            }
            Effect::Fetch { block, from } => world.request(self.slot, from, block),
            Effect::Chain(event) => {
                let moves = matches!(event, ChainEvent::HeadMoved { .. });
                self.on_chain_event(event)?;
                if moves {
                    inbox.extend(self.lose_patience(world));
                }
            }
            Effect::Evidence(evidence) => {
                self.counters.evidence += 1;
                if self.evidence.len() < EVIDENCE_MAX {
                    self.evidence.push_back(evidence);
                }
            }
            Effect::Reject(rejection) => {
                self.counters.rejected += 1;
                self.last_rejection = Some(rejection);
            }
            Effect::Mark(name) => *self.marks.entry(name).or_default() += 1,
        }
        Ok(())
    }

    /// Says something, as the protocol wants it or as misbehaviour changes it.
    fn say(&mut self, to: Recipients, message: Message, world: &mut World) {
        if self.conduct.is_empty() {
            world.send_message(self.slot, to, message);
        } else {
            self.misbehave(to, &message, world);
        }
    }

    /// A slow write is durable.
    pub(super) fn on_written(&mut self, ticket: Ticket, life: u64, world: &mut World) -> Result<(), NetworkError> {
        for ticket in self.disk.synced(ticket, life) {
            self.on_persisted(ticket, world);
            self.handle(Event::Persisted(ticket), world)?;
        }
        Ok(())
    }

    /// Sends what waited for this ticket; disks keep the order.
    fn on_persisted(&mut self, ticket: Ticket, world: &mut World) {
        self.persisted = self.persisted.max(Ticket::new(ticket.get() + 1));
        while self.held.front().is_some_and(|(waits_for, ..)| *waits_for < self.persisted) {
            if let Some((_, to, message)) = self.held.pop_front() {
                self.say(to, message, world);
            }
        }
    }

    /// Executes and stores a block. `None`: it can't be judged yet.
    pub(in crate::sim) fn validate(&mut self, block: Arc<Block>) -> Result<Option<Event>, NetworkError> {
        let id = BlockId::of(&block);
        let verdict = match self.chain.insert(block) {
            Ok(_) => Verdict::Valid { updates: self.chain.updates_of(id.hash) },
            Err(ChainError::InvalidBlock { reason: BlockError::Rule(RuleError::Pending { .. }), .. }) => {
                return Ok(None);
            }
            Err(error @ (ChainError::InvalidBlock { .. } | ChainError::UnknownParent { .. })) => {
                Verdict::Invalid { reason: error.to_string() }
            }
            Err(source) => return Err(self.chain_error(source)),
        };
        Ok(Some(Event::BlockJudged { block: id, verdict }))
    }

    fn on_chain_event(&mut self, event: ChainEvent) -> Result<(), NetworkError> {
        let result = match event {
            ChainEvent::HeadMoved { new, reorg_depth, .. } => {
                self.counters.heads += 1;
                self.counters.reorgs += u64::from(reorg_depth > 0);
                self.follow(new)
            }
            ChainEvent::Final { finality, .. } => {
                let (safe, finalized) = (finality.safe.hash, finality.finalized.hash);
                self.chain.set_advisory_finality(safe, finalized, finality.irreversible)
            }
            ChainEvent::Sealed { block, seal } => self.chain.reseal(block.hash, seal),
            ChainEvent::Inserted(_) | ChainEvent::Justified(_) | ChainEvent::ReadReady { .. } => Ok(()),
        };
        result.map_err(|source| self.chain_error(source))
    }

    fn follow(&mut self, head: BlockId) -> Result<(), ChainError> {
        let change = self.chain.set_head(head.hash)?;
        self.note_written();
        // Only blocks that were taken back give transactions to an empty pool.
        if change.is_reorg() || !self.pool.is_empty() {
            let context = self.chain.pool_context()?;
            self.pool.on_head(&change, &context);
        }
        Ok(())
    }

    const fn chain_error(&self, source: ChainError) -> NetworkError {
        NetworkError::Chain { replica: self.id, source }
    }
}

fn attributes(request: &BuildRequest, timestamp: Timestamp, order: &BlockOrder) -> BlockAttributes {
    BlockAttributes {
        timestamp,
        beneficiary: request.beneficiary,
        difficulty: U256::from(request.difficulty),
        mix_hash: request.mix_hash,
        payload: request.payload.clone(),
        gas_limit: order.gas_limit,
        interventions: order.interventions.clone(),
        ..BlockAttributes::default()
    }
}

/// Exactly the transactions that were ordered, in their order.
struct Only<'a> {
    rest: core::slice::Iter<'a, Arc<Transaction>>,
}

impl Candidates for Only<'_> {
    fn next(&mut self) -> Option<Arc<Transaction>> {
        self.rest.next().cloned()
    }

    fn mark_invalid(&mut self, _transaction: &Transaction, _reason: &InvalidTransaction) {}
}
