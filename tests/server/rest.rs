//! The service's REST interface.

use chainbox::{
    consensus::ConsensusKind,
    node::Node,
    platform::Scope,
    primitives::Bytes,
    templates,
    vm::{Descriptor, Marker, Parameter},
};
use serde_json::{Map, Value, json};

use crate::http::Service;

#[tokio::test]
async fn health_is_open_and_enveloped() {
    let service = Service::start().await;
    let reply = service.send("GET", "/v1/health", &[], "").await;
    let body = reply.json();
    assert_eq!((reply.status, &body["success"], &body["data"]["status"]), (200, &json!(true), &json!("operational")));
    assert_eq!(body["data"]["services"]["blockchain"], "healthy");
    let versions = (&body["data"]["version"], &body["data"]["apiVersion"]);
    assert_eq!(versions, (&json!(env!("CARGO_PKG_VERSION")), &json!("v1")));
    assert_eq!(reply.header("x-request-id"), body["meta"]["requestId"].as_str());
    assert_eq!(body["meta"]["timestamp"].as_str().unwrap().len(), "2026-01-02T03:04:05.678Z".len());
    let own = service.send("GET", "/v1/health", &[("x-request-id", "mine-1")], "").await;
    assert_eq!(own.json()["meta"]["requestId"], "mine-1");
}

#[tokio::test]
async fn credentials_and_scopes_are_required() {
    let service = Service::start().await;
    let reader = service.platform.create_api_key("reader", &[Scope::BlockchainRead]).unwrap().text().to_owned();
    let key = service.api_key.clone();
    let bearer = format!("Bearer {key}");
    let json_type = ("content-type", "application/json");
    for (name, headers, status, code) in [
        ("none", vec![], 401, "UNAUTHORIZED"),
        ("wrong", vec![("x-api-key", "cbx_wrong")], 401, "UNAUTHORIZED"),
        ("both", vec![("x-api-key", key.as_str()), ("authorization", bearer.as_str())], 400, "BAD_REQUEST"),
        ("basic", vec![("authorization", "Basic abc")], 401, "UNAUTHORIZED"),
    ] {
        let reply = service.send("GET", "/v1/blockchains", &headers, "").await;
        assert_eq!((reply.status, reply.json()["error"]["code"].as_str()), (status, Some(code)), "{name}");
        assert_eq!(reply.json()["error"]["details"], json!({}), "{name}");
    }
    for headers in
        [[("x-api-key", key.as_str())], [("authorization", bearer.as_str())], [("x-api-key", reader.as_str())]]
    {
        let reply = service.send("GET", "/v1/blockchains", &headers, "").await;
        assert_eq!((reply.status, reply.header("cache-control")), (200, Some("no-store")), "for its caller alone");
    }
    let reply = service.send("POST", "/v1/blockchains", &[("x-api-key", &reader), json_type], "{\"name\":\"x\"}").await;
    assert_eq!((reply.status, reply.json()["error"]["code"].as_str()), (403, Some("FORBIDDEN")));
    assert_eq!(reply.json()["error"]["details"]["requiredScope"], "blockchain:write");
}

