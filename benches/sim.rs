//! The simulator: its queue, networks of proof of authority with symbolic seals, and the cost of the run digest.

#[path = "../tests/golden/faults.rs"]
mod faults;
#[path = "../tests/golden/run.rs"]
mod golden;

use std::{hint::black_box, time::Duration};

use chainbox::{
    consensus::{ConsensusConfig, PoaConfig},
    primitives::Height,
    sim::{BlockOrder, Network, NetworkBuilder, Production, Scheduler},
};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};

const EVENTS: u64 = 1_000_000;
const BLOCKS: u64 = 200;

fn poa(validators: u32, period: u64) -> NetworkBuilder {
    let config = ConsensusConfig::Poa(PoaConfig::default().with_period(Duration::from_secs(period)));
    Network::builder().with_consensus(config).with_validators(validators).with_seed(7)
}

/// Empty actors: every event schedules its successor and nothing else.
fn scheduler(c: &mut Criterion) {
    let mut group = c.benchmark_group("scheduler");
    group.throughput(Throughput::Elements(EVENTS));
    for waiting in [4_u64, 100, 10_000] {
        group.bench_function(format!("events waiting={waiting}"), |b| {
            b.iter(|| {
                let mut scheduler = Scheduler::new(7);
                (0..waiting).for_each(|actor| scheduler.after_nanos(actor, actor));
                for _ in 0..EVENTS {
                    let actor = scheduler.next().expect("time passes").expect("the queue never empties");
                    scheduler.after_nanos(10_000 + actor % 97, actor);
                }
                assert_eq!(scheduler.len() as u64, waiting);
            });
        });
    }
    group.finish();
}

/// From building a network, with keys derived from the seed, to the first block on every replica.
fn start(c: &mut Criterion) {
    let mut group = c.benchmark_group("network start to first block");
    group.throughput(Throughput::Elements(1));
    for validators in [1, 4] {
        group.bench_function(format!("validators={validators}"), |b| {
            b.iter(|| {
                let mut network = poa(validators, 1).build().expect("options fit");
                network.run_to_height(Height::new(1)).expect("runs");
                network
            });
        });
    }
    group.finish();
}

/// Empty blocks, each adopted by every replica.
fn blocks(c: &mut Criterion) {
    assert_eq!(golden::run(golden::builder()).expect("runs").digest(), Some(golden::DIGEST), "in this build too");
    for kind in chainbox::consensus::ConsensusKind::ALL {
        assert_eq!(
            faults::run(kind, faults::SEED, |builder| builder).expect("runs"),
            faults::golden(kind),
            "{}",
            kind.name()
        );
    }
    let mut group = c.benchmark_group("poa blocks");
    group.throughput(Throughput::Elements(BLOCKS));
    for (validators, digest) in [(1, true), (4, true), (4, false), (7, true)] {
        let network = poa(validators, 1).with_digest(digest).build().expect("options fit");
        group.bench_function(format!("validators={validators} digest={digest}"), |b| {
            b.iter_batched(
                || network.fork(),
                |mut network| {
                    network.run_to_height(Height::new(BLOCKS)).expect("runs");
                    network
                },
                BatchSize::LargeInput,
            );
        });
    }
    group.finish();

    let mut group = c.benchmark_group("poa blocks on demand");
    group.throughput(Throughput::Elements(1));
    for validators in [1, 4] {
        let mut network = poa(validators, 0).with_production(Production::OnDemand).build().expect("options fit");
        group.bench_function(format!("validators={validators}"), |b| {
            b.iter(|| network.produce_block(&BlockOrder::default()).expect("adopted"));
        });
    }
    group.finish();
}

/// A snapshot of a whole network after many blocks.
fn snapshot(c: &mut Criterion) {
    let mut group = c.benchmark_group("network clone");
    group.throughput(Throughput::Elements(1));
    for validators in [1, 4] {
        let mut network = poa(validators, 1).build().expect("options fit");
        network.run_to_height(Height::new(1_000)).expect("runs");
        group.bench_function(format!("validators={validators}"), |b| b.iter(|| black_box(network.clone())));
    }
    group.finish();
}

criterion_group!(benches, scheduler, start, blocks, snapshot);
criterion_main!(benches);
