//! A replica: a protocol, its chain and pool, and the execution of the protocol's effects.

mod building;
pub(in crate::sim) mod disk;
mod effects;
mod inclusion_timeout;
pub(in crate::sim) mod observations;
mod pool;
pub(in crate::sim) mod process;
mod processor;
mod timers;

use core::time::Duration;
use std::sync::Arc;

use self::{
    disk::Disk,
    effects::InEnvironment,
    inclusion_timeout::InclusionWatch,
    observations::{Observations, ReplicaCounters},
    process::Process,
    processor::Processor,
    timers::{TimerEvent, Timers},
};
use super::{
    envelope::Envelope,
    environment::{Buffers, Environment, SimEvent},
    error::NetworkError,
    head_log::HeadLog,
    records::RecordStore,
};
use crate::{
    chain::{
        AddOutcome, Block, BlockError, Chain, ChainDump, ChainError, InsertError, InvalidBlock, LoadSummary, Pool,
        RuleError,
    },
    consensus::{
        AnyProtocol, BlockId, BuildRequest, ChainEvent, ConsensusMessage, Event, Evidence, Finality, Protocol,
        RecordValue, Records, Rejection, ReplicaId, Ticket, TimerId, ValidatorSet, Verdict,
        effect_handler::{Outbox, carry_out, persisted},
    },
    primitives::{Address, Transaction},
    sim::{engine::clock::SimTime, faults::byzantine::Misbehaviour},
};

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
    timers: Timers,
    /// Block that the protocol requested, to be built on demand.
    wanted: Option<BuildRequest>,
    pub(in crate::sim) processor: Processor,
    pub(in crate::sim) disk: Disk,
    /// Messages to be sent once a write is durable.
    outbox: Outbox,
    /// Durable store of its records, if the network has one.
    pub(super) durable: Option<Arc<RecordStore>>,
    process: Process,
    pub(in crate::sim) misbehaviour: Misbehaviour,
    /// Transactions of the pool, watched for inclusion if the protocol asks for it.
    inclusion_watch: InclusionWatch,
    observations: Observations,
    head_log: HeadLog,
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
            timers: Timers::default(),
            wanted: None,
            processor: Processor::default(),
            disk: Disk::default(),
            outbox: Outbox::default(),
            durable,
            process: Process::default(),
            misbehaviour: Misbehaviour::default(),
            inclusion_watch: InclusionWatch::default(),
            observations: Observations::default(),
            head_log: HeadLog::default(),
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

    /// Returns the state of its protocol, if that is one of one's own with a state of this type.
    pub fn own_protocol<P: Protocol + 'static>(&self) -> Option<&P> {
        match &self.protocol {
            AnyProtocol::Own(own) => own.state(),
            _ => None,
        }
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
        self.observations.counters
    }

    /// Iterates over the evidence of misbehaviour that it found, up to the first 256 pieces.
    pub fn evidence(&self) -> impl Iterator<Item = &Evidence> {
        self.observations.evidence.iter()
    }

    /// Iterates over the named coverage points that its protocol passed, with counts.
    pub fn marks(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.observations.marks.iter().map(|(name, count)| (*name, *count))
    }

    /// Returns the latest rejection.
    pub const fn last_rejection(&self) -> Option<&Rejection> {
        self.observations.last_rejection.as_ref()
    }

    /// Returns the newest message that reached its protocol since the process started, and how many have.
    pub(in crate::sim) const fn last_message(&self) -> (u64, Option<&ConsensusMessage>) {
        (self.observations.messages, self.observations.last_message.as_ref())
    }

    /// Returns the block that its protocol requested, when blocks are made on demand.
    pub const fn wanted(&self) -> Option<&BuildRequest> {
        self.wanted.as_ref()
    }

    /// Returns the chain, for changes that bypass the protocol.
    pub(super) const fn chain_mut(&mut self) -> &mut Chain {
        &mut self.chain
    }

    /// Returns the pool, for direct changes.
    pub(super) const fn pool_mut(&mut self) -> &mut Pool {
        &mut self.pool
    }

    pub(super) const fn head_log_mut(&mut self) -> &mut HeadLog {
        &mut self.head_log
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
    pub(super) fn head_record(&self) -> Option<&RecordValue> {
        self.disk.get(self.protocol.info().record_keys.head)
    }

    /// Replaces its chain by that of a dump, with the protocol at its head. Safety records of the previous chain do not apply to
    /// the new one and are deleted.
    pub(in crate::sim) fn load(
        &mut self,
        dump: &ChainDump,
        protocol: AnyProtocol,
        head_record: Option<&[u8]>,
    ) -> Result<LoadSummary, NetworkError> {
        let summary = self.chain.load(dump).map_err(|error| self.chain_error(error))?;
        self.start_over(protocol, head_record);
        Ok(summary)
    }

    /// As [`Replica::load`], by a chain that was made elsewhere of the same genesis.
    pub(in crate::sim) fn switch_chain(
        &mut self,
        loaded: &Chain,
        protocol: AnyProtocol,
        head_record: Option<&[u8]>,
    ) -> Result<(), NetworkError> {
        self.chain.restore(loaded).map_err(|error| self.chain_error(error))?;
        self.start_over(protocol, head_record);
        Ok(())
    }

    /// Replaces the protocol and its records, and discards what waits.
    fn start_over(&mut self, protocol: AnyProtocol, head_record: Option<&[u8]>) {
        self.note_written();
        self.disk.wipe();
        self.disk.put(protocol.info().record_keys.head, head_record);
        protocol.remember_head_in(self.chain.rules());
        self.protocol = protocol;
        (self.wanted, self.outbox) = (None, Outbox::default());
        self.timers.clear();
    }

    /// Restores the state of a clone, in the durable store too.
    pub(in crate::sim) fn restore(&mut self, snapshot: &Self) -> Result<(), NetworkError> {
        self.chain.restore(&snapshot.chain).map_err(|error| self.chain_error(error))?;
        let restored = core::mem::replace(self, snapshot.clone());
        (self.chain, self.durable) = (restored.chain, restored.durable);
        self.note_written();
        Ok(())
    }

    /// Notes that a head of the durable chain, and with it the records of all replicas, was written.
    fn note_written(&self) {
        if let Some(durable) = self.durable.as_ref().filter(|durable| self.id == durable.primary()) {
            durable.written(self.chain.finalized().height());
        }
    }

    /// Processes one event and all events that follow from it at the same instant.
    pub(super) fn handle(&mut self, event: Event, env: &mut Environment) -> Result<(), NetworkError> {
        let Buffers { mut inbox, mut effects } = core::mem::take(&mut env.buffers);
        self.observations.note_input(&event);
        inbox.push_back(event);
        while let Some(event) = inbox.pop_front() {
            if !self.misbehaviour.is_empty() {
                self.equivocate(&event, env)?;
            }
            env.record_event(self.id, &event);
            let now = env.scheduler.now();
            let recorded = env.recorder.as_mut().map(|recorder| recorder.event(now, &event));
            self.protocol.step(event, &mut effects);
            if let (Some(recorder), Some(recorded)) = (&mut env.recorder, recorded) {
                recorder.step(now, self.id, recorded, &effects, &self.protocol);
            }
            for effect in effects.drain(..) {
                carry_out(effect, &mut InEnvironment { replica: self, env }, &mut inbox)?;
            }
        }
        env.buffers = Buffers { inbox, effects };
        Ok(())
    }

    /// Validates a block that was deferred as from the future or by a slow processor, unless it crashed since.
    pub(super) fn validate_deferred(
        &mut self,
        block: Arc<Block>,
        life: u64,
        env: &mut Environment,
    ) -> Result<(), NetworkError> {
        if life != self.disk.life() {
            return Ok(());
        }
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
        match self.timers.on_event(timer, generation, env.scheduler.now()) {
            TimerEvent::Void => Ok(()),
            TimerEvent::Moved(at) => {
                env.scheduler.at(at, SimEvent::Timer { replica: self.slot, timer, generation });
                Ok(())
            }
            TimerEvent::Fires => self.handle(Event::Timer(timer), env),
        }
    }

    /// Takes the time between `from` and `until` for one in which its process did not run, though it was not stopped.
    pub(super) fn skip(&mut self, from: SimTime, until: SimTime) {
        self.timers.skip(from, until);
    }

    /// Adds a transaction from a client or peer to the pool.
    pub(in crate::sim) fn submit(&mut self, transaction: Arc<Transaction>) -> Result<AddOutcome, NetworkError> {
        let context = self.chain.pool_context().map_err(|error| self.chain_error(error))?;
        let hash = transaction.hash();
        let added = self.pool.add(transaction, &context)?;
        if self.protocol.info().has_inclusion_timeout {
            self.inclusion_watch.add(hash, &self.pool);
        }
        Ok(added)
    }

    /// Adds a peer's transaction to the pool; a refusal is counted and is no error.
    pub(super) fn on_transaction(&mut self, transaction: Arc<Transaction>) -> Result<(), NetworkError> {
        match self.submit(transaction) {
            Err(NetworkError::Pool(_)) => self.observations.counters.transactions_refused += 1,
            other => return other.map(drop),
        }
        Ok(())
    }

    /// Returns a block for a peer; with a zero hash, the canonical block of the height.
    pub(in crate::sim) fn serve_block(&self, block: BlockId) -> Option<Arc<Block>> {
        let hash = if block.hash.is_zero() { self.chain.hash_at(block.height).ok()? } else { block.hash };
        self.chain.block(hash).ok().map(|executed| executed.block().clone())
    }

    /// Sends a peer the block that it requested, or what misbehaviour makes of it.
    pub(super) fn answer(&self, to: ReplicaId, block: BlockId, env: &mut Environment) {
        let answer = match self.misbehaviour.is_empty() {
            true => self.serve_block(block).map(|block| (block, Duration::ZERO)),
            false => self.misleading_answer(to, block, env),
        };
        if let Some((block, late)) = answer {
            env.send_late(self.slot, to, Envelope::BlockResponse(block), late);
        }
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
            Ok(_) => Verdict::Valid { updates: self.chain.updates_of(hash).validators },
            Err(InsertError::Invalid(InvalidBlock { reason: BlockError::Rule(RuleError::Pending { .. }), .. })) => {
                return Ok(None);
            }
            Err(
                error @ (InsertError::Invalid(_) | InsertError::UnknownParent { .. } | InsertError::OtherBody { .. }),
            ) => Verdict::Invalid { reason: error.to_string() },
            Err(error) => return Err(self.chain_error(error)),
        };
        Ok(Some(verdict))
    }

    fn on_chain_event(&mut self, event: ChainEvent) -> Result<(), NetworkError> {
        let result = match event {
            ChainEvent::HeadMoved { new, reorg_depth, .. } => {
                self.observations.counters.heads += 1;
                self.observations.counters.reorgs += u64::from(reorg_depth > 0);
                self.follow(new)
            }
            ChainEvent::Final { finality, .. } => {
                let (safe, finalized) = (finality.safe.hash, finality.finalized.hash);
                self.chain.set_advisory_finality(safe, finalized, finality.irreversible).map_err(ChainError::from)
            }
            ChainEvent::Sealed { block, seal } => self.chain.reseal(block.hash, seal).map_err(ChainError::from),
            ChainEvent::Inserted(_)
            | ChainEvent::Justified(_)
            | ChainEvent::ReadReady { .. }
            | ChainEvent::ReadAborted { .. } => Ok(()),
        };
        result.map_err(|error| self.chain_error(error))
    }

    fn follow(&mut self, head: BlockId) -> Result<(), ChainError> {
        let change = self.chain.set_head(head.hash)?;
        self.head_log.add(&self.chain);
        self.note_written();
        // An empty pool receives transactions only from removed blocks.
        if change.is_reorg() || !self.pool.is_empty() {
            let context = self.chain.pool_context()?;
            self.pool.on_head(&change, &context);
        }
        Ok(())
    }

    pub(super) fn chain_error(&self, source: impl Into<ChainError>) -> NetworkError {
        NetworkError::Chain { replica: self.id, source: source.into() }
    }
}
