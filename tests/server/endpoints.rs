//! Every endpoint of the service, walked by the list that its document is made of: credentials, scopes, bodies, answers.

mod bad_input;
mod credentials;
mod documented_bodies;
mod example_shapes;
mod filled;
mod negation;
mod strangers;
mod texts;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use chainbox::{
    node::{BlockRef, Node},
    platform::{ApiKeySpec, DEFAULT_WORKSPACE_ID, Scope},
    server::openapi_json,
};
use serde_json::{Value, json};

use crate::http::{Reply, Service};

const JSON: (&str, &str) = ("content-type", "application/json");

/// An operation of the document.
struct Operation {
    method: String,
    path: String,
    value: Value,
}

impl Operation {
    fn all() -> (Value, Vec<Self>) {
        let document: Value = serde_json::from_str(&openapi_json()).unwrap();
        let mut all = Vec::new();
        for (path, methods) in document["paths"].as_object().unwrap() {
            for (method, value) in methods.as_object().unwrap() {
                all.push(Self { method: method.to_uppercase(), path: path.clone(), value: value.clone() });
            }
        }
        assert!(all.len() > 25, "{}", all.len());
        (document, all)
    }

    fn name(&self) -> &str {
        self.value["operationId"].as_str().unwrap()
    }

    /// The path with ids that are well formed: the default workspace, and others that nobody has.
    fn target(&self) -> String {
        let segments = self.path.split('/').map(|segment| match segment {
            "{workspaceId}" => DEFAULT_WORKSPACE_ID.to_owned(),
            segment if segment.starts_with('{') => "none_0123456789abcdef".to_owned(),
            segment => segment.to_owned(),
        });
        segments.collect::<Vec<_>>().join("/") + &self.required_query()
    }

    /// The query parameters that it does not do without.
    fn required_query(&self) -> String {
        let parameters = self.value["parameters"].as_array().cloned().unwrap_or_default();
        let required = parameters.iter().filter(|one| one["in"] == "query" && one["required"] == true);
        let pairs = required.map(|one| {
            let value = one["schema"]["enum"][0].as_str().unwrap_or("bc_default");
            format!("{}={value}", one["name"].as_str().unwrap())
        });
        let pairs: Vec<String> = pairs.collect();
        if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) }
    }

    /// Whether the document has a parameter of this name in this place.
    fn takes(&self, name: &str, place: &str) -> bool {
        let mut parameters = self.value["parameters"].as_array().into_iter().flatten();
        parameters.any(|one| one["name"] == name && one["in"] == place)
    }

    fn is_public(&self) -> bool {
        self.value["security"].as_array().unwrap().is_empty()
    }

    /// The scopes that it needs, all of them.
    fn scopes(&self) -> Vec<Scope> {
        let security = self.value["security"].as_array().unwrap();
        let names = security.iter().find_map(|one| one["oauth2"].as_array()).into_iter().flatten();
        names.map(|name| Scope::from_name(name.as_str().unwrap()).unwrap()).collect()
    }

    fn is_foreign(&self) -> bool {
        matches!(self.name(), "rpc" | "ethereumRpc")
    }

    /// An example of the body.
    fn examples(&self) -> Vec<Value> {
        let examples = &self.value["requestBody"]["content"]["application/json"]["examples"];
        examples.as_object().map(|all| all.values().map(|one| one["value"].clone()).collect()).unwrap_or_default()
    }

    async fn send(&self, service: &Service, headers: &[(&str, &str)], body: &str) -> Reply {
        let headers = [headers, &[JSON]].concat();
        service.send(&self.method, &self.target(), &headers, body).await
    }

    fn body(&self) -> String {
        self.examples().first().map(Value::to_string).unwrap_or_default()
    }
}

/// Returns the validator of an operation's answers with a status. It is built once: a walk checks thousands.
fn validator(document: &Value, operation: &Operation, status: u16, schema: &Value) -> Arc<jsonschema::Validator> {
    static BUILT: Mutex<BTreeMap<(String, u16), Arc<jsonschema::Validator>>> = Mutex::new(BTreeMap::new());
    let mut built = BUILT.lock().unwrap();
    let validator = built.entry((operation.name().to_owned(), status)).or_insert_with(|| {
        let whole = json!({ "allOf": [schema], "components": document["components"] });
        Arc::new(jsonschema::options().with_draft(jsonschema::Draft::Draft202012).build(&whole).unwrap())
    });
    Arc::clone(validator)
}

