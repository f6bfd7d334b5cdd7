//! Webhook subscriptions by the service's routes, and their test delivery to a receiver on this machine.

use chainbox::{node::Node, primitives::hex, server::outbound::OutboundPolicy};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use crate::{
    endpoints::check_answer,
    http::{Reply, Service},
    metrics::other_admin,
};

/// A service that sends to receivers on this machine.
async fn service() -> Service {
    Service::with(Node::new(), |config| config.with_outbound(OutboundPolicy::default().with_loopback())).await
}

/// A receiver on a free port, and its URL.
async fn receiver() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    (listener, url)
}

async fn send(service: &Service, method: &str, path: &str, body: &Value) -> Reply {
    let bearer = format!("Bearer {}", service.api_key);
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    let body = if body.is_null() { String::new() } else { body.to_string() };
    service.send(method, path, &headers, &body).await
}

/// Answers one request with a status; returns its head and body.
async fn receive(listener: TcpListener, status: &str) -> (String, Vec<u8>) {
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut bytes = Vec::new();
    loop {
        let mut some = [0; 4096];
        let count = stream.read(&mut some).await.unwrap();
        bytes.extend_from_slice(&some[..count]);
        let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap().to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap().parse().unwrap();
        let body = bytes[end + 4..].to_vec();
        if body.len() < length {
            continue;
        }
        let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        stream.write_all(answer.as_bytes()).await.unwrap();
        return (head, body);
    }
}

