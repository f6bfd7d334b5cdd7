//! Runs in two phases: first everything may go wrong and nothing false may be promised; then the faults end, and the
//! honest replicas must converge, go on, and still have everything that was acknowledged.

use core::time::Duration;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    FaultPlan, Latency, Network, NetworkBuilder, NetworkError, Oracle, Profile, Replica, SimRng, SimTime, Streams,
    Violation,
    invariant::{self, promised},
    workload::Workload,
};
use crate::{
    consensus::{Admin, BlockId, ConsensusConfig, FinalityKind, Protocol, ReplicaId},
    primitives::{Address, B256, Height},
};

/// What is run for every seed of a campaign.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// Numbers of validators; each seed draws one of them.
    pub validators: Vec<u32>,
    /// How long things may go wrong, in milliseconds of virtual time.
    pub fault_ms: u64,
    /// How long the healed network may take, in milliseconds of virtual time.
    pub heal_ms: u64,
    /// Blocks that the healed network must add to the highest head there was.
    pub blocks_after: u64,
    /// Transfers that clients submit while things go wrong.
    pub transactions: u32,
    /// The protocol and its parameters.
    pub consensus: ConsensusConfig,
    /// Which faults may come.
    pub profile: Profile,
}

/// What became of one seed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Which.
    pub seed: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// How many validators it had.
    pub validators: u32,
    /// Fingerprint of the whole run.
    pub digest: B256,
    /// What it did.
    pub counters: RunCounters,
    /// How often each named point of coverage was passed, by all replicas together.
    pub marks: BTreeMap<String, u64>,
    /// What went wrong on purpose.
    pub plan: FaultPlan,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Everything held.
    Passed,
    /// Something did not.
    Violated(Violation),
    /// The simulator itself gave up.
    Failed {
        /// Why.
        error: String,
    },
}

/// What a run did, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunCounters {
    /// Steps.
    pub steps: u64,
    /// Virtual time, in milliseconds.
    pub virtual_ms: u64,
    /// Height of the highest head of an honest replica.
    pub height: u64,
    /// Reorganisations of honest replicas.
    pub reorgs: u64,
    /// Restarts after crashes.
    pub restarts: u64,
    /// Inputs that were refused.
    pub rejected: u64,
    /// Pieces of evidence that were found.
    pub evidence: u64,
    /// Transactions that clients submitted.
    pub submitted: u64,
    /// Of them, those that an honest replica acknowledged as final.
    pub acknowledged: u64,
}

impl Setup {
    /// The one default campaign of a protocol: four to seven validators, twenty seconds of faults, and what the protocol
    /// promises to bear.
    pub fn of(consensus: ConsensusConfig) -> Self {
        let validators = match &consensus {
            ConsensusConfig::Raft(_) => vec![3, 5],
            ConsensusConfig::Pbft(_) => vec![4, 4, 7],
            // Fewer than a third of four producers misbehave, whoever is elected.
            ConsensusConfig::Dpos(config) if config.producers == 4 => vec![4, 5, 6],
            _ => vec![4, 5, 7],
        };
        let profile = Profile::of(&consensus);
        Self {
            validators,
            fault_ms: profile.span_ms,
            heal_ms: 120_000,
            blocks_after: 3,
            transactions: 12,
            consensus,
            profile,
        }
    }

    /// How many validators this seed has.
    pub fn validators_of(&self, seed: u64) -> u32 {
        let choice = Streams::new(seed).stream("validators").below(self.validators.len() as u64);
        self.validators.get(choice as usize).copied().unwrap_or(1)
    }

    /// The faults of this seed.
    pub fn plan_of(&self, seed: u64) -> FaultPlan {
        FaultPlan::random(seed, self.validators_of(seed), &self.profile)
    }

    /// The network of this seed with `plan`, at its beginning, with all invariants of the protocol.
    ///
    /// # Errors
    /// [`NetworkError`] for a protocol that refuses its parameters, or a plan that can't be.
    pub fn network(&self, seed: u64, plan: &FaultPlan) -> Result<Network, NetworkError> {
        self.builder(seed, plan).build()
    }

