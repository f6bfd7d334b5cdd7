//! Leaving a branch of which only the newest blocks are kept.

use core::time::Duration;
use std::sync::Arc;

use crate::{
    chain::Retention,
    node::{Database, HeadCursor, HeadCursorError, Node, NodeEvent, writer::blocks_missing_from},
    store::testing::MemoryDisk,
};

/// Blocks kept below the head.
const KEPT: u64 = 8;

/// Height of the branch that is left: more than the blocks that proof of authority can still revert, which are kept.
const LEFT: u64 = 300;

fn databases() -> [Database; 2] {
    [Database::Memory, Database::Store(Arc::new(MemoryDisk::new()))]
}

fn open(database: Database) -> Node {
    let retention = Retention::new(Some(KEPT / 2), Some(KEPT));
    Node::builder().with_retention(retention).with_database(database).build().unwrap()
}

#[test]
fn the_blocks_missing_from_another_chain_end_where_the_branch_is_pruned() {
    for database in databases() {
        let node = open(database);
        node.mine(LEFT).unwrap();
        let left = node.view();
        node.reset().unwrap();
        node.increase_time(Duration::from_secs(7));
        node.mine(3).unwrap();
        let now = node.view();
        let missing = blocks_missing_from(left.chain(), now.chain()).unwrap();
        assert_eq!(missing[0].hash(), left.head().hash());
        assert!(missing.windows(2).all(|pair| pair[0].block().parent_hash() == pair[1].hash()), "newest first");
        assert!((KEPT..LEFT).contains(&(missing.len() as u64)), "{} blocks", missing.len());
        let joined = blocks_missing_from(now.chain(), left.chain()).unwrap();
        assert_eq!(joined.iter().map(|block| block.height().get()).collect::<Vec<_>>(), [3, 2, 1]);
        assert!(blocks_missing_from(now.chain(), now.chain()).unwrap().is_empty());
    }
}

#[test]
fn whoever_follows_is_told_of_a_gap_and_misses_no_block_in_silence() {
    for database in databases() {
        let node = open(database);
        node.mine(LEFT).unwrap();
        let (mut early, mut late) = (HeadCursor::at_head(&node.view()), HeadCursor::at_head(&node.view()));
        let mut events = node.subscribe_to(|event| matches!(event, NodeEvent::Head { .. }));
        node.reset().unwrap();
        let Ok(NodeEvent::Head { removed, .. }) = events.try_next() else { panic!("no event") };
        assert_eq!(removed.first().map(|block| block.height().get()), Some(LEFT));
        assert!((removed.len() as u64) < LEFT, "{} blocks are kept", removed.len());
        assert!(matches!(early.advance(&node.view(), usize::MAX), Err(HeadCursorError::Lost { .. })));
        node.increase_time(Duration::from_secs(7));
        // Up to where the old branch is kept: what joined below must not be left out.
        node.mine(LEFT - removed.len() as u64 + 2).unwrap();
        assert!(matches!(late.advance(&node.view(), usize::MAX), Err(HeadCursorError::Lost { .. })));
        assert_eq!(late.hash(), node.view().head().hash());
        let added = node.mine(1).unwrap();
        assert_eq!(late.advance(&node.view(), usize::MAX).unwrap().added[0].hash(), added.hash());
    }
}
