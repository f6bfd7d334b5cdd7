//! Bodies and query parameters that are wrong in one place: each is refused with the name of the place.

use chainbox::templates;
use serde_json::{Map, Value, json};

use super::{
    JSON, Operation, check,
    filled::ok,
    negation::{Schemas, Wrong},
    roomy,
};
use crate::http::{Reply, Service};

async fn refused(service: &Service, operation: &Operation, document: &Value, body: &Value, (path, what): (&str, &str)) {
    let bearer = format!("Bearer {}", service.api_key);
    let reply = operation.send(service, &[("authorization", &bearer)], &body.to_string()).await;
    let shown: String = body.to_string().chars().take(300).collect();
    assert_eq!(reply.status, 422, "{} {path:?} {what}: {shown}: {}", operation.name(), reply.body);
    check(document, operation, &reply);
    let error = reply.json();
    let fields = error["error"]["details"]["fields"].as_array().unwrap();
    assert!(
        fields.iter().any(|field| field["path"] == path),
        "{} {what}: {shown}: {path:?} is not named: {fields:?}",
        operation.name()
    );
}

/// Each field of each body: of every other type, out of each bound, of no pattern, not in the list, missing, with an unknown one beside it.
#[tokio::test]
async fn every_wrong_field_of_every_body_is_named() {
    let service = roomy().await;
    let (document, operations) = Operation::all();
    let schemas = Schemas::of(&document);
    let (mut bodies, mut wrong) = (0, 0);
    for operation in operations.iter().filter(|operation| !operation.is_foreign()) {
        let schema = &operation.value["requestBody"]["content"]["application/json"]["schema"];
        if schema.is_null() {
            continue;
        }
        let good = operation.examples().into_iter().max_by_key(|example| example.to_string().len()).unwrap();
        for Wrong { value, path, what } in schemas.wrongs(schema, &good, "") {
            refused(&service, operation, &document, &value, (&path, what)).await;
            wrong += 1;
        }
        bodies += 1;
    }
    assert!(bodies > 25 && wrong > 1_300, "{bodies} bodies, {wrong} cases");
}

/// The parameters of each template, by the schema that the document has of them.
#[tokio::test]
async fn every_wrong_parameter_of_every_template_is_named() {
    let service = roomy().await;
    let (document, operations) = Operation::all();
    let schemas = Schemas::of(&document);
    let deploy = operations.iter().find(|operation| operation.name() == "deployContract").unwrap();
    let mut wrong = 0;
    for template in templates::builtin().iter() {
        let schema = schemas.named(&format!("{}.params", template.name()));
        let good = schemas.sample(schema);
        for Wrong { value, path, what } in schemas.wrongs(schema, &good, "") {
            // A null is a parameter that is left out.
            if path.is_empty() || what == "null" {
                continue;
            }
            let body = json!({ "blockchainId": "bc_default", "template": template.name(), "params": value });
            refused(&service, deploy, &document, &body, (&format!("params.{path}"), what)).await;
            wrong += 1;
        }
    }
    assert!(wrong > 300, "{wrong}");
    assert_eq!(service.rpc("eth_blockNumber", json!([])).await["result"], "0x0", "nothing was sent");
}

