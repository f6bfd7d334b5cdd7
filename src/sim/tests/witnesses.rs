//! Every invariant is shown to report its violation: by a constructed state of a network, or by
//! a deliberate bug in the table of docs/mutations.md.
//!
//! Most states are made of two networks with the same keys and different histories: an invariant that observed the one must reject
//! the other.

use core::time::Duration;
use std::collections::BTreeSet;

use super::faults::{id, pbft, poa, raft};
use super::*;
use crate::{
    chain::{Block, Intervention},
    consensus::{
        AnyProtocol, ConsensusConfig, ConsensusKind, ReplicaId,
        dpos::DposConfig,
        mutation::{self, Mutation},
        pbft::PbftConfig,
        pos::PosConfig,
    },
    primitives::{Address, Gas, Height, U256, ether},
    sim::{
        campaign::workload::Workload,
        check::invariant::{
            AccountableSafety, FinalityIrreversible, HonestStake, JustAbsences, ParametersInForce, StateRoots,
            SupplyConserved, WeightsOfKeys,
            dpos::ConfirmationsConsistent,
            pbft::{PreparedUnique, Watermarks},
            poa::NoDoubleSealing,
            raft::{CommittedEntriesPersist, LogMatching},
        },
    },
    system::{
        parameters::ParametersSpec,
        staking::{STAKING_ADDRESS, StakingParams},
    },
};

fn pos() -> ConsensusConfig {
    ConsensusConfig::Pos(PosConfig::default().with_period(Duration::from_secs(1)).with_slots_per_epoch(4))
}

fn dpos() -> ConsensusConfig {
    ConsensusConfig::Dpos(DposConfig::default())
}

fn builder(config: ConsensusConfig) -> NetworkBuilder {
    Network::builder()
        .with_genesis(Workload::genesis())
        .with_consensus(config)
        .with_validators(4)
        .with_seed(5)
        .with_latency(Latency::Constant(Duration::from_millis(20)))
}

/// The same keys, times and draws, with a transaction in the first block or without: two histories.
fn history(config: ConsensusConfig, with_transaction: bool, height: u64) -> Network {
    let mut network = builder(config).build().unwrap();
    if with_transaction {
        network.submit(Workload::new(1, 1, Duration::from_millis(1), 1).next().unwrap().1, id(0)).unwrap();
    }
    network.run_to_height(Height::new(height)).unwrap();
    network
}

fn look(invariant: &mut dyn Invariant, network: &Network, replica: ReplicaId) -> Result<(), Violation> {
    let looked = invariant.on_step(network, &SimStep { at: network.now(), replica, label: "by hand" });
    if let Err(violation) = &looked {
        assert!(invariant.names().contains(&violation.invariant.as_ref()), "{violation}");
    }
    looked
}

/// Returns a replica that is not the author of a replica's head.
fn other_than_author(network: &Network) -> ReplicaId {
    let author = network.primary().chain().head().block().header().beneficiary;
    network.replicas().iter().find(|replica| replica.address() != Some(author)).unwrap().id()
}

/// Steps until every replica is at a height, checking the invariant.
fn watch(invariant: &mut dyn Invariant, network: &mut Network, height: u64) -> Result<(), Violation> {
    let is_high = |network: &Network| {
        let running = network.replicas().iter().filter(|replica| replica.process() == ProcessState::Running);
        running.map(|replica| replica.head().height.get()).min().unwrap() >= height
    };
    while !is_high(network) {
        let step = network.step().unwrap().unwrap();
        look(invariant, network, step.replica)?;
    }
    Ok(())
}

fn finality_stays() -> Violation {
    let mut network = history(pbft(), false, 2);
    let earlier = network.fork();
    network.run_to_height(Height::new(4)).unwrap();
    let mut invariant = FinalityIrreversible::default();
    look(&mut invariant, &network, id(0)).unwrap();
    look(&mut invariant, &earlier, id(0)).unwrap_err()
}

fn state_roots() -> Violation {
    let mut network = history(raft(), false, 2);
    let earlier = network.replicas[0].protocol.clone();
    network.run_to_height(Height::new(4)).unwrap();
    look(&mut StateRoots::default(), &network, id(0)).unwrap();
    network.replicas[0].protocol = earlier;
    look(&mut StateRoots::default(), &network, id(0)).unwrap_err()
}

