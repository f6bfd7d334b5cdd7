//! Whole networks of PBFT: agreement, view changes, catching up, production on demand, restarts.

use core::time::Duration;

use super::*;
use crate::{
    chain::GenesisSpec,
    consensus::{
        Admin, AnyProtocol, Authenticator, ConsensusConfig, ConsensusError, FinalityKind, Protocol, ReplicaId,
        SealScheme, SealedHeader,
        pbft::{LightVerifier, Pbft, PbftConfig, PbftError},
    },
    primitives::{Address, Height, U256},
};

fn config() -> PbftConfig {
    PbftConfig::default().with_checkpoints(4, 8)
}

/// A network of `validators` with one-second blocks and links between 5 and 80 ms.
fn network(validators: u32, seed: u64) -> NetworkBuilder {
    network_of(ConsensusConfig::Pbft(config()), validators, seed)
}

fn pbft(replica: &Replica) -> &Pbft {
    let AnyProtocol::Pbft(pbft) = replica.protocol() else { panic!("another protocol") };
    pbft
}

/// The number of the replica that leads the first view.
fn first_primary(network: &Network) -> ReplicaId {
    let primary = pbft(network.primary()).primary();
    network.replicas().iter().find(|replica| replica.address() == Some(primary)).unwrap().id()
}

#[test]
fn any_number_of_replicas_agree_and_execute_transactions_once() {
    for validators in [1, 4, 7] {
        let seed = SeedGuard::new(u64::from(validators));
        let mut network = with_transfers(network(validators, seed.get()).with_observers(1).build().unwrap());
        network.run_to_height(Height::new(20)).unwrap();
        let hash = network.primary().chain().hash_at(Height::new(20)).unwrap();
        for replica in network.replicas() {
            let chain = replica.chain();
            assert_eq!(chain.hash_at(Height::new(20)).unwrap(), hash);
            assert_eq!((chain.finalized().hash(), chain.safe().hash()), (chain.head().hash(), chain.head().hash()));
            assert_eq!(replica.protocol().finality().kind, FinalityKind::Certificate);
            let balance = chain.latest_state().unwrap().account(&Address::repeat_byte(0xbb)).unwrap().unwrap().balance;
            assert_eq!(balance, U256::from(5));
            assert!(replica.pool().is_empty());
            assert_eq!((pbft(replica).view().get(), replica.counters().reorgs), (0, 0));
        }
    }
}

#[test]
fn a_silent_primary_is_replaced_and_blocks_continue() {
    let silent = first_primary(&network(4, 3).build().unwrap());
    let mut network = silenced(network(4, 3), &[silent.get()], 4);
    let is_on = |network: &Network| {
        network
            .replicas()
            .iter()
            .filter(|replica| replica.id() != silent)
            .all(|replica| replica.head().height.get() >= 10)
    };
    network.run_until(Duration::from_secs(60), is_on).unwrap();
    for replica in network.replicas().iter().filter(|replica| replica.id() != silent) {
        assert_eq!(pbft(replica).view().get(), 1);
    }
    // It receives the certified blocks of the others, and follows.
    network.run_for(Duration::from_secs(5)).unwrap();
    assert!(network.replica(silent).unwrap().head().height.get() >= 10);
}

#[test]
fn a_disconnected_replica_catches_up_by_certified_blocks() {
    let far = ReplicaId::new(2);
    let mut builder = network(4, 11);
    for from in [0, 1, 3].map(ReplicaId::new) {
        let slow = Latency::Uniform { min: Duration::from_millis(5), max: Duration::from_secs(20) };
        builder = builder.with_link_latency(from, far, slow);
    }
    let mut network = builder.build().unwrap();
    network.run_for(Duration::from_secs(120)).unwrap();
    let heights: Vec<_> = network.replicas().iter().map(|replica| replica.head().height.get()).collect();
    assert!(heights[0] > 60 && heights[2] > 20, "{heights:?}");
    let synced = network.replica(far).unwrap().marks().find(|(name, _)| *name == "pbft/synced");
    assert!(synced.is_some_and(|(_, count)| count > 10));
    let common = Height::new(*heights.iter().min().unwrap());
    let hash = network.primary().chain().hash_at(common).unwrap();
    assert!(network.replicas().iter().all(|replica| replica.chain().hash_at(common).unwrap() == hash));
}