/// Checks that the document has the answer: its status, and its body by the schema.
fn check(document: &Value, operation: &Operation, reply: &Reply) {
    let response = &operation.value["responses"][reply.status.to_string()];
    assert!(response.is_object(), "{} answers {}: {}", operation.name(), reply.status, reply.body);
    let schema = &response["content"]["application/json"]["schema"];
    let validator = validator(document, operation, reply.status, schema);
    let body = reply.json();
    let errors: Vec<String> =
        validator.iter_errors(&body).map(|error| format!("{} at {}", error, error.instance_path())).collect();
    assert!(errors.is_empty(), "{} {}: {errors:?}: {}", operation.name(), reply.status, reply.body);
    for header in ["x-request-id", "ratelimit", "ratelimit-policy"] {
        assert!(reply.header(header).is_some(), "{} {}: no {header}", operation.name(), reply.status);
    }
}

/// Details of an error: in the envelope, or in an error of JSON-RPC.
fn details(reply: &Reply) -> Value {
    let error = reply.json()["error"].clone();
    error["data"].get("details").unwrap_or(&error["details"]).clone()
}

/// Checks that the document has an answer to an operation.
pub(crate) fn check_answer(operation: &str, reply: &Reply) {
    let (document, operations) = Operation::all();
    let operation = operations.iter().find(|known| known.name() == operation).unwrap();
    check(&document, operation, reply);
}

/// A service that takes as many requests as a walk sends.
async fn roomy() -> Service {
    Service::limited(Node::new(), |limits| limits.rate.requests = 1_000_000).await
}

fn key_with(service: &Service, scopes: impl IntoIterator<Item = Scope>, lifetime_ms: Option<u64>) -> String {
    let platform = &service.platform;
    let spec = ApiKeySpec { name: "walker".to_owned(), scopes: scopes.into_iter().collect(), lifetime_ms };
    let made = platform.unit(|unit| platform.api_keys().create(unit, &platform.service_principal(), spec));
    made.unwrap().0.text().to_owned()
}

#[tokio::test]
async fn every_endpoint_answers_as_its_document_says() {
    let service = Service::start().await;
    let (document, operations) = Operation::all();
    let bearer = format!("Bearer {}", service.api_key);
    let admin = [("authorization", bearer.as_str())];
    for operation in &operations {
        for (query, is_refused, says) in
            [("nonsense=1", true, "nonsense"), ("simulate=true", !operation.takes("simulate", "query"), "simulate:")]
        {
            let target = operation.target();
            let target = format!("{target}{}{query}", if target.contains('?') { '&' } else { '?' });
            let headers = [admin[0], JSON];
            let reply = service.send(&operation.method, &target, &headers, &operation.body()).await;
            assert_eq!(reply.status == 400, is_refused, "{} {query}: {}", operation.name(), reply.body);
            assert_eq!(reply.body.contains(says), is_refused, "{} {query}: {}", operation.name(), reply.body);
            check(&document, operation, &reply);
            if operation.is_foreign() {
                assert_eq!(
                    reply.json()["error"]["data"]["code"],
                    "BAD_REQUEST",
                    "{}: {}",
                    operation.name(),
                    reply.body
                );
            }
        }
        if operation.path.contains('{')
            && !operation.path.ends_with("{workspaceId}")
            && operation.target().contains("none_")
        {
            let reply = operation.send(&service, &admin, &operation.body()).await;
            assert_eq!(reply.status, 404, "{}: {}", operation.name(), reply.body);
            check(&document, operation, &reply);
        }
        let foreign = operation.path.replace("{workspaceId}", "ws_fedcba9876543210");
        if foreign != operation.path {
            let foreign = foreign.replace(['{', '}'], "");
            let reply = service.send(&operation.method, &foreign, &[admin[0], JSON], &operation.body()).await;
            assert_eq!(reply.status, 404, "{}: {}", operation.name(), reply.body);
            check(&document, operation, &reply);
        }
    }
    for operation in
        operations.iter().filter(|operation| operation.method == "GET" && !operation.target().contains("none_"))
    {
        let reply = operation.send(&service, &admin, "").await;
        assert_eq!(reply.status, 200, "{}: {}", operation.name(), reply.body);
        check(&document, operation, &reply);
    }
}

