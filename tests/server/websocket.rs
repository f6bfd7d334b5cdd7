//! Subscriptions over WebSocket (RFC 6455), with a client of a few lines.

use std::time::Duration;

use chainbox::node::Node;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::http::{Reply, Service};

pub(crate) struct Socket {
    stream: TcpStream,
    notifications: Vec<Value>,
    next_id: u64,
}

impl Socket {
    pub(crate) async fn connect(service: &Service, path: &str) -> Self {
        Self::connect_with(service, path, &service.api_key).await
    }

    /// Connects with this API key.
    pub(crate) async fn connect_with(service: &Service, path: &str, api_key: &str) -> Self {
        Self::connect_at(&service.address.to_string(), path, api_key).await
    }

    /// Connects to a server at an address.
    pub(crate) async fn connect_at(address: &str, path: &str, api_key: &str) -> Self {
        let (stream, head) = Self::handshake_at(address, path, api_key).await;
        assert!(head.starts_with("HTTP/1.1 101"), "{head}");
        // The value for the RFC's sample key (RFC 6455, 1.3).
        assert!(head.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "{head}");
        Self { stream, notifications: Vec::new(), next_id: 0 }
    }

    /// Asks for an upgrade and returns the head of the response.
    pub(crate) async fn handshake(service: &Service, path: &str) -> (TcpStream, String) {
        Self::handshake_at(&service.address.to_string(), path, &service.api_key).await
    }

    /// As [`Socket::handshake`], with an API key at an address.
    pub(crate) async fn handshake_at(address: &str, path: &str, api_key: &str) -> (TcpStream, String) {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!(
            "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nx-api-key: {api_key}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        (stream, String::from_utf8(head).unwrap())
    }

    /// Sends a text frame, masked with zero, which leaves the text as it is.
    pub(crate) async fn send(&mut self, text: &str) {
        self.send_frame(0x81, text.as_bytes()).await;
    }

    async fn send_frame(&mut self, first: u8, payload: &[u8]) {
        let mut frame = vec![first];
        match payload.len() {
            short @ 0..=125 => frame.push(0x80 | short as u8),
            long @ 126..=0xffff => {
                frame.push(0x80 | 126);
                frame.extend_from_slice(&(long as u16).to_be_bytes());
            }
            longer => {
                frame.push(0x80 | 127);
                frame.extend_from_slice(&(longer as u64).to_be_bytes());
            }
        }
        frame.extend_from_slice(&[0; 4]);
        frame.extend_from_slice(payload);
        // The server may refuse a frame before all of it is sent.
        let _ = self.stream.write_all(&frame).await;
    }

    /// Returns opcode and payload of the next frame.
    async fn receive_frame(&mut self) -> (u8, Vec<u8>) {
        let read = async {
            let (first, second) = (self.stream.read_u8().await.unwrap(), self.stream.read_u8().await.unwrap());
            assert_eq!(second & 0x80, 0, "frames of a server are not masked");
            let len = match second & 0x7f {
                126 => u64::from(self.stream.read_u16().await.unwrap()),
                127 => self.stream.read_u64().await.unwrap(),
                short => u64::from(short),
            };
            let mut payload = vec![0; len as usize];
            self.stream.read_exact(&mut payload).await.unwrap();
            (first & 0x0f, payload)
        };
        timeout(Duration::from_secs(30), read).await.expect("a frame in time")
    }

    pub(crate) async fn receive(&mut self) -> Value {
        loop {
            if let (1, payload) = self.receive_frame().await {
                return serde_json::from_slice(&payload).unwrap();
            }
        }
    }

    /// Waits for the close frame and returns its code and reason.
    pub(crate) async fn closed(&mut self) -> (u16, String) {
        loop {
            if let (8, payload) = self.receive_frame().await {
                let code = u16::from_be_bytes([payload[0], payload[1]]);
                return (code, String::from_utf8(payload[2..].to_vec()).unwrap());
            }
        }
    }

    /// As [`Socket::closed`], where nothing is told before the end.
    pub(crate) async fn closed_untold(&mut self) -> (u16, String) {
        loop {
            match self.receive_frame().await {
                (8, payload) => {
                    let code = u16::from_be_bytes([payload[0], payload[1]]);
                    return (code, String::from_utf8(payload[2..].to_vec()).unwrap());
                }
                (1, payload) => panic!("it is told {}", String::from_utf8_lossy(&payload)),
                _ => {}
            }
        }
    }

    /// Calls a method; keeps notifications that arrive before the response.
    pub(crate) async fn call(&mut self, method: &str, params: Value) -> Value {
        self.next_id += 1;
        let id = self.next_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()).await;
        loop {
            let message = self.receive().await;
            if message["id"] == id {
                return message;
            }
            self.notifications.push(message);
        }
    }

