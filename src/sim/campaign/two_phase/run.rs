//! Execution of a two-phase run, and the goal of its second phase.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use super::{CampaignSetup, RunCounters, RunOutcome, RunReport, punishment::unpunished};
use crate::{
    consensus::{BlockId, FinalityKind, Protocol, ReplicaId},
    primitives::{Address, B256, Height, Transaction},
    sim::{
        campaign::{
            governors::Governors,
            operators::{self, Operators},
            workload::Workload,
        },
        check::{
            history::{Consistency, HistoryRecorder},
            invariant::{Violation, promised},
            offences::SeenOffences,
            oracle::Oracle,
        },
        engine::clock::SimTime,
        faults::plan::{FaultKind, FaultPlan},
        millis::whole_millis,
        network::{Network, error::NetworkError, replica::Replica},
    },
};

/// A run in progress.
pub(super) struct Run<'a> {
    setup: &'a CampaignSetup,
    seed: u64,
    pub(super) network: Network,
    workload: Workload,
    operators: Operators,
    governors: Option<Governors>,
    oracle: Oracle,
    offences: SeenOffences,
    /// Records the clients' operations, if the setup checks them.
    history: Option<HistoryRecorder>,
    /// Replicas that need not converge: those that misbehave and, unless the setup is strict, those that lost records.
    given_up: BTreeSet<ReplicaId>,
}

impl<'a> Run<'a> {
    pub(super) fn new(setup: &'a CampaignSetup, seed: u64, network: Network, plan: &FaultPlan) -> Self {
        let validators = setup.validators_of(seed);
        let mut workload = Workload::new(seed, setup.transactions, setup.fault_phase, validators);
        if setup.consensus.info().has_elections {
            // Votes, so that elections count something.
            workload = workload.with_delegations(network.replicas().iter().filter_map(Replica::address));
        }
        let section = network.replicas().first().and_then(|replica| replica.chain().spec().parameters);
        if let Some(section) = section.filter(|_| setup.changes_parameters) {
            let has_stake = network.replicas().first().is_some_and(|replica| replica.chain().has_stake());
            workload = workload.with_parameter_changes(section.block_time.is_some(), has_stake);
        }
        if setup.changes_validators {
            workload = workload.with_validator_changes(network.replicas().iter().filter_map(Replica::address));
        }
        let operators =
            Operators::new(seed, validators, setup.candidates, setup.all_move).with_rotations(setup.rotates_keys);
        let governors = setup.governs.then(|| Governors::new(seed, validators + setup.candidates));
        let gives_up = |kind: &FaultKind| match kind {
            FaultKind::Wipe { .. } | FaultKind::Amnesia { .. } if setup.is_strict => None,
            other => other.byzantine(),
        };
        let given_up = plan.faults.iter().filter_map(|fault| gives_up(&fault.kind)).collect();
        let history = setup.checks_history.then(|| HistoryRecorder::new(seed, &network));
        let (oracle, offences) = (Oracle::default(), SeenOffences::new(&network, &plan.byzantine()));
        Self { setup, seed, network, workload, operators, governors, oracle, offences, history, given_up }
    }

