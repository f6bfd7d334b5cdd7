//! Long runs: memory, disk and the cost of pruning stay bounded.
//!
//! By default a hundredth of what `scripts/soak` runs; `CHAINBOX_SOAK` is the factor. That takes more than 10 seconds in a debug
//! build: less would stay below the bounds, and show nothing.

use std::sync::Arc;

use chainbox::{
    chain::{BaseFee, BlockAttributes, Chain, GenesisSpec, Retention},
    primitives::{Address, Gas, Timestamp, Transaction, TransactionRequest, U256, ether},
    state::{MemoryState, StateStore},
    store::{KeyValue, MemoryStore},
};

const CHAIN_ID: u64 = 31_337;
const SENDER: Address = Address::repeat_byte(0x5e);

/// The factor by which a run is longer than in CI.
fn scale() -> u64 {
    std::env::var("CHAINBOX_SOAK").ok().and_then(|factor| factor.parse().ok()).unwrap_or(1)
}

/// Resident memory of this process, in bytes; `None` where the system has no `/proc`.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}

fn open(state: Arc<dyn StateStore>, store: Arc<dyn KeyValue>, retention: Option<Retention>) -> Chain {
    let mut spec = GenesisSpec::new(CHAIN_ID);
    spec.allow_interventions = true;
    // Full blocks would raise it without end.
    spec.base_fee = BaseFee::Off;
    spec.fund(SENDER, ether(1_000_000_000));
    let builder = Chain::builder(spec, state, store);
    retention.into_iter().fold(builder, |builder, retention| builder.with_retention(retention)).open().unwrap()
}

fn in_memory(retention: Option<Retention>) -> Chain {
    open(Arc::new(MemoryState::new()), Arc::new(MemoryStore::new()), retention)
}

fn transfer(nonce: u64) -> Arc<Transaction> {
    let request = TransactionRequest {
        chain_id: Some(CHAIN_ID),
        nonce,
        to: Some(Address::left_padding_from(&(1_000_000 + nonce % 5_000).to_be_bytes())),
        value: U256::from(1),
        gas_limit: Gas::new(21_000),
        max_fee_per_gas: 10_000_000_000,
        ..TransactionRequest::default()
    };
    Arc::new(request.impersonate(SENDER).unwrap())
}

/// Makes a final block of as many transfers; `nonce` is that of the first.
fn mine(chain: &mut Chain, nonce: u64, count: u64) {
    let mut attributes = BlockAttributes::default();
    attributes.timestamp = Timestamp::from_secs(chain.head().block().header().timestamp + 1);
    let mut transfers = (nonce..nonce + count).map(transfer).collect::<Vec<_>>().into_iter();
    let built = chain.build(chain.head().hash(), &attributes, &mut transfers).unwrap();
    assert!(built.left_out.is_empty(), "{:?}", built.left_out.first());
    let hash = built.block.hash();
    chain.insert(Arc::new(built.block)).unwrap();
    chain.set_head(hash).unwrap();
    chain.set_finality(hash, hash).unwrap();
}

/// The process grows by what the bounds say, within a factor of two either way.
#[test]
fn the_bounds_in_bytes_are_those_of_the_process() {
    if resident_bytes().is_none() {
        eprintln!("skipped: this system does not tell a process's memory");
        return;
    }
    let (states, blocks) = (16 << 20, 24 << 20);
    let mut chain = in_memory(Some(Retention::new(None, None).with_bytes(Some(states), Some(blocks))));
    // All recipients exist, and what is allocated once is there.
    (0..12).for_each(|block| mine(&mut chain, block * 500, 500));
    let before = resident_bytes().unwrap();
    (12..152).for_each(|block| mine(&mut chain, block * 500, 500));
    let grown = resident_bytes().unwrap().saturating_sub(before);
    assert!(chain.oldest_block().get() > 50, "blocks were pruned: the oldest is {}", chain.oldest_block());
    let bound = states + blocks;
    println!("bounds of {} MiB: {} MiB grown", bound >> 20, grown >> 20);
    assert!((bound / 2..2 * bound).contains(&grown), "{grown} bytes for a bound of {bound}");
}

/// Transfers and empty blocks under the default retention in memory.
#[test]
fn a_long_chain_in_memory_stays_below_a_gibibyte() {
    let mut chain = in_memory(None);
    let (blocks, transfers, empty) = (100 * scale(), 1_000, 10_000 * scale());
    let resident = || resident_bytes().map_or(0, |bytes| bytes >> 20);
    for block in 1..=blocks {
        mine(&mut chain, (block - 1) * transfers, transfers);
        if (block * 10).is_multiple_of(blocks) {
            println!("{} transfers: {} MiB resident", block * transfers, resident());
            assert!(resident() < 1_024);
        }
    }
    for block in 1..=empty {
        mine(&mut chain, blocks * transfers, 0);
        if (block * 5).is_multiple_of(empty) {
            println!("{block} empty blocks more: {} MiB resident", resident());
            assert!(resident() < 1_024);
        }
    }
    assert_eq!(chain.head().height().get(), blocks + empty);
}