    /// Returns the next notification of a subscription.
    pub(crate) async fn next(&mut self, subscription: &Value) -> Value {
        loop {
            if let Some(at) =
                self.notifications.iter().position(|message| message["params"]["subscription"] == *subscription)
            {
                return self.notifications.remove(at)["params"]["result"].take();
            }
            let message = self.receive().await;
            self.notifications.push(message);
        }
    }
}

/// Asks for an upgrade with this version of the protocol and returns the whole response, which refuses it.
pub(crate) async fn upgrade(service: &Service, path: &str, version: &str) -> Reply {
    let headers = [
        ("connection", "Upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", version),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ("x-api-key", service.api_key.as_str()),
    ];
    service.send("GET", path, &headers, "").await
}

#[tokio::test]
async fn heads_logs_and_pending_transactions_are_pushed() {
    let service = Service::start().await;
    let mut socket = Socket::connect(&service, "/").await;
    let heads = socket.call("eth_subscribe", json!(["newHeads"])).await["result"].clone();
    let pending = socket.call("eth_subscribe", json!(["newPendingTransactions"])).await["result"].clone();
    let logs = socket.call("eth_subscribe", json!(["logs", {}])).await["result"].clone();
    assert!(heads.as_str().unwrap().starts_with("0x"));
    let node = service.platform.default_blockchain().unwrap().node().clone();
    let owner = node.accounts()[0];
    let input =
        chainbox::templates::Erc20Params::new("Gold", "GLD", chainbox::primitives::U256::from(1), owner).init_code();
    let hash = socket.call("eth_sendTransaction", json!([{ "from": owner, "data": input }])).await["result"].clone();
    assert_eq!(socket.next(&pending).await, hash);
    let head = socket.next(&heads).await;
    assert_eq!(head["number"], "0x1");
    let log = socket.next(&logs).await;
    assert_eq!((&log["transactionHash"], &log["removed"]), (&hash, &json!(false)));
    assert_eq!(log["blockHash"], head["hash"]);
    assert_eq!(socket.call("eth_unsubscribe", json!([heads])).await["result"], true);
    assert_eq!(socket.call("eth_unsubscribe", json!([heads])).await["result"], false);
}

#[tokio::test]
async fn a_revert_sends_removed_logs() {
    let service = Service::start().await;
    let mut socket = Socket::connect(&service, "/").await;
    let snapshot = socket.call("evm_snapshot", json!([])).await["result"].clone();
    let logs = socket.call("eth_subscribe", json!(["logs", {}])).await["result"].clone();
    let owner = service.platform.default_blockchain().unwrap().node().accounts()[0];
    let input =
        chainbox::templates::Erc20Params::new("Gold", "GLD", chainbox::primitives::U256::from(1), owner).init_code();
    socket.call("eth_sendTransaction", json!([{ "from": owner, "data": input }])).await;
    let added = [socket.next(&logs).await, socket.next(&logs).await];
    assert_eq!(socket.call("evm_revert", json!([snapshot])).await["result"], true);
    for added in added {
        let removed = socket.next(&logs).await;
        assert_eq!((&added["removed"], &removed["removed"]), (&json!(false), &json!(true)));
        assert_eq!((&removed["blockHash"], &removed["logIndex"]), (&added["blockHash"], &added["logIndex"]));
    }
}

