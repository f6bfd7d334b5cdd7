//! Bounds of connections, bodies, sessions and times: at each one, and one past it.

use std::time::Duration;

use chainbox::{
    node::Node,
    platform::{Plan, Scope},
    primitives::Address,
    server::{
        BATCH_RESPONSE_BYTES_MAX, ForwardingHeader, LOAD_BODY_BYTES_MAX, RPC_BODY_BYTES_MAX, ServerLimits,
        TrustedProxies,
    },
    templates::Erc721Params,
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use crate::{
    http::Service,
    websocket::{Socket, upgrade},
};

const PATIENCE: Duration = Duration::from_secs(30);

/// Returns a call of `method` with a body of exactly `len` bytes.
fn call_of_length(method: &str, len: usize) -> String {
    let start = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":[""#);
    let end = r#""]}"#;
    format!("{start}{}{end}", "x".repeat(len - start.len() - end.len()))
}

#[tokio::test]
async fn a_body_is_as_long_as_its_method_may_be() {
    let service = Service::start().await;
    for (method, len, status) in [
        ("web3_sha3", RPC_BODY_BYTES_MAX, 200),
        ("web3_sha3", RPC_BODY_BYTES_MAX + 1, 413),
        ("anvil_loadState", RPC_BODY_BYTES_MAX + 1, 200),
        ("hardhat_loadState", LOAD_BODY_BYTES_MAX, 200),
        ("anvil_loadState", LOAD_BODY_BYTES_MAX + 1, 413),
    ] {
        let reply = service.rpc_text(&call_of_length(method, len)).await;
        assert_eq!(reply.status, status, "{method} of {len} bytes");
    }
    let late = format!(r#"{{"params":["{}"],"method":"anvil_loadState"}}"#, "x".repeat(2 * RPC_BODY_BYTES_MAX));
    assert_eq!(service.rpc_text(&late).await.status, 413, "the method comes after the bound");
}

/// Both speak JSON-RPC, and each has a bound of its own.
#[tokio::test]
async fn a_body_of_the_services_json_rpc_is_as_long_as_one_of_rest() {
    let (rest, ethereum) = (300, 500);
    let service = Service::limited(Node::new(), |limits| {
        limits.rest_body_bytes_max = rest;
        limits.rpc_body_bytes_max = ethereum;
    })
    .await;
    let headers = [("x-api-key", service.api_key.as_str()), ("content-type", "application/json")];
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}"#;
    for (path, len, status) in [
        ("/v1/rpc", rest, 200),
        ("/v1/rpc", rest + 1, 413),
        ("/v1/blockchains/bc_default/eth", ethereum, 200),
        ("/v1/blockchains/bc_default/eth", ethereum + 1, 413),
    ] {
        let body = format!("{call}{}", " ".repeat(len - call.len()));
        let reply = service.send("POST", path, &headers, &body).await;
        assert_eq!(reply.status, status, "{path} with {len} bytes: {}", reply.body);
        assert_eq!(reply.header("cache-control"), Some("no-store"), "{path}: {status}");
    }
}

#[tokio::test]
async fn the_responses_of_a_batch_have_a_bound() {
    let service = Service::start().await;
    let account = service.platform.default_blockchain().unwrap().node().accounts()[0];
    let code = format!("0x{}", "60".repeat(1_000_000));
    assert_eq!(service.rpc("anvil_setCode", json!([account, code])).await["result"], Value::Null);
    let batch = async |calls: usize| {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_getCode", "params": [account] }).to_string();
        service.rpc_text(&format!("[{}]", vec![call; calls].join(","))).await.json()
    };
    let fitting = BATCH_RESPONSE_BYTES_MAX / code.len();
    assert_eq!(batch(fitting).await.as_array().map(Vec::len), Some(fitting));
    assert_eq!(batch(fitting + 1).await["error"]["code"], -32005);
}

#[tokio::test]
async fn connections_past_the_bound_are_told_so() {
    let service = Service::limited(Node::new(), |limits| limits.connections_max = 2).await;
    let first = TcpStream::connect(service.address).await.unwrap();
    let _second = TcpStream::connect(service.address).await.unwrap();
    let mut third = TcpStream::connect(service.address).await.unwrap();
    let mut text = String::new();
    timeout(PATIENCE, third.read_to_string(&mut text)).await.unwrap().unwrap();
    assert!(text.starts_with("HTTP/1.1 503") && text.contains("2 connections are open"), "{text}");
    assert_eq!(service.counters.refused_connections(), 1);
    drop(first);
    let served = async {
        while service.send("GET", "/v1/health", &[], "").await.status != 200 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, served).await.expect("a place is free again");
}

#[tokio::test]
async fn sessions_past_the_bound_are_refused() {
    let service = Service::limited(Node::new(), |limits| limits.websockets_max = 1).await;
    let socket = Socket::connect(&service, "/").await;
    for path in ["/", "/v1/blockchains/bc_default/eth"] {
        let refused = upgrade(&service, path, "13").await;
        assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")), "{path}: {}", refused.body);
        assert_eq!(refused.header("content-type"), Some("application/json"), "{path}");
        let body = refused.json();
        assert_eq!((&body["jsonrpc"], &body["error"]["code"]), (&json!("2.0"), &json!(-32005)), "{path}: {body}");
        assert!(body["error"]["message"].as_str().unwrap().starts_with("1 WebSocket sessions are open"), "{body}");
        assert_eq!(refused.header("ratelimit").is_some(), path != "/", "{path}");
    }
    drop(socket);
    let again = async {
        while !Socket::handshake(&service, "/").await.1.starts_with("HTTP/1.1 101") {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, again).await.expect("a place is free again");
}

#[tokio::test]
async fn subscriptions_past_the_bound_are_refused() {
    let service = Service::limited(Node::new(), |limits| limits.subscriptions_max = 2).await;
    let mut socket = Socket::connect(&service, "/").await;
    let first = socket.call("eth_subscribe", json!(["newHeads"])).await["result"].clone();
    assert!(socket.call("eth_subscribe", json!(["logs", {}])).await["result"].is_string());
    let refused = socket.call("eth_subscribe", json!(["newHeads"])).await;
    assert_eq!(refused["error"]["code"], -32005, "{refused}");
    assert_eq!(socket.call("eth_unsubscribe", json!([first])).await["result"], true);
    assert!(socket.call("eth_subscribe", json!(["newHeads"])).await["result"].is_string());
}

#[tokio::test]
async fn a_head_that_does_not_come_ends_the_connection() {
    let service = Service::limited(Node::new(), |limits| limits.head_timeout = Duration::from_millis(50)).await;
    let mut stream = TcpStream::connect(service.address).await.unwrap();
    stream.write_all(b"POST / HTTP/1.1\r\nhost: localhost\r\n").await.unwrap();
    let mut rest = Vec::new();
    timeout(PATIENCE, stream.read_to_end(&mut rest)).await.expect("closed").unwrap();
}

#[tokio::test]
async fn a_body_that_does_not_come_is_408() {
    let service = Service::limited(Node::new(), |limits| limits.body_timeout = Duration::from_millis(50)).await;
    for path in ["/", "/v1/blockchains"] {
        let mut stream = TcpStream::connect(service.address).await.unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{{"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut start = [0; 12];
        timeout(PATIENCE, stream.read_exact(&mut start)).await.unwrap().unwrap();
        assert_eq!(&start, b"HTTP/1.1 408", "{path}");
    }
    let document = service.send("GET", "/v1/openapi.json", &[], "").await.json();
    let answers = |method: &str| document["paths"]["/v1/blockchains"][method]["responses"].clone();
    assert!(
        answers("post")["408"].is_object() && answers("get")["408"].is_null(),
        "the document says where it can come"
    );
}

#[tokio::test]
async fn bytes_of_bodies_in_all_connections_have_a_bound() {
    let service = Service::limited(Node::new(), |limits| limits.buffered_body_bytes_max = 1 << 20).await;
    let call = call_of_length("web3_sha3", 500_000);
    // Which of two bodies is refused is the server's choice: the held one must be there first.
    let holding = async {
        loop {
            let mut holder = TcpStream::connect(service.address).await.unwrap();
            let head = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 1000000\r\n\r\n";
            holder.write_all(head.as_bytes()).await.unwrap();
            holder.write_all(&vec![b' '; 900_000]).await.unwrap();
            tokio::time::sleep(Duration::from_millis(50)).await;
            if service.rpc_text(&call).await.status == 503 {
                return holder;
            }
        }
    };
    let holder = timeout(PATIENCE, holding).await.expect("the held body takes the budget");
    assert_eq!(service.rpc("eth_chainId", json!([])).await["result"], "0x7a69", "short bodies don't count");
    drop(holder);
    let served = async {
        while service.rpc_text(&call).await.status != 200 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, served).await.expect("the budget is free again");
}

#[tokio::test]
async fn a_request_that_takes_too_long_is_503_and_ends() {
    let service = Service::limited(Node::new(), |limits| limits.request_timeout = Duration::from_millis(20)).await;
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "anvil_mine", "params": [1_000_000] });
    assert_eq!(service.rpc_text(&call.to_string()).await.status, 503);
    let node = service.platform.default_blockchain().unwrap().node().clone();
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "evm_mine", "params": [] }).to_string();
    // The bound holds for this call too; what counts is that one gets its turn.
    let mined = async {
        loop {
            let next = service.rpc_text(&call).await;
            assert!([200, 503].contains(&next.status), "{}", next.body);
            if next.status == 200 {
                break;
            }
        }
    };
    timeout(PATIENCE, mined).await.expect("the row of blocks ends");
    let height = node.view().head().height().get();
    assert!((1..900_000).contains(&height), "{height}");
}

