//! The protocols in whole networks: empty blocks and scheduler events per second of processor time, with symbolic
//! seals; the cost of the run digest; and that of a block at heights 1,000 and 100,000, which is the same.
//!
//! Every replica of a network runs on the one thread that is measured, so a block's figure is the work of all of them.

use core::time::Duration;
use std::{cell::LazyCell, fs, time::Instant};

use chainbox::{
    consensus::{ConsensusConfig, DposConfig, PbftConfig, PoaConfig, PosConfig, RaftConfig},
    primitives::Height,
    sim::{Network, NetworkBuilder},
};
use criterion::{Bencher, Criterion, Throughput, criterion_group, criterion_main};

/// The allocator of the `chainbox` program.
#[cfg(feature = "server")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Describes a network of so many validators.
type Describe = fn(u32) -> NetworkBuilder;

fn network(consensus: ConsensusConfig, validators: u32) -> NetworkBuilder {
    Network::builder().with_consensus(consensus).with_validators(validators).with_seed(7)
}

/// One-second blocks; timeouts are the default ones.
fn pbft(validators: u32) -> NetworkBuilder {
    network(ConsensusConfig::Pbft(PbftConfig::default()), validators)
}

/// One-second blocks, and a heartbeat every five seconds: with the default ten per second, heartbeats would dominate.
fn raft(validators: u32) -> NetworkBuilder {
    network(
        ConsensusConfig::Raft(
            RaftConfig::default().with_election_timeout(Duration::from_secs(20)).with_heartbeat(Duration::from_secs(5)),
        ),
        validators,
    )
}

/// One-second blocks.
fn poa(validators: u32) -> NetworkBuilder {
    network(ConsensusConfig::Poa(PoaConfig::default().with_period(Duration::from_secs(1))), validators)
}

/// One-second slots, eight an epoch, in which every validator attests once. Stake, rewards and the set are in the
/// staking contract, which every block calls.
fn pos(validators: u32) -> NetworkBuilder {
    network(ConsensusConfig::Pos(PosConfig::default().with_period(Duration::from_secs(1))), validators)
}

/// One-second slots; at most 21 of the validators produce, elected by stake in the staking contract, which every block
/// calls.
fn dpos(validators: u32) -> NetworkBuilder {
    network(ConsensusConfig::Dpos(DposConfig::default()), validators)
}

/// Returns the processor time of this thread on Linux, otherwise wall-clock time.
fn processor_time(since: Instant) -> Duration {
    let stat = fs::read_to_string("/proc/thread-self/schedstat").ok();
    let ran = stat.and_then(|stat| stat.split_whitespace().next()?.parse().ok());
    ran.map_or_else(|| since.elapsed(), Duration::from_nanos)
}

/// Measures `run` on forks of `network`, which are made and dropped outside the measurement.
fn measure(b: &mut Bencher<'_>, network: &Network, run: impl Fn(&mut Network)) {
    #[allow(clippy::disallowed_methods, reason = "a bench measures real time")]
    let start = Instant::now();
    b.iter_custom(|iterations| {
        let mut total = Duration::ZERO;
        for _ in 0..iterations {
            let mut fork = network.fork();
            let before = processor_time(start);
            run(&mut fork);
            total += processor_time(start).saturating_sub(before);
        }
        total
    });
}

/// Longer than any of these runs, of virtual time: five seconds for each of a hundred thousand blocks.
const RUN_MAX: Duration = Duration::from_secs(500_000);

fn run_to(network: &mut Network, height: u64) {
    network.run_to_height_within(RUN_MAX, Height::new(height)).expect("runs");
}

fn grow(network: &mut Network, blocks: u64) {
    let goal = network.lowest_height().get() + blocks;
    run_to(network, goal);
}

/// Runs a network to this height.
fn grown(builder: NetworkBuilder, height: u64) -> Network {
    let mut network = builder.build().expect("options fit");
    run_to(&mut network, height);
    network
}

/// One past its start: the first blocks pay for elections and growing buffers.
fn warm(builder: NetworkBuilder) -> Network {
    grown(builder, 50)
}

/// Empty blocks, each adopted by every replica; with and without the run digest.
fn blocks(c: &mut Criterion) {
    let mut group = c.benchmark_group("blocks");
    // At one block a second, blocks a second are how many times faster than the clock a network runs.
    let cases: [(&str, u32, u64, &[bool], Describe); 14] = [
        ("pbft", 4, 5_000, &[true, false], pbft),
        ("pbft", 7, 2_000, &[true, false], pbft),
        ("pbft", 100, 10, &[true, false], pbft),
        ("raft", 5, 5_000, &[true, false], raft),
        ("raft", 7, 2_000, &[true], raft),
        ("poa", 4, 5_000, &[true], poa),
        ("poa", 7, 5_000, &[true], poa),
        ("poa", 100, 200, &[true], poa),
        ("pos", 4, 1_000, &[true], pos),
        ("pos", 7, 1_000, &[true], pos),
        ("pos", 100, 16, &[true], pos),
        ("dpos", 4, 1_000, &[true], dpos),
        ("dpos", 7, 1_000, &[true], dpos),
        ("dpos", 100, 100, &[true], dpos),
    ];
    for (name, validators, blocks, digests, builder) in cases {
        group.throughput(Throughput::Elements(blocks));
        for &digest in digests {
            let network = LazyCell::new(|| warm(builder(validators).with_digest(digest)));
            group.bench_function(format!("{name} validators={validators} digest={digest}"), |b| {
                measure(b, &network, |network| grow(network, blocks));
            });
        }
    }
    group.finish();
}

/// Scheduler events of a whole network: every delivery and timer of every replica counts.
fn events(c: &mut Criterion) {
    const EVENTS: u64 = 100_000;
    let mut group = c.benchmark_group("events");
    group.throughput(Throughput::Elements(EVENTS));
    let cases: [(&str, u32, Describe); 4] =
        [("pbft", 4, pbft), ("pbft", 25, pbft), ("pbft", 100, pbft), ("raft", 5, raft)];
    for (name, validators, builder) in cases {
        let network = LazyCell::new(|| warm(builder(validators)));
        group.bench_function(format!("{name} validators={validators}"), |b| {
            measure(b, &network, |network| {
                for _ in 0..EVENTS {
                    network.step().expect("runs");
                }
            });
        });
    }
    group.finish();
}

/// The next thousand blocks after a short and after a long chain: cost grows with messages, not with the chain.
fn heights(c: &mut Criterion) {
    const BLOCKS: u64 = 1_000;
    let mut group = c.benchmark_group("height");
    group.throughput(Throughput::Elements(BLOCKS));
    let cases: [(&str, fn() -> NetworkBuilder); 2] =
        [("pbft validators=4", || pbft(4)), ("raft validators=5", || raft(5))];
    for (name, builder) in cases {
        for height in [1_000, 100_000] {
            let network = LazyCell::new(|| grown(builder(), height));
            group.bench_function(format!("{name} height={height}"), |b| {
                measure(b, &network, |network| grow(network, BLOCKS));
            });
        }
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10).measurement_time(Duration::from_secs(3));
    targets = blocks, events, heights
}
criterion_main!(benches);
