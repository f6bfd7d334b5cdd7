//! A load of 64 clients that mix all methods of all interfaces, rightly and wrongly, while the store fails, the clock panics, clients
//! leave in the middle of a call or read slowly, or the process is killed. It ends with no error that was not asked for, memory
//! under its bound, and a state equal to a replay.
//!
//! By default a few seconds of it; `CHAINBOX_LOAD_SECS` is the duration and `CHAINBOX_LOAD_SEED` the seed (`scripts/load`). The
//! seed decides what every client draws, not how their calls interleave.
//!
//! [`service`] is a load of its own, on `chainbox serve`.

#![cfg(all(feature = "server", feature = "rocksdb", feature = "testing"))]

mod calls;
mod client;
mod draws;
mod faults;
mod memory;
mod process;
mod replay;
mod service;
mod tally;
mod wire;
mod world;

use std::{
    net::SocketAddr,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use chainbox::{
    node::{Database, Node},
    platform::{Blockchain, BlockchainSpec, DEFAULT_BLOCKCHAIN_ID, Platform, Scope},
    primitives::{Address, DEFAULT_MNEMONIC, Height, KeyPair, U256, Wallet, ether},
    server::{Chains, EthRpc, Server, ServerConfig, WallClock, drive},
    store::{RocksOptions, RocksStore, testing::FailingStore},
    templates::Erc20Params,
};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use self::{
    calls::{GROUPS, Rate},
    client::{CLIENTS, Client, Run},
    faults::BrittleClock,
    process::Dev,
    wire::Http,
    world::World,
};

/// Accounts that all clients send from by name.
const SHARED_ACCOUNTS: u64 = 10;
/// Resident memory of the process under load, at most, in MiB: retention in a database, the pool's 64 MiB, bodies, RocksDB's caches. In
/// the test's own process the 64 clients count too.
const RESIDENT_MIB_MAX: u64 = 768;
/// Blocks whose receipts are compared over HTTP, at most.
const COMPARED_MAX: u64 = 4_000;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |text| text.parse().expect("a number"))
}

fn duration() -> Duration {
    Duration::from_secs(setting("CHAINBOX_LOAD_SECS", 4))
}

fn seed() -> u64 {
    setting("CHAINBOX_LOAD_SEED", 1)
}

fn keys() -> Vec<KeyPair> {
    let all = Wallet::from_phrase(DEFAULT_MNEMONIC).unwrap().keys(0, (SHARED_ACCOUNTS + CLIENTS) as u32).unwrap();
    all.to_vec()
}

fn world(chain_id: u64, token: Address, dump: String) -> World {
    let accounts = keys().iter().take(SHARED_ACCOUNTS as usize).map(KeyPair::address).collect();
    World::new(chain_id, accounts, token, dump)
}

/// Calls one method and returns its result.
async fn ask(address: SocketAddr, method: &str, params: Value) -> Value {
    let text = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
    let reply = Http::connect(address).await.unwrap().post(&text).await.unwrap();
    let mut response: Value = serde_json::from_str(&reply.body).unwrap();
    assert!(response.get("error").is_none(), "{method}: {response}");
    response["result"].take()
}

async fn height(address: SocketAddr) -> u64 {
    let height = ask(address, "eth_blockNumber", json!([])).await;
    u64::from_str_radix(height.as_str().unwrap().trim_start_matches("0x"), 16).unwrap()
}

/// Runs the clients for the whole duration beside `faults`; returns the largest resident memory of `process`, in MiB.
async fn run_clients(run: &Arc<Run>, process: impl Fn() -> String, faults: impl Future<Output = ()>) -> u64 {
    let keys = keys();
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let (run, key) = (run.clone(), keys[(SHARED_ACCOUNTS + number) as usize].clone());
            tokio::spawn(async move { Client::new(&run, number, key).live().await })
        })
        .collect();
    let clock = async {
        let (begun, mut most) = (Instant::now(), 0);
        while begun.elapsed() < duration() {
            sleep(Duration::from_millis(100)).await;
            if begun.elapsed() > duration() / 2 {
                run.world.is_destructive.store(false, Ordering::Relaxed);
            }
            most = most.max(memory::resident_bytes(&process()).unwrap_or_default() >> 20);
        }
        run.is_over.store(true, Ordering::Relaxed);
        most
    };
    let (most, ()) = tokio::join!(clock, faults);
    for client in clients {
        client.await.expect("a client panicked");
    }
    most
}

