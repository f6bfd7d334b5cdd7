//! Snapshots, reverts and dumps.

use core::time::Duration;
use std::sync::Arc;

use proptest::prelude::*;

use super::fixture::{node_of, plain_transfer, protocols};
use crate::{
    node::{BlockRef, Database, Dump, Mining, Node},
    primitives::{Address, B256, Timestamp, U256, ether},
    store::testing::MemoryDisk,
    templates::{Erc20Params, erc20::interface as erc20},
};

#[test]
fn a_revert_removes_newer_snapshots_and_an_unknown_id_is_false() {
    let node = Node::new();
    let first = node.snapshot();
    let second = node.snapshot();
    assert!(node.revert(first).unwrap());
    assert!(!node.revert(second).unwrap());
    assert!(!node.revert(first).unwrap());
    assert_ne!(node.snapshot(), first, "ids are never used twice");
}

#[test]
fn two_dumps_are_equal_and_load_into_another_node() {
    let node = Node::new();
    let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
    let token = node.deploy(alice, Erc20Params::new("Gold", "GLD", U256::from(100), alice).init_code()).unwrap();
    token.send(erc20::transferCall { to: bob, value: U256::from(7) }).unwrap();
    node.increase_time(Duration::from_secs(1_000));
    node.send(plain_transfer(&node, 2, 4, 1)).unwrap();
    let dump = node.dump().unwrap();
    assert_eq!(dump.as_bytes(), node.dump().unwrap().as_bytes());

    let other = Node::builder().with_dump(dump.clone()).build().unwrap();
    assert_eq!(other.view().head().hash(), node.view().head().hash());
    assert_eq!(other.now(), node.now());
    assert_eq!(other.view().pool().len(), 1);
    let same = other.contract(token.address(), alice);
    assert_eq!(same.call(erc20::balanceOfCall { account: bob }).unwrap(), U256::from(7));
    assert_eq!(other.dump().unwrap().as_bytes(), dump.as_bytes());
    same.send(erc20::transferCall { to: bob, value: U256::from(1) }).unwrap();
    assert!(Node::new().load(&Dump::from_bytes(b"nonsense".to_vec())).is_err());
}

#[test]
fn a_reset_of_a_reopened_node_goes_to_genesis() {
    for chain in protocols() {
        let disk = Arc::new(MemoryDisk::new());
        let open = || node_of(chain).with_database(Database::Store(disk.clone())).build().unwrap();
        let node = open();
        let genesis = node.view().head().hash();
        node.transfer(node.accounts()[0], node.accounts()[1], U256::from(7)).unwrap();
        node.mine(2).unwrap();
        drop(node);

        let node = open();
        let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
        assert_eq!(node.view().head().height().get(), 3);
        node.set_balance(bob, U256::from(1)).unwrap();
        node.mine(1).unwrap();
        node.reset().unwrap();
        assert_eq!(node.view().head().hash(), genesis, "{chain:?}");
        assert_eq!(node.view().nonce(alice, BlockRef::Latest).unwrap(), 0);
        assert_eq!(node.view().balance(bob, BlockRef::Latest).unwrap(), ether(10_000));
        node.transfer(alice, bob, U256::from(9)).unwrap();
        let head = node.mine(2).unwrap();
        node.reset().unwrap();
        assert_eq!(node.view().head().hash(), genesis, "{chain:?}: again");
        node.transfer(alice, bob, U256::from(9)).unwrap();
        assert_eq!(node.mine(2).unwrap().hash(), head.hash(), "{chain:?}: the same chain grows");
        drop(node);

        let node = open();
        assert_eq!(node.view().head().hash(), head.hash(), "{chain:?}");
        node.mine(1).unwrap();
    }
}

