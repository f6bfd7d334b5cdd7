//! While one client does its worst, the others are served.

use core::ops::ControlFlow;
use std::{
    net::SocketAddr,
    sync::{Arc, Condvar, Mutex},
    time::Duration,
};

use chainbox::{
    node::{BlockRef, Node},
    platform::{ApiKeySpec, Scope, Workspace},
    primitives::{Address, Bytes},
    server::{RPC_BODY_BYTES_MAX, outbound::OutboundPolicy},
    store::{Batch, KeyValue, Order, StoreError, Table, testing::MemoryDisk},
    templates::Erc721Params,
};
use serde_json::{Map, Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
    time::Instant,
};

use crate::{
    binary::LIMIT,
    http::{Reply, Service},
};

/// Generous for two cores that run other tests; a server of its own answers in a few milliseconds.
const SLOWEST: Duration = Duration::from_millis(500);

fn call(method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string()
}

async fn rpc(service: &Service, method: &str, params: Value) -> Value {
    service.send("POST", "/", &[("content-type", "application/json")], &call(method, &params)).await.json()
}

/// Sends a call and returns the open connection without reading the response.
async fn begin(service: &Service, method: &str, params: Value) -> TcpStream {
    begin_text(service, &call(method, &params)).await
}

async fn begin_text(service: &Service, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(service.address).await.unwrap();
    let head = format!(
        "POST / HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        service.address,
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
    stream
}

fn height(node: &Node) -> u64 {
    node.view().head().height().get()
}

/// Asks for the height until `until` holds and returns the times, sorted.
async fn times_while(service: &Service, until: impl Fn() -> bool) -> Vec<Duration> {
    let mut times = Vec::new();
    while times.len() < 50 || !until() {
        let start = Instant::now();
        assert!(rpc(service, "eth_blockNumber", json!([])).await["result"].is_string());
        times.push(start.elapsed());
    }
    times.sort_unstable();
    times
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_pass_while_commands_and_long_reads_wait() {
    const BLOCKS: u64 = 3_000;
    let service = Service::start().await;
    let node = service.platform.default_blockchain().unwrap().node().clone();
    let from = node.accounts()[0];
    let mut open = vec![begin(&service, "anvil_mine", json!([format!("{BLOCKS:#x}")])).await];
    while height(&node) == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    for _ in 0..4 {
        open.push(begin(&service, "eth_sendTransaction", json!([{ "from": from, "to": from }])).await);
        open.push(begin(&service, "eth_getLogs", json!([{ "fromBlock": "0x0", "toBlock": "latest" }])).await);
        open.push(begin(&service, "anvil_dumpState", json!([])).await);
        open.push(begin(&service, "eth_feeHistory", json!(["0x400", "latest", [1, 50, 99]])).await);
    }
    let token = json!({ "name": "Gold", "symbol": "GLD", "totalSupply": "1000" });
    let deploy = json!({ "blockchainId": "bc_default", "template": "erc20-token", "params": token });
    let (deployed, times) = tokio::join!(
        service.rest("POST", "/v1/contracts/deploy", deploy),
        times_while(&service, || height(&node) > BLOCKS)
    );
    assert_eq!(deployed.status, 201, "{deployed:?}");
    let p99 = times[times.len() * 99 / 100 - usize::from(times.len() < 100)];
    assert!(p99 < SLOWEST, "p99 of {} reads: {p99:?}", times.len());
    // The commands came in turn: after the row of blocks, none in between.
    let first = node.view().block(BlockRef::Number(chainbox::primitives::Height::new(BLOCKS))).unwrap();
    assert!(first.block().transactions().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_pass_while_batches_ask_for_long_blocks() {
    let service = Service::start().await;
    let node = service.platform.default_blockchain().unwrap().node().clone();
    let from = node.accounts()[0];
    let transfer = call("eth_sendTransaction", &json!([{ "from": from, "to": from, "gas": "0x5208" }]));
    let together = format!("[{}]", vec![transfer; 500].join(","));
    assert_eq!(service.rpc_text(&together).await.status, 200);
    assert_eq!(node.view().head().block().transactions().len(), 500);
    let long_block = call("eth_getBlockByNumber", &json!(["latest", true]));
    let batch = format!("[{}]", vec![long_block; 1_000].join(","));
    // More connections than threads that serve.
    let mut open = Vec::new();
    for _ in 0..4 {
        open.push(begin_text(&service, &batch).await);
    }
    let times = times_while(&service, || true).await;
    let p99 = times[times.len() * 99 / 100 - usize::from(times.len() < 100)];
    assert!(p99 < SLOWEST, "p99 of {} reads: {p99:?}", times.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_leaves_ends_its_row_of_blocks() {
    let service = Service::start().await;
    let node = service.platform.default_blockchain().unwrap().node().clone();
    let leaving = begin(&service, "anvil_mine", json!(["0xf4240"])).await;
    while height(&node) < 10 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    drop(leaving);
    // The next command gets its turn long before a million blocks are made, and what was mined stays.
    let mined = tokio::time::timeout(Duration::from_secs(60), rpc(&service, "evm_mine", json!([]))).await.unwrap();
    assert_eq!(mined["result"], "0x0");
    let stopped_at = height(&node);
    assert!((10..900_000).contains(&stopped_at), "{stopped_at}");
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(height(&node), stopped_at);
}

/// A disk that is slow for the chains in it: whoever reads or writes what is a chain's own waits until it is let go. The platform's records
/// are not held up.
#[derive(Debug, Default)]
struct SlowForChains {
    disk: MemoryDisk,
    gate: Mutex<Gate>,
    opened: Condvar,
}

#[derive(Debug, Default)]
struct Gate {
    is_open: bool,
    waiting: usize,
}

impl SlowForChains {
    fn open(&self) {
        self.gate.lock().unwrap().is_open = true;
        self.opened.notify_all();
    }

    /// Callers that wait.
    fn waiting(&self) -> usize {
        self.gate.lock().unwrap().waiting
    }

    /// Waits where the key is a chain's own, for a bounded time: the test fails then, and ends.
    fn pass(&self, table: Table, key: &[u8]) {
        if table == Table::Platform || !key.starts_with(b"\xffchain/") {
            return;
        }
        let mut gate = self.gate.lock().unwrap();
        gate.waiting += 1;
        let (mut gate, _) = self.opened.wait_timeout_while(gate, LIMIT, |gate| !gate.is_open).unwrap();
        gate.waiting -= 1;
    }
}

impl KeyValue for SlowForChains {
    fn get(&self, table: Table, key: &[u8]) -> Result<Option<Bytes>, StoreError> {
        self.pass(table, key);
        self.disk.get(table, key)
    }

    fn scan_from(
        &self,
        table: Table,
        prefix: &[u8],
        from: Option<&[u8]>,
        order: Order,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        self.pass(table, prefix);
        self.disk.scan_from(table, prefix, from, order, visit)
    }

    fn write(&self, batch: Batch) -> Result<(), StoreError> {
        batch.writes().iter().for_each(|write| self.pass(write.table, &write.key));
        self.disk.write(batch)
    }

    fn is_durable(&self) -> bool {
        true
    }
}

/// Does what other callers do while a chain is being made: changes a record, sends transactions on another chain, reads. Then lets it go.
async fn others_are_served(service: &Service, store: &SlowForChains) {
    let ask = async |method: &str, path: &str, body: Value| {
        let reply = tokio::time::timeout(LIMIT / 2, service.rest(method, path, body)).await;
        reply.unwrap_or_else(|_| panic!("{method} {path} is not answered while a chain is made"))
    };
    let mut polls = 0;
    while store.waiting() == 0 {
        polls += 1;
        assert!(polls < 5_000, "nobody makes a chain");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let from = service.platform.default_blockchain().unwrap().node().accounts()[0];
    let transfer = json!([{ "from": from, "to": from, "value": "0x1" }]);
    let params = json!({ "name": "Gold", "symbol": "GLD", "totalSupply": "1000" });
    let deploy = json!({ "blockchainId": "bc_default", "template": "erc20-token", "params": params });
    for round in 0..20 {
        let description = format!("round {round}");
        let changed = ask("PATCH", "/v1/workspaces/ws_default", json!({ "description": description })).await;
        assert_eq!((changed.status, &changed.json()["data"]["description"]), (200, &json!(description)));
        let sent = tokio::time::timeout(LIMIT / 2, rpc(service, "eth_sendTransaction", transfer.clone())).await;
        assert!(sent.unwrap()["result"].is_string(), "round {round}");
    }
    assert_eq!(ask("POST", "/v1/contracts/deploy", deploy).await.status, 201);
    let listed = ask("GET", "/v1/blockchains?sort=createdAt:desc", Value::Null).await.json();
    let states: Vec<&Value> = listed["data"].as_array().unwrap().iter().map(|chain| &chain["status"]).collect();
    assert!(states.contains(&&json!("provisioning")), "{listed}");
    assert!(store.waiting() > 0, "all this was while the chain was being made");
    store.open();
}

/// The genesis of an import is a large one, and the network has many validators.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn others_are_served_while_a_chain_is_made() {
    let accounts: Map<_, _> =
        (0..5_000).map(|number| (format!("0x77{number:038x}"), json!({ "balance": "1" }))).collect();
    let genesis = json!({ "chainId": 5, "accounts": accounts });
    let state = json!({ "chain": { "genesis": genesis } }).to_string();
    let validators: Vec<Value> = (1..=16).map(|number| json!({ "address": format!("0x88{number:038x}") })).collect();
    for (path, body) in [
        ("/v1/blockchains/import", json!({ "blockchain": { "name": "made" }, "state": state })),
        (
            "/v1/blockchains",
            json!({ "name": "made", "consensus": "pbft", "config": { "blockTime": "1h" }, "validators": validators }),
        ),
    ] {
        let store = Arc::new(SlowForChains::default());
        let service = Service::stored(store.clone()).await;
        let (made, ()) = tokio::join!(service.rest("POST", path, body), others_are_served(&service, &store));
        assert_eq!(made.status, 201, "{path}: {}", made.body);
        assert_eq!(made.json()["data"]["status"], "running", "{path}: {}", made.body);
    }
}

/// Calls that run as long as their gas lasts, on a chain with the largest blocks, from more connections than threads serve.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn others_are_served_while_calls_use_all_the_gas_that_they_get() {
    let service = Service::start().await;
    let made = service.rest(
        "POST",
        "/v1/blockchains",
        json!({ "name": "large", "config": { "blockGasLimit": "1000000000000" } }),
    );
    let id = made.await.json()["data"]["id"].as_str().unwrap().to_owned();
    let owner = Address::repeat_byte(7);
    let mut endless = Erc721Params::new("Art", "ART", "", owner);
    endless.distribution = vec![(owner, u64::MAX)];
    let body = call("eth_call", &json!([{ "data": endless.init_code(), "gas": "0xe8d4a51000" }]));
    let path = format!("/v1/blockchains/{id}/eth");
    let others = keys_of_workspaces(&service, 1);
    let mut open = Vec::new();
    for _ in 0..16 {
        let mut stream = TcpStream::connect(service.address).await.unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\nx-api-key: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            service.address,
            service.api_key,
            body.len()
        );
        stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
        open.push(stream);
    }
    let mut times = times_while(&service, || true).await;
    for _ in 0..20 {
        let start = Instant::now();
        let reply = service.send("GET", "/v1/workspaces", &[("x-api-key", others[0].as_str())], "").await;
        assert_eq!(reply.status, 200, "{}", reply.body);
        times.push(start.elapsed());
    }
    times.sort_unstable();
    let p99 = times[times.len() * 99 / 100 - usize::from(times.len() < 100)];
    assert!(p99 < SLOWEST, "p99 of {} reads: {p99:?}", times.len());
    // Each of them ends by its bound, long before a block's gas is used.
    let last = tokio::time::timeout(LIMIT, service.rest("POST", &path, serde_json::from_str(&body).unwrap())).await;
    let last = last.unwrap();
    assert!(last.json()["error"]["message"].as_str().unwrap().contains("out of gas"), "{}", last.body);
}

/// Connections that are kept open.
type Held = Arc<Mutex<Vec<TcpStream>>>;

/// A receiver of webhooks that takes connections and never answers: its URL, its connections, and what takes them.
async fn silent_receiver() -> (String, Held, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let held = Held::default();
    let taken = held.clone();
    let taking = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            taken.lock().unwrap().push(stream);
        }
    });
    (url, held, taking)
}

/// Keys of new workspaces, one of each, with every scope.
fn keys_of_workspaces(service: &Service, count: usize) -> Vec<String> {
    let platform = &service.platform;
    let user = platform.unit(|unit| platform.workspaces().add_user(unit, "many@example.org")).unwrap();
    let key = |_| {
        let made =
            platform.unit(|unit| platform.workspaces().create(unit, user.id(), Workspace::named("many"))).unwrap();
        let principal = platform.workspaces().principal(user.id(), made.owner().workspace().unwrap()).unwrap().unwrap();
        let scopes = [Scope::Admin].into_iter().collect();
        let spec = ApiKeySpec { name: "many".to_owned(), scopes, lifetime_ms: None };
        platform.unit(|unit| platform.api_keys().create(unit, &principal, spec)).unwrap().0.text().to_owned()
    };
    (0..count).map(key).collect()
}

/// Subscribes a receiver; returns the path of the subscription's test.
async fn subscribed(service: &Service, key: &str, url: &str) -> String {
    let headers = [("x-api-key", key), ("content-type", "application/json")];
    let body = json!({ "url": url, "events": ["contract.deployed"] });
    let made = service.send("POST", "/v1/webhooks", &headers, &body.to_string()).await;
    assert_eq!(made.status, 201, "{}", made.body);
    format!("/v1/webhooks/{}/test", made.json()["data"]["id"].as_str().unwrap())
}

/// Starts a test and returns the open connection without reading the response.
async fn begin_test(service: &Service, key: &str, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(service.address).await.unwrap();
    let head =
        format!("POST {path} HTTP/1.1\r\nhost: {}\r\nx-api-key: {key}\r\ncontent-length: 0\r\n\r\n", service.address);
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

/// A receiver keeps a test for up to 15 s, and one more of them is open than long reads run at one time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn webhook_tests_hold_up_nobody() {
    const IN_ALL: usize = 64;
    let policy = OutboundPolicy::default().with_loopback();
    let service = Service::with(Node::new(), |config| config.with_outbound(policy)).await;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let tests = (2 * cores + 1).min(IN_ALL);
    let (url, held, taking) = silent_receiver().await;
    let keys = keys_of_workspaces(&service, tests.div_ceil(2));
    let mut paths = Vec::new();
    for key in &keys {
        paths.push(subscribed(&service, key, &url).await);
    }
    let mut open = Vec::new();
    for number in 0..tests {
        open.push(begin_test(&service, &keys[number / 2], &paths[number / 2]).await);
    }
    let all_are_held = async {
        while held.lock().unwrap().len() < tests {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), all_are_held).await.unwrap();

    for path in ["/v1/resources", "/v1/blockchains/bc_default/events"] {
        let start = Instant::now();
        let reply = service.rest("GET", path, Value::Null).await;
        let took = start.elapsed();
        assert_eq!(reply.status, 200, "{path}: {}", reply.body);
        assert!(took < SLOWEST, "{path}: {took:?}");
    }

    let test = async || -> Reply { service.send("POST", &paths[0], &[("x-api-key", keys[0].as_str())], "").await };
    let third = test().await;
    assert_eq!((third.status, third.header("retry-after")), (429, Some("5")), "{}", third.body);
    assert_eq!(third.json()["error"]["code"], "RATE_LIMITED", "{}", third.body);
    assert_eq!(held.lock().unwrap().len(), tests, "nothing was sent");

    // Nobody listens any more: the tests end, and their turns are free.
    taking.abort();
    assert!(taking.await.unwrap_err().is_cancelled());
    held.lock().unwrap().clear();
    let freed = async {
        loop {
            let reply = test().await;
            if reply.status != 429 {
                return reply;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let again = tokio::time::timeout(LIMIT, freed).await.unwrap();
    assert_eq!((again.status, &again.json()["data"]["delivered"]), (200, &json!(false)), "{}", again.body);
}

/// Bodies of JSON-RPC that are as long as they may be, and one that is longer, as far as its beginning tells.
fn long_bodies() -> [String; 4] {
    let len = RPC_BODY_BYTES_MAX - 100;
    let nested = format!("{}{}", "[".repeat(len / 2), "]".repeat(len / 2));
    [
        format!("[{}1]", "1,".repeat(len / 2)),
        format!("[{nested}]"),
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":{nested}}}"#),
        format!(r#"{{"params":[{nested},{nested}],"jsonrpc":"2.0","id":1,"method":"eth_chainId"}}"#),
    ]
}

/// Sends a body again and again, each time over a connection of its own.
async fn send_without_pause(address: SocketAddr, body: String) {
    let length = body.len();
    let head = format!("POST / HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\nconnection: close\r\n");
    let text = format!("{head}content-length: {length}\r\n\r\n{body}");
    loop {
        let Ok(mut stream) = TcpStream::connect(address).await else { continue };
        if stream.write_all(text.as_bytes()).await.is_ok() {
            let _ = stream.read_to_end(&mut Vec::new()).await;
        }
    }
}

/// More senders than threads that serve, each of which has a body read from its beginning to its end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_pass_while_long_bodies_are_read() {
    let service = Service::start().await;
    for body in long_bodies() {
        let senders: Vec<_> =
            (0..4).map(|_| tokio::spawn(send_without_pause(service.address, body.clone())).abort_handle()).collect();
        let mut times = Vec::new();
        for _ in 0..100 {
            let start = Instant::now();
            let reply = service.send("GET", "/v1/health", &[], "").await;
            assert_eq!(reply.status, 200, "{}", reply.body);
            times.push(start.elapsed());
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        senders.iter().for_each(tokio::task::AbortHandle::abort);
        times.sort_unstable();
        let p99 = times[times.len() * 99 / 100 - 1];
        assert!(p99 < SLOWEST, "p99 of {} reads beside {:?}: {p99:?}", times.len(), &body[..20]);
    }
}
