//! Blocks' times rise strictly unless equal ones are allowed.

use core::time::Duration;
use std::sync::Arc;

use proptest::prelude::*;

use super::fixture::{node_of, plain_transfer, protocols};
use crate::{
    node::{BlockRef, ManualClock, Mining, Node, TimeError},
    primitives::{Height, Timestamp},
};

fn times(node: &Node) -> Vec<u64> {
    let (view, head) = (node.view(), node.view().head().height().get());
    (0..=head).map(|height| view.block(BlockRef::Number(Height::new(height))).unwrap().timestamp().as_secs()).collect()
}

#[test]
fn every_block_is_later_than_its_parent_under_every_protocol() {
    for chain in protocols() {
        let node = node_of(chain).build().unwrap();
        let start = node.now().as_secs();
        node.mine(2).unwrap();
        node.send(plain_transfer(&node, 0, 0, 1)).unwrap();
        let pending = node.view().pending_block().unwrap().timestamp();
        assert_eq!(times(&node), [0, 1, 2, 3].map(|secs| start + secs), "{chain:?}");
        assert_eq!(node.mine(1).unwrap().timestamp(), pending, "{chain:?}");
        let equal = node_of(chain).with_equal_timestamps(true).build().unwrap();
        equal.mine(3).unwrap();
        assert_eq!(times(&equal), [start; 4], "{chain:?}");
        assert_eq!(equal.view().pending_block().unwrap().timestamp().as_secs(), start, "{chain:?}");
    }
}

#[test]
fn blocks_ahead_of_the_clock_wait_for_it() {
    let clock = Arc::new(ManualClock::new(Timestamp::from_secs(2_000_000_000)));
    let node = Node::builder().with_clock(clock.clone()).build().unwrap();
    node.mine(10).unwrap();
    assert_eq!(node.view().head().timestamp().as_secs(), 2_000_000_009);
    clock.advance(Duration::from_secs(5));
    assert_eq!(node.mine(1).unwrap().timestamp().as_secs(), 2_000_000_010);
    clock.advance(Duration::from_secs(100));
    assert_eq!(node.mine(1).unwrap().timestamp().as_secs(), 2_000_000_105, "the clock's time again");
    assert_eq!(node.view().clock_offset().as_secs(), 0);
}

#[test]
fn the_heads_own_timestamp_is_refused_for_the_next_block_unless_allowed() {
    let node = Node::new();
    let head = node.mine(1).unwrap().timestamp();
    let error = node.set_next_block_timestamp(head).unwrap_err();
    assert!(matches!(error, TimeError::EqualsParent { asked } if asked == head), "{error}");
    node.set_time(head).unwrap();
    assert_eq!(
        node.mine(1).unwrap().timestamp(),
        head.saturating_add_secs(1),
        "the time of now is not the next block's"
    );
    let node = Node::builder().with_equal_timestamps(true).build().unwrap();
    let head = node.mine(1).unwrap().timestamp();
    node.set_next_block_timestamp(head).unwrap();
    assert_eq!(node.mine(1).unwrap().timestamp(), head);
}

#[test]
fn an_interval_spaces_blocks_and_time_travel_and_spacing_make_one_longer() {
    let node = Node::builder().with_block_interval(Duration::from_secs(12)).build().unwrap();
    let start = node.view().head().timestamp().as_secs();
    node.mine(3).unwrap();
    node.increase_time(Duration::from_secs(100));
    assert_eq!(node.view().pending_block().unwrap().timestamp().as_secs(), start + 136);
    node.mine(2).unwrap();
    node.set_next_block_timestamp(Timestamp::from_secs(start + 149)).unwrap();
    node.mine_spaced(3, Some(Duration::from_secs(20))).unwrap();
    let since = |node: &Node| times(node).into_iter().map(|time| time - start).collect::<Vec<_>>();
    assert_eq!(since(&node), [0, 12, 24, 36, 136, 148, 149, 169, 189]);

    // A reset and a loaded dump keep the interval that the node was built with.
    node.reset().unwrap();
    assert_eq!(node.mine(1).unwrap().timestamp().as_secs(), start + 12);
    let dump = Node::new().dump().unwrap();
    let node = Node::builder().with_block_interval(Duration::from_secs(5)).with_dump(dump).build().unwrap();
    node.mine(2).unwrap();
    assert_eq!(since(&node), [0, 5, 10]);
}

