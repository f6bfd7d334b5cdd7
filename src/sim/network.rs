//! Replicas, links and virtual time: one value that can be stepped, cloned and compared.

use core::{cmp::Reverse, time::Duration};
use std::sync::Arc;

use super::{
    FaultPlan, Invariant, NetworkBuilder, NetworkError, Process, Replica, RunDigest, SimTime,
    plan::FaultId,
    trace::{Incident, Trace, TraceEntry},
    world::{Happening, Parcel, World},
};
use crate::{
    chain::{Added, Chain, ChainDump, ExecutedBlock, Intervention, InvalidTransaction, Pool},
    consensus::{
        Admin, Authenticator, BlockId, ConsensusConfig, Event, Machine, Message, Protocol, Records, ReplicaId, Signer,
        ValidatorSet,
    },
    primitives::{B256, Gas, Height, Timestamp, Transaction},
};

/// A replica's whole state goes into the run's digest every this many steps, one replica after the other.
const STATE_DIGEST_EVERY: u64 = 2_048;
/// How much virtual time a network on demand may take to come to rest when its timers always run.
const REST_MAX: Duration = Duration::from_secs(3_600);

/// A whole network. A clone costs the same at any length of chain, pool and queue, and goes its own way from there.
///
/// ```
/// use chainbox::sim::Network;
/// let mut network = Network::builder().with_validators(4).with_seed(7).build()?;
/// network.run_to_height(10)?;
/// assert_eq!(network.replicas().len(), 4);
/// # Ok::<(), chainbox::sim::NetworkError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Network {
    pub(super) replicas: Vec<Replica>,
    pub(super) world: World,
    pub(super) shared: Arc<Shared>,
    /// Asked after every step.
    invariants: Vec<Box<dyn Invariant>>,
    /// Second machines of replicas whose key runs on two.
    pub(super) twins: Vec<Replica>,
}

/// What never changes.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) config: ConsensusConfig,
    pub(super) validators: ValidatorSet,
    pub(super) authenticator: Authenticator,
    /// Who each replica seals as; `None` for an observer.
    pub(super) signers: Vec<Option<Signer>>,
}

impl Shared {
    /// A replica's protocol at the head of a chain that was opened, with all that the replica had promised, and the records
    /// that it goes on from and still needs.
    ///
    /// It may have stood elsewhere when the process ended, a block behind the primary or ahead of it; the stored chain is the
    /// primary's. It then takes over what the primary knows of the chain, and keeps its own promises.
    pub(super) fn recovered_at(
        &self,
        chain: &Chain,
        head: BlockId,
        replica: ReplicaId,
        (own, of_primary): (&Records, &Records),
    ) -> Result<(Machine, Records), NetworkError> {
        let signer = self.signers.get(replica.index()).cloned().flatten();
        if own.is_empty() && of_primary.is_empty() {
            return Ok((self.machine_at(chain, head, signer, None)?, Records::new()));
        }
        let kind = self.config.kind();
        let mut stands_at = None;
        let ways: [&dyn Fn() -> Records; 3] = [
            &|| own.clone(),
            &|| kind.promises_on(own, of_primary),
            // Of two branches of one weight the other may have won, where the head is not kept by name.
            &|| kind.promises_at_head(own, of_primary),
        ];
        for way in ways {
            let mut records = way();
            let (genesis, validators) = (chain.genesis().block(), self.validators.clone());
            let signer = signer.clone();
            let machine = self
                .config
                .recover(genesis, validators, &records, self.authenticator.clone(), signer)
                .map_err(|source| NetworkError::StoredRecords { replica, source })?;
            if machine.head() == head {
                records.retain(|key, _| machine.needs(key));
                return Ok((machine, records));
            }
            stands_at = stands_at.or(Some(machine.head()));
        }
        Err(NetworkError::OtherHead { got: stands_at.unwrap_or_default(), want: head })
    }

