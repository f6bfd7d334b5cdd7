//! Whole networks: agreement, determinism, voting, reorgs, production on demand.

use core::time::Duration;
use std::sync::Arc;

use super::*;
use crate::{
    chain::{Block, BlockAttributes, GenesisSpec},
    consensus::{
        Admin, AnyProtocol, ConsensusConfig, ConsensusMessage, Protocol, Purpose, ReplicaId, SealScheme,
        mutation::{self, Mutation},
        poa::PoaConfig,
    },
    primitives::{Address, Height, Timestamp, U256},
    sim::faults::plan::FaultKind,
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

/// Lets a signer who may seal the next block make one that is `ahead_secs` after the head, for all others; returns it.
fn inject_from_the_future(network: &mut Network, seed: u64, ahead_secs: u64) -> Arc<Block> {
    let chain = network.primary().chain().clone();
    let (head, next) = (chain.head().block().clone(), chain.head().height().next());
    let AnyProtocol::Poa(poa) = network.primary().protocol() else { panic!("not proof of authority") };
    let free = |index: &u32| {
        let address = network.replicas()[*index as usize].address().unwrap();
        poa.snapshot().may_sign(next, &address).is_ok() && !poa.snapshot().is_in_turn(next, &address)
    };
    let rogue = (0..4).find(free).unwrap();
    let signer = network.authenticator().signer(&NetworkBuilder::validator_key(seed, rogue));
    let attributes = BlockAttributes {
        timestamp: Timestamp::from_secs(head.timestamp().as_secs() + ahead_secs),
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
    future
}

/// Returns how many replicas have executed a block.
fn holders(network: &Network, block: &Block) -> usize {
    network.replicas().iter().filter(|replica| replica.chain().block(block.hash()).is_ok()).count()
}

/// Returns a network that was sent a block of 27 seconds later, a second before that time.
fn a_second_before_a_block_from_the_future() -> (Network, Arc<Block>) {
    let seed = 21;
    let mut network = network(4, seed).build().unwrap();
    network.run_to_height(Height::new(3)).unwrap();
    let future = inject_from_the_future(&mut network, seed, 27);
    let before = future.timestamp().as_secs() - 1 - network.timestamp().as_secs();
    network.run_for(Duration::from_secs(before)).unwrap();
    (network, future)
}

#[test]
fn a_block_from_the_future_is_not_judged_before_its_time_and_delays_no_other_block() {
    let (early, block) = mutation::with(Mutation::PoaJudgesEarlyBlocks, a_second_before_a_block_from_the_future);
    assert_eq!(holders(&early, &block), 3);
    let (mut network, future) = a_second_before_a_block_from_the_future();
    assert_eq!(holders(&network, &future), 0);
    assert!(network.lowest_height() > future.height(), "the others go on meanwhile");
    network.run_for(Duration::from_secs(2)).unwrap();
    assert_eq!(holders(&network, &future), 3);
    network.run_until(Duration::from_secs(60), Network::is_agreed).unwrap();
}

#[test]
fn a_block_from_the_far_future_is_refused() {
    let seed = 21;
    let mut network = network(4, seed).build().unwrap();
    network.run_to_height(Height::new(3)).unwrap();
    let refused = |network: &Network| network.replicas().iter().map(|r| r.counters().rejected).sum::<u64>();
    let before = refused(&network);
    let future = inject_from_the_future(&mut network, seed, 500);
    network.run_for(Duration::from_secs(600)).unwrap();
    assert_eq!((holders(&network, &future), refused(&network) - before), (0, 3));
    assert!(network.is_agreed());
}

/// Seconds that geth queues a block for (`maxTimeFutureBlocks`).
const QUEUED_SECS: u64 = 30;

/// Sends a block whose time is so many seconds ahead of all clocks. Returns how many replicas refuse it at once, and how many have it a second
/// after its time.
fn refused_and_taken(ahead_secs: u64) -> (u64, usize) {
    let seed = 21;
    let mut network = network(4, seed).build().unwrap();
    network.run_to_height(Height::new(3)).unwrap();
    // The middle of a second, so that the block arrives in the same one.
    let since_second = network.now().as_nanos() % 1_000_000_000;
    network.run_for(Duration::from_nanos(1_500_000_000 - since_second)).unwrap();
    let since_head = network.timestamp().as_secs() - network.primary().chain().head().block().timestamp().as_secs();
    let refused = |network: &Network| network.replicas().iter().map(|r| r.counters().rejected).sum::<u64>();
    let before = refused(&network);
    let future = inject_from_the_future(&mut network, seed, since_head + ahead_secs);
    network.run_for(Duration::from_millis(400)).unwrap();
    assert_eq!(future.timestamp().as_secs() - network.timestamp().as_secs(), ahead_secs);
    let at_once = refused(&network) - before;
    network.run_for(Duration::from_secs(ahead_secs + 1)).unwrap();
    (at_once, holders(&network, &future))
}

#[test]
fn a_block_from_the_future_waits_at_the_bound_and_is_refused_a_second_beyond() {
    assert_eq!(refused_and_taken(QUEUED_SECS), (0, 3));
    assert_eq!(refused_and_taken(QUEUED_SECS + 1), (3, 0));
}

/// A replica whose clock is slow takes each block so much later. The others do not need it.
#[test]
fn a_slow_clock_delays_a_replica_by_its_error() {
    let run = |offset_ms| {
        let config = ConsensusConfig::Poa(PoaConfig::default().with_period(Duration::from_secs(1)));
        let mut network = network_of(config, 4, 9).build().unwrap();
        network.run_for(Duration::from_secs(10)).unwrap();
        let slow = ReplicaId::new(3);
        let fault = network.begin_fault(FaultKind::Clock { replica: slow, offset_ms, drift_ppm: 0 }).unwrap();
        let before = network.primary().head().height.get();
        network.run_for(Duration::from_secs(60)).unwrap();
        let head = |replica: ReplicaId| network.replica(replica).unwrap().head().height.get();
        let grown = [ReplicaId::new(0), slow].map(|replica| head(replica) - before);
        network.end_fault(fault).unwrap();
        network.run_until(Duration::from_secs(60), Network::is_agreed).unwrap();
        grown
    };
    let [right, slow, very_slow, fast] = [0, -5_000, -40_000, 5_000].map(run);
    assert!(right[0] >= 40 && right[1].abs_diff(right[0]) <= 1, "{right:?}");
    assert!(slow[0] >= 40 && (2..=8).contains(&(slow[0] - slow[1])), "{slow:?}");
    assert!(very_slow[0] >= 40 && (20..=45).contains(&(very_slow[0] - very_slow[1])), "{very_slow:?}");
    assert!(fast[0] >= 40 && fast[1].abs_diff(fast[0]) <= 2, "{fast:?}");
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
    let (mut reorgs, mut left_settled, mut sealed_again) = (0, 0, 0);
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
            sealed_again += passed("poa/seal-height-again");
            assert!(replica.evidence().next().is_none(), "the same height on another branch is no offence");
            let finality = replica.protocol().finality();
            assert_eq!(replica.chain().finalized().hash(), finality.finalized.hash);
            assert!(replica.chain().is_canonical(finality.finalized.hash));
        }
    }
    assert!(reorgs > 100 && left_settled > 0, "{reorgs} reorgs, {left_settled} left what they had settled on");
    assert!(sealed_again > 0, "nobody sealed a height on two branches");
}
