//! What scripts of scenarios work with.

use core::time::Duration;

use super::ScenarioError;
use crate::{
    consensus::{Admin, BlockId, Machine, Message, Protocol, ReplicaId, Signer},
    primitives::Height,
    sim::{
        engine::clock::SimTime,
        faults::plan::{Behaviour, FaultId, FaultKind, LinkEffect, LinkFault, Trigger},
        network::{Network, builder::NetworkBuilder, error::NetworkError, replica::Replica},
        trace::{Incident, Input, Trace, TraceEntry, What},
    },
};

/// Steps between two looks at the network.
const WATCH_EVERY: u64 = 256;

/// A network and the one who watches it.
pub struct Stage<'a> {
    network: Network,
    seed: u64,
    watch: &'a mut dyn FnMut(&Network),
    window: (Option<SimTime>, Option<SimTime>),
}

impl core::fmt::Debug for Stage<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Stage").field("network", &self.network).finish_non_exhaustive()
    }
}

/// The replica with this number.
pub(super) const fn id(number: u32) -> ReplicaId {
    ReplicaId::new(number)
}

impl<'a> Stage<'a> {
    pub(super) fn new(network: Network, seed: u64, watch: &'a mut dyn FnMut(&Network)) -> Self {
        Self { network, seed, watch, window: (None, None) }
    }

    pub(super) fn leave(self) -> (Network, Option<(SimTime, SimTime)>) {
        let (from, until) = self.window;
        let window = from.or(until).map(|_| (from.unwrap_or_default(), until.unwrap_or(self.network.now())));
        (self.network, window)
    }

    /// The seed of the run.
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// The network.
    pub const fn network(&self) -> &Network {
        &self.network
    }

    /// The network, to do anything to it.
    pub const fn network_mut(&mut self) -> &mut Network {
        &mut self.network
    }

    /// What happened so far.
    pub fn trace(&self) -> Trace {
        self.network.trace().unwrap_or_else(|| Trace { header: Default::default(), entries: Vec::new() })
    }

    /// How many messages of this label were sent so far, and by how many different replicas.
    pub fn sent(&self, wanted: &str) -> (usize, usize) {
        let sent = self.network.recorded().filter_map(|entry| match &entry.what {
            What::Sent { from, label, .. } if label == wanted => Some(*from),
            _ => None,
        });
        let mut senders: Vec<_> = sent.collect();
        let count = senders.len();
        senders.sort_unstable();
        senders.dedup();
        (count, senders.len())
    }

    /// How many writes of a replica became durable.
    pub fn written(&self, number: u32) -> usize {
        let is_such = |entry: &&TraceEntry| matches!(&entry.what, What::Step { replica, input: Input::Persisted { .. }, .. } if *replica == number);
        self.network.recorded().filter(is_such).count()
    }

    /// How often a named point of coverage was passed, by all replicas together.
    pub fn marks(&self, wanted: &str) -> u64 {
        let marks = self.network.replicas().iter().flat_map(Replica::marks);
        marks.filter(|(name, _)| *name == wanted).map(|(_, count)| count).sum()
    }

    /// How many replicas there are.
    pub fn count(&self) -> u32 {
        self.network.replicas().len() as u32
    }

    /// The replica with this number; the first one for a number that does not exist.
    pub fn replica(&self, number: u32) -> &Replica {
        self.network.replicas().get(number as usize).unwrap_or_else(|| self.network.primary())
    }

    /// Its protocol.
    pub fn protocol(&self, number: u32) -> &Machine {
        self.replica(number).protocol()
    }

    /// Its newest block.
    pub fn head(&self, number: u32) -> BlockId {
        self.replica(number).head()
    }

    /// The highest head of all.
    pub fn highest(&self) -> u64 {
        self.network.replicas().iter().map(|replica| replica.head().height.get()).max().unwrap_or_default()
    }

    /// The block that a replica counts as final.
    pub fn finalized(&self, number: u32) -> BlockId {
        self.protocol(number).finality().finalized
    }

    /// Pieces of evidence that replica found.
    pub fn evidence(&self, number: u32) -> u64 {
        self.replica(number).counters().evidence
    }

    /// Whether all those replicas have one and the same block at `height`.
    pub fn agree_at(&self, replicas: &[u32], height: u64) -> bool {
        let hash = |number: &u32| self.replica(*number).chain().hash_at(Height::new(height)).ok();
        let first = replicas.first().and_then(hash);
        first.is_some() && replicas.iter().all(|number| hash(number) == first)
    }

    /// A picture begins here.
    pub fn show_from_here(&mut self) {
        self.window.0 = Some(self.network.now());
    }

    /// A picture ends here.
    pub fn show_until_here(&mut self) {
        self.window.1 = Some(self.network.now());
    }

    /// Lets so many milliseconds pass.
    pub fn run_ms(&mut self, ms: u64) -> Result<(), ScenarioError> {
        let until = self.network.now().plus(Duration::from_millis(ms));
        while self.network.next_at().is_some_and(|next| next <= until) {
            self.step()?;
        }
        Ok(self.network.run_to(until)?)
    }

    /// Goes on until `condition` holds; past `limit_ms` milliseconds, `what` is not shown.
    pub fn run_until(
        &mut self,
        limit_ms: u64,
        what: &str,
        mut condition: impl FnMut(&Self) -> bool,
    ) -> Result<(), ScenarioError> {
        let until = self.network.now().plus(Duration::from_millis(limit_ms));
        while !condition(self) {
            if self.network.next_at().is_none_or(|next| next > until) {
                return self.must(false, what);
            }
            self.step()?;
        }
        Ok(())
    }

