//! The pending block, the types of sent transactions, estimates: as the execution APIs' schemas, then as geth.

use chainbox::{
    primitives::{Gas, TransactionRequest, U256},
    templates::Erc20Params,
};
use serde_json::{Value, json};

use crate::{http::Service, methods::Chain};

/// A chain on which nothing is mined by itself.
async fn manual() -> Chain {
    let chain = Chain::new();
    chain.ok("evm_setAutomine", json!([false])).await;
    chain
}

#[tokio::test]
async fn reads_at_pending_are_of_the_block_that_would_be_mined() {
    let chain = manual().await;
    let fresh = format!("0x{}", "77".repeat(20));
    let transfer = json!([{ "from": chain.account(1), "to": fresh, "value": "0xde0b6b3a7640000" }]);
    let hash = chain.ok("eth_sendTransaction", transfer).await;
    assert_eq!(chain.ok("eth_getBalance", json!([fresh, "pending"])).await, "0xde0b6b3a7640000");
    assert_eq!(chain.ok("eth_getBalance", json!([fresh, "latest"])).await, "0x0");
    let next = json!([{ "from": fresh, "to": chain.account(0), "value": "0x1" }, "pending"]);
    assert_eq!(chain.ok("eth_estimateGas", next.clone()).await, "0x5208");
    assert_eq!(chain.ok("eth_call", next).await, "0x");

    let block = chain.ok("eth_getBlockByNumber", json!(["pending", false])).await;
    for field in ["hash", "nonce", "miner"] {
        assert_eq!(block[field], Value::Null, "{field}");
        assert!(block.as_object().unwrap().contains_key(field), "{field}");
    }
    assert!(!block.as_object().unwrap().contains_key("totalDifficulty"));
    assert_eq!(
        (&block["number"], &block["gasUsed"], &block["transactions"]),
        (&json!("0x1"), &json!("0x5208"), &json!([hash]))
    );
    let head = chain.ok("eth_getBlockByNumber", json!(["latest", false])).await;
    assert_eq!(block["parentHash"], head["hash"]);
    assert!(!head.as_object().unwrap().contains_key("totalDifficulty"));
    let header = chain.ok("eth_getHeaderByNumber", json!(["pending"])).await;
    assert_eq!((&header["hash"], &header["stateRoot"]), (&Value::Null, &block["stateRoot"]));
    assert_eq!(chain.ok("eth_getBlockTransactionCountByNumber", json!(["pending"])).await, "0x1");

    let full = chain.ok("eth_getBlockByNumber", json!(["pending", true])).await;
    let by_index = chain.ok("eth_getTransactionByBlockNumberAndIndex", json!(["pending", "0x0"])).await;
    let by_hash = chain.ok("eth_getTransactionByHash", json!([hash])).await;
    assert_eq!((&full["transactions"][0], &by_index), (&by_hash, &by_hash));
    for field in ["blockHash", "blockNumber", "transactionIndex"] {
        assert_eq!(by_hash[field], Value::Null, "{field}");
    }
    assert_eq!(by_hash["gasPrice"], by_hash["maxFeePerGas"]);
    assert_eq!(chain.ok("eth_getTransactionByBlockNumberAndIndex", json!(["pending", "0x1"])).await, Value::Null);
    assert_eq!(chain.ok("eth_getTransactionReceipt", json!([hash])).await, Value::Null);
    let receipts = chain.ok("eth_getBlockReceipts", json!(["pending"])).await;
    assert_eq!((&receipts[0]["transactionHash"], &receipts[0]["status"]), (&hash, &json!("0x1")));

    chain.ok("evm_mine", json!([])).await;
    let mined = chain.ok("eth_getBlockByNumber", json!(["0x1", false])).await;
    for field in ["stateRoot", "receiptsRoot", "transactions", "gasUsed", "baseFeePerGas", "timestamp", "logsBloom"] {
        assert_eq!(mined[field], block[field], "{field}");
    }
}

#[tokio::test]
async fn an_approval_that_waits_counts_for_the_next_estimate() {
    let chain = manual().await;
    let (owner, spender) = (chain.account(0), chain.account(1));
    let input = Erc20Params::new("Gold", "GLD", U256::from(1_000), chain.node.accounts()[0]).init_code();
    chain.ok("eth_sendTransaction", json!([{ "from": owner, "data": input }])).await;
    let token = chain.node.accounts()[0].create(0).to_string();
    let word = |hex: &str| format!("{:0>64}", hex.trim_start_matches("0x").to_lowercase());
    let approve = format!("0x095ea7b3{}{}", word(&spender), word("5"));
    let spend = format!("0x23b872dd{}{}{}", word(&owner), word(&spender), word("5"));
    let estimate = json!([{ "from": spender, "to": token, "data": spend }, "pending"]);
    assert_eq!(chain.error("eth_estimateGas", estimate.clone()).await.0, 3);
    chain.ok("eth_sendTransaction", json!([{ "from": owner, "to": token, "data": approve }])).await;
    assert!(chain.ok("eth_estimateGas", estimate).await.as_str().unwrap() > "0x5208");
}