    /// A replica's protocol at the chain's head: by the record that was kept with it, or at genesis without one.
    pub(super) fn machine_at(
        &self,
        chain: &Chain,
        head: BlockId,
        signer: Option<Signer>,
        head_record: Option<&[u8]>,
    ) -> Result<Machine, NetworkError> {
        let authenticator = self.authenticator.clone();
        let machine = match head_record {
            Some(record) => self.config.restore(record, authenticator, signer)?,
            None => self.config.start(chain.genesis().block(), self.validators.clone(), authenticator, signer)?,
        };
        if machine.head() == head {
            Ok(machine)
        } else {
            Err(NetworkError::OtherHead { got: machine.head(), want: head })
        }
    }
}

/// One thing that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// When.
    pub at: SimTime,
    /// To whom.
    pub replica: ReplicaId,
    /// What: `message`, `transaction`, `block-request`, `block-response`, `judgement`, `timer`, and under faults
    /// `departure`, `written`, `fault-begins` or `fault-ends`.
    pub label: &'static str,
}

/// How the next block is to be made, where the driver has a wish; everything else is as usual.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockOrder {
    /// Its time; by default the later of the earliest time allowed and the block clock.
    pub timestamp: Option<Timestamp>,
    /// Gas limit to move towards.
    pub gas_limit: Option<Gas>,
    /// Changes by hand that it records.
    pub interventions: Vec<Intervention>,
    /// Only these transactions, in this order, instead of the pool's best.
    pub transactions: Option<Vec<Arc<Transaction>>>,
}

/// A block that was made on demand and is every replica's head.
#[derive(Clone, Debug)]
pub struct Produced {
    /// The block.
    pub block: ExecutedBlock,
    /// Whose it is.
    pub by: ReplicaId,
    /// Candidates that were left out, with why.
    pub left_out: Vec<(Arc<Transaction>, InvalidTransaction)>,
}

/// Set-up and views.
impl Network {
    /// Starts to describe a network.
    pub fn builder() -> NetworkBuilder {
        NetworkBuilder::default()
    }

    pub(super) fn start(
        mut replicas: Vec<Replica>,
        mut world: World,
        shared: Shared,
        invariants: Vec<Box<dyn Invariant>>,
        plan: FaultPlan,
    ) -> Result<Self, NetworkError> {
        for replica in &mut replicas {
            replica.handle(Event::Start, &mut world)?;
        }
        let mut network = Self { replicas, world, shared: Arc::new(shared), invariants, twins: Vec::new() };
        if !plan.is_empty() {
            network.schedule(plan)?;
        }
        Ok(network)
    }

    /// All replicas, by number.
    pub fn replicas(&self) -> &[Replica] {
        &self.replicas
    }

    /// The replica with this number.
    ///
    /// # Errors
    /// [`NetworkError::UnknownReplica`].
    pub fn replica(&self, id: ReplicaId) -> Result<&Replica, NetworkError> {
        let count = self.replicas.len();
        self.replicas.get(id.index()).ok_or(NetworkError::UnknownReplica { replica: id, count })
    }

    /// Replica 0: the one whose chain is durable and that a node serves.
    pub fn primary(&self) -> &Replica {
        &self.replicas[0]
    }

    /// The protocol and its parameters.
    pub fn config(&self) -> &ConsensusConfig {
        &self.shared.config
    }

    /// Who tells whose seals are whose.
    pub fn authenticator(&self) -> &Authenticator {
        &self.shared.authenticator
    }

    /// The validators of genesis.
    pub fn genesis_validators(&self) -> &ValidatorSet {
        &self.shared.validators
    }

    /// Whether a replica never misbehaved so far: what it promises must hold.
    pub fn is_honest(&self, replica: ReplicaId) -> bool {
        self.world.trouble.as_ref().is_none_or(|trouble| !trouble.dishonest.contains(&replica))
    }

    /// Virtual time.
    pub const fn now(&self) -> SimTime {
        self.world.scheduler.now()
    }

    /// What the block clock shows.
    pub const fn timestamp(&self) -> Timestamp {
        self.world.timestamp()
    }