fn supply_kept() -> Violation {
    let mut invariant = SupplyConserved::default();
    look(&mut invariant, &history(poa(), false, 2), id(0)).unwrap();
    let richer = Workload::genesis().with_balance(Address::repeat_byte(7), ether(1));
    let mut network = builder(poa()).with_genesis(richer).build().unwrap();
    network.run_to_height(Height::new(2)).unwrap();
    look(&mut invariant, &network, id(1)).unwrap_err()
}

fn parameters_in_force() -> Violation {
    let mut genesis = Workload::genesis().with_parameters(ParametersSpec::new(Address::repeat_byte(7)));
    genesis.allow_interventions = true;
    let invariant: Box<dyn Invariant> = Box::new(ParametersInForce::default());
    let mut network = builder(poa()).with_genesis(genesis).with_invariants([invariant]).build().unwrap();
    network.run_to_height(Height::new(2)).unwrap();
    network.intervene(&Intervention::GasLimit { gas: Gas::new(7_000_000) }).unwrap();
    let Err(NetworkError::Violated(violation)) = network.run_to_height(Height::new(9)) else {
        panic!("a gas limit that is not in force was accepted")
    };
    *violation
}

fn weights_by_key() -> Violation {
    let mut genesis = Workload::genesis();
    genesis.allow_interventions = true;
    let invariant: Box<dyn Invariant> = Box::new(WeightsOfKeys::default());
    let mut network = builder(dpos()).with_genesis(genesis).with_invariants([invariant]).build().unwrap();
    network.run_to_height(Height::new(2)).unwrap();
    // The tokens of a validator, of which no update tells: the third word of the struct in the mapping at slot 15.
    let validator = network.replicas[0].address().unwrap();
    let slot = crate::vm::mapping_slot(validator.into_word().into(), U256::from(15)) + U256::from(2);
    network.intervene(&Intervention::Storage { address: STAKING_ADDRESS, slot, value: ether(33) }).unwrap();
    let Err(NetworkError::Violated(violation)) = network.run_to_height(Height::new(9)) else {
        panic!("a weight without an update was accepted")
    };
    *violation
}

/// Who left may withdraw, though the committee has it still.
fn members_are_locked() -> Violation {
    mutation::with(Mutation::StakingFreesMembers, || super::locked::leaver_of_a_smallest_committee().unwrap_err())
}

/// Whom the contract removes goes on signing.
fn members_by_contract() -> Violation {
    mutation::with(Mutation::PoaKeepsRemovedMembers, || super::registry::removal(poa()).unwrap_err())
}

/// The first violation of an invariant in the governance profile with a bug.
fn of_governance(mutation: Mutation) -> Violation {
    let setup = CampaignSetup {
        recovery_max: Duration::from_secs(1),
        ..CampaignSetup::governance(default_sim_config(ConsensusKind::Poa))
    };
    let found = mutation::with(mutation, || run_plan(&setup, 3, &FaultPlan::default()));
    found.violation().unwrap_or_else(|| panic!("{mutation:?}: {:?}", found.outcome)).clone()
}

fn proposals_end() -> Violation {
    of_governance(Mutation::GovernanceEndsEarly)
}

fn tallies() -> Violation {
    of_governance(Mutation::GovernanceKeepsFormerVotes)
}

fn executed_once() -> Violation {
    of_governance(Mutation::GovernanceSkipsExecution)
}

fn permissions() -> Violation {
    of_governance(Mutation::PermissionsIgnoreSenders)
}

/// Four members whose blocks report absences; the first primary may say that another one is absent.
fn absences(accuses: bool) -> Network {
    let config = ConsensusConfig::Pbft(PbftConfig::default().with_reported_absences());
    let staking = StakingParams { downtime_window: 24, ..StakingParams::default() };
    let invariants = invariant::of_protocol(&config);
    let mut network = builder(config).with_staking(staking).with_invariants(invariants).build().unwrap();
    if accuses {
        let AnyProtocol::Pbft(first) = network.primary().protocol() else { panic!("not pbft") };
        let primary = first.primary();
        let primary = network.replicas().iter().find(|replica| replica.address() == Some(primary)).unwrap().id();
        network.misbehave(primary, Behaviour::FalseAbsences, Trigger::Always).unwrap();
    }
    network
}

/// Runs that to a height, with a bug or without.
fn with_absences(mutation: Option<Mutation>, accuses: bool, height: u64) -> Result<Network, Violation> {
    let mut network = absences(accuses);
    let mut run = || network.run_to_height(Height::new(height));
    let done = match mutation {
        Some(mutation) => mutation::with(mutation, run),
        None => run(),
    };
    match done {
        Ok(()) => Ok(network),
        Err(NetworkError::Violated(violation)) => Err(*violation),
        Err(error) => panic!("{error}"),
    }
}

