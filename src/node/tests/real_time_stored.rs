//! Networks in real time on a disk: what a service does when its process is killed and started again.

use core::time::Duration;
use std::sync::Arc;

use crate::{
    chain::CallRequest,
    consensus::{ConsensusConfig, ConsensusKind, ReplicaId, SealScheme},
    node::{BlockRef, Node, PacedError, PacedNetwork},
    primitives::{B256, Timestamp, ether},
    sim::{Network, StopError, default_sim_config},
    state::PagedState,
    store::{PrefixedStore, testing::MemoryDisk},
    system::staking::StakingParams,
};

const BEGAN: Duration = Duration::from_secs(1_750_000_000);
const SECOND: Duration = Duration::from_secs(1);
const OBSERVER: ReplicaId = ReplicaId::new(4);

/// Four validators and the observer whose chain is stored, at a place of its own on the disk.
fn open(disk: &Arc<MemoryDisk>, kind: ConsensusKind, now: Duration) -> PacedNetwork {
    let store = Arc::new(PrefixedStore::new(disk.clone(), *b"chain-07"));
    let state = Arc::new(PagedState::open(store.clone()).unwrap());
    let builder = Network::builder()
        .with_consensus(config(kind))
        .with_timestamp(Timestamp::from_secs(BEGAN.as_secs()))
        .with_seals(SealScheme::Secp256k1)
        .with_validators(4)
        .with_dev_accounts(2)
        .with_observers(1)
        .with_primary(OBSERVER)
        .with_stores(state, store);
    // Stake is locked for ten minutes, so that a replica that was away for longer would need a trusted checkpoint.
    let staking = StakingParams { unbonding_secs: 600, evidence_max_age_secs: 600, ..StakingParams::default() };
    let builder = if kind == ConsensusKind::Pos { builder.with_staking(staking) } else { builder };
    builder.build().unwrap().share().unwrap().pace(now).unwrap()
}

/// Stake of validators that were away leaks as slowly as it should where nobody's absence is an outage.
fn config(kind: ConsensusKind) -> ConsensusConfig {
    match default_sim_config(kind) {
        ConsensusConfig::Pos(pos) => ConsensusConfig::Pos(pos.with_leak_quotient(1 << 40)),
        config => config,
    }
}

/// Tells the time whenever the network wants to, up to `end`.
fn run(network: &PacedNetwork, end: Duration) {
    while let Some(now) = network.next_wake().filter(|now| *now <= end) {
        network.advance(now).unwrap();
    }
    network.advance(end).unwrap();
}

fn height(node: &Node) -> u64 {
    node.view().head().height().get()
}

fn pay(node: &Node) -> B256 {
    let [alice, bob] = node.accounts().try_into().unwrap();
    node.send_request(CallRequest::call(bob, vec![]).with_from(alice).with_value(ether(1))).unwrap()
}

#[test]
fn a_stored_network_goes_on_at_the_clocks_time_whenever_its_process_was_killed() {
    for (kind, gap) in ConsensusKind::ALL.into_iter().flat_map(|kind| [(kind, SECOND), (kind, SECOND * 5_000)]) {
        let disk = Arc::new(MemoryDisk::new());
        let network = open(&disk, kind, BEGAN);
        let node = network.node(OBSERVER).unwrap();
        run(&network, BEGAN + SECOND * 3);
        let paid = pay(&node);
        run(&network, BEGAN + SECOND * 14);
        let stopped = ReplicaId::new(2);
        network.stop(stopped).unwrap();
        let refused = network.stop(OBSERVER);
        assert!(matches!(refused, Err(PacedError::Stop(StopError::Primary { replica: OBSERVER }))), "{refused:?}");
        let mined = node.receipt(paid).unwrap().unwrap_or_else(|| panic!("{kind:?}: not mined")).block().height();
        let (mut now, before) = (BEGAN + SECOND * 25, height(&node));
        run(&network, now);
        assert!(height(&node) > before, "{kind:?}: no block with one validator stopped");
        let seen = height(&node);

        // The process is killed, and started again after a while; what was stopped is up again.
        let disk = disk.crashed();
        now += gap;
        let network = open(&disk, kind, now);
        let node = network.node(OBSERVER).unwrap();
        assert_eq!(height(&node), seen, "{kind:?}");
        assert_eq!(node.receipt(paid).unwrap().unwrap().block().height(), mined, "{kind:?}");
        let again = pay(&node);
        run(&network, now + SECOND * 30);
        assert!(height(&node) >= seen + 8, "{kind:?}, {gap:?}: {} after {seen}", height(&node));
        let newest = node.view().head().block().timestamp().as_secs();
        assert!((now.as_secs() + 25..=now.as_secs() + 30).contains(&newest), "{kind:?}, {gap:?}: {newest}");
        assert!(node.receipt(again).unwrap().is_some(), "{kind:?}, {gap:?}");
        let bob = network.accounts()[1];
        assert_eq!(node.view().balance(bob, BlockRef::Latest).unwrap(), ether(10_002), "{kind:?}, {gap:?}");
        let heights: Vec<u64> = network.nodes().iter().map(height).collect();
        assert!(heights.iter().all(|at| at.abs_diff(height(&node)) <= 2), "{kind:?}, {gap:?}: {heights:?}");
    }
}
