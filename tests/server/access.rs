//! Who may use the server: token, development methods, origins, hosts; and what a browser gets.

use chainbox::{
    node::Node,
    server::{EthRpc, ServerConfig},
};
use serde_json::json;

use crate::http::Service;

const CHAIN_ID: &str = r#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}"#;
const JSON: (&str, &str) = ("content-type", "application/json");

#[tokio::test]
async fn a_token_guards_the_ethereum_interface_and_not_the_service() {
    let with_token = |config: ServerConfig| config.with_rpc_token("open-sesame").unwrap();
    let service = Service::with(Node::new(), with_token).await;
    for path in ["/"] {
        for (authorization, status) in [
            (None, 401),
            (Some("Bearer wrong-one"), 401),
            (Some("Basic open-sesame"), 401),
            (Some("Bearer open-sesame"), 200),
        ] {
            let mut headers = vec![JSON];
            headers.extend(authorization.map(|value| ("authorization", value)));
            let reply = service.send("POST", path, &headers, CHAIN_ID).await;
            assert_eq!(reply.status, status, "{path} {authorization:?}");
            assert_eq!(reply.header("www-authenticate").is_some(), status == 401);
        }
    }
    assert_eq!(service.send("GET", "/v1/health", &[], "").await.status, 200);
    let preflight = [("origin", "http://localhost:3000"), ("access-control-request-method", "POST")];
    assert_eq!(service.send("OPTIONS", "/", &preflight, "").await.status, 204, "a preflight has no credentials");
}