#[tokio::test]
async fn a_reorg_sends_removed_logs_and_then_those_of_the_new_branch() {
    let service = Service::start().await;
    let mut socket = Socket::connect(&service, "/").await;
    let logs = socket.call("eth_subscribe", json!(["logs", {}])).await["result"].clone();
    let owner = service.platform.default_blockchain().unwrap().node().accounts()[0];
    let input =
        chainbox::templates::Erc20Params::new("Gold", "GLD", chainbox::primitives::U256::from(1), owner).init_code();
    let creation = json!({ "from": owner, "data": input });
    let first = socket.call("eth_sendTransaction", json!([creation])).await["result"].clone();
    let added = [socket.next(&logs).await, socket.next(&logs).await];
    socket.call("evm_mine", json!([])).await;
    // The creation moves from the first of two blocks to the second.
    assert_eq!(socket.call("anvil_reorg", json!([2, [[creation, 1]]])).await["result"], json!(null));
    for added in &added {
        let removed = socket.next(&logs).await;
        assert_eq!((&added["removed"], &removed["removed"]), (&json!(false), &json!(true)));
        assert_eq!((&removed["blockHash"], &removed["logIndex"]), (&added["blockHash"], &added["logIndex"]));
    }
    for added in &added {
        let again = socket.next(&logs).await;
        assert_eq!((&again["removed"], &again["blockNumber"]), (&json!(false), &json!("0x2")));
        assert_ne!(again["blockHash"], added["blockHash"]);
    }
    assert_eq!(socket.call("eth_blockNumber", json!([])).await["result"], "0x2");
    // The same bytes are signed again: the same transaction, elsewhere.
    let receipt = socket.call("eth_getTransactionReceipt", json!([first])).await["result"].clone();
    assert!(receipt.is_null() || receipt["blockNumber"] == "0x2", "{receipt}");

    assert_eq!(socket.call("anvil_rollback", json!([null])).await["result"], json!(null));
    for _ in &added {
        assert_eq!(socket.next(&logs).await["removed"], true);
    }
    assert_eq!(socket.call("eth_blockNumber", json!([])).await["result"], "0x1");
    let too_deep = socket.call("anvil_rollback", json!([2])).await;
    assert_eq!(too_deep["error"]["code"], -32602, "{too_deep}");
    let outside = socket.call("anvil_reorg", json!([1, [[creation, 1]]])).await;
    assert_eq!(outside["error"]["code"], -32602, "{outside}");
}

