//! The network: replicas, links and virtual time in one value that can be stepped, cloned and compared.

mod assumed_block;
pub(super) mod builder;
pub(super) mod chain_options;
pub(super) mod checkpoint;
pub(super) mod consensus_setup;
pub(super) mod dev_accounts;
mod dropping;
pub(super) mod envelope;
pub(super) mod environment;
pub(super) mod error;
pub(super) mod genesis_stakes;
mod head_log;
pub(super) mod invariant;
mod leading;
pub(super) mod links;
pub(super) mod offence;
pub(super) mod produce;
pub(super) mod production;
pub(super) mod records;
pub(super) mod replica;
pub(super) mod rewind;
pub(super) mod run;
pub(super) mod scripted;
mod skipping;
pub(super) mod sleeps;
pub(super) mod step;
pub(super) mod stopping;
pub(super) mod validator_action;

use std::sync::Arc;

use self::{
    builder::NetworkBuilder,
    consensus_setup::ConsensusSetup,
    dev_accounts::NetworkKeys,
    environment::Environment,
    error::{NetworkError, UnknownReplica},
    invariant::Invariant,
    production::Production,
    replica::Replica,
};
use super::{
    engine::{clock::SimTime, digest::RunDigest},
    faults::plan::FaultPlan,
    trace::{Incident, Trace, TraceEntry},
};
use crate::{
    consensus::{Authenticator, ConsensusConfig, Event, Protocol, ReplicaId, ValidatorSet},
    primitives::{Address, B256, Height, KeyPair, Timestamp},
};

/// A whole network. Cloning costs the same at any length of chain, pool and queue; clones are independent.
///
/// ```
/// use chainbox::{primitives::Height, sim::Network};
/// let mut network = Network::builder().with_validators(4).with_seed(7).build()?;
/// network.run_to_height(Height::new(10))?;
/// assert_eq!(network.replicas().len(), 4);
/// # Ok::<(), chainbox::sim::NetworkError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Network {
    pub(super) replicas: Vec<Replica>,
    primary: ReplicaId,
    pub(super) env: Environment,
    pub(super) setup: Arc<ConsensusSetup>,
    keys: Arc<NetworkKeys>,
    /// Checked after every step.
    invariants: Vec<Box<dyn Invariant>>,
    /// Second processes of replicas whose key runs twice; their slots follow those of all replicas.
    pub(super) twins: Vec<Replica>,
}

/// The parts of a network that has not started.
pub(super) struct NetworkStart {
    pub(super) replicas: Vec<Replica>,
    pub(super) primary: ReplicaId,
    pub(super) env: Environment,
    pub(super) setup: ConsensusSetup,
    pub(super) keys: NetworkKeys,
}

impl Network {
    /// Returns a builder with default options.
    pub fn builder() -> NetworkBuilder {
        NetworkBuilder::default()
    }

    pub(super) fn start(
        start: NetworkStart,
        invariants: Vec<Box<dyn Invariant>>,
        plan: FaultPlan,
    ) -> Result<Self, NetworkError> {
        let NetworkStart { mut replicas, primary, mut env, setup, keys } = start;
        for replica in &mut replicas {
            replica.handle(Event::Start, &mut env)?;
        }
        let (setup, keys) = (Arc::new(setup), Arc::new(keys));
        let mut network = Self { replicas, primary, env, setup, keys, invariants, twins: Vec::new() };
        if !plan.is_empty() {
            network.schedule(plan)?;
        }
        Ok(network)
    }

    /// Returns all replicas, by number.
    pub fn replicas(&self) -> &[Replica] {
        &self.replicas
    }

    /// Returns the replica with this number.
    ///
    /// # Errors
    /// [`UnknownReplica`].
    pub fn replica(&self, id: ReplicaId) -> Result<&Replica, UnknownReplica> {
        let count = self.replicas.len();
        self.replicas.get(id.index()).ok_or(UnknownReplica { replica: id, count })
    }

    /// Returns the replica whose chain is durable, if any is; see [`NetworkBuilder::with_primary`].
    pub fn primary(&self) -> &Replica {
        &self.replicas[self.primary.index()]
    }

    /// Returns when blocks are made.
    pub const fn production(&self) -> Production {
        self.env.production
    }

