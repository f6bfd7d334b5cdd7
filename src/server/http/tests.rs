//! Requests past their deadline, in the format of each path.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    sync::oneshot,
};

use super::{Server, ServerConfig};
use crate::{
    node::Node,
    platform::{Blockchain, BlockchainSpec, DEFAULT_BLOCKCHAIN_ID, Platform, Scope},
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missed_deadline_is_answered_in_the_format_of_its_path() {
    let spec = BlockchainSpec::read(json!({ "name": "test" })).unwrap();
    let chain = Blockchain::running(DEFAULT_BLOCKCHAIN_ID.to_owned(), spec, Node::new(), 0);
    let platform = Arc::new(Platform::builder(Arc::new(WallClock)).open(chain).unwrap());
    let key = platform.create_api_key("test", &[Scope::Admin]).unwrap().text().to_owned();
    let chains = Chains::new(platform);
    let commands = chains.default_rpc().unwrap().commands().clone();
    let mut limits = ServerLimits::default();
    limits.request_timeout = Duration::from_millis(100);
    let config = ServerConfig::new(([127, 0, 0, 1], 0).into()).with_limits(limits);
    let server = Server::bind(chains, config).await.unwrap();
    let address = server.local_addr();
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(server.serve(async {
        let _ = stopped.await;
    }));
    // The chain's turn is taken until the end: what changes it waits.
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

    let headers = format!("x-api-key: {key}\r\nx-request-id: req-of-mine\r\n");
    let params = json!({ "name": "Gold", "symbol": "GLD", "totalSupply": "1000" });
    let deployment = json!({ "blockchainId": "bc_default", "template": "erc20-token", "params": params });
    let (status, head, body) = send(address, "/v1/contracts/deploy", &headers, &deployment).await;
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
    drop(release);
    holder.await.unwrap();
    drop(stop);
    serving.await.unwrap();
}