    /// Things that happened so far.
    pub const fn steps(&self) -> u64 {
        self.world.steps
    }

    /// Fingerprint of the run so far, with the state of every replica; `None` when the network was built without.
    pub fn digest(&self) -> Option<B256> {
        let mut digest = self.world.digest.clone()?;
        record_states(&mut digest, &self.replicas);
        Some(digest.value())
    }

    /// What was recorded so far; `None` when the network was built without a trace.
    pub fn trace(&self) -> Option<Trace> {
        let machines = self.replicas.iter().map(|replica| (replica.id(), replica.machine()));
        Some(self.world.recorder.as_ref()?.trace(self.now(), machines))
    }

    /// What was recorded so far, entry by entry, without making a trace of it; nothing when none is recorded.
    pub fn recorded(&self) -> impl DoubleEndedIterator<Item = &TraceEntry> {
        self.world.recorder.iter().flat_map(|recorder| recorder.entries().iter())
    }

    /// Puts a note into the trace, if one is recorded.
    pub fn note(&mut self, incident: Incident) {
        let now = self.now();
        if let Some(recorder) = &mut self.world.recorder {
            recorder.incident(now, incident);
        }
    }

    /// The head of the replica that is furthest behind.
    pub fn lowest_height(&self) -> Height {
        self.replicas.iter().map(|replica| replica.head().height).min().unwrap_or_default()
    }

    /// Whether every replica has the same head.
    pub fn is_agreed(&self) -> bool {
        self.replicas.windows(2).all(|pair| pair[0].head() == pair[1].head())
    }
}

/// Letting things happen.
impl Network {
    /// Lets the next thing happen; `None` when nothing is left to.
    ///
    /// # Errors
    /// [`NetworkError`]: an invariant does not hold any more, a chain failed, or the queue spins.
    pub fn step(&mut self) -> Result<Option<Step>, NetworkError> {
        let Some(happening) = self.world.scheduler.next()? else { return Ok(None) };
        let step = self.describe(&happening);
        self.world.record_happening(&step, &happening);
        self.happen(happening)?;
        self.world.steps += 1;
        if self.world.steps.is_multiple_of(STATE_DIGEST_EVERY)
            && let Some(digest) = &mut self.world.digest
        {
            let turn = (self.world.steps / STATE_DIGEST_EVERY) as usize % self.replicas.len().max(1);
            record_states(digest, &self.replicas[turn..=turn]);
        }
        if !self.invariants.is_empty() {
            self.check(&step)?;
        }
        if let Some(records) = self.primary().durable.as_ref().filter(|records| records.is_full()) {
            records.flush()?;
        }
        Ok(Some(step))
    }

    /// Asks every invariant about a step.
    fn check(&mut self, step: &Step) -> Result<(), NetworkError> {
        let mut invariants = core::mem::take(&mut self.invariants);
        let outcome = invariants.iter_mut().try_for_each(|invariant| invariant.on_step(self, step));
        self.invariants = invariants;
        outcome.map_err(|violation| NetworkError::Violated(Box::new(violation)))
    }

    /// Lets `duration` of virtual time pass.
    ///
    /// # Errors
    /// As [`Network::step`].
    pub fn run_for(&mut self, duration: Duration) -> Result<(), NetworkError> {
        self.run_to(self.now().plus(duration))
    }

    /// Lets everything happen that happens up to `until`, and moves time there.
    ///
    /// # Errors
    /// As [`Network::step`].
    pub fn run_to(&mut self, until: SimTime) -> Result<(), NetworkError> {
        while self.world.scheduler.next_at().is_some_and(|next| next <= until) {
            self.step()?;
        }
        self.world.scheduler.advance(until);
        self.flush()
    }

    /// Makes durable what the replicas keep and no block's batch has taken along, before whoever drives the network hears what
    /// came of it; not while some are ahead of the primary, for their promises are worth nothing without their blocks.
    fn flush(&self) -> Result<(), NetworkError> {
        match &self.primary().durable {
            Some(records) if self.is_agreed() => Ok(records.flush()?),
            _ => Ok(()),
        }
    }

