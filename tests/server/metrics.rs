//! `/metrics`: who sees which figures, and that they are those of the metrics' route.

use std::collections::BTreeMap;

use chainbox::{
    node::Node,
    platform::{ApiKeySpec, Scope, Workspace},
};
use serde_json::{Value, json};

use crate::http::{Reply, Service};

/// Samples by name and labels, as Prometheus' text format has them.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let sample = |line: &str| {
        let (name, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("no sample: {line}"));
        (name.to_owned(), value.parse().unwrap_or_else(|_| panic!("no number: {line}")))
    };
    lines.map(sample).collect()
}

async fn scrape(service: &Service, key: &str) -> Reply {
    service.send("GET", "/metrics", &[("x-api-key", key)], "").await
}

/// The key of the owner of another workspace, with every scope.
pub(crate) fn other_admin(service: &Service) -> String {
    let platform = &service.platform;
    let user = platform.unit(|unit| platform.workspaces().add_user(unit, "other@example.org")).unwrap();
    let made = platform.unit(|unit| platform.workspaces().create(unit, user.id(), Workspace::named("other"))).unwrap();
    let principal = platform.workspaces().principal(user.id(), made.owner().workspace().unwrap()).unwrap().unwrap();
    let scopes = [Scope::Admin].into_iter().collect();
    let spec = ApiKeySpec { name: "other".to_owned(), scopes, lifetime_ms: None };
    platform.unit(|unit| platform.api_keys().create(unit, &principal, spec)).unwrap().0.text().to_owned()
}

