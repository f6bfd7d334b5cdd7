//! Driving a network: transactions, admin commands, blocks on demand, snapshots and dumps.
//!
//! [`Network::produce_block`] is how the development node makes a block.

use core::cmp::Reverse;
use std::sync::Arc;

use super::{
    Network,
    envelope::Envelope,
    error::{NetworkError, UnknownReplica},
    production::{BlockOrder, Production},
    replica::{Replica, process::ProcessState},
};
use crate::{
    chain::{
        AddOutcome, BlockAttributes, ChainDump, ChainError, ExecutedBlock, Intervention, InvalidTransaction, LoadError,
        LoadSummary, Pool,
    },
    consensus::{Admin, AnyProtocol, BlockId, ConsensusMessage, Event, RecordValue, Records, ReplicaId},
    primitives::{Bytes, Height, Transaction},
    sim::{engine::clock::BlockClock, trace::Incident},
};

/// A block that was made on demand and is every replica's head.
#[derive(Clone, Debug)]
pub struct ProducedBlock {
    /// The block.
    pub block: ExecutedBlock,
    /// Replica that built it.
    pub by: ReplicaId,
    /// Candidates that were left out, with the reason.
    pub left_out: Vec<(Arc<Transaction>, InvalidTransaction)>,
}

impl Network {
    /// Adds a transaction to a replica's pool and sends it to the others. Where blocks are made on demand, it has arrived there
    /// when this returns, so that the pools get transactions in the order in which they were submitted.
    ///
    /// # Errors
    /// [`NetworkError::Pool`] when the pool refuses it, [`NetworkError::Down`] when the replica does not run, and as
    /// [`Network::step`].
    pub fn submit(&mut self, transaction: Arc<Transaction>, replica: ReplicaId) -> Result<AddOutcome, NetworkError> {
        if self.replica(replica)?.process() != ProcessState::Running {
            return Err(NetworkError::Down { replica });
        }
        self.env.record("submit", |out| {
            out.u32(replica.get());
            out.hash(&transaction.hash());
        });
        let added = self.replica_mut(replica)?.submit(transaction.clone())?;
        self.env.broadcast(replica, &Envelope::Transaction(transaction));
        if self.env.production == Production::OnDemand {
            self.deliver_transactions()?;
        }
        Ok(added)
    }

    /// Runs until the transactions on the links have arrived.
    fn deliver_transactions(&mut self) -> Result<(), NetworkError> {
        let by = self.env.transactions_arrive_by;
        while self.env.transactions_travelling > 0 && self.next_at().is_some_and(|next| next <= by) {
            self.step()?;
        }
        Ok(())
    }

    /// Puts a message on the link from `from` to `to`, as if `from` had sent it: for messages that no protocol would send.
    ///
    /// # Errors
    /// [`UnknownReplica`].
    pub fn inject(&mut self, from: ReplicaId, to: ReplicaId, message: ConsensusMessage) -> Result<(), UnknownReplica> {
        self.replica(from)?;
        self.replica(to)?;
        self.env.send(from, to, Envelope::Message(message));
        Ok(())
    }

    /// Passes an admin command to a replica.
    ///
    /// # Errors
    /// [`NetworkError::Refused`] when the protocol rejects it, [`NetworkError::Down`] when the replica does not run.
    pub fn admin(&mut self, admin: Admin, replica: ReplicaId) -> Result<(), NetworkError> {
        let count = self.replicas.len();
        let chosen = self.replicas.get_mut(replica.index());
        let chosen = chosen.ok_or(UnknownReplica { replica, count })?;
        if chosen.process() != ProcessState::Running {
            return Err(NetworkError::Down { replica });
        }
        let rejected = chosen.counters().rejected;
        chosen.handle(Event::Admin(admin), &mut self.env)?;
        match chosen.last_rejection() {
            Some(rejection) if chosen.counters().rejected > rejected => Err(NetworkError::Refused(rejection.clone())),
            _ => self.flush(),
        }
    }