#[test]
fn dumps_and_reverts_keep_nonces_and_the_pool() {
    let node = Node::builder().with_mining(Mining::Manual).build().unwrap();
    let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
    node.set_nonce(bob, 7).unwrap();
    let pooled = [plain_transfer(&node, 1, 8, 1), plain_transfer(&node, 0, 0, 1), plain_transfer(&node, 1, 7, 1)];
    let hashes = pooled.each_ref().map(|transaction| transaction.hash());
    for transaction in pooled {
        node.send(transaction).unwrap();
    }
    let check = |node: &Node| {
        let view = node.view();
        assert_eq!(view.nonce(bob, BlockRef::Latest).unwrap(), 7);
        assert_eq!(view.nonce(bob, BlockRef::Pending).unwrap(), 9);
        assert_eq!(view.nonce(alice, BlockRef::Pending).unwrap(), 1);
        assert!(hashes.iter().all(|hash| view.pool().get(hash).is_some()));
    };
    let snapshot = node.snapshot();
    let loaded = Node::builder().with_mining(Mining::Manual).with_dump(node.dump().unwrap()).build().unwrap();
    check(&loaded);
    node.mine(1).unwrap();
    assert!(node.view().pool().is_empty());
    assert!(node.revert(snapshot).unwrap());
    check(&node);
    let mined = node.mine(1).unwrap();
    assert_eq!(mined.block().transactions().len(), 3);
    assert_eq!(loaded.mine(1).unwrap().block().header().state_root, mined.block().header().state_root);
}

/// An operation between a snapshot and its revert.
#[derive(Clone, Debug)]
enum Operation {
    Send {
        from: usize,
        gap: u64,
        value: u64,
    },
    Mine(u64),
    Travel(u64),
    /// Seconds after the head; 0 is refused.
    NextTimestamp(u64),
    SetBalance(u8, u64),
    SetNonce(u8, u64),
    SetMining(bool),
    SnapshotAndRevert,
    Snapshot,
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        (0..3_usize, 0..3_u64, any::<u64>()).prop_map(|(from, gap, value)| Operation::Send { from, gap, value }),
        (1..4_u64).prop_map(Operation::Mine),
        (1..100_000_u64).prop_map(Operation::Travel),
        (1..1_000_u64).prop_map(Operation::NextTimestamp),
        (any::<u8>(), any::<u64>()).prop_map(|(byte, balance)| Operation::SetBalance(byte, balance)),
        (any::<u8>(), 0..100_u64).prop_map(|(byte, nonce)| Operation::SetNonce(byte, nonce)),
        any::<bool>().prop_map(Operation::SetMining),
        Just(Operation::SnapshotAndRevert),
        Just(Operation::Snapshot),
    ]
}

fn apply(node: &Node, operation: &Operation) {
    match operation {
        Operation::Send { from, gap, value } => {
            let nonce = node.view().nonce(node.accounts()[*from], BlockRef::Pending).unwrap() + gap;
            let _ = node.send(plain_transfer(node, *from, nonce, *value));
        }
        Operation::Mine(count) => drop(node.mine(*count).unwrap()),
        Operation::Travel(seconds) => {
            node.increase_time(Duration::from_secs(*seconds));
        }
        Operation::NextTimestamp(ahead) => {
            let parent = node.view().head().block().timestamp();
            node.set_next_block_timestamp(parent.saturating_add_secs(*ahead)).unwrap();
        }
        Operation::SetBalance(byte, balance) => {
            node.set_balance(Address::repeat_byte(*byte), U256::from(*balance)).unwrap();
        }
        Operation::SetNonce(byte, nonce) => node.set_nonce(Address::repeat_byte(*byte), *nonce).unwrap(),
        Operation::SetMining(each) => {
            node.set_mining(if *each { Mining::EachTransaction } else { Mining::Manual }).unwrap();
        }
        Operation::SnapshotAndRevert => {
            let id = node.snapshot();
            assert!(node.revert(id).unwrap());
        }
        Operation::Snapshot => drop(node.snapshot()),
    }
}

/// What a revert restores: the dump, which has blocks, state, time and pool, and for diagnosis its parts.
fn fingerprint(node: &Node) -> (Arc<[u8]>, B256, Timestamp, usize) {
    let view = node.view();
    let root = view.state(BlockRef::Latest).unwrap().commit().root;
    (node.dump().unwrap().as_bytes().into(), root, node.now(), view.pool().len())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_revert_restores_root_pool_and_time(
        before in proptest::collection::vec(operation(), 0..8),
        after in proptest::collection::vec(operation(), 1..12),
    ) {
        let node = Node::builder().with_accounts(3).build().unwrap();
        for operation in &before {
            apply(&node, operation);
        }
        let id = node.snapshot();
        let expected = fingerprint(&node);
        for operation in &after {
            apply(&node, operation);
        }
        prop_assert!(node.revert(id).unwrap());
        prop_assert_eq!(fingerprint(&node), expected);
    }
}
