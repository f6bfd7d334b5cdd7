//! While one client does its worst, the others are served.

use std::time::Duration;

use chainbox::node::{BlockRef, Node};
use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt, net::TcpStream, time::Instant};

use crate::http::Service;

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