#[tokio::test]
async fn a_created_chain_runs_beside_the_first() {
    let service = Service::start().await;
    let body = json!({
        "name": "ledger", "type": "private", "consensus": "proof-of-authority", "chainId": 4242,
        "config": { "blockGasLimit": "30000000", "nativeToken": { "name": "Coin", "symbol": "CN", "premine": "1000000000000000000" } },
        "validators": [{ "address": "0x1111111111111111111111111111111111111111", "name": "one" }],
        "features": ["smart-contracts"],
    });
    let reply = service.rest("POST", "/v1/blockchains", body.clone()).await;
    let created = reply.json()["data"].clone();
    assert_eq!(reply.status, 201, "{}", reply.body);
    let path = format!("/v1/blockchains/{}", created["id"].as_str().unwrap());
    assert_eq!(reply.header("location"), Some(path.as_str()));
    assert_eq!((&created["chainId"], &created["consensus"]), (&json!(4242), &json!("proof-of-authority")));
    assert_eq!(created["validators"][0]["name"], "one");
    assert_eq!(service.rest("GET", &path, Value::Null).await.json()["data"], created);

    let call = r#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}"#;
    let (eth_path, json_type) = (format!("{path}/eth"), ("content-type", "application/json"));
    let anonymous = service.send("POST", &eth_path, &[json_type], call).await;
    assert_eq!(anonymous.status, 401, "{}", anonymous.body);
    let key = ("x-api-key", service.api_key.as_str());
    let eth = service.send("POST", &eth_path, &[key, json_type], call).await;
    assert_eq!(eth.json()["result"], "0x1092");
    // Who may read it sends nothing, and nobody has development methods there.
    let reader = service.platform.create_api_key("reader", &[Scope::BlockchainRead]).unwrap();
    let reader = ("x-api-key", reader.text());
    assert_eq!(service.send("POST", &eth_path, &[reader, json_type], call).await.json()["result"], "0x1092");
    let send = r#"{"jsonrpc":"2.0","id":1,"method":"eth_sendRawTransaction","params":["0x00"]}"#;
    let refused = service.send("POST", &eth_path, &[reader, json_type], send).await.json();
    assert!(refused["error"]["message"].as_str().unwrap().contains("blockchain:deploy"), "{refused}");
    let mine = r#"{"jsonrpc":"2.0","id":1,"method":"evm_mine","params":[]}"#;
    let refused = service.send("POST", &eth_path, &[key, json_type], mine).await.json();
    assert_eq!(refused["error"]["code"], -32601, "{refused}");
    deploy(&service, &created).await;
    assert_eq!(service.rest("GET", &path, Value::Null).await.json()["data"]["currentBlock"], 1);
    assert_eq!(service.rpc("eth_blockNumber", json!([])).await["result"], "0x0", "the first chain did not move");

    let again = service.rest("POST", "/v1/blockchains", body).await;
    assert_eq!((again.status, again.json()["error"]["code"].as_str()), (409, Some("CONFLICT")));
    let short = service.rest("POST", "/v1/blockchains", json!({ "name": "short" })).await;
    assert_eq!(short.status, 201, "{}", short.body);
    assert_eq!(short.json()["data"]["chainId"], 31338);
}

/// Deploys a token on a chain, whose treasury signs.
async fn deploy(service: &Service, chain: &Value) {
    let body = json!({
        "blockchainId": chain["id"], "template": "erc20-token", "params": { "name": "Gold", "symbol": "GLD" },
    });
    let deployed = service.rest("POST", "/v1/contracts/deploy", body).await;
    assert_eq!(deployed.status, 201, "{}", deployed.body);
    assert_eq!(deployed.json()["data"]["from"], chain["treasury"]);
}

#[tokio::test]
async fn each_protocol_is_created_by_name() {
    let service = Service::start().await;
    let validators = |count: u8| -> Vec<Value> {
        (1..=count).map(|byte| json!({ "address": format!("0x{}", format!("{byte:02x}").repeat(20)) })).collect()
    };
    for kind in ConsensusKind::ALL {
        let body = json!({ "name": "one", "consensus": kind.name(), "validators": validators(4) });
        let created = service.rest("POST", "/v1/blockchains", body).await;
        assert_eq!(created.status, 201, "{}", created.body);
        let data = created.json()["data"].clone();
        assert_eq!(data["consensus"], kind.name());
        let path = format!("/v1/blockchains/{}", data["id"].as_str().unwrap());
        deploy(&service, &data).await;
        assert_eq!(service.rest("GET", &path, Value::Null).await.json()["data"]["currentBlock"], 1, "{}", kind.name());
    }
    let few = json!({ "name": "few", "consensus": "pbft", "validators": validators(2) });
    let refused = service.rest("POST", "/v1/blockchains", few).await;
    assert_eq!(refused.status, 422, "{}", refused.body);
    assert!(refused.body.contains("validators"), "{}", refused.body);
}

