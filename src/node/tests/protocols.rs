//! Nodes of every consensus protocol.

use super::fixture::{node_of, protocols};
use crate::{
    consensus::ConsensusKind,
    node::{BlockRef, Node},
    primitives::U256,
};

#[test]
fn four_validators_take_turns_and_agree() {
    let node = Node::builder().with_validators(4).with_seed(3).build().unwrap();
    let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
    let mut authors = std::collections::BTreeSet::new();
    for _ in 0..8 {
        let mined = node.transfer(alice, bob, U256::from(1)).unwrap();
        authors.insert(mined.block().block().header().beneficiary);
    }
    assert_eq!(authors.len(), 4);
}

#[test]
fn every_protocol_makes_blocks_on_demand_and_reverts_with_the_node() {
    for chain in protocols() {
        let node = node_of(chain).build().unwrap();
        let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
        for height in 1..=5 {
            let mined = node.transfer(alice, bob, U256::from(1)).unwrap();
            assert_eq!(mined.block().height().get(), height, "{chain:?}");
        }
        let (snapshot, before) = (node.snapshot(), node.view().head().hash());
        node.mine(3).unwrap();
        assert!(node.revert(snapshot).unwrap());
        assert_eq!(node.view().head().hash(), before, "{chain:?}");
        assert_eq!(node.transfer(alice, bob, U256::from(1)).unwrap().block().height().get(), 6, "{chain:?}");
    }
}

/// At height 64, by each protocol's rule: a certificate or a log commit finalizes at once, DPoS within a slot or two of each
/// producer, a checkpoint takes two epochs, and proof of authority a depth bounded by the number of signers.
#[test]
fn finality_follows_the_protocol() {
    for chain in protocols() {
        let node = node_of(chain).build().unwrap();
        node.mine(64).unwrap();
        let view = node.view();
        let height = |block| view.block(block).unwrap().height().get();
        let lag = 64 - height(BlockRef::Finalized);
        let want = match chain {
            (ConsensusKind::Pbft | ConsensusKind::Raft, _) => 0..=0,
            (ConsensusKind::Dpos, 1) => 0..=1,
            (ConsensusKind::Dpos, _) => 1..=5,
            (ConsensusKind::Pos, _) => 8..=24,
            (ConsensusKind::Poa, _) => 0..=4,
        };
        assert!(want.contains(&lag), "{chain:?}: {lag} blocks behind");
        assert!((height(BlockRef::Finalized)..=64).contains(&height(BlockRef::Safe)), "{chain:?}");
    }
}

#[cfg(feature = "rocksdb")]
#[test]
fn every_protocol_continues_after_reopening() {
    use std::sync::Arc;

    use crate::{
        node::Database,
        store::{RocksOptions, RocksStore},
    };

    for chain in protocols() {
        let folder = tempfile::tempdir().unwrap();
        let open = || {
            let store = RocksStore::open(folder.path().join("database"), RocksOptions::default()).unwrap();
            node_of(chain).with_database(Database::Store(Arc::new(store))).build().unwrap()
        };
        let mut head = open().view().head().hash();
        for _ in 0..3 {
            let node = open();
            assert_eq!(node.view().head().hash(), head, "{chain:?}");
            let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
            for _ in 0..11 {
                node.transfer(alice, bob, U256::from(1)).unwrap();
            }
            head = node.view().head().hash();
        }
    }
}

#[test]
fn every_protocol_continues_from_a_dump() {
    for chain in protocols() {
        let node = node_of(chain).build().unwrap();
        node.mine(33).unwrap();
        let other = node_of(chain).with_dump(node.dump().unwrap()).build().unwrap();
        assert_eq!(other.view().head().hash(), node.view().head().hash(), "{chain:?}");
        other.mine(20).unwrap();
        assert_eq!(other.view().head().height().get(), 53, "{chain:?}");
    }
}

#[test]
fn elected_producers_make_blocks_on_demand_and_finality_follows() {
    for validators in [1, 4] {
        let consensus = ConsensusKind::Dpos.on_demand();
        let node = Node::builder().with_validators(validators).with_consensus(consensus).build().unwrap();
        node.mine(12).unwrap();
        let (snapshot, before) = (node.snapshot(), node.view().head().hash());
        let finalized = |node: &Node| node.view().block(BlockRef::Finalized).unwrap().height().get();
        assert_eq!(finalized(&node), if validators == 1 { 11 } else { 7 });
        node.mine(3).unwrap();
        assert!(node.revert(snapshot).unwrap());
        assert_eq!(node.view().head().hash(), before);
        node.mine(5).unwrap();
        assert_eq!(finalized(&node), if validators == 1 { 16 } else { 12 });
    }
}

/// On demand a slot is skipped where another validator proposes first, and whole epochs pass between two blocks of one.
#[test]
fn stake_on_demand_does_not_fall_for_slots_that_nobody_used() {
    for validators in [1, 4, 7] {
        let node =
            Node::builder().with_validators(validators).with_consensus(ConsensusKind::Pos.on_demand()).build().unwrap();
        let before = node.view().validators().unwrap();
        node.mine(200).unwrap();
        for (before, after) in before.iter().zip(node.view().validators().unwrap()) {
            let (before, after) = (before.stake.as_ref().unwrap(), after.stake.unwrap());
            assert_eq!(after.tokens, before.tokens, "{validators} validators");
            assert!(after.rewards_owed > before.rewards_owed, "{validators} validators");
        }
    }
}
