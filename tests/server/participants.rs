//! A chain with the feature privacy, as a member of its workspace sees it who is none of its participants; and lists of things on chains of
//! which one is not in memory.

use std::{collections::BTreeSet, sync::Arc};

use chainbox::{
    platform::{ApiKeySpec, Platform, PlatformError, Role, Scope},
    server::openapi_json,
    store::testing::MemoryDisk,
};
use serde_json::{Value, json};

use crate::http::{Reply, Service};

/// An API key of a new member of the default workspace, with all scopes.
pub(crate) fn key_of_a_member(platform: &Platform) -> String {
    let user = platform.users().by_identity("https://id.example", "mia", Some("mia@example.org")).unwrap();
    let (workspaces, me) = (platform.workspaces(), platform.service_principal());
    let members = workspaces.members();
    let (_, token) = platform.unit(|unit| members.invite(unit, &me, "mia@example.org", Role::Owner)).unwrap();
    platform.unit(|unit| members.accept(unit, user.id(), token.text())).unwrap();
    let mia = workspaces.principal(user.id(), me.workspace()).unwrap().unwrap();
    let spec = ApiKeySpec { name: "mia".to_owned(), scopes: [Scope::Admin].into_iter().collect(), lifetime_ms: None };
    let made = platform.unit(|unit| Ok::<_, PlatformError>(platform.api_keys().create(unit, &mia, spec)?.0));
    made.unwrap().text().to_owned()
}

async fn ok(service: &Service, method: &str, path: &str, body: Value) -> Value {
    let reply = service.rest(method, path, body).await;
    assert!(matches!(reply.status, 200 | 201), "{method} {path}: {} {}", reply.status, reply.body);
    reply.json()["data"].clone()
}

async fn get_as(service: &Service, key: &str, path: &str) -> Reply {
    service.send("GET", path, &[("x-api-key", key)], "").await
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value}")).to_owned()
}

