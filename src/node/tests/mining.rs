//! Mining modes and block time.

use core::time::Duration;

use super::fixture::plain_transfer;
use crate::{
    node::{BlockRef, Mining, Node},
    primitives::Timestamp,
};

#[test]
fn manual_and_interval_mining() {
    let node = Node::builder().with_mining(Mining::Manual).build().unwrap();
    let hash = node.send(plain_transfer(&node, 0, 0, 1)).unwrap();
    assert!(node.receipt(hash).unwrap().is_none());
    assert_eq!(node.view().nonce(node.accounts()[0], BlockRef::Pending).unwrap(), 1);
    assert_eq!(node.mine(3).unwrap().len(), 3);
    assert_eq!(node.receipt(hash).unwrap().unwrap().block().height().get(), 1);

    node.set_mining(Mining::Interval(Duration::from_secs(12))).unwrap();
    let start = node.now();
    let blocks = node.pass_time(Duration::from_secs(30)).unwrap();
    let times: Vec<u64> = blocks.iter().map(|block| block.block().timestamp().as_secs() - start.as_secs()).collect();
    assert_eq!(times, [12, 24]);
    assert_eq!(node.now().as_secs(), start.as_secs() + 30);
}

#[test]
fn automining_does_not_advance_time() {
    let node = Node::new();
    let start = node.now();
    for nonce in 0..50 {
        node.send(plain_transfer(&node, 0, nonce, 1)).unwrap();
    }
    assert_eq!(node.view().head().height().get(), 50);
    assert_eq!(node.view().head().block().timestamp(), start);
    let early = Timestamp::from_secs(start.as_secs() - 1);
    assert!(node.set_next_block_timestamp(early).is_err());
    node.set_next_block_timestamp(start).unwrap();
}