#[tokio::test]
async fn lists_are_paged_and_sorted() {
    let service = Service::start().await;
    for name in ["b", "a"] {
        assert_eq!(service.rest("POST", "/v1/blockchains", json!({ "name": name })).await.status, 201);
    }
    let reply = service.rest("GET", "/v1/blockchains?sort=name:desc&limit=2", Value::Null).await.json();
    let names: Vec<&str> =
        reply["data"].as_array().unwrap().iter().map(|chain| chain["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["test", "b"]);
    let pagination = json!({ "page": 1, "limit": 2, "total": 3, "totalPages": 2, "hasNext": true, "hasPrev": false });
    assert_eq!(reply["pagination"], pagination);
    for (query, part) in
        [("limit=101", "between 1 and 100"), ("sort=age:asc", "one of createdAt:asc"), ("simulate=true", "simulate")]
    {
        let reply = service.rest("GET", &format!("/v1/blockchains?{query}"), Value::Null).await;
        assert_eq!(reply.status, 400, "{query}");
        assert!(reply.json()["error"]["message"].as_str().unwrap().contains(part), "{}", reply.body);
    }
}

#[tokio::test]
async fn bodies_are_validated_field_by_field() {
    let service = Service::start().await;
    let body = json!({ "consensus": "raffle", "config": { "blockTime": 5 }, "colour": "red" });
    let reply = service.rest("POST", "/v1/blockchains", body).await;
    let error = &reply.json()["error"];
    assert_eq!((reply.status, error["code"].as_str()), (422, Some("VALIDATION_ERROR")));
    let paths: Vec<&str> =
        error["details"]["fields"].as_array().unwrap().iter().map(|field| field["path"].as_str().unwrap()).collect();
    let mut sorted = paths.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, ["colour", "config.blockTime", "consensus", "name"]);
    let key = ("x-api-key", service.api_key.as_str());
    let text = service.send("POST", "/v1/blockchains", &[key, ("content-type", "text/plain")], "{}").await;
    assert_eq!((text.status, text.json()["error"]["code"].as_str()), (415, Some("UNSUPPORTED_MEDIA_TYPE")));
    let broken =
        service.send("POST", "/v1/blockchains", &[key, ("content-type", "application/json; charset=utf-8")], "{").await;
    assert_eq!((broken.status, broken.json()["error"]["code"].as_str()), (400, Some("BAD_REQUEST")));
}

#[tokio::test]
async fn unknown_paths_and_methods_are_errors() {
    let service = Service::start().await;
    let lost = service.rest("GET", "/v1/nothing", Value::Null).await;
    assert_eq!((lost.status, lost.json()["error"]["code"].as_str()), (404, Some("NOT_FOUND")));
    let put = service.rest("PUT", "/v1/blockchains", json!({})).await;
    assert_eq!((put.status, put.json()["error"]["code"].as_str()), (405, Some("METHOD_NOT_ALLOWED")));
    let allow = put.header("allow").unwrap();
    assert!(allow.contains("GET") && allow.contains("POST"), "{allow}");
    let eth = service.rest("POST", "/v1/blockchains/bc_none/eth", json!({})).await;
    let (body, error) = (eth.json(), eth.json()["error"].clone());
    assert_eq!((eth.status, &body["jsonrpc"], &error["code"]), (404, &json!("2.0"), &json!(-32_001)), "{body}");
    assert_eq!((&error["data"]["code"], &error["data"]["details"]["id"]), (&json!("NOT_FOUND"), &json!("bc_none")));
    let unknown = service.rest("GET", "/v1/blockchains/bc_none", Value::Null).await;
    assert_eq!((unknown.status, unknown.json()["error"]["details"]["resource"].as_str()), (404, Some("blockchain")));
    for path in ["/v1/blockchains/%FF", "/v1/blockchains/%FF/metrics", "/v1/contracts/%FF"] {
        let no_text = service.rest("GET", path, Value::Null).await;
        assert_eq!((no_text.status, no_text.json()["error"]["code"].as_str()), (400, Some("BAD_REQUEST")), "{path}");
    }
}

/// Whatever is refused where JSON-RPC is spoken is an error of JSON-RPC, with the status that it has elsewhere.
#[tokio::test]
async fn refusals_of_json_rpc_are_errors_of_json_rpc() {
    let service = Service::limited(Node::new(), |limits| limits.rate.requests = 6).await;
    let (eth, json_type) = ("/v1/blockchains/bc_default/eth", ("content-type", "application/json"));
    let low = service.platform.create_api_key("low", &[Scope::WorkspaceRead]).unwrap();
    let (low, key) = (("x-api-key", low.text()), ("x-api-key", service.api_key.as_str()));
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}"#;
    for (method, path, headers, status, code, name) in [
        ("POST", eth, vec![json_type], 401, -32_006, "UNAUTHORIZED"),
        ("POST", eth, vec![json_type, low], 403, -32_006, "FORBIDDEN"),
        ("POST", "/v1/blockchains/bc_none/eth", vec![json_type, key], 404, -32_001, "NOT_FOUND"),
        ("POST", "/v1/blockchains/bc_default/eth?simulate=true", vec![json_type, key], 400, -32_600, "BAD_REQUEST"),
        ("GET", "/v1/rpc", vec![key], 405, -32_600, "METHOD_NOT_ALLOWED"),
    ] {
        let reply = service.send(method, path, &headers, if method == "POST" { call } else { "" }).await;
        let body = reply.json();
        assert_eq!((reply.status, &body["jsonrpc"]), (status, &json!("2.0")), "{method} {path}: {body}");
        let error = &body["error"];
        assert_eq!((&error["code"], &error["data"]["code"]), (&json!(code), &json!(name)), "{method} {path}: {body}");
    }
    // No chain has a page for browsers, and none is shown without credentials.
    for path in [eth, "/v1/blockchains/bc_none/eth"] {
        let page = service.send("GET", path, &[("accept", "text/html")], "").await;
        assert_eq!((page.status, page.header("allow")), (405, Some("GET, POST, OPTIONS")), "{path}");
        assert_eq!((&page.json()["jsonrpc"], &page.json()["error"]["code"]), (&json!("2.0"), &json!(-32_600)));
    }
    let refused = loop {
        let reply = service.send("POST", eth, &[json_type, key], call).await;
        if reply.status != 200 {
            break reply;
        }
    };
    assert_eq!((refused.status, &refused.json()["error"]["data"]["code"]), (429, &json!("RATE_LIMITED")));
    assert!(refused.header("retry-after").is_some(), "{:?}", refused.headers);
}