    /// Makes exactly one block now, on demand, and runs until every replica adopted it.
    ///
    /// The producer is the replica whose turn skips fewest others, of those the one with the greatest difficulty, then the lowest
    /// number.
    ///
    /// # Errors
    /// [`NetworkError::NobodyBuilds`], [`NetworkError::TooEarly`], [`NetworkError::NotAdopted`], and as [`Network::settle`].
    pub fn produce_block(&mut self, order: &BlockOrder) -> Result<ProducedBlock, NetworkError> {
        self.settle()?;
        let height = self.primary().head().height.next();
        let maker = self.next_producer().ok_or(NetworkError::NobodyBuilds { height })?;
        let (made, left_out) = self.replicas[maker.index()].produce(order, &mut self.env)?;
        if order.transactions.is_none() {
            // The other pools, still at the parent, would offer the same transactions in their turn.
            let mut others = self.replicas.iter_mut().filter(|replica| replica.id() != maker);
            others.try_for_each(|replica| replica.refuse(&left_out))?;
        }
        self.settle()?;
        match self.replicas.iter().find(|replica| replica.head() != made) {
            None => {
                let block = self.replicas[maker.index()].chain().head().clone();
                Ok(ProducedBlock { block, by: maker, left_out })
            }
            Some(behind) => {
                let reason = behind.last_rejection().map_or_else(|| "it is behind".to_owned(), ToString::to_string);
                Err(NetworkError::NotAdopted { height, reason: format!("{}: {reason}", behind.id()) })
            }
        }
    }

    /// Returns the attributes of the block that [`Network::produce_block`] makes next, at the earliest time that the protocol
    /// allows; `None` when no replica waits to make one.
    pub fn next_attributes(&self) -> Option<BlockAttributes> {
        self.replicas.get(self.next_producer()?.index())?.wanted_attributes()
    }

    fn next_producer(&self) -> Option<ReplicaId> {
        let wanting = self.replicas.iter().filter_map(|replica| {
            // The earliest turn first, then the greatest difficulty.
            Some((replica.id(), (Reverse(replica.protocol().turns_skipped()), replica.wanted()?.difficulty)))
        });
        let heaviest = wanting.reduce(|best, other| if other.1 > best.1 { other } else { best });
        heaviest.map(|(maker, _)| maker)
    }

    /// Applies an intervention to every replica's newest state; the next block records it.
    ///
    /// # Errors
    /// [`NetworkError::Chain`] when genesis does not allow it.
    pub fn intervene(&mut self, intervention: &Intervention) -> Result<(), NetworkError> {
        let Some((primary, others)) = self.replicas.split_first_mut() else { return Ok(()) };
        let failed =
            |replica: ReplicaId| move |error| NetworkError::Chain { replica, source: ChainError::Intervention(error) };
        primary.chain_mut().intervene(intervention.clone()).map_err(failed(primary.id()))?;
        for replica in others {
            if !replica.chain_mut().copy_overrides_from(primary.chain()) {
                let id = replica.id();
                replica.chain_mut().intervene(intervention.clone()).map_err(failed(id))?;
            }
        }
        Ok(())
    }

    /// Changes every pool, such as after an intervention in a nonce.
    pub fn for_each_pool(&mut self, mut change: impl FnMut(&mut Pool)) {
        for replica in &mut self.replicas {
            change(replica.pool_mut());
        }
    }

    /// Restores a clone of this network, in the durable store too.
    ///
    /// # Errors
    /// [`NetworkError::Chain`] when the store fails.
    pub fn restore(&mut self, snapshot: &Self) -> Result<(), NetworkError> {
        let records = snapshot.replicas.iter().map(Replica::records);
        self.change_chain(records.collect(), |replicas| {
            replicas.iter_mut().zip(&snapshot.replicas).try_for_each(|(replica, earlier)| replica.restore(earlier))
        })?;
        self.env = snapshot.env.clone();
        (self.invariants, self.twins) = (snapshot.invariants.clone(), snapshot.twins.clone());
        Ok(())
    }

    /// Returns this network as built at genesis, with empty pools. It writes nothing durable; [`Network::restore`] switches to it.
    ///
    /// # Errors
    /// [`NetworkError::Chain`] when the genesis state was pruned, [`NetworkError::Consensus`].
    pub fn at_genesis(&self) -> Result<Self, NetworkError> {
        let genesis = self.primary().chain().genesis().block();
        let mut env = self.env.clone();
        env.forget_all();
        env.clock = BlockClock::starting_at(genesis.timestamp());
        let mut replicas = Vec::with_capacity(self.replicas.len());
        for (replica, signer) in self.replicas.iter().zip(&self.setup.signers) {
            let (id, pool) = (replica.id(), Pool::new(*replica.pool().config()));
            let failed = |error| NetworkError::Chain { replica: id, source: LoadError::Dump(error).into() };
            let chain = replica.chain().at_genesis().map_err(failed)?.detached();
            let protocol = self.setup.protocol_at(&chain, BlockId::of(genesis), signer.clone(), None)?;
            let mut replica = Replica::new(id, replica.address(), protocol, chain, pool, None);
            replica.handle(Event::Start, &mut env)?;
            replicas.push(replica);
        }
        let (setup, keys, invariants) = (self.setup.clone(), self.keys.clone(), self.invariants.clone());
        Ok(Self { replicas, primary: self.primary, env, setup, keys, invariants, twins: Vec::new() })
    }

