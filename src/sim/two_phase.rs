//! Runs in two phases: first everything may go wrong and nothing false may be promised; then the faults end, and the
//! honest replicas must converge, go on, and still have everything that was acknowledged. So must observers, and whoever lost its
//! disk or memory; and what a client asks for from now on must be done.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{
    Fault, FaultKind, FaultPlan, Latency, Network, NetworkBuilder, NetworkError, Oracle, Profile, Replica, SimRng,
    SimTime, Streams, Violation,
    invariant::{self, promised},
    operators::{self, Operators},
    trace::{Incident, Trace},
    workload::Workload,
};
use crate::{
    consensus::{BlockId, ConsensusConfig, FinalityKind, Machine, Protocol, ReplicaId, StakeUse},
    primitives::{B256, Height},
    system::staking::StakingParams,
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
    /// Replicas that follow and never validate. Some stop or lose their disk, and all must catch up.
    #[serde(default)]
    pub observers: u32,
    /// Replicas with keys that are no validators at genesis; operators let them join and leave while things go wrong. Makes a
    /// chain with stake of a protocol that may have it.
    #[serde(default)]
    pub candidates: u32,
    /// Whether replicas that lost their disk or memory must catch up, too, and a transaction that a client submits after the
    /// healing must be included.
    #[serde(default)]
    pub is_strict: bool,
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
    /// The one default campaign of a protocol: four to seven validators, an observer and a candidate, twenty seconds of faults, and
    /// what the protocol promises to bear.
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
            observers: 1,
            candidates: 1,
            is_strict: true,
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
        let validators = self.validators_of(seed);
        let mut plan = FaultPlan::random(seed, validators, &self.profile);
        let followers = self.candidates.saturating_add(self.observers);
        if followers > 0 {
            let mut rng = Streams::new(seed).stream("followers");
            let faults = (0..followers).filter_map(|place| self.fault_of_follower(place, validators, &mut rng));
            plan.faults.extend(faults);
            plan.faults.sort_by_key(|fault| fault.at_ms);
        }
        plan
    }

    /// Every second follower stops for a while. An observer, which never promised anything, may lose its disk.
    fn fault_of_follower(&self, place: u32, validators: u32, rng: &mut SimRng) -> Option<Fault> {
        if rng.chance(500) {
            return None;
        }
        let replica = ReplicaId::new(validators.saturating_add(place));
        let what = match rng.below(3) {
            0 => FaultKind::Pause { replica },
            1 if place >= self.candidates => FaultKind::Wipe { replica },
            _ => FaultKind::Crash { replica },
        };
        let at_ms = rng.below(self.profile.span_ms.max(1));
        let longest = self.profile.fault_max_ms.min(self.profile.span_ms - at_ms).max(1);
        Some(Fault { at_ms, for_ms: Some(1 + rng.below(longest)), what })
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
        let genesis = if self.is_strict { Workload::genesis_with_late_client() } else { Workload::genesis() };
        let builder = Network::builder();
        let builder = match self.consensus.kind().stake_use() {
            StakeUse::Optional if self.candidates > 0 => builder.with_staking(StakingParams::default()),
            _ => builder,
        };
        builder
            .with_candidates(self.candidates)
            .with_observers(self.observers)
            .with_genesis(genesis)
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
    run_on(setup, seed, plan, setup.network(seed, plan)).0
}

/// The very same run with everything recorded under `title`: what broke is the last thing that the trace tells, with the step. No
/// trace when the network could not be built.
pub fn record_plan(setup: &Setup, seed: u64, plan: &FaultPlan, title: &str) -> (Report, Option<Trace>) {
    run_on(setup, seed, plan, setup.builder(seed, plan).with_trace(title).build())
}

