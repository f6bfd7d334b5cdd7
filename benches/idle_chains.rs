//! What a thousand idle chains of the service cost: processor time for each second of the clock, memory, threads, files, and how soon all
//! answer after a start.
//!
//! `cargo bench --bench idle_chains --features platform,rocksdb -- [CHAINS] [SECONDS]`; of proof of authority, one validator and an
//! observer, a block every 15 s, real seals, in one database.

#![allow(clippy::disallowed_methods, reason = "a benchmark reads the machine's clock")]

use std::{
    env, fs,
    num::NonZeroUsize,
    sync::Arc,
    thread::sleep,
    time::{Duration, Instant},
};

use chainbox::{
    node::{BlockRef, Clock, Database, NetworkPool, Node},
    platform::{Blockchain, BlockchainSpec, DEFAULT_BLOCKCHAIN_ID, Platform, Principal, vault::MasterKey},
    primitives::{Timestamp, U256},
    store::{KeyValue, RocksOptions, RocksStore},
};
use serde_json::json;

/// Memory that one chain may take, in KiB.
const KIB_MAX: f64 = 1_024.0;
/// Part of a core that all chains may take.
const CORES_MAX: f64 = 0.25;
/// Time in which all chains answer after a start.
const BOOT_MAX: Duration = Duration::from_secs(5);
/// Unit of processor time in `/proc/self/stat` (`USER_HZ`, `man 5 proc`), in seconds.
const TICK_SECS: f64 = 0.01;

/// The machine's clock, by that of a pool.
#[derive(Debug)]
struct PoolTime(Arc<dyn chainbox::node::RealTimeClock>);

impl Clock for PoolTime {
    fn now(&self) -> Timestamp {
        Timestamp::from_secs(self.0.now().as_secs())
    }
}

fn main() {
    // Without `--bench`, as `cargo test --benches` runs it: a few, for a moment.
    let is_bench = env::args().any(|argument| argument == "--bench");
    let mut sizes = env::args().skip(1).filter_map(|argument| argument.parse::<u64>().ok());
    let chains = sizes.next().unwrap_or(if is_bench { 1_000 } else { 8 });
    let seconds = sizes.next().unwrap_or(if is_bench { 60 } else { 1 });
    let folder = tempfile::tempdir().expect("a folder");

    let platform = open(folder.path());
    let me = platform.service_principal();
    let (before, threads, files) = (resident_kib(), count("/proc/self/task"), count("/proc/self/fd"));
    let began = Instant::now();
    let ids: Vec<String> = (0..chains).map(|number| create(&platform, &me, number)).collect();
    println!("{chains} chains made in {:.2} s", began.elapsed().as_secs_f64());
    println!("memory of one: {:.1} KiB as made", per_chain(before, chains));
    println!(
        "threads {threads} before, {} with all; open files {files} before, {} with all",
        count("/proc/self/task"),
        count("/proc/self/fd"),
    );
    run(&platform, &me, &ids, before, seconds, is_bench);

    // The process ends, and starts again.
    drop(platform);
    let began = Instant::now();
    let platform = open(folder.path());
    let opened = began.elapsed();
    ids.iter().for_each(|id| assert!(answers(&platform, &me, id)));
    let answered = began.elapsed();
    println!("start: open after {:.2} s, all answered after {:.2} s", opened.as_secs_f64(), answered.as_secs_f64());
    if is_bench {
        assert!(answered <= BOOT_MAX, "{answered:?}; at most {BOOT_MAX:?}");
    }
}

/// Opens a platform in a database, in which its default chain is.
fn open(folder: &std::path::Path) -> Platform {
    let store: Arc<dyn KeyValue> = Arc::new(RocksStore::open(folder, RocksOptions::default()).expect("a database"));
    let node = Node::builder().with_database(Database::Store(Arc::clone(&store))).build().expect("defaults");
    let spec = BlockchainSpec::read(json!({ "name": "default" })).expect("a name is enough");
    let default = Blockchain::running(DEFAULT_BLOCKCHAIN_ID.to_owned(), spec, node, 0);
    let pool = NetworkPool::new(NonZeroUsize::new(2).expect("two")).expect("threads start");
    let builder = Platform::builder(Arc::new(PoolTime(pool.clock()))).with_store(store).with_networks(pool);
    builder.open_with(default, MasterKey::new([7; 32].into()), Vec::new()).expect("a platform")
}

fn create(platform: &Platform, me: &Principal, number: u64) -> String {
    let body = json!({ "name": format!("chain {number}"), "config": { "blockTime": "15s" } });
    let spec = BlockchainSpec::read(body).expect("valid");
    platform.blockchains().create(me, spec).expect("a chain").id().to_owned()
}

/// Returns whether a chain answers with the balance of its treasury.
fn answers(platform: &Platform, me: &Principal, id: &str) -> bool {
    let chain = platform.blockchains().readable(me, id).expect("it runs");
    let treasury = chain.treasury().expect("a wallet");
    chain.node().view().balance(treasury, BlockRef::Latest).expect("its state") > U256::ZERO
}

/// Lets all chains run for a while.
fn run(platform: &Platform, me: &Principal, ids: &[String], before: u64, seconds: u64, is_bench: bool) {
    let heights = || -> Vec<u64> {
        let height = |id: &String| {
            let chain = platform.blockchains().readable(me, id).expect("it runs");
            chain.node().view().head().height().get()
        };
        ids.iter().map(height).collect()
    };
    let first = heights();
    let (began, worked) = (Instant::now(), processor_secs());
    sleep(Duration::from_secs(seconds));
    let cores = (processor_secs() - worked) / began.elapsed().as_secs_f64();
    let made: Vec<u64> = heights().iter().zip(&first).map(|(now, then)| now - then).collect();
    let (least, most) = (made.iter().min().copied().unwrap_or(0), made.iter().max().copied().unwrap_or(0));
    println!("{seconds} s idle: {:.2} % of a core, {least} to {most} blocks each", 100.0 * cores);
    let memory = per_chain(before, ids.len() as u64);
    println!("memory of one: {memory:.1} KiB now");
    assert!(least >= seconds / 15, "every chain has its blocks");
    if is_bench {
        assert!(cores <= CORES_MAX, "{cores} of a core; at most {CORES_MAX}");
        assert!(memory <= KIB_MAX, "{memory} KiB; at most {KIB_MAX}");
    }
}

fn per_chain(before: u64, chains: u64) -> f64 {
    resident_kib().saturating_sub(before) as f64 / chains as f64
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