    /// Returns the primary's record of its head, for [`Network::load`]; `None` at genesis.
    pub fn head_record(&self) -> Option<Bytes> {
        self.primary().head_record().map(RecordValue::bytes)
    }

    /// Replaces every replica's chain by that of a dump, without execution. Queued events are discarded; pools stay.
    ///
    /// `head_record` is [`Network::head_record`] of the network that the dump is of.
    ///
    /// # Errors
    /// [`NetworkError::StoredRecords`] when the record is not of the dump's head, [`NetworkError::Consensus`] when it is
    /// refused, [`NetworkError::Chain`] when the dump is; nothing is changed then.
    pub fn load(&mut self, dump: &ChainDump, head_record: Option<&[u8]>) -> Result<LoadSummary, NetworkError> {
        let height = dump.blocks.last().map_or(0, |block| block.number);
        let head = BlockId { height: Height::new(height), hash: dump.head };
        let protocols = self.protocols_at(head, head_record)?;
        self.env.forget_all();
        let records = vec![self.head_records(head_record); protocols.len()];
        let mut summary = LoadSummary::default();
        self.change_chain(records, |replicas| {
            let mut pairs = replicas.iter_mut().zip(protocols);
            let Some((primary, protocol)) = pairs.next() else { return Ok(()) };
            // The dump is checked once: the others take the primary's chain.
            summary = primary.load(dump, protocol, head_record)?;
            let loaded = primary.chain().clone();
            pairs.try_for_each(|(replica, protocol)| replica.switch_chain(&loaded, protocol, head_record))
        })?;
        self.start_on_given_chain("its chain was loaded from a dump")?;
        Ok(summary)
    }

    /// Returns each replica's protocol at a head, from the protocol's record of it.
    pub(super) fn protocols_at(
        &self,
        head: BlockId,
        head_record: Option<&[u8]>,
    ) -> Result<Vec<AnyProtocol>, NetworkError> {
        let chain = self.primary().chain();
        let signers = self.setup.signers.iter();
        signers.map(|signer| self.setup.protocol_at(chain, head, signer.clone(), head_record)).collect()
    }

    /// Returns the records of a replica that knows its head alone.
    pub(super) fn head_records(&self, head_record: Option<&[u8]>) -> Records {
        let key = Bytes::from_static(self.setup.config.info().record_keys.head);
        head_record.map(|record| Records::from([(key, Bytes::copy_from_slice(record))])).unwrap_or_default()
    }

    /// Starts every replica on the chain that it was given, and notes how it got it.
    pub(super) fn start_on_given_chain(&mut self, how: &str) -> Result<(), NetworkError> {
        for replica in (0..).take(self.replicas.len()) {
            self.note(Incident::Altered { replica, how: how.to_owned() });
        }
        for replica in &mut self.replicas {
            replica.handle(Event::Start, &mut self.env)?;
        }
        Ok(())
    }

    /// Returns an independent copy that writes nothing durable.
    #[must_use]
    pub fn fork(&self) -> Self {
        let replicas = self.replicas.iter().map(Replica::forked).collect();
        Self { replicas, twins: self.twins.iter().map(Replica::forked).collect(), ..self.clone() }
    }

    /// Takes every replica elsewhere, with what each of them keeps there; nothing waits to be written when that fails but what
    /// waited before.
    pub(super) fn change_chain(
        &mut self,
        records: Vec<Records>,
        change: impl FnOnce(&mut [Replica]) -> Result<(), NetworkError>,
    ) -> Result<(), NetworkError> {
        let Some(durable) = self.primary().durable.clone() else { return change(&mut self.replicas) };
        let waiting = durable.waiting_now();
        let staged = (0..).map(ReplicaId::new).zip(&records);
        let mut staged = staged.map(|(replica, records)| durable.replace(replica, records.iter()));
        let changed = staged.try_for_each(|staged| staged).map_err(NetworkError::from);
        let changed = changed.and_then(|()| change(&mut self.replicas));
        if changed.is_err() {
            durable.roll_back(waiting);
        }
        changed
    }
}
