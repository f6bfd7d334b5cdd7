//! Samples by an injected clock, over gaps, restarts and 91 days.

mod bound;
mod going_back;
mod resolutions;

use core::{ops::ControlFlow, time::Duration};
use std::sync::Arc;

use super::{
    super::{Blockchain, BlockchainSpec, DEFAULT_BLOCKCHAIN_ID, Platform, vault::MasterKey},
    *,
};
use crate::{
    chain::CallRequest,
    node::{Clock, ManualClock, Node},
    primitives::{Address, U256},
    store::{KeyValue, MemoryStore, Order, Table},
};

const START: u64 = 1_800_000_000;

/// What was sampled after the moment that a chain went back to is gone from the points of every size, and sampling goes on at once.
#[test]
fn a_chain_that_goes_back_forgets_what_was_sampled_later() {
    let world = World::new();
    let part = world.platform.analytics().hosted.part_of(DEFAULT_BLOCKCHAIN_ID);
    let step = |count| {
        for _ in 0..count {
            world.pay(1);
            world.go(1, 15);
        }
    };
    step(257);
    let (back, kept) = (world.now(), world.kept());
    let shown = || {
        let of = |step_secs| world.series(Metric::Transactions, START, back + 9_000, step_secs).unwrap();
        [of(15), of(300), of(3_600)]
    };
    let before = shown();
    step(300);
    assert_ne!((world.kept(), shown()), (kept, before.clone()));
    sampling::forget_after(&part, back).unwrap();
    assert_eq!((world.kept(), shown()), (kept, before));
    let figures = world.platform.default_blockchain().unwrap();
    let figures = figures.metrics_log().measure(&figures.node().view()).unwrap();
    assert!(!sampling::sample(&part, back, &figures).unwrap(), "it is there");
    assert!(sampling::sample(&part, back + 15, &figures).unwrap(), "no waiting for the time that was left");
    // Before the first sample nothing is left.
    sampling::forget_after(&part, START - 10_000).unwrap();
    assert_eq!(world.kept().0, [0; 3]);
}

struct World {
    time: Arc<ManualClock>,
    store: Arc<dyn KeyValue>,
    platform: Platform,
}

impl World {
    fn new() -> Self {
        let time = Arc::new(ManualClock::default());
        time.advance(Duration::from_secs(START.saturating_sub(time.now().as_secs())));
        let store: Arc<dyn KeyValue> = Arc::new(MemoryStore::default());
        let platform = open(&time, &store, Node::new());
        Self { time, store, platform }
    }

    /// Lets time go by in steps, with a sample after each.
    fn go(&self, steps: u64, secs: u64) {
        for _ in 0..steps {
            self.time.advance(Duration::from_secs(secs));
            self.platform.analytics().sample().unwrap();
        }
    }

    fn pay(&self, count: u64) {
        let node = self.platform.default_blockchain().unwrap().node();
        for _ in 0..count {
            let call = CallRequest::call(Address::repeat_byte(7), []).with_value(U256::ONE);
            let me = self.platform.service_principal();
            self.platform.blockchains().send(&me, DEFAULT_BLOCKCHAIN_ID, call.with_from(node.accounts()[0])).unwrap();
        }
    }

    fn series(&self, metric: Metric, from: u64, to: u64, step_secs: u64) -> Result<Vec<SeriesPoint>, PlatformError> {
        let request = SeriesRequest { metric, from_secs: from, to_secs: to, step_secs };
        self.platform.analytics().series(&self.platform.service_principal(), DEFAULT_BLOCKCHAIN_ID, &request)
    }

    fn now(&self) -> u64 {
        self.time.now().as_secs()
    }

    /// Numbers of points by tier, and bytes of all.
    fn kept(&self) -> ([usize; 3], usize) {
        let part = self.platform.analytics().hosted.part_of(DEFAULT_BLOCKCHAIN_ID);
        let (mut numbers, mut bytes) = ([0; 3], 0);
        for tier in TIERS {
            part.scan(
                Table::Platform,
                &[b"samples/".as_slice(), &[tier.id]].concat(),
                Order::Ascending,
                &mut |key, value| {
                    numbers[usize::from(tier.id)] += 1;
                    bytes += key.len() + value.len();
                    ControlFlow::Continue(())
                },
            )
            .unwrap();
        }
        (numbers, bytes)
    }
}

