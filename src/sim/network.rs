//! Replicas, links and virtual time: one value that can be stepped, cloned and compared.

pub(super) mod builder;
pub(super) mod chain_options;
pub(super) mod envelope;
pub(super) mod environment;
pub(super) mod error;
pub(super) mod genesis_stakes;
pub(super) mod links;
pub(super) mod produce;
pub(super) mod production;
pub(super) mod records;
pub(super) mod replica;
pub(super) mod run;
pub(super) mod scripted;
pub(super) mod shared;
pub(super) mod step;
pub(super) mod validator_action;

use std::sync::Arc;

use self::{builder::NetworkBuilder, environment::World, error::NetworkError, replica::Replica, shared::Shared};
use super::{
    check::invariant::Invariant,
    engine::{clock::SimTime, digest::RunDigest},
    faults::plan::FaultPlan,
    trace::{Incident, Trace, TraceEntry},
};
use crate::{
    consensus::{Authenticator, ConsensusConfig, Event, Protocol, ReplicaId, ValidatorSet},
    primitives::{B256, Height, Timestamp},
};

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

    pub(super) fn replica_mut(&mut self, id: ReplicaId) -> Result<&mut Replica, NetworkError> {
        let count = self.replicas.len();
        self.replicas.get_mut(id.index()).ok_or(NetworkError::UnknownReplica { replica: id, count })
    }

    /// The machine with this number: a replica, or the second machine of one.
    pub(super) fn machine_mut(&mut self, slot: ReplicaId) -> Option<&mut Replica> {
        match slot.index().checked_sub(self.replicas.len()) {
            None => self.replicas.get_mut(slot.index()),
            Some(place) => self.twins.get_mut(place),
        }
    }
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