#[tokio::test]
async fn a_repeated_request_gets_the_first_response() {
    let service = Service::start().await;
    let send = async |key: &str, body: Value| {
        let headers = [("x-api-key", service.api_key.as_str()), JSON, ("idempotency-key", key)];
        service.send("POST", "/v1/workspaces", &headers, &body.to_string()).await
    };
    let count = async || service.rest("GET", "/v1/workspaces", Value::Null).await.json()["pagination"]["total"].clone();
    let first = send("\"one\"", json!({ "name": "a" })).await;
    assert_eq!((first.status, first.header("idempotent-replayed")), (201, None), "{}", first.body);
    let again = send("one", json!({ "name": "a" })).await;
    assert_eq!((again.status, &again.body, again.header("idempotent-replayed")), (201, &first.body, Some("true")));
    assert_eq!(again.header("location"), first.header("location"));
    assert_eq!(again.header("x-request-id"), again.json()["meta"]["requestId"].as_str());
    assert_eq!(count().await, 2);
    let other = send("one", json!({ "name": "b" })).await;
    assert_eq!((other.status, other.json()["error"]["code"].as_str()), (422, Some("VALIDATION_ERROR")));
    let invalid = send("two", json!({ "name": 7 })).await;
    assert_eq!(invalid.status, 422);
    assert_eq!(send("two", json!({ "name": "b" })).await.status, 201, "what failed validation is not kept");
    let plan = json!({ "name": "c", "settings": { "billingPlan": "golden" } });
    assert_eq!(send("three", plan).await.status, 422);
    assert_eq!(send("three", json!({ "name": "c" })).await.status, 201, "nor what a rule refused");
    for key in ["", "a b", &"k".repeat(256)] {
        assert_eq!(send(key, json!({ "name": "d" })).await.status, 400, "{key:?}");
    }
    assert_eq!(count().await, 4);
    let other_caller = key_with(&service, [Scope::Admin], None);
    let headers = [("x-api-key", other_caller.as_str()), JSON, ("idempotency-key", "one")];
    let theirs = service.send("POST", "/v1/workspaces", &headers, &json!({ "name": "x" }).to_string()).await;
    assert_eq!(theirs.status, 201, "keys of two callers never meet: {}", theirs.body);
}