#[tokio::test]
async fn intervals_have_bounds() {
    let service = Service::start().await;
    for (secs, is_accepted) in [(json!(0), true), (json!(1), true), (json!(31_536_000), true)]
        .into_iter()
        .chain([(json!(31_536_001), false), (json!("0xffffffffffffffff"), false)])
    {
        let response = service.rpc("evm_setIntervalMining", json!([secs])).await;
        assert_eq!(response.get("error").is_none(), is_accepted, "{secs}: {response}");
        assert!(is_accepted || response["error"]["code"] == -32602, "{secs}: {response}");
    }
    for (time, status) in [("365d", 201), ("366d", 422), ("500000000000d", 422)] {
        let body = json!({ "name": "slow", "config": { "blockTime": time } });
        assert_eq!(service.rest("POST", "/v1/blockchains", body).await.status, status, "{time}");
    }
}

/// Calls of a batch count as requests: all of them fit, or none is executed.
#[tokio::test]
async fn a_batch_counts_by_its_calls() {
    for path in ["/v1/rpc", "/v1/blockchains/bc_default/eth"] {
        let service = Service::limited(Node::new(), |limits| limits.rate.requests = 5).await;
        let method = if path == "/v1/rpc" { "blockchain.getBlock" } else { "eth_chainId" };
        let batch = |calls: usize| {
            let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method });
            Value::Array(vec![call; calls])
        };
        // A window has no room for it: it counts as one.
        let refused = service.rest("POST", path, batch(6)).await;
        assert_eq!((refused.status, refused.header("retry-after")), (429, Some("60")), "{path}: {}", refused.body);
        assert_eq!(refused.header("ratelimit"), Some("\"default\";r=4;t=60"), "{path}");
        assert_eq!(refused.json()["error"]["data"]["code"], "RATE_LIMITED", "{path}: {}", refused.body);
        let taken = service.rest("POST", path, batch(3)).await;
        assert_eq!((taken.status, taken.header("ratelimit")), (200, Some("\"default\";r=1;t=60")), "{path}");
        assert_eq!(taken.json().as_array().map(Vec::len), Some(3), "{path}: {}", taken.body);
        let past = service.rest("POST", path, batch(2)).await;
        assert_eq!((past.status, past.header("ratelimit")), (429, Some("\"default\";r=0;t=60")), "{path}");
        assert_eq!(service.rest("GET", "/v1/workspaces", Value::Null).await.status, 429, "{path}");
        assert_eq!(service.rpc_text(&batch(100).to_string()).await.status, 200, "the development chain has no quota");
    }
    let service = Service::limited(Node::new(), |limits| limits.rate.requests = 4).await;
    let mut session = Socket::connect(&service, "/v1/blockchains/bc_default/eth").await;
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_chainId" });
    session.send(&json!([call, call]).to_string()).await;
    assert_eq!(session.receive().await[1]["result"], "0x7a69");
    session.send(&json!([call, call]).to_string()).await;
    assert_eq!(session.receive().await[1]["error"]["data"]["code"], "RATE_LIMITED", "one is left, for the message");
}