    /// When the next thing happens; `None` when nothing is left to.
    pub fn next_at(&self) -> Option<SimTime> {
        self.world.scheduler.next_at()
    }

    /// Goes on until `condition` holds, looking after every step, for at most `limit` of virtual time.
    ///
    /// # Errors
    /// [`NetworkError::TimedOut`], [`NetworkError::Stalled`], and as [`Network::step`].
    pub fn run_until(&mut self, limit: Duration, mut condition: impl FnMut(&Self) -> bool) -> Result<(), NetworkError> {
        let until = self.now().plus(limit);
        while !condition(self) {
            match self.world.scheduler.next_at() {
                None => return Err(NetworkError::Stalled { at: self.now(), height: self.lowest_height() }),
                Some(next) if next > until => {
                    return Err(NetworkError::TimedOut { at: until, height: self.lowest_height() });
                }
                Some(_) => self.step()?,
            };
        }
        self.flush()
    }

    /// Goes on until every replica's head is at `height` or above.
    ///
    /// # Errors
    /// [`NetworkError::Stalled`] when nothing is left to happen, and as [`Network::step`].
    pub fn run_to_height(&mut self, height: u64) -> Result<(), NetworkError> {
        let height = Height::new(height);
        self.run_until(Duration::MAX, |network| network.lowest_height() >= height)
    }

    /// Lets everything happen that is on its way, however much time that takes. For networks on demand, which come to rest.
    ///
    /// A protocol whose timers always run is at rest when every replica has the same head, one of them waits to be asked for
    /// the next block, and no transaction travels.
    ///
    /// # Errors
    /// [`NetworkError::TimedOut`] when such a protocol does not come to rest within an hour, and as [`Network::step`].
    pub fn settle(&mut self) -> Result<(), NetworkError> {
        if self.shared.config.never_rests() {
            return self.run_until(REST_MAX, Self::is_at_rest);
        }
        while self.step()?.is_some() {}
        self.flush()
    }

    fn is_at_rest(&self) -> bool {
        let head = self.primary().head();
        let is_wanted = |replica: &Replica| replica.wanted().is_some_and(|request| request.parent == head);
        self.world.transactions_travelling == 0 && self.is_agreed() && self.replicas.iter().any(is_wanted)
    }
}

/// Doing things to it.
impl Network {
    /// Gives a transaction to a replica's pool, which tells the others.
    ///
    /// # Errors
    /// [`NetworkError::Pool`] when the pool does not take it.
    pub fn submit(&mut self, transaction: Arc<Transaction>, replica: ReplicaId) -> Result<Added, NetworkError> {
        if self.replica(replica)?.process() != Process::Running {
            return Err(NetworkError::Down { replica });
        }
        self.world.record("submit", |out| {
            out.u32(replica.get());
            out.hash(&transaction.hash());
        });
        let added = self.replica_mut(replica)?.submit(transaction.clone())?;
        self.world.broadcast(replica, &Parcel::Transaction(transaction));
        Ok(added)
    }

    /// Puts a message on the link from `from` to `to`, as if `from` had sent it: misbehaviour that no protocol would show.
    ///
    /// # Errors
    /// [`NetworkError::UnknownReplica`].
    pub fn inject(&mut self, from: ReplicaId, to: ReplicaId, message: Message) -> Result<(), NetworkError> {
        self.replica(from)?;
        self.replica(to)?;
        self.world.send(from, to, Parcel::Message(message));
        Ok(())
    }

