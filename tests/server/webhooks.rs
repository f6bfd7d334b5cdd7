//! Webhook subscriptions by the service's routes, and their test delivery to a receiver on this machine.

use chainbox::server::outbound::OutboundPolicy;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use crate::http::{Reply, Service};

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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subscription_is_made_tested_changed_and_deleted() {
    let service = Service::with(chainbox::node::Node::new(), |config| {
        config.with_outbound(OutboundPolicy::default().with_loopback())
    })
    .await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
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
    assert_eq!(serde_json::from_slice::<Value>(&body).unwrap()["event"], "webhook.test");
    // Nobody listens any more.
    let refused = send(&service, "POST", &format!("{path}/test"), &Value::Null).await.json()["data"].clone();
    assert_eq!((&refused["delivered"], &refused["statusCode"]), (&json!(false), &Value::Null));

    let changed = send(&service, "PATCH", &path, &json!({ "enabled": false })).await;
    assert_eq!(changed.json()["data"]["enabled"], json!(false), "{}", changed.body);
    assert_eq!(send(&service, "DELETE", &path, &Value::Null).await.status, 200);
    assert_eq!(send(&service, "GET", &path, &Value::Null).await.status, 404);
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
