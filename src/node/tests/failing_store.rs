//! A node over a store whose writes fail: nothing is half done, and what is stored can be opened again.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use super::fixture::{node_of, protocols};
use crate::{
    chain::{CallRequest, CommitHook, HeadChange},
    consensus::ConsensusKind,
    node::{BlockRef, Database, EngineError, MineError, Mining, Node, SnapshotId},
    primitives::{Address, B256, U256},
    store::{
        Batch, KeyValue, MemoryStore, StoreError, Table,
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
        assert!(error.to_string().contains("the disk is full"), "{chain:?}: {error}");
        assert_eq!(node.view().head().hash(), head, "{chain:?}");
        drop(node);

        let again = open(chain, disk.crashed());
        assert_eq!(again.view().head().hash(), head, "{chain:?}");
        assert_eq!(again.view().state(BlockRef::Latest).unwrap().commit().root, state, "{chain:?}");
        again.mine(2).unwrap();
        assert_eq!(again.view().head().height().get(), 5, "{chain:?}");
    }
}

/// Everything a node tells of itself: chain, state, pool, time; its view; its validators.
fn told(node: &Node) -> (Vec<u8>, B256, usize, String) {
    let view = node.view();
    let root = view.state(BlockRef::Latest).unwrap().commit().root;
    (node.dump().unwrap().as_bytes().to_vec(), root, view.pool().len(), format!("{:?}", node.validators()))
}

/// A change of a node that writes to the store.
type Change = fn(&Node) -> Result<(), String>;

