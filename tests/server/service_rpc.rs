//! `/v1/rpc`: the seven methods with named parameters.

use chainbox::{
    node::{Mining, SendError},
    platform::Scope,
    primitives::{Gas, TransactionRequest, U256},
};
use serde_json::{Value, json};

use crate::http::{Reply, Service};

async fn post(service: &Service, key: &str, method: &str, params: Value) -> Reply {
    let call = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
    let headers = [("x-api-key", key), ("content-type", "application/json")];
    service.send("POST", "/v1/rpc", &headers, &call.to_string()).await
}

async fn ok(service: &Service, method: &str, params: Value) -> Value {
    let reply = post(service, &service.api_key, method, params).await;
    let response = reply.json();
    assert_eq!((reply.status, &response["id"]), (200, &json!(7)));
    assert!(response.get("error").is_none(), "{method}: {response}");
    response["result"].clone()
}

async fn error(service: &Service, method: &str, params: Value) -> Value {
    post(service, &service.api_key, method, params).await.json()["error"].clone()
}

async fn token(service: &Service) -> Value {
    let body = json!({ "blockchainId": "bc_default", "template": "erc20-token", "params": { "name": "Gold", "symbol": "GLD", "totalSupply": "1000" } });
    service.rest("POST", "/v1/contracts/deploy", body).await.json()["data"]["contractAddress"].clone()
}

#[tokio::test]
async fn blocks_transactions_and_balances_are_read() {
    let service = Service::start().await;
    let node = service.platform.default_blockchain().unwrap().node().clone();
    let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
    let signed = TransactionRequest {
        chain_id: Some(31337),
        to: Some(bob),
        value: U256::from(5),
        gas_limit: Gas::new(21_000),
        max_fee_per_gas: 100_000_000_000,
        ..Default::default()
    };
    let request = signed.clone();
    let raw = signed.sign(&node.keys()[0]).unwrap().encoded();
    let simulated =
        ok(&service, "transaction.simulate", json!({ "blockchainId": "bc_default", "signedTransaction": raw })).await;
    assert_eq!((&simulated["success"], &simulated["gasUsed"]), (&json!(true), &json!("21000")));
    let sent =
        ok(&service, "transaction.send", json!({ "blockchainId": "bc_default", "signedTransaction": raw })).await;
    assert_eq!((&sent["status"], &sent["blockNumber"]), (&json!("success"), &json!(1)));
    let params = json!({ "blockchainId": "bc_default", "transactionHash": sent["transactionHash"] });
    let transaction = ok(&service, "blockchain.getTransaction", params).await;
    assert_eq!((&transaction["value"], &transaction["status"]), (&json!("5"), &json!("success")));
    let latest =
        ok(&service, "blockchain.getBlock", json!({ "blockchainId": "bc_default", "blockNumber": "latest" })).await;
    assert_eq!(latest["transactions"], json!([sent["transactionHash"]]));
    for number in [json!(1), json!("1"), json!("0x1"), latest["hash"].clone()] {
        let params = json!({ "blockchainId": "bc_default", "blockNumber": number, "fullTransactions": true });
        assert_eq!(ok(&service, "blockchain.getBlock", params).await["transactions"][0], transaction);
    }
    node.set_mining(Mining::Manual).unwrap();
    let second = TransactionRequest { nonce: 1, ..request }.sign(&node.keys()[0]).unwrap();
    let waiting = node.send(second).unwrap();
    let params = json!({ "blockchainId": "bc_default", "blockNumber": "pending", "fullTransactions": true });
    let pending = ok(&service, "blockchain.getBlock", params).await;
    assert_eq!((&pending["number"], &pending["hash"], &pending["miner"]), (&json!(2), &Value::Null, &Value::Null));
    assert_eq!(pending["transactions"][0]["hash"], json!(waiting));
    assert_eq!(pending["transactions"][0]["status"], "pending");
    node.drop_all_transactions();
    let at = |block: Value| json!({ "blockchainId": "bc_default", "address": bob, "blockNumber": block });
    let before = ok(&service, "blockchain.getBalance", at(json!(0))).await;
    let after = ok(&service, "blockchain.getBalance", at(json!("latest"))).await;
    let number = |value: &Value| value["balance"].as_str().unwrap().parse::<u128>().unwrap();
    assert_eq!(number(&after) - number(&before), 5);
    assert_eq!(transaction["from"].as_str().unwrap().to_lowercase(), alice.to_string().to_lowercase());
}

