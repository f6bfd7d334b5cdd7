//! Networks in real time: paced by given readings, and on a pool of threads.

use core::{num::NonZeroUsize, time::Duration};
use std::sync::{Arc, mpsc};

use crate::{
    chain::CallRequest,
    consensus::{ConsensusConfig, PbftConfig, PoaConfig, ReplicaId},
    node::{
        BlockRef, ContractError, EngineError, MineError, NetworkPool, PacedError, PacedNetwork, SendError,
        SharedNetwork,
    },
    primitives::{Timestamp, U256, ether},
    sim::{Invariant, Network, NetworkBuilder, PacerError, SimStep, StopError, Violation},
};

const BEGAN: Duration = Duration::from_secs(1_750_000_000);
const SECOND: Duration = Duration::from_secs(1);
const LAST: ReplicaId = ReplicaId::new(3);

fn pbft(now: Duration) -> NetworkBuilder {
    let config = ConsensusConfig::Pbft(PbftConfig::default());
    let network = Network::builder().with_consensus(config).with_validators(4).with_dev_accounts(2);
    network.with_timestamp(Timestamp::from_secs(now.as_secs()))
}

fn poa(now: Duration) -> NetworkBuilder {
    let config = ConsensusConfig::Poa(PoaConfig::default().with_period(SECOND));
    Network::builder().with_consensus(config).with_timestamp(Timestamp::from_secs(now.as_secs()))
}

fn share(builder: NetworkBuilder) -> SharedNetwork {
    builder.build().unwrap().share().unwrap()
}

/// Tells the time whenever the network wants to, up to `end`.
fn run(network: &PacedNetwork, end: Duration) {
    while let Some(now) = network.next_wake().filter(|now| *now <= end) {
        network.advance(now).unwrap();
    }
    network.advance(end).unwrap();
}

fn height(network: &PacedNetwork, replica: usize) -> u64 {
    network.nodes()[replica].view().head().height().get()
}

/// Fails, or panics, at a step.
#[derive(Clone, Debug)]
struct Fails {
    at: u64,
    panics: bool,
}

impl Invariant for Fails {
    fn name(&self) -> &'static str {
        "test"
    }

    fn on_step(&mut self, network: &Network, _: &SimStep) -> Result<(), Violation> {
        if network.steps() < self.at {
            return Ok(());
        }
        assert!(!self.panics, "as asked");
        Err(Violation::new("test", network, "as asked"))
    }
}

#[test]
fn a_transaction_sent_between_two_readings_is_in_the_next_block() {
    let network = share(pbft(BEGAN)).pace(BEGAN).unwrap();
    let (near, far) = (network.node(ReplicaId::new(1)).unwrap(), network.node(LAST).unwrap());
    let [alice, bob] = network.accounts().try_into().unwrap();
    run(&network, BEGAN + SECOND * 3 + Duration::from_millis(500));
    let request = CallRequest::call(bob, vec![]).with_from(alice).with_value(ether(1));
    let hash = near.send_request(request.clone()).unwrap();
    assert!(near.receipt(hash).unwrap().is_none());
    assert_eq!(near.view().nonce(alice, BlockRef::Pending).unwrap(), 1);
    run(&network, BEGAN + SECOND * 4 + Duration::from_millis(500));
    let mined = far.receipt(hash).unwrap().unwrap();
    assert_eq!(mined.block().block().timestamp().as_secs(), BEGAN.as_secs() + 4);
    // Nobody makes time pass while a caller waits.
    let waits = near.send_and_mine(request);
    assert!(matches!(waits, Err(ContractError::NotMined { .. })), "{waits:?}");
    let passes = near.pass_time(SECOND);
    assert!(matches!(passes, Err(MineError::Engine(EngineError::PacedNetwork))), "{passes:?}");
    assert_eq!(height(&network, 1), 4, "refused commands change nothing");
    run(&network, BEGAN + SECOND * 5 + Duration::from_millis(500));
    assert_eq!(near.view().balance(bob, BlockRef::Latest).unwrap(), ether(10_002));
}

#[test]
fn a_stopped_validator_restarts_from_its_records() {
    let network = share(pbft(BEGAN)).pace(BEGAN).unwrap();
    run(&network, BEGAN + SECOND * 5);
    let stopped_at = height(&network, 3);
    network.stop(LAST).unwrap();
    let again = network.stop(LAST);
    assert!(matches!(again, Err(PacedError::Stop(StopError::AlreadyStopped { replica: LAST }))), "{again:?}");
    run(&network, BEGAN + SECOND * 30);
    assert_eq!(height(&network, 3), stopped_at);
    assert!(height(&network, 0) > stopped_at + 20);
    let node = network.node(LAST).unwrap();
    let alice = network.accounts()[0];
    let refused = node.send_request(CallRequest::call(alice, vec![]).with_from(alice));
    assert!(refused.is_err(), "its replica does not run");
    network.start(LAST).unwrap();
    let again = network.start(LAST);
    assert!(matches!(again, Err(PacedError::Stop(StopError::NotStopped { replica: LAST }))), "{again:?}");
    run(&network, BEGAN + SECOND * 40);
    assert!(height(&network, 3).abs_diff(height(&network, 0)) <= 1);
    let unknown = ReplicaId::new(4);
    assert!(matches!(network.stop(unknown), Err(PacedError::Stop(StopError::UnknownReplica(_)))));
    assert!(matches!(network.start(unknown), Err(PacedError::Stop(StopError::UnknownReplica(_)))));
}

