//! Subscriptions over WebSocket (RFC 6455), with a client of a few lines.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::http::Service;

struct Socket {
    stream: TcpStream,
    notifications: Vec<Value>,
    next_id: u64,
}

impl Socket {
    async fn connect(service: &Service, path: &str) -> Self {
        let mut stream = TcpStream::connect(service.address).await.unwrap();
        let request = format!(
            "GET {path} HTTP/1.1\r\nhost: {}\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
            service.address
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        let head = String::from_utf8(head).unwrap();
        assert!(head.starts_with("HTTP/1.1 101"), "{head}");
        // The value for the RFC's sample key (RFC 6455, 1.3).
        assert!(head.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "{head}");
        Self { stream, notifications: Vec::new(), next_id: 0 }
    }

    /// Sends a text frame, masked with zero, which leaves the text as it is.
    async fn send(&mut self, text: &str) {
        let mut frame = vec![0x81];
        match text.len() {
            short @ 0..=125 => frame.push(0x80 | short as u8),
            long => {
                frame.push(0x80 | 126);
                frame.extend_from_slice(&(long as u16).to_be_bytes());
            }
        }
        frame.extend_from_slice(&[0; 4]);
        frame.extend_from_slice(text.as_bytes());
        self.stream.write_all(&frame).await.unwrap();
    }

    async fn receive(&mut self) -> Value {
        let read = async {
            loop {
                let (first, second) = (self.stream.read_u8().await.unwrap(), self.stream.read_u8().await.unwrap());
                let len = match second & 0x7f {
                    126 => u64::from(self.stream.read_u16().await.unwrap()),
                    127 => self.stream.read_u64().await.unwrap(),
                    short => u64::from(short),
                };
                let mut payload = vec![0; len as usize];
                self.stream.read_exact(&mut payload).await.unwrap();
                if first & 0x0f == 1 {
                    return serde_json::from_slice(&payload).unwrap();
                }
            }
        };
        timeout(Duration::from_secs(10), read).await.expect("a message within ten seconds")
    }

    /// Calls a method; keeps notifications that arrive before the response.
    async fn call(&mut self, method: &str, params: Value) -> Value {
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
    async fn next(&mut self, subscription: &Value) -> Value {
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

#[tokio::test]
async fn heads_logs_and_pending_transactions_are_pushed() {
    let service = Service::start().await;
    let mut socket = Socket::connect(&service, "/").await;
    let heads = socket.call("eth_subscribe", json!(["newHeads"])).await["result"].clone();
    let pending = socket.call("eth_subscribe", json!(["newPendingTransactions"])).await["result"].clone();
    let logs = socket.call("eth_subscribe", json!(["logs", {}])).await["result"].clone();
    assert!(heads.as_str().unwrap().starts_with("0x"));
    let node = service.platform.default_blockchain().node().clone();
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
    let owner = service.platform.default_blockchain().node().accounts()[0];
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
