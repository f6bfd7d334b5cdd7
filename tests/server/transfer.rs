//! Export and import of a blockchain by routes.

use alloy_primitives::{Address, U256, hex};
use chainbox::{
    chain::CallRequest,
    node::{BlockRef, Node},
    platform::{ApiKeySpec, Plan, PlatformError, Scope, Subject},
    primitives::{Gas, Height, KeyPair},
    server::{IMPORT_BODY_BYTES_MAX, REST_BODY_BYTES_MAX},
};
use serde_json::{Value, json};

use crate::http::{Reply, Service};

const PAID: Address = Address::repeat_byte(0x77);
const ALSO_PAID: Address = Address::repeat_byte(0x88);

async fn make(service: &Service, body: Value) -> String {
    let reply = service.rest("POST", "/v1/blockchains", body).await;
    assert_eq!(reply.status, 201, "{}", reply.body);
    reply.json()["data"]["id"].as_str().unwrap().to_owned()
}

async fn ok(service: &Service, method: &str, path: &str, body: Value) -> Value {
    let reply = service.rest(method, path, body).await;
    assert!(matches!(reply.status, 200 | 201), "{method} {path}: {}", reply.body);
    reply.json()["data"].take()
}

fn pay(service: &Service, chain: &str, to: Address, amount: u64) {
    let chain = service.platform.running_blockchain(chain).unwrap();
    let request = CallRequest::call(to, []).with_from(chain.treasury().unwrap()).with_value(U256::from(amount));
    service.platform.blockchains().send(&service.platform.service_principal(), chain.id(), request).unwrap();
}

fn balance(service: &Service, chain: &str) -> U256 {
    let chain = service.platform.running_blockchain(chain).unwrap();
    chain.node().view().balance(PAID, BlockRef::Latest).unwrap()
}

async fn import(service: &Service, body: &Value) -> Reply {
    service.rest("POST", "/v1/blockchains/import", body.clone()).await
}

/// What a chain shows of accounts, each with its balance and nonce.
async fn accounts(service: &Service, chain: &str, addresses: &[Address]) -> Vec<Value> {
    let mut found = Vec::new();
    for address in addresses {
        let mut account = ok(service, "GET", &format!("/v1/blockchains/{chain}/accounts/{address}"), Value::Null).await;
        // A copy begins with its own first block.
        account["blockNumber"].take();
        found.push(account);
    }
    found
}

/// What functions of a token return.
async fn token(service: &Service, chain: &str, contract: Address, holder: Address) -> Vec<Value> {
    let mut returned = Vec::new();
    for (method, args) in [
        ("name", json!([])),
        ("symbol", json!([])),
        ("totalSupply", json!([])),
        ("balanceOf", json!([holder])),
        ("balanceOf", json!([PAID])),
    ] {
        let params = json!({ "blockchainId": chain, "contractAddress": contract, "method": method, "args": args });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "contract.call", "params": params });
        let answer = service.rest("POST", "/v1/rpc", call).await.json();
        assert!(!answer["result"]["result"].is_null(), "{method}: {answer}");
        returned.push(answer["result"]["result"].clone());
    }
    returned
}

/// The genesis of an export.
fn genesis(export: &str) -> Value {
    serde_json::from_str::<Value>(export).unwrap()["chain"]["genesis"].take()
}

/// An export has no validator: neither its key nor what system contracts have of it. It has no block and no transaction that waits.
fn is_a_state_alone(export: &str, key: &KeyPair) {
    for secret in [hex::encode(key.secret_bytes()), hex::encode(key.address())] {
        assert!(!export.to_lowercase().contains(&secret), "a sealing key or its address is in the export");
    }
    let document: Value = serde_json::from_str(export).unwrap();
    assert_eq!((&document["chain"]["blocks"], &document["pool"]), (&json!([]), &json!([])));
    let genesis = &document["chain"]["genesis"];
    assert_eq!(genesis["validators"], json!([]));
    for part in ["staking", "parameters", "governance", "permissions", "modules", "validatorRegistry", "consensus"] {
        assert!(genesis[part].is_null(), "{part}: {}", genesis[part]);
    }
    for address in genesis["accounts"].as_object().unwrap().keys() {
        assert!(!address.starts_with("0x00000000000000000000000000000000000010"), "{address} is a system contract");
    }
}

