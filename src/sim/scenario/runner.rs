//! The runner of scenarios: operations by which a script drives its network and checks it.

use core::time::Duration;

use super::ScenarioError;
use crate::{
    consensus::{Admin, AnyProtocol, BlockId, ConsensusMessage, Protocol, ReplicaId, Signer},
    primitives::Height,
    sim::{
        engine::clock::SimTime,
        faults::plan::{Behaviour, FaultId, FaultKind, LinkEffect, LinkFault, Trigger},
        network::{Network, builder::NetworkBuilder, error::NetworkError, replica::Replica},
        trace::{Incident, Trace, TraceContent, TraceEntry, TracedEvent},
    },
};

/// Steps between two calls of the watcher.
const WATCH_EVERY: u64 = 256;

/// The network of a scenario, with the operations of its script. A watcher is called as the run advances.
pub struct ScenarioRunner<'a> {
    network: Network,
    seed: u64,
    watch: &'a mut dyn FnMut(&Network),
    window: (Option<SimTime>, Option<SimTime>),
}

impl core::fmt::Debug for ScenarioRunner<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("ScenarioRunner").field("network", &self.network).finish_non_exhaustive()
    }
}

/// Returns the replica number.
pub(super) const fn id(number: u32) -> ReplicaId {
    ReplicaId::new(number)
}

/// Returns a duration of this many milliseconds.
pub(super) const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

impl<'a> ScenarioRunner<'a> {
    pub(super) fn new(network: Network, seed: u64, watch: &'a mut dyn FnMut(&Network)) -> Self {
        Self { network, seed, watch, window: (None, None) }
    }

    pub(super) fn leave(self) -> (Network, Option<(SimTime, SimTime)>) {
        let (from, until) = self.window;
        let window = from.or(until).map(|_| (from.unwrap_or_default(), until.unwrap_or(self.network.now())));
        (self.network, window)
    }

    /// Returns the seed of the run.
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns the network.
    pub const fn network(&self) -> &Network {
        &self.network
    }

    /// Returns the network for changes.
    pub const fn network_mut(&mut self) -> &mut Network {
        &mut self.network
    }

    /// Returns the trace so far.
    pub fn trace(&self) -> Trace {
        self.network.trace().unwrap_or_else(|| Trace {
            header: Default::default(),
            entries: Vec::new(),
            outcome: Default::default(),
        })
    }

    /// Returns how many messages of this label were sent, and by how many replicas.
    pub fn sent(&self, wanted: &str) -> (usize, usize) {
        let sent = self.network.recorded().filter_map(|entry| match &entry.content {
            TraceContent::Sent { from, label, .. } if label == wanted => Some(*from),
            _ => None,
        });
        let mut senders: Vec<_> = sent.collect();
        let count = senders.len();
        senders.sort_unstable();
        senders.dedup();
        (count, senders.len())
    }

    /// Returns how many writes of a replica became durable.
    pub fn written(&self, number: u32) -> usize {
        let is_such = |entry: &&TraceEntry| matches!(&entry.content, TraceContent::Step { replica, event: TracedEvent::Persisted { .. }, .. } if *replica == number);
        self.network.recorded().filter(is_such).count()
    }

    /// Returns how often all replicas together passed a coverage point.
    pub fn marks(&self, wanted: &str) -> u64 {
        let marks = self.network.replicas().iter().flat_map(Replica::marks);
        marks.filter(|(name, _)| *name == wanted).map(|(_, count)| count).sum()
    }

    /// Returns the number of replicas.
    pub fn count(&self) -> u32 {
        self.network.replicas().len() as u32
    }

    /// Returns the replica with this number; the first one for a number that does not exist.
    pub fn replica(&self, number: u32) -> &Replica {
        self.network.replicas().get(number as usize).unwrap_or_else(|| self.network.primary())
    }

    /// Returns a replica's protocol.
    pub(super) fn protocol(&self, number: u32) -> &AnyProtocol {
        self.replica(number).protocol()
    }

    /// Returns a replica's head.
    pub fn head(&self, number: u32) -> BlockId {
        self.replica(number).head()
    }

    /// Returns the highest head of all.
    pub fn highest(&self) -> Height {
        self.network.replicas().iter().map(|replica| replica.head().height).max().unwrap_or_default()
    }