    pub(super) fn go(&mut self) -> Result<(), NetworkError> {
        let end = SimTime::ZERO.plus(self.setup.fault_phase);
        while let Some((at, transaction, replica)) = self.workload.next() {
            self.run_to(at)?;
            self.operators.act(&mut self.network, &mut self.oracle)?;
            if let Some(governors) = &mut self.governors {
                governors.act(&mut self.network, &mut self.oracle)?;
            }
            self.submitted(&transaction, replica);
            match self.network.submit(transaction, replica) {
                // A stopped replica, or one without the sender's previous transactions, refuses it: nothing is promised.
                Ok(_) | Err(NetworkError::Pool(_) | NetworkError::Down { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        self.run_to(end)?;
        self.network.heal_all()?;
        self.require_life()
    }

    /// Runs until the network has run for `running`, times in which it slept not counted.
    fn run_to(&mut self, running: SimTime) -> Result<(), NetworkError> {
        let until = |network: &Network| running.plus(network.slept());
        while self.network.next_at().is_some_and(|next| next <= until(&self.network)) {
            self.step()?;
        }
        self.network.run_to(until(&self.network))
    }

    fn step(&mut self) -> Result<bool, NetworkError> {
        match self.network.step()? {
            Some(step) => {
                self.oracle.on_step(&self.network, &step);
                self.offences.on_step(&self.network, &step);
                if let Some(history) = &mut self.history {
                    history.on_step(&self.network, &step);
                }
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
        let until = self.network.now().plus(self.setup.recovery_max);
        while !goal.is_reached(&self.network, &self.core(), &self.offences) {
            let in_time = self.network.next_at().is_some_and(|next| next <= until);
            if !in_time || !self.step()? {
                return Err(self.dead(&goal));
            }
        }
        let durable = self.oracle.check(&self.network, &self.core());
        match durable.and_then(|()| self.check_history()) {
            Ok(()) => Ok(()),
            Err(violation) => Err(self.network.violated(violation)),
        }
    }

    fn submitted(&mut self, transaction: &Transaction, replica: ReplicaId) {
        self.oracle.submitted(transaction);
        if let Some(history) = &mut self.history {
            history.submitted(transaction, replica, self.network.now());
        }
    }

    /// Checks what clients were answered.
    fn check_history(&mut self) -> Result<(), Violation> {
        let Some(history) = self.history.take().map(HistoryRecorder::into_history) else { return Ok(()) };
        match history.check() {
            Ok(_) => Ok(()),
            Err(anomaly) => {
                let invariant = match anomaly.consistency {
                    Consistency::Linearizable => "linearizable",
                    Consistency::Sequential => "sequential",
                };
                Err(Violation::new(invariant, &self.network, anomaly.to_string()))
            }
        }
    }

    /// Submits the transaction of a new client to an honest replica.
    fn late_transaction(&mut self) -> Result<Option<B256>, NetworkError> {
        if !self.setup.is_strict {
            return Ok(None);
        }
        let honest: Vec<_> = self.core().into_iter().filter(|id| self.network.is_honest(*id)).collect();
        let Some((transaction, replica)) = self.workload.late(&honest) else { return Ok(None) };
        let hash = transaction.hash();
        self.submitted(&transaction, replica);
        self.network.submit(transaction, replica)?;
        Ok(Some(hash))
    }

    /// Returns the replicas that must converge; those that Raft's leader removed receive nothing and are excluded.
    fn core(&self) -> Vec<ReplicaId> {
        let leader = operators::leader(&self.network).and_then(|id| self.network.replica(id).ok());
        let protocol = leader.map(Replica::protocol);
        let is_member = |id: ReplicaId| protocol.is_none_or(|protocol| protocol.is_member(id));
        let replicas = self.network.replicas().iter().map(Replica::id);
        replicas.filter(|id| !self.given_up.contains(id) && is_member(*id)).collect()
    }

    fn dead(&mut self, goal: &Goal) -> NetworkError {
        let core = self.core();
        let heads = core.iter().filter_map(|id| self.network.replica(*id).ok());
        let heads: Vec<_> = heads.map(|replica| format!("{} at {}", replica.id(), replica.head())).collect();
        let is_high = core.iter().all(|id| head(&self.network, *id).height >= goal.height);
        let (invariant, wanted) = if !is_high {
            ("liveness", format!("height {}", goal.height))
        } else if !goal.is_converged(&self.network, &core) {
            ("convergence", format!("one block at height {} and finality above {}", goal.height, goal.final_before))
        } else {
            match Goal::unpunished(&self.network, &core, &self.offences) {
                Some((witness, offender)) if goal.has_transaction(&self.network, &core) => {
                    ("punishment", format!("{offender} punished, whom {witness} can prove guilty"))
                }
                _ => {
                    ("inclusion", format!("transaction {} in everybody's chain", goal.transaction.unwrap_or_default()))
                }
            }
        };
        let healed = whole_millis(self.setup.recovery_max);
        let detail = format!("healed for {healed} ms without {wanted}: {}", heads.join(", "));
        let violation = Violation::new(invariant, &self.network, detail);
        self.network.violated(violation)
    }

    pub(super) fn report(self, outcome: RunOutcome, plan: &FaultPlan) -> RunReport {
        let network = &self.network;
        let mut counters = RunCounters {
            steps: network.steps(),
            virtual_time: Duration::from_millis(network.now().as_nanos() / 1_000_000),
            submitted: self.oracle.submitted_count(),
            acknowledged: self.oracle.acknowledged_count(),
            ..RunCounters::default()
        };
        let mut marks = BTreeMap::<String, u64>::new();
        for replica in network.replicas() {
            let own = replica.counters();
            if network.is_honest(replica.id()) {
                counters.height = counters.height.max(replica.head().height);
                counters.reorgs += own.reorgs;
            }
            counters.restarts += own.restarts;
            counters.rejected += own.rejected;
            counters.evidence += own.evidence;
            for (name, count) in replica.marks() {
                *marks.entry(name.to_owned()).or_default() += count;
            }
        }
        RunReport {
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

/// Goal of the healed network.
struct Goal {
    /// Height that all must reach.
    height: Height,
    /// Highest final block before the healing; finality must advance beyond it.
    final_before: Height,
    /// Transaction that every chain must include.
    transaction: Option<B256>,
}

impl Goal {
    fn is_reached(&self, network: &Network, core: &[ReplicaId], seen: &SeenOffences) -> bool {
        core.iter().all(|id| head(network, *id).height >= self.height)
            && self.is_converged(network, core)
            && self.has_transaction(network, core)
            && Self::unpunished(network, core, seen).is_none()
    }

    /// Returns an honest validator, and an offender whom it can prove guilty in vain.
    fn unpunished(network: &Network, core: &[ReplicaId], seen: &SeenOffences) -> Option<(ReplicaId, Address)> {
        let mut honest = core.iter().filter(|id| network.is_honest(**id)).filter_map(|id| network.replica(*id).ok());
        honest.find_map(|replica| Some((replica.id(), unpunished(replica, seen)?)))
    }

    /// Returns whether the required replicas agree at the height and finality has advanced.
    fn is_converged(&self, network: &Network, core: &[ReplicaId]) -> bool {
        let replicas = || core.iter().filter_map(|id| network.replica(*id).ok());
        let is_final = |replica: &Replica| {
            let is_advice = replica.protocol().finality().kind == FinalityKind::Depth;
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