    /// Tells a replica what its operator wishes.
    ///
    /// # Errors
    /// [`NetworkError::Refused`] when it means nothing to the protocol.
    pub fn admin(&mut self, admin: Admin, replica: ReplicaId) -> Result<(), NetworkError> {
        let count = self.replicas.len();
        let chosen = self.replicas.get_mut(replica.index());
        let chosen = chosen.ok_or(NetworkError::UnknownReplica { replica, count })?;
        let rejected = chosen.counters().rejected;
        chosen.handle(Event::Admin(admin), &mut self.world)?;
        match chosen.last_rejection() {
            Some(rejection) if chosen.counters().rejected > rejected => Err(NetworkError::Refused(rejection.clone())),
            _ => self.flush(),
        }
    }

    /// Makes exactly one block now, on demand, and lets every replica adopt it.
    ///
    /// The maker is the one whose block weighs most, the first of them.
    ///
    /// # Errors
    /// [`NetworkError::NobodyBuilds`], [`NetworkError::TooEarly`], [`NetworkError::NotAdopted`], and as [`Network::step`].
    pub fn produce_block(&mut self, order: &BlockOrder) -> Result<Produced, NetworkError> {
        self.settle()?;
        let wanting = self.replicas.iter().filter_map(|replica| {
            // Whoever's turn comes first, and of those whose block weighs most.
            Some((replica.id(), (Reverse(replica.machine().turns_skipped()), replica.wanted()?.difficulty)))
        });
        let heaviest = wanting.reduce(|best, other| if other.1 > best.1 { other } else { best });
        let height = self.primary().head().height.next();
        let (maker, _) = heaviest.ok_or(NetworkError::NobodyBuilds { height })?;
        let (made, left_out) = self.replicas[maker.index()].produce(order, &mut self.world)?;
        self.settle()?;
        match self.replicas.iter().find(|replica| replica.head() != made) {
            None => {
                let block = self.replicas[maker.index()].chain().head().clone();
                Ok(Produced { block, by: maker, left_out })
            }
            Some(behind) => {
                let reason = behind.last_rejection().map_or_else(|| "it is behind".to_owned(), ToString::to_string);
                Err(NetworkError::NotAdopted { height, reason: format!("{}: {reason}", behind.id()) })
            }
        }
    }

    /// Changes every replica's newest state by hand; the next block records it.
    ///
    /// # Errors
    /// [`NetworkError::Chain`] when genesis does not allow it.
    pub fn intervene(&mut self, intervention: &Intervention) -> Result<(), NetworkError> {
        let Some((primary, others)) = self.replicas.split_first_mut() else { return Ok(()) };
        let failed = |replica: ReplicaId| move |source| NetworkError::Chain { replica, source };
        primary.chain_mut().intervene(intervention.clone()).map_err(failed(primary.id()))?;
        for replica in others {
            if !replica.chain_mut().follow_hand(primary.chain()) {
                let id = replica.id();
                replica.chain_mut().intervene(intervention.clone()).map_err(failed(id))?;
            }
        }
        Ok(())
    }

    /// Takes a transaction out of every pool, and answers it if the primary had it.
    pub fn drop_transaction(&mut self, hash: &B256) -> Option<Arc<Transaction>> {
        let mut dropped = self.replicas.iter_mut().map(|replica| replica.pool_mut().remove(hash));
        let of_primary = dropped.next().flatten();
        dropped.for_each(drop);
        of_primary
    }

    /// Changes every pool by hand, such as after an intervention in a nonce.
    pub fn for_each_pool(&mut self, mut change: impl FnMut(&mut Pool)) {
        for replica in &mut self.replicas {
            change(replica.pool_mut());
        }
    }

    /// Goes back (or over) to an earlier clone of this network, on the durable store too.
    ///
    /// # Errors
    /// [`NetworkError::Chain`] when the store fails.
    pub fn restore(&mut self, snapshot: &Self) -> Result<(), NetworkError> {
        let records = snapshot.replicas.iter().map(Replica::records);
        self.change_chain(records.collect(), |replicas| {
            replicas.iter_mut().zip(&snapshot.replicas).try_for_each(|(replica, earlier)| replica.restore(earlier))
        })?;
        self.world = snapshot.world.clone();
        (self.invariants, self.twins) = (snapshot.invariants.clone(), snapshot.twins.clone());
        Ok(())
    }

