//! What is another workspace's is to a stranger as if it were not there: by every route and every id, in paths, queries and bodies.

use serde_json::{Value, json};

use super::{
    Operation, details,
    filled::{Filled, fill, send, variables},
    roomy,
};
use crate::{
    http::{Reply, Service},
    metrics::other_admin,
};

/// An id of the same form that nobody has.
fn unknown(id: &str) -> String {
    match id {
        "dao" => "nft".to_owned(),
        _ => {
            let (rest, last) = id.split_at(id.len() - 1);
            format!("{rest}{}", if last == "0" { "1" } else { "0" })
        }
    }
}

/// Status and body, without what each answer has of its own, and with one word for the ids that were sent.
fn seen(reply: &Reply, sent: &[String]) -> (u16, Value) {
    let mut text = reply.body.clone();
    for id in sent {
        text = text.replace(id, "ID");
    }
    let mut body: Value = serde_json::from_str(&text).unwrap();
    for own in ["requestId", "timestamp"] {
        if let Some(value) = body["error"].get_mut(own) {
            *value = Value::Null;
        }
    }
    (reply.status, body)
}

struct Stranger<'a> {
    service: &'a Service,
    key: String,
    workspace: String,
    chain: String,
}

impl Stranger<'_> {
    async fn send(&self, method: &str, path: &str, body: &str) -> Reply {
        send(self.service, &self.key, method, path, body).await
    }

    /// Sends a request with an id that there is, and one with an id that there is not: both are 404, and alike.
    async fn is_told_nothing(&self, operation: &Operation, real: (&str, &[String]), other: (&str, &[String])) {
        let body = operation.body();
        let query = operation.required_query();
        let get = async |path: &str| self.send(&operation.method, &format!("{path}{query}"), &body).await;
        let (found, nobody) = (get(real.0).await, get(other.0).await);
        assert_eq!(found.status, 404, "{} {}: {}", operation.name(), real.0, found.body);
        assert!(!found.body.contains("there is no resource at"), "{}: no route: {}", operation.name(), found.body);
        assert_eq!(seen(&found, real.1), seen(&nobody, other.1), "{} {}", operation.name(), real.0);
    }
}

#[tokio::test]
async fn ids_of_other_workspaces_are_not_found_by_any_route() {
    let service = roomy().await;
    let (_, operations) = Operation::all();
    let filled = Filled::of(&service).await;
    let key = other_admin(&service);
    let workspaces = send(&service, &key, "GET", "/v1/workspaces", "").await.json();
    let workspace = workspaces["data"][0]["id"].as_str().unwrap().to_owned();
    let own = r#"{"name":"own","features":["smart-contracts","privacy"]}"#;
    let made = send(&service, &key, "POST", "/v1/blockchains", own).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let chain = made.json()["data"]["id"].as_str().unwrap().to_owned();
    let stranger = Stranger { service: &service, key, workspace, chain };
    let before = filled.shown(&service, &operations).await;
    let mut walked = 0;
    for operation in &operations {
        let names = variables(&operation.path);
        let Some(first) = names.first() else { continue };
        // All ids are those of one thing.
        let real = filled.path(operation);
        let ids: Vec<String> = names.iter().map(|name| filled.id(name).to_owned()).collect();
        // An id that nobody has is the first that is looked at.
        let other = fill(&operation.path, |name| match name == *first {
            true => unknown(filled.id(name)),
            false => filled.id(name).to_owned(),
        });
        let mut others = ids.clone();
        others[0] = unknown(&ids[0]);
        stranger.is_told_nothing(operation, (&real, &ids), (&other, &others)).await;
        walked += 1;
        // The stranger's own workspace or chain, and a thing in it that is another's. Addresses and names of blocks are everybody's.
        if let [outer, inner] = names[..] {
            let own = match outer {
                "workspaceId" => &stranger.workspace,
                "blockchainId" => &stranger.chain,
                other => panic!("say here what is the stranger's own {other}"),
            };
            if inner == "address" {
                continue;
            }
            let path =
                |inner: String| fill(&operation.path, |name| if name == outer { own.clone() } else { inner.clone() });
            let (real, other) = (filled.id(inner).to_owned(), unknown(filled.id(inner)));
            // Both are the names of modules that the chain does not have.
            let ids = |id: &String| vec![id.clone()];
            stranger
                .is_told_nothing(operation, (&path(real.clone()), &ids(&real)), (&path(other.clone()), &ids(&other)))
                .await;
        }
    }
    assert!(walked > 60, "{walked}");
    assert_eq!(filled.shown(&service, &operations).await, before, "nothing has changed");
    // No list has any of it.
    for operation in operations.iter().filter(|operation| operation.method == "GET" && !operation.path.contains('{')) {
        let path = format!("{}{}", operation.path, operation.required_query());
        let reply = stranger.send("GET", &path, "").await;
        let names = filled.own_ids().find(|id| reply.body.contains(id));
        assert!(names.is_none() || operation.is_public(), "{} tells of {names:?}: {}", operation.name(), reply.body);
    }
}

