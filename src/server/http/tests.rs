//! Requests past their deadline, in the format of each path; what the server does from time to time.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::oneshot,
};
use zeroize::Zeroizing;

use super::{Server, ServerConfig, forget_expired};
use crate::{
    node::{ManualClock, Node},
    platform::{
        Begun, Blockchain, BlockchainSpec, DEFAULT_BLOCKCHAIN_ID, Platform, Scope,
        records::{IdempotentRequest, Response},
    },
    primitives::Timestamp,
    server::{chains::Chains, clock::WallClock, commands::Length, limits::ServerLimits},
};

/// Sends a request; returns status, head and body.
async fn send(address: std::net::SocketAddr, path: &str, headers: &str, body: &Value) -> (u16, String, Value) {
    let body = body.to_string();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\n{headers}content-length: {}\r\n\r\n",
        body.len()
    );
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all((head + &body).as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head.to_lowercase(), serde_json::from_str(body).unwrap_or_else(|_| panic!("no JSON: {text}")))
}

/// A server with these bounds, whose default chain's turn is taken: what changes the chain waits.
struct Held {
    address: std::net::SocketAddr,
    key: String,
    release: std::sync::mpsc::Sender<()>,
    holder: tokio::task::JoinHandle<()>,
    stop: oneshot::Sender<()>,
    serving: tokio::task::JoinHandle<()>,
}

async fn held(change: impl FnOnce(&mut ServerLimits)) -> Held {
    let spec = BlockchainSpec::read(json!({ "name": "test" })).unwrap();
    let chain = Blockchain::running(DEFAULT_BLOCKCHAIN_ID.to_owned(), spec, Node::new(), 0);
    let platform = Arc::new(Platform::builder(Arc::new(WallClock)).open(chain).unwrap());
    let key = platform.create_api_key("test", &[Scope::Admin]).unwrap().text().to_owned();
    let chains = Chains::new(platform);
    let commands = chains.default_rpc().unwrap().commands().clone();
    let mut limits = ServerLimits::default();
    change(&mut limits);
    let config = ServerConfig::new(([127, 0, 0, 1], 0).into()).with_limits(limits);
    let server = Server::bind(chains, config).await.unwrap();
    let address = server.local_addr();
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(server.serve(async {
        let _ = stopped.await;
    }));
    let (release, released) = std::sync::mpsc::channel::<()>();
    let (started, has_started) = oneshot::channel();
    let holder = tokio::spawn(async move {
        let work = move |_: &_| {
            started.send(()).unwrap();
            let _ = released.recv();
        };
        commands.run(Length::Long, work).await.unwrap();
    });
    has_started.await.unwrap();
    Held { address, key, release, holder, stop, serving }
}

impl Held {
    async fn end(self) {
        drop(self.release);
        self.holder.await.unwrap();
        drop(self.stop);
        self.serving.await.unwrap();
    }
}