    /// What the primary's protocol keeps of its head, for [`Network::load`]; `None` at genesis.
    pub fn head_record(&self) -> Option<&[u8]> {
        self.primary().head_record()
    }

    /// Takes a dump's chain in place of every replica's, without executing; what is on its way is forgotten, pools stay.
    ///
    /// `head_record` is [`Network::head_record`] of the network that the dump is of.
    ///
    /// # Errors
    /// [`NetworkError::OtherHead`] when the record is not of the dump's head, [`NetworkError::Consensus`] when it is
    /// refused, [`NetworkError::Chain`] when the dump is; nothing is changed then.
    pub fn load(&mut self, dump: &ChainDump, head_record: Option<&[u8]>) -> Result<(), NetworkError> {
        let height = dump.blocks.last().map_or(0, |block| block.number);
        let head = BlockId { height: Height::new(height), hash: dump.head };
        let chain = self.primary().chain();
        let machines =
            self.shared.signers.iter().map(|signer| self.shared.machine_at(chain, head, signer.clone(), head_record));
        let machines: Vec<_> = machines.collect::<Result<_, _>>()?;
        self.world.forget_all();
        let key = self.shared.config.kind().head_key();
        let head_of = |record: &[u8]| Records::from([(key.to_vec(), record.to_vec())]);
        let records = head_record.map(head_of).unwrap_or_default();
        self.change_chain(vec![records; machines.len()], |replicas| {
            let mut pairs = replicas.iter_mut().zip(machines);
            pairs.try_for_each(|(replica, machine)| replica.load(dump, machine, head_record))
        })?;
        for replica in (0..).take(self.replicas.len()) {
            self.note(Incident::Altered { replica, how: "its chain was loaded from a dump".to_owned() });
        }
        for replica in &mut self.replicas {
            replica.handle(Event::Start, &mut self.world)?;
        }
        Ok(())
    }

    /// A clone that writes nothing durable, to try something on.
    #[must_use]
    pub fn fork(&self) -> Self {
        let replicas = self.replicas.iter().map(Replica::forked).collect();
        let (world, shared, invariants) = (self.world.clone(), self.shared.clone(), self.invariants.clone());
        Self { replicas, world, shared, invariants, twins: self.twins.iter().map(Replica::forked).collect() }
    }
}