#[tokio::test]
async fn a_batch_counts_by_its_calls_for_the_plan() {
    let service = Service::planned(Plan { requests_max: 6, ..Plan::UNLIMITED }).await;
    // That of an operator is not refused by a plan.
    let key = service.platform.create_api_key("reader", &[Scope::BlockchainRead]).unwrap();
    let headers = [("x-api-key", key.text()), ("content-type", "application/json")];
    let send = async |batch: Value| service.send("POST", "/v1/rpc", &headers, &batch.to_string()).await;
    let batch = |calls: usize| {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "blockchain.getBlock" });
        Value::Array(vec![call; calls])
    };
    let refused = send(batch(7)).await;
    let error = refused.json()["error"].clone();
    assert_eq!((refused.status, &error["data"]["details"]["usage"]), (429, &json!("requests")), "{error}");
    assert_eq!(refused.header("retry-after"), Some(error["data"]["details"]["retryAfter"].to_string().as_str()));
    assert_eq!(send(batch(5)).await.status, 200, "as many as are left");
    assert_eq!(send(batch(1)).await.status, 429);
    assert_eq!(service.rest("POST", "/v1/rpc", batch(7)).await.status, 200, "an operator's");
}

/// A call has as much gas as it asks for, up to the bound; the chain of the process has that of its block.
#[tokio::test]
async fn calls_of_a_hosted_chain_have_a_bound_of_gas() {
    const MAX: u64 = 20_000_000;
    let service = Service::limited(Node::new(), |limits| limits.call_gas_max = MAX).await;
    let made = service.rest(
        "POST",
        "/v1/blockchains",
        json!({ "name": "large", "config": { "blockGasLimit": "1000000000000" } }),
    );
    let id = made.await.json()["data"]["id"].as_str().unwrap().to_owned();
    let owner = Address::repeat_byte(7);
    let mut endless = Erc721Params::new("Art", "ART", "", owner);
    endless.distribution = vec![(owner, u64::MAX)];
    let init_code = endless.init_code();
    let ask = async |path: &str, method: &str, gas: Option<u64>| {
        let mut transaction = json!({ "data": init_code });
        if let Some(gas) = gas {
            transaction["gas"] = format!("{gas:#x}").into();
        }
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": [transaction] });
        service.rest("POST", path, call).await.json()["error"]["message"].as_str().unwrap().to_owned()
    };
    let eth = format!("/v1/blockchains/{id}/eth");
    let eth = eth.as_str();
    for (path, gas, allowed) in [
        (eth, None, MAX),
        (eth, Some(MAX - 1), MAX - 1),
        (eth, Some(MAX), MAX),
        (eth, Some(MAX + 1), MAX),
        ("/", None, 30_000_000),
    ] {
        let message = ask(path, "eth_estimateGas", gas).await;
        assert_eq!(message, format!("gas required exceeds allowance ({allowed})"), "{path} {gas:?}");
    }
    let message = ask(eth, "eth_call", None).await;
    assert!(message.contains("out of gas"), "{message}");
    let params = json!({ "blockchainId": id, "data": init_code, "gasLimit": "1000000000" });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "transaction.simulate", "params": params });
    let simulated = service.rest("POST", "/v1/rpc", call).await.json()["result"].clone();
    assert_eq!((&simulated["success"], &simulated["gasUsed"]), (&json!(false), &json!(MAX.to_string())), "{simulated}");
}