#[tokio::test]
async fn contracts_are_called_and_executed_by_name() {
    let service = Service::start().await;
    let bob = service.platform.default_blockchain().unwrap().node().accounts()[1].to_string();
    let contract = token(&service).await;
    let call = |method: &str, args: Value| json!({ "blockchainId": "bc_default", "contractAddress": contract, "method": method, "args": args });
    assert_eq!(ok(&service, "contract.call", call("name", json!([]))).await["result"], "Gold");
    let executed = ok(&service, "contract.execute", call("transfer(address,uint256)", json!([bob, "25"]))).await;
    assert_eq!(executed["status"], "success");
    assert_eq!(ok(&service, "contract.call", call("balanceOf", json!([bob]))).await["result"], "25");

    let broke = error(&service, "contract.execute", call("transfer", json!([bob, "5000"]))).await;
    assert_eq!((&broke["code"], &broke["data"]["code"]), (&json!(3), &json!("CONFLICT")));
    assert!(broke["message"].as_str().unwrap().contains("ERC20InsufficientBalance"), "{broke}");
    for (params, path) in [
        (call("fly", json!([])), "method"),
        (call("transfer", json!([bob])), "args"),
        (call("transfer", json!([bob, "much"])), "args[1]"),
    ] {
        let refused = error(&service, "contract.call", params).await;
        assert_eq!(
            (&refused["code"], &refused["data"]["code"]),
            (&json!(-32602), &json!("VALIDATION_ERROR")),
            "{refused}"
        );
        assert_eq!(refused["data"]["details"]["fields"][0]["path"], path);
    }
}

#[tokio::test]
async fn errors_carry_the_rest_code() {
    let service = Service::start().await;
    for (method, params, code, rest) in [
        ("blockchain.getBlock", json!({ "blockchainId": "bc_none" }), -32001, "NOT_FOUND"),
        ("blockchain.getBlock", json!({ "blockchainId": "bc_default", "blockNumber": 99 }), -32001, "NOT_FOUND"),
        ("blockchain.getBlock", json!({ "blockchainId": 5 }), -32602, "VALIDATION_ERROR"),
        ("blockchain.getBlock", json!({ "blockchainId": "bc_default", "colour": 1 }), -32602, "VALIDATION_ERROR"),
        ("blockchain.getBlock", json!(["bc_default"]), -32602, "BAD_REQUEST"),
        (
            "transaction.send",
            json!({ "blockchainId": "bc_default", "signedTransaction": "0x02c0" }),
            -32602,
            "VALIDATION_ERROR",
        ),
    ] {
        let response = error(&service, method, params.clone()).await;
        assert_eq!(
            (&response["code"], &response["data"]["code"]),
            (&json!(code), &json!(rest)),
            "{params}: {response}"
        );
    }
    let unknown = error(&service, "blockchain.fly", json!({})).await;
    assert_eq!(unknown["message"], "the method blockchain.fly does not exist/is not available");
}

#[tokio::test]
async fn credentials_and_scopes_are_required() {
    let service = Service::start().await;
    let reader = service.platform.create_api_key("reader", &[Scope::BlockchainRead]).unwrap().text().to_owned();
    let read = json!({ "blockchainId": "bc_default" });
    assert!(post(&service, &reader, "blockchain.getBlock", read.clone()).await.json()["result"].is_object());
    let send = json!({ "blockchainId": "bc_default", "signedTransaction": "0x" });
    for method in ["transaction.send", "contract.execute"] {
        let refused = post(&service, &reader, method, send.clone()).await;
        assert_eq!((refused.status, &refused.json()["id"]), (403, &json!(7)), "{method}");
        assert_eq!(refused.json()["error"]["data"]["code"], "FORBIDDEN");
        assert_eq!(refused.json()["error"]["data"]["details"]["requiredScope"], "blockchain:deploy");
    }
    let stranger = service.platform.create_api_key("stranger", &[Scope::GovernanceRead]).unwrap().text().to_owned();
    assert_eq!(post(&service, &stranger, "blockchain.getBlock", read.clone()).await.status, 403);
    assert_eq!(post(&service, &stranger, "blockchain.fly", read.clone()).await.status, 200, "no method, no scope");

    // In a batch, and a notification.
    let call = |id: u64, method: &str, params: &Value| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    let headers = [("x-api-key", reader.as_str()), ("content-type", "application/json")];
    let batch = json!([call(1, "transaction.send", &send), call(2, "blockchain.getBlock", &read)]).to_string();
    let reply = service.send("POST", "/v1/rpc", &headers, &batch).await;
    assert_eq!((reply.status, &reply.json()[0]["error"]["data"]["code"]), (200, &json!("FORBIDDEN")));
    assert!(reply.json()[1]["result"].is_object());
    let notification = json!({ "jsonrpc": "2.0", "method": "transaction.send", "params": send }).to_string();
    let reply = service.send("POST", "/v1/rpc", &headers, &notification).await;
    assert_eq!((reply.status, reply.body.as_str()), (403, ""));

    let json = ("content-type", "application/json");
    for (credentials, status, code) in [
        (vec![], 401, "UNAUTHORIZED"),
        (vec![("x-api-key", "cbx_wrong")], 401, "UNAUTHORIZED"),
        (vec![("authorization", "Bearer cbt_wrong")], 401, "UNAUTHORIZED"),
        (vec![("authorization", "Basic YTpi")], 401, "UNAUTHORIZED"),
        (vec![("authorization", "Bearer a"), ("x-api-key", "b")], 400, "BAD_REQUEST"),
    ] {
        let headers = [credentials, vec![json]].concat();
        let refused =
            service.send("POST", "/v1/rpc", &headers, &call(1, "blockchain.getBlock", &read).to_string()).await;
        assert_eq!((refused.status, refused.json()["error"]["data"]["code"].as_str()), (status, Some(code)));
        assert_eq!(refused.header("www-authenticate").is_some(), status == 401, "{headers:?}");
    }
}