/// Compares the chain behind `address` with a replay of its dump: blocks, roots, accounts, and the receipts in responses.
async fn judge(address: SocketAddr) -> String {
    let dump = ask(address, "anvil_dumpState", json!([])).await;
    let bytes = chainbox::alloy::primitives::hex::decode(dump.as_str().unwrap()).unwrap();
    let dump = replay::chain_of(&bytes);
    let chain = replay::replay(&dump).expect("the state is what the blocks give");
    let head = chain.head().height().get();
    let mut http = Http::connect(address).await.unwrap();
    let step = (head / COMPARED_MAX).max(1);
    for height in (1..=head).step_by(step as usize) {
        let params = json!([format!("{height:#x}")]);
        let text = json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_getBlockReceipts", "params": params }).to_string();
        let response: Value = serde_json::from_str(&http.post(&text).await.unwrap().body).unwrap();
        let executed = chain.block_at(Height::new(height)).unwrap();
        replay::check_receipts(&executed, &response["result"]).unwrap();
    }
    let transactions = |height: u64| chain.block_at(Height::new(height)).unwrap().block().transactions().len();
    let all: usize = (1..=head).map(transactions).sum();
    format!("{head} blocks with {all} transactions and {} accounts are what a replay gives", dump.accounts.len())
}

/// Prints what was done and fails on the first problem.
fn report(run: &Run, most: u64, what: &str) {
    let tally = run.tally.lock().unwrap();
    println!("{what}: seed {}, {CLIENTS} clients, {:?}, {} calls", run.seed, duration(), tally.calls());
    tally.print();
    println!("resident memory: at most {most} MiB, bound {RESIDENT_MIB_MAX} MiB");
    let problems = run.problems.lock().unwrap();
    assert!(problems.is_empty(), "seed {}: {} problems:\n{}", run.seed, problems.len(), problems.join("\n"));
    assert!(most < RESIDENT_MIB_MAX, "{most} MiB resident");
}

/// Every registered method has a line in the table of calls.
#[test]
fn all_methods_are_called() {
    let rpc = EthRpc::new(Node::new());
    let listed: Vec<&str> = GROUPS.iter().flat_map(|group| group.methods).copied().collect();
    let missing: Vec<&str> = rpc.methods().method_names().filter(|method| !listed.contains(method)).collect();
    assert_eq!(missing, Vec::<&str>::new(), "methods without a line in calls.rs");
    let unknown: Vec<&str> = listed.into_iter().filter(|method| rpc.methods().method(method).is_none()).collect();
    assert_eq!(unknown, Vec::<&str>::new(), "lines in calls.rs without a method");
}