    /// Goes on until every replica's head is at `height` or above.
    pub fn run_to_height(&mut self, limit_ms: u64, height: u64) -> Result<(), ScenarioError> {
        let what = format!("every head at height {height}");
        self.run_until(limit_ms, &what, |stage| stage.network.lowest_height().get() >= height)
    }

    /// Goes on until those replicas' heads are at `height` or above.
    pub fn run_some_to_height(&mut self, replicas: &[u32], limit_ms: u64, height: u64) -> Result<(), ScenarioError> {
        let what = format!("the heads of {replicas:?} at height {height}");
        let replicas = replicas.to_vec();
        self.run_until(limit_ms, &what, move |stage| {
            replicas.iter().all(|number| stage.head(*number).height.get() >= height)
        })
    }

    fn step(&mut self) -> Result<(), NetworkError> {
        let outcome = self.network.step();
        if let Err(NetworkError::Violated(violation)) = &outcome {
            let incident =
                Incident::Violation { invariant: violation.invariant.to_string(), detail: violation.detail.clone() };
            self.network.note(incident);
        }
        outcome?;
        if self.network.steps().is_multiple_of(WATCH_EVERY) {
            (self.watch)(&self.network);
        }
        Ok(())
    }

    /// Requires that `condition` holds.
    ///
    /// # Errors
    /// [`ScenarioError::NotShown`] when it does not.
    pub fn must(&self, condition: bool, what: impl Into<String>) -> Result<(), ScenarioError> {
        if condition { Ok(()) } else { Err(self.not_shown(what)) }
    }

    /// Why the scenario fails here.
    pub fn not_shown(&self, what: impl Into<String>) -> ScenarioError {
        let heads = self.network.replicas().iter().map(|replica| replica.head().height.to_string());
        let seen = format!("heads at heights {}", heads.collect::<Vec<_>>().join(", "));
        ScenarioError::NotShown { what: what.into(), at: self.network.now(), seen }
    }

    /// Stops a replica; its memory is lost.
    pub fn crash(&mut self, number: u32) -> Result<FaultId, ScenarioError> {
        Ok(self.network.crash(id(number))?)
    }

    /// Brings it back, with what its disk has.
    pub fn restart(&mut self, number: u32) -> Result<(), ScenarioError> {
        Ok(self.network.restart(id(number))?)
    }

    /// Cuts a replica off.
    pub fn isolate(&mut self, number: u32) -> Result<FaultId, ScenarioError> {
        Ok(self.network.isolate(id(number))?)
    }

    /// Cuts the network in groups.
    pub fn partition(&mut self, groups: &[&[u32]]) -> Result<FaultId, ScenarioError> {
        let groups = groups.iter().map(|group| group.iter().map(|number| id(*number)).collect());
        self.begin(FaultKind::Partition { groups: groups.collect() })
    }

    /// What `from` say does not reach `to`.
    pub fn one_way(&mut self, from: &[u32], to: &[u32]) -> Result<FaultId, ScenarioError> {
        let list = |numbers: &[u32]| numbers.iter().map(|number| id(*number)).collect();
        self.begin(FaultKind::OneWay { from: list(from), to: list(to) })
    }

    /// Messages of these labels fare so, on the links of `from` to `to`; empty lists mean all.
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

    /// Messages of these labels are lost everywhere.
    pub fn lose(&mut self, labels: &[&str]) -> Result<FaultId, ScenarioError> {
        self.link(labels, &[], &[], LinkEffect::Loss { per_mille: 1_000 })
    }

    /// A replica misbehaves from now on, always.
    pub fn misbehave(&mut self, number: u32, behaviour: Behaviour) -> Result<FaultId, ScenarioError> {
        Ok(self.network.misbehave(id(number), behaviour, Trigger::Always)?)
    }

    /// A replica is held by an attacker: nothing is promised by it any more, though its protocol goes on as it is.
    pub fn hold(&mut self, number: u32) -> Result<FaultId, ScenarioError> {
        let when = Trigger::Never;
        self.begin(FaultKind::Byzantine { replica: id(number), behaviour: Behaviour::Silent, when })
    }

    /// What signs as a validator does, for one that is held.
    pub fn signer(&self, number: u32) -> Signer {
        self.network.authenticator().signer(&NetworkBuilder::validator_key(self.seed, number))
    }

    /// Some hear a message as if a replica had said it.
    pub fn inject(&mut self, from: u32, to: &[u32], message: &Message) -> Result<(), ScenarioError> {
        for number in to.iter().filter(|number| **number != from) {
            self.network.inject(id(from), id(*number), message.clone())?;
        }
        Ok(())
    }

    /// Goes on for at most `limit_ms` milliseconds until an invariant is broken; answers what is wrong. Others may be
    /// broken on the way there.
    ///
    /// # Errors
    /// [`ScenarioError::NotShown`] when it holds to the end.
    pub fn run_until_broken(&mut self, limit_ms: u64, invariant: &str) -> Result<String, ScenarioError> {
        let until = self.network.now().plus(Duration::from_millis(limit_ms));
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

    /// A fault begins.
    pub fn begin(&mut self, what: FaultKind) -> Result<FaultId, ScenarioError> {
        Ok(self.network.begin_fault(what)?)
    }

    /// It ends.
    pub fn end(&mut self, fault: FaultId) -> Result<(), ScenarioError> {
        Ok(self.network.end_fault(fault)?)
    }

    /// A replica's operator wishes something.
    pub fn admin(&mut self, number: u32, admin: Admin) -> Result<(), ScenarioError> {
        Ok(self.network.admin(admin, id(number))?)
    }

    /// A remark at this time in the picture.
    pub fn note(&mut self, text: impl Into<String>) {
        self.network.note(Incident::Note { replica: None, text: text.into() });
    }
}
