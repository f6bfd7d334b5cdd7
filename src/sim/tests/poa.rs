//! Whole networks: agreement, determinism, voting, reorgs, production on demand.

use core::time::Duration;
use std::sync::Arc;

use super::*;
use crate::{
    chain::{BlockAttributes, GenesisSpec},
    consensus::{
        Admin, AnyProtocol, Authenticator, ConsensusConfig, ConsensusMessage, Protocol, Purpose, ReplicaId, SealScheme,
        poa::PoaConfig,
    },
    primitives::{Address, Height, Timestamp, U256},
};

/// A 7-second-period network of `validators` with links between 5 and 80 ms.
fn network(validators: u32, seed: u64) -> NetworkBuilder {
    network_of(ConsensusConfig::Poa(PoaConfig::default().with_period(Duration::from_secs(7))), validators, seed)
}

#[test]
fn any_number_of_replicas_reach_the_same_heads() {
    for validators in [1, 4, 7] {
        let seed = SeedGuard::new(u64::from(validators));
        let mut network = with_transfers(network(validators, seed.get()).build().unwrap());
        network.run_until(Duration::from_secs(100), Network::is_agreed).unwrap();
        for replica in network.replicas() {
            let chain = replica.chain();
            assert_eq!(chain.head().hash(), replica.head().hash);
            let balance = chain.latest_state().unwrap().account(&Address::repeat_byte(0xbb)).unwrap().unwrap().balance;
            assert_eq!(balance, U256::from(5));
            assert!(replica.pool().is_empty());
        }
    }
}

#[test]
fn both_seal_schemes_make_the_same_blocks() {
    let head = |seals| {
        let mut network = network(4, 8).with_seals(seals).build().unwrap();
        network.run_to_height(Height::new(6)).unwrap();
        network.primary().chain().hash_at(Height::new(6)).unwrap()
    };
    assert_eq!(head(SealScheme::Symbolic), head(SealScheme::Secp256k1));
}

#[test]
fn a_signer_is_voted_in_and_out() {
    let seed = SeedGuard::new(4);
    // Validator 4 runs as an observer: it has a key, and is no signer until it is voted in.
    let newcomer = NetworkBuilder::validator_key(seed.get(), 9).address();
    let mut network = network(4, seed.get()).build().unwrap();
    let is_signer =
        |network: &Network| network.replicas().iter().all(|r| r.protocol().validators().contains(&newcomer));
    let is_stranger =
        |network: &Network| !network.replicas().iter().any(|r| r.protocol().validators().contains(&newcomer));
    for replica in 0..3 {
        network.admin(Admin::Vote { target: newcomer, authorize: true }, ReplicaId::new(replica)).unwrap();
    }
    network.run_until(Duration::from_secs(200), is_signer).unwrap();
    assert_eq!(network.primary().protocol().validators().len(), 5);
    // The new signer never signs; the other four of five continue and vote it out again.
    for replica in 0..3 {
        network.admin(Admin::Vote { target: newcomer, authorize: false }, ReplicaId::new(replica)).unwrap();
    }
    network.run_until(Duration::from_secs(400), is_stranger).unwrap();
    let height = network.lowest_height().get();
    network.run_to_height(Height::new(height + 10)).unwrap();
    assert_eq!(network.primary().protocol().validators().len(), 4);
}

#[test]
fn an_observer_follows_and_may_not_vote() {
    let mut network = network(3, 1).with_observers(1).build().unwrap();
    network.run_to_height(Height::new(10)).unwrap();
    let observer = ReplicaId::new(3);
    assert_eq!(network.replica(observer).unwrap().counters().blocks_built, 0);
    let vote = Admin::Vote { target: Address::ZERO, authorize: true };
    assert!(matches!(network.admin(vote, observer), Err(NetworkError::Refused(_))));
    assert!(matches!(network.replica(ReplicaId::new(4)), Err(UnknownReplica { count: 4, .. })));
}

#[test]
fn only_ordered_transactions_are_taken_when_some_are() {
    let config = ConsensusConfig::Poa(PoaConfig::default().with_period(Duration::ZERO));
    let builder = network(1, 6).with_consensus(config).with_production(Production::OnDemand);
    let mut network = builder.build().unwrap();
    network.submit(transfer(0), ReplicaId::new(0)).unwrap();
    let order = BlockOrder::new().with_transactions(vec![transfer(3)]);
    let produced = network.produce_block(&order).unwrap();
    assert_eq!((produced.block.block().transactions().len(), produced.left_out.len()), (0, 1));
    assert_eq!(network.primary().pool().len(), 1);
}