#[tokio::test]
async fn a_token_is_deployed_from_its_template() {
    let service = Service::start().await;
    let from = service.platform.default_blockchain().unwrap().node().accounts()[0].to_string();
    let whole = json!({
        "blockchainId": "bc_default", "template": "erc20-token", "from": from, "gasLimit": "3000000",
        "params": { "name": "Gold", "symbol": "GLD", "totalSupply": "1000", "decimals": 6 },
    });
    let reply = service.rest("POST", "/v1/contracts/deploy", whole).await;
    let deployed = reply.json()["data"].clone();
    assert_eq!(reply.status, 201, "{}", reply.body);
    assert_eq!((&deployed["status"], &deployed["blockNumber"]), (&json!("deployed"), &json!(1)));
    let location = reply.header("location").unwrap().to_owned();
    assert_eq!(service.rest("GET", &location, Value::Null).await.json()["data"], deployed);
    let decimals = json!([{ "to": deployed["contractAddress"], "data": "0x313ce567" }, "latest"]);
    assert_eq!(service.rpc("eth_call", decimals).await["result"], format!("0x{:064x}", 6));
    let short =
        json!({ "blockchainId": "bc_default", "template": "erc20-token", "params": { "name": "S", "symbol": "S" } });
    assert_eq!(service.rest("POST", "/v1/contracts/deploy", short).await.status, 201);
}