#[tokio::test]
async fn a_blockchain_is_exported_and_imported_by_routes() {
    let service = Service::start().await;
    let source = make(&service, json!({ "name": "source", "chainId": 777 })).await;
    pay(&service, &source, PAID, 5);
    pay(&service, &source, ALSO_PAID, 9);
    let params = json!({ "name": "Gold", "symbol": "GLD", "totalSupply": "1000" });
    let deploy = json!({ "blockchainId": source, "template": "erc20-token", "params": params });
    let deployed = service.rest("POST", "/v1/contracts/deploy", deploy).await;
    assert_eq!(deployed.status, 201, "{}", deployed.body);
    let contract: Address = deployed.json()["data"]["contractAddress"].as_str().unwrap().parse().unwrap();
    let path = format!("/v1/contracts/{}/execute", deployed.json()["data"]["id"].as_str().unwrap());
    ok(&service, "POST", &path, json!({ "method": "transfer", "args": [PAID, "7"] })).await;

    let exported = service.rest("GET", &format!("/v1/blockchains/{source}/export"), Value::Null).await;
    assert_eq!((exported.status, exported.header("content-type")), (200, Some("application/json")));
    assert!(exported.header("x-request-id").is_some());
    assert!(exported.json().get("success").is_none(), "the document itself, without an envelope");

    let body = json!({ "blockchain": { "name": "copy", "chainId": 778, "consensus": "raft" }, "state": exported.body });
    let imported = import(&service, &body).await;
    assert_eq!(imported.status, 201, "{}", imported.body);
    let copy = imported.json()["data"].clone();
    let id = copy["id"].as_str().unwrap();
    let chain = service.platform.running_blockchain(&source).unwrap();
    is_a_state_alone(&exported.body, &chain.node().validator_key(0));
    has_the_state_alone(&service, (&source, chain.treasury().unwrap()), id, contract).await;
    // All of it: each account with its code and storage, and the copy's own treasury beside them.
    let again = service.rest("GET", &format!("/v1/blockchains/{id}/export"), Value::Null).await;
    let (source_genesis, mut copied) = (genesis(&exported.body), genesis(&again.body));
    let treasury = copy["treasury"].as_str().unwrap().to_lowercase();
    let own = copied["accounts"].as_object_mut().unwrap().remove(&treasury);
    assert!(own.is_some(), "{treasury} is not in {copied}");
    assert_eq!(copied["accounts"], source_genesis["accounts"]);
    assert_eq!(imported.header("location"), Some(&*format!("/v1/blockchains/{id}")));
    assert_eq!(
        (&copy["chainId"], &copy["consensus"], &copy["status"]),
        (&json!(778), &json!("raft"), &json!("running"))
    );
    assert_eq!(balance(&service, id), U256::from(5));
    let code = |id: &str| {
        let chain = service.platform.running_blockchain(id).unwrap();
        chain.node().view().code(contract, BlockRef::Latest).unwrap()
    };
    assert!(!code(id).is_empty() && code(id) == code(&source));
    let signer = |view: &Value| view["validators"][0]["signerAddress"].clone();
    let original = service.rest("GET", &format!("/v1/blockchains/{source}"), Value::Null).await.json()["data"].clone();
    assert_eq!(signer(&original), chain.node().validator_key(0).address().to_string());
    assert_ne!(signer(&copy), signer(&original), "new keys");
    assert_ne!(copy["treasury"], original["treasury"]);
    pay(&service, id, PAID, 2);
    assert_eq!((balance(&service, id), balance(&service, &source)), (U256::from(7), U256::from(5)));

    let taken = import(&service, &body).await;
    assert_eq!(taken.status, 409, "its chain id is taken: {}", taken.body);
    // A development node takes the same text.
    let dump = chainbox::node::Dump::from_bytes(exported.body.into_bytes());
    Node::builder().with_genesis(dump.genesis().unwrap()).build().unwrap().load(&dump).unwrap();
}