/// Something of every kind on a chain: the ids by the names of the paths' variables, and words that only a participant may see.
async fn filled(service: &Service) -> (Vec<(&'static str, String)>, BTreeSet<String>) {
    let features = json!(["smart-contracts", "privacy"]);
    let chain = ok(service, "POST", "/v1/blockchains", json!({ "name": "hidden", "features": features })).await;
    let id = text(&chain["id"]);
    let of_chain = |rest: &str| format!("/v1/blockchains/{id}{rest}");
    let params = json!({ "name": "Gold", "symbol": "GLD", "totalSupply": "1000" });
    let deployment = json!({ "blockchainId": id, "template": "erc20-token", "params": params });
    let contract = ok(service, "POST", "/v1/contracts/deploy", deployment).await;
    let token =
        json!({ "blockchainId": id, "standard": "ERC20", "name": "Obsidian", "symbol": "OBSD", "totalSupply": "77" });
    let token = ok(service, "POST", "/v1/tokens", token).await;
    let component = json!({ "type": "token", "config": { "name": "Malachite", "symbol": "MLCH", "totalSupply": "5" } });
    let dapp = json!({ "name": "Shop", "blockchainId": id, "components": [component] });
    let dapp = ok(service, "POST", "/v1/dapps", dapp).await;
    let module = json!({ "module": "dao", "config": {} });
    let module = ok(service, "POST", &of_chain("/modules"), module).await;
    let project = json!({ "name": "p", "type": "token", "config": { "blockchain": id } });
    let project = ok(service, "POST", "/v1/workspaces/ws_default/projects", project).await;
    let proposal = json!({ "blockchainId": id, "title": "Rhodonite", "type": "text" });
    let proposal = ok(service, "POST", "/v1/governance/proposals", proposal).await;
    let webhook = json!({ "url": "https://93.184.215.14/hook", "events": ["contract.deployed"], "blockchainId": id });
    let webhook = ok(service, "POST", "/v1/webhooks", webhook).await;
    let validator = ok(service, "GET", &of_chain("/validators"), Value::Null).await[0].clone();
    let shown = ok(service, "GET", &of_chain(""), Value::Null).await;
    let mut secrets: BTreeSet<String> =
        ["Obsidian", "OBSD", "Malachite", "MLCH", "Rhodonite"].map(str::to_owned).into();
    secrets.extend([text(&shown["genesisHash"]), text(&shown["validators"][0]["signerAddress"])]);
    for made in [&contract, &token] {
        secrets.extend([text(&made["contractAddress"]), text(&made["transactionHash"])]);
    }
    secrets.extend([text(&dapp["components"][0]["address"]), text(&dapp["transactionHash"])]);
    for contract in [&module["contracts"], &project["contracts"]].into_iter().flat_map(|all| all.as_array().unwrap()) {
        secrets.insert(text(&contract["address"]));
    }
    secrets.insert(text(&project["transactionHash"]));
    for kind in ["blocks", "transactions"] {
        let listed = ok(service, "GET", &of_chain(&format!("/{kind}")), Value::Null).await;
        secrets.extend(listed.as_array().unwrap().iter().map(|one| text(&one["hash"])));
    }
    let keys = ok(service, "GET", "/v1/auth/api-keys", Value::Null).await;
    let ids = vec![
        ("blockchainId", id.clone()),
        ("workspaceId", "ws_default".to_owned()),
        ("apiKeyId", text(&keys[0]["id"])),
        ("deploymentId", text(&contract["id"])),
        ("tokenId", text(&token["id"])),
        ("dappId", text(&dapp["id"])),
        ("module", text(&module["id"])),
        ("projectId", text(&project["id"])),
        ("proposalId", text(&proposal["id"])),
        ("webhookId", text(&webhook["id"])),
        ("validatorId", text(&validator["id"])),
        ("block", "latest".to_owned()),
        ("hash", text(&contract["transactionHash"])),
        ("address", text(&shown["treasury"])),
        ("clientId", "cli_0123456789abcdef".to_owned()),
    ];
    (ids, secrets)
}

/// The paths of all reading routes, with ids in the place of their variables.
fn reading_routes(ids: &[(&'static str, String)]) -> Vec<(String, String)> {
    let document: Value = serde_json::from_str(&openapi_json()).unwrap();
    let paths = document["paths"].as_object().unwrap().iter().filter(|(_, item)| item["get"].is_object());
    let filled = paths.map(|(template, item)| {
        let path = ids.iter().fold(template.clone(), |path, (name, id)| path.replace(&format!("{{{name}}}"), id));
        assert!(!path.contains('{'), "say here what the ids of {template} are");
        let parameters = item["get"]["parameters"].as_array().cloned().unwrap_or_default();
        let required = parameters.iter().filter(|one| one["in"] == "query" && one["required"] == true);
        let pairs = required.map(|one| {
            let value = one["schema"]["enum"][0].as_str().unwrap_or(&ids[0].1);
            format!("{}={value}", one["name"].as_str().unwrap())
        });
        let pairs: Vec<String> = pairs.collect();
        let query = if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) };
        (template.clone(), path + &query)
    });
    filled.collect()
}

/// Routes of what is on a chain: they refuse who is no participant. The list of participants is the workspace's.
fn is_refused(template: &str) -> bool {
    let on_a_chain = [
        "/v1/blockchains/{blockchainId}/",
        "/v1/validators/",
        "/v1/governance/proposals/",
        "/v1/contracts/{deploymentId}/",
        "/v1/tokens/{tokenId}/",
        "/v1/analytics/",
    ];
    on_a_chain.iter().any(|prefix| template.starts_with(prefix)) && !template.ends_with("/participants")
}

#[tokio::test]
async fn a_member_who_is_no_participant_sees_nothing_of_a_private_chain_by_any_route() {
    let service = Service::stored(Arc::new(MemoryDisk::new())).await;
    let (ids, secrets) = filled(&service).await;
    let member = key_of_a_member(&service.platform);
    let mut seen_by_participant = String::new();
    for (template, path) in reading_routes(&ids) {
        let own = get_as(&service, &service.api_key, &path).await;
        seen_by_participant += &own.body;
        let reply = get_as(&service, &member, &path).await;
        if is_refused(&template) {
            assert!(matches!(own.status, 200 | 409), "{template}: {}", own.body);
            assert_eq!(reply.status, 403, "{template}: {}", reply.body);
        } else if template.ends_with("/site") {
            assert_eq!((own.status, reply.status), (200, 404), "{template}");
        } else {
            assert_eq!(reply.status, own.status, "{template}: {}", reply.body);
        }
        let told = secrets.iter().find(|secret| reply.body.to_lowercase().contains(&secret.to_lowercase()));
        assert_eq!(told, None, "{template}: {}", reply.body);
    }
    let scraped = get_as(&service, &member, "/metrics").await;
    assert!(scraped.status == 200 && scraped.body.contains("bc_default"), "{}", scraped.body);
    assert!(!scraped.body.contains(&ids[0].1), "its figures are its participants': {}", scraped.body);
    for secret in &secrets {
        assert!(seen_by_participant.contains(secret), "{secret} is seen nowhere, so that its absence shows nothing");
    }
    // What is null where it may not be seen.
    let id = |name: &str| ids.iter().find(|(known, _)| *known == name).unwrap().1.clone();
    let shown = async |path: String| get_as(&service, &member, &path).await.json()["data"].clone();
    let chain = shown(format!("/v1/blockchains/{}", id("blockchainId"))).await;
    assert_eq!((&chain["name"], &chain["status"]), (&json!("hidden"), &json!("running")));
    assert_eq!([&chain["currentBlock"], &chain["genesisHash"], &chain["config"]["blockGasLimit"]], [&Value::Null; 3]);
    assert_eq!(chain["validators"], json!([]));
    for path in [
        format!("/v1/contracts/{}", id("deploymentId")),
        format!("/v1/tokens/{}", id("tokenId")),
        format!("/v1/dapps/{}", id("dappId")),
        format!("/v1/workspaces/ws_default/projects/{}", id("projectId")),
    ] {
        let one = shown(path.clone()).await;
        assert_eq!((&one["status"], &one["transactionHash"]), (&json!("unavailable"), &Value::Null), "{path}: {one}");
        assert!(one.get("blockNumber").is_none_or(Value::is_null), "{path}: {one}");
        let resources = shown("/v1/resources?limit=100".to_owned()).await;
        let listed = resources.as_array().unwrap().iter().find(|resource| resource["id"] == one["id"]);
        assert!(listed.is_none_or(|listed| listed["status"] == "unavailable"), "{listed:?}");
    }
    // As soon as it is one, it sees what the others do.
    let participant = json!({ "participant": format!("user:{}", user_of(&service.platform)) });
    let list = format!("/v1/blockchains/{}/participants", id("blockchainId"));
    ok(&service, "POST", &list, participant).await;
    assert!(shown(format!("/v1/blockchains/{}", id("blockchainId"))).await["currentBlock"].as_u64().unwrap() > 0);
    let nobody = service.rest("POST", &list, json!({ "participant": "user:usr_0123456789abcdef" })).await;
    assert_eq!((nobody.status, &nobody.json()["error"]["details"]["fields"][0]["path"]), (422, &json!("participant")));
}

/// Id of that member's user.
pub(crate) fn user_of(platform: &Platform) -> String {
    let user = platform.users().by_identity("https://id.example", "mia", Some("mia@example.org")).unwrap();
    user.id().to_owned()
}

#[tokio::test]
async fn a_chain_that_is_stopped_leaves_the_lists_with_what_is_known_of_it() {
    let service = Service::stored(Arc::new(MemoryDisk::new())).await;
    let mut chains = Vec::new();
    for name in ["stopped", "running"] {
        let chain = text(&ok(&service, "POST", "/v1/blockchains", json!({ "name": name })).await["id"]);
        let params = json!({ "name": "Gold", "symbol": "GLD", "totalSupply": "1000" });
        let body = json!({ "blockchainId": chain, "template": "erc20-token", "params": params });
        ok(&service, "POST", "/v1/contracts/deploy", body).await;
        let body = json!({ "blockchainId": chain, "standard": "ERC20", "name": "Silver", "symbol": "SLV", "totalSupply": "7" });
        ok(&service, "POST", "/v1/tokens", body).await;
        let component = json!({ "type": "token", "config": { "name": "Tin", "symbol": "TIN", "totalSupply": "5" } });
        let body = json!({ "name": "Shop", "blockchainId": chain, "components": [component] });
        ok(&service, "POST", "/v1/dapps", body).await;
        chains.push(chain);
    }
    ok(&service, "POST", &format!("/v1/blockchains/{}/stop", chains[0]), Value::Null).await;
    for (list, field) in [("/v1/contracts", "gasUsed"), ("/v1/tokens", "totalSupply"), ("/v1/dapps", "blockNumber")] {
        let items = ok(&service, "GET", list, Value::Null).await;
        let of = |chain: &str| items.as_array().unwrap().iter().find(|one| one["blockchainId"] == chain).unwrap();
        let (away, here) = (of(&chains[0]), of(&chains[1]));
        assert_eq!((&away["status"], &here["status"]), (&json!("unavailable"), &json!("deployed")), "{list}");
        assert!(away[field].is_null() && !here[field].is_null(), "{list}: {away} {here}");
        assert!(away["blockNumber"].is_null() && away["transactionHash"].is_string(), "{list}: {away}");
        let one = ok(&service, "GET", &format!("{list}/{}", text(&away["id"])), Value::Null).await;
        assert_eq!(one, *away, "alone as in the list");
        if field == "gasUsed" {
            let used = text(&here["gasUsed"]);
            assert!(used.parse::<u64>().unwrap() > 21_000, "a decimal integer: {used}");
        }
    }
}