/// Writes and bytes of a block's batch at powers of ten, with states and blocks pruned.
#[cfg(feature = "testing")]
#[test]
fn pruning_costs_the_same_at_any_height() {
    use std::sync::Mutex;

    use chainbox::{state::PagedState, store::testing::FailingStore};

    let batch = Arc::new(Mutex::new((0_u64, 0_u64)));
    let seen = Arc::clone(&batch);
    let count = move |batch: &chainbox::store::Batch| {
        let bytes: usize = batch.writes().iter().map(|w| w.key.len() + w.value.as_ref().map_or(0, Vec::len)).sum();
        let mut seen = seen.lock().unwrap();
        *seen = (seen.0 + batch.writes().len() as u64, seen.1 + bytes as u64);
    };
    let disk: Arc<dyn KeyValue> = Arc::new(Unlogged(MemoryStore::new()));
    let store: Arc<dyn KeyValue> = Arc::new(FailingStore::new(disk).with_observer(count));
    let state = Arc::new(PagedState::open(Arc::clone(&store)).unwrap());
    let mut chain = open(state, store, Some(Retention::new(Some(16), Some(32))));
    let mut costs = Vec::new();
    let mut measured = 1_000;
    while measured <= 10_000 * scale() {
        let from = chain.head().height().get();
        for block in from..measured {
            if block == measured - 100 {
                *batch.lock().unwrap() = (0, 0);
            }
            mine(&mut chain, block * 2, 2);
        }
        let (writes, bytes) = *batch.lock().unwrap();
        println!("{measured} blocks: {} writes and {} bytes a block", writes / 100, bytes / 100);
        costs.push((writes / 100, bytes / 100));
        measured *= 10;
    }
    for cost in &costs {
        assert!(cost.0 <= costs[0].0 * 5 / 4, "{costs:?}");
        assert!(cost.1 <= costs[0].1 * 3 / 2, "{costs:?}");
    }
}

/// A store in memory that is treated as a disk, without history.
#[cfg(feature = "testing")]
#[derive(Debug)]
struct Unlogged(MemoryStore);

#[cfg(feature = "testing")]
impl KeyValue for Unlogged {
    fn get(
        &self,
        table: chainbox::store::Table,
        key: &[u8],
    ) -> Result<Option<chainbox::primitives::Bytes>, chainbox::store::StoreError> {
        self.0.get(table, key)
    }

    fn scan_from(
        &self,
        table: chainbox::store::Table,
        prefix: &[u8],
        from: Option<&[u8]>,
        order: chainbox::store::Order,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> core::ops::ControlFlow<()>,
    ) -> Result<(), chainbox::store::StoreError> {
        self.0.scan_from(table, prefix, from, order, visit)
    }

    fn write(&self, batch: chainbox::store::Batch) -> Result<(), chainbox::store::StoreError> {
        self.0.write(batch)
    }

    fn is_durable(&self) -> bool {
        true
    }
}

/// Snapshots and reverts of a node over a database on disk.
#[cfg(feature = "rocksdb")]
#[test]
fn snapshots_and_reverts_do_not_grow_a_database() {
    use chainbox::{
        node::{Database, Node},
        store::{RocksOptions, RocksStore},
    };

    fn folder_bytes(path: &std::path::Path) -> u64 {
        let entries = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().metadata().unwrap());
        entries.map(|metadata| metadata.len()).sum()
    }

    let folder = tempfile::tempdir().unwrap();
    let cycles = 10 * scale();
    let run = |cycles: u64| {
        let store = RocksStore::open(folder.path().join("database"), RocksOptions::default()).unwrap();
        let node = Node::builder().with_database(Database::Store(Arc::new(store))).build().unwrap();
        let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
        for _ in 0..cycles {
            let snapshot = node.snapshot();
            for value in 0..20_u64 {
                node.transfer(alice, bob, U256::from(value)).unwrap();
            }
            assert!(node.revert(snapshot).unwrap());
        }
        drop(node);
        folder_bytes(&folder.path().join("database"))
    };
    // The log and the sorted files of the first cycles are not compacted yet.
    let early = run(cycles.div_ceil(10));
    let late = run(cycles);
    println!("{cycles} snapshots and reverts of 20 blocks: {} KiB, after a tenth {} KiB", late >> 10, early >> 10);
    assert!(late < early + (16 << 20), "{early} bytes grew to {late}");
}
