//! What runs of the long profile are for, and that some of their first seeds reach it: answers to replicas that are far behind, also lies,
//! validators that leave and free their stake, evidence that comes late, changes of members.
//!
//! A run of five minutes takes a second or several in an unoptimised build.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Mutex,
};

use super::*;
use crate::{
    consensus::{BlockId, ConsensusKind},
    primitives::{
        B256,
        mutation::{self, Mutation},
    },
    sim::check::invariant::{honest, promised},
    system::staking::{ValidatorRecord, ValidatorStatus},
};

/// Least blocks between two looks at the staking contract.
const LOOK_EVERY: u64 = 2;

/// What happened to validators, by what honest replicas hold for final.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// Another set of validators is in force.
    SetChanged,
    /// A validator is in jail.
    Jailed,
    /// A validator is back from jail.
    Unjailed,
    /// A validator left, and its stake is unbonding.
    Left,
    /// The stake of one that left is withdrawable.
    StakeFree,
    /// A former member was slashed when it was none any more.
    SlashedLate,
}

use Event::{Jailed, Left, SetChanged, SlashedLate, StakeFree, Unjailed};

/// What the chosen seeds of a protocol have to reach together.
struct Wanted {
    seeds: &'static [u64],
    marks: &'static [&'static str],
    /// Kinds of faults in the plans.
    faults: &'static [&'static str],
    events: &'static [Event],
}

/// What seeds reached.
#[derive(Debug, Default)]
struct Reached {
    marks: BTreeMap<String, u64>,
    faults: BTreeSet<&'static str>,
    events: BTreeSet<Event>,
}

/// Watches a run as an invariant that always holds.
#[derive(Clone, Debug, Default)]
struct Watch(Arc<Mutex<Seen>>);

#[derive(Debug, Default)]
struct Seen {
    events: BTreeSet<Event>,
    heads: BTreeMap<ReplicaId, B256>,
    /// The validators in force after each block that was an honest replica's head.
    members: BTreeMap<B256, BTreeSet<Address>>,
    /// Status of each validator at the last look at the staking contract.
    status: BTreeMap<Address, ValidatorStatus>,
    /// The final block of the last look.
    looked_at: BlockId,
}

impl Invariant for Watch {
    fn name(&self) -> &'static str {
        "watch"
    }

    fn on_step(&mut self, network: &Network, step: &SimStep) -> Result<(), Violation> {
        if let Some(replica) = honest(network, step) {
            self.0.lock().unwrap().see(replica);
        }
        Ok(())
    }
}

impl Seen {
    fn see(&mut self, replica: &Replica) {
        let (id, head, chain) = (replica.id(), replica.head().hash, replica.chain());
        if self.heads.insert(id, head) == Some(head) {
            return;
        }
        let members: BTreeSet<_> = replica.validators().addresses().collect();
        if self.members.values().next().is_some_and(|first| *first != members) {
            self.events.insert(SetChanged);
        }
        self.members.insert(head, members);
        let next = self.looked_at.height.get() + LOOK_EVERY;
        if let Some(at) = promised(replica).filter(|block| chain.has_stake() && block.height.get() >= next)
            && let Ok(block) = chain.block(at.hash)
            && let Ok(records) = chain.staked_validators(&block)
        {
            records.iter().for_each(|record| self.look(record));
            self.looked_at = at;
        }
    }

    /// Compares a validator's record with the one at the last look.
    fn look(&mut self, record: &ValidatorRecord) {
        let before = self.status.insert(record.address, record.status);
        if before == Some(record.status) {
            return;
        }
        match record.status {
            ValidatorStatus::Jailed => self.events.extend([Jailed]),
            ValidatorStatus::Bonded if before == Some(ValidatorStatus::Jailed) => self.events.extend([Unjailed]),
            ValidatorStatus::Unbonding => self.events.extend([Left]),
            ValidatorStatus::Unbonded => self.events.extend([Left, StakeFree]),
            ValidatorStatus::Tombstoned => {
                let key = &record.sealing_key;
                let was_out = self.members.get(&self.looked_at.hash).is_some_and(|members| !members.contains(key));
                let was_in = self.members.values().any(|members| members.contains(key));
                self.events.extend((was_in && was_out).then_some(SlashedLate));
            }
            _ => {}
        }
    }
}

/// Runs a seed of a profile, and returns what it reached.
fn reached_by(kind: ConsensusKind, profile: fn(ConsensusConfig) -> CampaignSetup, seed: u64) -> Reached {
    let watch = Watch::default();
    let invariants: [Box<dyn Invariant>; 1] = [Box::new(watch.clone())];
    let setup = profile(default_sim_config(kind)).with_invariants(invariants);
    let report = run_seed(&setup, seed);
    assert_eq!(report.outcome, RunOutcome::Passed, "{kind:?}, seed {seed}");
    let faults = report.plan.faults.iter().map(|fault| fault.kind.label()).collect();
    let events = watch.0.lock().unwrap().events.clone();
    Reached { marks: report.marks, faults, events }
}

