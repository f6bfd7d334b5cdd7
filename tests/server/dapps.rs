//! dApps by the service's routes: their bodies, their page, its domain.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use chainbox::{
    node::Node,
    platform::{ApiKeySpec, Scope},
    server::{ResolveTxt, ResolvingTxt},
    store::testing::MemoryDisk,
};
use serde_json::{Value, json};

use crate::{
    http::{Reply, Service},
    metrics::other_admin,
};

/// All eight components, the ones that are needed last.
fn all() -> Value {
    json!([
        { "type": "staking", "config": { "stakingToken": "GLD", "rewardRate": "10", "lockPeriod": "30d", "fund": "6000" } },
        { "type": "liquidity-pool", "config": { "token0": "GLD", "token1": "SLV" } },
        { "type": "lending", "config": { "token": "SLV", "collateral": "GLD", "oracle": { "answer": "200000000" } } },
        { "type": "governance", "config": { "name": "Council", "token": "GLD", "ownsToken": true } },
        { "type": "nft-marketplace", "config": { "fee": "2.5", "token": "GLD", "owner": "Owners" } },
        { "type": "auction", "config": { "token": "SLV" } },
        { "type": "multisig", "name": "Owners", "config": {
            "owners": ["0x1111111111111111111111111111111111111111", "0x2222222222222222222222222222222222222222"], "threshold": 2 } },
        { "type": "token", "config": { "name": "Gold", "symbol": "GLD", "totalSupply": "100000", "features": ["mintable", "votes"] } },
        { "type": "token", "config": { "name": "Silver", "symbol": "SLV", "totalSupply": "500" } },
    ])
}

async fn made(service: &Service, body: Value) -> Value {
    let reply = service.rest("POST", "/v1/dapps", body).await;
    assert_eq!(reply.status, 201, "{}", reply.body);
    let data = reply.json()["data"].clone();
    assert_eq!(reply.header("location").unwrap(), format!("/v1/dapps/{}", data["id"].as_str().unwrap()));
    data
}

async fn anonymous(service: &Service, path: &str) -> Reply {
    service.send("GET", path, &[], "").await
}

