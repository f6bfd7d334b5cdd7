//! A replica: a protocol, its chain and pool, and the execution of the protocol's effects.

pub(in crate::sim) mod disk;
mod effects;
mod inclusion_timeout;
pub(in crate::sim) mod process;

use std::sync::Arc;

use imbl::{OrdMap, Vector};

use self::{
    disk::{Disk, RecordMap},
    effects::InEnvironment,
    inclusion_timeout::OldestPending,
    process::ProcessState,
};
use super::{
    environment::{Buffers, Environment, SimEvent},
    error::NetworkError,
    production::BlockOrder,
    records::RecordStore,
};
use crate::{
    chain::{
        AddOutcome, Block, BlockAttributes, BlockError, BuiltBlock, Candidates, Chain, ChainDump, ChainError,
        InvalidTransaction, LoadSummary, Pool, RuleError,
    },
    consensus::{
        AnyProtocol, BlockId, BuildRequest, ChainEvent, Event, Evidence, Finality, Protocol, Records, Rejection,
        ReplicaId, Ticket, TimerId, ValidatorSet, Verdict,
        effect_handler::{Outbox, carry_out, persisted},
    },
    primitives::{Address, Timestamp, Transaction, U256},
    sim::{
        engine::clock::SimTime,
        faults::byzantine::{CensoredCandidates, Misbehaviour},
    },
};

/// Pieces of evidence stored; later ones are only counted.
const EVIDENCE_MAX: usize = 256;

/// Candidates that a block leaves out, with the reason.
type LeftOut = Vec<(Arc<Transaction>, InvalidTransaction)>;

/// A validator, candidate or observer. Cloning costs the same at any size of chain and pool.
#[derive(Clone, Debug)]
pub struct Replica {
    id: ReplicaId,
    /// Slot of this process: equal to `id`, or above the numbers of all replicas for a twin.
    pub(in crate::sim) slot: ReplicaId,
    address: Option<Address>,
    pub(in crate::sim) protocol: AnyProtocol,
    chain: Chain,
    pool: Pool,
    /// Running timers.
    timers: OrdMap<TimerId, ArmedTimer>,
    generation: u64,
    /// Block that the protocol requested, to be built on demand.
    wanted: Option<BuildRequest>,
    pub(in crate::sim) disk: Disk,
    /// Messages to be sent once a write is durable.
    outbox: Outbox,
    /// Durable store of its records, if the network has one.
    pub(super) durable: Option<Arc<RecordStore>>,
    process: ProcessState,
    /// Events deferred while the process is paused.
    deferred: Vector<SimEvent>,
    pub(in crate::sim) misbehaviour: Misbehaviour,
    /// Records on its disk when its amnesia began.
    saved_records: Option<RecordMap>,
    /// First transaction of the pool, watched for inclusion.
    oldest_pending: Option<OldestPending>,
    evidence: Vector<Evidence>,
    marks: OrdMap<&'static str, u64>,
    last_rejection: Option<Rejection>,
    counters: ReplicaCounters,
}

/// A running timer. When it is moved to a later time, its event stays in the queue and is queued again when it is processed:
/// most timers are moved many times before they fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ArmedTimer {
    /// Current generation; events of earlier ones are void.
    pub(super) generation: u64,
    /// Time at which it fires.
    pub(in crate::sim) at: SimTime,
    /// Time of its queued event, at most `at`.
    pub(super) queued: SimTime,
}

/// Counters of a replica since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ReplicaCounters {
    /// Blocks built here.
    pub blocks_built: u64,
    /// Head changes.
    pub heads: u64,
    /// Head changes that removed blocks.
    pub reorgs: u64,
    /// Inputs rejected by the protocol.
    pub rejected: u64,
    /// Transactions from peers that the pool refused.
    pub transactions_refused: u64,
    /// Pieces of evidence found.
    pub evidence: u64,
    /// Restarts after a crash.
    pub restarts: u64,
    /// Writes lost in crashes.
    pub writes_lost: u64,
    /// Lost writes that were torn.
    pub writes_torn: u64,
    /// Losses of the disk, and discarded damaged disks.
    pub wipes: u64,
    /// Damaged records, detected by their checksums.
    pub records_damaged: u64,
}