/// The parameters of each method of `/v1/rpc`, by the schemas that the document has of its calls.
#[tokio::test]
async fn every_wrong_parameter_of_every_method_is_named() {
    let service = roomy().await;
    let (document, operations) = Operation::all();
    let schemas = Schemas::of(&document);
    let rpc = operations.iter().find(|operation| operation.name() == "rpc").unwrap();
    let params = json!({ "name": "Gold", "symbol": "GLD", "totalSupply": "1000" });
    let deploy = json!({ "blockchainId": "bc_default", "template": "erc20-token", "params": params });
    let token = ok(&service, "POST", "/v1/contracts/deploy", deploy).await["contractAddress"].clone();
    let calls = schemas.resolved(schemas.named("RpcCall"));
    assert_eq!(calls.len(), 7);
    let mut wrong = 0;
    for call in calls {
        let (method, schema) = (&call["properties"]["method"]["const"], &call["properties"]["params"]);
        assert!(method.is_string(), "{call}");
        let mut good = schemas.sample(schema);
        if good["contractAddress"].is_string() {
            let holder = "0x1111111111111111111111111111111111111111";
            good = json!({ "contractAddress": token, "method": "transfer", "args": [holder, "1"] });
        }
        let is_required =
            |path: &str| schema["required"].as_array().is_some_and(|names| names.iter().any(|name| name == path));
        for Wrong { value, path, what } in schemas.wrongs(schema, &good, "") {
            // A null is a parameter that is left out, and params of another type are no parameters by name.
            if path.is_empty() || (what == "null" && !is_required(&path)) {
                continue;
            }
            let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": value });
            refused_call(&service, rpc, &document, &body, (&path, what)).await;
            wrong += 1;
        }
    }
    assert!(wrong > 150, "{wrong}");
    assert_eq!(service.rpc("eth_blockNumber", json!([])).await["result"], "0x1", "nothing was sent after the token");
}

async fn refused_call(
    service: &Service,
    operation: &Operation,
    document: &Value,
    body: &Value,
    (path, what): (&str, &str),
) {
    let bearer = format!("Bearer {}", service.api_key);
    let reply = operation.send(service, &[("authorization", &bearer)], &body.to_string()).await;
    let shown: String = body.to_string().chars().take(300).collect();
    assert_eq!(reply.status, 200, "{path:?} {what}: {shown}: {}", reply.body);
    check(document, operation, &reply);
    let error = reply.json()["error"].clone();
    let codes = (&error["code"], &error["data"]["code"]);
    assert_eq!(codes, (&json!(-32602), &json!("VALIDATION_ERROR")), "{path:?} {what}: {shown}: {}", reply.body);
    let fields = error["data"]["details"]["fields"].as_array().unwrap();
    assert!(fields.iter().any(|field| field["path"] == path), "{what}: {shown}: {path:?} is not named: {fields:?}");
}

/// Passes an object with each of its fields of another type, or with an unknown one beside it, and the path of what is wrong.
fn mutations(value: &Value, path: &str, pass: &mut dyn FnMut(Value, String)) {
    match value {
        Value::Object(members) => {
            let with = |name: &str, value: Value| {
                let mut members: Map<String, Value> = members.clone();
                members.insert(name.to_owned(), value);
                Value::Object(members)
            };
            pass(with("colour", json!("red")), format!("{path}.colour"));
            for (name, member) in members {
                let at = format!("{path}.{name}");
                let other = if member.is_string() { json!(true) } else { json!("text") };
                pass(with(name, other), at.clone());
                let inner = if member.is_object() { format!("{at}.an") } else { at.clone() };
                pass(with(name, json!({ "an": "object" })), inner);
                mutations(member, &at, &mut |member, path| pass(with(name, member), path));
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                let with = |item: Value| {
                    let mut items = items.clone();
                    items[index] = item;
                    Value::Array(items)
                };
                let at = format!("{path}[{index}]");
                pass(with(json!(7.5)), at.clone());
                mutations(item, &at, &mut |item, path| pass(with(item), path));
            }
        }
        _ => {}
    }
}

