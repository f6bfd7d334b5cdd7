//! What a thousand idle networks in real time cost: processor time for each second of the clock, memory and threads.
//!
//! `cargo bench --bench idle_networks -- [NETWORKS] [SECONDS]`; of proof of authority, one validator, a block every 15 s, real seals.

use std::{env, fs, num::NonZeroUsize, thread::sleep, time::Duration};

use chainbox::{
    consensus::{ConsensusConfig, PoaConfig, SealScheme},
    node::{NetworkPool, PacedNetwork},
    primitives::Timestamp,
    sim::Network,
};

const PERIOD: Duration = Duration::from_secs(15);
/// Part of a core that all networks may take.
const CORES_MAX: f64 = 0.25;
/// Unit of processor time in `/proc/self/stat` (`USER_HZ`, `man 5 proc`), in seconds.
const TICK_SECS: f64 = 0.01;

fn main() {
    // Without `--bench`, as `cargo test --benches` runs it: a few, for a moment.
    let is_bench = env::args().any(|argument| argument == "--bench");
    let mut sizes = env::args().skip(1).filter_map(|argument| argument.parse::<u64>().ok());
    let networks = sizes.next().unwrap_or(if is_bench { 1_000 } else { 20 });
    let seconds = sizes.next().unwrap_or(if is_bench { 60 } else { 1 });

    let pool = NetworkPool::new(NonZeroUsize::new(2).expect("two")).expect("threads start");
    let before = resident_kib();
    let hosted: Vec<PacedNetwork> = (0..networks)
        .map(|seed| {
            let network = Network::builder()
                .with_consensus(ConsensusConfig::Poa(PoaConfig::default().with_period(PERIOD)))
                .with_seals(SealScheme::Secp256k1)
                .with_seed(seed)
                .with_timestamp(Timestamp::from_secs(pool.now().as_secs()))
                .build()
                .expect("defaults are consistent");
            pool.add(network.share().expect("a protocol of this crate")).expect("it makes blocks by itself")
        })
        .collect();
    let (built, threads) = (resident_kib(), count("/proc/self/task"));
    let files = count("/proc/self/fd");

    let (began, worked, runs) = (pool.now(), processor_secs(), pool.counters().runs);
    sleep(Duration::from_secs(seconds));
    let passed = (pool.now() - began).as_secs_f64();
    let cores = (processor_secs() - worked) / passed;
    let runs = (pool.counters().runs - runs) as f64 / passed;
    let heights = || hosted.iter().map(|network| network.nodes()[0].view().head().height().get());
    let (lowest, highest) = (heights().min().unwrap_or(0), heights().max().unwrap_or(0));
    let skipped: u64 = hosted.iter().map(|network| network.counters().gaps).sum();
    println!("{networks} networks, {passed:.1} s: {:.2} % of a core, {runs:.0} runs a second", 100.0 * cores);
    println!("heights {lowest} to {highest}, {skipped} gaps; {threads} threads and {files} open files in all");
    let kib = |after: u64| after.saturating_sub(before) as f64 / networks as f64;
    println!("memory of one: {:.1} KiB as built, {:.1} KiB now", kib(built), kib(resident_kib()));
    assert!(lowest >= seconds / PERIOD.as_secs(), "every network has its blocks");
    if is_bench {
        assert!(cores <= CORES_MAX, "{cores} of a core; at most {CORES_MAX}");
    }
    pool.shutdown(Duration::from_secs(10)).expect("the threads end");
}

/// Processor time of this process so far, in seconds.
fn processor_secs() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    // User and system time.
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() * TICK_SECS
}

fn resident_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

fn count(folder: &str) -> usize {
    fs::read_dir(folder).map_or(0, Iterator::count)
}