/// A copy shows the accounts and the token of its source, without its blocks, transactions and events.
async fn has_the_state_alone(service: &Service, (source, treasury): (&str, Address), copy: &str, contract: Address) {
    let addresses = [PAID, ALSO_PAID, treasury, contract];
    let shown = accounts(service, source, &addresses).await;
    assert_eq!((&shown[0]["balance"], &shown[1]["balance"]), (&json!("5"), &json!("9")), "{shown:?}");
    assert_eq!((&shown[2]["nonce"], &shown[3]["template"]), (&json!(4), &json!("erc20-token")), "{shown:?}");
    assert_eq!(accounts(service, copy, &addresses).await, shown);
    let returned = token(service, source, contract, treasury).await;
    assert_eq!((&returned[0], &returned[4]), (&json!("Gold"), &json!("7")), "{returned:?}");
    assert_eq!(token(service, copy, contract, treasury).await, returned);
    for (list, count) in [("/transactions", 4), ("/events?fromBlock=0", 2)] {
        let of = async |chain: &str| ok(service, "GET", &format!("/v1/blockchains/{chain}{list}"), Value::Null).await;
        let listed = of(source).await;
        assert!(listed.as_array().unwrap().len() >= count, "{listed}");
        assert_eq!(of(copy).await, json!([]), "{list}");
    }
    for (chain, height) in [(source, 4), (copy, 0)] {
        let head = ok(service, "GET", &format!("/v1/blockchains/{chain}/blocks/latest"), Value::Null).await;
        assert_eq!(head["number"], height, "{chain}: {head}");
    }
}

#[tokio::test]
async fn what_is_no_export_is_refused_by_its_field() {
    let service = Service::start().await;
    let text = |genesis: Value| json!({ "chain": { "genesis": genesis } }).to_string();
    let with = |more: Value| {
        let mut genesis = json!({ "chainId": 5, "accounts": {} });
        genesis.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        text(genesis)
    };
    let dump = String::from_utf8(Node::new().dump().unwrap().as_bytes().to_vec()).unwrap();
    let rich =
        json!({ "accounts": { "0x1111111111111111111111111111111111111111": { "balance": U256::MAX.to_string() } } });
    for (state, path) in [
        ("{}".to_owned(), "state"),
        ("{\"chain\":7}".to_owned(), "state"),
        ("not JSON".to_owned(), "state"),
        (dump, "state"),
        (with(json!({ "gasLimit": "1" })), "state"),
        (with(json!({ "gasLimit": "999999" })), "state"),
        (with(json!({ "gasLimit": "1000000000001" })), "state"),
        (with(json!({ "colour": "red" })), "state"),
        (with(json!({ "validators": [{ "address": "0x1111111111111111111111111111111111111111" }] })), "state"),
        (
            with(
                json!({ "contracts": [{ "address": "0x1111111111111111111111111111111111111111", "template": "multicall" }] }),
            ),
            "state",
        ),
        (with(json!({ "accounts": { "0x0000000000000000000000000000000000001000": { "balance": "1" } } })), "state"),
        (with(rich), "blockchain.config.nativeToken.premine"),
    ] {
        let reply = import(&service, &json!({ "blockchain": { "name": "x" }, "state": state })).await;
        assert_eq!(reply.status, 422, "{state}: {}", reply.body);
        assert_eq!(reply.json()["error"]["details"]["fields"][0]["path"], path, "{state}: {}", reply.body);
    }
    let listed = service.rest("GET", "/v1/blockchains", Value::Null).await.json();
    assert_eq!(listed["pagination"]["total"], 1, "nothing is left of them: {listed}");
}

#[tokio::test]
async fn plan_and_chain_id_are_looked_at_before_the_export() {
    let service = Service::planned(Plan { blockchains_max: 2, ..Plan::UNLIMITED }).await;
    let wrong = |chain_id: u64| json!({ "blockchain": { "name": "x", "chainId": chain_id }, "state": "{}" });
    let taken = service.platform.default_blockchain().unwrap().chain_id();
    let refused = import(&service, &wrong(taken)).await;
    assert_eq!((refused.status, refused.json()["error"]["code"].as_str()), (409, Some("CONFLICT")), "{}", refused.body);
    assert_eq!(import(&service, &wrong(taken + 1)).await.status, 422, "a chain id that is free");
    make(&service, json!({ "name": "last" })).await;
    let full = import(&service, &wrong(taken + 100)).await;
    assert_eq!(full.status, 409, "{}", full.body);
    assert!(full.body.contains("allows 2 blockchains"), "{}", full.body);
}