#[test]
fn seals_are_certificates_that_a_light_verifier_follows_under_both_schemes() {
    let mut hashes = Vec::new();
    for seals in [SealScheme::Symbolic, SealScheme::Secp256k1] {
        let mut network = network(4, 8).with_seals(seals).build().unwrap();
        network.run_to_height(Height::new(6)).unwrap();
        let (genesis, validators) = (network.primary().chain().genesis().clone(), network.genesis_validators().clone());
        for replica in network.replicas() {
            let authenticator = Authenticator::new(seals, 8);
            let genesis = genesis.block().header();
            let mut light = LightVerifier::new(config(), genesis, validators.clone(), authenticator).unwrap();
            for height in 1..=6 {
                let block = replica.chain().block(replica.chain().hash_at(Height::new(height)).unwrap()).unwrap();
                light.follow(&SealedHeader::from(block.block().as_ref())).unwrap();
            }
        }
        hashes.push(network.primary().chain().hash_at(Height::new(6)).unwrap());
    }
    assert_eq!(hashes[0], hashes[1]);
}

#[test]
fn invalid_options_are_refused() {
    let too_few = network(3, 0).build();
    let want = PbftError::TooFewValidators { validators: 3, faulty: 1, want: 4 };
    assert!(matches!(too_few, Err(NetworkError::Consensus(ConsensusError::Pbft(error))) if error == want));
    let dev = ConsensusConfig::Pbft(config().with_period(Duration::ZERO));
    assert!(matches!(network(4, 0).with_consensus(dev).build(), Err(NetworkError::Options { .. })));
    let mut network = network(4, 0).build().unwrap();
    let vote = Admin::Vote { target: Address::ZERO, authorize: true };
    assert!(matches!(network.admin(vote, ReplicaId::new(0)), Err(NetworkError::Refused(_))));
    let mut genesis = GenesisSpec::new(1);
    genesis.consensus = serde_json::json!({"protocol": "pbft", "checkpointEvery": 8, "logWindow": 8});
    let built = Network::builder().with_genesis(genesis).with_validators(4).build().unwrap();
    assert!(matches!(built.config(), ConsensusConfig::Pbft(config) if config.checkpoint_every == 8));
}

#[test]
fn many_seeds_with_latencies_longer_than_the_timeout_stay_in_agreement() {
    let latency = Latency::Uniform { min: Duration::from_millis(10), max: Duration::from_millis(2_500) };
    let config = ConsensusConfig::Pbft(config().with_timeout(Duration::from_secs(1)));
    let mut view_changes = 0;
    for seed in 0..20 {
        let seed = SeedGuard::new(seed);
        let builder = network(4 + 3 * (seed.get() % 2) as u32, seed.get()).with_latency(latency);
        let mut network = builder.with_consensus(config.clone()).build().unwrap();
        network.run_until(Duration::from_secs(2_000), |network| network.lowest_height().get() >= 15).unwrap();
        let hash = network.primary().chain().hash_at(Height::new(15)).unwrap();
        for replica in network.replicas() {
            assert_eq!(replica.chain().hash_at(Height::new(15)).unwrap(), hash);
            assert_eq!(replica.counters().reorgs, 0);
            view_changes += replica.marks().filter(|(name, _)| *name == "pbft/new-view").map(|(_, n)| n).sum::<u64>();
        }
    }
    assert!(view_changes > 50, "{view_changes}");
}

/// Cut in halves, none of which has a quorum, with timers that are set again for ever.
#[test]
fn a_network_that_can_not_go_on_times_out_with_heights_and_faults() {
    let mut network = network(4, 3).build().unwrap();
    network.run_to_height(Height::new(2)).unwrap();
    let halves = vec![vec![ReplicaId::new(0), ReplicaId::new(1)], vec![ReplicaId::new(2), ReplicaId::new(3)]];
    network.begin_fault(FaultKind::Partition { groups: halves }).unwrap();
    let crashed = ReplicaId::new(3);
    network.crash(crashed).unwrap();
    let began = network.now();
    let limit = Duration::from_secs(60);
    let Err(NetworkError::TimedOut { at, progress }) = network.run_to_height_within(limit, Height::new(50)) else {
        panic!("nobody has a quorum")
    };
    assert_eq!(at, began.plus(limit));
    assert_eq!(progress.heads.len(), 4);
    assert!(progress.heads.iter().all(|(_, height)| (2..50).contains(&height.get())), "{progress}");
    let words = progress.to_string();
    assert!(words.contains("replica 3 at height") && words.contains("(partition)"), "{words}");
    assert!(words.contains("(crash, of replica 3)"), "{words}");
    let error = network.run_to_height(Height::new(50)).unwrap_err();
    assert!(error.to_string().starts_with("timed out at 36"), "{error}");
    network.heal_all().unwrap();
    network.run_to_height(Height::new(50)).unwrap();
    assert!(network.progress().to_string().ends_with("no fault is under way"));
}
