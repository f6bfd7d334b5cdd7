//! Whole networks of PBFT: agreement, view changes, catching up, production on demand, restarts.

use core::time::Duration;

use super::*;
use crate::{
    chain::GenesisSpec,
    consensus::{
        Admin, Authenticator, ConsensusConfig, ConsensusError, FinalityKind, Machine, Protocol, ReplicaId, SealScheme,
        SealedHeader,
        pbft::{LightVerifier, Pbft, PbftConfig, PbftError},
    },
    primitives::{Address, Height, Timestamp, U256},
};

fn config() -> PbftConfig {
    PbftConfig::default().with_checkpoints(4, 8)
}

/// A network of `validators` with one-second blocks and links between 5 and 80 ms.
fn network(validators: u32, seed: u64) -> NetworkBuilder {
    network_of(ConsensusConfig::Pbft(config()), validators, seed)
}

fn pbft(replica: &Replica) -> &Pbft {
    let Machine::Pbft(pbft) = replica.machine() else { panic!("another protocol") };
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
        network.run_to_height(20).unwrap();
        let hash = network.primary().chain().hash_at(Height::new(20)).unwrap();
        for replica in network.replicas() {
            let chain = replica.chain();
            assert_eq!(chain.hash_at(Height::new(20)).unwrap(), hash);
            assert_eq!((chain.finalized().hash(), chain.safe().hash()), (chain.head().hash(), chain.head().hash()));
            assert_eq!(replica.machine().finality().kind, FinalityKind::Certificate);
            let balance = chain.latest_state().unwrap().account(&Address::repeat_byte(0xbb)).unwrap().unwrap().balance;
            assert_eq!(balance, U256::from(5));
            assert!(replica.pool().is_empty());
            assert_eq!((pbft(replica).view().get(), replica.counters().reorgs), (0, 0));
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_another() {
    let run = |seed| with_transfers(network(4, seed).build().unwrap());
    let (one, again, other) = (run(5), run(5), run(6));
    assert_eq!(one.digest(), again.digest());
    assert_eq!(one.primary().machine().digest(), again.primary().machine().digest());
    assert_ne!(one.digest(), other.digest());
}

#[test]
fn a_silent_primary_is_voted_out_and_blocks_go_on() {
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
    // It hears the others, and follows by their certified blocks.
    network.run_for(Duration::from_secs(5)).unwrap();
    assert!(network.replica(silent).unwrap().head().height.get() >= 10);
}

#[test]
fn a_replica_that_hears_late_catches_up_by_blocks_with_proof() {
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
fn blocks_on_demand_carry_the_ordered_time_and_everybody_adopts_them() {
    for validators in [1, 4] {
        let config = ConsensusConfig::Pbft(config().with_period(0));
        let builder = network(validators, 6).with_consensus(config).with_production(Production::OnDemand);
        let mut network = builder.build().unwrap();
        for nonce in 0..20 {
            network.submit(transfer(nonce), ReplicaId::new(0)).unwrap();
            let order = BlockOrder { timestamp: Some(Timestamp::from_secs(100 + nonce)), ..BlockOrder::default() };
            let produced = network.produce_block(&order).unwrap();
            let block = produced.block.block();
            assert_eq!((block.timestamp().as_secs(), block.transactions().len()), (100 + nonce, 1));
            assert_eq!(block.height().get(), nonce + 1);
            assert!(network.is_agreed() && network.replicas().iter().all(|replica| replica.pool().is_empty()));
        }
        let late = BlockOrder { timestamp: Some(Timestamp::from_secs(104)), ..BlockOrder::default() };
        assert!(matches!(network.produce_block(&late), Err(NetworkError::TooEarly { .. })));
        assert!(network.now() < SimTime::ZERO.plus(Duration::from_secs(20)), "no timer runs");
    }
}

#[test]
fn seals_are_certificates_that_a_light_verifier_follows_under_both_schemes() {
    let mut hashes = Vec::new();
    for seals in [SealScheme::Symbolic, SealScheme::Secp256k1] {
        let mut network = network(4, 8).with_seals(seals).build().unwrap();
        network.run_to_height(6).unwrap();
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
fn a_clone_is_a_fork_and_restoring_it_goes_back() {
    let mut live = with_transfers(network(4, 12).build().unwrap());
    let snapshot = live.clone();
    live.run_to_height(25).unwrap();
    let digest = live.digest();
    live.restore(&snapshot).unwrap();
    assert_eq!(live.digest(), snapshot.digest());
    live.run_to_height(25).unwrap();
    assert_eq!(live.digest(), digest);
}

#[test]
fn impossible_options_are_told() {
    let too_few = network(3, 0).build();
    let want = PbftError::TooFewValidators { validators: 3, faulty: 1, want: 4 };
    assert!(matches!(too_few, Err(NetworkError::Consensus(ConsensusError::Pbft(error))) if error == want));
    let dev = ConsensusConfig::Pbft(config().with_period(0));
    assert!(matches!(network(4, 0).with_consensus(dev).build(), Err(NetworkError::Options { .. })));
    let mut network = network(4, 0).build().unwrap();
    let vote = Admin::Vote { target: Address::ZERO, authorize: true };
    assert!(matches!(network.admin(vote, ReplicaId::new(0)), Err(NetworkError::Refused(_))));
    let mut genesis = GenesisSpec::new(1);
    genesis.consensus = serde_json::json!({"protocol": "pbft", "checkpointEvery": 8, "logWindow": 8});
    let built = Network::builder().with_genesis(genesis).with_validators(4).build().unwrap();
    assert!(matches!(built.config(), ConsensusConfig::Pbft(config) if config.checkpoint_every == 8));
}

#[cfg(feature = "rocksdb")]
#[test]
fn a_reopened_network_goes_on_at_its_head() {
    use crate::{
        state::{PagedState, StateStore},
        store::{KeyValue, RocksOptions, RocksStore},
    };
    let directory = tempfile::tempdir().unwrap();
    let open = || {
        let store: Arc<dyn KeyValue> = Arc::new(RocksStore::open(directory.path(), RocksOptions::default()).unwrap());
        let state: Arc<dyn StateStore> = Arc::new(PagedState::open(store.clone()).unwrap());
        network(4, 3).with_seals(SealScheme::Secp256k1).with_stores(state, store).build().unwrap()
    };
    let mut first = open();
    first.run_to_height(9).unwrap();
    let (head, stable) = (first.primary().head(), pbft(first.primary()).stable_checkpoint());
    drop(first);
    let mut second = open();
    assert_eq!(second.primary().head(), head);
    assert_eq!(pbft(second.primary()).stable_checkpoint(), stable);
    assert_eq!(second.primary().chain().finalized().hash(), head.hash);
    second.run_to_height(20).unwrap();
    assert!(second.replicas().iter().all(|replica| pbft(replica).view().get() == 0));
}

/// A single validator on a database: what it promised is there when it is opened again.
#[cfg(feature = "rocksdb")]
#[test]
fn a_validator_alone_goes_on_from_its_own_promises() {
    use crate::{
        consensus::raft::RaftConfig,
        state::{PagedState, StateStore},
        store::{KeyValue, RocksOptions, RocksStore},
    };
    let raft = RaftConfig::default().with_period(0);
    for config in [ConsensusConfig::Pbft(config().with_period(0)), ConsensusConfig::Raft(raft)] {
        let directory = tempfile::tempdir().unwrap();
        let open = || {
            let store = RocksStore::open(directory.path(), RocksOptions::default()).unwrap();
            let store: Arc<dyn KeyValue> = Arc::new(store);
            let state: Arc<dyn StateStore> = Arc::new(PagedState::open(store.clone()).unwrap());
            let builder = network(1, 3).with_consensus(config.clone()).with_production(Production::OnDemand);
            builder.with_stores(state, store).build().unwrap()
        };
        let mut first = open();
        for _ in 0..7 {
            first.produce_block(&BlockOrder::default()).unwrap();
        }
        let snapshot = first.clone();
        first.produce_block(&BlockOrder::default()).unwrap();
        let (head, kept) = (first.primary().head(), first.primary().records());
        drop((first, snapshot));
        let mut second = open();
        assert_eq!((second.primary().head(), second.primary().machine().head()), (head, head));
        assert!(kept.iter().all(|(key, value)| second.primary().records().get(key) == Some(value)), "{config:?}");
        if let Machine::Raft(raft) = second.primary().machine() {
            assert!(raft.term() >= 1 && raft.last_index() >= 8);
        }
        let snapshot = second.clone();
        for _ in 0..3 {
            second.produce_block(&BlockOrder::default()).unwrap();
        }
        second.restore(&snapshot).unwrap();
        let (head, kept) = (second.primary().head(), second.primary().records());
        drop((second, snapshot));
        let mut third = open();
        assert_eq!((third.primary().head(), third.primary().records().len()), (head, kept.len()), "{config:?}");
        assert_eq!(third.produce_block(&BlockOrder::default()).unwrap().block.height(), head.height.next());
    }
}

#[test]
fn many_seeds_with_latencies_longer_than_the_patience_stay_in_agreement() {
    let latency = Latency::Uniform { min: Duration::from_millis(10), max: Duration::from_millis(2_500) };
    let config = ConsensusConfig::Pbft(config().with_timeout_ms(1_000));
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
