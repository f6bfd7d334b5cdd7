//! Routes of keys, members, a chain's data, states and readers, each as a caller uses it.

use std::sync::Arc;

use chainbox::{
    platform::{ApiKeySpec, PlatformError, Role, Scope},
    primitives::{Address, Gas, KeyPair, TransactionRequest, U256},
    store::testing::MemoryDisk,
};
use serde_json::{Value, json};

use crate::http::{Reply, Service};

/// Sends a request with the admin key as a bearer, which the keys' routes ask for.
async fn send(service: &Service, method: &str, path: &str, body: Value) -> Reply {
    let bearer = format!("Bearer {}", service.api_key);
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    let body = if body.is_null() { String::new() } else { body.to_string() };
    service.send(method, path, &headers, &body).await
}

async fn ok(service: &Service, method: &str, path: &str, body: Value) -> Value {
    let reply = send(service, method, path, body).await;
    assert!(matches!(reply.status, 200 | 201), "{method} {path}: {}", reply.body);
    reply.json()["data"].clone()
}

fn ids(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect()
}

fn id(value: &Value) -> String {
    value["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_key_is_made_listed_rotated_and_revoked() {
    let service = Service::start().await;
    let all = "/v1/auth/api-keys";
    let made = ok(&service, "POST", all, json!({ "name": "ci", "scopes": ["workspace:read"] })).await;
    let one = format!("{all}/{}", id(&made));
    let reads = async |key: &Value| {
        service.send("GET", "/v1/workspaces", &[("x-api-key", key.as_str().unwrap())], "").await.status
    };
    assert_eq!(reads(&made["key"]).await, 200);
    assert!(ids(&ok(&service, "GET", all, Value::Null).await).contains(&id(&made).as_str()));
    let found = ok(&service, "GET", &one, Value::Null).await;
    assert_eq!((&found["name"], &found["status"], found["key"].is_null()), (&json!("ci"), &json!("active"), true));
    let rotated = ok(&service, "POST", &format!("{one}/rotate"), json!({ "overlap": "1h" })).await;
    assert_ne!(rotated["key"], made["key"]);
    assert_eq!((reads(&made["key"]).await, reads(&rotated["key"]).await), (200, 200), "both, for the overlap");
    let revoked = ok(&service, "DELETE", &format!("{all}/{}", id(&rotated)), Value::Null).await;
    assert_eq!(revoked["status"], "revoked");
    assert_eq!(reads(&rotated["key"]).await, 401);
}

#[tokio::test]
async fn a_workspace_has_members_and_invitations_until_it_is_deleted() {
    let service = Service::start().await;
    let platform = &service.platform;
    let user = platform.users().by_identity("https://id.example", "ann", Some("ann@example.org")).unwrap();
    let (members, me) = (platform.workspaces().members(), platform.service_principal());
    let (_, token) = platform.unit(|unit| members.invite(unit, &me, "ann@example.org", Role::Viewer)).unwrap();
    platform.unit(|unit| members.accept(unit, user.id(), token.text())).unwrap();
    let all = "/v1/workspaces/ws_default/members";
    let listed = ok(&service, "GET", all, Value::Null).await;
    assert_eq!((ids(&listed), &listed[0]["role"]), (vec![user.id()], &json!("viewer")));
    let one = format!("{all}/{}", user.id());
    assert_eq!(ok(&service, "PATCH", &one, json!({ "role": "developer" })).await["role"], "developer");
    assert_eq!(ok(&service, "DELETE", &one, Value::Null).await["deleted"], true);
    assert_eq!(ok(&service, "GET", all, Value::Null).await, json!([]));

    let invitations = "/v1/workspaces/ws_default/invitations";
    let invited = ok(&service, "POST", invitations, json!({ "email": "ben@example.org" })).await;
    assert_eq!(ids(&ok(&service, "GET", invitations, Value::Null).await), [id(&invited)]);
    ok(&service, "DELETE", &format!("{invitations}/{}", id(&invited)), Value::Null).await;
    assert_eq!(ok(&service, "GET", invitations, Value::Null).await, json!([]));

    let made = ok(&service, "POST", "/v1/workspaces", json!({ "name": "research" })).await;
    let path = format!("/v1/workspaces/{}", id(&made));
    assert_eq!(ok(&service, "DELETE", &path, Value::Null).await["deleted"], true);
    assert_eq!(send(&service, "GET", &path, Value::Null).await.status, 404);
}

/// Neither role has a credential with `workspace:write`.
#[tokio::test]
async fn a_developer_and_a_viewer_leave_a_workspace_by_their_own_keys() {
    let service = Service::start().await;
    let platform = &service.platform;
    let (workspaces, me) = (platform.workspaces(), platform.service_principal());
    let members = workspaces.members();
    let join = |email: &str, role| {
        let user = platform.users().by_identity("https://id.example", email, Some(email)).unwrap();
        let (_, token) = platform.unit(|unit| members.invite(unit, &me, email, role)).unwrap();
        platform.unit(|unit| members.accept(unit, user.id(), token.text())).unwrap();
        let principal = workspaces.principal(user.id(), me.workspace()).unwrap().unwrap();
        let scopes = [Scope::WorkspaceRead].into_iter().collect();
        let spec = ApiKeySpec { name: email.to_owned(), scopes, lifetime_ms: None };
        let made = platform.unit(|unit| Ok::<_, PlatformError>(platform.api_keys().create(unit, &principal, spec)?.0));
        (user.id().to_owned(), made.unwrap().text().to_owned())
    };
    let stays = join("owner@example.org", Role::Owner);
    for (email, role) in [("developer@example.org", Role::Developer), ("viewer@example.org", Role::Viewer)] {
        let (id, key) = join(email, role);
        let member = |id: &str| format!("/v1/workspaces/ws_default/members/{id}");
        let headers = [("x-api-key", key.as_str()), ("idempotency-key", "leave")];
        for other in [stays.0.as_str(), "user_0000000000000000"] {
            let refused = service.send("DELETE", &member(other), &headers[..1], "").await;
            assert_eq!(refused.status, 403, "{email}: {}", refused.body);
            assert_eq!(refused.json()["error"]["details"]["requiredScope"], "workspace:write", "{}", refused.body);
        }
        for turn in ["left", "repeated"] {
            let left = service.send("DELETE", &member(&id), &headers, "").await;
            assert_eq!(left.status, 200, "{email}, {turn}: {}", left.body);
        }
        assert_eq!(service.send("GET", "/v1/workspaces", &headers[..1], "").await.status, 401, "its key is revoked");
    }
    // Whose role may change the workspace leaves by a credential that may.
    let headers = [("x-api-key", stays.1.as_str())];
    let path = format!("/v1/workspaces/ws_default/members/{}", stays.0);
    assert_eq!(service.send("DELETE", &path, &headers, "").await.status, 403);
}

#[tokio::test]
async fn a_chains_blocks_transactions_accounts_and_events_agree() {
    let service = Service::start().await;
    let params = json!({ "name": "Gold", "symbol": "GLD", "totalSupply": "1000" });
    let body = json!({ "blockchainId": "bc_default", "template": "erc20-token", "params": params });
    let deployed = ok(&service, "POST", "/v1/contracts/deploy", body).await;
    assert_eq!(ids(&ok(&service, "GET", "/v1/contracts", Value::Null).await), [id(&deployed)]);
    let get = async |rest: &str| ok(&service, "GET", &format!("/v1/blockchains/bc_default{rest}"), Value::Null).await;
    let hash = deployed["transactionHash"].as_str().unwrap();
    let blocks = get("/blocks?sort=number:desc").await;
    assert_eq!(blocks.as_array().unwrap().len(), 2, "{blocks}");
    assert_eq!((&blocks[0]["transactions"], &blocks[0]["parentHash"]), (&json!([hash]), &blocks[1]["hash"]));
    for name in ["1", "latest", blocks[0]["hash"].as_str().unwrap()] {
        assert_eq!(get(&format!("/blocks/{name}")).await, blocks[0], "{name}");
    }
    let transaction = get(&format!("/transactions/{hash}")).await;
    assert_eq!((&transaction["status"], &transaction["blockHash"]), (&json!("success"), &blocks[0]["hash"]));
    assert_eq!(transaction["contractAddress"], deployed["contractAddress"]);
    assert_eq!(get("/transactions").await, json!([transaction]));
    let events = get("/events?fromBlock=0").await;
    assert_eq!(events, transaction["events"]);
    assert!(events[0]["address"] == deployed["contractAddress"] && events[0]["transactionHash"] == hash, "{events}");
    let contract = get(&format!("/accounts/{}", deployed["contractAddress"].as_str().unwrap())).await;
    assert_eq!((&contract["isContract"], &contract["template"]), (&json!(true), &json!("erc20-token")));
    let sender = get(&format!("/accounts/{}", deployed["from"].as_str().unwrap())).await;
    assert_eq!(
        (&sender["nonce"], &sender["isContract"], &sender["blockNumber"]),
        (&json!(1), &json!(false), &json!(1))
    );
    let series = "/v1/analytics/timeseries?blockchainId=bc_default&metric=transactions&granularity=15s";
    let series = ok(&service, "GET", series, Value::Null).await;
    assert_eq!((&series["blockchainId"], &series["granularity"]), (&json!("bc_default"), &json!("15s")), "{series}");
}

#[tokio::test]
async fn a_contracts_events_are_those_since_its_deployment() {
    let service = Service::start().await;
    let deploy = async |name: &str| {
        let params = json!({ "name": name, "symbol": "GLD", "totalSupply": "1000" });
        let body = json!({ "blockchainId": "bc_default", "template": "erc20-token", "params": params });
        ok(&service, "POST", "/v1/contracts/deploy", body).await
    };
    let (first, second) = (deploy("Gold").await, deploy("Silver").await);
    assert_eq!((&first["blockNumber"], &second["blockNumber"]), (&json!(1), &json!(2)));
    for _ in 0..2 {
        let call = json!({ "method": "transfer", "args": [Address::repeat_byte(0x42), "1"] });
        ok(&service, "POST", &format!("/v1/contracts/{}/execute", id(&second)), call).await;
    }
    let page = async |query: &str| {
        let path = format!("/v1/contracts/{}/events?{query}", id(&second));
        let reply = send(&service, "GET", &path, Value::Null).await;
        assert_eq!(reply.status, 200, "{path}: {}", reply.body);
        let reply = reply.json();
        let events = reply["data"].as_array().unwrap().iter();
        let heights: Vec<u64> = events.map(|event| event["blockNumber"].as_u64().unwrap()).collect();
        (heights, reply["pagination"]["total"].as_u64().unwrap())
    };
    let (all, total) = page("limit=100").await;
    assert_eq!((all.first(), all.last(), all.len() as u64), (Some(&2), Some(&4), total));
    for (query, wanted) in [
        ("limit=100&fromBlock=0", (all.clone(), total)),
        ("limit=1", (vec![2], total)),
        ("limit=1&page=2&sort=blockNumber:desc", (vec![3], total)),
        ("fromBlock=3&toBlock=3", (vec![3], 1)),
        ("toBlock=1", (vec![], 0)),
        ("fromBlock=5", (vec![], 0)),
    ] {
        assert_eq!(page(query).await, wanted, "{query}");
    }
}

#[tokio::test]
async fn a_chain_is_paused_resumed_stopped_and_started_and_names_its_readers() {
    let service = Service::stored(Arc::new(MemoryDisk::new())).await;
    let made = ok(&service, "POST", "/v1/blockchains", json!({ "name": "secret", "features": ["privacy"] })).await;
    let path = |rest: &str| format!("/v1/blockchains/{}{rest}", id(&made));
    for (command, status) in [("pause", "paused"), ("resume", "running"), ("stop", "stopped"), ("start", "running")] {
        let changed = ok(&service, "POST", &path(&format!("/{command}")), Value::Null).await;
        assert_eq!(changed["status"], status);
        assert_eq!(ok(&service, "GET", &path(""), Value::Null).await["status"], status);
        let block = send(&service, "GET", &path("/blocks/latest"), Value::Null).await;
        assert_eq!(block.status, if status == "stopped" { 409 } else { 200 }, "{command}: {}", block.body);
    }
    let all = path("/participants");
    let first = ok(&service, "GET", &all, Value::Null).await;
    let user = service.platform.users().by_identity("https://id.example", "ann", Some("ann@example.org")).unwrap();
    let reader = format!("user:{}", user.id());
    assert_eq!(ok(&service, "POST", &all, json!({ "participant": reader })).await["id"], reader);
    let both = ok(&service, "GET", &all, Value::Null).await;
    assert!(ids(&both).len() == ids(&first).len() + 1 && ids(&both).contains(&reader.as_str()), "{both}");
    ok(&service, "DELETE", &format!("{all}/{reader}"), Value::Null).await;
    assert_eq!(ok(&service, "GET", &all, Value::Null).await, first);
}

/// Calls a method of JSON-RPC; returns the whole answer.
async fn call(service: &Service, path: &str, method: &str, params: Value) -> Value {
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let reply = send(service, "POST", path, call).await;
    assert_eq!(reply.status, 200, "{method}: {}", reply.body);
    reply.json()
}

#[tokio::test]
async fn a_paused_chain_takes_no_transactions_and_is_read() {
    let service = Service::stored(Arc::new(MemoryDisk::new())).await;
    let made = ok(&service, "POST", "/v1/blockchains", json!({ "name": "ledger" })).await;
    let (chain, treasury) = (id(&made), &made["treasury"]);
    let path = |rest: &str| format!("/v1/blockchains/{chain}{rest}");
    let (eth, rpc) = (path("/eth"), "/v1/rpc");
    let params = json!({ "name": "Gold", "symbol": "GLD", "totalSupply": "1000" });
    let deployment = json!({ "blockchainId": chain, "template": "erc20-token", "params": params });
    let deployed = ok(&service, "POST", "/v1/contracts/deploy", deployment.clone()).await;
    let payer = KeyPair::from_seed(31, "payer");
    let funding = json!({
        "blockchainId": chain, "contractAddress": payer.address(), "data": "0x", "from": treasury,
        "value": "1000000000000000000",
    });
    let funded = call(&service, rpc, "contract.execute", funding).await;
    assert_eq!(funded["result"]["status"], "success", "{funded}");
    let payment = TransactionRequest {
        chain_id: made["chainId"].as_u64(),
        to: Some(Address::repeat_byte(0x42)),
        value: U256::from(1),
        gas_limit: Gas::new(21_000),
        max_fee_per_gas: 100_000_000_000,
        ..Default::default()
    };
    let payment = payment.sign(&payer).unwrap().encoded().to_string();
    let sent = json!({ "blockchainId": chain, "signedTransaction": payment });
    let of_token = |method: &str, args: Value| {
        let contract = &deployed["contractAddress"];
        json!({ "blockchainId": chain, "contractAddress": contract, "method": method, "args": args })
    };
    let (transfer, supply) = (of_token("transfer", json!([payer.address(), "1"])), of_token("totalSupply", json!([])));
    let balance = json!([payer.address(), "latest"]);
    let head = ok(&service, "GET", &path("/blocks/latest"), Value::Null).await;
    let before = call(&service, &eth, "eth_getBalance", balance.clone()).await["result"].clone();
    let total = call(&service, rpc, "contract.call", supply.clone()).await["result"].clone();
    assert!(before.is_string() && !total.is_null(), "{before} {total}");

    ok(&service, "POST", &path("/pause"), Value::Null).await;
    let refused = send(&service, "POST", "/v1/contracts/deploy", deployment.clone()).await;
    assert_eq!((refused.status, &refused.json()["error"]["code"]), (409, &json!("CONFLICT")), "{}", refused.body);
    assert!(refused.body.contains("is paused"), "{}", refused.body);
    for (method, params) in [("transaction.send", &sent), ("contract.execute", &transfer)] {
        let refused = call(&service, rpc, method, params.clone()).await;
        let error = &refused["error"];
        assert_eq!(error["data"]["code"], "CONFLICT", "{method}: {refused}");
        assert!(error["message"].as_str().unwrap().contains("is paused"), "{method}: {refused}");
    }
    let refused = call(&service, &eth, "eth_sendRawTransaction", json!([payment])).await;
    assert!(refused["error"]["message"].as_str().unwrap().contains("is paused"), "{refused}");
    assert_eq!(refused["error"]["code"], -32_000, "{refused}");
    // No account of the node's signs on a chain of the service.
    let unsigned = json!([{ "from": treasury, "to": payer.address(), "value": "0x1" }]);
    let refused = call(&service, &eth, "eth_sendTransaction", unsigned).await;
    assert_eq!(refused["error"]["code"], -32_601, "{refused}");
    assert_eq!(ok(&service, "GET", &path("/blocks/latest"), Value::Null).await, head, "no blocks");
    assert_eq!(call(&service, &eth, "eth_getBalance", balance).await["result"], before);
    assert_eq!(call(&service, rpc, "contract.call", supply).await["result"], total);
    let shown = ok(&service, "GET", &format!("/v1/contracts/{}", id(&deployed)), Value::Null).await;
    assert_eq!((&shown["status"], &shown["blockNumber"]), (&json!("deployed"), &deployed["blockNumber"]));

    // The very same is taken once it runs.
    ok(&service, "POST", &path("/resume"), Value::Null).await;
    let taken = call(&service, &eth, "eth_sendRawTransaction", json!([payment])).await;
    assert!(taken["result"].is_string(), "{taken}");
    let taken = call(&service, rpc, "contract.execute", transfer).await;
    assert_eq!(taken["result"]["status"], "success", "{taken}");
    ok(&service, "POST", "/v1/contracts/deploy", deployment).await;
}

#[tokio::test]
async fn subscriptions_are_listed() {
    let service = Service::start().await;
    let body = json!({ "url": "https://93.184.215.14/hook", "events": ["contract.deployed"] });
    let made = ok(&service, "POST", "/v1/webhooks", body).await;
    assert_eq!(ids(&ok(&service, "GET", "/v1/webhooks", Value::Null).await), [id(&made)]);
}