fn open(time: &Arc<ManualClock>, store: &Arc<dyn KeyValue>, node: Node) -> Platform {
    let spec = BlockchainSpec::read(serde_json::json!({ "name": "test" })).unwrap();
    let chain = Blockchain::running(DEFAULT_BLOCKCHAIN_ID.to_owned(), spec, node, 0);
    let builder = Platform::builder(time.clone()).with_store(Arc::clone(store));
    builder.open_with(chain, MasterKey::new([7; 32].into()), Vec::new()).unwrap()
}

#[test]
fn a_sample_comes_once_in_its_time_and_counts_what_was_since_the_last() {
    let world = World::new();
    assert_eq!(world.platform.analytics().sample().unwrap(), 1);
    assert_eq!(world.platform.analytics().sample().unwrap(), 0, "it is there");
    world.pay(3);
    world.go(1, 15);
    world.go(1, 15);
    world.pay(2);
    world.go(1, 15);
    let points = world.series(Metric::Transactions, START, world.now() + 15, 15).unwrap();
    assert_eq!(points.iter().map(|point| point.value).collect::<Vec<_>>(), [0.0, 3.0, 0.0, 2.0]);
    let [whole] = world.series(Metric::Transactions, START, world.now() + 15, 3_600).unwrap()[..] else { panic!() };
    assert_eq!((whole.value, whole.least, whole.greatest, whole.last, whole.samples), (5.0, 0.0, 3.0, 2.0, 4));
    let gas: f64 = world.series(Metric::GasUsed, START, world.now() + 15, 15).unwrap().iter().map(|it| it.value).sum();
    assert_eq!(gas, 5.0 * 21_000.0);
}

#[test]
fn a_gap_has_no_points_and_loses_no_transaction() {
    let mut world = World::new();
    world.go(1, 15);
    world.pay(2);
    // The process is away for an hour.
    let node = world.platform.default_blockchain().unwrap().node().clone();
    world.platform = open(&world.time, &world.store, node);
    world.go(1, 3_600);
    let points = world.series(Metric::Transactions, START, world.now() + 15, 15).unwrap();
    assert_eq!(points.iter().map(|point| point.value).collect::<Vec<_>>(), [0.0, 2.0]);
    assert_eq!(points[1].start_secs - points[0].start_secs, 3_600);
}

/// What is made after a revert counts from the first transaction on, with and without samples of the time that was left; also where the chain
/// goes back twice, or its clock does, before the next sample.
#[test]
fn what_is_made_after_a_revert_is_counted_once() {
    let world = World::new();
    let node = world.platform.default_blockchain().unwrap().node().clone();
    let recount = || world.platform.analytics().recount(DEFAULT_BLOCKCHAIN_ID).unwrap();
    let counted = |metric| {
        let points = world.series(metric, START, world.now() + 15, 15).unwrap();
        points.into_iter().map(|point| point.value).collect::<Vec<_>>()
    };
    world.pay(2);
    recount();
    world.platform.analytics().sample().unwrap();
    let (earlier, later) = (node.snapshot(), {
        world.pay(1);
        node.snapshot()
    });
    world.pay(4);
    world.go(1, 15);
    assert!(node.revert(later).unwrap());
    recount();
    assert!(node.revert(earlier).unwrap());
    recount();
    world.pay(3);
    recount();
    world.go(1, 15);
    world.pay(1);
    world.go(1, 15);
    assert_eq!(counted(Metric::Transactions), [2.0, 5.0, 3.0, 1.0]);
    assert_eq!(counted(Metric::GasUsed), [2.0, 5.0, 3.0, 1.0].map(|count| count * 21_000.0));

    // The sample of what a revert took back is forgotten: what counts is what the chain has beyond the one before it.
    let snapshot = node.snapshot();
    world.pay(5);
    world.go(1, 15);
    assert!(node.revert(snapshot).unwrap());
    let part = world.platform.analytics().hosted.part_of(DEFAULT_BLOCKCHAIN_ID);
    sampling::forget_after(&part, world.now() - 15).unwrap();
    recount();
    world.pay(2);
    world.go(1, 15);
    assert_eq!(counted(Metric::Transactions), [2.0, 5.0, 3.0, 1.0, 2.0]);
}

