//! Slots whose length changes: who was away counts them as the others do, and proof of stake changes nothing that is not final.

use super::{
    parameters::{owner, schedule},
    *,
};
use crate::{
    consensus::{
        BlockId, Protocol, SealScheme, StakeUse,
        dpos::DposConfig,
        mutation::{self, Mutation},
        pos::PosConfig,
    },
    system::{
        parameters::{Parameter, ParametersSpec},
        staking::StakingParams,
    },
};

const AWAY: ReplicaId = ReplicaId::new(3);

/// Four validators whose slots have `secs`, and an owner of the chain's parameters.
fn network(config: ConsensusConfig) -> Network {
    let mut genesis = GenesisSpec::new(1_337).with_parameters(ParametersSpec::new(owner().address()));
    genesis.fund(owner().address(), ether(10));
    assert_ne!(config.info().stake_use, StakeUse::Never);
    let builder = Network::builder().with_genesis(genesis).with_consensus(config).with_validators(4).with_seed(1);
    builder.with_staking(StakingParams::default()).with_seals(SealScheme::Secp256k1).build().unwrap()
}

fn pos(secs: u64) -> ConsensusConfig {
    let config = PosConfig::default().with_period(Duration::from_secs(secs)).with_slots_per_epoch(4);
    ConsensusConfig::Pos(config)
}

fn run_for(network: &mut Network, secs: u64) {
    network.run_for(Duration::from_secs(secs)).unwrap();
}

/// Timestamps of a replica's branch, without genesis.
fn times(network: &Network, replica: usize) -> Vec<u64> {
    let chain = network.replicas()[replica].chain();
    (1..=chain.head().height().get())
        .map(|height| chain.block_at(Height::new(height)).unwrap().block().header().timestamp)
        .collect()
}

/// The block of a replica's branch that puts new parameters in force.
fn boundary(network: &Network, replica: usize) -> Option<BlockId> {
    let chain = network.replicas()[replica].chain();
    let blocks = (1..=chain.head().height().get()).map(|height| chain.block_at(Height::new(height)).unwrap());
    let found = blocks.into_iter().find(|block| !block.block().parameters().is_empty())?;
    Some(BlockId::of(found.block()))
}

fn run_past_boundary(network: &mut Network, replicas: core::ops::Range<usize>) {
    let has_it = |network: &Network| replicas.clone().all(|replica| boundary(network, replica).is_some());
    network.run_until(Duration::from_secs(300), has_it).unwrap();
}

fn spacings(times: &[u64], after: u64) -> Vec<u64> {
    let after: Vec<_> = times.iter().filter(|time| **time > after).collect();
    after.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// A producer that is back makes a block for a slot of its old branch, too late. On the others' branch fewer slots are over by then.
fn blocks_of_who_was_late() -> usize {
    let mut network = network(ConsensusConfig::Dpos(DposConfig::default().with_period(Duration::from_secs(1))));
    network.run_to_height(Height::new(6)).unwrap();
    network.crash(AWAY).unwrap();
    schedule(&mut network, 0, &[(Parameter::BlockTime, 6)]);
    run_past_boundary(&mut network, 0..3);
    run_for(&mut network, 120);
    network.restart(AWAY).unwrap();
    run_for(&mut network, 60);
    assert!(network.replicas()[3].marks().any(|(mark, _)| mark == "dpos/late"));
    let (chain, back) = (network.replicas()[0].chain(), network.replicas()[3].address().unwrap());
    let blocks = (10..=chain.head().height().get()).map(|height| chain.block_at(Height::new(height)).unwrap());
    blocks.filter(|block| block.block().header().beneficiary == back).count()
}

#[test]
fn a_producer_that_was_late_by_an_old_clock_produces_by_the_new_one() {
    assert!(blocks_of_who_was_late() > 0);
    assert_eq!(mutation::with(Mutation::DposLateByNumber, blocks_of_who_was_late), 0);
}

/// Cut in halves once all have the block that commits to it, until none can make anything final.
fn spacings_while_nothing_is_final() -> Vec<u64> {
    let mut network = network(pos(2));
    network.run_to_height(Height::new(6)).unwrap();
    schedule(&mut network, 0, &[(Parameter::BlockTime, 7)]);
    run_past_boundary(&mut network, 0..4);
    let halves = vec![vec![ReplicaId::new(0), ReplicaId::new(1)], vec![ReplicaId::new(2), AWAY]];
    let cut = network.now().as_nanos() / 1_000_000_000;
    network.begin_fault(FaultKind::Partition { groups: halves }).unwrap();
    run_for(&mut network, 100);
    let alone = (0..4).flat_map(|replica| spacings(&times(&network, replica), cut)).collect();
    network.heal_all().unwrap();
    run_for(&mut network, 400);
    let until = network.now().as_nanos() / 1_000_000_000;
    for replica in 0..4 {
        let late = spacings(&times(&network, replica), until - 100);
        assert!(late.len() > 5 && late.iter().all(|secs| secs.is_multiple_of(7)), "{late:?}");
        assert_eq!(boundary(&network, replica), boundary(&network, 0));
    }
    alone
}

#[test]
fn slots_of_proof_of_stake_keep_their_length_until_the_change_is_final() {
    let alone = spacings_while_nothing_is_final();
    assert!(alone.iter().any(|secs| !secs.is_multiple_of(7)), "{alone:?}");
    assert!(alone.iter().filter(|secs| **secs < 7).count() > 20, "{alone:?}");
    let early = mutation::with(Mutation::PosUnfinalSlotLength, spacings_while_nothing_is_final);
    assert!(early.iter().filter(|secs| **secs < 7).count() < 20, "{early:?}");
}

/// One validator goes on alone by the old length while the others change it, to a longer or a shorter one.
#[test]
fn a_validator_that_was_away_counts_slots_as_the_others_do() {
    for (before, after) in [(2, 5), (5, 2)] {
        let mut network = network(pos(before));
        network.run_to_height(Height::new(6)).unwrap();
        network.begin_fault(FaultKind::Isolate { replica: AWAY }).unwrap();
        schedule(&mut network, 0, &[(Parameter::BlockTime, after)]);
        run_past_boundary(&mut network, 0..3);
        run_for(&mut network, 160);
        network.heal_all().unwrap();
        run_for(&mut network, 900);
        let heads: Vec<_> = network.replicas().iter().map(|replica| replica.head()).collect();
        assert!(heads.iter().all(|head| *head == heads[0]), "{before} s to {after} s: {heads:?}");
        assert!(network.replicas()[3].marks().any(|(mark, _)| mark == "pos/other-clock"), "{before} s to {after} s");
        let finality = network.replicas()[3].protocol().finality();
        assert!(finality.finalized.height.get() + 16 > heads[0].height.get(), "{finality:?}, {heads:?}");
        let back = network.replicas()[3].address().unwrap();
        let chain = network.replicas()[0].chain();
        let newest = heads[0].height.get() - 60..heads[0].height.get();
        let author = |height| chain.block_at(Height::new(height)).unwrap().block().header().beneficiary;
        assert!(newest.map(author).any(|author| author == back), "{before} s to {after} s: it proposes again");
    }
}