#[tokio::test]
async fn a_body_as_it_is_specified_is_deployed_with_its_page() {
    let service = Service::start().await;
    let body = json!({
        "name": "Exchange",
        "workspaceId": "ws_default",
        "template": "defi",
        "components": [
            { "type": "token", "name": "token", "config": {
                "name": "Gold", "symbol": "GLD", "totalSupply": "1000000", "decimals": 18, "features": ["burnable", "mintable", "pausable"] } },
            { "type": "staking", "config": { "stakingToken": "GLD", "rewardRate": "100", "lockPeriod": "30d" } },
        ],
        "frontend": { "theme": "dark", "customDomain": "exchange.example.com" },
    });
    let dapp = made(&service, body).await;
    assert_eq!((&dapp["status"], &dapp["blockchainId"]), (&json!("deployed"), &json!("bc_default")));
    let kinds: Vec<_> =
        dapp["components"].as_array().unwrap().iter().map(|one| one["type"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        ["token", "staking", "token", "liquidity-pool", "lending"],
        "own ones, then the rest of the template"
    );
    assert_eq!(dapp["components"][1]["config"]["rewardRate"], "100");
    assert_eq!(dapp["domain"]["recordName"], "_chainbox-challenge.exchange.example.com");
    let found = service.rest("GET", &format!("/v1/dapps/{}", dapp["id"].as_str().unwrap()), Value::Null).await;
    assert_eq!(found.json()["data"], dapp);
    let page = service.rest("GET", dapp["site"].as_str().unwrap(), Value::Null).await;
    assert_eq!((page.status, page.header("content-type").unwrap()), (200, "text/html; charset=utf-8"));
    assert!(page.header("content-security-policy").unwrap().starts_with("default-src 'none'"));
    for part in [
        "data-theme=\"dark\"",
        "<h1>Exchange</h1>",
        "Gold",
        "2592000",
        dapp["components"][0]["address"].as_str().unwrap(),
    ] {
        assert!(page.body.contains(part), "{part}: {}", page.body);
    }
    assert!(!page.body.contains("<script"), "{}", page.body);
    // The contracts are like others.
    let listed = service.rest("GET", "/v1/resources?type=dapp", Value::Null).await.json();
    assert_eq!(
        (&listed["data"][0]["name"], &listed["pagination"]["total"]),
        (&json!("Exchange"), &json!(1)),
        "{listed}"
    );
}

#[tokio::test]
async fn all_eight_components_are_on_one_page() {
    let service = Service::start().await;
    let body = json!({ "name": "All", "components": all(), "frontend": { "public": true, "theme": "light" } });
    let dapp = made(&service, body).await;
    let page = service.send("GET", dapp["site"].as_str().unwrap(), &[], "").await;
    assert_eq!(page.status, 200, "{}", page.body);
    for component in dapp["components"].as_array().unwrap() {
        assert!(page.body.contains(component["address"].as_str().unwrap()), "{component}");
    }
    for words in [
        "Staking",
        "Liquidity pool",
        "Lending",
        "Governance",
        "NFT marketplace",
        "Auction",
        "Multisig wallet",
        "Token",
        "2 of 2",
        "2.50 %",
        "100000",
        "Reserve of the first",
        "Borrowed",
        "Proposals",
        "Listings",
        "Auctions",
    ] {
        assert!(page.body.contains(words), "{words}");
    }
    assert!(!page.body.contains("not deployed"), "{}", page.body);
}

#[tokio::test]
async fn a_name_alone_is_a_page_and_pages_are_for_their_readers() {
    let service = Service::start().await;
    let name = format!("<script>alert(1)</script>{}", "x".repeat(220));
    let dapp = made(&service, json!({ "name": name })).await;
    assert_eq!((&dapp["status"], &dapp["transactionHash"]), (&json!("deployed"), &Value::Null));
    let (path, site) = (format!("/v1/dapps/{}", dapp["id"].as_str().unwrap()), dapp["site"].as_str().unwrap());
    assert_eq!(anonymous(&service, site).await.status, 401);
    assert_eq!(anonymous(&service, "/v1/dapps/dapp_0000000000000000/site").await.status, 401, "no other answer");
    let page = service.rest("GET", site, Value::Null).await;
    assert!(page.body.contains("&lt;script&gt;") && !page.body.contains("<script>"), "{}", page.body);
    let change = json!({ "name": "Page", "frontend": { "public": true, "theme": "auto" } });
    let changed = service.rest("PATCH", &path, change).await.json();
    assert_eq!((&changed["data"]["name"], &changed["data"]["frontend"]["public"]), (&json!("Page"), &json!(true)));
    let page = anonymous(&service, site).await;
    assert!(page.status == 200 && page.body.contains("<h1>Page</h1>"), "{}", page.body);
    for (body, field) in [
        (json!({ "components": [] }), "components"),
        (json!({ "frontend": { "theme": "blue" } }), "frontend.theme"),
        (json!({ "frontend": { "customDomain": "localhost" } }), "frontend.customDomain"),
        (json!({ "frontend": { "customDomain": "chain.example" } }), "frontend.customDomain"),
    ] {
        let refused = service.rest("PATCH", &path, body).await;
        assert_eq!(refused.status, 422, "{}", refused.body);
        assert_eq!(refused.json()["error"]["details"]["fields"][0]["path"], field, "{}", refused.body);
    }
    assert_eq!(service.rest("DELETE", &path, Value::Null).await.status, 200);
    assert_eq!(service.rest("GET", site, Value::Null).await.status, 404);
    assert_eq!(service.rest("GET", &path, Value::Null).await.status, 404);
}

#[tokio::test]
async fn what_is_wrong_with_a_component_is_named_by_its_path() {
    let service = Service::start().await;
    let gold = json!({ "type": "token", "config": { "name": "Gold", "symbol": "GLD", "totalSupply": "9" } });
    for (component, path) in [
        (json!({ "type": "bank" }), "components[1].type"),
        (json!({ "type": "token", "colour": "red" }), "components[1].colour"),
        (json!({ "type": "staking", "config": { "stakingToken": "SLV" } }), "components[1].config.stakingToken"),
        (
            json!({ "type": "staking", "config": { "stakingToken": "GLD", "colour": "red" } }),
            "components[1].config.colour",
        ),
        (
            json!({ "type": "token", "config": { "name": "Silver", "symbol": "SLV", "totalSupply": 7.5 } }),
            "components[1].config.totalSupply",
        ),
        (json!({ "type": "multisig", "config": { "owners": ["GLD"], "threshold": 2 } }), "components[1]"),
    ] {
        let refused = service.rest("POST", "/v1/dapps", json!({ "name": "x", "components": [gold, component] })).await;
        assert_eq!(refused.status, 422, "{component}: {}", refused.body);
        assert_eq!(refused.json()["error"]["details"]["fields"][0]["path"], path, "{}", refused.body);
    }
    let unknown = service.rest("POST", "/v1/dapps", json!({ "name": "x", "template": "bank" })).await;
    let field = unknown.json()["error"]["details"]["fields"][0].clone();
    assert_eq!((&field["path"], &field["expected"]), (&json!("template"), &json!("one of dao, defi, nft, token-sale")));
    let elsewhere = service.rest("POST", "/v1/dapps", json!({ "name": "x", "workspaceId": "ws_none" })).await;
    assert_eq!(elsewhere.status, 404, "{}", elsewhere.body);
    assert_eq!(service.rest("GET", "/v1/dapps", Value::Null).await.json()["pagination"]["total"], 0);
}

#[tokio::test]
async fn a_repeated_request_deploys_once() {
    let service = Service::start().await;
    let headers =
        [("x-api-key", service.api_key.as_str()), ("content-type", "application/json"), ("idempotency-key", "one")];
    let body = json!({ "name": "All", "components": all() }).to_string();
    let first = service.send("POST", "/v1/dapps", &headers, &body).await;
    let second = service.send("POST", "/v1/dapps", &headers, &body).await;
    assert_eq!((first.status, first.json()["data"].clone()), (201, second.json()["data"].clone()), "{}", first.body);
    assert_eq!(service.rest("GET", "/v1/dapps", Value::Null).await.json()["pagination"]["total"], 1);
}

/// TXT records by name.
#[derive(Debug, Default)]
struct Zone(Mutex<BTreeMap<String, String>>);

impl ResolveTxt for Zone {
    fn texts<'a>(&'a self, name: &'a str) -> ResolvingTxt<'a> {
        let found = self.0.lock().unwrap().get(name).cloned();
        Box::pin(async move { Ok(found.into_iter().collect()) })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proved_domain_serves_the_page_and_nothing_else() {
    let zone = Arc::new(Zone::default());
    let resolver = zone.clone();
    let service = Service::with(Node::new(), |config| config.with_txt_resolver(resolver)).await;
    let dapp = made(&service, json!({ "name": "Shop", "frontend": { "customDomain": "Shop.Example" } })).await;
    let path = format!("/v1/dapps/{}", dapp["id"].as_str().unwrap());
    let taken =
        service.rest("POST", "/v1/dapps", json!({ "name": "x", "frontend": { "customDomain": "shop.example" } })).await;
    assert!(taken.status == 409 && taken.body.contains("of the workspace"), "{}", taken.body);
    let at = async |host: &str, path: &str| service.send("GET", path, &[("host", host)], "").await;
    let verify = async || service.rest("POST", &format!("{path}/domain/verify"), Value::Null).await;
    assert_eq!(verify().await.status, 409, "the page is not public");
    service.rest("PATCH", &path, json!({ "frontend": { "public": true } })).await;
    let unproved = verify().await;
    assert!(unproved.status == 409 && unproved.body.contains("has no TXT record"), "{}", unproved.body);
    assert_eq!(at("shop.example", "/").await.status, 403);

    let text = |name: &str| dapp["domain"][name].as_str().unwrap().to_owned();
    zone.0.lock().unwrap().insert(text("recordName"), text("token"));
    let proved = verify().await;
    assert_eq!(
        (proved.status, &proved.json()["data"]["domain"]["status"]),
        (200, &json!("verified")),
        "{}",
        proved.body
    );
    for host in ["shop.example", "SHOP.example:8443", "shop.example."] {
        let page = at(host, "/").await;
        assert!(page.status == 200 && page.body.contains("<h1>Shop</h1>"), "{host}: {}", page.body);
        assert!(page.header("content-security-policy").is_some());
    }
    for other in ["/v1/health", "/v1/openapi.json", "/oauth/login", "/metrics", "/index.html", "/v1/rpc"] {
        assert_eq!(at("shop.example", other).await.status, 404, "{other}");
    }
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_chainId" }).to_string();
    let headers = [("host", "shop.example"), ("content-type", "application/json")];
    assert_eq!(service.send("POST", "/", &headers, &call).await.status, 405);
    assert_eq!(at("other.example", "/").await.status, 403);
    assert_eq!(at("www.shop.example", "/").await.status, 403);

    service.rest("PATCH", &path, json!({ "frontend": { "customDomain": "new.example" } })).await;
    assert_eq!(at("shop.example", "/").await.status, 403);
    let again = service.rest("PATCH", &path, json!({ "frontend": { "customDomain": null } })).await.json();
    assert_eq!((&again["data"]["domain"], &again["data"]["frontend"]["customDomain"]), (&Value::Null, &Value::Null));
}

/// What is served where is in the store: nobody proves a domain again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proved_domain_survives_a_restart() {
    let (zone, disk) = (Arc::new(Zone::default()), Arc::new(MemoryDisk::new()));
    let resolver = zone.clone();
    let service = Service::stored_with(disk.clone(), |config| config.with_txt_resolver(resolver)).await;
    let frontend = json!({ "customDomain": "shop.example", "public": true });
    let dapp = made(&service, json!({ "name": "Shop", "frontend": frontend })).await;
    let text = |name: &str| dapp["domain"][name].as_str().unwrap().to_owned();
    zone.0.lock().unwrap().insert(text("recordName"), text("token"));
    let path = format!("/v1/dapps/{}", dapp["id"].as_str().unwrap());
    let proved = service.rest("POST", &format!("{path}/domain/verify"), Value::Null).await;
    assert_eq!(proved.status, 200, "{}", proved.body);
    let before = service.rest("GET", &path, Value::Null).await.json()["data"].clone();
    drop(service);

    let service = Service::stored(disk.crashed()).await;
    let after = service.rest("GET", &path, Value::Null).await.json()["data"].clone();
    assert_eq!((&after["domain"]["status"], &after), (&json!("verified"), &before));
    let page = service.send("GET", "/", &[("host", "shop.example")], "").await;
    assert!(page.status == 200 && page.body.contains("<h1>Shop</h1>"), "{}", page.body);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_blocks_nobody_and_the_newest_proof_has_the_domain() {
    let zone = Arc::new(Zone::default());
    let resolver = zone.clone();
    let service = Service::with(Node::new(), |config| config.with_txt_resolver(resolver)).await;
    let other = service.rest("POST", "/v1/workspaces", json!({ "name": "other" })).await.json()["data"]["id"].clone();
    let page = |name: &str, workspace: &Value| {
        let frontend = json!({ "customDomain": "shop.example", "public": true });
        json!({ "name": name, "workspaceId": workspace, "frontend": frontend })
    };
    let first = made(&service, page("First", &json!("ws_default"))).await;
    let second = made(&service, page("Second", &other)).await;
    let path = |dapp: &Value| format!("/v1/dapps/{}", dapp["id"].as_str().unwrap());
    let publish = |dapp: &Value| {
        let text = |name: &str| dapp["domain"][name].as_str().unwrap().to_owned();
        zone.0.lock().unwrap().insert(text("recordName"), text("token"));
    };
    let verify = async |dapp: &Value| service.rest("POST", &format!("{}/domain/verify", path(dapp)), Value::Null).await;
    let shown = async || service.send("GET", "/", &[("host", "shop.example")], "").await;
    let claimed_by_a_third = async || service.rest("POST", "/v1/dapps", page("Third", &json!("ws_default"))).await;

    publish(&second);
    let refused = verify(&first).await;
    assert!(refused.status == 409 && refused.body.contains("is the token"), "by another's token: {}", refused.body);
    assert_eq!(shown().await.status, 403);
    let proved = verify(&second).await;
    assert_eq!(proved.status, 200, "{}", proved.body);
    assert!(shown().await.body.contains("<h1>Second</h1>"));
    let still = service.rest("GET", &path(&first), Value::Null).await.json();
    assert_eq!(still["data"]["domain"], first["domain"], "it is not served, and its claim stays");
    let taken = claimed_by_a_third().await;
    assert!(taken.status == 409 && taken.body.contains("of the workspace has shop.example"), "{}", taken.body);

    publish(&first);
    let proved = verify(&first).await;
    assert_eq!(proved.status, 200, "{}", proved.body);
    assert!(shown().await.body.contains("<h1>First</h1>"));
    let lost = service.rest("GET", &path(&second), Value::Null).await.json();
    assert_eq!(lost["data"]["domain"]["status"], "pending");
    publish(&second);
    assert_eq!(verify(&second).await.status, 409, "the token of before proves nothing");
    assert!(shown().await.body.contains("<h1>First</h1>"));

    assert_eq!(service.rest("DELETE", &path(&first), Value::Null).await.status, 200);
    assert_eq!(shown().await.status, 403);
    let free = claimed_by_a_third().await;
    assert_eq!(free.status, 201, "{}", free.body);
}

/// A key that acts in the workspaces that it created reads their pages, too, and so does another of the service's own; others don't.
#[tokio::test]
async fn a_page_is_for_its_maker_in_another_workspace_of_theirs() {
    let service = Service::start().await;
    let platform = &service.platform;
    let other = service.rest("POST", "/v1/workspaces", json!({ "name": "other" })).await.json()["data"]["id"].clone();
    let maker = platform.api_keys().authenticate(&service.api_key).unwrap().unwrap();
    let there = platform.workspaces().acting_in(&maker, other.as_str().unwrap()).unwrap();
    let spec = ApiKeySpec { name: "there".to_owned(), scopes: [Scope::Admin].into_iter().collect(), lifetime_ms: None };
    let key = platform.unit(|unit| platform.api_keys().create(unit, &there, spec)).unwrap().0.text().to_owned();
    let headers = [("x-api-key", key.as_str()), ("content-type", "application/json")];
    let chain = service.send("POST", "/v1/blockchains", &headers, r#"{"name":"own","type":"private"}"#).await;
    assert_eq!(chain.status, 201, "{}", chain.body);
    let chain = chain.json()["data"]["id"].clone();

    let second = platform.create_api_key("second", &[Scope::Admin]).unwrap().text().to_owned();
    let stranger = other_admin(&service);
    let as_key =
        async |key: &str, path: &Value| service.send("GET", path.as_str().unwrap(), &[("x-api-key", key)], "").await;
    for body in [
        json!({ "name": "Theirs", "workspaceId": other }),
        json!({ "name": "Theirs", "workspaceId": other, "blockchainId": chain }),
    ] {
        let dapp = made(&service, body).await;
        let site = &dapp["site"];
        for reader in [&service.api_key, &key, &second] {
            let page = as_key(reader, site).await;
            assert!(page.status == 200 && page.body.contains("<h1>Theirs</h1>"), "{}: {}", page.status, page.body);
        }
        let refused = as_key(&stranger, site).await;
        assert_eq!((refused.status, &refused.json()["error"]["details"]["resource"]), (404, &json!("dapp")));
        assert_eq!(refused.json()["error"]["details"]["id"], dapp["id"], "{}", refused.body);
        assert_eq!(anonymous(&service, site.as_str().unwrap()).await.status, 401);
    }
}

#[tokio::test]
async fn a_page_in_another_workspace_needs_the_scope_that_reads() {
    let service = Service::start().await;
    let scopes = [Scope::WorkspaceWrite, Scope::BlockchainDeploy];
    let key = service.platform.create_api_key("deployer", &scopes).unwrap().text().to_owned();
    let headers = [("x-api-key", key.as_str()), ("content-type", "application/json")];
    let post = async |path: &str, body: Value| {
        let reply = service.send("POST", path, &headers, &body.to_string()).await;
        assert_eq!(reply.status, 201, "{path}: {}", reply.body);
        reply.json()["data"].clone()
    };
    let workspace = post("/v1/workspaces", json!({ "name": "other" })).await;
    let dapp = post("/v1/dapps", json!({ "name": "Own", "workspaceId": workspace["id"] })).await;
    let refused = service.send("GET", dapp["site"].as_str().unwrap(), &headers, "").await;
    assert_eq!(refused.status, 403, "{}", refused.body);
    assert_eq!(refused.json()["error"]["details"]["requiredScope"], "blockchain:read", "{}", refused.body);
}

#[tokio::test]
async fn a_plan_tells_the_transaction_and_its_addresses() {
    let service = Service::start().await;
    let from = "0x1111111111111111111111111111111111111111";
    let body = json!({ "template": "dao", "from": from });
    let plan = service.rest("POST", "/v1/dapps/plan", body.clone()).await;
    assert_eq!(plan.status, 200, "{}", plan.body);
    let data = plan.json()["data"].clone();
    assert_eq!(
        (&data["nonce"], &data["value"], &data["components"][1]["type"]),
        (&json!(0), &json!("0"), &json!("governance"))
    );
    assert_eq!(service.rest("POST", "/v1/dapps/plan", body).await.json()["data"], data, "nothing was done");
}
