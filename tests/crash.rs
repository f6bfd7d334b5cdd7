//! `kill -9` at any instant leaves the last acknowledged block.
//!
//! A child process commits blocks to RocksDB, each in one batch: state, a block record, pruning of old versions, the head. It says
//! on its standard output when it begins a write and when the write is acknowledged. The parent kills it, again and again, at
//! seeded instants, then opens the database and compares.
#![cfg(all(feature = "rocksdb", feature = "testing"))]

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Duration,
};

use chainbox::{
    primitives::{Address, B256, U256, keccak256},
    state::{AccountChange, AccountInfo, CommitId, EMPTY_CODE_HASH, PagedState, StateChanges, StateStore, model},
    store::{Batch, KeyValue, PrefixedStore, RocksOptions, RocksStore, Table},
};

const KILLS: u64 = 300;
const KILLS_INSIDE: u64 = 100;
/// More rounds than this mean that the kills miss what they aim at.
const ROUNDS_MAX: u64 = 900;
/// Names the database to the child.
const PATH: &str = "CHAINBOX_CRASH_TEST_DATABASE";

const ACCOUNTS: u64 = 150;
const RETAINED: u64 = 3;
const BLOCK_BYTES: usize = 200_000;
const HEAD: &[u8] = b"head";

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
    let keys = open(Path::new(&path));
    let state = PagedState::open(Arc::clone(&keys)).unwrap();
    let mut head = Head::read(&*keys);
    loop {
        let block = head.block + 1;
        let mut batch = Batch::new();
        let commit = state
            .commit(head.retained.last().copied().unwrap_or(CommitId::EMPTY), &changes(block), &mut batch)
            .unwrap();
        head.block = block;
        head.root = commit.root;
        head.retained.push(commit.id);
        if head.retained.len() as u64 > RETAINED {
            state.prune(&[head.retained.remove(0)], &mut batch).unwrap();
            batch.delete(Table::Blocks, (block - RETAINED).to_be_bytes());
        }
        batch.put(Table::Blocks, block.to_be_bytes(), record(block));
        batch.put(Table::Meta, HEAD, head.encode());
        say(&format!("begin {block}"));
        keys.write(batch).unwrap();
        say(&format!("done {block}"));
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
    let keys = open(path);
    let state = PagedState::open(Arc::clone(&keys)).unwrap();
    let head = Head::read(&*keys);
    let Some(id) = head.retained.last() else { return 0 };
    let view = state.view(*id).unwrap();
    assert_eq!(view.commit().root, head.root, "root of block {}", head.block);
    assert_eq!(model::rebuilt_root(&*view), head.root, "root rebuilt from the leaves of block {}", head.block);
    for (age, id) in head.retained.iter().rev().enumerate() {
        let block = head.block - age as u64;
        let stored = keys.get(Table::Blocks, &block.to_be_bytes()).unwrap().expect("a retained block is there");
        assert!(stored == record(block), "block {block}");
        let view = state.view(*id).unwrap();
        let account = view.account(&touched(block)).unwrap().expect("the block touched it");
        assert_eq!(account.balance, U256::from(block), "version of block {block}");
    }
    head.block
}

fn open(path: &Path) -> Arc<dyn KeyValue> {
    // So little memory that files are written and compacted all the time.
    let options = RocksOptions::default().with_memtable_bytes_max(3 << 20).with_cache_bytes_max(1 << 20);
    let whole = RocksStore::open(path, options).unwrap();
    Arc::new(PrefixedStore::new(Arc::new(whole), *b"crash-test"))
}

/// What the child keeps in [`Table::Meta`].
#[derive(Default)]
struct Head {
    block: u64,
    root: B256,
    /// The last versions, the head's last.
    retained: Vec<CommitId>,
}

impl Head {
    fn read(keys: &dyn KeyValue) -> Self {
        let Some(bytes) = keys.get(Table::Meta, HEAD).unwrap() else { return Self::default() };
        let number = |bytes: &[u8]| u64::from_be_bytes(bytes.try_into().unwrap());
        Self {
            block: number(&bytes[..8]),
            root: B256::from_slice(&bytes[8..40]),
            retained: bytes[40..].chunks(8).map(|id| CommitId::new(number(id))).collect(),
        }
    }

    fn encode(&self) -> Vec<u8> {
        let retained = self.retained.iter().flat_map(|id| id.get().to_be_bytes());
        self.block.to_be_bytes().into_iter().chain(self.root.0).chain(retained).collect()
    }
}

/// The account that a block sets to its own number.
fn touched(block: u64) -> Address {
    Address::left_padding_from(&(block % ACCOUNTS).to_be_bytes())
}

fn changes(block: u64) -> StateChanges {
    let mut random = Random(block);
    let mut changes = StateChanges::default();
    for number in 0..40 {
        let address = Address::left_padding_from(&random.below(ACCOUNTS).to_be_bytes());
        let info = AccountInfo { nonce: block, balance: U256::from(number), code_hash: EMPTY_CODE_HASH };
        let storage = BTreeMap::from([(U256::from(random.below(8)), U256::from(random.below(3)))]);
        let removed = random.below(12) == 0;
        let change = AccountChange { info: (!removed).then_some(info), clear_storage: false, storage };
        changes.accounts.insert(address, change);
    }
    let info = AccountInfo { nonce: block, balance: U256::from(block), code_hash: EMPTY_CODE_HASH };
    changes.accounts.insert(touched(block), AccountChange { info: Some(info), ..AccountChange::default() });
    changes
}

/// A block's record: bytes that do not compress.
fn record(block: u64) -> Vec<u8> {
    let seed = keccak256(block.to_be_bytes());
    let mut random = Random(u64::from_be_bytes(seed.0[..8].try_into().unwrap()));
    (0..BLOCK_BYTES / 8).flat_map(|_| random.next().to_be_bytes()).collect()
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