fn changes() -> [(&'static str, Change); 8] {
    fn text<T, E: core::fmt::Display>(result: Result<T, E>) -> Result<(), String> {
        result.map(drop).map_err(|error| error.to_string())
    }
    [
        ("a block", |node| text(node.mine(1))),
        ("a reorg", |node| text(node.reorg(1, []))),
        ("a rollback", |node| text(node.rollback(1))),
        ("a transaction", |node| {
            let request = CallRequest { from: Some(node.accounts()[0]), to: Some(BOB), ..Default::default() };
            text(node.set_mining(Mining::EachTransaction))?;
            let sent = text(node.send_request(request));
            node.set_mining(Mining::Manual).unwrap();
            sent
        }),
        ("an intervention", |node| text(node.set_balance(BOB, U256::from(9)))),
        ("a revert", |node| text(node.revert(SnapshotId::new(1)))),
        ("a reset", |node| text(node.reset())),
        ("a load", |node| text(node.load(&open(POA, Arc::new(MemoryStore::new())).dump().unwrap()))),
    ]
}

const POA: (ConsensusKind, u32) = (ConsensusKind::Poa, 1);

/// Runs every change while `break_store` holds, and checks that nothing of it stays, and that the node goes on.
fn nothing_stays(break_store: impl Fn(&FailingStore), expected: &str) {
    for chain in protocols() {
        for (what, change) in changes().into_iter().filter(|(what, _)| chain == POA || *what != "a load") {
            let disk = Arc::new(MemoryDisk::new());
            let is_broken = Arc::new(AtomicBool::new(false));
            let panics = is_broken.clone();
            let store = FailingStore::new(disk.clone()).with_observer(move |_| {
                assert!(!panics.load(Ordering::Relaxed), "the disk is on fire");
            });
            let store = Arc::new(store);
            let node = open(chain, store.clone());
            node.mine(2).unwrap();
            node.snapshot();
            node.mine(1).unwrap();
            let before = told(&node);
            if expected == "panicked" {
                is_broken.store(true, Ordering::Relaxed)
            } else {
                break_store(&store)
            }
            let outcome = change(&node);
            is_broken.store(false, Ordering::Relaxed);
            store.recover();
            // An intervention in a chain without a block to record it may need no write.
            if let Err(error) = outcome {
                assert!(error.contains(expected), "{chain:?}, {what}: {error}");
                assert!(told(&node) == before, "{chain:?}: {what} left something behind");
                assert_eq!(node.panic_count() > 0, expected == "panicked", "{chain:?}, {what}");
            } else {
                assert_eq!(what, "an intervention", "{chain:?}: the store failed and {what} did not");
            }
            let height = node.view().head().height().get();
            node.mine(2).unwrap_or_else(|error| panic!("{chain:?} after {what}: {error}"));
            change(&node).unwrap_or_else(|error| panic!("{chain:?}, {what} again: {error}"));
            let head = node.mine(1).unwrap();
            assert!(what != "a block" || head.height().get() == height + 4, "{chain:?}");

            let again = open(chain, disk.crashed());
            assert_eq!(again.view().head().hash(), head.hash(), "{chain:?}, {what}: the stored chain");
            again.mine(1).unwrap();
        }
    }
}

#[test]
fn a_failed_command_leaves_nothing_behind_and_the_node_goes_on() {
    nothing_stays(|store| store.fail(WriteFault::after(0).disk_full()), "the disk is full");
}

#[test]
fn a_command_that_fails_late_leaves_nothing_behind() {
    // The block's batch is written, and what follows is not.
    nothing_stays(|store| store.fail(WriteFault::after(0).in_table(Table::Consensus).disk_full()), "the disk is full");
}

/// The second write of a command fails, and the store works again then: it is taken back at once.
#[test]
fn a_database_opened_right_after_a_failed_command_has_the_chain_of_before() {
    for chain in protocols() {
        let disk = Arc::new(MemoryDisk::new());
        let store = Arc::new(FailingStore::new(disk.clone()));
        let node = open(chain, store.clone());
        node.mine(2).unwrap();
        for number in 1..4 {
            store.fail(WriteFault::only(number).disk_full());
            let failed = node.mine(1).is_err();
            store.recover();
            assert!(failed || number > 1, "{chain:?}");
            let again = open(chain, disk.crashed());
            assert_eq!(again.view().head().hash(), node.view().head().hash(), "{chain:?}, write {number}");
        }
    }
}

#[test]
fn a_panicking_command_leaves_nothing_behind_and_is_counted() {
    nothing_stays(|_| (), "panicked");
}

#[test]
fn a_row_of_blocks_says_how_far_it_came() {
    let disk = Arc::new(MemoryDisk::new());
    let store = Arc::new(FailingStore::new(disk));
    let node = open(POA, store.clone());
    store.fail(WriteFault::after(6).disk_full());
    let error = node.mine(100).unwrap_err();
    let MineError::Partial { made, asked: 100, cause } = &error else { panic!("{error}") };
    assert!(cause.to_string().contains("the disk is full"), "{cause}");
    assert_eq!((node.view().head().height().get(), *made > 0), (*made, true));
    store.recover();
    assert_eq!(node.mine(1).unwrap().height().get(), made + 1);
}

/// A hook that panics when told to.
#[derive(Debug, Default)]
struct PanickingHook(AtomicBool);

impl CommitHook for PanickingHook {
    fn on_head(&self, _: &HeadChange, _: &mut Batch) -> Result<(), StoreError> {
        assert!(!self.0.load(Ordering::Relaxed), "a hook's bug");
        Ok(())
    }
}

#[test]
fn a_panicking_hook_fails_the_command_alone() {
    for chain in protocols() {
        let hook = Arc::new(PanickingHook::default());
        let node = node_of(chain).with_hook(hook.clone()).build().unwrap();
        let mut events = node.subscribe();
        node.mine(2).unwrap();
        while events.try_next().is_ok() {}
        let before = told(&node);
        hook.0.store(true, Ordering::Relaxed);
        let error = node.transfer(node.accounts()[0], BOB, U256::from(1)).unwrap_err();
        assert!(error.to_string().contains("a hook's bug"), "{chain:?}: {error}");
        hook.0.store(false, Ordering::Relaxed);
        assert!(told(&node) == before, "{chain:?}: something stayed");
        assert_eq!(node.panic_count(), 1, "{chain:?}");
        assert!(events.try_next().is_err(), "{chain:?}: an event of what did not happen");
        node.transfer(node.accounts()[0], BOB, U256::from(1)).unwrap();
        assert_eq!(node.view().head().height().get(), 3, "{chain:?}");
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