impl Replica {
    pub(in crate::sim) fn new(
        id: ReplicaId,
        address: Option<Address>,
        protocol: AnyProtocol,
        chain: Chain,
        pool: Pool,
        durable: Option<Arc<RecordStore>>,
    ) -> Self {
        Self {
            id,
            slot: id,
            address,
            protocol,
            chain,
            pool,
            timers: OrdMap::new(),
            generation: 0,
            wanted: None,
            disk: Disk::default(),
            outbox: Outbox::default(),
            durable,
            process: ProcessState::default(),
            deferred: Vector::new(),
            misbehaviour: Misbehaviour::default(),
            saved_records: None,
            oldest_pending: None,
            evidence: Vector::new(),
            marks: OrdMap::new(),
            last_rejection: None,
            counters: ReplicaCounters::default(),
        }
    }

    /// Returns its number in the network.
    pub const fn id(&self) -> ReplicaId {
        self.id
    }

    /// Returns the address of its key; `None` for an observer.
    pub const fn address(&self) -> Option<Address> {
        self.address
    }

    /// Returns its protocol.
    #[cfg(feature = "internals")]
    pub const fn protocol(&self) -> &AnyProtocol {
        &self.protocol
    }

    #[cfg(not(feature = "internals"))]
    pub(crate) const fn protocol(&self) -> &AnyProtocol {
        &self.protocol
    }

    /// Returns the finality of its protocol.
    pub fn finality(&self) -> Finality {
        self.protocol.finality()
    }

    /// Returns the validators of the next block, as its protocol counts them.
    pub fn validators(&self) -> ValidatorSet {
        self.protocol.validators()
    }

    /// Returns its chain.
    pub const fn chain(&self) -> &Chain {
        &self.chain
    }

    /// Returns its transaction pool.
    pub const fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Returns its head block.
    pub fn head(&self) -> BlockId {
        self.protocol.head()
    }

    /// Returns its counters.
    pub const fn counters(&self) -> ReplicaCounters {
        self.counters
    }

    /// Iterates over the evidence of misbehaviour that it found, up to the first 256 pieces.
    pub fn evidence(&self) -> impl Iterator<Item = &Evidence> {
        self.evidence.iter()
    }

    /// Iterates over the named coverage points that its protocol passed, with counts.
    pub fn marks(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.marks.iter().map(|(name, count)| (*name, *count))
    }

    /// Returns the latest rejection.
    pub const fn last_rejection(&self) -> Option<&Rejection> {
        self.last_rejection.as_ref()
    }

    /// Returns the block that its protocol requested, when blocks are made on demand.
    pub const fn wanted(&self) -> Option<&BuildRequest> {
        self.wanted.as_ref()
    }

    /// Returns the attributes of the block that its protocol requested, at the earliest time that it allows.
    pub(super) fn wanted_attributes(&self) -> Option<BlockAttributes> {
        let request = self.wanted.as_ref()?;
        Some(attributes(request, self.earliest(request), &BlockOrder::new()))
    }

    fn earliest(&self, request: &BuildRequest) -> Timestamp {
        request.timestamp_min.max(self.chain.head().block().timestamp())
    }

    /// Returns the chain, for changes that bypass the protocol.
    pub(super) const fn chain_mut(&mut self) -> &mut Chain {
        &mut self.chain
    }

    /// Returns the pool, for direct changes.
    pub(super) const fn pool_mut(&mut self) -> &mut Pool {
        &mut self.pool
    }

    /// Returns a copy that writes nothing durable.
    pub(in crate::sim) fn forked(&self) -> Self {
        Self { chain: self.chain.detached(), durable: None, ..self.clone() }
    }

    /// Sets the records on its disk to those that were stored.
    pub(super) fn with_records(mut self, records: &Records) -> Self {
        records.iter().for_each(|(key, value)| self.disk.put(key, Some(value)));
        self
    }

    /// Returns the protocol's record of its head.
    pub(super) fn head_record(&self) -> Option<&[u8]> {
        self.disk.get(self.protocol.kind().head_key())
    }

    /// Replaces its chain by that of a dump, with the protocol at its head. Safety records of the previous chain do not apply to
    /// the new one and are deleted.
    pub(in crate::sim) fn load(
        &mut self,
        dump: &ChainDump,
        protocol: AnyProtocol,
        head_record: Option<&[u8]>,
    ) -> Result<LoadSummary, NetworkError> {
        let summary = self.chain.load(dump).map_err(|source| self.chain_error(source))?;
        self.start_over(protocol, head_record);
        Ok(summary)
    }