#[tokio::test]
async fn a_websocket_sends_the_token_as_header_or_first_subprotocol() {
    let service = Service::with(Node::new(), |config| config.with_rpc_token("open-sesame").unwrap()).await;
    let upgrade = [
        ("connection", "Upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    for (extra, refused) in [
        (None, true),
        (Some(("sec-websocket-protocol", "wrong-one")), true),
        (Some(("sec-websocket-protocol", "open-sesame, eth")), false),
        (Some(("authorization", "Bearer open-sesame")), false),
    ] {
        let mut headers = upgrade.to_vec();
        headers.extend(extra);
        let head = service.head("GET", "/", &headers).await;
        let want = if refused { "HTTP/1.1 401" } else { "HTTP/1.1 101" };
        assert!(head.starts_with(want), "{extra:?}: {head}");
        let agrees = head.to_lowercase().contains("sec-websocket-protocol: open-sesame");
        assert_eq!(agrees, extra.is_some_and(|(name, value)| name.ends_with("protocol") && value != "wrong-one"));
    }
}

#[tokio::test]
async fn without_development_methods_nothing_signs_or_changes_the_chain_by_hand() {
    let node = Node::new();
    let rpc = EthRpc::without_development(node.clone());
    let call = async |method: &str, params: serde_json::Value| {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let (response, _) = rpc.methods().raw_json_request(&call.to_string(), 1).await.unwrap();
        serde_json::from_str::<serde_json::Value>(response.get()).unwrap()
    };
    let account = node.accounts()[0];
    for method in [
        "anvil_setBalance",
        "hardhat_impersonateAccount",
        "evm_mine",
        "evm_snapshot",
        "eth_sendTransaction",
        "eth_sendUnsignedTransaction",
        "eth_signTransaction",
        "eth_sign",
        "personal_sign",
        "eth_signTypedData_v4",
    ] {
        assert_eq!(call(method, json!([])).await["error"]["code"], -32601, "{method}");
    }
    assert_eq!(call("eth_accounts", json!([])).await["result"], json!([]));
    assert_eq!(call("eth_getBalance", json!([account, "latest"])).await["error"], json!(null));
    let modules = call("rpc_modules", json!([])).await["result"].clone();
    assert!(modules["eth"].is_string() && modules["anvil"].is_null() && modules["evm"].is_null(), "{modules}");
    let reply = call("eth_sendRawTransaction", json!(["0x"])).await;
    assert_eq!(reply["error"]["code"], -32000, "it is there, and refuses what is no transaction");
}

#[tokio::test]
async fn a_preflight_allows_the_headers_that_the_page_asks_for() {
    let service = Service::start().await;
    let asked = "content-type, sentry-trace, baggage, traceparent";
    let headers = [
        ("origin", "http://localhost:3000"),
        ("access-control-request-method", "POST"),
        ("access-control-request-headers", asked),
    ];
    let preflight = service.send("OPTIONS", "/", &headers, "").await;
    assert_eq!((preflight.status, preflight.header("access-control-allow-headers")), (204, Some(asked)));
}

#[tokio::test]
async fn a_server_for_other_machines_accepts_pages_of_this_one() {
    let everywhere = |_| ServerConfig::new(([0, 0, 0, 0], 0).into()).with_open_origins();
    let service = Service::with(Node::new(), everywhere).await;
    for (origin, status) in
        [("http://localhost:3000", 200), ("http://127.0.0.1:5173", 200), ("https://evil.example", 403)]
    {
        let reply = service.send("POST", "/", &[JSON, ("origin", origin)], CHAIN_ID).await;
        assert_eq!(reply.status, status, "{origin}");
        let allowed = (status == 200).then_some(origin);
        assert_eq!(reply.header("access-control-allow-origin"), allowed);
    }
}

/// By the flags of the real binary: `dev` is open to pages on loopback, `serve` is not.
#[cfg(feature = "rocksdb")]
#[test]
fn on_loopback_dev_alone_is_open_to_pages_of_every_origin() {
    use crate::{
        binary::Dev,
        serving::{Serving, send},
    };

    let folder = tempfile::tempdir().unwrap();
    let dev = Dev::start(folder.path(), &["--quiet"]);
    let data = folder.path().join("data");
    let serving = Serving::start(&["--db-path", data.to_str().unwrap(), "--allow-origin", "https://app.example"]);
    let own = format!("http://{}", serving.address);
    for (address, origin, status, allowed) in [
        (dev.address(), "https://evil.example", 200, Some("*")),
        (dev.address(), "http://localhost:3000", 200, Some("*")),
        (serving.address.clone(), "https://evil.example", 403, None),
        (serving.address.clone(), "http://localhost:3000", 403, None),
        (serving.address.clone(), "null", 403, None),
        (serving.address.clone(), "https://app.example", 200, Some("https://app.example")),
        (serving.address.clone(), own.as_str(), 200, Some(own.as_str())),
    ] {
        let answer = send(&address, "GET", "/v1/health", &format!("origin: {origin}\r\n"), "").unwrap();
        let header = answer.head.lines().find_map(|line| line.strip_prefix("access-control-allow-origin: "));
        assert_eq!((answer.status, header), (status, allowed), "{origin} at {address}");
    }
}

#[tokio::test]
async fn markup_in_a_host_name_reaches_no_page() {
    let service = Service::start().await;
    for host in ["<script>alert(1)</script>.localhost", "a'b.localhost", "a&b.localhost"] {
        let reply = service.send("GET", "/", &[("host", host), ("accept", "text/html")], "").await;
        assert!(matches!(reply.status, 400 | 403), "{host}: {}", reply.status);
        assert!(reply.header("content-type").is_none_or(|kind| kind.starts_with("text/plain")), "{host}");
    }
    let page = service.send("GET", "/", &[("host", "a-b.localhost:8545"), ("accept", "text/html")], "").await;
    assert!(page.status == 200 && page.body.contains("http://a-b.localhost:8545/"));
}

#[tokio::test]
async fn a_program_that_gets_the_page_is_told_the_methods() {
    let service = Service::start().await;
    for headers in [&[][..], &[("accept", "*/*")], &[("accept", "application/json")]] {
        let reply = service.send("GET", "/", headers, "").await;
        assert_eq!((reply.status, reply.header("allow")), (405, Some("GET, HEAD, POST, OPTIONS")), "{headers:?}");
    }
    let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    assert_eq!(service.send("GET", "/", &[("accept", browser)], "").await.status, 200);
}