#[test]
fn a_network_that_fails_stands_still_and_says_why() {
    for panics in [false, true] {
        let fails: Box<dyn Invariant> = Box::new(Fails { at: 40, panics });
        let network = share(pbft(BEGAN).with_invariants([fails])).pace(BEGAN).unwrap();
        let mut failed = Ok(());
        while let Some(now) = network.next_wake() {
            failed = network.advance(now);
        }
        let Err(EngineError::NetworkFailed { reason }) = failed else { panic!("{failed:?}") };
        assert!(reason.contains("as asked"), "{reason}");
        assert_eq!(network.failure(), Some(reason));
        let (node, alice) = (network.node(ReplicaId::new(0)).unwrap(), network.accounts()[0]);
        assert!(node.view().balance(alice, BlockRef::Latest).is_ok(), "what it had can be read");
        let sent = node.send_request(CallRequest::call(alice, vec![]).with_from(alice));
        let Err(SendError::Mine(MineError::Engine(EngineError::NetworkFailed { .. }))) = sent else {
            panic!("{sent:?}")
        };
        assert!(matches!(network.stop(LAST), Err(PacedError::Engine(EngineError::NetworkFailed { .. }))));
        assert!(network.advance(BEGAN + SECOND * 900).is_err());
    }
}

#[test]
fn networks_on_demand_have_no_pace() {
    let on_demand = Network::builder().with_consensus(crate::consensus::ConsensusKind::Poa.on_demand());
    let on_demand = share(on_demand.with_production(crate::sim::Production::OnDemand));
    assert_eq!(on_demand.pace(BEGAN).unwrap_err(), PacerError::OnDemand);
}

/// Runs for some three seconds: the pool's threads and the machine's clock are what is tested.
#[test]
fn many_networks_share_a_pool_and_failed_or_locked_ones_harm_nobody() {
    let pool = NetworkPool::new(NonZeroUsize::new(2).unwrap()).unwrap();
    let now = pool.now();
    let networks: Vec<PacedNetwork> = (0..60).map(|_| pool.add(share(poa(now))).unwrap()).collect();
    let busy = pool.add(share(pbft(now))).unwrap();
    let fails = [false, true].map(|panics| {
        let fails: Box<dyn Invariant> = Box::new(Fails { at: 1, panics });
        pool.add(share(poa(now).with_invariants([fails]))).unwrap()
    });
    // Somebody locks two networks, as many as there are threads, for as long as all this takes.
    let (locked, is_locked) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let holds = networks[..2].to_vec();
    let holder = std::thread::spawn(move || {
        let guards: Vec<_> = holds.iter().map(|network| network.lock()).collect();
        locked.send(()).unwrap();
        let _ = released.recv();
        drop(guards);
    });
    is_locked.recv().unwrap();

    let node = busy.node(ReplicaId::new(2)).unwrap();
    let [alice, bob] = busy.accounts().try_into().unwrap();
    for number in 1..=2_u64 {
        let mined = node.transfer(alice, bob, U256::from(5)).unwrap();
        assert_eq!(node.view().balance(bob, BlockRef::Latest).unwrap(), ether(10_000) + U256::from(5 * number));
        let time = mined.block().block().timestamp().as_secs();
        assert!(time.abs_diff(pool.now().as_secs()) <= 2, "the block's time is the clock's");
    }
    busy.stop(LAST).unwrap();
    busy.start(LAST).unwrap();
    drop(release);
    holder.join().unwrap();
    let reached = |network: &PacedNetwork| {
        (0..600).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            height(network, 0) >= 2
        })
    };
    assert!(networks.iter().all(reached));
    for network in &networks {
        let blocks = height(network, 0);
        assert!(blocks <= (pool.now() - now).as_secs() + 1, "{blocks} blocks since {now:?}");
        assert_eq!(network.failure(), None);
    }
    for network in &fails {
        assert!(network.failure().unwrap().contains("as asked"));
    }
    let counters = pool.counters();
    assert_eq!((counters.networks, counters.failed), (63, 2));

    // One that left stands still, and so do all once the pool has stopped.
    let left = &networks[5];
    pool.remove(left);
    pool.remove(left);
    assert_eq!(pool.counters().networks, 62);
    pool.shutdown(SECOND * 30).unwrap();
    let heights: Vec<u64> = networks.iter().map(|network| height(network, 0)).collect();
    std::thread::sleep(Duration::from_millis(1_200));
    assert_eq!(networks.iter().map(|network| height(network, 0)).collect::<Vec<_>>(), heights);
    let late = node.transfer(alice, bob, U256::from(5));
    assert!(matches!(late, Err(ContractError::NotMined { .. })), "{late:?}");
}

#[test]
fn a_pool_stops_at_once_with_nothing_to_do() {
    for threads in [1, 3] {
        let pool = NetworkPool::new(NonZeroUsize::new(threads).unwrap()).unwrap();
        pool.shutdown(SECOND * 10).unwrap();
        drop(NetworkPool::with_clock(NonZeroUsize::MIN, Arc::new(StoppedClock)).unwrap());
    }
}

/// A clock that stands still.
#[derive(Debug)]
struct StoppedClock;

impl crate::node::RealTimeClock for StoppedClock {
    fn now(&self) -> Duration {
        BEGAN
    }
}
