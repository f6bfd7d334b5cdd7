//! A node over a store whose writes fail: nothing is half done, and what is stored can be opened again.

use std::sync::Arc;

use super::fixture::{node_of, protocols};
use crate::{
    consensus::ConsensusKind,
    node::{BlockRef, Database, EngineError, MineError, Mining, Node},
    primitives::{Address, U256},
    store::{
        KeyValue,
        testing::{FailingStore, MemoryDisk, WriteFault},
    },
};

const BOB: Address = Address::repeat_byte(0xb0);

fn open(chain: (ConsensusKind, u32), store: Arc<dyn KeyValue>) -> Node {
    node_of(chain).with_database(Database::Store(store)).with_mining(Mining::Manual).build().unwrap()
}

#[test]
fn a_failed_write_makes_no_block_and_leaves_the_stored_chain_usable() {
    for chain in protocols() {
        let disk = Arc::new(MemoryDisk::new());
        let store = Arc::new(FailingStore::new(disk.clone()));
        let node = open(chain, store.clone());
        node.mine(3).unwrap();
        let (head, state) = (node.view().head().hash(), node.view().state(BlockRef::Latest).unwrap().commit().root);
        store.fail(WriteFault::after(0).disk_full());
        let error = node.mine(1).unwrap_err();
        assert!(
            matches!(error, MineError::Engine(EngineError::Chain(_) | EngineError::Store(_))),
            "{chain:?}: {error}"
        );
        assert!(error.to_string().contains("no space left"), "{chain:?}: {error}");
        assert_eq!(node.view().head().hash(), head, "{chain:?}");
        drop(node);

        let again = open(chain, disk.crashed());
        assert_eq!(again.view().head().hash(), head, "{chain:?}");
        assert_eq!(again.view().state(BlockRef::Latest).unwrap().commit().root, state, "{chain:?}");
        again.mine(2).unwrap();
        assert_eq!(again.view().head().height().get(), 5, "{chain:?}");
    }
}

#[test]
fn a_node_opens_on_what_a_crash_after_any_write_leaves() {
    for chain in protocols() {
        let disk = Arc::new(MemoryDisk::new());
        let node = open(chain, disk.clone());
        node.set_balance(BOB, U256::from(7)).unwrap();
        node.mine(4).unwrap();
        for (write, crashed) in disk.crashes().into_iter().enumerate() {
            let again = open(chain, crashed);
            let height = again.view().head().height();
            assert_eq!(
                again.view().head().hash(),
                node.view().block(height.into()).unwrap().hash(),
                "{chain:?} {write}"
            );
            again.mine(1).unwrap();
            assert_eq!(again.view().head().height(), height.next(), "{chain:?} after write {write}");
        }
    }
}
