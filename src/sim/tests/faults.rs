//! Whole networks under faults: the effect of each fault, invariants, two-phase runs.

mod behaviours;
mod campaigns;
mod links;
mod processes;

use core::time::Duration;

use super::*;
use crate::{
    consensus::{
        ConsensusConfig, ConsensusKind, ReplicaId, dpos::DposConfig, pbft::PbftConfig, poa::PoaConfig, raft::RaftConfig,
    },
    primitives::Height,
};

pub(super) fn id(number: u32) -> ReplicaId {
    ReplicaId::new(number)
}

pub(super) fn pbft() -> ConsensusConfig {
    ConsensusConfig::Pbft(PbftConfig::default().with_checkpoints(4, 8))
}

pub(super) fn raft() -> ConsensusConfig {
    ConsensusConfig::Raft(RaftConfig::default())
}

pub(super) fn poa() -> ConsensusConfig {
    ConsensusConfig::Poa(PoaConfig::default().with_period(Duration::from_secs(1)))
}

pub(super) fn dpos() -> ConsensusConfig {
    ConsensusConfig::Dpos(DposConfig::default())
}

pub(super) fn pos() -> ConsensusConfig {
    default_sim_config(ConsensusKind::Pos)
}

/// A network with every invariant, one-second blocks and 20 ms links.
fn builder(config: ConsensusConfig, validators: u32) -> NetworkBuilder {
    Network::builder()
        .with_genesis(campaign::workload::Workload::genesis())
        .with_invariants(invariant::of_protocol(&config))
        .with_consensus(config)
        .with_validators(validators)
        .with_seed(5)
        .with_latency(Latency::Constant(Duration::from_millis(20)))
}

fn network(config: ConsensusConfig, validators: u32) -> Network {
    builder(config, validators).build().unwrap()
}

fn run_ms(network: &mut Network, ms: u64) {
    network.run_for(Duration::from_millis(ms)).unwrap();
}

fn height(network: &Network, replica: u32) -> u64 {
    network.replica(id(replica)).unwrap().head().height.get()
}

fn heights(network: &Network) -> Vec<u64> {
    network.replicas().iter().map(|replica| replica.head().height.get()).collect()
}

fn marks(network: &Network, name: &str) -> u64 {
    let all = network.replicas().iter().flat_map(Replica::marks);
    all.filter(|(marked, _)| *marked == name).map(|(_, count)| count).sum()
}

/// Asserts that every replica reaches `blocks` above the highest head within a minute.
fn assert_progress(network: &mut Network, blocks: u64) {
    let goal = Height::new(heights(network).into_iter().max().unwrap() + blocks);
    let outcome = network.run_until(Duration::from_secs(60), |network| network.lowest_height() >= goal);
    outcome.unwrap_or_else(|error| panic!("{error}: {:?}", heights(network)));
}
