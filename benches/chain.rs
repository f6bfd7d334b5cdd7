//! Whole blocks, without signatures: execution, roots, commit and head change.
//!
//! 10,000 transactions a block over 100,000 accounts, each block on top of the one before; `roots` are the transaction
//! and receipt roots of such a block alone, to be subtracted. `permissions` is a chain that lists every sender. Then: a block of one transfer against the number of
//! accounts, a snapshot and its restoration, reopening a database, recovery of senders.

use std::{cell::RefCell, hint::black_box, sync::Arc};

use alloy_sol_types::SolCall;
use chainbox::{
    chain::{
        BlockAttributes, Chain, ChainBuilder, GenesisSpec, Intervention, Pool, PoolConfig, Retention, receipts_root,
        transactions_root,
    },
    primitives::{
        Address, Gas, KeyPair, SenderRecovery, Timestamp, Transaction, TransactionRequest, U256, ether, gwei, keccak256,
    },
    state::MemoryState,
    store::MemoryStore,
    system::permissions::PermissionsConfig,
    templates::{Erc20Params, erc20::interface::transferCall},
    vm::mapping_slot,
};
use criterion::{
    BatchSize, BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main, measurement::WallTime,
};

/// The allocator of the `chainbox` program.
#[cfg(feature = "server")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const CHAIN_ID: u64 = 31_337;
const ACCOUNTS: u64 = 100_000;
const TRANSACTIONS: u64 = 10_000;

fn account(n: u64) -> Address {
    Address::from_slice(&keccak256(n.to_be_bytes())[12..])
}

fn spec(accounts: u64) -> GenesisSpec {
    let mut spec = GenesisSpec::new(CHAIN_ID).with_interventions(true).with_gas_limit(Gas::new(10_000_000_000));
    (0..accounts).for_each(|n| spec.fund(account(n), ether(1_000_000)));
    spec
}

fn in_memory(accounts: u64) -> ChainBuilder {
    in_memory_of(spec(accounts))
}

fn in_memory_of(spec: GenesisSpec) -> ChainBuilder {
    Chain::builder(spec, Arc::new(MemoryState::new()), Arc::new(MemoryStore::new()))
        .with_retention(Retention::new(Some(4), Some(8)))
}

/// A chain and the number of blocks that the bench has added.
struct Driver {
    chain: Chain,
    accounts: u64,
    round: u64,
}

impl Driver {
    fn new(chain: Chain, accounts: u64) -> Self {
        Self { chain, accounts, round: 0 }
    }

    /// The next round's transactions: `count` senders, one transaction each.
    fn transactions(&self, count: u64, token: Option<Address>) -> Vec<Arc<Transaction>> {
        let one = |n: u64| {
            let sender = account(n);
            let recipient = account((n * 7_919 + self.round * 104_729 + 1) % self.accounts);
            let (to, value, input) = match token {
                None => (recipient, U256::from(1), Vec::new()),
                Some(token) => (token, U256::ZERO, transferCall { to: recipient, value: U256::from(1) }.abi_encode()),
            };
            let request = TransactionRequest {
                chain_id: Some(CHAIN_ID),
                nonce: self.round,
                to: Some(to),
                value,
                input: input.into(),
                gas_limit: Gas::new(if token.is_some() { 100_000 } else { 21_000 }),
                max_fee_per_gas: 1_000_000_000_000,
                max_priority_fee_per_gas: 1,
                ..Default::default()
            };
            Arc::new(request.impersonate(sender).expect("a valid request"))
        };
        (0..count).map(one).collect()
    }

    /// Builds a block of all of them, inserts it and makes it the head.
    fn block(&mut self, transactions: Vec<Arc<Transaction>>, interventions: Vec<Intervention>) {
        let count = transactions.len();
        let timestamp = self.chain.head().block().header().timestamp + 1;
        let attributes = BlockAttributes::new(Timestamp::from_secs(timestamp)).with_interventions(interventions);
        let head = self.chain.head().hash();
        let built = self.chain.build(head, &attributes, &mut transactions.into_iter()).expect("a block");
        let hash = built.block.hash();
        self.chain.insert(Arc::new(built.block)).expect("a valid block");
        self.chain.set_head(hash).expect("a new head");
        self.chain.set_finality(hash, hash).expect("a final head");
        assert_eq!(self.chain.head().block().transactions().len(), count);
        self.round += 1;
    }
}

