//! What a node keeps beside what its retention asks for.

use std::sync::Arc;

use super::fixture::{node_of, protocols};
use crate::{
    chain::Retention,
    consensus::ConsensusKind,
    node::{BlockRef, Database, Node, QueryError},
    primitives::Height,
    store::testing::MemoryDisk,
};

/// The lowest height above genesis that can be read.
fn oldest(node: &Node) -> u64 {
    match node.view().block(BlockRef::Number(Height::new(1))) {
        Ok(_) => 1,
        Err(QueryError::Pruned { oldest, .. }) => oldest.get(),
        Err(error) => panic!("{error}"),
    }
}

/// Nothing that a reorg may revert is pruned, as the table of [`Retention`] says.
#[test]
fn a_block_is_pruned_once_it_is_irreversible() {
    const KEPT: u64 = 8;
    for chain in protocols() {
        let databases = [Database::Memory, Database::Store(Arc::new(MemoryDisk::new()))];
        // A store makes a difference where blocks stay reversible.
        let stores = if chain.0 == ConsensusKind::Poa { 2 } else { 1 };
        for (is_stored, database) in [false, true].into_iter().zip(databases).take(stores) {
            // In memory, the irreversible height of before the newest block decides.
            let behind = |blocks: u64| blocks + u64::from(!is_stored);
            let behind = match chain {
                (ConsensusKind::Poa, 1) => behind(129)..=behind(129),
                (ConsensusKind::Poa, _) => behind(132)..=behind(132),
                // Epochs have eight blocks.
                (ConsensusKind::Pos, _) => 16..=24,
                // Final at once, or within the blocks that are asked for.
                _ => KEPT..=KEPT,
            };
            let retention = Retention::new(Some(4), Some(KEPT));
            let node = node_of(chain).with_database(database).with_retention(retention).build().unwrap();
            let is_right = |head: u64| {
                let (lowest, highest) = (head.saturating_sub(*behind.end()), head.saturating_sub(*behind.start()));
                assert!(
                    (lowest.max(1)..=highest.max(1)).contains(&oldest(&node)),
                    "{chain:?}, stored: {is_stored}, {head}"
                );
            };
            node.mine(50).unwrap();
            is_right(50);
            let snapshot = node.snapshot();
            node.mine(150).unwrap();
            is_right(200);
            // Over a database its final block is written again.
            assert!(node.revert(snapshot).unwrap(), "{chain:?}, stored: {is_stored}");
            assert_eq!(node.view().head().height().get(), 50);
        }
    }
}

/// Blocks that retention has dropped are missing in a dump; the first one kept has no parent there.
#[test]
fn a_dump_without_its_first_blocks_goes_to_an_empty_database() {
    for chain in protocols() {
        let disks = [Arc::new(MemoryDisk::new()), Arc::new(MemoryDisk::new())];
        let open = |disk: &Arc<MemoryDisk>| {
            let builder = node_of(chain).with_database(Database::Store(disk.clone()));
            builder.with_retention(Retention::new(Some(1), Some(5))).build().unwrap()
        };
        let dumped = open(&disks[0]);
        dumped.mine(200).unwrap();
        assert!(oldest(&dumped) > 1, "{chain:?}");
        let loaded = open(&disks[1]);
        loaded.mine(3).unwrap();
        loaded.load(&dumped.dump().unwrap()).unwrap();
        let shown =
            |node: &Node| (node.view().head().hash(), node.view().safe().hash(), node.view().finalized().hash());
        assert_eq!(shown(&loaded), shown(&dumped), "{chain:?}");
        assert!(oldest(&loaded) >= oldest(&dumped), "{chain:?}");
        loaded.mine(1).unwrap();
        let grown = shown(&loaded);
        drop(loaded);
        assert_eq!(shown(&open(&disks[1])), grown, "{chain:?}");
    }
}