    /// Returns the block that a replica considers final.
    pub fn finalized(&self, number: u32) -> BlockId {
        self.protocol(number).finality().finalized
    }

    /// Returns how many pieces of evidence a replica found.
    pub fn evidence(&self, number: u32) -> u64 {
        self.replica(number).counters().evidence
    }

    /// Returns whether all those replicas have the same block at `height`.
    pub fn agree_at(&self, replicas: &[u32], height: Height) -> bool {
        let hash = |number: &u32| self.replica(*number).chain().hash_at(height).ok();
        let first = replicas.first().and_then(hash);
        first.is_some() && replicas.iter().all(|number| hash(number) == first)
    }

    /// Requires that all those replicas have the same block at every height up to `height`.
    ///
    /// # Errors
    /// [`ScenarioError::NotShown`] with the first height at which they have not.
    pub fn ensure_agreement(&self, replicas: &[u32], height: Height) -> Result<(), ScenarioError> {
        (1..=height.get()).map(Height::new).try_for_each(|height| {
            self.ensure(self.agree_at(replicas, height), format!("one block at height {height}"))
        })
    }

    /// Begins the window of the diagram.
    pub fn begin_window(&mut self) {
        self.window.0 = Some(self.network.now());
    }

    /// Ends the window of the diagram.
    pub fn end_window(&mut self) {
        self.window.1 = Some(self.network.now());
    }

    /// Runs for `duration` of virtual time.
    pub fn run_for(&mut self, duration: Duration) -> Result<(), ScenarioError> {
        let until = self.network.now().plus(duration);
        while self.network.next_at().is_some_and(|next| next <= until) {
            self.step()?;
        }
        Ok(self.network.run_to(until)?)
    }

    /// Runs until `condition` holds; fails with `what` after `limit`.
    pub fn run_until(
        &mut self,
        limit: Duration,
        what: &str,
        mut condition: impl FnMut(&Self) -> bool,
    ) -> Result<(), ScenarioError> {
        let until = self.network.now().plus(limit);
        while !condition(self) {
            if self.network.next_at().is_none_or(|next| next > until) {
                return self.ensure(false, what);
            }
            self.step()?;
        }
        Ok(())
    }

    /// Runs until every replica's head is at `height` or above.
    pub fn run_to_height(&mut self, limit: Duration, height: Height) -> Result<(), ScenarioError> {
        let what = format!("every head at height {height}");
        self.run_until(limit, &what, |runner| runner.network.lowest_height() >= height)
    }

    /// Runs until those replicas' heads are at `height` or above.
    pub fn run_some_to_height(
        &mut self,
        replicas: &[u32],
        limit: Duration,
        height: Height,
    ) -> Result<(), ScenarioError> {
        let what = format!("the heads of {replicas:?} at height {height}");
        let replicas = replicas.to_vec();
        self.run_until(limit, &what, move |runner| replicas.iter().all(|number| runner.head(*number).height >= height))
    }

    fn step(&mut self) -> Result<(), NetworkError> {
        self.network.step()?;
        if self.network.steps().is_multiple_of(WATCH_EVERY) {
            (self.watch)(&self.network);
        }
        Ok(())
    }

    /// Requires that `condition` holds.
    ///
    /// # Errors
    /// [`ScenarioError::NotShown`] when it does not.
    pub fn ensure(&self, condition: bool, what: impl Into<String>) -> Result<(), ScenarioError> {
        if condition { Ok(()) } else { Err(self.not_shown(what)) }
    }

    /// Returns the failure of the scenario at this point.
    pub fn not_shown(&self, what: impl Into<String>) -> ScenarioError {
        let heads = self.network.replicas().iter().map(|replica| replica.head().height.to_string());
        let seen = format!("heads at heights {}", heads.collect::<Vec<_>>().join(", "));
        ScenarioError::NotShown { what: what.into(), at: self.network.now(), seen }
    }

    /// Crashes a replica.
    pub fn crash(&mut self, number: u32) -> Result<FaultId, ScenarioError> {
        Ok(self.network.crash(id(number))?)
    }

    /// Restarts a replica from its disk.
    pub fn restart(&mut self, number: u32) -> Result<(), ScenarioError> {
        Ok(self.network.restart(id(number))?)
    }