/// Deploys a token that every sender holds; uses no sender's nonce.
fn deploy_token(driver: &mut Driver) -> Address {
    let owner = Address::repeat_byte(0xad);
    let request = TransactionRequest {
        chain_id: Some(CHAIN_ID),
        input: Erc20Params::new("Gold", "GLD", gwei(1_000_000_000), owner).init_code(),
        gas_limit: Gas::new(5_000_000),
        max_fee_per_gas: 1_000_000_000_000,
        ..Default::default()
    };
    let deployment = Arc::new(request.impersonate(owner).expect("a valid request"));
    let rich = Intervention::Balance { address: owner, balance: ether(1_000_000) };
    driver.block(vec![deployment], vec![rich]);
    let token = driver.chain.head().receipts()[0].contract_address.expect("a creation");
    let holds = |n: u64| {
        let slot = mapping_slot(account(n).into_word().into(), U256::ZERO);
        Intervention::Storage { address: token, slot, value: U256::from(1_000_000) }
    };
    let known = driver.accounts * 9 / 10;
    driver.block(Vec::new(), (0..known).map(holds).collect());
    driver.round = 0;
    token
}

fn blocks(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, chain: Chain, with_token: bool) {
    let driver = RefCell::new(Driver::new(chain, ACCOUNTS));
    let token = with_token.then(|| deploy_token(&mut driver.borrow_mut()));
    group.bench_function(name, |bencher| {
        bencher.iter_batched(
            || driver.borrow().transactions(TRANSACTIONS, token),
            |transactions| driver.borrow_mut().block(transactions, Vec::new()),
            BatchSize::PerIteration,
        );
    });
    // A filter on the command line may have left it out.
    if driver.borrow().round > 0 {
        let succeeded = driver.borrow().chain.head().receipts().iter().filter(|receipt| receipt.is_success()).count();
        assert_eq!(succeeded as u64, TRANSACTIONS, "{name}");
    }
}

fn full_blocks(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("chain/block");
    group.throughput(Throughput::Elements(TRANSACTIONS)).sample_size(20);
    for (what, with_token) in [("transfers", false), ("erc20", true)] {
        let chain = in_memory(ACCOUNTS).open().expect("a chain");
        blocks(&mut group, &format!("{what}/store=memory"), chain, with_token);
        #[cfg(feature = "rocksdb")]
        {
            let (_folder, chain) = rocks::chain(ACCOUNTS);
            blocks(&mut group, &format!("{what}/store=rocksdb"), chain, with_token);
        }
    }
    let listed = PermissionsConfig::new(account(0)).with_accounts((0..TRANSACTIONS).map(account)).with_deployers([]);
    let permissioned = in_memory_of(spec(ACCOUNTS).with_permissions(listed)).open().expect("a chain");
    blocks(&mut group, "transfers,permissions/store=memory", permissioned, false);
    let mut driver = Driver::new(in_memory(ACCOUNTS).open().expect("a chain"), ACCOUNTS);
    driver.block(driver.transactions(TRANSACTIONS, None), Vec::new());
    let head = driver.chain.head().clone();
    group
        .bench_function("roots/transactions", |b| b.iter(|| transactions_root(black_box(head.block().transactions()))));
    group.bench_function("roots/receipts", |b| b.iter(|| receipts_root(black_box(head.receipts()))));
    group.finish();
}

fn one_transfer(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("chain/one_transfer");
    group.throughput(Throughput::Elements(1)).sample_size(50);
    for accounts in [10, 1_000, 100_000, 1_000_000] {
        let driver = RefCell::new(Driver::new(in_memory(accounts).open().expect("a chain"), accounts));
        group.bench_function(format!("accounts={accounts}"), |bencher| {
            bencher.iter_batched(
                || driver.borrow().transactions(1, None),
                |transactions| driver.borrow_mut().block(transactions, Vec::new()),
                BatchSize::PerIteration,
            );
        });
        if accounts == 1_000_000 {
            drop(driver.borrow());
            snapshot(&mut group, driver.into_inner());
        }
    }
    group.finish();
}