    /// Returns the protocol and its parameters.
    pub fn config(&self) -> &ConsensusConfig {
        &self.setup.config
    }

    /// Returns the authenticator of the replicas' seals.
    pub fn authenticator(&self) -> &Authenticator {
        &self.setup.authenticator
    }

    /// Returns the validators of genesis.
    pub fn genesis_validators(&self) -> &ValidatorSet {
        &self.setup.validators
    }

    /// Returns the addresses of the funded accounts of [`NetworkBuilder::with_dev_accounts`](builder::NetworkBuilder::with_dev_accounts),
    /// in the order of derivation.
    pub fn accounts(&self) -> impl ExactSizeIterator<Item = Address> {
        self.keys.accounts.iter().map(KeyPair::address)
    }

    /// Returns the keys that the network was built with.
    pub(crate) fn keys(&self) -> &NetworkKeys {
        &self.keys
    }

    /// Returns whether a replica never misbehaved so far; invariants judge honest replicas only.
    pub fn is_honest(&self, replica: ReplicaId) -> bool {
        self.env.faults.as_ref().is_none_or(|faults| !faults.dishonest.contains(&replica))
    }

    /// Returns the virtual time.
    pub const fn now(&self) -> SimTime {
        self.env.scheduler.now()
    }

    /// Returns the block clock's time.
    pub const fn timestamp(&self) -> Timestamp {
        self.env.timestamp()
    }

    /// Returns the number of processed events.
    pub const fn steps(&self) -> u64 {
        self.env.steps
    }

    /// Returns the digest of the run so far, with the state of every replica; `None` when the network was built without.
    pub fn digest(&self) -> Option<B256> {
        let mut digest = self.env.digest.clone()?;
        record_states(&mut digest, &self.replicas);
        Some(digest.value())
    }

    /// Returns the trace recorded so far; `None` when the network was built without one.
    pub fn trace(&self) -> Option<Trace> {
        let protocols = self.replicas.iter().map(|replica| (replica.id(), replica.protocol()));
        Some(self.env.recorder.as_ref()?.trace(self.now(), protocols))
    }

    /// Iterates over the recorded entries without building a trace; empty when none is recorded.
    pub fn recorded(&self) -> impl DoubleEndedIterator<Item = &TraceEntry> {
        self.env.recorder.iter().flat_map(|recorder| recorder.entries().iter())
    }

    /// Adds an incident to the trace, if one is recorded.
    pub fn note(&mut self, incident: Incident) {
        let now = self.now();
        if let Some(recorder) = &mut self.env.recorder {
            recorder.incident(now, incident);
        }
    }

    /// Returns the lowest head of all replicas.
    pub fn lowest_height(&self) -> Height {
        self.replicas.iter().map(|replica| replica.head().height).min().unwrap_or_default()
    }

    /// Returns whether every replica has the same head.
    pub fn is_agreed(&self) -> bool {
        self.replicas.windows(2).all(|pair| pair[0].head() == pair[1].head())
    }

    pub(super) fn replica_mut(&mut self, id: ReplicaId) -> Result<&mut Replica, UnknownReplica> {
        let count = self.replicas.len();
        self.replicas.get_mut(id.index()).ok_or(UnknownReplica { replica: id, count })
    }

    /// Returns the process at `slot`, a replica or a twin, with the environment that it acts on.
    pub(super) fn slot_mut(&mut self, slot: ReplicaId) -> Option<(&mut Replica, &mut Environment)> {
        let process = match slot.index().checked_sub(self.replicas.len()) {
            None => self.replicas.get_mut(slot.index()),
            Some(index) => self.twins.get_mut(index),
        };
        process.map(|process| (process, &mut self.env))
    }

    /// Returns the slots of a replica: its own, and its twin's if its key runs twice.
    pub(super) fn slots_of(&self, replica: ReplicaId) -> impl Iterator<Item = ReplicaId> + use<> {
        let twin = self.env.faults.as_ref().and_then(|faults| faults.twin(replica));
        [Some(replica), twin].into_iter().flatten()
    }
}

fn record_states(digest: &mut RunDigest, replicas: &[Replica]) {
    for replica in replicas {
        digest.record("state", |out| {
            out.u32(replica.id().get());
            out.hash(&replica.protocol().digest());
            out.hash(&replica.chain().head().hash());
        });
    }
}