#[tokio::test]
async fn plain_calls_batches_and_errors_work_as_over_http() {
    let service = Service::start().await;
    let mut socket = Socket::connect(&service, "/v1/blockchains/bc_default/eth").await;
    let unknown = socket.call("eth_nothing", json!([])).await;
    assert_eq!(unknown["error"]["message"], "the method eth_nothing does not exist/is not available");
    let wrong = socket.call("eth_subscribe", json!(["noSuchTopic"])).await;
    assert_eq!(wrong["error"]["code"], -32602, "{wrong}");
    socket.send(r#"[{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]},{"jsonrpc":"2.0","id":2,"method":"net_version","params":[]}]"#).await;
    let responses = socket.receive().await;
    assert_eq!((&responses[0]["result"], &responses[1]["result"]), (&json!("0x7a69"), &json!("31337")));
}

#[tokio::test]
async fn subscriptions_over_http_are_an_error() {
    let service = Service::start().await;
    let response = service.rpc("eth_subscribe", json!(["newHeads"])).await;
    assert_eq!(response["error"]["code"], -32601);
    assert!(response["error"]["message"].as_str().unwrap().starts_with("notifications not supported"), "{response}");
}

#[tokio::test]
async fn a_client_that_reads_late_gets_every_head() {
    let service = Service::start().await;
    let mut socket = Socket::connect(&service, "/").await;
    let heads = socket.call("eth_subscribe", json!(["newHeads"])).await["result"].clone();
    let node = service.platform.default_blockchain().unwrap().node().clone();
    let count = 15_000;
    tokio::task::spawn_blocking(move || node.mine(count)).await.unwrap().unwrap();
    for number in 1..=count {
        assert_eq!(socket.next(&heads).await["number"], format!("{number:#x}"));
    }
}

#[tokio::test]
async fn a_client_whose_place_is_lost_is_told_and_closed() {
    let service = Service::start().await;
    let mut socket = Socket::connect(&service, "/").await;
    let heads = socket.call("eth_subscribe", json!(["newHeads"])).await["result"].clone();
    let node = service.platform.default_blockchain().unwrap().node().clone();
    // On this thread: the session's tasks see nothing until all of it is done.
    for _ in 0..=chainbox::node::HEAD_SWITCHES_MAX {
        let snapshot = node.snapshot();
        node.mine(1).unwrap();
        node.revert(snapshot).unwrap();
    }
    let told = socket.receive().await;
    assert_eq!((&told["method"], &told["params"]["subscription"]), (&json!("eth_subscription"), &heads));
    assert!(told["params"]["error"]["message"].as_str().unwrap().contains("too slow"), "{told}");
    let (code, reason) = socket.closed().await;
    assert_eq!(code, 1013, "{reason}");
    assert!(reason.contains("too slow"), "{reason}");
    assert_eq!(service.counters.slow_sessions(), 1);
}

#[tokio::test]
async fn a_client_that_takes_nothing_is_disconnected() {
    let service = Service::limited(Node::new(), |limits| limits.send_timeout = Duration::from_millis(100)).await;
    let mut socket = Socket::connect(&service, "/").await;
    socket.call("eth_subscribe", json!(["newHeads"])).await;
    let node = service.platform.default_blockchain().unwrap().node().clone();
    tokio::task::spawn_blocking(move || node.mine(30_000)).await.unwrap().unwrap();
    let dropped = async {
        while service.counters.slow_sessions() == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(Duration::from_secs(60), dropped).await.expect("it is noticed");
}

#[tokio::test]
async fn a_silent_client_is_pinged_and_then_closed() {
    let service = Service::limited(Node::new(), |limits| {
        limits.ping_interval = Duration::from_millis(250);
        limits.idle_timeout = Duration::from_secs(2);
    })
    .await;
    let mut alive = Socket::connect(&service, "/").await;
    for _ in 0..12 {
        assert_eq!(alive.receive_frame().await, (9, Vec::new()), "a ping");
        alive.send_frame(0x8A, b"").await;
    }
    assert_eq!(alive.call("eth_chainId", json!([])).await["result"], "0x7a69", "pongs keep a session open");
    let mut silent = Socket::connect(&service, "/").await;
    let (code, reason) = silent.closed().await;
    assert_eq!(code, 1001, "{reason}");
}

#[tokio::test]
async fn pings_are_answered_and_a_close_is_closed() {
    let service = Service::start().await;
    let mut socket = Socket::connect(&service, "/").await;
    socket.send_frame(0x89, b"hello").await;
    assert_eq!(socket.receive_frame().await, (10, b"hello".to_vec()));
    socket.send_frame(0x88, &1000_u16.to_be_bytes()).await;
    assert_eq!(socket.closed().await.0, 1000);
}

#[tokio::test]
async fn long_messages_and_breaches_of_the_protocol_are_closed_with_a_reason() {
    let service = Service::start().await;
    for (first, payload, want) in [
        (0x81, vec![b' '; chainbox::server::RPC_BODY_BYTES_MAX + 1], 1009),
        (0x80, Vec::new(), 1002),
        (0xC1, Vec::new(), 1002),
    ] {
        let mut socket = Socket::connect(&service, "/").await;
        socket.send_frame(first, &payload).await;
        let (code, reason) = socket.closed().await;
        assert_eq!(code, want, "{reason}");
    }
    let mut socket = Socket::connect(&service, "/").await;
    socket.send(&" ".repeat(chainbox::server::RPC_BODY_BYTES_MAX)).await;
    assert_eq!(socket.receive().await["error"]["code"], -32700, "at the bound");
}

#[tokio::test]
async fn a_handshake_without_its_headers_is_refused() {
    let service = Service::start().await;
    for path in ["/", "/v1/blockchains/bc_default/eth"] {
        let refused = upgrade(&service, path, "12").await;
        let version = refused.header("sec-websocket-version");
        assert_eq!((refused.status, version), (400, Some("13")), "{path}: {}", refused.body);
        assert_eq!(refused.header("content-type"), Some("application/json"), "{path}");
        let body = refused.json();
        assert_eq!((&body["jsonrpc"], &body["error"]["code"]), (&json!("2.0"), &json!(-32600)), "{path}: {body}");
        assert!(body["error"]["message"].as_str().unwrap().contains("Sec-WebSocket-Key"), "{path}: {body}");
    }
}

#[tokio::test]
async fn every_id_works_over_a_websocket_and_in_a_batch_with_a_subscription() {
    let service = Service::start().await;
    let mut socket = Socket::connect(&service, "/").await;
    for id in [json!(-1), json!(1.5), Value::Null, json!("a")] {
        socket.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "eth_chainId" }).to_string()).await;
        let response = socket.receive().await;
        assert_eq!((&response["id"], &response["result"]), (&id, &json!("0x7a69")));
    }
    socket
        .send(r#"[{"jsonrpc":"2.0","id":-5,"method":"eth_subscribe","params":["newHeads"]},{"jsonrpc":"2.0","id":6,"method":"evm_mine"}]"#)
        .await;
    let responses = socket.receive().await;
    let subscription = responses[0]["result"].clone();
    assert!(responses[0]["id"] == -5 && subscription.is_string(), "{responses}");
    assert_eq!(socket.next(&subscription).await["number"], "0x1", "mined after the subscription was opened");
}

#[tokio::test]
async fn a_stopping_server_says_goodbye() {
    let service = Service::start().await;
    let mut socket = Socket::connect(&service, "/").await;
    assert_eq!(socket.call("eth_chainId", json!([])).await["result"], "0x7a69");
    drop(service);
    assert_eq!(socket.closed().await, (1001, "the server stops".to_owned()));
}