/// Takes a snapshot of chain and pool, adds a block, restores the snapshot.
fn snapshot(group: &mut BenchmarkGroup<'_, WallTime>, mut driver: Driver) {
    let config = PoolConfig::new(CHAIN_ID).with_impersonated(true);
    let mut pool = Pool::new(config);
    let context = driver.chain.pool_context().expect("a state");
    for transaction in driver.transactions(TRANSACTIONS, None) {
        let _ = pool.add(transaction, &context);
    }
    let snapshot = driver.chain.clone();
    let round = driver.round;
    driver.block(driver.transactions(1, None), Vec::new());
    let grown = driver.chain.clone();
    assert!(pool.len() as u64 >= TRANSACTIONS - 1);
    group.bench_function("snapshot_and_restore/accounts=1000000,pooled=10000", |bencher| {
        bencher.iter(|| {
            let kept = (snapshot.clone(), pool.clone());
            let mut chain = grown.clone();
            chain.restore(&kept.0).expect("a snapshot");
            assert_eq!(chain.head().hash(), snapshot.head().hash());
            (chain, kept.1)
        });
    });
    driver.round = round;
}

fn recovery(criterion: &mut Criterion) {
    const COUNT: u64 = 1_000;
    let sign = |nonce| {
        let request =
            TransactionRequest { chain_id: Some(CHAIN_ID), nonce, gas_limit: Gas::new(21_000), ..Default::default() };
        request.sign(&KeyPair::from_seed(nonce, "sender")).expect("a valid request").encoded()
    };
    let raws: Vec<_> = (0..COUNT).map(sign).collect();
    let mut group = criterion.benchmark_group("chain/recovery");
    group.throughput(Throughput::Elements(COUNT)).sample_size(20);
    group.bench_function("cores=1", |b| {
        b.iter(|| raws.iter().map(|raw| Transaction::decode(raw)).filter(Result::is_ok).count())
    });
    group.bench_function("cores=all", |b| {
        b.iter_batched(SenderRecovery::new, |recovery| recovery.decode_batch(&raws), BatchSize::PerIteration);
    });
    group.finish();
}

#[cfg(feature = "rocksdb")]
mod rocks {
    use super::*;
    use chainbox::{
        state::PagedState,
        store::{RocksOptions, RocksStore},
    };

    pub(super) fn open(folder: &tempfile::TempDir, spec: GenesisSpec) -> Chain {
        let store: Arc<dyn chainbox::store::KeyValue> =
            Arc::new(RocksStore::open(folder.path(), RocksOptions::default()).expect("a database"));
        let state: Arc<dyn chainbox::state::StateStore> = Arc::new(PagedState::open(store.clone()).expect("a state"));
        Chain::builder(spec, state, store).open().expect("a chain")
    }

    pub(super) fn chain(accounts: u64) -> (tempfile::TempDir, Chain) {
        let folder = tempfile::tempdir().expect("a folder");
        let chain = open(&folder, spec(accounts));
        (folder, chain)
    }

    pub(super) fn reopening(criterion: &mut Criterion) {
        let (folder, chain) = chain(1_000_000);
        let mut driver = Driver::new(chain, 1_000_000);
        driver.block(driver.transactions(TRANSACTIONS, None), Vec::new());
        let head = driver.chain.head().hash();
        drop(driver);
        let mut group = criterion.benchmark_group("chain/reopen");
        group.sample_size(10);
        group.bench_function("store=rocksdb,accounts=1000000", |bencher| {
            bencher.iter(|| {
                let chain = open(&folder, spec(0));
                assert_eq!(chain.head().hash(), head);
            });
        });
        group.finish();
    }
}

#[cfg(not(feature = "rocksdb"))]
mod rocks {
    pub(super) fn reopening(_: &mut criterion::Criterion) {}
}

criterion_group!(benches, full_blocks, one_transfer, rocks::reopening, recovery);
criterion_main!(benches);