#[test]
fn a_dump_carries_time_on_and_a_revert_takes_it_back() {
    let node = Node::new();
    node.mine(20).unwrap();
    let snapshot = node.snapshot();
    node.increase_time(Duration::from_secs(50));
    let (head, loaded) = (node.view().head().timestamp(), Node::new());
    loaded.load(&node.dump().unwrap()).unwrap();
    for node in [&node, &loaded] {
        assert_eq!(node.mine(1).unwrap().timestamp(), head.saturating_add_secs(50));
    }
    assert!(node.revert(snapshot).unwrap());
    assert_eq!(node.mine(1).unwrap().timestamp(), head.saturating_add_secs(1));
}

#[derive(Clone, Debug)]
enum Step {
    Mine(u64),
    Spaced(u64, u64),
    Increase(u64),
    Clock(u64),
    Next(u64),
    SetTime(u64),
    Interval(Option<u64>),
    Pass(u64),
    Reorg(u64),
    Snapshot,
    Revert,
    Load,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (1..4_u64).prop_map(Step::Mine),
        1 => (1..4_u64, 0..9_u64).prop_map(|(count, secs)| Step::Spaced(count, secs)),
        2 => (0..9_u64).prop_map(Step::Increase),
        2 => (0..9_u64).prop_map(Step::Clock),
        2 => (0..3_u64).prop_map(Step::Next),
        1 => (0..9_u64).prop_map(Step::SetTime),
        1 => prop::option::of(0..4_u64).prop_map(Step::Interval),
        1 => (0..9_u64).prop_map(Step::Pass),
        1 => (1..4_u64).prop_map(Step::Reorg),
        1 => Just(Step::Snapshot),
        1 => Just(Step::Revert),
        1 => Just(Step::Load),
    ];
    prop::collection::vec(step, 1..30)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whatever happens to the time, a block is later than its parent (or not earlier, where that is allowed), the pending block's
    /// time is the next block's, and time travel moves the next block by at least as much.
    #[test]
    fn times_rise_whatever_happens(steps in steps(), is_equal_allowed in any::<bool>()) {
        let clock = Arc::new(ManualClock::new(Timestamp::from_secs(1_735_689_600)));
        let node = Node::builder().with_clock(clock.clone()).with_mining(Mining::Manual);
        let node = node.with_equal_timestamps(is_equal_allowed).build().unwrap();
        let mut snapshots = Vec::new();
        for step in steps {
            let head = node.view().head().timestamp();
            match step {
                Step::Mine(count) => drop(node.mine(count).unwrap()),
                Step::Spaced(count, secs) => drop(node.mine_spaced(count, Some(Duration::from_secs(secs))).unwrap()),
                Step::Increase(secs) => {
                    node.increase_time(Duration::from_secs(secs));
                    prop_assert!(node.view().pending_block().unwrap().timestamp() >= head.saturating_add_secs(secs));
                }
                Step::Clock(secs) => clock.advance(Duration::from_secs(secs)),
                Step::Next(ahead) => {
                    let set = node.set_next_block_timestamp(head.saturating_add_secs(ahead));
                    prop_assert_eq!(set.is_ok(), ahead > 0 || is_equal_allowed);
                }
                Step::SetTime(ahead) => node.set_time(head.saturating_add_secs(ahead)).unwrap(),
                Step::Interval(secs) => node.set_block_timestamp_interval(secs.map(Duration::from_secs)),
                Step::Pass(secs) => drop(node.pass_time(Duration::from_secs(secs)).unwrap()),
                Step::Reorg(depth) => drop(node.reorg(depth, [])),
                Step::Snapshot => snapshots.push(node.snapshot()),
                Step::Revert => {
                    if let Some(snapshot) = snapshots.pop() {
                        prop_assert!(node.revert(snapshot).unwrap());
                    }
                }
                Step::Load => {
                    node.load(&node.dump().unwrap()).unwrap();
                    snapshots.clear();
                }
            }
            for pair in times(&node).windows(2) {
                prop_assert!(pair[0] < pair[1] || (is_equal_allowed && pair[0] == pair[1]), "{:?}", pair);
            }
            let pending = node.view().pending_block().unwrap().timestamp();
            prop_assert_eq!(node.mine(1).unwrap().timestamp(), pending);
        }
    }
}
