//! Mining modes and block time.

use core::time::Duration;

use std::sync::Arc;

use super::fixture::plain_transfer;
use crate::{
    node::{BLOCKS_PER_CALL_MAX, BlockRef, Database, MineError, Mining, Node},
    primitives::{Height, Timestamp},
    store::testing::{FailingStore, MemoryDisk, WriteFault},
};

#[test]
fn manual_and_interval_mining() {
    let node = Node::builder().with_mining(Mining::Manual).build().unwrap();
    let hash = node.send(plain_transfer(&node, 0, 0, 1)).unwrap();
    assert!(node.receipt(hash).unwrap().is_none());
    assert_eq!(node.view().nonce(node.accounts()[0], BlockRef::Pending).unwrap(), 1);
    assert_eq!(node.mine(3).unwrap().height().get(), 3);
    assert_eq!(node.mine(0).unwrap().height().get(), 3, "no block: the head");
    assert_eq!(node.receipt(hash).unwrap().unwrap().block().height().get(), 1);

    node.set_mining(Mining::Interval(Duration::from_secs(12))).unwrap();
    let start = node.view().head().timestamp();
    let last = node.pass_time(Duration::from_secs(30)).unwrap();
    assert_eq!(last.hash(), node.view().head().hash());
    assert_eq!(times_from(&node, 4), [12, 24].map(|secs| start.as_secs() + secs));
    assert_eq!(node.now().as_secs(), start.as_secs() + 30);
}

/// Timestamps of the blocks from a height on.
fn times_from(node: &Node, first: u64) -> Vec<u64> {
    let view = node.view();
    let block = |height| view.block(BlockRef::Number(Height::new(height))).unwrap();
    (first..=view.head().height().get()).map(|height| block(height).timestamp().as_secs()).collect()
}

#[test]
fn automining_does_not_advance_the_clock() {
    let node = Node::new();
    let start = node.now();
    for nonce in 0..50 {
        node.send(plain_transfer(&node, 0, nonce, 1)).unwrap();
    }
    assert_eq!(node.view().head().height().get(), 50);
    assert_eq!((node.view().head().timestamp(), node.now()), (start.saturating_add_secs(50), start));
    let early = Timestamp::from_secs(start.as_secs() - 1);
    assert!(node.set_next_block_timestamp(early).is_err());
}

#[test]
fn time_that_passes_says_how_many_blocks_it_made_and_stops_at_the_last() {
    let store = Arc::new(FailingStore::new(Arc::new(MemoryDisk::new())));
    let interval = Mining::Interval(Duration::from_secs(12));
    let node = Node::builder().with_mining(interval).with_database(Database::Store(store.clone())).build().unwrap();
    let start = node.now().as_secs();
    store.fail(WriteFault::after(0));
    assert!(matches!(node.pass_time(Duration::from_secs(100)), Err(MineError::Engine(_))), "no block was made");
    assert_eq!((node.now().as_secs(), node.view().head().height().get()), (start, 0));

    store.fail(WriteFault::after(5));
    let error = node.pass_time(Duration::from_secs(100)).unwrap_err();
    let MineError::Partial { made, asked: 8, cause } = &error else { panic!("{error}") };
    assert!(matches!(**cause, MineError::Engine(_)), "{cause}");
    assert_eq!((node.view().head().height().get(), *made > 0), (*made, true));
    assert_eq!(node.now().as_secs(), start + 12 * made);
    assert_eq!(node.view().head().block().timestamp(), node.now());

    store.recover();
    let rest = node.pass_time(Duration::from_secs(100 - 12 * made)).unwrap();
    assert_eq!((rest.height().get(), node.now().as_secs()), (8, start + 100));
}

#[test]
fn passing_time_is_bounded_and_keeps_parts_of_seconds() {
    let node = Node::builder().with_mining(Mining::Interval(Duration::from_secs(1))).build().unwrap();
    let (start, max) = (node.now().as_secs(), BLOCKS_PER_CALL_MAX);
    let error = node.pass_time(Duration::from_secs(max + 1)).unwrap_err();
    assert!(matches!(error, MineError::TooMany { asked, max: most } if (asked, most) == (max + 1, max)), "{error}");
    assert!(matches!(node.pass_time(Duration::MAX), Err(MineError::TooMany { .. })));
    assert_eq!(node.now().as_secs(), start);
    node.set_mining(Mining::Interval(Duration::from_millis(1_500))).unwrap();
    node.pass_time(Duration::from_secs(7)).unwrap();
    assert_eq!(
        (times_from(&node, 1), node.now().as_secs()),
        ([1, 3, 4, 6].map(|secs| start + secs).to_vec(), start + 7)
    );
    node.set_mining(Mining::Manual).unwrap();
    assert_eq!(
        node.pass_time(Duration::from_secs(u64::from(u32::MAX))).unwrap().height().get(),
        4,
        "no block: the head"
    );
    assert_eq!(node.now().as_secs(), start + 7 + u64::from(u32::MAX));
}

#[test]
fn spacing_passes_with_its_block_alone() {
    let store = Arc::new(FailingStore::new(Arc::new(MemoryDisk::new())));
    let node = Node::builder().with_database(Database::Store(store.clone())).build().unwrap();
    let start = node.now().as_secs();
    store.fail(WriteFault::after(5));
    let error = node.mine_spaced(8, Some(Duration::from_secs(10))).unwrap_err();
    let MineError::Partial { made, asked: 8, .. } = error else { panic!("{error}") };
    assert_eq!(node.view().head().timestamp().as_secs(), start + 1 + 10 * (made - 1));
    assert_eq!(node.now().as_secs(), start + if made > 1 { 1 + 10 * (made - 1) } else { 0 });
}
