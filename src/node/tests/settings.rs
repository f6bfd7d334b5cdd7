//! Changes of the settings: whole or nothing, also when they panic, and also while the store fails.

use core::time::Duration;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use super::fixture::{node_of, protocols};
use crate::{
    node::{Clock, Database, EngineError, Mining, Node, NodeEvent, TimeError},
    primitives::{Address, Timestamp},
    store::testing::{FailingStore, MemoryDisk, WriteFault},
};

const ALICE: Address = Address::repeat_byte(0xa1);

/// Panics while it is broken.
#[derive(Debug, Default)]
struct BrittleClock(AtomicBool);

impl Clock for BrittleClock {
    fn now(&self) -> Timestamp {
        assert!(!self.0.load(Ordering::Relaxed), "the clock is broken");
        Timestamp::from_secs(1_800_000_000)
    }
}

/// The settings that readers see.
fn seen(node: &Node) -> (Mining, i64, Vec<Address>, bool) {
    let view = node.view();
    let impersonated = view.impersonated().collect();
    (view.mining(), view.clock_offset().as_secs(), impersonated, view.impersonates(Address::repeat_byte(0xee)))
}

#[test]
fn a_panicking_clock_leaves_the_settings_as_they_were_and_is_counted() {
    for chain in protocols() {
        let clock = Arc::new(BrittleClock::default());
        let node = node_of(chain).with_clock(clock.clone()).with_mining(Mining::Manual).build().unwrap();
        node.increase_time(Duration::from_secs(60));
        node.impersonate(ALICE).unwrap();
        let mut events = node.subscribe();
        let before = seen(&node);
        clock.0.store(true, Ordering::Relaxed);
        let error = node.set_time(Timestamp::from_secs(1_900_000_000)).unwrap_err();
        let TimeError::Engine(EngineError::Panicked { message }) = &error else { panic!("{chain:?}: {error}") };
        assert!(message.contains("the clock is broken"), "{message}");
        assert_eq!(node.panic_count(), 1, "{chain:?}");
        assert!(node.mine(1).is_err());
        assert_eq!((seen(&node), node.panic_count()), (before, 2), "{chain:?}");
        assert!(events.try_next().is_err(), "{chain:?}: an event of what did not happen");

        // What needs no clock goes on.
        node.set_mining(Mining::Interval(Duration::from_secs(5))).unwrap();
        assert!(matches!(events.try_next(), Ok(NodeEvent::MiningChanged { .. })), "{chain:?}");
        assert!(node.pass_time(Duration::from_secs(5)).is_err());
        assert_eq!(node.increase_time(Duration::from_secs(40)).as_secs(), 100, "no time passed without a block");
        clock.0.store(false, Ordering::Relaxed);
        node.set_time(Timestamp::from_secs(1_900_000_000)).unwrap();
        assert_eq!(node.mine(1).unwrap().block().timestamp().as_secs(), 1_900_000_000, "{chain:?}");
        assert_eq!(node.panic_count(), 3, "{chain:?}");
    }
}

#[test]
fn settings_change_while_the_store_fails() {
    let store = Arc::new(FailingStore::new(Arc::new(MemoryDisk::new())));
    let database = Database::Store(store.clone());
    let node = Node::builder().with_mining(Mining::Manual).with_database(database).build().unwrap();
    store.fail(WriteFault::after(0).disk_full());
    assert!(node.mine(1).is_err());
    let later = node.now().saturating_add_secs(1_000);
    node.set_next_block_timestamp(later).unwrap();
    node.set_auto_impersonate(true).unwrap();
    node.impersonate(ALICE).unwrap();
    node.set_mining(Mining::Interval(Duration::from_secs(9))).unwrap();
    assert_eq!(seen(&node), (Mining::Interval(Duration::from_secs(9)), 0, vec![ALICE], true));
    store.recover();
    assert_eq!(node.mine(1).unwrap().block().timestamp(), later);
    node.stop_impersonating(ALICE);
    assert!(node.impersonated().is_empty());
}

#[test]
fn a_reset_takes_the_settings_along_or_changes_nothing() {
    let store = Arc::new(FailingStore::new(Arc::new(MemoryDisk::new())));
    let node = Node::builder().with_database(Database::Store(store.clone())).build().unwrap();
    node.mine(2).unwrap();
    node.impersonate(ALICE).unwrap();
    node.increase_time(Duration::from_secs(60));
    let before = seen(&node);
    store.fail(WriteFault::after(0));
    assert!(node.reset().is_err());
    assert_eq!(seen(&node), before);
    store.recover();
    let mut heads = node.subscribe_to(|event| matches!(event, NodeEvent::Head { .. }));
    node.reset().unwrap();
    assert_eq!(seen(&node), (Mining::EachTransaction, 0, vec![], false));
    let Ok(NodeEvent::Head { view, .. }) = heads.try_next() else { panic!("no event") };
    assert!(!view.impersonates(ALICE), "the event's view is that after the reset");
}
