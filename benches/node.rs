//! The node as a whole: signed transfers from raw bytes to a committed block, and building a node.
//!
//! `cargo bench --all-features --bench node`

use std::{hint::black_box, time::Duration};

use chainbox::{
    chain::{CallRequest, PoolConfig},
    node::{Mining, Node},
    primitives::{Address, Bytes, Gas, SenderRecovery, TransactionRequest, U256},
};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};

const SENDERS: u32 = 50;
/// Raw transactions in one call; each call makes a block.
const BATCH: usize = 2_000;
/// Two clients, so that one's signatures are recovered while the other's block is executed.
const CLIENTS: usize = 2;
const BATCHES: usize = 3;
/// Senders whose transactions wait for another nonce while others are mined.
const QUEUED_SENDERS: usize = 20_000;

fn node() -> Node {
    Node::builder().with_accounts(SENDERS).with_gas_limit(Gas::new(1_000_000_000)).build().expect("a node")
}

/// Returns the transactions of each client: its own senders, nonces in order.
fn signed(node: &Node) -> Vec<Vec<Vec<Bytes>>> {
    let chain_id = Some(node.view().chain_id());
    let (senders, per_client) = (node.keys().len(), node.keys().len() / CLIENTS);
    let raw = |client: usize, n: usize| {
        let key = &node.keys()[(client * per_client + n % per_client) % senders];
        let request = TransactionRequest {
            chain_id,
            nonce: (n / per_client) as u64,
            to: Some(Address::left_padding_from(&n.to_be_bytes())),
            value: U256::from(1),
            gas_limit: Gas::new(21_000),
            max_fee_per_gas: 100_000_000_000,
            ..Default::default()
        };
        request.sign(key).expect("a valid request").encoded()
    };
    (0..CLIENTS)
        .map(|client| (0..BATCHES).map(|batch| (0..BATCH).map(|n| raw(client, batch * BATCH + n)).collect()).collect())
        .collect()
}

/// Sends from all clients concurrently; each batch becomes a block.
fn send_all(node: &Node, clients: &[Vec<Vec<Bytes>>]) {
    std::thread::scope(|scope| {
        for batches in clients {
            scope.spawn(move || {
                for batch in batches {
                    assert!(node.send_raw_batch(batch).iter().all(Result::is_ok), "every transfer is taken");
                }
            });
        }
    });
}

fn signed_transfers(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("node/signed");
    let clients = signed(&node());
    group.throughput(Throughput::Elements((CLIENTS * BATCHES * BATCH) as u64)).sample_size(10);
    group.measurement_time(Duration::from_secs(8));
    group.bench_function("recovery_alone/cores=all", |bencher| {
        bencher.iter(|| {
            for batch in clients.iter().flatten() {
                black_box(SenderRecovery::new().decode_batch(batch));
            }
        });
    });
    group.bench_function("recovery_pool_consensus_commit/cores=all", |bencher| {
        bencher.iter_batched(node, |node| send_all(&node, &clients), BatchSize::PerIteration);
    });
    group.finish();

    let node = node();
    send_all(&node, &clients);
    assert_eq!(node.view().chain().head().height().get() as usize, CLIENTS * BATCHES, "each batch is a block");
    assert!(node.view().pool().is_empty());
}

fn building(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("node/build");
    group.bench_function("validators=4,accounts=0,first_block", |bencher| {
        bencher.iter(|| {
            let node = Node::builder().with_validators(4).with_accounts(0).build().expect("a node");
            node.mine(1).expect("a block")
        });
    });
    group.bench_function("validators=1,accounts=10", |bencher| bencher.iter(Node::new));
    group.finish();
}

fn automine(criterion: &mut Criterion) {
    let node = Node::builder().with_mining(Mining::EachTransaction).build().expect("a node");
    let (from, to) = (node.accounts()[0], node.accounts()[1]);
    let mut group = criterion.benchmark_group("node/automine");
    group.throughput(Throughput::Elements(1));
    group.bench_function("estimated,signed,mined", |bencher| {
        bencher.iter(|| node.transfer(from, to, U256::from(1)).expect("mined"));
    });
    group.finish();

    let node = crowded();
    let (from, to) = (node.accounts()[0], node.accounts()[1]);
    let mut group = criterion.benchmark_group("node/automine");
    group.throughput(Throughput::Elements(1));
    group.bench_function(format!("estimated,signed,mined,queued_senders={QUEUED_SENDERS}"), |bencher| {
        bencher.iter(|| node.transfer(from, to, U256::from(1)).expect("mined"));
    });
    group.finish();
    assert_eq!(node.view().pool().counts(), (0, QUEUED_SENDERS), "they still wait");
}

/// Returns a node whose pool has one transaction with a nonce gap from each of many senders.
fn crowded() -> Node {
    let pool = PoolConfig::new(Node::new().view().chain_id()).with_impersonated(true);
    let node = Node::builder().with_pool(pool.with_queue_limits(QUEUED_SENDERS, 1)).build().expect("a node");
    node.set_auto_impersonate(true).expect("a development chain");
    for sender in 0..QUEUED_SENDERS {
        let from = Address::left_padding_from(&(sender + 1_000_000).to_be_bytes());
        node.set_balance(from, U256::from(10).pow(U256::from(18))).expect("a development chain");
        let request = CallRequest::call(from, Bytes::new()).with_from(from).with_gas(Gas::new(21_000)).with_nonce(7);
        node.send_request(request).expect("queued");
    }
    node.mine(1).expect("a block with the balances");
    node
}

criterion_group!(benches, signed_transfers, building, automine);
criterion_main!(benches);
