//! The state: roots of large blocks, one-transfer blocks against the number of accounts, commits to RocksDB, reads.
//!
//! A transfer touches two accounts; what is measured is everything between a block's changes and its root and, for
//! RocksDB, the written batch. Execution is not part of it.

use std::{hint::black_box, sync::Arc};

use chainbox::{
    primitives::{Address, U256, keccak256},
    state::{
        AccountChange, AccountInfo, Commit, CommitId, EMPTY_CODE_HASH, MemoryState, PagedState, StateChanges,
        StateStore,
    },
    store::{Batch, KeyValue, MemoryStore, RocksOptions, RocksStore},
};
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main, measurement::WallTime};

/// The allocator of the `chainbox` program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const ACCOUNTS: u64 = 100_000;
const TRANSFERS: u64 = 10_000;

fn address(number: u64) -> Address {
    Address::from_slice(&keccak256(number.to_be_bytes())[12..])
}

fn change(number: u64, nonce: u64) -> (Address, AccountChange) {
    let balance = U256::from(10).pow(U256::from(18)) + U256::from(nonce);
    let info = AccountInfo { nonce, balance, code_hash: EMPTY_CODE_HASH };
    (address(number), AccountChange { info: Some(info), ..AccountChange::default() })
}

fn genesis(accounts: u64) -> StateChanges {
    StateChanges { accounts: (0..accounts).map(|number| change(number, 0)).collect(), ..StateChanges::default() }
}

/// The accounts that block `number` leaves changed: a sender and a recipient for each transfer, spread over all
/// accounts.
fn block(number: u64, accounts: u64, transfers: u64) -> StateChanges {
    let touched = |transfer: u64| {
        let mixed = (number * transfers + transfer).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        [change((mixed >> 32) % accounts, number), change((mixed >> 7) % accounts, number)]
    };
    StateChanges { accounts: (0..transfers).flat_map(touched).collect(), ..StateChanges::default() }
}

/// A state under test, and the store for its batches.
struct Setting {
    store: Arc<dyn StateStore>,
    keys: Arc<dyn KeyValue>,
    head: Commit,
}

impl Setting {
    fn new(store: Arc<dyn StateStore>, keys: Arc<dyn KeyValue>, accounts: u64) -> Self {
        let mut batch = Batch::new();
        let head = store.commit(CommitId::EMPTY, &genesis(accounts), &mut batch).expect("a commit");
        keys.write(batch).expect("a write");
        Self { store, keys, head }
    }

    fn memory(accounts: u64) -> Self {
        Self::new(Arc::new(MemoryState::new()), Arc::new(MemoryStore::new()), accounts)
    }

    fn rocksdb(folder: &tempfile::TempDir, accounts: u64) -> Self {
        let keys: Arc<dyn KeyValue> =
            Arc::new(RocksStore::open(folder.path(), RocksOptions::default()).expect("a database"));
        Self::new(Arc::new(PagedState::open(Arc::clone(&keys)).expect("a store")), keys, accounts)
    }

    /// Commits on the head and drops the version before, as a chain with bounded history does.
    fn commit(&mut self, changes: &StateChanges) {
        let mut batch = Batch::new();
        let commit = self.store.commit(self.head.id, changes, &mut batch).expect("a commit");
        if !self.keys.is_durable() {
            self.store.prune(&[self.head.id], &mut batch).expect("pruning");
        }
        self.keys.write(batch).expect("a write");
        self.head = commit;
    }
}

/// Commits block after block; each is prepared outside the timing.
fn measure(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, setting: &mut Setting, accounts: u64, transfers: u64) {
    group.throughput(Throughput::Elements(transfers));
    let mut number = 0;
    let before = setting.head.root;
    group.bench_function(name, |bencher| {
        bencher.iter_custom(|rounds| {
            let mut total = std::time::Duration::ZERO;
            for _ in 0..rounds {
                number += 1;
                let changes = block(number, accounts, transfers);
                #[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
                let start = std::time::Instant::now();
                setting.commit(black_box(&changes));
                total += start.elapsed();
            }
            total
        });
    });
    assert!(number == 0 || setting.head.root != before, "the blocks changed something");
}

fn large_blocks(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("state-root");
    group.sample_size(20);
    let name = format!("transfers={TRANSFERS}/accounts={ACCOUNTS}");
    let mut memory = Setting::memory(ACCOUNTS);
    measure(&mut group, &format!("memory/{name}"), &mut memory, ACCOUNTS, TRANSFERS);
    let folder = tempfile::tempdir().expect("a folder");
    let mut rocksdb = Setting::rocksdb(&folder, ACCOUNTS);
    measure(&mut group, &format!("rocksdb/{name}"), &mut rocksdb, ACCOUNTS, TRANSFERS);
    group.finish();
}

fn small_blocks(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("one-transfer");
    for accounts in [10, 1_000, 100_000, 1_000_000] {
        let mut memory = Setting::memory(accounts);
        measure(&mut group, &format!("memory/accounts={accounts}"), &mut memory, accounts, 1);
        drop(memory);
        let folder = tempfile::tempdir().expect("a folder");
        let mut rocksdb = Setting::rocksdb(&folder, accounts);
        measure(&mut group, &format!("rocksdb/accounts={accounts}"), &mut rocksdb, accounts, 1);
    }
    group.finish();
}

fn reads(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("read-account");
    group.throughput(Throughput::Elements(1));
    let folder = tempfile::tempdir().expect("a folder");
    for (name, setting) in [("memory", Setting::memory(ACCOUNTS)), ("rocksdb", Setting::rocksdb(&folder, ACCOUNTS))] {
        let view = setting.store.view(setting.head.id).expect("a view");
        let addresses: Vec<Address> = (0..ACCOUNTS).map(address).collect();
        let mut next = 0;
        group.bench_function(format!("{name}/accounts={ACCOUNTS}"), |bencher| {
            bencher.iter(|| {
                next = (next + 7919) % addresses.len();
                view.account(&addresses[next]).expect("a read").expect("an account")
            });
        });
    }
    group.finish();
}

criterion_group!(benches, large_blocks, small_blocks, reads);
criterion_main!(benches);