/// Configurations of modules, with every field that they have.
fn module_configs() -> [(&'static str, Value); 8] {
    let token = json!({ "name": "Gold", "symbol": "GLD", "totalSupply": "1000" });
    [
        (
            "defi",
            json!({
                "features": ["dex", "lending", "staking"], "swapFee": "0.3", "liquidationThreshold": "80", "ltv": "75",
                "price": "200000000000", "rewardRate": "1", "token": token,
            }),
        ),
        (
            "nft",
            json!({
                "features": ["minting", "marketplace"], "standard": "ERC721", "royalty": "5", "marketplaceFee": "2.5",
                "collection": { "name": "Art", "symbol": "ART", "uri": "ipfs://items/" }, "token": token,
            }),
        ),
        (
            "dao",
            json!({
                "name": "Council", "token": token, "votingDelay": 1, "votingPeriod": 100, "proposalThreshold": "0",
                "quorum": 4, "timelockDelay": "1d",
            }),
        ),
        ("bridge", json!({ "chains": ["one"], "confirmations": 5, "mode": "lock-mint" })),
        ("oracle", json!({ "feeds": ["ETH/USD"], "updateInterval": "1m", "decimals": 8 })),
        ("identity", json!({ "method": "did:key", "credentials": ["degree"] })),
        ("privacy", json!({ "proofSystem": "groth16", "circuits": ["transfer"] })),
        ("storage", json!({ "provider": "ipfs", "replicas": 3, "gateway": "https://gateway.example" })),
    ]
}

/// Values out of the bounds that `docs/service-api.md` and the description of the field have.
const OUT_OF_BOUNDS: [(&str, &str, &str); 24] = [
    ("defi", "swapFee", r#""0.31""#),
    ("defi", "liquidationThreshold", r#""96""#),
    ("defi", "liquidationThreshold", "0"),
    ("defi", "ltv", r#""81""#),
    ("defi", "price", r#""0""#),
    ("defi", "price", r#""-1""#),
    ("defi", "features", "[]"),
    ("defi", "features[0]", r#"["oracle"]"#),
    ("nft", "standard", r#""ERC20""#),
    ("nft", "royalty", r#""101""#),
    ("nft", "marketplaceFee", r#""2.555""#),
    ("nft", "features[1]", r#"["minting", "minting"]"#),
    ("dao", "quorum", "101"),
    ("dao", "quorum", r#""4.5""#),
    ("dao", "votingPeriod", "0"),
    ("dao", "timelockDelay", r#""0d""#),
    ("bridge", "confirmations", "10001"),
    ("bridge", "mode", r#""teleport""#),
    ("oracle", "decimals", "37"),
    ("oracle", "updateInterval", r#""soon""#),
    ("identity", "method", r#""did:none""#),
    ("privacy", "proofSystem", r#""faith""#),
    ("storage", "replicas", "101"),
    ("storage", "provider", r#""cellar""#),
];

#[tokio::test]
async fn every_wrong_field_of_a_modules_configuration_is_named() {
    let service = roomy().await;
    let (document, operations) = Operation::all();
    let enable = operations.iter().find(|operation| operation.name() == "enableModule").unwrap();
    for (module, config) in module_configs() {
        let mut cases = Vec::new();
        mutations(&config, "config", &mut |config, path| cases.push((config, path)));
        for (_, path, value) in OUT_OF_BOUNDS.into_iter().filter(|(of, ..)| *of == module) {
            let mut config = config.clone();
            config[path.split('[').next().unwrap()] = serde_json::from_str(value).unwrap();
            cases.push((config, format!("config.{path}")));
        }
        for (config, path) in cases {
            let body = json!({ "module": module, "config": config });
            refused(&service, enable, &document, &body, (&path, module)).await;
        }
    }
}

/// A component of each type, with a token that the others name.
fn components() -> Value {
    json!([
        { "type": "staking", "config": { "stakingToken": "GLD", "rewardRate": "10", "lockPeriod": "30d" } },
        { "type": "liquidity-pool", "config": { "token0": "GLD", "token1": "SLV" } },
        { "type": "lending", "config": { "token": "SLV", "collateral": "GLD", "oracle": { "answer": "200000000" } } },
        { "type": "governance", "config": { "name": "Council", "token": "GLD" } },
        { "type": "nft-marketplace", "config": { "fee": "2.5", "token": "GLD" } },
        { "type": "auction", "config": { "token": "SLV" } },
        { "type": "multisig", "config": { "owners": ["0x1111111111111111111111111111111111111111"], "threshold": 1 } },
        { "type": "token", "config": { "name": "Gold", "symbol": "GLD", "totalSupply": "1000", "decimals": 18 } },
        { "type": "token", "config": { "name": "Silver", "symbol": "SLV", "totalSupply": "500" } },
    ])
}

#[tokio::test]
async fn every_wrong_field_of_a_components_configuration_is_named() {
    let service = roomy().await;
    let (document, operations) = Operation::all();
    let all = components();
    for name in ["createDapp", "planDapp"] {
        let operation = operations.iter().find(|operation| operation.name() == name).unwrap();
        let good = match name {
            "createDapp" => json!({ "name": "Shop", "components": all }),
            _ => json!({ "from": "0x1111111111111111111111111111111111111111", "components": all }),
        };
        for (index, component) in all.as_array().unwrap().iter().enumerate() {
            let at = format!("components[{index}].config");
            let mut cases = Vec::new();
            mutations(&component["config"], &at, &mut |config, path| cases.push((config, path)));
            for (config, path) in cases {
                let mut body = good.clone();
                body["components"][index]["config"] = config;
                refused(&service, operation, &document, &body, (&path, name)).await;
            }
        }
    }
    assert_eq!(service.rpc("eth_blockNumber", json!([])).await["result"], "0x0", "nothing was sent");
}

#[tokio::test]
async fn every_wrong_change_of_a_proposal_is_named() {
    let service = roomy().await;
    let (document, operations) = Operation::all();
    let propose = operations.iter().find(|operation| operation.name() == "createProposal").unwrap();
    let address = "0x1111111111111111111111111111111111111111";
    for (kind, changes, required) in [
        ("parameter-change", json!({ "gasLimit": "40000000", "blockTime": "2s" }), vec![]),
        ("validator-add", json!({ "address": address, "weight": 1 }), vec!["address"]),
        ("validator-remove", json!({ "address": address }), vec!["address"]),
        ("module-enable", json!({ "module": "defi", "version": 1 }), vec!["module"]),
        ("module-disable", json!({ "module": "defi" }), vec!["module"]),
        ("upgrade", json!({ "name": "v2", "height": 1_000_000, "info": "more" }), vec!["name", "height"]),
        ("text", json!({}), vec![]),
    ] {
        let mut cases = Vec::new();
        mutations(&changes, "changes", &mut |changes, path| cases.push((changes, path)));
        for name in required {
            let mut changes = changes.clone();
            changes.as_object_mut().unwrap().remove(name);
            cases.push((changes, format!("changes.{name}")));
        }
        let out_of_bounds = [
            ("parameter-change", "gasLimit", json!("0")),
            ("parameter-change", "blockTime", json!("0s")),
            ("validator-add", "weight", json!(0)),
            ("validator-add", "address", json!("0x11")),
            ("module-enable", "version", json!(0)),
            ("upgrade", "height", json!(0)),
        ];
        for (_, name, value) in out_of_bounds.into_iter().filter(|(of, ..)| *of == kind) {
            let mut changes = changes.clone();
            changes[name] = value;
            cases.push((changes, format!("changes.{name}")));
        }
        for (changes, path) in cases {
            let body = json!({ "blockchainId": "bc_default", "title": "x", "type": kind, "changes": changes });
            refused(&service, propose, &document, &body, (&path, kind)).await;
        }
    }
}

/// Texts that a query parameter of the schema refuses.
fn wrong_texts(schema: &Value) -> Vec<String> {
    let mut texts = vec![String::new(), "no such text!".to_owned()];
    if schema["type"] == "integer" {
        texts.extend(["1.5", "-1", "0x1", " 1", "1e3"].map(str::to_owned));
        texts.extend(schema["maximum"].as_u64().and_then(|max| max.checked_add(1)).map(|above| above.to_string()));
        texts.extend(schema["minimum"].as_u64().filter(|min| *min > 0).map(|min| (min - 1).to_string()));
    } else {
        let is_told = schema["enum"].is_array() || schema["pattern"].is_string();
        assert!(is_told, "{schema} does not say what the parameter may be");
    }
    texts
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// Each query parameter: out of each bound, of no pattern, not in the list, twice; each required one left out.
#[tokio::test]
async fn every_wrong_query_parameter_is_named() {
    let service = roomy().await;
    let (document, operations) = Operation::all();
    let key = [("x-api-key", service.api_key.as_str()), JSON];
    let named = |operation: &Operation, reply: &Reply, name: &str, text: &str| {
        assert_eq!(reply.status, 400, "{} {name}={text:?}: {}", operation.name(), reply.body);
        check(&document, operation, reply);
        let message = reply.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains(name), "{} {name}={text:?}: {message}", operation.name());
    };
    let mut wrong = 0;
    for operation in operations.iter().filter(|operation| !operation.is_foreign()) {
        let parameters = operation.value["parameters"].as_array().cloned().unwrap_or_default();
        let path = operation.target().split('?').next().unwrap().to_owned();
        for parameter in parameters.iter().filter(|parameter| parameter["in"] == "query") {
            let name = parameter["name"].as_str().unwrap();
            let others = operation.required_query().trim_start_matches('?').to_owned();
            let others: Vec<_> = others.split('&').filter(|pair| !pair.starts_with(&format!("{name}="))).collect();
            let others = others.join("&");
            for text in wrong_texts(&parameter["schema"]) {
                let target = format!("{path}?{others}&{name}={}", encoded(&text));
                named(operation, &service.send(&operation.method, &target, &key, "").await, name, &text);
                wrong += 1;
            }
            let target = format!("{path}?{others}&{name}=1&{name}=1");
            named(operation, &service.send(&operation.method, &target, &key, "").await, name, "1 twice");
            if parameter["required"] == true {
                let target = format!("{path}?{others}");
                named(operation, &service.send(&operation.method, &target, &key, "").await, name, "nothing");
            }
        }
    }
    assert!(wrong > 200, "{wrong}");
    for (query, name) in [
        ("from=2026-13-45", "from"),
        ("to=2026-02-30T00:00:00Z", "to"),
        ("granularity=7s", "granularity"),
        ("interval=0h", "interval"),
        ("granularity=1h&interval=2h", "interval"),
    ] {
        let target = format!("/v1/analytics/timeseries?blockchainId=bc_default&metric=tps&{query}");
        let series = operations.iter().find(|operation| operation.name() == "getTimeSeries").unwrap();
        named(series, &service.send("GET", &target, &key, "").await, name, query);
    }
}

/// What is kept with a validator has bounds in bytes and levels, which its schema can't say.
#[tokio::test]
async fn a_validators_metadata_has_bounds() {
    let service = roomy().await;
    let (document, operations) = Operation::all();
    let add = operations.iter().find(|operation| operation.name() == "addValidator").unwrap();
    let network = json!({ "name": "network", "config": { "blockTime": "365d" } });
    let network = ok(&service, "POST", "/v1/blockchains", network).await;
    let all = format!("/v1/blockchains/{}/validators", network["id"].as_str().unwrap());
    let of_bytes = |bytes: usize| json!({ "a": "x".repeat(bytes - json!({ "a": "" }).to_string().len()) });
    let of_levels = |levels: usize| (1..levels).fold(json!({ "a": 1 }), |inner, _| json!({ "a": inner }));
    let body = |byte: u8, metadata: Value| json!({ "address": alloy_primitives::Address::repeat_byte(byte).to_string(), "metadata": metadata });
    for (byte, metadata) in [(1, of_bytes(4_096)), (2, of_levels(5)), (3, json!({}))] {
        let made = ok(&service, "POST", &all, body(byte, metadata.clone())).await;
        assert_eq!(made["metadata"], metadata);
    }
    for metadata in [of_bytes(4_097), of_levels(6)] {
        refused(&service, add, &document, &body(4, metadata), ("metadata", "a bound")).await;
    }
}
