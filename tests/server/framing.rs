//! HTTP and JSON-RPC framing on `/`.

use chainbox::server::{BATCH_CALLS_MAX, RPC_BODY_BYTES_MAX};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

use crate::http::Service;

#[tokio::test]
async fn malformed_requests_have_standard_codes() {
    let service = Service::start().await;
    for (name, body, code) in [
        ("no JSON", "{\"jsonrpc\":", -32700),
        ("broken batch", "[{\"jsonrpc\":\"2.0\",", -32700),
        ("no request", "{\"hello\":1}", -32600),
        ("empty batch", "[]", -32600),
    ] {
        let response = service.rpc_text(body).await.json();
        assert_eq!(response["error"]["code"], code, "{name}: {response}");
    }
    assert_eq!(service.rpc("eth_chainId", json!([])).await["result"], "0x7a69");
}

#[tokio::test]
async fn unknown_methods_and_wrong_types_are_errors() {
    let service = Service::start().await;
    let response = service.rpc("eth_noSuchMethod", json!([])).await;
    assert_eq!(response["error"]["code"], -32601);
    assert_eq!(response["error"]["message"], "the method eth_noSuchMethod does not exist/is not available");
    for (method, params) in [
        ("eth_getBalance", json!(["0x12", "latest"])),
        ("eth_getBalance", json!([])),
        ("eth_getBalance", json!([1, 2, 3])),
        ("eth_getBlockByNumber", json!(["newest", false])),
        ("eth_getBlockByNumber", json!(["latest", "yes"])),
        ("eth_sendRawTransaction", json!(["not hex"])),
        ("eth_call", json!(["text"])),
        ("eth_getLogs", json!([{ "topics": 5 }])),
    ] {
        let response = service.rpc(method, params.clone()).await;
        assert_eq!(response["error"]["code"], -32602, "{method} {params}: {response}");
        assert!(response["error"]["message"].as_str().unwrap().len() > 20, "{response}");
    }
}

#[tokio::test]
async fn a_notification_is_executed_without_a_response() {
    let service = Service::start().await;
    let reply = service.rpc_text(r#"{"jsonrpc":"2.0","method":"evm_mine","params":[]}"#).await;
    assert_eq!((reply.status, reply.body.as_str()), (200, ""));
    assert_eq!(service.rpc("eth_blockNumber", json!([])).await["result"], "0x1");
}

#[tokio::test]
async fn batches_have_a_bound() {
    let service = Service::start().await;
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": [] });
    for (count, refused) in [(BATCH_CALLS_MAX, false), (BATCH_CALLS_MAX + 1, true)] {
        let batch = vec![call.clone(); count as usize];
        let response = service.rpc_text(&json!(batch).to_string()).await.json();
        match refused {
            false => assert_eq!(response.as_array().map(Vec::len), Some(count as usize)),
            true => assert!(response["error"]["code"].as_i64().is_some(), "{response}"),
        }
    }
}

#[tokio::test]
async fn a_mixed_batch_has_a_response_per_call() {
    let service = Service::start().await;
    let batch = json!([
        { "jsonrpc": "2.0", "id": "a", "method": "eth_chainId", "params": [] },
        { "jsonrpc": "2.0", "method": "eth_blockNumber", "params": [] },
        { "jsonrpc": "2.0", "id": 2, "method": "eth_nothing", "params": [] },
        5,
    ]);
    let responses = service.rpc_text(&batch.to_string()).await.json();
    let ids: Vec<&Value> = responses.as_array().unwrap().iter().map(|response| &response["id"]).collect();
    assert_eq!(ids, [&json!("a"), &json!(2), &Value::Null]);
    assert_eq!(responses[1]["error"]["code"], -32601);
    assert_eq!(responses[2]["error"]["code"], -32600);
}

#[tokio::test]
async fn every_id_that_geth_takes_is_answered() {
    let service = Service::start().await;
    for id in ["1", "-1", "0", "1.5", "1e2", "18446744073709551616", "\"a\"", "\"\"", "null", "true"] {
        let call = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"eth_chainId","params":[]}}"#);
        let want = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"0x7a69"}}"#);
        assert_eq!(service.rpc_text(&call).await.body, want);
        assert_eq!(service.rpc_text(&format!("[{call}]")).await.body, format!("[{want}]"));
        let unknown = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"no_such"}}"#);
        let body = service.rpc_text(&unknown).await.body;
        assert!(body.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":"#)), "{body}");
    }
    for id in ["{}", "[1]"] {
        let call = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"eth_chainId","params":[]}}"#);
        let response = service.rpc_text(&call).await.json();
        assert_eq!((&response["id"], &response["error"]["code"]), (&Value::Null, &json!(-32600)), "{id}");
    }
}