fn unjust_absences() -> Violation {
    with_absences(Some(Mutation::PbftBelievesReports), true, 50).unwrap_err()
}

fn own_absences() -> Violation {
    with_absences(Some(Mutation::PbftReportsUnsigned), false, 50).unwrap_err()
}

fn counted_absences() -> Violation {
    let mut invariant = JustAbsences::default();
    // Blocks without reports, and then the counts of a chain whose blocks had some.
    watch(&mut invariant, &mut absences(false), 9).unwrap();
    let other = with_absences(None, true, 10).unwrap();
    let honest = other.replicas().iter().find(|replica| other.is_honest(replica.id())).unwrap().id();
    look(&mut invariant, &other, honest).unwrap_err()
}

#[test]
fn a_primary_that_accuses_honest_members_reaches_nothing() {
    let network = with_absences(None, true, 50).unwrap();
    let records = network.validators().unwrap();
    assert!(records.iter().all(|record| record.validates), "{records:?}");
    let reports: Vec<u64> = records.iter().filter_map(|record| Some(record.stake.as_ref()?.missed_blocks)).collect();
    // A quarter of what is not punished, and one block in which the suspicions arrive.
    assert!(reports.iter().all(|missed| *missed <= 4), "{reports:?}");
    let AnyProtocol::Pbft(pbft) = network.primary().protocol() else { panic!("not pbft") };
    assert_eq!(pbft.view().get(), 1, "one view change ends it");
}

fn accountable_safety() -> Violation {
    let (mut network, other) = (history(pos(), false, 20), history(pos(), true, 20));
    let mut invariant = AccountableSafety::default();
    look(&mut invariant, &network, id(0)).unwrap();
    network.replicas[1] = other.replicas[1].clone();
    // All validators signed both histories, and all count as honest here.
    let violation = look(&mut AccountableSafety::default(), &network, id(0)).unwrap_err();
    assert!(violation.detail.contains("honest among them"), "{violation}");
    violation
}

fn honest_stake() -> Violation {
    let mut network = builder(pos()).build().unwrap();
    network.misbehave(id(2), Behaviour::Equivocate, Trigger::Always).unwrap();
    let byzantine = network.replicas[2].address().unwrap();
    let is_slashed = |network: &Network| match network.primary().protocol() {
        AnyProtocol::Pos(pos) => pos.head_state().is_some_and(|state| state.is_slashed(&byzantine)),
        _ => false,
    };
    network.run_until(Duration::from_secs(60), is_slashed).unwrap();
    look(&mut HonestStake, &network, id(0)).unwrap();
    // Without its misbehaviour on record.
    network.env.faults = None;
    look(&mut HonestStake, &network, id(0)).unwrap_err()
}

fn log_matching() -> Violation {
    let mut invariant = LogMatching::default();
    look(&mut invariant, &history(raft(), false, 3), id(0)).unwrap();
    look(&mut invariant, &history(raft(), true, 3), id(1)).unwrap_err()
}

fn state_machine_safety() -> Violation {
    let leads = |replica: &&Replica| matches!(replica.protocol(), AnyProtocol::Raft(raft) if raft.is_leader());
    let mut invariant = CommittedEntriesPersist::default();
    let mut network = builder(raft()).build().unwrap();
    network.run_until(Duration::from_secs(9), |network| network.replicas().iter().any(|one| leads(&one))).unwrap();
    let leader = network.replicas().iter().find(leads).unwrap().id();
    let mut other = network.fork();
    network.run_to_height(Height::new(3)).unwrap();
    look(&mut invariant, &network, leader).unwrap();
    // In the other network that leader stopped before any commit, and another leader's entries have the same indices.
    other.crash(leader).unwrap();
    let survivor = other.replicas().iter().map(Replica::id).find(|id| *id != leader).unwrap();
    let is_high = |network: &Network| network.replica(survivor).unwrap().head().height.get() > 3;
    other.run_until(Duration::from_secs(30), is_high).unwrap();
    look(&mut invariant, &other, survivor).unwrap_err()
}

fn committed_survives() -> Violation {
    let mut invariant = PreparedUnique::default();
    let mut network = builder(pbft()).build().unwrap();
    let mut other = network.fork();
    watch(&mut invariant, &mut network, 3).unwrap();
    // In the other network the first primary is silent, and the next one's block is at the height of the committed one.
    let AnyProtocol::Pbft(first) = other.primary().protocol() else { panic!("not pbft") };
    let primary = first.primary();
    let primary = other.replicas().iter().find(|replica| replica.address() == Some(primary)).unwrap().id();
    other.crash(primary).unwrap();
    watch(&mut invariant, &mut other, 2).unwrap_err()
}