    /// As [`Replica::load`], by the chain of a replica that loaded the dump.
    pub(in crate::sim) fn switch_chain(
        &mut self,
        loaded: &Chain,
        protocol: AnyProtocol,
        head_record: Option<&[u8]>,
    ) -> Result<(), NetworkError> {
        self.chain.restore(loaded).map_err(|source| self.chain_error(source))?;
        self.start_over(protocol, head_record);
        Ok(())
    }

    /// Replaces the protocol and its records, and discards what waits.
    fn start_over(&mut self, protocol: AnyProtocol, head_record: Option<&[u8]>) {
        self.note_written();
        self.disk.wipe();
        self.disk.put(protocol.kind().head_key(), head_record);
        self.protocol = protocol;
        (self.wanted, self.outbox) = (None, Outbox::default());
        self.timers.clear();
    }

    /// Restores the state of a clone, in the durable store too.
    pub(in crate::sim) fn restore(&mut self, snapshot: &Self) -> Result<(), NetworkError> {
        self.chain.restore(&snapshot.chain).map_err(|source| self.chain_error(source))?;
        let restored = core::mem::replace(self, snapshot.clone());
        (self.chain, self.durable) = (restored.chain, restored.durable);
        self.note_written();
        Ok(())
    }

    /// Notes that a head of the durable chain, and with it the records of all replicas, was written.
    fn note_written(&self) {
        if let Some(durable) = self.durable.as_ref().filter(|_| self.id == ReplicaId::default()) {
            durable.written(self.chain.finalized().height());
        }
    }

    /// Processes one event and all events that follow from it at the same instant.
    pub(super) fn handle(&mut self, event: Event, env: &mut Environment) -> Result<(), NetworkError> {
        let Buffers { mut inbox, mut effects } = core::mem::take(&mut env.buffers);
        inbox.push_back(event);
        while let Some(event) = inbox.pop_front() {
            if !self.misbehaviour.is_empty() {
                self.equivocate(&event, env)?;
            }
            env.record_event(self.id, &event);
            let now = env.scheduler.now();
            let input = env.recorder.as_mut().map(|recorder| recorder.input(now, &event));
            self.protocol.step(event, &mut effects);
            if let (Some(recorder), Some(input)) = (&mut env.recorder, input) {
                recorder.step(now, self.id, input, &effects, &self.protocol);
            }
            for effect in effects.drain(..) {
                carry_out(effect, &mut InEnvironment { replica: self, env }, &mut inbox)?;
            }
        }
        env.buffers = Buffers { inbox, effects };
        Ok(())
    }

    /// Validates a block that was deferred as from the future.
    pub(super) fn validate_deferred(&mut self, block: Arc<Block>, env: &mut Environment) -> Result<(), NetworkError> {
        let id = BlockId::of(&block);
        match self.validate(block)? {
            Some(verdict) => self.handle(Event::BlockJudged { block: id, verdict }, env),
            None => Ok(()),
        }
    }

    /// Processes a timer's event; void when the timer was stopped or armed again since.
    pub(super) fn on_timer(
        &mut self,
        timer: TimerId,
        generation: u64,
        env: &mut Environment,
    ) -> Result<(), NetworkError> {
        let Some(armed) = self.timers.get_mut(&timer).filter(|armed| armed.generation == generation) else {
            return Ok(());
        };
        if armed.at > env.scheduler.now() {
            armed.queued = armed.at;
            let replica = self.slot;
            env.scheduler.at(armed.at, SimEvent::Timer { replica, timer, generation });
            return Ok(());
        }
        self.timers.remove(&timer);
        self.handle(Event::Timer(timer), env)
    }

    /// Adds a transaction from a client or peer to the pool.
    pub(in crate::sim) fn submit(&mut self, transaction: Arc<Transaction>) -> Result<AddOutcome, NetworkError> {
        let context = self.chain.pool_context().map_err(|source| self.chain_error(source))?;
        Ok(self.pool.add(transaction, &context)?)
    }