#[tokio::test]
async fn sends_of_a_batch_keep_their_ids() {
    let service = Service::start().await;
    let node = service.platform.default_blockchain().unwrap().node().clone();
    let send = |id: &str| {
        let (from, to) = (node.accounts()[0], node.accounts()[1]);
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"eth_sendTransaction","params":[{{"from":"{from}","to":"{to}"}}]}}"#
        )
    };
    let ids = ["-1", "7", "null", "0.5"];
    let batch = format!("[{}]", ids.map(send).join(","));
    let responses = service.rpc_text(&batch).await.json();
    let responses = responses.as_array().unwrap();
    assert!(responses.iter().all(|response| response["result"].is_string()), "{responses:?}");
    let got: Vec<Value> = responses.iter().map(|response| response["id"].clone()).collect();
    assert_eq!(got, [json!(-1), json!(7), Value::Null, json!(0.5)]);
}

#[tokio::test]
async fn oversize_bodies_are_413() {
    let service = Service::start().await;
    let body = " ".repeat(RPC_BODY_BYTES_MAX + 1);
    assert_eq!(service.rpc_text(&body).await.status, 413);
    let reply = service.rest("POST", "/v1/blockchains", json!({ "name": "x".repeat(2 << 20) })).await;
    assert_eq!((reply.status, reply.json()["error"]["code"].as_str()), (413, Some("PAYLOAD_TOO_LARGE")));
}

#[tokio::test]
async fn other_methods_types_and_paths_are_refused() {
    let service = Service::start().await;
    let text = service.send("POST", "/", &[("content-type", "text/plain")], "{}").await;
    assert_eq!(text.status, 415);
    let put = service.send("PUT", "/", &[], "").await;
    assert_eq!((put.status, put.header("allow")), (405, Some("GET, HEAD, POST, OPTIONS")));
    assert_eq!(service.send("GET", "/nothing", &[], "").await.status, 404);
}

#[tokio::test]
async fn a_browser_gets_a_page() {
    let service = Service::start().await;
    let page = service.send("GET", "/", &[("accept", "text/html")], "").await;
    assert_eq!(page.status, 200);
    assert!(page.header("content-type").unwrap().starts_with("text/html"));
    assert!(page.body.contains("chain id 31337") && page.body.contains("/v1/openapi.json"));
    assert!(page.body.contains("/v1/templates") && page.body.contains("erc20-token: <code>0xefcb00010002</code>"));
}

#[tokio::test]
async fn cors_is_open_on_loopback() {
    let service = Service::start().await;
    let origin = ("origin", "http://localhost:3000");
    let preflight = service
        .send(
            "OPTIONS",
            "/",
            &[origin, ("access-control-request-method", "POST"), ("access-control-request-headers", "content-type")],
            "",
        )
        .await;
    assert_eq!(preflight.status, 204);
    assert_eq!(preflight.header("access-control-allow-origin"), Some("*"));
    assert!(preflight.header("access-control-allow-headers").unwrap().contains("content-type"));
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}"#;
    let response = service.send("POST", "/", &[origin, ("content-type", "application/json")], call).await;
    assert_eq!((response.status, response.header("access-control-allow-origin")), (200, Some("*")));
}

#[tokio::test]
async fn a_rebound_name_is_refused() {
    let service = Service::start().await;
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"eth_accounts","params":[]}"#;
    for (host, status) in [("evil.example", 403), ("localhost", 200), ("chain.example:8545", 200), ("127.0.0.1:1", 200)]
    {
        let headers = [("host", host), ("content-type", "application/json")];
        assert_eq!(service.send("POST", "/", &headers, call).await.status, status, "{host}");
    }
}

/// Reads the head of a response, in lower case, and what its `Content-Length` says of its body.
async fn read_response(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    stream.read_exact(&mut body).await.unwrap();
    head
}