/// Runs seeds of the long profile, which together have to reach what is wanted.
fn assert_reached(kind: ConsensusKind, wanted: &Wanted) {
    let mut all = Reached::default();
    for seed in wanted.seeds {
        let Reached { marks, faults, events } = reached_by(kind, CampaignSetup::long, *seed);
        for (mark, count) in marks {
            *all.marks.entry(mark).or_default() += count;
        }
        all.faults.extend(faults);
        all.events.extend(events);
    }
    let missed_marks: Vec<_> = wanted.marks.iter().filter(|mark| !all.marks.contains_key(**mark)).collect();
    let missed_faults: Vec<_> = wanted.faults.iter().filter(|fault| !all.faults.contains(*fault)).collect();
    let missed_events: Vec<_> = wanted.events.iter().filter(|event| !all.events.contains(*event)).collect();
    assert!(
        missed_marks.is_empty() && missed_faults.is_empty() && missed_events.is_empty(),
        "{kind:?}, seeds {:?}: not reached: {missed_marks:?}, {missed_faults:?}, {missed_events:?}; reached: {all:?}",
        wanted.seeds,
    );
    let listed = kind.marks();
    assert!(wanted.marks.iter().all(|mark| listed.contains(mark)), "{kind:?}: marks that it has");
}

#[test]
fn long_runs_of_proof_of_authority_change_signers_and_restore_what_they_sealed() {
    let wanted = Wanted {
        seeds: &[19, 20],
        marks: &[
            "poa/fetch-parent",
            "poa/refuse-double-sign",
            "poa/reorg",
            "poa/say-sealed-again",
            "poa/seal-height-again",
            "poa/stale-answer",
        ],
        faults: &["crash", "partition"],
        events: &[SetChanged],
    };
    assert_reached(ConsensusKind::Poa, &wanted);
}

#[test]
fn long_runs_of_raft_answer_snapshots_and_change_members() {
    let wanted = Wanted {
        seeds: &[2],
        marks: &[
            "raft/block-sync",
            "raft/joint",
            "raft/leader-removed",
            "raft/members-changed",
            "raft/quorum-lost",
            "raft/snapshot",
            "raft/transfer",
            "raft/transfer-given-up",
        ],
        faults: &["crash", "partition"],
        events: &[SetChanged],
    };
    assert_reached(ConsensusKind::Raft, &wanted);
}

#[test]
fn long_runs_of_pbft_meet_lies_leavers_and_evidence() {
    let wanted = Wanted {
        seeds: &[3, 8, 53],
        marks: &[
            "pbft/checkpoint-shown",
            "pbft/departure-announced",
            "pbft/equivocating-primary",
            "pbft/evidence",
            "pbft/joined",
            "pbft/left",
            "pbft/overdue",
            "pbft/suspected",
            "pbft/synced",
            "pbft/validators-changed",
            "pbft/view-missed",
            "pbft/wrong-absence",
        ],
        faults: &["altered-relays", "equivocate", "lying-answers", "wipe"],
        events: &[SetChanged, Left, StakeFree, SlashedLate],
    };
    assert_reached(ConsensusKind::Pbft, &wanted);
}

#[test]
fn long_runs_of_delegated_proof_of_stake_meet_lies_elections_and_late_evidence() {
    let wanted = Wanted {
        seeds: &[2, 4, 20],
        marks: &[
            "dpos/below-watermark",
            "dpos/conflicting-votes",
            "dpos/double-production",
            "dpos/fetch-from-below",
            "dpos/schedule-proposed",
            "dpos/show-head",
        ],
        faults: &["lying-answers", "withhold"],
        events: &[SetChanged, Left, StakeFree, SlashedLate],
    };
    assert_reached(ConsensusKind::Dpos, &wanted);
}

/// Stake is withdrawable after the faults only.
#[test]
fn long_runs_of_proof_of_stake_meet_lies_leavers_and_evidence() {
    let wanted = Wanted {
        seeds: &[0, 22],
        marks: &[
            "pos/finalized",
            "pos/late-build",
            "pos/offence",
            "pos/reorg",
            "pos/resend",
            "pos/reveals-renewed",
            "pos/reveals-used-up",
            "pos/show-head",
            "pos/sync",
        ],
        faults: &["altered-relays", "lying-answers", "wipe"],
        events: &[SetChanged, Left, SlashedLate],
    };
    assert_reached(ConsensusKind::Pos, &wanted);
}

/// Where everybody moves, who is away is jailed, and returns.
#[test]
fn turnovers_jail_who_is_away_and_let_it_return() {
    let events = |kind, seed| reached_by(kind, CampaignSetup::turnover, seed).events;
    for (kind, seed) in [(ConsensusKind::Pos, 0), (ConsensusKind::Dpos, 9)] {
        let events = events(kind, seed);
        assert!(events.is_superset(&[Jailed, Unjailed].into()), "{kind:?}: {events:?}");
    }
    let by_blocks = mutation::with(Mutation::DposCountsOthersTurns, || events(ConsensusKind::Dpos, 9));
    assert!(!by_blocks.contains(&Jailed), "{by_blocks:?}");
}

/// Prints what each seed reaches. `PROTOCOL` in the environment is a protocol's short name (all without it), `FROM` the first seed, `SEEDS` the number
/// of seeds and `PROFILE` `turnover`, or the long one.
#[test]
#[ignore = "prints what seeds of the long profile reach"]
fn print_what_long_runs_reach() {
    let env = |name: &str| std::env::var(name).ok();
    let number = |name: &str, default: u64| env(name).and_then(|value| value.parse().ok()).unwrap_or(default);
    let (from, seeds) = (number("FROM", 0), number("SEEDS", 20));
    let profile = match env("PROFILE").as_deref() {
        Some("turnover") => CampaignSetup::turnover,
        _ => CampaignSetup::long,
    };
    for kind in ConsensusKind::ALL {
        if env("PROTOCOL").is_some_and(|wanted| wanted != kind.short_name()) {
            continue;
        }
        for seed in from..from + seeds {
            let Reached { marks, faults, events } = reached_by(kind, profile, seed);
            println!("{kind:?} {seed}: {events:?} {marks:?} {faults:?}");
        }
    }
}