/// Whether a wait is a minute, less what the requests before took.
fn is_a_minute(secs: u64) -> bool {
    (45..=60).contains(&secs)
}

/// The requests left by a `ratelimit` header whose window is a minute.
fn left_in_a_minute(ratelimit: Option<&str>) -> Option<u64> {
    let (left, secs) = ratelimit?.strip_prefix("\"default\";r=")?.split_once(";t=")?;
    is_a_minute(secs.parse().ok()?).then(|| left.parse().ok()).flatten()
}

/// What no endpoint serves counts for the address, whatever credentials come with it.
#[tokio::test]
async fn what_no_endpoint_serves_has_the_quota_of_an_address() {
    for (method, path, status) in [
        ("GET", "/v1/openapi.json", 200),
        ("GET", "/v1/docs", 200),
        ("GET", "/v1/docs?simulate=true", 400),
        ("GET", "/v1/nope", 404),
        ("GET", "/v1/blockchains/%FF", 400),
        ("PUT", "/v1/health", 405),
        ("PUT", "/v1/rpc", 405),
        ("PUT", "/v1/blockchains/bc_default/eth", 405),
    ] {
        let service = Service::limited(Node::new(), |limits| limits.rate.requests = 2).await;
        let key = ("x-api-key", service.api_key.as_str());
        for (left, headers) in [(1, vec![]), (0, vec![key])] {
            let reply = service.send(method, path, &headers, "").await;
            assert_eq!(reply.status, status, "{method} {path}: {}", reply.body);
            assert_eq!(reply.header("ratelimit-policy"), Some("\"default\";q=2;w=60"), "{method} {path}");
            assert_eq!(left_in_a_minute(reply.header("ratelimit")), Some(left), "{method} {path}");
            assert_eq!(reply.header("allow").is_some(), status == 405, "{method} {path}");
        }
        let past = service.send(method, path, &[], "").await;
        assert_eq!(past.status, 429, "{method} {path}: {}", past.body);
        assert_eq!(left_in_a_minute(past.header("ratelimit")), Some(0), "{method} {path}");
        let after = past.header("retry-after").and_then(|after| after.parse::<u64>().ok());
        assert!(after.is_some_and(is_a_minute), "{method} {path}: {after:?}");
        let (error, speaks_json_rpc) = (past.json()["error"].clone(), path.ends_with("/rpc") || path.ends_with("/eth"));
        let code = if speaks_json_rpc { &error["data"]["code"] } else { &error["code"] };
        assert_eq!(code, "RATE_LIMITED", "{method} {path}: {}", past.body);
        assert_eq!(service.send("GET", "/v1/health", &[], "").await.status, 429, "{method} {path}: one quota");
        assert_eq!(service.rest("GET", "/v1/workspaces", Value::Null).await.status, 200, "{method} {path}");
    }
}