/// A server in this process over a store that fails, with a clock that panics.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn failing_stores_and_panics_leave_a_chain_that_replays() {
    faults::silence_meant_panics();
    let folder = tempfile::tempdir().unwrap();
    let disk = Arc::new(RocksStore::open(folder.path().join("database"), RocksOptions::default()).unwrap());
    let (store, clock) = (Arc::new(FailingStore::new(disk)), Arc::new(BrittleClock::new()));
    let build = || {
        let builder = Node::builder().with_accounts((SHARED_ACCOUNTS + CLIENTS) as u32);
        builder.with_clock(clock.clone()).with_database(Database::Store(store.clone())).build().unwrap()
    };
    let node = build();
    let init_code = Erc20Params::new("Load", "LD", ether(1), node.accounts()[0]).init_code();
    let token = node.deploy(node.accounts()[0], init_code).unwrap().address();
    for account in &node.accounts()[1..] {
        node.transfer(node.accounts()[0], *account, U256::from(1)).unwrap();
    }
    let dump = chainbox::alloy::primitives::hex::encode_prefixed(node.dump().unwrap().as_bytes());

    let spec = BlockchainSpec::read(json!({ "name": "load" })).unwrap();
    let blockchain = Blockchain::running(DEFAULT_BLOCKCHAIN_ID.to_owned(), spec, node.clone(), 0);
    let platform = Arc::new(Platform::builder(Arc::new(WallClock)).open(blockchain).unwrap());
    let api_key = platform.create_api_key("load", &[Scope::Admin]).unwrap().text().to_owned();
    let chains = Chains::new(platform);
    let counters = chains.counters().clone();
    let timer = tokio::spawn(drive(chains.default_rpc().unwrap().clone()));
    let server = Server::bind(chains, ServerConfig::new(([127, 0, 0, 1], 0).into())).await.unwrap();
    let address = server.local_addr();
    let serving = tokio::spawn(server.serve(std::future::pending()));

    let run = Arc::new(Run::new(seed(), address, &api_key, world(node.view().chain_id(), token, dump)));
    let injected = faults::inject(&run, store.clone(), clock.clone());
    let most = run_clients(&run, || "self".to_owned(), injected).await;
    report(&run, most, "in process");
    println!("failed writes: {}, panics of the clock: {}", store.failures(), clock.panics());
    println!("panics undone by the node: {}, answered by the server: {}", node.panic_count(), counters.panics());
    assert!(clock.panics() >= node.panic_count(), "a panic that was not injected");
    let destructive =
        |name: &str| GROUPS.iter().any(|group| group.rate == Rate::Destructive && group.methods.contains(&name));
    let tally = run.tally.lock().unwrap().clone();
    let silent: Vec<&str> = GROUPS
        .iter()
        .flat_map(|group| group.methods)
        .copied()
        .filter(|name| !destructive(name) && tally.methods.get(*name).is_none_or(|count| count.results == 0))
        .collect();
    println!("methods without a result: {silent:?}");

    // Nothing fails any more. What a failed command has written leaves the database before the next one writes there.
    ask(address, "evm_setAutomine", json!([false])).await;
    ask(address, "evm_mine", json!([])).await;
    println!("{}", judge(address).await);
    // What the database holds is the same chain.
    let before = node.dump().unwrap();
    timer.abort();
    serving.abort();
    drop(node);
    let reopened = replay::chain_of(build().dump().unwrap().as_bytes());
    let difference = replay::difference(&replay::chain_of(before.as_bytes()), &reopened);
    assert_eq!(difference, None, "the database holds another chain");
}

/// The binary over a database, killed and started again on the same port.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_killed_loses_nothing_and_replays() {
    let folder = tempfile::tempdir().unwrap();
    let mut dev = Dev::start(folder.path(), 0).await;
    let address = dev.address();
    let node = Node::builder().with_accounts((SHARED_ACCOUNTS + CLIENTS) as u32).build().unwrap();
    let init_code = Erc20Params::new("Load", "LD", ether(1), node.accounts()[0]).init_code();
    let deployment = json!([{ "from": node.accounts()[0], "data": init_code }]);
    let hash = ask(address, "eth_sendTransaction", deployment).await;
    let receipt = ask(address, "eth_getTransactionReceipt", json!([hash])).await;
    let token: Address = serde_json::from_value(receipt["contractAddress"].clone()).unwrap();
    let dump = ask(address, "anvil_dumpState", json!([])).await.as_str().unwrap().to_owned();

    let run = Arc::new(Run::new(seed() + 1, address, dev.api_key(), world(31_337, token, dump)));
    let process = std::sync::Mutex::new(dev.id());
    let kills = async {
        let mut draws = draws::Draws::new(run.seed, u64::MAX);
        let (begun, mut kills) = (Instant::now(), 0);
        loop {
            sleep(duration() / 8 + Duration::from_millis(draws.below(700))).await;
            // What is left after a start has to be served for a while.
            if begun.elapsed() + duration() / 8 > duration() {
                break;
            }
            // From the second half on nobody takes blocks back.
            let is_kept = begun.elapsed() > duration() / 2 + Duration::from_millis(500);
            let acknowledged = height(address).await;
            run.outages.fetch_add(1, Ordering::SeqCst);
            dev.kill();
            dev = Dev::start(folder.path(), address.port()).await;
            dev.api_key().clone_into(&mut run.api_key.write().unwrap());
            *process.lock().unwrap() = dev.id();
            let after = height(address).await;
            assert!(!is_kept || after >= acknowledged, "{acknowledged} blocks were told of, {after} are left");
            run.outages.fetch_add(1, Ordering::SeqCst);
            kills += 1;
        }
        println!("killed {kills} times");
    };
    let most = run_clients(&run, || process.lock().unwrap().to_string(), kills).await;
    report(&run, most, "killed");
    ask(address, "evm_setAutomine", json!([false])).await;
    println!("{}", judge(address).await);
}
