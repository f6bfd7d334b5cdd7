//! Stake of who has duties still, though the staking contract no longer counts it: it can be slashed.

use super::*;
use crate::{
    consensus::{
        Protocol,
        dpos::DposConfig,
        mutation::{self, Mutation},
        pbft::PbftConfig,
        pos::PosConfig,
    },
    sim::check::{
        invariant::{Invariant, MembersAreLocked},
        violation::Violation,
    },
    system::staking::StakingParams,
};

const SEED: u64 = 5;

fn network(consensus: ConsensusConfig, validators: u32, unbonding_secs: u64) -> Network {
    let params = StakingParams { unbonding_secs, evidence_max_age_blocks: 10, ..StakingParams::default() };
    network_of(consensus, validators, SEED).with_staking(params).build().unwrap()
}

fn key(validator: u32) -> KeyPair {
    NetworkBuilder::validator_key(SEED, validator)
}

/// Steps for so long, checking that members are locked; returns how often one was met that had left.
fn watch(network: &mut Network, secs: u64) -> Result<u64, Violation> {
    let mut invariant = MembersAreLocked::default();
    let end = network.now().plus(Duration::from_secs(secs));
    while network.now() < end {
        let Some(step) = network.step().unwrap() else { break };
        invariant.on_step(network, &step)?;
    }
    Ok(invariant.left())
}

/// Of four members one leaves, which would leave too few: it stays in the committee.
pub(super) fn leaver_of_a_smallest_committee() -> Result<u64, Violation> {
    let mut network = network(ConsensusConfig::Pbft(PbftConfig::default().with_checkpoints(4, 8)), 4, 30);
    network.run_to_height(Height::new(2)).unwrap();
    network.validator_action(&key(3), &ValidatorAction::Exit).unwrap();
    let left = watch(&mut network, 120)?;
    assert!(network.primary().protocol().validators().contains(&key(3).address()));
    Ok(left)
}

#[test]
fn who_can_not_be_replaced_has_its_stake_locked() {
    assert!(leaver_of_a_smallest_committee().unwrap() > 5);
    let violation =
        mutation::with(Mutation::StakingFreesMembers, || leaver_of_a_smallest_committee().unwrap_err().to_string());
    assert!(violation.contains("members-are-locked"), "{violation}");
}

/// Of eight validators of proof of stake three are cut off, so that nothing becomes final, and a fourth leaves: its votes count as before. It
/// proposes seldom, and is never absent.
fn leaver_without_finality() -> Result<u64, Violation> {
    let config = PosConfig::default().with_period(Duration::from_secs(1)).with_slots_per_epoch(4);
    let mut network = network(ConsensusConfig::Pos(config), 8, 10);
    network.run_to_height(Height::new(6)).unwrap();
    for replica in 0..3 {
        network.crash(ReplicaId::new(replica)).unwrap();
    }
    network.run_for(Duration::from_secs(20)).unwrap();
    network.validator_action(&key(7), &ValidatorAction::Exit).unwrap();
    let left = watch(&mut network, 240)?;
    assert!(network.replicas()[4].protocol().validators().contains(&key(7).address()));
    Ok(left)
}

#[test]
fn who_votes_on_while_nothing_becomes_final_has_its_stake_locked() {
    assert!(leaver_without_finality().unwrap() > 5);
    assert!(mutation::with(Mutation::PosNamesEarnersOnly, leaver_without_finality).is_err());
}

/// One who stands by is elected, and half of the producers are cut off, so that its schedule waits; it leaves, and the others come back after
/// twice the unbonding period: it produces, until the next election is in force. Returns how often it was met meanwhile.
fn elected_and_gone() -> Result<u64, Violation> {
    let config = DposConfig::default().with_period(Duration::from_secs(1)).with_producers(4);
    let mut network = network(ConsensusConfig::Dpos(config), 5, 30);
    network.run_to_height(Height::new(2)).unwrap();
    let producers = network.primary().protocol().validators();
    let standby = (0..5).find(|number| !producers.contains(&key(*number).address())).unwrap();
    let vote = ValidatorAction::Delegate { validator: key(standby).address(), amount: ether(100) };
    network.validator_action(&alice(), &vote).unwrap();
    let cut_off: Vec<_> = (0..5).filter(|number| *number != standby).skip(2).map(ReplicaId::new).collect();
    for replica in &cut_off {
        network.crash(*replica).unwrap();
    }
    network.run_for(Duration::from_secs(30)).unwrap();
    network.validator_action(&key(standby), &ValidatorAction::Exit).unwrap();
    let mut left = watch(&mut network, 60)?;
    for replica in cut_off {
        network.restart(replica).unwrap();
    }
    let address = key(standby).address();
    network
        .run_until(Duration::from_secs(60), |network| network.primary().protocol().validators().contains(&address))
        .unwrap();
    left += watch(&mut network, 60)?;
    assert!(!network.primary().protocol().validators().contains(&address));
    Ok(left)
}

#[test]
fn who_is_elected_and_leaves_has_its_stake_locked_before_its_first_turn() {
    assert!(elected_and_gone().unwrap() > 0);
    assert!(mutation::with(Mutation::StakingFreesElected, elected_and_gone).is_err());
}