fn watermarks() -> Violation {
    let mut network = history(pbft(), false, 6);
    look(&mut Watermarks::default(), &network, id(0)).unwrap();
    network.replicas[0].protocol = history(pbft(), true, 6).replicas[0].protocol.clone();
    let stranger = look(&mut Watermarks::default(), &network, id(0)).unwrap_err();
    assert!(stranger.detail.contains("and has Some"), "{stranger}");
    let every_third = ConsensusConfig::Pbft(PbftConfig::default().with_checkpoints(3, 6));
    network.replicas[0].protocol = history(every_third, false, 4).replicas[0].protocol.clone();
    look(&mut Watermarks::default(), &network, id(0)).unwrap_err()
}

fn seals() -> Violation {
    let mut network = history(poa(), false, 3);
    let mut stranger = builder(poa()).with_seed(6).build().unwrap();
    stranger.run_to_height(Height::new(3)).unwrap();
    network.replicas[0] = stranger.replicas[0].clone();
    let all = invariant::of_protocol(&poa());
    let mut clique = all.into_iter().find(|invariant| invariant.names().contains(&"poa-seal")).unwrap();
    look(clique.as_mut(), &network, id(0)).unwrap_err()
}

fn seals_once() -> Violation {
    let (network, other) = (history(poa(), false, 1), history(poa(), true, 1));
    let mut invariant = NoDoubleSealing::default();
    look(&mut invariant, &network, other_than_author(&network)).unwrap();
    let twice = (0..4).filter_map(|replica| look(&mut invariant, &other, id(replica)).err()).next();
    twice.unwrap()
}

fn one_block_a_slot() -> Violation {
    let (network, other) = (history(dpos(), false, 6), history(dpos(), true, 6));
    let mut invariant = ConfirmationsConsistent::default();
    look(&mut invariant, &network, other_than_author(&network)).unwrap();
    look(&mut invariant, &other, other_than_author(&other)).unwrap_err()
}

/// Two of four producers extend their own branch, and one of them confirms heights there that it confirmed on the other branch.
fn confirms_once() -> Violation {
    of_two_alone(|head, until| head.timestamp().as_secs() > until)
}

/// Two of four producers extend their own branch, and later one of them confirms blocks there that imply less than it implied before.
fn lock_kept() -> Violation {
    of_two_alone(|head, _| head.height().get() > 26)
}

/// The violation by a block on the branch of two of four producers, all of whom made another branch from the same block until a
/// time.
fn of_two_alone(is_it: fn(&Block, u64) -> bool) -> Violation {
    let mut network = history(dpos(), false, 8);
    let mut other = network.fork();
    let mut invariant = ConfirmationsConsistent::default();
    watch(&mut invariant, &mut network, 18).unwrap();
    let until = network.primary().chain().head().block().timestamp().as_secs();
    let [one, two] = [0, 1].map(|number| other.replicas[number].address().unwrap());
    for replica in [2, 3] {
        other.crash(id(replica)).unwrap();
    }
    let is_far = |network: &Network| {
        let head = network.primary().chain().head().block();
        is_it(head, until) && head.header().beneficiary == one
    };
    other.run_until(Duration::from_secs(200), is_far).unwrap();
    let chain = other.primary().chain();
    let head = chain.head().hash();
    let earlier = (1..chain.head().height().get()).map(|height| chain.hash_at(Height::new(height)).unwrap());
    earlier.filter(|hash| *hash != head).for_each(|hash| invariant.overlook(hash));
    other.run_for(Duration::from_millis(100)).unwrap();
    assert_eq!(other.replicas[1].address(), Some(two));
    look(&mut invariant, &other, id(1)).unwrap_err()
}

fn durability() -> Violation {
    let transaction = Workload::new(1, 1, Duration::from_millis(1), 1).next().unwrap().1;
    let mut oracle = check::oracle::Oracle::default();
    oracle.submitted(&transaction);
    let network = history(pbft(), true, 3);
    oracle.on_step(&network, &SimStep { at: network.now(), replica: id(0), label: "by hand" });
    assert_eq!((oracle.acknowledged_count(), oracle.submitted_count()), (1, 1));
    oracle.check(&network, &[id(0), id(1)]).unwrap();
    oracle.check(&history(pbft(), false, 3), &[id(1)]).unwrap_err()
}

