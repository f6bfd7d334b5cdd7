//! Properties of a network of any protocol.

use core::time::Duration;

use super::*;
use crate::{
    consensus::{ConsensusKind, Protocol, ReplicaId},
    primitives::{Height, Timestamp},
};

fn network(kind: ConsensusKind, validators: u32, seed: u64) -> NetworkBuilder {
    network_of(default_sim_config(kind), validators, seed)
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_another() {
    for kind in ConsensusKind::ALL {
        let run = |seed| with_transfers(network(kind, 4, seed).build().unwrap());
        let (one, again, other) = (run(5), run(5), run(6));
        assert_eq!(one.digest(), again.digest(), "{kind:?}");
        assert_eq!(one.primary().protocol().digest(), again.primary().protocol().digest(), "{kind:?}");
        assert_ne!(one.digest(), other.digest(), "{kind:?}");
    }
}

#[test]
fn a_clone_is_a_fork_and_restoring_it_goes_back() {
    for kind in ConsensusKind::ALL {
        let mut live = with_transfers(network(kind, 4, 12).build().unwrap());
        let snapshot = live.clone();
        let mut fork = live.fork();
        live.run_to_height(Height::new(30)).unwrap();
        fork.run_to_height(Height::new(30)).unwrap();
        assert_eq!(live.digest(), fork.digest(), "{kind:?}");
        let digest = live.digest();
        live.restore(&snapshot).unwrap();
        assert_eq!(live.digest(), snapshot.digest(), "{kind:?}");
        assert_eq!(live.primary().chain().head().hash(), snapshot.primary().head().hash, "{kind:?}");
        live.run_to_height(Height::new(30)).unwrap();
        assert_eq!(live.digest(), digest, "{kind:?}");
    }
}

#[test]
fn blocks_on_demand_have_the_ordered_time_and_all_replicas_adopt_them() {
    for (kind, validators) in ConsensusKind::ALL.into_iter().flat_map(|kind| [(kind, 1), (kind, 4)]) {
        let builder = network_of(kind.on_demand(), validators, 6).with_production(Production::OnDemand);
        let mut network = builder.build().unwrap();
        for nonce in 0..40 {
            network.submit(transfer(nonce), ReplicaId::new(0)).unwrap();
            let order = BlockOrder::new().with_timestamp(Timestamp::from_secs(100 + nonce));
            let produced = network.produce_block(&order).unwrap();
            let block = produced.block.block();
            assert_eq!((block.timestamp().as_secs(), block.transactions().len()), (100 + nonce, 1), "{kind:?}");
            assert_eq!(block.height().get(), nonce + 1, "{kind:?}");
            assert!(
                network.is_agreed() && network.replicas().iter().all(|replica| replica.pool().is_empty()),
                "{kind:?}"
            );
        }
        let late = BlockOrder::new().with_timestamp(Timestamp::from_secs(104));
        assert!(matches!(network.produce_block(&late), Err(NetworkError::TooEarly { .. })), "{kind:?}");
        let next = network.produce_block(&BlockOrder::default()).unwrap();
        assert_eq!(next.block.height().get(), 41, "{kind:?}");
        assert!(network.now() < SimTime::ZERO.plus(Duration::from_secs(30)), "{kind:?}: no timer of blocks runs");
        let finalized = network.primary().chain().finalized().height().get();
        assert!(finalized >= 24, "{kind:?}, {validators} validators: final at {finalized} of 41");
    }
}

#[test]
fn blocks_on_demand_with_a_period_are_refused_at_build() {
    for (kind, validators) in ConsensusKind::ALL.into_iter().flat_map(|kind| [(kind, 1), (kind, 4)]) {
        let config = default_sim_config(kind);
        let built = network(kind, validators, 6).with_production(Production::OnDemand).build();
        let want = ChainOptionsError::OnDemandPeriod { protocol: kind.name(), period_secs: config.period().as_secs() };
        assert!(matches!(built, Err(NetworkError::ChainOptions(got)) if got == want), "{kind:?}");
    }
}

#[test]
fn produce_block_is_refused_when_blocks_are_automatic() {
    for kind in ConsensusKind::ALL {
        let mut network = network(kind, 4, 6).build().unwrap();
        for _ in 0..2 {
            let refused = network.produce_block(&BlockOrder::new());
            assert!(matches!(refused, Err(NetworkError::NeverRests)), "{kind:?}");
            assert!(matches!(network.settle(), Err(NetworkError::NeverRests)), "{kind:?}");
            network.run_to_height(Height::new(2)).unwrap();
        }
    }
}

/// Every protocol makes progress over links that always lose a tenth of all messages.
#[test]
fn lossy_links_are_tolerated() {
    for kind in ConsensusKind::ALL {
        let build = || network(kind, 4, 0).with_loss(100);
        let mut network = build().build().unwrap();
        network.heal().unwrap();
        network.run_until(Duration::from_secs(300), |network| network.lowest_height().get() >= 12).unwrap();
        assert!(network.lowest_height().get() >= 12, "{}", kind.name());
        let deaf = build().with_link_loss(ReplicaId::new(0), ReplicaId::new(1), 1_001).build();
        assert!(matches!(deaf, Err(NetworkError::Options(NetworkOptionsError::Loss { per_mille: 1_001, max: 1_000 }))));
    }
}

#[cfg(feature = "rocksdb")]
#[test]
fn a_reopened_network_continues_at_its_head() {
    use crate::{
        consensus::SealScheme,
        primitives::Height,
        state::{PagedState, StateStore},
        store::{KeyValue, RocksOptions, RocksStore},
    };
    for kind in ConsensusKind::ALL {
        let directory = tempfile::tempdir().unwrap();
        let open = || {
            let store = RocksStore::open(directory.path(), RocksOptions::default()).unwrap();
            let store: Arc<dyn KeyValue> = Arc::new(store);
            let state: Arc<dyn StateStore> = Arc::new(PagedState::open(store.clone()).unwrap());
            network(kind, 4, 3).with_seals(SealScheme::Secp256k1).with_stores(state, store).build().unwrap()
        };
        let mut first = open();
        first.run_to_height(Height::new(19)).unwrap();
        let (head, finality) = (first.primary().head(), first.primary().protocol().finality());
        let hash_at_15 = first.primary().chain().hash_at(Height::new(15)).unwrap();
        drop(first);
        let mut second = open();
        assert_eq!((second.primary().head(), second.primary().protocol().finality()), (head, finality), "{kind:?}");
        assert_eq!(second.primary().chain().finalized().hash(), finality.finalized.hash, "{kind:?}");
        second.run_to_height(Height::new(40)).unwrap();
        assert_eq!(second.primary().chain().hash_at(Height::new(15)).unwrap(), hash_at_15, "{kind:?}");
        for replica in second.replicas() {
            let (now, then) = (replica.protocol().finality().finalized.height, finality.finalized.height);
            assert!(now.get() > then.get() + 10 && replica.counters().reorgs == 0, "{kind:?}: {then} to {now}");
        }
    }
}