#[tokio::test]
async fn the_only_chain_needs_no_name() {
    let service = Service::start().await;
    let unnamed = ok(&service, "blockchain.getBlock", json!({})).await;
    assert_eq!(unnamed, ok(&service, "blockchain.getBlock", json!({ "blockchainId": "bc_default" })).await);
    let without_params = json!({ "jsonrpc": "2.0", "id": 1, "method": "blockchain.getBlock" }).to_string();
    let headers = [("x-api-key", service.api_key.as_str()), ("content-type", "application/json")];
    assert_eq!(service.send("POST", "/v1/rpc", &headers, &without_params).await.json()["result"], unnamed);
    let node = service.platform.default_blockchain().unwrap().node().clone();
    let request = TransactionRequest {
        chain_id: Some(31_337),
        to: Some(node.accounts()[1]),
        gas_limit: Gas::new(21_000),
        max_fee_per_gas: 100_000_000_000,
        ..Default::default()
    };
    let raw = request.sign(&node.keys()[0]).unwrap().encoded();
    assert_eq!(ok(&service, "transaction.send", json!({ "signedTransaction": raw })).await["status"], "success");

    // A second one is there even while it is stopped.
    let made = service.rest("POST", "/v1/blockchains", json!({ "name": "second" })).await.json()["data"].clone();
    let id = made["id"].as_str().unwrap();
    for state in ["running", "stopped"] {
        let refused = error(&service, "blockchain.getBlock", json!({ "colour": 1 })).await;
        let fields = refused["data"]["details"]["fields"].as_array().unwrap();
        let paths: Vec<&str> = fields.iter().map(|field| field["path"].as_str().unwrap()).collect();
        assert_eq!(paths, ["blockchainId", "colour"], "{state}: {refused}");
        service.rest("POST", &format!("/v1/blockchains/{id}/stop"), Value::Null).await;
    }
    assert_eq!(service.rest("DELETE", &format!("/v1/blockchains/{id}"), Value::Null).await.status, 200);
    assert!(ok(&service, "blockchain.getBlock", json!({})).await["number"].is_number());
}

#[tokio::test]
async fn batches_and_notifications_work() {
    let service = Service::start().await;
    let headers = [("x-api-key", service.api_key.as_str()), ("content-type", "application/json")];
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "blockchain.getBlock", "params": { "blockchainId": "bc_default" } });
    let mut silent = call.clone();
    silent.as_object_mut().unwrap().remove("id");
    let batch = service.send("POST", "/v1/rpc", &headers, &json!([call, silent]).to_string()).await.json();
    assert_eq!(batch.as_array().unwrap().len(), 1);
    assert_eq!(service.send("POST", "/v1/rpc", &headers, &silent.to_string()).await.body, "");
    let empty = service.send("POST", "/v1/rpc", &headers, "[]").await.json();
    assert_eq!(empty["error"]["code"], -32600);
}

#[tokio::test]
async fn a_transaction_signed_for_every_chain_is_refused_wherever_it_enters() {
    let service = Service::start().await;
    let node = service.platform.default_blockchain().unwrap().node().clone();
    let request = TransactionRequest {
        chain_id: None,
        to: Some(node.accounts()[1]),
        gas_limit: Gas::new(21_000),
        gas_price: Some(20_000_000_000),
        ..Default::default()
    };
    let unprotected = request.clone().sign(&node.keys()[0]).unwrap();
    let raw = unprotected.encoded();
    let refused =
        error(&service, "transaction.send", json!({ "blockchainId": "bc_default", "signedTransaction": raw })).await;
    assert_eq!((&refused["code"], &refused["data"]["code"]), (&json!(-32602), &json!("VALIDATION_ERROR")), "{refused}");
    let field = &refused["data"]["details"]["fields"][0];
    assert_eq!(field["path"], "signedTransaction");
    assert!(field["expected"].as_str().unwrap().contains("signed for chain 31337 (EIP-155)"), "{refused}");
    let call = |raw: &chainbox::primitives::Bytes| json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_sendRawTransaction", "params": [raw] });
    let batch = service.rpc_text(&json!([call(&raw), call(&raw)]).to_string()).await.json();
    for response in batch.as_array().unwrap() {
        let message = "only replay-protected (EIP-155) transactions allowed over RPC";
        assert_eq!(response["error"], json!({ "code": -32000, "message": message }));
    }
    for sent in [node.send(unprotected), node.send_raw(&raw), node.send_raw_batch(&[raw]).remove(0)] {
        let error = sent.unwrap_err();
        assert!(matches!(error, SendError::Unprotected { chain_id: 31_337 }), "{error}");
    }
    assert!(node.view().pool().is_empty() && node.view().head().height().get() == 0);
    let protected = TransactionRequest { chain_id: Some(31_337), ..request }.sign(&node.keys()[0]).unwrap();
    let params = json!({ "blockchainId": "bc_default", "signedTransaction": protected.encoded() });
    assert_eq!(ok(&service, "transaction.send", params).await["status"], "success");
}