/// A key is its caller's, whatever workspace the path names; a repetition is answered also when that workspace is gone.
#[tokio::test]
async fn a_key_stands_for_one_request_in_all_workspaces() {
    let service = Service::start().await;
    let send = async |method: &str, path: &str, key: &str, body: &str| {
        let headers = [("x-api-key", service.api_key.as_str()), JSON, ("idempotency-key", key)];
        service.send(method, path, &headers, body).await
    };
    let made = send("POST", "/v1/workspaces", "make", r#"{"name":"one"}"#).await;
    let other = send("POST", "/v1/workspaces", "make-another", r#"{"name":"two"}"#).await;
    assert_eq!((made.status, other.status), (201, 201), "{} {}", made.body, other.body);
    let path = |reply: &Reply| format!("/v1/workspaces/{}", reply.json()["data"]["id"].as_str().unwrap());
    let (one, two, home) = (path(&made), path(&other), format!("/v1/workspaces/{DEFAULT_WORKSPACE_ID}"));
    let renamed = r#"{"name":"renamed"}"#;
    let check_refused = async |method: &str, path: &str, key: &str, body: &str| {
        let refused = send(method, path, key, body).await;
        let code = refused.json()["error"]["code"].clone();
        assert_eq!((refused.status, &code), (422, &json!("VALIDATION_ERROR")), "{method} {path}: {}", refused.body);
    };
    for target in [&one, &two, &home] {
        check_refused("PATCH", target, "make", renamed).await;
    }
    for (method, body) in [("PATCH", renamed), ("DELETE", "")] {
        let first = send(method, &one, method, body).await;
        assert_eq!((first.status, first.header("idempotent-replayed")), (200, None), "{method}: {}", first.body);
        for target in [&two, &home] {
            check_refused(method, target, method, body).await;
        }
        check_refused("POST", "/v1/workspaces", method, renamed).await;
        let again = send(method, &one, method, body).await;
        assert_eq!((again.status, &again.body), (200, &first.body), "{method}: {}", again.body);
        assert_eq!(again.header("idempotent-replayed"), Some("true"), "{method}");
    }
    let kept = service.rest("GET", &two, Value::Null).await;
    assert_eq!((kept.status, &kept.json()["data"]["name"]), (200, &json!("two")), "{}", kept.body);
}

/// Every operation that changes something takes a key, and refuses one that is none before it does anything.
#[tokio::test]
async fn every_change_takes_an_idempotency_key() {
    let service = Service::start().await;
    let (document, operations) = Operation::all();
    let bearer = format!("Bearer {}", service.api_key);
    let mut walked = 0;
    for operation in &operations {
        let takes_key = operation.takes("Idempotency-Key", "header");
        assert_eq!(takes_key, operation.method != "GET", "{}", operation.name());
        if !takes_key {
            continue;
        }
        let target = match operation.name() {
            "ethereumRpc" => "/v1/blockchains/bc_default/eth".to_owned(),
            _ => operation.target(),
        };
        for key in ["", "a b", "\"open", &"k".repeat(256)] {
            let headers = [("authorization", bearer.as_str()), JSON, ("idempotency-key", key)];
            let reply = service.send(&operation.method, &target, &headers, &operation.body()).await;
            assert_eq!(reply.status, 400, "{} {key:?}: {}", operation.name(), reply.body);
            assert!(reply.body.contains("Idempotency-Key must be one string"), "{}", reply.body);
            check(&document, operation, &reply);
        }
        walked += 1;
    }
    assert!(walked > 20, "{walked}");
}

/// JSON-RPC of the service and of a chain: under a key a body is executed once.
#[tokio::test]
async fn a_repeated_json_rpc_request_gets_the_first_response() {
    let service = Service::start().await;
    let (document, operations) = Operation::all();
    let node = service.platform.default_blockchain().unwrap().node().clone();
    let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
    let before = node.view().balance(bob, BlockRef::Latest).unwrap();
    let paid = || node.view().balance(bob, BlockRef::Latest).unwrap().saturating_sub(before).to::<u64>();
    let execute = |value: &str| json!({ "jsonrpc": "2.0", "id": 7, "method": "contract.execute", "params": { "contractAddress": bob, "data": "0x", "from": alice, "value": value } });
    let transfer = |value: &str| json!({ "jsonrpc": "2.0", "id": 7, "method": "eth_sendTransaction", "params": [{ "from": alice, "to": bob, "value": value }] });
    let mut expected = 0;
    for (name, path, call) in [
        ("rpc", "/v1/rpc", &execute as &dyn Fn(&str) -> Value),
        ("ethereumRpc", "/v1/blockchains/bc_default/eth", &transfer),
    ] {
        let operation = operations.iter().find(|operation| operation.name() == name).unwrap();
        let send = async |key: &str, api_key: &str, body: Value| {
            // A key stands for one request, wherever it is sent.
            let key = key.replace("one", &format!("one-{name}")).replace("two", &format!("two-{name}"));
            let headers = [("x-api-key", api_key), JSON, ("idempotency-key", key.as_str())];
            let reply = service.send("POST", path, &headers, &body.to_string()).await;
            check(&document, operation, &reply);
            reply
        };
        let me = service.api_key.as_str();
        let one = if name == "rpc" { "1" } else { "0x1" };
        let first = send("\"one\"", me, call(one)).await;
        assert_eq!((first.status, first.header("idempotent-replayed")), (200, None), "{}", first.body);
        assert!(first.json()["result"].is_object() || first.json()["result"].is_string(), "{}", first.body);
        expected += 1;
        let again = send("one", me, call(one)).await;
        assert_eq!((again.status, &again.body, again.header("idempotent-replayed")), (200, &first.body, Some("true")));
        assert_eq!(again.header("x-request-id"), first.header("x-request-id"));
        assert_eq!(paid(), expected, "{name}");

        let other = send("one", me, call(if name == "rpc" { "2" } else { "0x2" })).await;
        assert_eq!((other.status, &other.json()["error"]["data"]["code"]), (422, &json!("VALIDATION_ERROR")));
        let invalid =
            json!({ "jsonrpc": "2.0", "id": 7, "method": call(one)["method"], "params": { "colour": "red" } });
        let refused = send("two", me, invalid).await;
        assert_eq!((refused.status, &refused.json()["error"]["code"]), (200, &json!(-32602)), "{}", refused.body);
        let batch = send("two", me, json!([call(one), call(one)])).await;
        assert_eq!(batch.header("idempotent-replayed"), None, "what failed validation is not kept");
        expected += 2;
        let again = send("two", me, json!([call(one), call(one)])).await;
        assert_eq!((&again.body, again.header("idempotent-replayed")), (&batch.body, Some("true")));
        assert_eq!(paid(), expected, "{name}");

        let theirs = key_with(&service, [Scope::Admin], None);
        assert_eq!(send("one", &theirs, call(one)).await.header("idempotent-replayed"), None, "another caller");
        expected += 1;
        assert_eq!(paid(), expected, "{name}");

        let mut notification = call(one);
        notification.as_object_mut().unwrap().remove("id");
        for replayed in [None, Some("true")] {
            let headers = [("x-api-key", me), JSON, ("idempotency-key", name)];
            let reply = service.send("POST", path, &headers, &notification.to_string()).await;
            assert_eq!((reply.body.as_str(), reply.header("idempotent-replayed")), ("", replayed));
        }
        expected += 1;
        assert_eq!(paid(), expected, "{name}");
    }
}

#[tokio::test]
async fn a_json_rpc_response_that_is_too_long_to_be_kept_is_told_so() {
    let service = Service::start().await;
    let path = "/v1/blockchains/bc_default/eth";
    let headers = [("x-api-key", service.api_key.as_str()), JSON, ("idempotency-key", "long")];
    service.rpc("anvil_mine", json!(["0x400"])).await;
    let history = json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_feeHistory", "params": ["0x400", "latest", []] });
    let body = json!(vec![history; 100]).to_string();
    let first = service.send("POST", path, &headers, &body).await;
    assert!(first.status == 200 && first.body.len() > 1 << 20, "{} {}", first.status, first.body.len());
    let again = service.send("POST", path, &headers, &body).await;
    assert_eq!((again.status, again.header("idempotent-replayed")), (409, Some("true")), "{:.200}", again.body);
    assert!(again.body.contains("was not kept"), "{}", again.body);
}

#[tokio::test]
async fn a_conflict_is_kept_for_repetitions() {
    let service = Service::start().await;
    let headers = [("x-api-key", service.api_key.as_str()), JSON, ("idempotency-key", "delete")];
    let target = format!("/v1/workspaces/{DEFAULT_WORKSPACE_ID}");
    let first = service.send("DELETE", &target, &headers, "").await;
    assert_eq!(first.status, 409, "{}", first.body);
    let again = service.send("DELETE", &target, &headers, "").await;
    assert_eq!((again.status, &again.body, again.header("idempotent-replayed")), (409, &first.body, Some("true")));
}

/// Who deletes the workspace that its request names, or revokes the key that it sends, is refused from then on, and gets the response to that
/// very request again.
#[tokio::test]
async fn a_request_that_ends_the_access_of_its_sender_is_repeated_like_any_other() {
    let service = Service::start().await;
    let (document, operations) = Operation::all();
    let own = key_with(&service, [Scope::WorkspaceWrite], None);
    let id = service.platform.api_keys().authenticate(&own).unwrap().unwrap().subject().to_string();
    let made = service.rest("POST", "/v1/workspaces", json!({ "name": "short" })).await.json();
    let workspace = format!("/v1/workspaces/{}", made["data"]["id"].as_str().unwrap());
    let key = format!("/v1/auth/api-keys/{}", id.strip_prefix("key:").unwrap());
    for (name, api_key, path, refusal) in
        [("deleteWorkspace", &service.api_key, &workspace, 404), ("revokeApiKey", &own, &key, 401)]
    {
        let operation = operations.iter().find(|operation| operation.name() == name).unwrap();
        let send = async |key: &str, target: &str| {
            let headers = [("x-api-key", api_key.as_str()), ("idempotency-key", key)];
            let reply = service.send("DELETE", target, &headers, "").await;
            check(&document, operation, &reply);
            reply
        };
        let first = send("last", path).await;
        assert_eq!((first.status, first.header("idempotent-replayed")), (200, None), "{name}: {}", first.body);
        let again = send("last", path).await;
        assert_eq!((again.status, &again.body), (200, &first.body), "{name}: {}", again.body);
        assert_eq!(again.header("idempotent-replayed"), Some("true"), "{name}");
        assert!(again.header("ratelimit").is_some(), "{name}: it is counted");
        // Under another key, for something else and by somebody else it is refused as everything is.
        assert_eq!(send("another", path).await.status, refusal, "{name}");
        assert_eq!(send("last", &format!("{path}0")).await.status, refusal, "{name}");
        let bare = service.send("DELETE", path, &[("x-api-key", api_key.as_str())], "").await;
        assert_eq!(bare.status, refusal, "{name}: {}", bare.body);
        let theirs = key_with(&service, [Scope::Admin], None);
        let headers = [("x-api-key", theirs.as_str()), ("idempotency-key", "last")];
        let theirs = service.send("DELETE", path, &headers, "").await;
        assert_eq!(theirs.header("idempotent-replayed"), None, "{name}: keys of two callers never meet");
    }
    // What the key did not end its access by, it can't have told again.
    let headers = [("x-api-key", own.as_str()), JSON, ("idempotency-key", "last")];
    assert_eq!(service.send("POST", "/v1/workspaces", &headers, r#"{"name":"x"}"#).await.status, 401);
}

#[tokio::test]
async fn the_request_past_the_quota_is_told_when_to_come_back() {
    let service = Service::limited(Node::new(), |limits| {
        limits.rate.requests = 5;
        limits.rate.window = std::time::Duration::from_secs(3_600);
    })
    .await;
    for left in (0..5).rev() {
        let reply = service.rest("GET", "/v1/workspaces", Value::Null).await;
        assert_eq!(reply.status, 200);
        assert_eq!(reply.header("ratelimit-policy"), Some("\"default\";q=5;w=3600"));
        assert!(reply.header("ratelimit").unwrap().starts_with(&format!("\"default\";r={left};t=")));
    }
    let reply = service.rest("GET", "/v1/workspaces", Value::Null).await;
    assert_eq!((reply.status, reply.json()["error"]["code"].as_str()), (429, Some("RATE_LIMITED")));
    let wait: u64 = reply.header("retry-after").unwrap().parse().unwrap();
    assert!((3_500..=3_600).contains(&wait), "{wait}");
    let rpc = service.rest("POST", "/v1/rpc", json!({ "jsonrpc": "2.0", "id": 1, "method": "x" })).await;
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": [] });
    let eth = service.rest("POST", "/v1/blockchains/bc_default/eth", call).await;
    for limited in [rpc, eth] {
        let body = limited.json();
        assert_eq!((limited.status, &body["jsonrpc"]), (429, &json!("2.0")), "{body}");
        assert_eq!(body["error"]["data"]["code"], "RATE_LIMITED", "{body}");
        assert!(limited.header("retry-after").is_some(), "{body}");
    }
    assert_eq!(service.send("GET", "/v1/health", &[], "").await.status, 200, "another caller");
}

#[tokio::test]
async fn who_may_only_read_sends_no_transaction() {
    let service = Service::start().await;
    let reader = key_with(&service, [Scope::BlockchainRead], None);
    let headers = [("x-api-key", reader.as_str()), JSON];
    let from = service.platform.default_blockchain().unwrap().node().accounts()[0].to_string();
    let send =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_sendTransaction", "params": [{ "from": from, "to": from }] });
    let path = "/v1/blockchains/bc_default/eth";
    for body in [send.to_string(), format!("[{send},{send}]")] {
        let reply = service.send("POST", path, &headers, &body).await;
        assert!(reply.body.contains("-32006") && !reply.body.contains("result"), "{}", reply.body);
    }
    let head = json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_blockNumber", "params": [] });
    assert_eq!(service.send("POST", path, &headers, &head.to_string()).await.json()["result"], "0x0");
}
