//! Child processes over a database that are killed at seeded instants.

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Duration,
};

use chainbox::{
    consensus::ConsensusKind,
    store::{Batch, KeyValue, PrefixedStore, RocksOptions, RocksStore, Table, testing::FailingStore},
};

/// Names the database to the child.
const PATH: &str = "CHAINBOX_CRASH_TEST_DATABASE";
/// Names the protocol to the child.
const PROTOCOL: &str = "CHAINBOX_CRASH_TEST_PROTOCOL";
/// Says how many validators there are to the child.
const VALIDATORS: &str = "CHAINBOX_CRASH_TEST_VALIDATORS";

/// What the parent told the child: the database, whose writes are announced, the protocol, and the number of validators.
pub(crate) fn told_by_parent() -> (Arc<dyn KeyValue>, ConsensusKind, u32) {
    let path = std::env::var(PATH).expect("the parent names the database");
    let protocol = std::env::var(PROTOCOL).ok().and_then(|name| ConsensusKind::from_name(&name)).expect("a protocol");
    let validators = std::env::var(VALIDATORS).ok().and_then(|count| count.parse().ok()).expect("a number");
    let store = FailingStore::new(store(Path::new(&path))).with_observer(announce);
    (Arc::new(store), protocol, validators)
}

/// Says when a block's write begins.
fn announce(batch: &Batch) {
    let canonical =
        batch.writes().iter().filter(|write| write.table == Table::Canonical).find(|write| write.value.is_some());
    if let Some(height) = canonical.and_then(|write| write.key.last_chunk::<8>()) {
        say(&format!("begin {}", u64::from_be_bytes(*height)));
    }
}

/// Not `println!`, which the test harness would keep.
pub(crate) fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "crash-test {line}").and_then(|()| out.flush()).unwrap();
}

/// The last blocks that a child spoke of.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) begun: u64,
    pub(crate) acknowledged: u64,
}

/// Runs the test `child` of this binary over a database, and kills it.
pub(crate) fn run_and_kill(path: &Path, protocol: ConsensusKind, validators: u32, random: &mut Random) -> Seen {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--ignored", "--nocapture", "--test-threads=1"])
        .env(PATH, path)
        .env(PROTOCOL, protocol.name())
        .env(VALIDATORS, validators.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut seen = Seen::default();
    let mut note = |line: &str| {
        let mut words = line.split_whitespace().skip_while(|word| *word != "crash-test").skip(1);
        let word = words.next().map(str::to_owned);
        let Some(block) = words.next().and_then(|block| block.parse().ok()) else { return word };
        match word.as_deref() {
            Some("begin") => seen.begun = block,
            Some("done") => seen.acknowledged = block,
            _ => {}
        }
        word
    };
    match random.below(8) {
        // While it starts and opens the database, or whenever.
        0 => std::thread::sleep(Duration::from_micros(random.below(30_000))),
        // Just after a block was acknowledged.
        1 => wait_for("done", random.below(3), &mut lines, &mut note),
        // Inside a write.
        _ => {
            wait_for("begin", random.below(4), &mut lines, &mut note);
            std::thread::sleep(Duration::from_micros(random.below(300)));
        }
    }
    kill(&mut child);
    // What it said before it died, but was not heard yet.
    for line in lines {
        note(&line);
    }
    seen
}

fn wait_for(
    word: &str,
    skip: u64,
    lines: &mut impl Iterator<Item = String>,
    note: &mut impl FnMut(&str) -> Option<String>,
) {
    let mut left = skip;
    for line in lines {
        if note(&line).as_deref() == Some(word) {
            if left == 0 {
                return;
            }
            left -= 1;
        }
    }
    panic!("the child ended by itself");
}

fn kill(child: &mut Child) {
    // SIGKILL on Unix.
    child.kill().unwrap();
    let status = child.wait().unwrap();
    assert!(!status.success() && status.code().is_none(), "the child ended by itself: {status}");
}

pub(crate) fn store(path: &Path) -> Arc<dyn KeyValue> {
    // So little memory that files are written and compacted all the time.
    let options = RocksOptions::default().with_memtable_bytes_max(3 << 20).with_cache_bytes_max(1 << 20);
    Arc::new(PrefixedStore::new(Arc::new(RocksStore::open(path, options).unwrap()), *b"crash-test"))
}

/// SplitMix64 (Steele, Lea and Flood, 2014).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}