/// Returns some value of a Solidity type, as a deployment has it.
fn some_value(parameter: &Parameter, deployed: &[Value]) -> Value {
    match parameter.ty.as_str() {
        // A token, another contract, or another token with decimals: a vault's share.
        "address" => match parameter.name.as_str() {
            "token1" => deployed[1].clone(),
            "collateral" => deployed[3].clone(),
            _ => deployed[0].clone(),
        },
        "bool" => json!(true),
        "string" => json!("Gold"),
        "address[]" => json!([deployed[0]]),
        ty if ty.ends_with(']') => json!([]),
        ty if ty.starts_with("uint") => {
            let bits: u32 = ty["uint".len()..].parse().unwrap();
            if bits > 32 { json!("1000") } else { json!(1) }
        }
        ty if ty.starts_with("int") => json!("-1000"),
        ty if ty.starts_with("bytes") => {
            let len: usize = ty["bytes".len()..].parse().unwrap_or(4);
            json!(format!("0x{}", "11".repeat(len)))
        }
        other => panic!("{}: no value of type {other} yet", parameter.name),
    }
}

#[tokio::test]
async fn every_template_is_deployed_by_its_name_and_the_least_parameters() {
    let service = Service::start().await;
    // A token and other contracts, for parameters that ask for one.
    let mut addresses = Vec::new();
    for template in templates::builtin().iter() {
        let name = template.name();
        let required = Descriptor::of(&**template).constructor.into_iter().filter(|parameter| !parameter.is_optional());
        let params: Map<String, Value> =
            required.map(|parameter| (parameter.name.clone(), some_value(&parameter, &addresses))).collect();
        let body = json!({ "blockchainId": "bc_default", "template": name, "params": params });
        let reply = service.rest("POST", "/v1/contracts/deploy", body).await;
        assert_eq!(reply.status, 201, "{name}: {}", reply.body);
        let deployed = reply.json()["data"].clone();
        assert_eq!(deployed["status"], "deployed", "{name}");
        let contract = &deployed["contractAddress"];
        let code = service.rpc("eth_getCode", json!([contract, "latest"])).await["result"].clone();
        assert_eq!(code, Bytes::from(Marker(template.id()).to_bytes()).to_string(), "{name}");
        let supports = format!("0x01ffc9a7{:0<64}", "01ffc9a7");
        let call = json!([{ "to": contract, "data": supports }, "latest"]);
        let answer = &service.rpc("eth_call", call).await["result"];
        assert_eq!(*answer, format!("0x{:064x}", 1), "{name}: ERC-165");
        addresses.push(contract.clone());
    }
}

#[tokio::test]
async fn an_invalid_deployment_is_refused() {
    let service = Service::start().await;
    let good =
        json!({ "blockchainId": "bc_default", "template": "erc20-token", "params": { "name": "G", "symbol": "G" } });
    let with = |pointer: &str, value: Value| {
        let mut body = good.clone();
        *body.pointer_mut(pointer).unwrap() = value;
        body
    };
    let mut stranger = good.clone();
    stranger["from"] = format!("0x{}", "99".repeat(20)).into();
    let mut supply = good.clone();
    supply["params"]["totalSupply"] = "1e18".into();
    for (body, status, path) in [
        (with("/template", json!("magic")), 422, "template"),
        (with("/params/name", json!("")), 422, "params.name"),
        (with("/params", json!({ "name": "G", "symbol": "G", "colour": 1 })), 422, "params.colour"),
        (stranger, 422, "from"),
        (supply, 422, "params.totalSupply"),
        (with("/blockchainId", json!("bc_none")), 404, ""),
    ] {
        let reply = service.rest("POST", "/v1/contracts/deploy", body.clone()).await;
        assert_eq!(reply.status, status, "{body}: {}", reply.body);
        if status == 422 {
            assert_eq!(reply.json()["error"]["details"]["fields"][0]["path"], path, "{}", reply.body);
        }
    }
    assert_eq!(service.rpc("eth_blockNumber", json!([])).await["result"], "0x0", "nothing was sent");
}