/// Two of four equal stakes are silent: blocks are made, and no more become final.
fn convergence() -> Violation {
    let silent =
        |replica| FaultKind::Byzantine { replica: id(replica), behaviour: Behaviour::Silent, when: Trigger::Always };
    let plan = FaultPlan::default().with_lasting(Duration::ZERO, silent(2)).with_lasting(Duration::ZERO, silent(3));
    let setup = CampaignSetup {
        validators: vec![4],
        fault_phase: Duration::from_secs(3),
        recovery_max: Duration::from_secs(15),
        ..CampaignSetup::of(pos())
    };
    run_plan(&setup, 1, &plan).violation().unwrap().clone()
}

/// Two of four members are silent: no more is committed.
fn liveness() -> Violation {
    let silent =
        |replica| FaultKind::Byzantine { replica: id(replica), behaviour: Behaviour::Silent, when: Trigger::Always };
    let plan = FaultPlan::default().with_lasting(Duration::ZERO, silent(2)).with_lasting(Duration::ZERO, silent(3));
    let setup = CampaignSetup {
        validators: vec![4],
        fault_phase: Duration::from_secs(3),
        recovery_max: Duration::from_secs(15),
        ..CampaignSetup::of(pbft())
    };
    run_plan(&setup, 1, &plan).violation().unwrap().clone()
}

/// A record with a valid checksum and malformed content.
fn recovery() -> Violation {
    let mut network = history(poa(), false, 2);
    network.crash(id(1)).unwrap();
    let record = crate::consensus::checked_record(&[7]);
    network.replicas[1].disk.put(b"head", Some(&record));
    let Err(NetworkError::Violated(violation)) = network.restart(id(1)) else {
        panic!("the malformed record was accepted")
    };
    *violation
}

/// The state that violates each of these invariants.
const WITNESSES: &[(&str, fn() -> Violation)] = &[
    ("finality-stays", finality_stays),
    ("state-roots", state_roots),
    ("supply-kept", supply_kept),
    ("parameters-in-force", parameters_in_force),
    ("weights-by-key", weights_by_key),
    ("members-are-locked", members_are_locked),
    ("members-by-contract", members_by_contract),
    ("governance-transitions", proposals_end),
    ("governance-tallies", tallies),
    ("governance-executed-once", executed_once),
    ("permissions-respected", permissions),
    ("absences-unjust", unjust_absences),
    ("absences-own", own_absences),
    ("absences-counted", counted_absences),
    ("pos-accountable-safety", accountable_safety),
    ("honest-stake-is-safe", honest_stake),
    ("raft-log-matching", log_matching),
    ("raft-state-machine-safety", state_machine_safety),
    ("pbft-committed-survives", committed_survives),
    ("pbft-watermarks", watermarks),
    ("poa-seal", seals),
    ("poa-seals-once", seals_once),
    ("dpos-one-block-a-slot", one_block_a_slot),
    ("dpos-confirms-once", confirms_once),
    ("dpos-lock-kept", lock_kept),
    ("durability", durability),
    ("convergence", convergence),
    ("liveness", liveness),
    ("recovery", recovery),
];

/// The failures that a run itself reports, besides invariants.
const OF_RUNS: [&str; 4] = ["durability", "liveness", "convergence", "recovery"];

#[test]
fn every_witness_violates_its_invariant() {
    for (name, witness) in WITNESSES {
        let violation = witness();
        assert_eq!(violation.invariant, *name, "{violation}");
    }
}

#[test]
fn every_invariant_has_a_witness_or_a_mutation() {
    let table = include_str!("../../../docs/mutations.md");
    let rows =
        table.lines().filter_map(|line| Some(line.strip_prefix("| ")?.split(" | ").nth(3)?.trim_end_matches(" |")));
    let mut shown: BTreeSet<&str> = rows.collect();
    shown.extend(WITNESSES.iter().map(|(name, _)| *name));
    let all: BTreeSet<&str> = ConsensusKind::ALL
        .into_iter()
        .flat_map(|kind| invariant::of_protocol(&default_sim_config(kind)))
        .flat_map(|invariant| invariant.names())
        .chain(OF_RUNS)
        .collect();
    assert!(all.len() > 30, "{all:?}");
    let unseen: Vec<_> = all.difference(&shown).collect();
    assert!(unseen.is_empty(), "invariants without a witness or a mutation: {unseen:?}");
}
