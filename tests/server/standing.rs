//! WebSocket sessions with the Ethereum JSON-RPC of a chain, whose clients lose what let them in: each message is admitted as a request is,
//! and a session ends with its credentials.

use std::time::Duration;

use chainbox::{
    node::Node,
    platform::{ApiKeySpec, Plan, Scope},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::{http::Service, websocket::Socket};

const ETH: &str = "/v1/blockchains/bc_default/eth";

/// Makes an API key; returns its id and its text.
async fn api_key(service: &Service, body: Value) -> (String, String) {
    let authorization = format!("Bearer {}", service.api_key);
    let headers = [("authorization", authorization.as_str()), ("content-type", "application/json")];
    let made = service.send("POST", "/v1/auth/api-keys", &headers, &body.to_string()).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let text = |name: &str| made.json()["data"][name].as_str().unwrap().to_owned();
    (text("id"), text("key"))
}

async fn pinging() -> Service {
    Service::limited(Node::new(), |limits| limits.ping_interval = Duration::from_millis(50)).await
}

async fn done(service: &Service, method: &str, path: &str) {
    let reply = service.rest(method, path, Value::Null).await;
    assert_eq!(reply.status, 200, "{method} {path}: {}", reply.body);
}

#[tokio::test]
async fn a_revoked_key_ends_its_sessions() {
    let service = Service::start().await;
    let (id, key) = api_key(&service, json!({ "name": "session", "scopes": ["blockchain:read"] })).await;
    let mut calling = Socket::connect_with(&service, ETH, &key).await;
    let mut told = Socket::connect_with(&service, ETH, &key).await;
    assert_eq!(calling.call("eth_blockNumber", json!([])).await["result"], "0x0");
    let heads = told.call("eth_subscribe", json!(["newHeads"])).await["result"].clone();
    let node = service.platform.default_blockchain().unwrap().node().clone();
    node.mine(1).unwrap();
    assert_eq!(told.next(&heads).await["number"], "0x1");
    done(&service, "DELETE", &format!("/v1/auth/api-keys/{id}")).await;
    calling.send(r#"{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}"#).await;
    let (code, reason) = calling.closed().await;
    assert_eq!((code, reason.as_str()), (1008, "the API key is not known here, was revoked or has expired"));
    // Whoever only listens is told nothing more, a second later at most.
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    node.mine(1).unwrap();
    assert_eq!(told.closed().await.0, 1008);
}

#[tokio::test]
async fn a_silent_session_ends_with_its_key() {
    let service = pinging().await;
    let (id, revoked) = api_key(&service, json!({ "name": "silent", "scopes": ["blockchain:read"] })).await;
    let platform = &service.platform;
    let scopes = [Scope::BlockchainRead].into_iter().collect();
    let spec = ApiKeySpec { name: "short".to_owned(), scopes, lifetime_ms: Some(1_500) };
    let made = platform.unit(|unit| platform.api_keys().create(unit, &platform.service_principal(), spec));
    let expiring = made.unwrap().0.text().to_owned();
    let mut sessions =
        [Socket::connect_with(&service, ETH, &revoked).await, Socket::connect_with(&service, ETH, &expiring).await];
    done(&service, "DELETE", &format!("/v1/auth/api-keys/{id}")).await;
    for session in &mut sessions {
        let (code, reason) = session.closed().await;
        assert_eq!((code, reason.as_str()), (1008, "the API key is not known here, was revoked or has expired"));
    }
    let mut open = Socket::connect(&service, "/").await;
    assert_eq!(open.call("eth_blockNumber", json!([])).await["result"], "0x0", "it needs no credentials");
}

#[tokio::test]
async fn a_session_ends_with_the_right_to_read_its_chain_and_with_the_chain() {
    let service = pinging().await;
    let made = service.rest("POST", "/v1/blockchains", json!({ "name": "secret", "features": ["privacy"] })).await;
    let id = made.json()["data"]["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/blockchains/{id}");
    let (other, _) = api_key(&service, json!({ "name": "other", "scopes": ["blockchain:read"] })).await;
    let mut session = Socket::connect(&service, &format!("{path}/eth")).await;
    let added =
        service.rest("POST", &format!("{path}/participants"), json!({ "participant": format!("key:{other}") })).await;
    assert_eq!(added.status, 201, "{}", added.body);
    assert_eq!(session.call("eth_blockNumber", json!([])).await["result"], "0x0");
    done(&service, "DELETE", &format!("{path}/participants/service")).await;
    let (code, reason) = session.closed().await;
    assert!(code == 1008 && reason.contains("its participants alone read it"), "{code} {reason}");

    let made = service.rest("POST", "/v1/blockchains", json!({ "name": "short-lived" })).await;
    let id = made.json()["data"]["id"].as_str().unwrap().to_owned();
    let mut session = Socket::connect(&service, &format!("/v1/blockchains/{id}/eth")).await;
    session.call("eth_subscribe", json!(["newHeads"])).await;
    done(&service, "DELETE", &format!("/v1/blockchains/{id}")).await;
    let (code, reason) = session.closed().await;
    assert!(code == 1008 && reason.contains(&id), "{code} {reason}");
}

#[tokio::test]
async fn messages_count_as_requests_do() {
    let service = Service::limited(Node::new(), |limits| {
        limits.rate.requests = 4;
        limits.rate.window = Duration::from_secs(2);
    })
    .await;
    let mut session = Socket::connect(&service, ETH).await;
    for _ in 0..3 {
        assert_eq!(session.call("eth_chainId", json!([])).await["result"], "0x7a69");
    }
    let refused = session.call("eth_chainId", json!([])).await;
    let error = &refused["error"];
    assert_eq!((&error["code"], &error["data"]["code"]), (&json!(-32005), &json!("RATE_LIMITED")), "{refused}");
    assert!(error["message"].as_str().unwrap().starts_with("more than 4 requests in 2 s"), "{refused}");
    session
        .send(r#"[{"jsonrpc":"2.0","id":"a","method":"eth_chainId"},{"jsonrpc":"2.0","method":"eth_chainId"}]"#)
        .await;
    let batch = session.receive().await;
    assert_eq!((&batch[0]["id"], &batch[0]["error"]["code"]), (&json!("a"), &json!(-32005)), "each call is told");
    assert_eq!(batch.as_array().unwrap().len(), 1, "{batch}");
    assert_eq!(service.rest("GET", "/v1/workspaces", Value::Null).await.status, 429, "one quota for both");
    tokio::time::sleep(Duration::from_millis(2_100)).await;
    assert_eq!(session.call("eth_chainId", json!([])).await["result"], "0x7a69", "the session goes on");
}

#[tokio::test]
async fn bytes_of_messages_and_of_bodies_in_chunks_are_used() {
    let service = Service::planned(Plan { bytes_max: 1 << 30, ..Plan::UNLIMITED }).await;
    let used = async |id: &str| {
        service.platform.metering().flush().unwrap();
        let list = service.rest("GET", "/v1/workspaces/ws_default/usage", Value::Null).await;
        let used =
            list.json()["data"].as_array().unwrap().iter().find(|usage| usage["id"] == id).unwrap()["used"].clone();
        (used.as_u64().unwrap(), list.body.len() as u64)
    };
    let padding = "0".repeat(50_000);
    let call =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "web3_sha3", "params": [format!("0x{padding}")] }).to_string();

    let (before, of_list) = used("bytes").await;
    let body = format!("{:x}\r\n{call}\r\n0\r\n\r\n", call.len());
    let head = format!(
        "POST {ETH} HTTP/1.1\r\nhost: {}\r\nx-api-key: {}\r\ncontent-type: application/json\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n",
        service.address, service.api_key
    );
    let mut stream = TcpStream::connect(service.address).await.unwrap();
    stream.write_all((head + &body).as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let sent = answer.split_once("\r\n\r\n").unwrap().1.len() as u64;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("result"), "{answer}");
    let (after, _) = used("bytes").await;
    assert_eq!(after - before, call.len() as u64 + sent + of_list);

    let mut session = Socket::connect(&service, ETH).await;
    let (before, of_list) = used("bytes").await;
    let (requests, of_second) = used("requests").await;
    session.send(&call).await;
    let response = session.receive().await;
    assert!(response["result"].is_string(), "{response}");
    let (after, _) = used("bytes").await;
    let (requests_after, _) = used("requests").await;
    let text = response.to_string().len() as u64;
    assert_eq!(after - before, call.len() as u64 + text + of_list + of_second, "{before} {after}");
    assert_eq!(requests_after - requests, 3, "the message, and two looks at the usage");
}
