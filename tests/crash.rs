//! `kill -9` at any instant leaves the last acknowledged block.
//!
//! A child process is a node over RocksDB that makes block after block, each one batch: block, state, receipts, indices, the
//! protocol's record, pruning. It says on its standard output when a block's write begins and when the block is acknowledged.
//! The parent kills it, again and again, at seeded instants, then opens the database and compares.
//!
//! It takes about a minute: three hundred processes start, open a database and die.
#![cfg(all(feature = "rocksdb", feature = "testing"))]

use core::ops::ControlFlow;
use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Duration,
};

use chainbox::{
    chain::{CallRequest, Retention},
    node::{BlockRef, Database, Mining, Node},
    primitives::{Bytes, Height, U256},
    state::model,
    store::{Batch, KeyValue, Order, PrefixedStore, RocksOptions, RocksStore, StoreError, Table},
    templates::{Erc20Params, erc20::interface as erc20},
};

const KILLS: u64 = 300;
const KILLS_INSIDE: u64 = 100;
/// More rounds than this mean that the kills miss what they aim at.
const ROUNDS_MAX: u64 = 900;
/// Names the database to the child.
const PATH: &str = "CHAINBOX_CRASH_TEST_DATABASE";

/// States that the node retains, so that it prunes in every batch.
const RETAINED: u64 = 3;
/// Calls in a block and bytes that go with each, so that a write takes its time.
const CALLS: u64 = 12;
const CALL_BYTES: usize = 16_000;

#[test]
fn a_killed_process_leaves_its_last_acknowledged_block() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random(0x00c0_ffee);
    let mut acknowledged = 0;
    let (mut kills, mut inside, mut early) = (0, 0, 0);
    for _ in 0..ROUNDS_MAX {
        if kills >= KILLS && inside >= KILLS_INSIDE {
            break;
        }
        let seen = run_and_kill(folder.path(), &mut random);
        kills += 1;
        inside += u64::from(seen.begun > seen.acknowledged);
        early += u64::from(seen.begun == 0);
        acknowledged = acknowledged.max(seen.acknowledged);

        let head = check_database(folder.path());
        assert!(head >= acknowledged, "block {acknowledged} was acknowledged, the database has {head}");
        assert!(head <= acknowledged.max(seen.begun), "block {head} was never begun");
        // What was begun and is there counts as acknowledged from now on.
        acknowledged = head;
    }
    println!("{kills} kills, {inside} inside a commit, {early} before the first; {acknowledged} blocks");
    assert!(kills >= KILLS && inside >= KILLS_INSIDE, "{kills} kills, {inside} of them inside a commit");
    assert!(acknowledged > KILLS / 2, "only {acknowledged} blocks were made");
}

/// The process that is killed.
#[test]
#[ignore = "runs as the child of the test above"]
fn child() {
    let path = std::env::var(PATH).expect("the parent names the database");
    let node = open(Path::new(&path), true);
    let [alice, bob] = [node.accounts()[0], node.accounts()[1]];
    let token = if node.view().head().height() == Height::GENESIS {
        let params = Erc20Params::new("Gold", "GLD", U256::from(1_000_000_000), alice);
        let sent = CallRequest { from: Some(alice), input: params.init_code(), ..Default::default() };
        let hash = node.send_request(sent).unwrap();
        node.mine(1).unwrap();
        node.mined(hash).unwrap().unwrap().receipt().contract_address.unwrap()
    } else {
        alice.create(0)
    };
    loop {
        let height = node.view().head().height().next();
        let mut random = Random(height.get());
        let transfer = erc20::transferCall { to: bob, value: U256::from(height.get()) };
        let transfer = alloy_sol_types::SolCall::abi_encode(&transfer);
        for _ in 0..CALLS {
            let noise = (0..CALL_BYTES / 8).flat_map(|_| random.next().to_be_bytes());
            let input: Bytes = transfer.iter().copied().chain(noise).collect::<Vec<u8>>().into();
            let gas = Some(1_000_000);
            node.send_request(CallRequest { from: Some(alice), to: Some(token), input, gas, ..Default::default() })
                .unwrap();
        }
        node.mine(1).unwrap();
        say(&format!("done {height}"));
    }
}

/// Says when a block's write begins.
#[derive(Debug)]
struct Announcing(Arc<dyn KeyValue>);

impl KeyValue for Announcing {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.0.get(table, key)
    }

    fn scan(
        &self,
        table: Table,
        prefix: &[u8],
        order: Order,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        self.0.scan(table, prefix, order, visit)
    }

    fn write(&self, batch: Batch) -> Result<(), StoreError> {
        let canonical =
            batch.writes().iter().filter(|write| write.table == Table::Canonical).find(|write| write.value.is_some());
        if let Some(height) = canonical.and_then(|write| write.key.last_chunk::<8>()) {
            say(&format!("begin {}", u64::from_be_bytes(*height)));
        }
        self.0.write(batch)
    }

    fn is_durable(&self) -> bool {
        self.0.is_durable()
    }
}

/// Not `println!`, which the test harness would keep.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "crash-test {line}").and_then(|()| out.flush()).unwrap();
}

/// The last blocks that a child spoke of.
#[derive(Default)]
struct Seen {
    begun: u64,
    acknowledged: u64,
}

fn run_and_kill(path: &Path, random: &mut Random) -> Seen {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--ignored", "--nocapture", "--test-threads=1"])
        .env(PATH, path)
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

/// Checks that the database is whole at its head and gives the head's number.
fn check_database(path: &Path) -> u64 {
    let node = open(path, false);
    let view = node.view();
    let head = view.head().clone();
    let height = head.height().get();
    let state = view.state(BlockRef::Latest).unwrap();
    let root = head.block().header().state_root;
    assert_eq!(state.commit().root, root, "root of block {height}");
    assert_eq!(model::rebuilt_root(&*state), root, "root rebuilt from the leaves of block {height}");
    if height < 2 {
        return height;
    }
    let [alice, bob] = [node.accounts()[0], node.accounts()[1]];
    let token = node.contract(alice.create(0), alice);
    let moved = |to: u64| U256::from(CALLS) * (2..=to).map(U256::from).sum::<U256>();
    for at in height.saturating_sub(RETAINED - 1).max(1)..=height {
        let at = Height::new(at);
        let block = view.block(at.into()).unwrap();
        let calls = if at.get() == 1 { 1 } else { CALLS as usize };
        assert_eq!((block.block().transactions().len(), block.receipts().len()), (calls, calls), "block {at}");
        let balance = token.call_at(erc20::balanceOfCall { account: bob }, at.into()).unwrap();
        assert_eq!(balance, moved(at.get()), "version of block {at}");
    }
    let first = head.block().transactions()[0].hash();
    assert_eq!(node.mined(first).unwrap().unwrap().block().hash(), head.hash(), "the index finds it");
    height
}

fn open(path: &Path, announcing: bool) -> Node {
    // So little memory that files are written and compacted all the time.
    let options = RocksOptions::default().with_memtable_bytes_max(3 << 20).with_cache_bytes_max(1 << 20);
    let whole = RocksStore::open(path, options).unwrap();
    let keys: Arc<dyn KeyValue> = Arc::new(PrefixedStore::new(Arc::new(whole), *b"crash-test"));
    let keys = if announcing { Arc::new(Announcing(keys)) } else { keys };
    Node::builder()
        .with_database(Database::Store(keys))
        .with_mining(Mining::Manual)
        .with_retention(Retention { states: Some(RETAINED), blocks: None })
        .build()
        .unwrap()
}

/// SplitMix64 (Steele, Lea and Flood, 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}