/// Whatever its genesis says, a transaction has no more gas there than on any chain of the service.
#[tokio::test]
async fn an_import_takes_no_bound_of_gas_away() {
    let service = Service::start().await;
    let genesis = json!({ "chainId": 5, "accounts": {}, "transactionGasCap": false, "hardfork": "london", "gasLimit": "1000000000000" });
    let state = json!({ "chain": { "genesis": genesis } }).to_string();
    let made = import(&service, &json!({ "blockchain": { "name": "free" }, "state": state })).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let id = made.json()["data"]["id"].as_str().unwrap().to_owned();
    let chain = service.platform.running_blockchain(&id).unwrap();
    let spec = chain.node().view().chain().spec().clone();
    assert!(spec.transaction_gas_cap);
    assert_eq!(spec.rules_at(Height::GENESIS).tx_gas_limit_max, Some(Gas::new(16_777_216)));
    assert_eq!(spec.gas_limit, Gas::new(1_000_000_000_000));
    let send = |gas: u64| {
        let request = CallRequest::call(PAID, []).with_from(chain.treasury().unwrap()).with_gas(Gas::new(gas));
        service.platform.blockchains().send(&service.platform.service_principal(), chain.id(), request)
    };
    send(16_777_216).unwrap();
    let refused = send(16_777_217).unwrap_err().to_string();
    assert!(refused.contains("16777216"), "{refused}");
}

/// Who may not read a blockchain does not export it, and only participants export one with `privacy`.
#[tokio::test]
async fn an_export_is_for_readers() {
    let service = Service::start().await;
    let secret = make(&service, json!({ "name": "secret", "features": ["smart-contracts", "privacy"] })).await;
    let key = |scopes: &[Scope]| {
        let spec = ApiKeySpec { name: "other".to_owned(), scopes: scopes.iter().copied().collect(), lifetime_ms: None };
        let platform = &service.platform;
        let made = platform.unit(|unit| platform.api_keys().create(unit, &platform.service_principal(), spec));
        made.map(|(value, _)| value.text().to_owned()).map_err(|cause: PlatformError| cause).unwrap()
    };
    let path = format!("/v1/blockchains/{secret}/export");
    assert_eq!(service.rest("GET", &path, Value::Null).await.status, 200);
    let bare = key(&[Scope::WorkspaceRead]);
    let reply = service.send("GET", "/v1/blockchains/bc_default/export", &[("x-api-key", &bare)], "").await;
    assert_eq!(
        (reply.status, reply.json()["error"]["details"]["requiredScope"].as_str()),
        (403, Some("blockchain:read"))
    );
    service.rest("POST", &format!("/v1/blockchains/{secret}/pause"), Value::Null).await;
    assert_eq!(service.rest("GET", &path, Value::Null).await.status, 200, "a paused one is read");
    let (chains, me) = (service.platform.blockchains(), service.platform.service_principal());
    let ann = service.platform.users().by_identity("https://id.example", "ann", Some("ann@example.org")).unwrap();
    let ann = Subject::User(ann.id().to_owned());
    service.platform.unit(|unit| chains.add_participant(unit, &me, &secret, &ann)).unwrap();
    service.platform.unit(|unit| chains.remove_participant(unit, &me, &secret, me.subject())).unwrap();
    let reply = service.rest("GET", &path, Value::Null).await;
    assert_eq!(reply.status, 403, "no participant any more: {}", reply.body);
}

/// An import alone may be longer than other bodies, of a caller who may import.
#[tokio::test]
async fn the_body_of_an_import_has_a_bound_of_its_own() {
    let service = Service::start().await;
    let body = |length: usize| {
        let around = json!({ "blockchain": { "name": "long" }, "state": "{" }).to_string().len();
        json!({ "blockchain": { "name": "long" }, "state": format!("{{{}", " ".repeat(length - around)) }).to_string()
    };
    let headers = [("x-api-key", service.api_key.as_str()), ("content-type", "application/json")];
    let long = body(REST_BODY_BYTES_MAX + 1);
    let reply = service.send("POST", "/v1/blockchains/import", &headers, &long).await;
    assert_eq!(reply.status, 422, "it is read, and no export: {}", reply.body);
    assert_eq!(service.send("POST", "/v1/blockchains", &headers, &long).await.status, 413);
    let wrong = [("x-api-key", "cbx_wrong"), ("content-type", "application/json")];
    assert_eq!(service.send("POST", "/v1/blockchains/import", &wrong, &long).await.status, 401);
    let at = service.send("POST", "/v1/blockchains/import", &headers, &body(IMPORT_BODY_BYTES_MAX)).await;
    assert_eq!(at.status, 422, "{}", at.body);
    let past = service.send("POST", "/v1/blockchains/import", &headers, &body(IMPORT_BODY_BYTES_MAX + 1)).await;
    assert_eq!((past.status, past.json()["error"]["code"].as_str()), (413, Some("PAYLOAD_TOO_LARGE")));
}