fn run_on(
    setup: &Setup,
    seed: u64,
    plan: &FaultPlan,
    network: Result<Network, NetworkError>,
) -> (Report, Option<Trace>) {
    match network {
        Ok(network) => {
            let mut run = Run::new(setup, seed, network, plan);
            let outcome = match run.go() {
                Ok(()) => Outcome::Passed,
                Err(NetworkError::Violated(violation)) => Outcome::Violated(*violation),
                Err(error) => Outcome::Failed { error: full(&error) },
            };
            if let Outcome::Violated(Violation { invariant, step, detail, .. }) = &outcome {
                let detail = format!("at step {step}: {detail}");
                run.network.note(Incident::Violation { invariant: invariant.to_string(), detail });
            }
            let trace = run.network.trace();
            (run.report(outcome, plan), trace)
        }
        Err(error) => {
            let report = Report {
                seed,
                outcome: Outcome::Failed { error: full(&error) },
                validators: setup.validators_of(seed),
                digest: B256::ZERO,
                counters: RunCounters::default(),
                marks: BTreeMap::new(),
                plan: plan.clone(),
            };
            (report, None)
        }
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
    operators: Operators,
    oracle: Oracle,
    /// Who is not required to come back: those that lie, and where that is not asked for, those that lost something.
    given_up: BTreeSet<ReplicaId>,
}

impl<'a> Run<'a> {
    fn new(setup: &'a Setup, seed: u64, network: Network, plan: &FaultPlan) -> Self {
        let validators = setup.validators_of(seed);
        let mut workload = Workload::new(seed, setup.transactions, setup.fault_ms, validators);
        if matches!(setup.consensus, ConsensusConfig::Dpos(_)) {
            // Votes, so that elections have something to count.
            workload = workload.with_delegations(network.replicas().iter().filter_map(Replica::address));
        }
        let operators = Operators::new(seed, validators, setup.candidates);
        let gives_up = |kind: &FaultKind| match kind {
            FaultKind::Wipe { .. } | FaultKind::Amnesia { .. } if setup.is_strict => None,
            other => other.byzantine(),
        };
        let given_up = plan.faults.iter().filter_map(|fault| gives_up(&fault.what)).collect();
        Self { setup, seed, network, workload, operators, oracle: Oracle::default(), given_up }
    }

    fn go(&mut self) -> Result<(), NetworkError> {
        let end = SimTime::ZERO.plus(Duration::from_millis(self.setup.fault_ms));
        while let Some((at, transaction, replica)) = self.workload.next() {
            self.run_to(at)?;
            self.operators.act(&mut self.network, &mut self.oracle)?;
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
        let core = self.core();
        let of_core = |network: &Network, height: fn(&Replica) -> Height| {
            core.iter().filter_map(|id| network.replica(*id).ok()).map(height).max().unwrap_or_default()
        };
        let highest = of_core(&self.network, |replica| replica.head().height);
        let goal = Goal {
            height: Height::new(highest.get() + self.setup.blocks_after),
            final_before: of_core(&self.network, |replica| promised(replica).unwrap_or_default().height),
            transaction: self.late_transaction()?,
        };
        let until = self.network.now().plus(Duration::from_millis(self.setup.heal_ms));
        while !goal.is_reached(&self.network, &self.core()) {
            let in_time = self.network.next_at().is_some_and(|next| next <= until);
            if !in_time || !self.step()? {
                return Err(self.dead(&goal));
            }
        }
        match self.oracle.check(&self.network, &self.core()) {
            Ok(()) => Ok(()),
            Err(violation) => Err(NetworkError::Violated(Box::new(violation))),
        }
    }

    /// A client that was not there before submits a transaction to somebody honest.
    fn late_transaction(&mut self) -> Result<Option<B256>, NetworkError> {
        if !self.setup.is_strict {
            return Ok(None);
        }
        let honest: Vec<_> = self.core().into_iter().filter(|id| self.network.is_honest(*id)).collect();
        let Some((transaction, replica)) = self.workload.late(&honest) else { return Ok(None) };
        let hash = transaction.hash();
        self.oracle.submitted(&transaction);
        self.network.submit(transaction, replica)?;
        Ok(Some(hash))
    }

    /// Who must be there in the end; whom Raft's leader counts as no member any more hears nothing and is left out.
    fn core(&self) -> Vec<ReplicaId> {
        let leader = operators::leader(&self.network).and_then(|id| self.network.replica(id).ok());
        let is_member = |id: ReplicaId| match leader.map(Replica::machine) {
            Some(Machine::Raft(raft)) => raft.membership().is_member(id),
            _ => true,
        };
        let replicas = self.network.replicas().iter().map(Replica::id);
        replicas.filter(|id| !self.given_up.contains(id) && is_member(*id)).collect()
    }

    fn dead(&self, goal: &Goal) -> NetworkError {
        let core = self.core();
        let heads = core.iter().filter_map(|id| self.network.replica(*id).ok());
        let heads: Vec<_> = heads.map(|replica| format!("{} at {}", replica.id(), replica.head())).collect();
        let is_high = core.iter().all(|id| head(&self.network, *id).height >= goal.height);
        let (invariant, wanted) = if !is_high {
            ("liveness", format!("height {}", goal.height))
        } else if !goal.is_converged(&self.network, &core) {
            ("convergence", format!("one block at height {} and finality above {}", goal.height, goal.final_before))
        } else {
            ("inclusion", format!("transaction {} in everybody's chain", goal.transaction.unwrap_or_default()))
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

/// What the healed network must come to.
struct Goal {
    /// A height that everybody reaches.
    height: Height,
    /// The highest block that was final before; more must become so.
    final_before: Height,
    /// A transaction that everybody's chain must have.
    transaction: Option<B256>,
}

impl Goal {
    fn is_reached(&self, network: &Network, core: &[ReplicaId]) -> bool {
        core.iter().all(|id| head(network, *id).height >= self.height)
            && self.is_converged(network, core)
            && self.has_transaction(network, core)
    }

    /// Whether the core is on one branch at the height, and what is final has grown.
    fn is_converged(&self, network: &Network, core: &[ReplicaId]) -> bool {
        let replicas = || core.iter().filter_map(|id| network.replica(*id).ok());
        let is_final = |replica: &Replica| {
            let is_advice = replica.machine().finality().kind == FinalityKind::Depth;
            is_advice || promised(replica).is_some_and(|block| block.height > self.final_before)
        };
        let mut at_goal = replicas().map(|replica| replica.chain().hash_at(self.height).ok());
        let first = at_goal.next();
        at_goal.all(|hash| Some(hash) == first) && replicas().all(is_final)
    }

    fn has_transaction(&self, network: &Network, core: &[ReplicaId]) -> bool {
        let Some(transaction) = self.transaction else { return true };
        let mut replicas = core.iter().filter_map(|id| network.replica(*id).ok());
        replicas.all(|replica| matches!(replica.chain().transaction(transaction), Ok(Some(_))))
    }
}