    /// The same, not built yet.
    pub fn builder(&self, seed: u64, plan: &FaultPlan) -> NetworkBuilder {
        let latency = Latency::Uniform { min: Duration::from_millis(5), max: Duration::from_millis(60) };
        Network::builder()
            .with_genesis(Workload::genesis())
            .with_consensus(self.consensus.clone())
            .with_validators(self.validators_of(seed))
            .with_seed(seed)
            .with_latency(latency)
            .with_faults(plan.clone())
            .with_invariants(invariant::of_protocol(&self.consensus))
    }
}

impl Report {
    /// Whether everything held.
    pub const fn is_passed(&self) -> bool {
        matches!(self.outcome, Outcome::Passed)
    }

    /// What did not hold.
    pub const fn violation(&self) -> Option<&Violation> {
        match &self.outcome {
            Outcome::Violated(violation) => Some(violation),
            _ => None,
        }
    }
}

/// Runs one seed with the faults that it draws.
pub fn run_seed(setup: &Setup, seed: u64) -> Report {
    run_plan(setup, seed, &setup.plan_of(seed))
}

/// Runs one seed with these faults in place of those that it draws.
pub fn run_plan(setup: &Setup, seed: u64, plan: &FaultPlan) -> Report {
    match setup.network(seed, plan) {
        Ok(network) => {
            let mut run = Run::new(setup, seed, network);
            let outcome = match run.go() {
                Ok(()) => Outcome::Passed,
                Err(NetworkError::Violated(violation)) => Outcome::Violated(*violation),
                Err(error) => Outcome::Failed { error: full(&error) },
            };
            run.report(outcome, plan)
        }
        Err(error) => Report {
            seed,
            outcome: Outcome::Failed { error: full(&error) },
            validators: setup.validators_of(seed),
            digest: B256::ZERO,
            counters: RunCounters::default(),
            marks: BTreeMap::new(),
            plan: plan.clone(),
        },
    }
}

/// An error with its causes.
fn full(error: &NetworkError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

/// A run under way.
struct Run<'a> {
    setup: &'a Setup,
    seed: u64,
    network: Network,
    workload: Workload,
    /// Which votes operators wish for.
    votes: SimRng,
    oracle: Oracle,
}

impl<'a> Run<'a> {
    fn new(setup: &'a Setup, seed: u64, network: Network) -> Self {
        let replicas = setup.validators_of(seed);
        let mut workload = Workload::new(seed, setup.transactions, setup.fault_ms, replicas);
        if matches!(setup.consensus, ConsensusConfig::Dpos(_)) {
            // Votes, so that elections have something to count.
            workload = workload.with_delegations(network.replicas().iter().filter_map(Replica::address));
        }
        let votes = Streams::new(seed).stream("votes");
        Self { setup, seed, network, workload, votes, oracle: Oracle::default() }
    }

