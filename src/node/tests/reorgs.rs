//! Reorganisations of a development node.

use std::sync::Arc;

use super::fixture::{node_of, plain_transfer, protocols};
use crate::{
    chain::CallRequest,
    node::{BlockRef, Database, Mining, Node, NodeEvent, REORG_DEPTH_MAX, ReorgError, Submission},
    primitives::{Address, B256, Height, U256},
    store::testing::MemoryDisk,
};

const BOB: Address = Address::repeat_byte(0xb0);

fn payment(node: &Node, value: u64) -> Submission {
    CallRequest::call(BOB, vec![]).with_from(node.accounts()[0]).with_value(U256::from(value)).into()
}

fn balance(node: &Node) -> U256 {
    node.view().balance(BOB, BlockRef::Latest).unwrap()
}

fn hashes(node: &Node) -> Vec<B256> {
    let view = node.view();
    let heights = 0..=view.head().height().get();
    heights.map(|height| view.block(BlockRef::Number(Height::new(height))).unwrap().hash()).collect()
}

#[test]
fn a_reorg_is_one_move_of_the_head_with_every_protocol() {
    for chain in protocols() {
        let disk = Arc::new(MemoryDisk::new());
        let open = || node_of(chain).with_database(Database::Store(disk.clone())).build().unwrap();
        let node = open();
        node.mine(2).unwrap();
        node.transfer(node.accounts()[0], BOB, U256::from(5)).unwrap();
        node.mine(1).unwrap();
        let old = hashes(&node);
        let mut heads = node.subscribe_to(|event| matches!(event, NodeEvent::Head { .. }));
        let head = node.reorg(3, [(payment(&node, 7), 1), (payment(&node, 8), 1), (payment(&node, 1), 2)]).unwrap();
        let new = hashes(&node);
        assert_eq!((new.len(), new[1], new[4]), (5, old[1], head.hash()), "{chain:?}");
        assert!((2..5).all(|height| new[height] != old[height]), "{chain:?}");
        let NodeEvent::Head { removed, added, view } = heads.try_next().unwrap() else { unreachable!() };
        let told = |blocks: &[crate::chain::ExecutedBlock]| blocks.iter().map(|block| block.hash()).collect::<Vec<_>>();
        assert_eq!(told(&removed), [old[4], old[3], old[2]], "{chain:?}");
        assert_eq!(told(&added), new[2..], "{chain:?}");
        assert_eq!(added.iter().map(|block| block.transactions().len()).collect::<Vec<_>>(), [0, 2, 1], "{chain:?}");
        assert_eq!(view.head().hash(), head.hash());
        assert!(heads.try_next().is_err(), "{chain:?}: one event");
        assert_eq!(balance(&node), U256::from(16), "{chain:?}");

        // It grows from there, a reorg goes over a reorg, and a database has the new branch.
        node.transfer(node.accounts()[0], BOB, U256::from(1)).unwrap();
        node.reorg(2, []).unwrap();
        assert_eq!((hashes(&node)[..4].to_vec(), balance(&node)), (new[..4].to_vec(), U256::from(15)), "{chain:?}");
        let kept = hashes(&node);
        drop(node);
        let node = open();
        assert_eq!(hashes(&node), kept, "{chain:?}");
        assert!(matches!(node.reorg(1, []), Err(ReorgError::TooDeep { asked: 1, max: 0 })), "{chain:?}");
        node.mine(1).unwrap();
        node.reorg(1, []).unwrap();
    }
}

#[test]
fn a_rollback_removes_blocks_and_the_pool_stays() {
    let node = Node::builder().with_mining(Mining::Manual).build().unwrap();
    node.send(plain_transfer(&node, 0, 0, 5)).unwrap();
    node.mine(2).unwrap();
    let waits = node.send(plain_transfer(&node, 1, 0, 5)).unwrap();
    let stale = node.send(plain_transfer(&node, 0, 1, 5)).unwrap();
    let mut heads = node.subscribe_to(|event| matches!(event, NodeEvent::Head { .. }));
    assert_eq!(node.rollback(2).unwrap().height(), Height::GENESIS);
    let NodeEvent::Head { removed, added, .. } = heads.try_next().unwrap() else { unreachable!() };
    assert_eq!((removed.len(), added.len()), (2, 0));
    let view = node.view();
    assert_eq!(view.pool().len(), 2);
    assert!(view.pool().get(&waits).is_some() && view.pool().get(&stale).is_some());
    assert_eq!(node.rollback(0).unwrap().height(), Height::GENESIS);
    let block = node.mine(1).unwrap();
    assert_eq!(block.transactions().len(), 1, "the other one waits for the nonce that was removed");
}

#[test]
fn a_reorg_that_fails_changes_nothing() {
    let node = Node::new();
    node.mine(3).unwrap();
    let old = hashes(&node);
    let mut events = node.subscribe();
    let refused = |depth, transactions: Vec<(Submission, u64)>| node.reorg(depth, transactions).unwrap_err();
    assert!(matches!(refused(4, vec![]), ReorgError::TooDeep { asked: 4, max: 3 }));
    assert!(matches!(refused(u64::MAX, vec![]), ReorgError::TooDeep { .. }));
    let outside = vec![(payment(&node, 1), 0), (payment(&node, 1), 2)];
    assert!(matches!(refused(2, outside), ReorgError::BlockIndex { index: 1, block: 2, depth: 2 }));
    let unreadable = vec![(payment(&node, 1), 0), (Submission::Raw(vec![1].into()), 1)];
    assert!(matches!(refused(2, unreadable), ReorgError::Transaction { index: 1, .. }));
    let gap = plain_transfer(&node, 0, 9, 1);
    let left_out = refused(2, vec![(Submission::Raw(gap.encoded()), 0)]);
    assert!(matches!(left_out, ReorgError::LeftOut { hash, .. } if hash == gap.hash()), "{left_out}");
    assert_eq!((hashes(&node), balance(&node)), (old, U256::ZERO));
    assert!(events.try_next().is_err(), "nobody was told of anything");
    node.reorg(3, []).unwrap();
}

/// The heads of a branch that a reorg left are those of the snapshot that was taken on it.
#[test]
fn a_reorg_goes_back_from_a_snapshot_as_if_none_had_been_made_since() {
    let node = Node::new();
    node.mine(6).unwrap();
    let (taken, old) = (node.snapshot(), hashes(&node));
    node.reorg(4, [(payment(&node, 1), 0)]).unwrap();
    node.mine(1).unwrap();
    assert!(node.revert(taken).unwrap());
    assert_eq!(hashes(&node), old);
    node.mine(1).unwrap();
    for (depth, kept) in [(3, 5), (4, 4), (7, 1)] {
        node.reorg(depth, [(payment(&node, depth), 0)]).unwrap();
        assert_eq!((hashes(&node).len(), &hashes(&node)[..kept]), (8, &old[..kept]), "{depth}");
    }
}

#[test]
fn a_reorg_goes_back_as_far_as_the_bound() {
    let node = Node::new();
    node.mine(REORG_DEPTH_MAX + 1).unwrap();
    let refused = node.rollback(REORG_DEPTH_MAX + 1).unwrap_err();
    assert!(matches!(refused, ReorgError::TooDeep { max: REORG_DEPTH_MAX, .. }), "{refused}");
    let snapshot = node.snapshot();
    assert_eq!(node.reorg(REORG_DEPTH_MAX, []).unwrap().height().get(), REORG_DEPTH_MAX + 1);
    assert!(node.revert(snapshot).unwrap());
    assert_eq!(node.rollback(REORG_DEPTH_MAX).unwrap().height().get(), 1);
}