impl Network {
    /// Takes every replica elsewhere, with what each of them keeps there; nothing waits to be written when that fails but what
    /// waited before.
    fn change_chain(
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

    pub(super) fn replica_mut(&mut self, id: ReplicaId) -> Result<&mut Replica, NetworkError> {
        let count = self.replicas.len();
        self.replicas.get_mut(id.index()).ok_or(NetworkError::UnknownReplica { replica: id, count })
    }

    fn describe(&self, happening: &Happening) -> Step {
        let (replica, label) = match happening {
            Happening::Arrival { to, parcel, .. } => (*to, parcel.label()),
            Happening::Departure { from, .. } => (*from, "departure"),
            Happening::Judgement { replica, .. } => (*replica, "judgement"),
            Happening::Timer { replica, .. } => (*replica, "timer"),
            Happening::Written { replica, .. } => (*replica, "written"),
            Happening::FaultBegins { index } => (self.victim(FaultId::new(*index as u64)), "fault-begins"),
            Happening::FaultEnds { fault } => (self.victim(*fault), "fault-ends"),
        };
        let replica = self.world.trouble.as_ref().map_or(replica, |trouble| trouble.identity(replica));
        Step { at: self.now(), replica, label }
    }

    /// To whom a fault of the plan happens; the first replica stands for the network.
    fn victim(&self, fault: FaultId) -> ReplicaId {
        let plan = self.world.trouble.as_ref().map(|trouble| &trouble.plan.faults);
        let fault = plan.and_then(|faults| faults.get(fault.get() as usize));
        fault.and_then(|fault| fault.what.replica()).unwrap_or_default()
    }

    /// The machine with this number: a replica, or the second machine of one.
    pub(super) fn machine_mut(&mut self, slot: ReplicaId) -> Option<&mut Replica> {
        match slot.index().checked_sub(self.replicas.len()) {
            None => self.replicas.get_mut(slot.index()),
            Some(place) => self.twins.get_mut(place),
        }
    }

    /// Holds back or loses what reaches a machine that does not run; otherwise gives it back.
    fn intercept(&mut self, happening: Happening) -> Option<Happening> {
        let slot = match &happening {
            Happening::Arrival { to, .. } => *to,
            Happening::Judgement { replica, .. }
            | Happening::Timer { replica, .. }
            | Happening::Written { replica, .. } => *replica,
            Happening::Departure { .. } | Happening::FaultBegins { .. } | Happening::FaultEnds { .. } => {
                return Some(happening);
            }
        };
        let is_transaction = matches!(&happening, Happening::Arrival { parcel: Parcel::Transaction(_), .. });
        let machine = self.machine_mut(slot)?;
        match machine.process() {
            Process::Running => return Some(happening),
            Process::Paused => return machine.stall(happening),
            Process::Down => {}
        }
        let travelling = &mut self.world.transactions_travelling;
        *travelling = travelling.saturating_sub(u64::from(is_transaction));
        None
    }

    fn happen(&mut self, happening: Happening) -> Result<(), NetworkError> {
        let happening = match &self.world.trouble {
            None => happening,
            Some(_) => match self.intercept(happening) {
                Some(happening) => happening,
                None => return Ok(()),
            },
        };
        match happening {
            Happening::FaultBegins { index } => self.on_fault_begins(index),
            Happening::FaultEnds { fault } => self.end_fault(fault),
            Happening::Departure { from, to, message } => {
                self.world.send(from, to, Parcel::Message(message));
                Ok(())
            }
            Happening::Written { replica, ticket, life } => {
                let (machine, world) = machine_of(&mut self.replicas, &mut self.twins, &mut self.world, replica);
                machine.on_written(ticket, life, world)
            }
            Happening::Timer { replica, timer, generation } => {
                let (machine, world) = machine_of(&mut self.replicas, &mut self.twins, &mut self.world, replica);
                machine.on_timer(timer, generation, world)
            }
            Happening::Judgement { replica, block } => {
                let (machine, world) = machine_of(&mut self.replicas, &mut self.twins, &mut self.world, replica);
                machine.judge(block, world)
            }
            Happening::Arrival { from, to, parcel } => {
                let (receiver, world) = machine_of(&mut self.replicas, &mut self.twins, &mut self.world, to);
                match parcel {
                    Parcel::Message(message) => receiver.handle(Event::Message { from, message }, world),
                    Parcel::Transaction(transaction) => {
                        world.transactions_travelling = world.transactions_travelling.saturating_sub(1);
                        receiver.on_transaction(transaction)
                    }
                    Parcel::BlockResponse(block) => receiver.handle(Event::BlockSynced { from, block }, world),
                    Parcel::BlockRequest(block) => {
                        if let Some(block) = receiver.serve(block) {
                            world.send(to, from, Parcel::BlockResponse(block));
                        }
                        Ok(())
                    }
                }
            }
        }
    }
}

/// The machine with this number, and its surroundings. Every number in the queue is one that was given out.
fn machine_of<'a>(
    replicas: &'a mut [Replica],
    twins: &'a mut [Replica],
    world: &'a mut World,
    slot: ReplicaId,
) -> (&'a mut Replica, &'a mut World) {
    let count = replicas.len();
    let machine = if slot.index() < count { &mut replicas[slot.index()] } else { &mut twins[slot.index() - count] };
    (machine, world)
}

fn record_states(digest: &mut RunDigest, replicas: &[Replica]) {
    for replica in replicas {
        digest.record("state", |out| {
            out.u32(replica.id().get());
            out.hash(&replica.machine().digest());
            out.hash(&replica.chain().head().hash());
        });
    }
}