    fn go(&mut self) -> Result<(), NetworkError> {
        let end = SimTime::ZERO.plus(Duration::from_millis(self.setup.fault_ms));
        while let Some((at, transaction, replica)) = self.workload.next() {
            self.run_to(at)?;
            self.wish()?;
            self.oracle.submitted(&transaction);
            match self.network.submit(transaction, replica) {
                // A replica that is down, or that has what came before on no branch, does not take it: nothing is promised.
                Ok(_) | Err(NetworkError::Pool(_) | NetworkError::Down { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        self.run_to(end)?;
        self.network.heal_all()?;
        self.require_life()
    }

    /// Operators of proof of authority change their minds about the last validator and about a stranger.
    fn wish(&mut self) -> Result<(), NetworkError> {
        let ConsensusConfig::Poa(_) = &self.setup.consensus else { return Ok(()) };
        let last = self.network.replicas().last().and_then(Replica::address).unwrap_or_default();
        let target = if self.votes.below(2) == 0 { last } else { Address::repeat_byte(0x57) };
        let authorize = self.votes.below(2) == 0;
        for number in 0..self.setup.validators_of(self.seed) {
            if self.votes.below(4) == 0 {
                continue;
            }
            match self.network.admin(Admin::Vote { target, authorize }, ReplicaId::new(number)) {
                Ok(()) | Err(NetworkError::Refused(_) | NetworkError::Down { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn run_to(&mut self, until: SimTime) -> Result<(), NetworkError> {
        while self.network.next_at().is_some_and(|next| next <= until) {
            self.step()?;
        }
        self.network.run_to(until)
    }

    fn step(&mut self) -> Result<bool, NetworkError> {
        match self.network.step()? {
            Some(step) => {
                self.oracle.on_step(&self.network, &step);
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// The second phase: convergence, progress and durability in bounded time.
    fn require_life(&mut self) -> Result<(), NetworkError> {
        let core: Vec<_> = self.network.replicas().iter().map(Replica::id).filter(|id| self.is_core(*id)).collect();
        let of_core = |network: &Network, height: fn(&Replica) -> Height| {
            core.iter().filter_map(|id| network.replica(*id).ok()).map(height).max().unwrap_or_default()
        };
        let highest = of_core(&self.network, |replica| replica.head().height);
        let goal = Height::new(highest.get() + self.setup.blocks_after);
        let final_before = of_core(&self.network, |replica| promised(replica).unwrap_or_default().height);
        let until = self.network.now().plus(Duration::from_millis(self.setup.heal_ms));
        while !is_alive(&self.network, &core, goal, final_before) {
            let in_time = self.network.next_at().is_some_and(|next| next <= until);
            if !in_time || !self.step()? {
                return Err(self.dead(&core, goal, final_before));
            }
        }
        match self.oracle.check(&self.network, &core) {
            Ok(()) => Ok(()),
            Err(violation) => Err(NetworkError::Violated(Box::new(violation))),
        }
    }

    fn is_core(&self, id: ReplicaId) -> bool {
        self.network.is_honest(id)
    }

    fn dead(&self, core: &[ReplicaId], goal: Height, final_before: Height) -> NetworkError {
        let heads = core.iter().filter_map(|id| self.network.replica(*id).ok());
        let heads: Vec<_> = heads.map(|replica| format!("{} at {}", replica.id(), replica.head())).collect();
        let is_high = core.iter().all(|id| head(&self.network, *id).height >= goal);
        let (invariant, wanted) = if is_high {
            ("convergence", format!("one block at height {goal} and finality above {final_before}"))
        } else {
            ("liveness", format!("height {goal}"))
        };
        let detail = format!("healed for {} ms without {wanted}: {}", self.setup.heal_ms, heads.join(", "));
        NetworkError::Violated(Box::new(Violation::new(invariant, &self.network, detail)))
    }

    fn report(self, outcome: Outcome, plan: &FaultPlan) -> Report {
        let network = &self.network;
        let mut counters = RunCounters {
            steps: network.steps(),
            virtual_ms: network.now().as_nanos() / 1_000_000,
            submitted: self.oracle.submitted_count(),
            acknowledged: self.oracle.acknowledged_count(),
            ..RunCounters::default()
        };
        let mut marks = BTreeMap::<String, u64>::new();
        for replica in network.replicas() {
            let own = replica.counters();
            if network.is_honest(replica.id()) {
                counters.height = counters.height.max(replica.head().height.get());
                counters.reorgs += own.reorgs;
            }
            counters.restarts += own.restarts;
            counters.rejected += own.rejected;
            counters.evidence += own.evidence;
            for (name, count) in replica.marks() {
                *marks.entry(name.to_owned()).or_default() += count;
            }
        }
        Report {
            seed: self.seed,
            outcome,
            validators: self.setup.validators_of(self.seed),
            digest: network.digest().unwrap_or_default(),
            counters,
            marks,
            plan: plan.clone(),
        }
    }
}

fn head(network: &Network, id: ReplicaId) -> BlockId {
    network.replica(id).map(Replica::head).unwrap_or_default()
}

/// Whether the core has grown to `goal` on one branch, and what is final has grown, too.
fn is_alive(network: &Network, core: &[ReplicaId], goal: Height, final_before: Height) -> bool {
    let replicas = || core.iter().filter_map(|id| network.replica(*id).ok());
    if replicas().any(|replica| replica.head().height < goal) {
        return false;
    }
    let is_final = |replica: &Replica| {
        let is_advice = replica.machine().finality().kind == FinalityKind::Depth;
        is_advice || promised(replica).is_some_and(|block| block.height > final_before)
    };
    let mut at_goal = replicas().map(|replica| replica.chain().hash_at(goal).ok());
    let first = at_goal.next();
    at_goal.all(|hash| Some(hash) == first) && replicas().all(is_final)
}