#[tokio::test]
async fn an_insufficient_balance_has_both_amounts() {
    let service = Service::start().await;
    let body = json!({ "name": "poor", "config": { "nativeToken": { "premine": "1" } } });
    let chain = service.rest("POST", "/v1/blockchains", body).await.json()["data"].clone();
    let deploy =
        json!({ "blockchainId": chain["id"], "template": "erc20-token", "params": { "name": "G", "symbol": "G" } });
    let reply = service.rest("POST", "/v1/contracts/deploy", deploy).await;
    let error = &reply.json()["error"];
    assert_eq!((reply.status, error["code"].as_str()), (409, Some("INSUFFICIENT_BALANCE")), "{}", reply.body);
    assert_eq!(error["details"]["available"], "1");
    assert!(error["details"]["required"].as_str().unwrap().len() > 5);
}

#[tokio::test]
async fn metrics_have_two_spellings_of_nine_figures() {
    let service = Service::start().await;
    service.rpc("anvil_mine", json!(["0x5", "0x2"])).await;
    let from = service.platform.default_blockchain().unwrap().node().accounts()[0].to_string();
    service.rpc("eth_sendTransaction", json!([{ "from": from, "to": from }])).await;
    let metrics = service.rest("GET", "/v1/blockchains/bc_default/metrics", Value::Null).await.json()["data"].clone();
    assert_eq!((&metrics["totalTransactions"], &metrics["activeValidators"]), (&json!(1), &json!(1)));
    assert!(metrics["averageGasPrice"].as_str().unwrap().ends_with(" gwei"));
    assert!(metrics["blockTime"].as_f64().unwrap() > 1.0);
    let compact = service.rest("GET", "/v1/blockchains/bc_default/metrics?shape=compact", Value::Null).await;
    let compact = compact.json()["data"].clone();
    assert_eq!((&metrics["currentBlock"], &compact["blockHeight"]), (&json!(6), &json!(6)));
    assert_eq!(compact["tps"], metrics["transactionsPerSecond"]);
    assert_eq!(compact["gasPrice"], metrics["averageGasPrice"]);
    assert_eq!(compact["blockTime"], format!("{}s", metrics["blockTime"]));
    assert_eq!((metrics.as_object().unwrap().len(), compact.as_object().unwrap().len()), (9, 9));
}

#[tokio::test]
async fn the_document_describes_every_route() {
    let service = Service::start().await;
    let reply = service.send("GET", "/v1/openapi.json", &[], "").await;
    let document = reply.json();
    assert_eq!((reply.status, document["openapi"].as_str()), (200, Some("3.1.0")));
    assert_eq!(document, serde_json::from_str::<Value>(&chainbox::server::openapi_json()).unwrap());
    for (path, method) in [
        ("/v1/health", "get"),
        ("/v1/blockchains", "post"),
        ("/v1/blockchains", "get"),
        ("/v1/blockchains/{blockchainId}", "get"),
        ("/v1/blockchains/{blockchainId}/metrics", "get"),
        ("/v1/contracts/deploy", "post"),
        ("/v1/contracts/{deploymentId}", "get"),
        ("/v1/blockchains/{blockchainId}/eth", "post"),
        ("/v1/rpc", "post"),
    ] {
        let operation = &document["paths"][path][method];
        assert!(
            operation["summary"].is_string() && operation["responses"]["200"].is_object()
                || operation["responses"]["201"].is_object(),
            "{method} {path}"
        );
    }
    let schemas = &document["components"]["schemas"];
    assert_eq!(schemas["CreateBlockchain"]["required"], json!(["name"]));
    assert_eq!(schemas["DeployContract"]["required"], json!(["blockchainId"]));
    let token = &schemas["erc20-token.params"];
    assert_eq!(token["required"], json!(["name", "symbol"]), "{token}");
    assert_eq!(token["properties"]["decimals"]["default"], 18);
}