#[tokio::test]
async fn names_of_blocks_are_of_their_own_state() {
    let chain = Chain::new();
    let account = format!("0x{}", "42".repeat(20));
    chain.ok("evm_mine", json!([])).await;
    let head = chain.ok("eth_getBlockByNumber", json!(["latest", false])).await;
    chain.ok("anvil_setBalance", json!([account, "0x5"])).await;
    for named in [json!({ "blockHash": head["hash"] }), json!("0x1"), json!("safe"), json!("finalized")] {
        assert_eq!(chain.ok("eth_getBalance", json!([account, named])).await, "0x0", "{named}");
    }
    for shown in ["latest", "pending"] {
        assert_eq!(chain.ok("eth_getBalance", json!([account, shown])).await, "0x5", "{shown}");
    }
    let proven = async |at: &str| chain.ok("eth_getProof", json!([account, [], at])).await["balance"].clone();
    assert_eq!((proven("latest").await, proven("pending").await), (json!("0x0"), json!("0x5")));
}

#[tokio::test]
async fn the_fields_of_a_sent_transaction_choose_its_type() {
    let chain = Chain::new();
    let list = json!([{ "address": chain.account(2).to_lowercase(), "storageKeys": [] }]);
    for (fields, expected) in [
        (json!({}), "0x2"),
        (json!({ "gasPrice": "0x4a817c800" }), "0x0"),
        (json!({ "accessList": list, "gasPrice": "0x4a817c800" }), "0x1"),
        (json!({ "accessList": [], "gasPrice": "0x4a817c800" }), "0x1"),
        (json!({ "type": "0x1", "gasPrice": "0x4a817c800" }), "0x1"),
        (json!({ "accessList": list, "maxFeePerGas": "0x4a817c800" }), "0x2"),
        (json!({ "accessList": list }), "0x2"),
    ] {
        let mut request = json!({ "from": chain.account(0), "to": chain.account(1) });
        request.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let hash = chain.ok("eth_sendTransaction", json!([request])).await;
        let sent = chain.ok("eth_getTransactionByHash", json!([hash])).await;
        assert_eq!(sent["type"], expected, "{fields}");
        let listed = fields.get("accessList").cloned().unwrap_or(json!([]));
        assert_eq!(sent.get("accessList").cloned().unwrap_or(json!([])), listed, "{fields}");
        let receipt = chain.ok("eth_getTransactionReceipt", json!([hash])).await;
        assert_eq!((&receipt["type"], &receipt["status"]), (&json!(expected), &json!("0x1")), "{fields}");
    }
}

#[tokio::test]
async fn a_transaction_for_any_chain_is_refused() {
    let chain = Chain::new();
    let request = TransactionRequest {
        chain_id: None,
        to: Some(chain.node.accounts()[1]),
        gas_limit: Gas::new(21_000),
        gas_price: Some(20_000_000_000),
        ..Default::default()
    };
    let sign = |request: TransactionRequest| request.sign(&chain.node.keys()[0]).unwrap().encoded().to_string();
    let (code, message) = chain.error("eth_sendRawTransaction", json!([sign(request.clone())])).await;
    assert_eq!((code, &*message), (-32000, "only replay-protected (EIP-155) transactions allowed over RPC"));
    chain.ok("eth_sendRawTransaction", json!([sign(TransactionRequest { chain_id: Some(31_337), ..request })])).await;
}

#[tokio::test]
async fn an_estimate_above_the_allowance_has_geths_words() {
    let chain = Chain::new();
    let request = |gas: &str| json!([{ "from": chain.account(0), "to": chain.account(1), "data": "0x00", "gas": gas }]);
    let error = chain.error("eth_estimateGas", request("0x5208")).await;
    assert_eq!(error, (-32000, "gas required exceeds allowance (21000)".to_owned()));
    chain.ok("eth_estimateGas", request("0xf4240")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_of_one_client_does_not_hold_the_mining_of_another() {
    let service = Service::start().await;
    let accounts = service.rpc("eth_accounts", json!([])).await["result"].clone();
    let call = |id: usize, from: usize| {
        let request = json!({ "from": accounts[from], "to": accounts[2], "value": "0x1" });
        json!({ "jsonrpc": "2.0", "id": id, "method": "eth_sendTransaction", "params": [request] })
    };
    let batch = Value::from((0..20).map(|id| call(id, 0)).collect::<Vec<_>>()).to_string();
    let batches = async {
        for _ in 0..4 {
            let replies = service.rpc_text(&batch).await.json();
            let receipts: Vec<Value> = {
                let mut receipts = Vec::new();
                for reply in replies.as_array().unwrap() {
                    receipts.push(
                        service.rpc("eth_getTransactionReceipt", json!([reply["result"]])).await["result"].clone(),
                    );
                }
                receipts
            };
            assert!(receipts.iter().all(|receipt| receipt["blockNumber"] == receipts[0]["blockNumber"]), "one block");
        }
    };
    let singles = async {
        for id in 0..40 {
            let hash = service.rpc_text(&call(id, 1).to_string()).await.json()["result"].clone();
            let receipt = service.rpc("eth_getTransactionReceipt", json!([hash])).await;
            assert_eq!(receipt["result"]["status"], "0x1", "it was mined when its send was answered");
        }
    };
    tokio::join!(batches, singles);
}