/// Method, path and body.
type Sent = (&'static str, String, Value);

/// Requests that name a chain in a query or a body; whatever else they name is the stranger's own.
fn naming(workspace: &str, webhook: &str, chain: &str) -> [Sent; 12] {
    let address = format!("0x{}", "11".repeat(20));
    let params = json!({ "name": "G", "symbol": "G" });
    let hook = |name: &str, value: Value| {
        let mut body = json!({ "url": "https://93.184.215.14/hook", "events": ["contract.deployed"] });
        body[name] = value;
        body
    };
    [
        (
            "POST",
            "/v1/contracts/deploy".to_owned(),
            json!({ "blockchainId": chain, "template": "erc20-token", "params": params }),
        ),
        (
            "POST",
            "/v1/tokens".to_owned(),
            json!({ "blockchainId": chain, "standard": "ERC20", "name": "G", "symbol": "G" }),
        ),
        ("POST", "/v1/dapps".to_owned(), json!({ "name": "x", "template": "nft", "blockchainId": chain })),
        ("POST", "/v1/dapps/plan".to_owned(), json!({ "template": "nft", "blockchainId": chain, "from": address })),
        (
            "POST",
            format!("/v1/workspaces/{workspace}/projects/plan"),
            json!({ "name": "x", "template": "erc20-token", "config": { "blockchain": chain }, "from": address }),
        ),
        ("POST", "/v1/governance/proposals".to_owned(), json!({ "blockchainId": chain, "title": "x", "type": "text" })),
        ("POST", "/v1/webhooks".to_owned(), hook("blockchainId", json!(chain))),
        ("POST", "/v1/webhooks".to_owned(), hook("filters", json!({ "blockchainId": chain }))),
        ("PATCH", format!("/v1/webhooks/{webhook}"), json!({ "blockchainId": chain })),
        (
            "POST",
            format!("/v1/workspaces/{workspace}/projects"),
            json!({ "name": "x", "config": { "blockchain": chain } }),
        ),
        ("GET", format!("/v1/analytics/timeseries?blockchainId={chain}&metric=tps"), Value::Null),
        (
            "POST",
            "/v1/rpc".to_owned(),
            json!({
                "jsonrpc": "2.0",
                "id": 1,
                "method": "blockchain.getBlock",
                "params": { "blockchainId": chain, "blockNumber": "latest" },
            }),
        ),
    ]
}

/// Ids in queries and in bodies.
#[tokio::test]
async fn ids_of_other_workspaces_in_queries_and_bodies_are_those_of_nobody() {
    let service = roomy().await;
    let (_, operations) = Operation::all();
    let filled = Filled::of(&service).await;
    let key = other_admin(&service);
    let workspaces = send(&service, &key, "GET", "/v1/workspaces", "").await.json();
    let workspace = workspaces["data"][0]["id"].as_str().unwrap().to_owned();
    let stranger = Stranger { service: &service, key, workspace, chain: String::new() };
    let hook = json!({ "url": "https://93.184.215.14/hook", "events": ["contract.deployed"] });
    let hook = stranger.send("POST", "/v1/webhooks", &hook.to_string()).await;
    assert_eq!(hook.status, 201, "{}", hook.body);
    let webhook = hook.json()["data"]["id"].as_str().unwrap().to_owned();
    let before = filled.shown(&service, &operations).await;
    let mut walked = 0;
    for id in [filled.chain.as_str(), "bc_default"] {
        let other = unknown(id);
        let cases = |id: &str| naming(&stranger.workspace, &webhook, id);
        for ((method, path, body), (_, nobodys, nobody)) in cases(id).into_iter().zip(cases(&other)) {
            let found = stranger.send(method, &path, &body.to_string()).await;
            let nothing = stranger.send(method, &nobodys, &nobody.to_string()).await;
            let is_refused = matches!(found.status, 404 | 422) || found.body.contains("\"error\"");
            assert!(is_refused, "{method} {path} {body}: {}", found.body);
            // It is the chain that is not found, not the path.
            let is_of_a_route = found.status != 404 || details(&found)["resource"] == "blockchain";
            assert!(is_of_a_route, "{method} {path} {body}: {}", found.body);
            assert_eq!(
                seen(&found, &[id.to_owned()]),
                seen(&nothing, std::slice::from_ref(&other)),
                "{method} {path} {body}"
            );
            walked += 1;
        }
    }
    let shown = stranger.send("GET", &format!("/v1/webhooks/{webhook}"), "").await;
    assert_eq!((shown.status, &shown.json()["data"]["blockchainId"]), (200, &Value::Null), "{}", shown.body);
    let dapp = |workspace: &str| json!({ "name": "x", "workspaceId": workspace }).to_string();
    let (home, nobodys) = (filled.id("workspaceId").to_owned(), unknown(filled.id("workspaceId")));
    let found = stranger.send("POST", "/v1/dapps", &dapp(&home)).await;
    assert_eq!(found.status, 404, "{}", found.body);
    let nothing = stranger.send("POST", "/v1/dapps", &dapp(&nobodys)).await;
    assert_eq!(seen(&found, &[home]), seen(&nothing, &[nobodys]));
    assert_eq!(walked, 24);
    assert_eq!(filled.shown(&service, &operations).await, before, "nothing has changed");
}