    /// Adds a peer's transaction to the pool; a refusal is counted and is no error.
    pub(super) fn on_transaction(&mut self, transaction: Arc<Transaction>) -> Result<(), NetworkError> {
        match self.submit(transaction) {
            Err(NetworkError::Pool(_)) => self.counters.transactions_refused += 1,
            other => return other.map(drop),
        }
        Ok(())
    }

    /// Returns a block for a peer; with a zero hash, the canonical block of the height.
    pub(super) fn serve_block(&self, block: BlockId) -> Option<Arc<Block>> {
        let hash = if block.hash.is_zero() { self.chain.hash_at(block.height).ok()? } else { block.hash };
        self.chain.block(hash).ok().map(|executed| executed.block().clone())
    }

    /// Builds the requested block and passes it to the protocol. It may become the head later only, if the protocol needs the
    /// votes of other replicas.
    pub(in crate::sim) fn produce(
        &mut self,
        order: &BlockOrder,
        env: &mut Environment,
    ) -> Result<(BlockId, LeftOut), NetworkError> {
        let parent = self.head();
        let height = parent.height.next();
        let request = self.wanted.clone().ok_or(NetworkError::NobodyBuilds { height })?;
        let earliest = self.earliest(&request);
        let timestamp = match order.timestamp {
            Some(got) if got < earliest => return Err(NetworkError::TooEarly { got, earliest }),
            Some(ordered) => ordered,
            None => earliest.max(env.timestamp()),
        };
        let attributes = attributes(&request, timestamp, order);
        let built = self.build(&request, &attributes, order, env)?;
        let block = BlockId::of(&built.block);
        self.wanted = None;
        let rejected = self.counters.rejected;
        let event = Event::BlockBuilt { ticket: request.ticket, block: Arc::new(built.block) };
        self.handle(event, env)?;
        if self.counters.rejected > rejected && self.head() != block {
            // Nothing has changed: the request is still open.
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
        env: &mut Environment,
    ) -> Result<BuiltBlock, NetworkError> {
        let parent = request.parent.hash;
        let censored = if self.misbehaviour.is_empty() { None } else { self.censored(env) };
        let built = match &order.transactions {
            Some(only) => self.chain.build(parent, attributes, &mut Only { rest: only.iter() }),
            None => {
                let base_fee = self.chain.next_base_fee().unwrap_or_default();
                let mut best = self.pool.best(base_fee);
                match censored {
                    None => self.chain.build(parent, attributes, &mut best),
                    Some(senders) => {
                        self.chain.build(parent, attributes, &mut CensoredCandidates { from: &mut best, senders })
                    }
                }
            }
        };
        let built = built.map_err(|source| self.chain_error(source))?;
        self.counters.blocks_built += 1;
        Ok(built)
    }

    /// Processes the completion of a slow write.
    pub(super) fn on_written(&mut self, ticket: Ticket, life: u64, env: &mut Environment) -> Result<(), NetworkError> {
        for ticket in self.disk.synced(ticket, life) {
            let event = persisted(ticket, &mut InEnvironment { replica: self, env });
            self.handle(event, env)?;
        }
        Ok(())
    }

    /// Executes and stores a block; `None` when it cannot be validated yet.
    pub(in crate::sim) fn validate(&mut self, block: Arc<Block>) -> Result<Option<Verdict>, NetworkError> {
        let hash = block.hash();
        let verdict = match self.chain.insert(block) {
            Ok(_) => Verdict::Valid { updates: self.chain.updates_of(hash) },
            Err(ChainError::InvalidBlock { reason: BlockError::Rule(RuleError::Pending { .. }), .. }) => {
                return Ok(None);
            }
            Err(error @ (ChainError::InvalidBlock { .. } | ChainError::UnknownParent { .. })) => {
                Verdict::Invalid { reason: error.to_string() }
            }
            Err(source) => return Err(self.chain_error(source)),
        };
        Ok(Some(verdict))
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
        // An empty pool receives transactions only from removed blocks.
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

/// Exactly the ordered transactions, in their order.
struct Only<'a> {
    rest: core::slice::Iter<'a, Arc<Transaction>>,
}

impl Candidates for Only<'_> {
    fn next(&mut self) -> Option<Arc<Transaction>> {
        self.rest.next().cloned()
    }

    fn mark_invalid(&mut self, _transaction: &Transaction, _reason: &InvalidTransaction) {}
}