/// Points are told whole. Who goes on where an answer ends has each of them once, wherever the bounds of the question fall.
#[test]
fn ranges_that_go_on_where_the_answer_before_ended_have_each_point_once() {
    let world = World::new();
    world.platform.analytics().sample().unwrap();
    for _ in 0..48 {
        world.pay(1);
        world.go(1, 90);
    }
    for (step_secs, asked_secs) in [(15, 100), (300, 700), (300, 60), (1_800, 600), (3_600, 5_000), (7_200, 1_800)] {
        let (mut from_secs, mut sum, mut starts) = (START + 10, 0.0, Vec::new());
        while from_secs <= world.now() {
            let to_secs = from_secs + asked_secs;
            let request = SeriesRequest { metric: Metric::Transactions, from_secs, to_secs, step_secs };
            let (first, end) = request.bounds_secs();
            assert!(first <= from_secs && to_secs <= end, "{request:?}: {first} to {end}");
            assert!(from_secs - first < step_secs && end - to_secs < step_secs, "{request:?}: {first} to {end}");
            for point in world.series(request.metric, from_secs, to_secs, step_secs).unwrap() {
                assert!((first..end).contains(&point.start_secs), "{request:?}: {point:?}");
                starts.push(point.start_secs);
                sum += point.value;
            }
            from_secs = end;
        }
        assert!(starts.is_sorted_by(|one, next| one < next), "{step_secs}: {starts:?}");
        assert_eq!(sum, 48.0, "{step_secs}");
    }
    let bounds = |from: u64, to: u64| {
        let (from_secs, to_secs) = (START + from, START + to);
        SeriesRequest { metric: Metric::Transactions, from_secs, to_secs, step_secs: 3_600 }.bounds_secs()
    };
    assert_eq!(bounds(0, 1_800), (START, START + 3_600));
    assert_eq!(bounds(1_800, 3_600), (START, START + 3_600));
    assert_eq!(bounds(3_599, 3_601), (START, START + 7_200));
}

#[test]
fn what_is_not_kept_is_told() {
    let world = World::new();
    let (now, day) = (world.now(), DAY_SECS);
    let refused = |from, to, step| match world.series(Metric::Tps, from, to, step) {
        Err(PlatformError::BadRequest { message }) => message,
        other => panic!("must be refused: {other:?}"),
    };
    assert!(refused(now, now, 15).contains("before"));
    assert!(refused(now - 60, now, 7).contains("multiple of 15s"));
    assert!(refused(now - day, now, 15).contains("2000 points"));
    assert!(refused(now - 2 * day, now - 2 * day + 60, 15).contains("multiples of 300s"));
    assert!(refused(now - 8 * day, now - 8 * day + 600, 300).contains("multiples of 3600s"));
    assert!(world.series(Metric::Tps, now - 80 * day, now, 3_600).unwrap().is_empty());
}

/// Takes 91 days in steps of 5 minutes, and a day in steps of 15 s: some 32,000 samples.
#[test]
fn after_day_91_each_time_has_its_points_and_all_fit_in_2_mib() {
    let world = World::new();
    world.pay(1);
    world.go(91 * 288, 300);
    world.go(5_760, 15);
    let (numbers, bytes) = world.kept();
    assert!((5_760..=5_761).contains(&numbers[0]), "{numbers:?}");
    assert!((2_015..=2_017).contains(&numbers[1]), "{numbers:?}");
    assert!((2_159..=2_161).contains(&numbers[2]), "{numbers:?}");
    assert!(bytes <= 2 << 20, "{bytes}");
    let hours = world.series(Metric::ActiveValidators, world.now() - 83 * DAY_SECS, world.now(), 3_600).unwrap();
    assert!(hours.iter().all(|point| (point.value, point.least, point.last) == (1.0, 1.0, 1.0)));
    assert!(hours.len() >= 83 * 24 - 1, "{}", hours.len());
}