/// A client sends the body after the head, and its next request after the response.
#[tokio::test]
async fn a_refusal_leaves_the_connection_to_the_next_request() {
    let service = Service::start().await;
    let eth = "/v1/blockchains/bc_default/eth";
    for (method, path, host, status) in [
        ("POST", "/nothing", "localhost", 404),
        ("PUT", "/", "localhost", 405),
        ("POST", "/", "localhost", 415),
        ("POST", "/", "evil.example", 403),
        ("POST", "/metrics", "localhost", 405),
        ("POST", "/v1/docs?simulate=true", "localhost", 400),
        ("POST", eth, "localhost", 401),
        ("PUT", eth, "localhost", 405),
        ("POST", "/v1/workspaces", "localhost", 401),
        ("POST", "/v1/rpc", "localhost", 401),
    ] {
        let mut stream = TcpStream::connect(service.address).await.unwrap();
        let headers = "content-type: text/plain\r\ncontent-length: 2\r\n";
        let head = format!("{method} {path} HTTP/1.1\r\nhost: {host}\r\n{headers}\r\n");
        for time in 1..=2 {
            stream.write_all(head.as_bytes()).await.unwrap();
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            stream.write_all(b"{}").await.unwrap();
            let response = read_response(&mut stream).await;
            assert!(response.starts_with(&format!("http/1.1 {status} ")), "{method} {path}, {time}: {response}");
            assert!(!response.contains("connection: close"), "{method} {path}, {time}: {response}");
        }
    }
}

#[tokio::test]
async fn a_refusal_of_a_body_that_does_not_come_says_that_the_connection_ends() {
    let service = Service::start().await;
    for (name, headers) in [
        ("long", "content-length: 1000000\r\n"),
        ("held back", "content-length: 2\r\nexpect: 100-continue\r\n"),
        ("slow", "content-length: 2\r\n"),
    ] {
        let mut stream = TcpStream::connect(service.address).await.unwrap();
        let head = format!("POST /nothing HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let response = read_response(&mut stream).await;
        assert!(response.starts_with("http/1.1 404 ") && response.contains("connection: close"), "{name}: {response}");
        assert_eq!(stream.read(&mut [0; 1]).await.unwrap(), 0, "{name}: it is closed");
    }
}

/// A connection that sends a call, and what comes after it, at once.
async fn call_followed_by(service: &Service, tail: &str) -> TcpStream {
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}"#;
    let headers = format!("host: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n", call.len());
    let mut stream = TcpStream::connect(service.address).await.unwrap();
    stream.write_all(format!("POST / HTTP/1.1\r\n{headers}\r\n{call}{tail}").as_bytes()).await.unwrap();
    stream
}

#[tokio::test]
async fn what_follows_a_request_does_not_hold_back_its_response() {
    let service = Service::start().await;
    let limit = std::time::Duration::from_secs(20);
    for tail in ["\r\n", "GET /v1/hea", "GARBAGE\r\n\r\n"] {
        let mut stream = call_followed_by(&service, tail).await;
        let response = tokio::time::timeout(limit, read_response(&mut stream)).await;
        let response = response.unwrap_or_else(|_| panic!("{tail:?}: no response"));
        assert!(response.starts_with("http/1.1 200 "), "{tail:?}: {response}");
    }
    let mut stream = call_followed_by(&service, "GET /v1/health HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    for turn in ["first", "second"] {
        let response = tokio::time::timeout(limit, read_response(&mut stream)).await.expect(turn);
        assert!(response.starts_with("http/1.1 200 "), "{turn}: {response}");
    }
}

#[tokio::test]
async fn a_head_that_is_not_http_has_a_status() {
    let service = Service::start().await;
    let fields: String = (0..150).map(|number| format!("x-{number}: 1\r\n")).collect();
    for (name, head, status) in [
        ("no head", "GARBAGE\r\n\r\n".to_owned(), 400),
        ("no field", "GET /v1/health HTTP/1.1\r\nBad Header: x\r\n\r\n".to_owned(), 400),
        ("many fields", format!("GET /v1/health HTTP/1.1\r\nhost: localhost\r\n{fields}\r\n"), 431),
        ("a long path", format!("GET /{} HTTP/1.1\r\nhost: localhost\r\n\r\n", "a".repeat(66_000)), 414),
        ("no host", "GET /v1/health HTTP/1.1\r\n\r\n".to_owned(), 400),
        ("two hosts", "GET /v1/health HTTP/1.1\r\nhost: localhost\r\nhost: localhost\r\n\r\n".to_owned(), 400),
    ] {
        let mut stream = TcpStream::connect(service.address).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        let response = read_response(&mut stream).await;
        assert!(response.starts_with(&format!("http/1.1 {status} ")), "{name}: {response}");
    }
}

#[tokio::test]
async fn http_1_0_needs_no_host() {
    let service = Service::start().await;
    let mut stream = TcpStream::connect(service.address).await.unwrap();
    stream.write_all(b"GET /v1/health HTTP/1.0\r\n\r\n").await.unwrap();
    let response = read_response(&mut stream).await;
    assert!(response.starts_with("http/1.0 200 "), "{response}");
}