/// Checks that a delivery has the service's signature of the bytes that came, under a secret.
fn assert_signed(head: &str, body: &[u8], secret: &Value) {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_str().unwrap().as_bytes()).unwrap();
    mac.update(body);
    let signature = format!(",v1={}", hex::encode(mac.finalize().into_bytes()));
    let value = head.lines().find_map(|line| line.strip_prefix("service-signature: ")).unwrap();
    assert!(value.ends_with(&signature), "{value}: expected {signature}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subscription_is_made_tested_changed_and_deleted() {
    let service = service().await;
    let (listener, url) = receiver().await;
    let names = json!(["transaction.confirmed", "contract.deployed", "blockchain.transaction.confirmed"]);
    let body = json!({ "url": url, "events": names, "blockchainId": "bc_default" });
    let made = send(&service, "POST", "/v1/webhooks", &body).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let data = made.json()["data"].clone();
    // Each once, in the first of its spellings, which is kept.
    assert_eq!(data["events"], json!(["transaction.confirmed", "contract.deployed"]));
    assert!(data["secret"].as_str().unwrap().starts_with("whsec_"));
    let path = format!("/v1/webhooks/{}", data["id"].as_str().unwrap());
    let shown = send(&service, "GET", &path, &Value::Null).await.json()["data"].clone();
    assert_eq!((&shown["secret"], &shown["events"]), (&Value::Null, &data["events"]), "the secret is shown once");

    let receiver = tokio::spawn(receive(listener, "200 OK"));
    let tested = send(&service, "POST", &format!("{path}/test"), &Value::Null).await;
    assert_eq!((tested.status, tested.json()["data"]["delivered"].clone()), (200, json!(true)), "{}", tested.body);
    let (head, body) = receiver.await.unwrap();
    for header in ["service-signature: t=", "webhook-id: msg_", "webhook-timestamp: ", "webhook-signature: v1,"] {
        assert!(head.contains(header), "{head}");
    }
    assert_signed(&head, &body, &data["secret"]);
    let event: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!((&event["event"], &event["data"]), (&json!("webhook.test"), &json!({ "webhookId": data["id"] })));
    assert_eq!((&event["blockchainId"], &event["sequence"]), (&json!("bc_default"), &Value::Null), "{event}");
    assert!(event["timestamp"].as_str().unwrap().ends_with('Z'), "{event}");
    let id = event["id"].as_str().unwrap();
    assert_eq!(tested.json()["data"]["id"], id, "{}", tested.body);
    assert!(head.contains(&format!("webhook-id: {id}")), "{head}");
    // Nobody listens any more.
    let refused = send(&service, "POST", &format!("{path}/test"), &Value::Null).await.json()["data"].clone();
    assert_eq!((&refused["delivered"], &refused["statusCode"]), (&json!(false), &Value::Null));

    let changed = send(&service, "PATCH", &path, &json!({ "enabled": false })).await;
    assert_eq!(changed.json()["data"]["enabled"], json!(false), "{}", changed.body);
    let disabled = send(&service, "POST", &format!("{path}/test"), &Value::Null).await;
    assert_eq!((disabled.status, &disabled.json()["error"]["code"]), (409, &json!("CONFLICT")), "{}", disabled.body);
    assert!(disabled.body.contains("PATCH enabled to true"), "{}", disabled.body);
    check_answer("testWebhook", &disabled);
    send(&service, "PATCH", &path, &json!({ "enabled": true })).await;
    assert_eq!(send(&service, "POST", &format!("{path}/test"), &Value::Null).await.status, 200, "it is sent again");
    assert_eq!(send(&service, "DELETE", &path, &Value::Null).await.status, 200);
    assert_eq!(send(&service, "GET", &path, &Value::Null).await.status, 404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_secret_is_rotated_and_the_new_one_alone_signs() {
    let service = service().await;
    let (listener, url) = receiver().await;
    let own = "a secret of the receiver's own";
    let body = json!({ "url": url, "events": ["contract.deployed"], "secret": own });
    let made = send(&service, "POST", "/v1/webhooks", &body).await.json()["data"].clone();
    let path = format!("/v1/webhooks/{}", made["id"].as_str().unwrap());
    let rotate = async |key: &str| {
        let headers = [("x-api-key", service.api_key.as_str()), ("idempotency-key", key)];
        service.send("POST", &format!("{path}/rotate-secret"), &headers, "").await
    };
    let first = rotate("first").await;
    assert_eq!(first.status, 200, "{}", first.body);
    check_answer("rotateWebhookSecret", &first);
    let again = rotate("first").await;
    assert_eq!((&again.body, again.header("idempotent-replayed")), (&first.body, Some("true")), "it is rotated once");
    let second = rotate("second").await;
    let secrets = [&first, &second].map(|reply| reply.json()["data"]["secret"].clone());
    assert!(secrets.iter().all(|secret| secret.as_str().unwrap().starts_with("whsec_")), "{secrets:?}");
    assert_ne!(secrets[0], secrets[1]);
    let shown = send(&service, "GET", &path, &Value::Null).await.json()["data"].clone();
    assert_eq!((&shown["secret"], &shown["url"]), (&Value::Null, &made["url"]), "it is shown once");

    let delivery = tokio::spawn(receive(listener, "200 OK"));
    send(&service, "POST", &format!("{path}/test"), &Value::Null).await;
    let (head, body) = delivery.await.unwrap();
    assert_signed(&head, &body, &secrets[1]);

    let lines = send(&service, "GET", "/v1/workspaces/ws_default/audit?limit=100", &Value::Null).await.json();
    let lines = lines["data"].as_array().unwrap();
    let rotations = lines.iter().filter(|line| line["action"] == "webhook.rotate-secret").count();
    assert_eq!(rotations, 2, "{lines:?}");
    let nobodys = send(&service, "POST", "/v1/webhooks/wh_none/rotate-secret", &Value::Null).await;
    assert_eq!(nobodys.status, 404, "{}", nobodys.body);
}

#[tokio::test]
async fn the_chain_of_a_subscription_is_changed_with_the_checks_of_its_creation() {
    let service = Service::start().await;
    let hook = json!({ "url": "https://93.184.215.14/hook", "events": ["contract.deployed"] });
    let made = send(&service, "POST", "/v1/webhooks", &hook).await.json()["data"].clone();
    assert_eq!(made["blockchainId"], Value::Null);
    let path = format!("/v1/webhooks/{}", made["id"].as_str().unwrap());
    let theirs = service
        .send(
            "POST",
            "/v1/blockchains",
            &[("x-api-key", other_admin(&service).as_str()), ("content-type", "application/json")],
            r#"{"name":"theirs","features":["privacy"]}"#,
        )
        .await;
    assert_eq!(theirs.status, 201, "{}", theirs.body);
    let theirs = theirs.json()["data"]["id"].clone();
    // What is left out stays; null is every chain.
    for (change, want) in [
        (json!({ "blockchainId": "bc_default" }), json!("bc_default")),
        (json!({ "enabled": true }), json!("bc_default")),
        (json!({ "blockchainId": null }), Value::Null),
        (json!({ "blockchainId": "bc_default", "events": ["validator.status.changed"] }), json!("bc_default")),
    ] {
        let changed = send(&service, "PATCH", &path, &change).await;
        assert_eq!(changed.status, 200, "{change}: {}", changed.body);
        assert_eq!(changed.json()["data"]["blockchainId"], want, "{change}");
    }
    for id in [json!("bc_none"), theirs] {
        let refused = send(&service, "PATCH", &path, &json!({ "blockchainId": id, "enabled": false })).await;
        assert_eq!(refused.status, 404, "{id}: {}", refused.body);
        check_answer("updateWebhook", &refused);
    }
    let shown = send(&service, "GET", &path, &Value::Null).await.json()["data"].clone();
    assert_eq!((&shown["blockchainId"], &shown["enabled"]), (&json!("bc_default"), &json!(true)), "nothing is changed");
}

#[tokio::test]
async fn receivers_that_only_this_machine_reaches_are_refused_by_name() {
    let service = Service::start().await;
    for url in
        ["http://example.com/", "https://127.0.0.1/", "https://10.0.0.1/", "https://[::1]/", "ftp://example.com/"]
    {
        let body = json!({ "url": url, "events": ["contract.deployed"] });
        let refused = send(&service, "POST", "/v1/webhooks", &body).await;
        assert_eq!(refused.status, 422, "{url}: {}", refused.body);
        assert_eq!(refused.json()["error"]["details"]["fields"][0]["path"], "url", "{}", refused.body);
    }
}

/// Reading a URL drops line breaks and tabs: what is shown would be another one than what is used.
#[tokio::test]
async fn receivers_with_control_characters_are_refused_by_name() {
    let service = Service::start().await;
    let body = |url: &str| json!({ "url": url, "events": ["contract.deployed"] });
    let made = send(&service, "POST", "/v1/webhooks", &body("https://93.184.215.14/hook")).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let path = format!("/v1/webhooks/{}", made.json()["data"]["id"].as_str().unwrap());
    for url in [
        "https://example.com/\r\nX: y",
        "https://exam\tple.com/",
        "https://example.com/\n",
        "https://example.com/\u{0}",
        "https://example.com/\u{7f}",
    ] {
        for (method, path, body) in [("POST", "/v1/webhooks", body(url)), ("PATCH", &*path, json!({ "url": url }))] {
            let refused = send(&service, method, path, &body).await;
            assert_eq!(refused.status, 422, "{method} {url:?}: {}", refused.body);
            let field = refused.json()["error"]["details"]["fields"][0].take();
            assert_eq!(field["path"], "url", "{}", refused.body);
            assert!(field["expected"].as_str().unwrap().contains("control characters"), "{}", refused.body);
        }
    }
    let shown = send(&service, "GET", &path, &Value::Null).await.json()["data"].clone();
    assert_eq!(shown["url"], "https://93.184.215.14/hook", "nothing is changed");
}