#[tokio::test]
async fn the_page_of_the_document_has_every_operation_for_everybody() {
    let service = Service::start().await;
    let reply = service.send("GET", "/v1/docs", &[], "").await;
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let document: Value = serde_json::from_str(&chainbox::server::openapi_json()).unwrap();
    let mut walked = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        assert!(reply.body.contains(&format!("<code>{path}</code>")), "{path}");
        for operation in methods.as_object().unwrap().values() {
            let name = operation["operationId"].as_str().unwrap();
            assert!(reply.body.contains(&format!("id=\"{name}\"")), "{name}");
            walked += 1;
        }
    }
    assert!(walked > 60, "{walked}");
    let posted = service.send("POST", "/v1/docs", &[], "").await;
    assert_eq!(posted.status, 405, "{}", posted.body);
}

#[tokio::test]
async fn templates_are_listed_without_credentials() {
    let service = Service::start().await;
    let reply = service.send("GET", "/v1/templates", &[], "").await;
    let body = reply.json();
    assert_eq!(
        (reply.status, &body["success"], &body["pagination"]["total"]),
        (200, &json!(true), &json!(chainbox::templates::builtin().iter().count())),
        "{}",
        reply.body
    );
    let token = body["data"].as_array().unwrap().iter().find(|template| template["name"] == "erc20-token").unwrap();
    assert_eq!((&token["id"], &token["version"]), (&json!(1), &json!(2)));
    assert_eq!(token["bytecode"], "0xefcb00010002");
    let erc20 = chainbox::templates::builtin().by_name("erc20-token").unwrap();
    assert_eq!(token["digest"], Descriptor::of(&**erc20).digest.to_string());
    let named = |list: &Value, name: &str| {
        list.as_array().unwrap().iter().find(|entry| entry["name"] == name).cloned().unwrap()
    };
    let royalty = named(&named(&body["data"], "erc721-nft")["constructor"], "royaltyFee");
    assert_eq!(
        (&royalty["type"], &royalty["unit"], &royalty["default"], &royalty["optional"]),
        (&json!("uint96"), &json!("per cent"), &json!("0"), &json!(true))
    );
    assert_eq!(
        token["constructor"][6]["type"],
        "tuple(bool mintable, bool burnable, bool pausable, bool votes, bool flashMint)"
    );
    assert_eq!(
        token["constructor"][7]["type"],
        "tuple(address beneficiary, uint256 amount, uint64 start, uint64 duration, uint64 cliff, bool revocable)[]"
    );
    assert_eq!(token["constructor"][7]["default"], json!([]));
    assert_eq!(token["constructor"][2]["default"], 18);
    assert_eq!(token["constructor"][5]["default"], "deployer");
    assert_eq!(
        (&token["constructor"][0]["optional"], &token["constructor"][6]["optional"]),
        (&json!(false), &json!(true))
    );
    let paused = token["storageLayout"]["storage"].as_array().unwrap().iter().find(|entry| entry["label"] == "_paused");
    assert_eq!(
        paused.unwrap(),
        &json!({ "label": "_paused", "contract": "Pausable", "slot": "5", "offset": 0, "type": "t_bool" })
    );
    let functions = token["abi"].as_array().unwrap().iter().filter(|item| item["type"] == "function");
    assert!(functions.count() > 15, "{token}");
    assert_eq!(service.send("GET", "/v1/templates?sort=id:desc&limit=1", &[], "").await.status, 200);
    assert_eq!(service.send("GET", "/v1/templates?colour=red", &[], "").await.status, 400);
    let document: Value = serde_json::from_str(&chainbox::server::openapi_json()).unwrap();
    assert!(document["paths"]["/v1/templates"]["get"].is_object());
}