#[test]
fn invalid_options_are_refused() {
    let dev = ConsensusConfig::Poa(PoaConfig::default().with_period(Duration::ZERO));
    assert!(matches!(network(1, 0).with_consensus(dev).build(), Err(NetworkError::Options { .. })));
    let no_epoch = ConsensusConfig::Poa(PoaConfig::default().with_epoch(0));
    assert!(matches!(network(1, 0).with_consensus(no_epoch).build(), Err(NetworkError::Consensus(_))));
    assert!(matches!(network(0, 0).build(), Err(NetworkError::Consensus(_))));
    let mut two = GenesisSpec::new(1);
    two.consensus = serde_json::json!({"protocol": "pow"});
    let built = Network::builder().with_genesis(two).build();
    assert!(matches!(built, Err(NetworkError::ChainOptions(ChainOptionsError::GenesisConsensus { .. }))));
}

#[test]
fn a_block_from_the_future_is_pending_until_its_time_and_delays_no_other_block() {
    let seed = 21;
    let mut network = network(4, seed).build().unwrap();
    network.run_to_height(Height::new(3)).unwrap();
    // Signer `rogue` builds on the head, far ahead of the clock.
    let chain = network.primary().chain().clone();
    let (head, next) = (chain.head().block().clone(), chain.head().height().next());
    let AnyProtocol::Poa(poa) = network.primary().protocol() else { panic!("not proof of authority") };
    let free = |index: &u32| {
        let address = network.replicas()[*index as usize].address().unwrap();
        poa.snapshot().may_sign(next, &address).is_ok() && !poa.snapshot().is_in_turn(next, &address)
    };
    let rogue = (0..4).find(free).unwrap();
    let signer = Authenticator::symbolic(seed).signer(&NetworkBuilder::validator_key(seed, rogue));
    let attributes = BlockAttributes {
        timestamp: Timestamp::from_secs(head.timestamp().as_secs() + 500),
        beneficiary: signer.address(),
        difficulty: U256::from(1),
        ..BlockAttributes::default()
    };
    let mut nothing = network.primary().pool().best(0);
    let built = chain.build(head.hash(), &attributes, &mut nothing).unwrap().block;
    let future = Arc::new(built.clone().with_seal(signer.sign(Purpose::Block, built.hash())));
    for to in (0..4).filter(|to| *to != rogue) {
        let (from, to) = (ReplicaId::new(rogue), ReplicaId::new(to));
        network.inject(from, to, ConsensusMessage::Block(future.clone())).unwrap();
    }
    network.run_to_height(Height::new(10)).unwrap();
    assert!(network.timestamp() < future.timestamp());
    assert!(!network.primary().chain().is_canonical(future.hash()));
    network.run_for(Duration::from_secs(600)).unwrap();
    assert!(network.is_agreed());
}

#[test]
fn a_block_that_is_late_on_one_link_is_fetched_from_another() {
    let (slow, far) = (Latency::Constant(Duration::from_secs(60)), ReplicaId::new(3));
    let mut network = network(4, 2).with_link_latency(ReplicaId::new(0), far, slow).build().unwrap();
    network.run_to_height(Height::new(30)).unwrap();
    let fetches = network.replica(far).unwrap().marks().find(|(name, _)| *name == "poa/fetch-parent");
    assert!(fetches.is_some_and(|(_, count)| count > 0));
    network.run_until(Duration::from_secs(100), Network::is_agreed).unwrap();
}

#[test]
fn many_seeds_converge_after_latencies_longer_than_the_period() {
    let latency = Latency::Uniform { min: Duration::from_millis(10), max: Duration::from_millis(2_500) };
    let config = ConsensusConfig::Poa(PoaConfig::default().with_period(Duration::from_secs(1)));
    let (mut reorgs, mut left_settled, mut refused) = (0, 0, 0);
    for seed in 0..40 {
        let seed = SeedGuard::new(seed);
        let validators = 3 + (seed.get() % 4) as u32;
        let builder = network(validators, seed.get()).with_latency(latency).with_consensus(config.clone());
        let mut network = builder.build().unwrap();
        network.run_to_height(Height::new(25)).unwrap();
        network.run_until(Duration::from_secs(1_000), Network::is_agreed).unwrap();
        for replica in network.replicas() {
            reorgs += replica.counters().reorgs;
            let passed = |mark| replica.marks().filter(|(name, _)| *name == mark).map(|(_, n)| n).sum::<u64>();
            left_settled += passed("poa/left-settled");
            refused += passed("poa/refuse-double-sign");
            let finality = replica.protocol().finality();
            assert_eq!(replica.chain().finalized().hash(), finality.finalized.hash);
            assert!(replica.chain().is_canonical(finality.finalized.hash));
        }
    }
    assert!(reorgs > 100 && left_settled > 0, "{reorgs} reorgs, {left_settled} left what they had settled on");
    assert!(refused > 0, "nobody was asked to sign a height twice");
}