    /// Disconnects a replica.
    pub fn isolate(&mut self, number: u32) -> Result<FaultId, ScenarioError> {
        Ok(self.network.isolate(id(number))?)
    }

    /// Partitions the network.
    pub fn partition(&mut self, groups: &[&[u32]]) -> Result<FaultId, ScenarioError> {
        let groups = groups.iter().map(|group| group.iter().map(|number| id(*number)).collect());
        self.begin(FaultKind::Partition { groups: groups.collect() })
    }

    /// Cuts the links of `from` to `to`.
    pub fn one_way(&mut self, from: &[u32], to: &[u32]) -> Result<FaultId, ScenarioError> {
        let list = |numbers: &[u32]| numbers.iter().map(|number| id(*number)).collect();
        self.begin(FaultKind::OneWay { from: list(from), to: list(to) })
    }

    /// Begins a fault of messages with these labels on the links of `from` to `to`; empty lists mean all.
    pub fn link(
        &mut self,
        labels: &[&str],
        from: &[u32],
        to: &[u32],
        effect: LinkEffect,
    ) -> Result<FaultId, ScenarioError> {
        let list = |numbers: &[u32]| numbers.iter().map(|number| id(*number)).collect();
        let labels = labels.iter().map(|label| (*label).to_owned()).collect();
        self.begin(FaultKind::Link(LinkFault { from: list(from), to: list(to), labels, effect }))
    }

    /// Loses messages of these labels everywhere.
    pub fn lose(&mut self, labels: &[&str]) -> Result<FaultId, ScenarioError> {
        self.link(labels, &[], &[], LinkEffect::Loss { per_mille: 1_000 })
    }

    /// Begins permanent misbehaviour of a replica.
    pub fn misbehave(&mut self, number: u32, behaviour: Behaviour) -> Result<FaultId, ScenarioError> {
        Ok(self.network.misbehave(id(number), behaviour, Trigger::Always)?)
    }

    /// Marks a replica as Byzantine, so that invariants ignore it; its protocol continues unchanged.
    pub fn mark_byzantine(&mut self, number: u32) -> Result<FaultId, ScenarioError> {
        let when = Trigger::Never;
        self.begin(FaultKind::Byzantine { replica: id(number), behaviour: Behaviour::Silent, when })
    }

    /// Returns the signer of a validator.
    pub fn signer(&self, number: u32) -> Signer {
        self.network.authenticator().signer(&NetworkBuilder::validator_key(self.seed, number))
    }

    /// Sends a message to some replicas as if another had sent it.
    pub fn inject(&mut self, from: u32, to: &[u32], message: &ConsensusMessage) -> Result<(), ScenarioError> {
        for number in to.iter().filter(|number| **number != from) {
            self.network.inject(id(from), id(*number), message.clone())?;
        }
        Ok(())
    }

    /// Runs for at most `limit` until an invariant is violated; returns the detail. Other invariants may be
    /// violated before.
    ///
    /// # Errors
    /// [`ScenarioError::NotShown`] when it holds to the end.
    pub fn run_until_broken(&mut self, limit: Duration, invariant: &str) -> Result<String, ScenarioError> {
        let until = self.network.now().plus(limit);
        while self.network.next_at().is_some_and(|next| next <= until) {
            match self.step() {
                Err(NetworkError::Violated(violation)) if violation.invariant == invariant => {
                    return Ok(violation.detail);
                }
                Ok(()) | Err(NetworkError::Violated(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(self.not_shown(format!("a violation of {invariant}")))
    }

    /// Begins a fault.
    pub fn begin(&mut self, kind: FaultKind) -> Result<FaultId, ScenarioError> {
        Ok(self.network.begin_fault(kind)?)
    }

    /// Ends a fault.
    pub fn end(&mut self, fault: FaultId) -> Result<(), ScenarioError> {
        Ok(self.network.end_fault(fault)?)
    }

    /// Passes an admin command to a replica.
    pub fn admin(&mut self, number: u32, admin: Admin) -> Result<(), ScenarioError> {
        Ok(self.network.admin(admin, id(number))?)
    }

    /// Adds a note at this time to the diagram.
    pub fn note(&mut self, text: impl Into<String>) {
        self.network.note(Incident::Note { replica: None, text: text.into() });
    }
}
