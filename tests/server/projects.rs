//! Projects by the service's routes.

use std::sync::Arc;

use chainbox::{
    platform::{PROJECT_TEMPLATES, Scope},
    store::testing::MemoryDisk,
};
use serde_json::{Value, json};

use crate::http::Service;

const ALL: &str = "/v1/workspaces/ws_default/projects";

async fn ok(service: &Service, method: &str, path: &str, body: Value) -> Value {
    let reply = service.rest(method, path, body).await;
    assert!(matches!(reply.status, 200 | 201), "{method} {path}: {}", reply.body);
    reply.json()["data"].clone()
}

#[tokio::test]
async fn a_project_is_made_read_changed_and_deleted_and_outlives_the_process() {
    let disk = Arc::new(MemoryDisk::new());
    let service = Service::stored(disk.clone()).await;
    let body = json!({
        "name": "exchange", "type": "dapp", "template": "defi-exchange",
        "config": { "blockchain": "proof-of-stake", "network": "development", "features": ["smart-contracts", "burnable"] },
    });
    let made = ok(&service, "POST", ALL, body).await;
    assert_eq!((&made["status"], &made["network"]), (&json!("active"), &json!("development")));
    let chain =
        ok(&service, "GET", &format!("/v1/blockchains/{}", made["blockchainId"].as_str().unwrap()), Value::Null).await;
    assert_eq!((&chain["consensus"], &chain["currentBlock"]), (&json!("proof-of-stake"), &json!(1)));
    let path = format!("{ALL}/{}", made["id"].as_str().unwrap());
    assert_eq!(ok(&service, "GET", &path, Value::Null).await, made);
    let bare = ok(&service, "POST", ALL, json!({ "name": "bare" })).await;
    assert_eq!((&bare["type"], &bare["template"], &bare["contracts"]), (&json!("dapp"), &json!("blank"), &json!([])));
    let changed = ok(&service, "PATCH", &path, json!({ "description": "Gold for ether" })).await;
    assert_eq!((&changed["name"], &changed["description"]), (&json!("exchange"), &json!("Gold for ether")));
    let listed = ok(&service, "GET", &format!("{ALL}?sort=name"), Value::Null).await;
    assert_eq!((&listed[0]["id"], &listed[1]["id"]), (&bare["id"], &made["id"]));
    let resources = ok(&service, "GET", "/v1/resources?type=project", Value::Null).await;
    assert_eq!(resources.as_array().unwrap().len(), 2);
    drop(service);
    let service = Service::stored(disk).await;
    assert_eq!(ok(&service, "GET", &path, Value::Null).await, changed);
    ok(&service, "DELETE", &path, Value::Null).await;
    assert_eq!(service.rest("GET", &path, Value::Null).await.status, 404);
    ok(&service, "GET", &format!("/v1/blockchains/{}", made["blockchainId"].as_str().unwrap()), Value::Null).await;
}

#[tokio::test]
async fn unknown_values_are_refused_with_the_list() {
    let service = Service::start().await;
    for (body, path, words) in [
        (json!({ "name": "x", "type": "game" }), "type", "dapp, token, nft, defi, dao, network"),
        (json!({ "name": "x", "template": "casino" }), "template", "defi-exchange"),
        (json!({ "name": "x", "type": "dao", "template": "staking" }), "template", "one of dao"),
        (json!({ "name": "x", "config": { "blockchain": "proof-of-work" } }), "config.blockchain", "pbft"),
        (json!({ "name": "x", "config": { "network": "moon" } }), "config.network", "testnet"),
        (json!({ "name": "x", "config": { "features": ["speed"] } }), "config.features[0]", "privacy"),
    ] {
        let reply = service.rest("POST", ALL, body.clone()).await;
        assert_eq!(reply.status, 422, "{body}: {}", reply.body);
        let field = reply.json()["error"]["details"]["fields"][0].clone();
        assert_eq!(field["path"], path, "{body}");
        assert!(field["expected"].as_str().unwrap().contains(words), "{field}");
    }
    assert_eq!(ok(&service, "GET", ALL, Value::Null).await, json!([]));
}

#[tokio::test]
async fn who_may_not_make_chains_or_deploy_makes_no_project() {
    let service = Service::start().await;
    let body = json!({ "name": "x" }).to_string();
    let all = [Scope::WorkspaceWrite, Scope::BlockchainWrite, Scope::BlockchainDeploy];
    for (lacking, scopes) in
        [(Some(all[1]), vec![all[0], all[2]]), (Some(all[2]), all[..2].to_vec()), (None, all.to_vec())]
    {
        let key = service.platform.create_api_key("some", &scopes).unwrap().text().to_owned();
        let headers = [("x-api-key", key.as_str()), ("content-type", "application/json")];
        let reply = service.send("POST", ALL, &headers, &body).await;
        assert_eq!(reply.status, if lacking.is_some() { 403 } else { 201 }, "{}", reply.body);
        if let Some(scope) = lacking {
            assert_eq!(reply.json()["error"]["details"]["requiredScope"], scope.name());
        }
    }
}

