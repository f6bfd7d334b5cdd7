//! `/v1/rpc`: the seven methods with named parameters.

use std::{sync::Arc, time::Duration};

use alloy_sol_types::SolCall as _;
use chainbox::{
    node::{BlockRef, ManualClock, Mining, Node, SendError},
    platform::{ClientRegistration, Parameters, PublicUrl, Scope},
    primitives::{Address, Gas, Height, Timestamp, Transaction, TransactionRequest, U256},
    templates::erc20::interface::Erc20Token,
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

/// A transfer of one unit by the second account, of which `change` makes another transaction.
fn transfer(node: &Node, nonce: u64, change: impl FnOnce(&mut TransactionRequest)) -> Transaction {
    let mut request = TransactionRequest {
        chain_id: Some(31_337),
        nonce,
        to: Some(node.accounts()[2]),
        value: U256::from(1),
        gas_limit: Gas::new(100_000),
        max_fee_per_gas: 100_000_000_000,
        ..Default::default()
    };
    change(&mut request);
    request.sign(&node.keys()[1]).unwrap()
}

#[tokio::test]
async fn a_signed_call_is_executed_in_place_of_one_that_the_service_signs() {
    let service = Service::start().await;
    let node = service.platform.default_blockchain().unwrap().node().clone();
    let contract = token(&service).await;
    let address: Address = contract.as_str().unwrap().parse().unwrap();
    let input = Erc20Token::approveCall { spender: node.accounts()[0], value: U256::from(7) }.abi_encode();
    let signed = transfer(&node, 0, |request| {
        (request.to, request.value, request.input) = (Some(address), U256::ZERO, input.into());
    });
    let params = json!({ "contractAddress": contract, "signedTransaction": signed.encoded() });
    let executed = ok(&service, "contract.execute", params.clone()).await;
    assert_eq!((&executed["transactionHash"], &executed["status"]), (&json!(signed.hash()), &json!("success")));
    let allowance =
        json!({ "contractAddress": contract, "method": "allowance", "args": [node.accounts()[1], node.accounts()[0]] });
    assert_eq!(ok(&service, "contract.call", allowance).await["result"], "7");
    assert_eq!(ok(&service, "contract.execute", params.clone()).await, executed, "one that is known is answered");
    let again = ok(&service, "transaction.send", json!({ "signedTransaction": signed.encoded() })).await;
    assert_eq!(again, executed);

    // It has no token to give: what would fail is not sent.
    let input = Erc20Token::transferCall { to: node.accounts()[0], value: U256::from(1) }.abi_encode();
    let failing = transfer(&node, 1, |request| {
        (request.to, request.value, request.input) = (Some(address), U256::ZERO, input.into());
    });
    let params = json!({ "contractAddress": contract, "signedTransaction": failing.encoded() });
    let refused = error(&service, "contract.execute", params).await;
    assert_eq!((&refused["code"], &refused["data"]["code"]), (&json!(3), &json!("CONFLICT")), "{refused}");
    assert!(refused["message"].as_str().unwrap().contains("ERC20InsufficientBalance"), "{refused}");
    assert!(node.view().transaction(failing.hash()).unwrap().is_none(), "it was not sent");

    let elsewhere = transfer(&node, 1, |_| {}).encoded();
    for (params, paths) in [
        (json!({ "contractAddress": contract, "signedTransaction": elsewhere }), vec!["signedTransaction"]),
        (json!({ "contractAddress": contract, "signedTransaction": "0x02" }), vec!["signedTransaction"]),
        (json!({ "contractAddress": contract, "signedTransaction": "no hex" }), vec!["signedTransaction"]),
        (json!({ "signedTransaction": signed.encoded() }), vec!["contractAddress"]),
        (
            json!({ "contractAddress": contract, "signedTransaction": signed.encoded(), "method": "approve", "args": [], "value": "0",
                "data": "0x", "from": node.accounts()[1], "gasLimit": "100000", "colour": "red" }),
            vec!["args", "colour", "data", "from", "gasLimit", "method", "value"],
        ),
    ] {
        let refused = error(&service, "contract.execute", params.clone()).await;
        assert_eq!(refused["data"]["code"], "VALIDATION_ERROR", "{params}: {refused}");
        let fields = refused["data"]["details"]["fields"].as_array().unwrap();
        let mut found: Vec<&str> = fields.iter().map(|field| field["path"].as_str().unwrap()).collect();
        found.sort_unstable();
        assert_eq!(found, paths, "{params}: {refused}");
    }
}

#[tokio::test]
async fn blocks_are_found_by_every_name_of_theirs() {
    let service = Service::start().await;
    let node = service.platform.default_blockchain().unwrap().node().clone();
    node.mine(3).unwrap();
    let block = async |number: Value| ok(&service, "blockchain.getBlock", json!({ "blockNumber": number })).await;
    let view = node.view();
    for (name, number) in [
        (json!("earliest"), 0),
        (json!("latest"), 3),
        (json!("pending"), 4),
        (json!("safe"), view.safe().height().get()),
        (json!("finalized"), view.finalized().height().get()),
        (json!(2), 2),
        (json!("2"), 2),
        (json!("0x2"), 2),
        (json!(view.block(BlockRef::Number(Height::new(2))).unwrap().hash()), 2),
        (Value::Null, 3),
    ] {
        let found = block(name.clone()).await;
        assert_eq!((&found["number"], found["hash"].is_null()), (&json!(number), name == "pending"), "{name}");
        let at = json!({ "address": node.accounts()[0], "blockNumber": name });
        assert_eq!(ok(&service, "blockchain.getBalance", at).await["blockNumber"], json!(number), "{name}");
    }
    for (name, code) in [(json!(9), -32001), (json!("newest"), -32602), (json!(-1), -32602), (json!("0xzz"), -32602)] {
        let refused = error(&service, "blockchain.getBlock", json!({ "blockNumber": name })).await;
        assert_eq!(refused["code"], code, "{name}: {refused}");
    }
}

#[tokio::test]
async fn a_transaction_is_pending_and_then_succeeds_or_fails() {
    let service = Service::start().await;
    let node = service.platform.default_blockchain().unwrap().node().clone();
    let contract = token(&service).await.as_str().unwrap().parse().unwrap();
    node.set_mining(Mining::Manual).unwrap();
    let input = Erc20Token::transferCall { to: node.accounts()[0], value: U256::from(1) }.abi_encode();
    let good = transfer(&node, 0, |_| {});
    let failing = transfer(&node, 1, |request| {
        (request.to, request.value, request.input) = (Some(contract), U256::ZERO, input.into());
    });
    let status = async |transaction: &Transaction| {
        ok(&service, "blockchain.getTransaction", json!({ "transactionHash": transaction.hash() })).await
    };
    let unknown = error(&service, "blockchain.getTransaction", json!({ "transactionHash": good.hash() })).await;
    assert_eq!((&unknown["code"], &unknown["data"]["details"]["resource"]), (&json!(-32001), &json!("transaction")));
    for transaction in [&good, &failing] {
        let sent = ok(&service, "transaction.send", json!({ "signedTransaction": transaction.encoded() })).await;
        assert_eq!((&sent["status"], &sent["blockNumber"]), (&json!("pending"), &Value::Null));
        let waiting = status(transaction).await;
        assert_eq!((&waiting["status"], &waiting["confirmations"]), (&json!("pending"), &json!(0)), "{waiting}");
        assert!(waiting["blockHash"].is_null() && waiting["gasUsed"].is_null(), "{waiting}");
    }
    node.mine(1).unwrap();
    for (transaction, expected) in [(&good, "success"), (&failing, "failed")] {
        let mined = status(transaction).await;
        assert_eq!((&mined["status"], &mined["confirmations"]), (&json!(expected), &json!(1)), "{mined}");
        assert_eq!((&mined["blockNumber"], mined["gasUsed"].is_string()), (&json!(2), true), "{mined}");
    }
}

#[tokio::test]
async fn a_simulation_says_why_a_transaction_would_fail_or_be_left_out() {
    let service = Service::start().await;
    let node = service.platform.default_blockchain().unwrap().node().clone();
    let contract: Address = token(&service).await.as_str().unwrap().parse().unwrap();
    let input: chainbox::primitives::Bytes =
        Erc20Token::transferCall { to: node.accounts()[0], value: U256::from(5) }.abi_encode().into();
    let call = json!({ "from": node.accounts()[1], "to": contract, "data": input });
    let signed = transfer(&node, 0, |request| {
        (request.to, request.value, request.input) = (Some(contract), U256::ZERO, input.clone());
    });
    for params in [call, json!({ "signedTransaction": signed.encoded() })] {
        let report = ok(&service, "transaction.simulate", params.clone()).await;
        assert_eq!(report["success"], false, "{params}: {report}");
        let reason = report["revertReason"].as_str().unwrap();
        assert!(reason.starts_with("ERC20InsufficientBalance("), "{report}");
        assert!(report["error"].as_str().unwrap().contains("revert"), "{report}");
        assert!(report["returnData"].as_str().unwrap().len() > 10 && report["gasUsed"] != "0", "{report}");
    }
    node.transfer(node.accounts()[1], node.accounts()[2], U256::from(1)).unwrap();
    let cheap = |request: &mut TransactionRequest| request.max_fee_per_gas = 1;
    let poor = |request: &mut TransactionRequest| request.value = U256::MAX >> 8;
    for (transaction, error) in [
        (transfer(&node, 0, |_| {}), "nonce too low: "),
        (transfer(&node, 2, |_| {}), "nonce too high: "),
        (transfer(&node, 1, cheap), "max fee per gas less than block base fee: "),
        (transfer(&node, 1, poor), "insufficient funds for gas * price + value: "),
    ] {
        let report = ok(&service, "transaction.simulate", json!({ "signedTransaction": transaction.encoded() })).await;
        assert!(report["error"].as_str().unwrap().starts_with(error), "{report}");
        assert_eq!((&report["success"], &report["gasUsed"]), (&json!(false), &json!("0")), "{report}");
    }
    let fine = transfer(&node, 1, |_| {}).encoded();
    assert_eq!(ok(&service, "transaction.simulate", json!({ "signedTransaction": fine })).await["success"], true);
    assert_eq!(node.view().pool().len(), 0, "nothing was sent");
}

#[tokio::test]
async fn each_method_needs_its_scope() {
    let service = Service::start().await;
    for (method, scope) in [
        ("blockchain.getBlock", Scope::BlockchainRead),
        ("blockchain.getTransaction", Scope::BlockchainRead),
        ("blockchain.getBalance", Scope::BlockchainRead),
        ("transaction.send", Scope::BlockchainDeploy),
        ("transaction.simulate", Scope::BlockchainRead),
        ("contract.call", Scope::BlockchainRead),
        ("contract.execute", Scope::BlockchainDeploy),
    ] {
        let others: Vec<Scope> =
            Scope::ALL.into_iter().filter(|other| !matches!(other, Scope::Admin) && *other != scope).collect();
        let without = service.platform.create_api_key("without", &others).unwrap().text().to_owned();
        let refused = post(&service, &without, method, json!({ "colour": "red" })).await;
        let error = refused.json()["error"].clone();
        assert_eq!((refused.status, &error["code"]), (403, &json!(-32006)), "{method}: {error}");
        assert_eq!(error["data"]["details"]["requiredScope"], scope.name(), "{method}");
        let with = service.platform.create_api_key("with", &[scope]).unwrap().text().to_owned();
        let reply = post(&service, &with, method, json!({ "colour": "red" })).await;
        assert_eq!((reply.status, &reply.json()["error"]["code"]), (200, &json!(-32602)), "{method}: {}", reply.body);
    }
}

#[tokio::test]
async fn an_expired_access_token_is_refused() {
    let clock = Arc::new(ManualClock::new(Timestamp::from_secs(1_750_000_000)));
    let service = Service::timed(clock.clone()).await;
    let (platform, oauth) = (&service.platform, service.platform.oauth());
    let user = platform.users().by_identity("https://id.example", "ann", Some("ann@example.org")).unwrap();
    let home = user.value.home.clone().unwrap();
    let me = platform.workspaces().principal(user.id(), &home).unwrap().unwrap();
    let redirect = "https://app.example/cb";
    let metadata = json!({ "client_name": "App", "redirect_uris": [redirect], "scope": "blockchain:read" });
    let registration = ClientRegistration::read(&metadata).unwrap();
    let (client, _) = platform.unit(|unit| oauth.register(unit, &me, registration)).unwrap();
    let url = PublicUrl::new("https://chain.example").unwrap();
    let own = format!("client_id={}&redirect_uri={redirect}", client.id());
    let query = format!("{own}&response_type=code&scope=blockchain:read");
    let request = oauth.read_authorization(&Parameters::read(query.as_bytes()), &url).unwrap();
    let location = oauth.authorize(&request, user.id(), &home, &url).ok().unwrap().location;
    let code = location.split("code=").nth(1).unwrap().split('&').next().unwrap();
    let form = format!("{own}&grant_type=authorization_code&code={code}");
    let tokens = oauth.token(&client, &Parameters::read(form.as_bytes())).unwrap();
    let bearer = format!("Bearer {}", tokens.access_token.text());
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "blockchain.fly" }).to_string();
    for (passes, status) in [(3_599, 200), (1, 401)] {
        clock.advance(Duration::from_secs(passes));
        let reply = service.send("POST", "/v1/rpc", &headers, &call).await;
        assert_eq!(
            (reply.status, reply.header("www-authenticate").is_some()),
            (status, status == 401),
            "{}",
            reply.body
        );
    }
}