async fn create(service: &Service, key: &str, features: Value) -> String {
    let body = json!({ "name": "own", "features": features }).to_string();
    let headers = [("x-api-key", key), ("content-type", "application/json")];
    let reply = service.send("POST", "/v1/blockchains", &headers, &body).await;
    assert_eq!(reply.status, 201, "{}", reply.body);
    reply.json()["data"]["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn figures_need_the_scope_admin_unless_they_are_open() {
    let service = Service::start().await;
    let reader = service.platform.create_api_key("reader", &[Scope::BlockchainRead]).unwrap().text().to_owned();
    let none = service.send("GET", "/metrics", &[], "").await;
    assert_eq!((none.status, none.header("www-authenticate").is_some()), (401, true), "{}", none.body);
    assert_eq!(scrape(&service, "cbx_wrong").await.status, 401);
    assert_eq!(scrape(&service, &reader).await.status, 403);
    assert_eq!(scrape(&service, &service.api_key).await.status, 200);
    let written = service.rest("POST", "/metrics", Value::Null).await;
    assert_eq!((written.status, written.header("allow")), (405, Some("GET, HEAD")));
    let open = Service::with(Node::new(), |config| config.with_open_metrics()).await;
    let private = create(&open, &open.api_key, json!(["privacy"])).await;
    let shown = open.send("GET", "/metrics", &[], "").await;
    assert!(shown.body.contains("bc_default") && !shown.body.contains(&private), "{}", shown.body);
}

#[tokio::test]
async fn requests_are_counted_by_route_and_status() {
    let service = Service::limited(Node::new(), |limits| limits.rate.requests = 4).await;
    let open = Service::with(Node::new(), |config| config.with_open_metrics()).await;
    open.rest("GET", "/v1/workspaces/ws_default", Value::Null).await;
    open.rest("GET", "/v1/workspaces/ws_none?secret=canary", Value::Null).await;
    open.send("GET", "/v1/canary-path", &[], "").await;
    open.send("BREW", "/v1/health", &[], "").await;
    open.rpc("eth_chainId", json!([])).await;
    let reply = open.send("GET", "/metrics", &[], "").await;
    assert_eq!(reply.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    assert!(!reply.body.contains("canary") && !reply.body.contains("BREW"), "{}", reply.body);
    let found = samples(&reply.body);
    for (labels, count) in [
        (r#"method="GET",route="/v1/workspaces/{workspaceId}",status="200""#, 1.0),
        (r#"method="GET",route="/v1/workspaces/{workspaceId}",status="404""#, 1.0),
        (r#"method="GET",route="none",status="404""#, 1.0),
        (r#"method="OTHER",route="none",status="405""#, 1.0),
        (r#"method="POST",route="/",status="200""#, 1.0),
    ] {
        let name = format!("chainbox_http_requests_total{{{labels}}}");
        assert_eq!(found.get(&name), Some(&count), "{name} in {}", reply.body);
    }
    assert_eq!(found["chainbox_http_requests_in_flight"], 1.0, "the scrape itself");
    let durations = r#"chainbox_http_request_duration_seconds_count{route="/v1/workspaces/{workspaceId}"}"#;
    assert_eq!(found[durations], 2.0);
    assert_eq!(found["chainbox_panics_total"], 0.0);
    let open_metrics = open.send("GET", "/metrics", &[("accept", "application/openmetrics-text")], "").await;
    assert!(open_metrics.header("content-type").unwrap().starts_with("application/openmetrics-text; version=1.0.0"));
    assert!(open_metrics.body.ends_with("# EOF\n"));

    for status in [200, 200, 429] {
        // Each of the first two is one request, and one look at the figures.
        let reply = service.rest("GET", "/v1/workspaces/ws_default", Value::Null).await;
        assert_eq!(reply.status, status);
        if status == 200 {
            assert_eq!(
                samples(&scrape(&service, &service.api_key).await.body)["chainbox_http_rate_limited_total"],
                0.0
            );
        }
    }
    assert_eq!(scrape(&service, &service.api_key).await.status, 429, "scrapes count, too");
}

#[tokio::test]
async fn a_chain_is_named_to_those_who_may_read_it_with_the_figures_of_its_route() {
    let service = Service::start().await;
    let other = other_admin(&service);
    let own = create(&service, &other, json!(["smart-contracts"])).await;
    let private = create(&service, &service.api_key, json!(["privacy"])).await;
    service.rpc("anvil_mine", json!(["0x3"])).await;
    let mine = scrape(&service, &service.api_key).await.body;
    let theirs = scrape(&service, &other).await.body;
    assert!(mine.contains("bc_default") && !mine.contains(&own), "{mine}");
    assert!(mine.contains(&private), "its maker takes part");
    assert!(theirs.contains(&own) && !theirs.contains("bc_default") && !theirs.contains(&private), "{theirs}");
    assert!(!theirs.contains("chainbox_http_"), "the process is the operator's");
    assert_eq!(samples(&mine)["chainbox_blockchains"], 3.0);

    assert_eq!(figures_that_agree(&service, "bc_default").await["currentBlock"], 3);
}

/// Returns the figures of the route of a chain's metrics, which `/metrics` shows likewise.
pub(crate) async fn figures_that_agree(service: &Service, chain: &str) -> Value {
    let route =
        service.rest("GET", &format!("/v1/blockchains/{chain}/metrics"), Value::Null).await.json()["data"].clone();
    let found = samples(&scrape(service, &service.api_key).await.body);
    let gwei = route["averageGasPrice"].as_str().unwrap().trim_end_matches(" gwei").parse::<f64>().unwrap();
    for (figure, value) in [
        ("block_height", route["currentBlock"].as_f64()),
        ("block_time_seconds", route["blockTime"].as_f64()),
        ("transactions_per_second", route["transactionsPerSecond"].as_f64()),
        ("active_validators", route["activeValidators"].as_f64()),
        ("average_gas_price_wei", Some((gwei * 1e9).round())),
        ("validator_uptime_percent", route["validatorUptime"].as_f64()),
        ("mempool_transactions", route["mempoolSize"].as_f64()),
        ("transactions_total", route["totalTransactions"].as_f64()),
    ] {
        let name = format!("chainbox_chain_{figure}{{blockchain_id=\"{chain}\"}}");
        assert_eq!(found.get(&name).copied(), value, "{name}");
    }
    assert_eq!(route["networkHashrate"], "0 H/s", "nobody mines by work");
    route
}