/// Each template by its name, on a chain of its own: the state of a project on a development network is that of its one transaction.
#[tokio::test]
async fn every_template_is_active_with_its_contracts() {
    let service = Service::start().await;
    let mut made = 0;
    for template in &PROJECT_TEMPLATES {
        for kind in template.kinds {
            let body = json!({
                "name": format!("{} {}", kind.name(), template.name), "type": kind.name(), "template": template.name,
                "config": { "blockchain": "proof-of-authority", "network": "development", "features": template.options },
            });
            let project = ok(&service, "POST", ALL, body).await;
            assert_eq!(
                (&project["status"], &project["template"]),
                (&json!("active"), &json!(template.name)),
                "{project}"
            );
            let chain = format!("/v1/blockchains/{}", project["blockchainId"].as_str().unwrap());
            let found = ok(&service, "GET", &chain, Value::Null).await;
            assert_eq!(found["status"], "running", "{found}");
            for feature in template.chain_features {
                assert!(found["features"].as_array().unwrap().contains(&json!(feature.name())), "{found}");
            }
            let contracts = project["contracts"].as_array().unwrap();
            assert_eq!(contracts.is_empty(), matches!(template.name, "blank" | "private-network"), "{project}");
            for contract in contracts {
                let path = format!("{chain}/accounts/{}", contract["address"].as_str().unwrap());
                assert_eq!(
                    ok(&service, "GET", &path, Value::Null).await["template"],
                    contract["template"],
                    "{contract}"
                );
            }
            made += 1;
        }
    }
    assert_eq!(made, 16, "a type and a template that takes it");
}

#[tokio::test]
async fn the_workspaces_network_is_that_of_projects_that_name_none() {
    let service = Service::start().await;
    let home = "/v1/workspaces/ws_default";
    assert_eq!(ok(&service, "POST", ALL, json!({ "name": "first" })).await["network"], "development");
    let changed = ok(&service, "PATCH", home, json!({ "settings": { "defaultNetwork": "testnet" } })).await;
    assert_eq!(changed["settings"]["defaultNetwork"], "testnet");
    let made = ok(&service, "POST", ALL, json!({ "name": "second" })).await;
    assert_eq!(made["network"], "testnet");
    let chain = format!("/v1/blockchains/{}", made["blockchainId"].as_str().unwrap());
    assert_eq!(ok(&service, "GET", &chain, Value::Null).await["config"]["blockTime"], "2s");
    let named = json!({ "name": "third", "config": { "network": "development" } });
    assert_eq!(ok(&service, "POST", ALL, named).await["network"], "development");
    // A chain that is gone is no network any more.
    let moon = ok(&service, "POST", "/v1/blockchains", json!({ "name": "moon" })).await;
    ok(&service, "PATCH", home, json!({ "settings": { "defaultNetwork": "moon" } })).await;
    let moon = format!("/v1/blockchains/{}", moon["id"].as_str().unwrap());
    ok(&service, "DELETE", &moon, Value::Null).await;
    assert_eq!(wrong_field(&service, "POST", ALL, json!({ "name": "fourth" })).await, "config.network");
}

/// The field that a refusal as invalid names.
async fn wrong_field(service: &Service, method: &str, path: &str, body: Value) -> Value {
    let reply = service.rest(method, path, body).await;
    assert_eq!((reply.status, &reply.json()["error"]["code"]), (422, &json!("VALIDATION_ERROR")), "{}", reply.body);
    reply.json()["error"]["details"]["fields"][0]["path"].clone()
}

#[tokio::test]
async fn a_workspace_with_an_unknown_network_is_refused_whole() {
    let service = Service::start().await;
    let (all, home) = ("/v1/workspaces", "/v1/workspaces/ws_default");
    let before = ok(&service, "GET", home, Value::Null).await;
    for unknown in ["moon", "bc_0123456789abcdef"] {
        let changed = json!({ "name": "renamed", "settings": { "defaultNetwork": unknown } });
        assert_eq!(wrong_field(&service, "PATCH", home, changed).await, "settings.defaultNetwork");
        let new = json!({
            "name": "new", "settings": { "defaultNetwork": unknown }, "members": [{ "email": "ada@example.org" }],
        });
        assert_eq!(wrong_field(&service, "POST", all, new).await, "settings.defaultNetwork");
    }
    assert_eq!(ok(&service, "GET", home, Value::Null).await, before);
    assert_eq!(ok(&service, "GET", all, Value::Null).await.as_array().unwrap().len(), 1);
    let named = json!({ "settings": { "defaultNetwork": "bc_default" } });
    assert_eq!(ok(&service, "PATCH", home, named).await["settings"]["defaultNetwork"], "bc_default");
    for network in ["development", "testnet", "mainnet"] {
        let new = json!({ "name": network, "settings": { "defaultNetwork": network } });
        assert_eq!(ok(&service, "POST", all, new).await["settings"]["defaultNetwork"], network);
    }
}