/// Forms and what programs send are counted apart, each by the address that a trusted proxy names.
#[tokio::test]
async fn what_an_address_posts_to_the_authorization_server_has_bounds() {
    let mut limits = ServerLimits::default();
    (limits.form_rate.requests, limits.rate.requests) = (2, 3);
    let proxies = TrustedProxies::new(vec!["127.0.0.1".parse().unwrap()], ForwardingHeader::XForwardedFor);
    let service = Service::with(Node::new(), |config| config.with_limits(limits).with_trusted_proxies(proxies)).await;
    let post = async |path: &str, address: &str| {
        let headers = [("content-type", "application/x-www-form-urlencoded"), ("x-forwarded-for", address)];
        service.send("POST", path, &headers, "email=a%40example.org&password=x").await
    };
    for (path, taken, status) in [("/oauth/login", 2, 403), ("/v1/oauth/token", 3, 401)] {
        for left in (0..taken).rev() {
            let reply = post(path, "203.0.113.1").await;
            assert_eq!(reply.status, status, "{path}: {}", reply.body);
            assert_eq!(left_in_a_minute(reply.header("ratelimit")), Some(left), "{path}");
        }
        let refused = post(path, "203.0.113.1").await;
        assert_eq!(refused.status, 429, "{path}: {}", refused.body);
        let after = refused.header("retry-after").and_then(|after| after.parse::<u64>().ok());
        assert!(after.is_some_and(is_a_minute), "{path}: {after:?}");
        assert_eq!(left_in_a_minute(refused.header("ratelimit")), Some(0), "{path}");
        assert_eq!(post(path, "203.0.113.2").await.status, status, "{path}: another address");
    }
    let page = service.send("GET", "/oauth/login", &[("x-forwarded-for", "203.0.113.1")], "").await;
    assert_eq!(page.status, 200, "pages are read all the same");
    assert_eq!(post("/v1/oauth/signup", "203.0.113.1").await.status, 429, "one bound for all forms");
    let begin = async |path: &str| service.send("GET", path, &[("x-forwarded-for", "203.0.113.3")], "").await.status;
    assert_eq!(begin("/oauth/openid/none").await, 404);
    assert_eq!(begin("/v1/oauth/openid/none/callback").await, 404);
    assert_eq!(begin("/oauth/openid/none").await, 429, "a log-in with an outside provider counts as a form");

    let changed = json!({ "name": "mine" }).to_string();
    let headers = [
        ("x-api-key", service.api_key.as_str()),
        ("content-type", "application/json"),
        ("x-forwarded-for", "203.0.113.9"),
    ];
    assert_eq!(service.send("PATCH", "/v1/workspaces/ws_default", &headers, &changed).await.status, 200);
    let lines = service.rest("GET", "/v1/workspaces/ws_default/audit", Value::Null).await.json();
    let lines = lines["data"].as_array().unwrap().clone();
    let last = lines.last().unwrap();
    assert_eq!((&last["action"], &last["client"]), (&json!("workspace.update"), &json!("203.0.113.9")));
}