fn deployment() -> Value {
    let params = json!({ "name": "Gold", "symbol": "GLD", "totalSupply": "1000" });
    json!({ "blockchainId": "bc_default", "template": "erc20-token", "params": params })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_past_those_that_are_worked_on_at_one_time_are_refused() {
    let held = held(|limits| limits.rest_requests_max = 1).await;
    let (address, headers) = (held.address, format!("x-api-key: {}\r\n", held.key));
    let first = headers.clone();
    let waiting = tokio::spawn(async move {
        // It is refused itself while one of those below has the place.
        loop {
            let response = send(address, "/v1/contracts/deploy", &first, &deployment()).await;
            if response.0 != 503 {
                return response;
            }
        }
    });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": [] });
    let refused = async {
        // Once the first one has its place, it keeps it.
        let mut in_a_row = 0;
        loop {
            let (status, head, body) = send(address, "/v1/workspaces", &headers, &json!({ "name": "x" })).await;
            in_a_row = if status == 503 { in_a_row + 1 } else { 0 };
            if in_a_row == 20 {
                return (head, body);
            }
        }
    };
    let (head, body) = tokio::time::timeout(Duration::from_secs(30), refused).await.unwrap();
    assert_eq!((&body["success"], &body["error"]["code"]), (&json!(false), &json!("UNAVAILABLE")), "{body}");
    assert!(head.contains("retry-after: 1") && body["error"]["message"].as_str().unwrap().starts_with("1 requests"));
    for path in ["/v1/rpc", "/v1/blockchains/bc_default/eth"] {
        assert_eq!(send(address, path, &headers, &call).await.0, 503, "{path}");
    }
    assert_eq!(send(address, "/", "", &call).await.2["result"], "0x7a69", "not in the way of Ethereum JSON-RPC on /");
    held.end().await;
    assert_eq!(waiting.await.unwrap().0, 201, "what was let in is finished");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_answered_before_the_deadline_is_no_refusal() {
    let held = held(|limits| limits.request_timeout = Duration::from_secs(30)).await;
    let (address, headers) = (held.address, format!("x-api-key: {}\r\n", held.key));
    let waiting = tokio::spawn(async move { send(address, "/v1/contracts/deploy", &headers, &deployment()).await });
    // It waits longer than the deadline of the test below.
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!waiting.is_finished());
    held.end().await;
    assert_eq!(waiting.await.unwrap().0, 201);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missed_deadline_is_answered_in_the_format_of_its_path() {
    let held = held(|limits| limits.request_timeout = Duration::from_millis(100)).await;
    let (address, key) = (held.address, &held.key);
    let headers = format!("x-api-key: {key}\r\nx-request-id: req-of-mine\r\n");
    let (status, head, body) = send(address, "/v1/contracts/deploy", &headers, &deployment()).await;
    assert_eq!(
        (status, &body["success"], &body["error"]["code"]),
        (503, &json!(false), &json!("UNAVAILABLE")),
        "{body}"
    );
    assert_eq!(body["error"]["requestId"], "req-of-mine");
    assert!(head.contains("x-request-id: req-of-mine") && head.contains("content-type: application/json"), "{head}");
    assert!(body["error"]["message"].as_str().unwrap().contains("no response within 100ms"), "{body}");

    let call = |method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let sent = call("transaction.send", json!({ "blockchainId": "bc_default", "signedTransaction": "0x" }));
    let (status, head, body) = send(address, "/v1/rpc", &headers, &sent).await;
    assert_eq!((status, &body["jsonrpc"], &body["error"]["code"]), (503, &json!("2.0"), &json!(-32005)), "{body}");
    assert_eq!(body["error"]["data"]["code"], "UNAVAILABLE");
    assert!(head.contains("x-request-id: req-of-mine"), "{head}");

    for path in ["/", "/v1/blockchains/bc_default/eth"] {
        let (status, _, body) = send(address, path, &headers, &call("evm_mine", json!([]))).await;
        assert_eq!(
            (status, &body["jsonrpc"], &body["error"]["code"]),
            (503, &json!("2.0"), &json!(-32005)),
            "{path}: {body}"
        );
    }
    held.end().await;
}

#[tokio::test]
async fn all_that_has_expired_is_forgotten_at_once() {
    let clock = Arc::new(ManualClock::new(Timestamp::from_secs(1_750_000_000)));
    let platform = Arc::new(Platform::builder(clock.clone()).open(None).unwrap());
    let (requests, principal) = (platform.idempotency(), platform.service_principal());
    let body = Zeroizing::new(b"{}".to_vec());
    let response = Response { status: 201, body, request_id: "req_1".to_owned(), location: None };
    let count = 3 * 256 + 1;
    for number in 0..count {
        let key = format!("key-{number}");
        let begun = platform.unit(|unit| requests.accept(unit, &principal, &key, "op", b"{}")).unwrap();
        let Begun::Run(accepted) = begun else { panic!("{key} is new") };
        platform.unit(|unit| requests.respond(unit, &accepted, &response)).unwrap();
    }
    let kept = || platform.records().verify::<IdempotentRequest>().unwrap();
    let day = Duration::from_secs(24 * 60 * 60);
    clock.advance(day.saturating_sub(Duration::from_secs(1)));
    forget_expired(&platform).await;
    assert_eq!(kept(), count);
    clock.advance(Duration::from_secs(1));
    forget_expired(&platform).await;
    assert_eq!(kept(), 0);
}
