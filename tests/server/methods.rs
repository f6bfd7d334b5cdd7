//! Every method without a socket.

use chainbox::{
    node::Node,
    primitives::{Gas, TransactionRequest, U256},
    server::EthRpc,
    templates::Erc20Params,
};
use serde_json::{Value, json};

/// The chain of a test, called without a socket.
pub(crate) struct Chain {
    pub(crate) rpc: EthRpc,
    pub(crate) node: Node,
}

impl Chain {
    pub(crate) fn new() -> Self {
        Self::over(Node::new())
    }

    pub(crate) fn over(node: Node) -> Self {
        Self { rpc: EthRpc::new(node.clone()), node }
    }

    /// Returns the whole response.
    pub(crate) async fn response(&self, method: &str, params: Value) -> Value {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let (response, _) = self.rpc.methods().raw_json_request(&call.to_string(), 1).await.unwrap();
        serde_json::from_str(response.get()).unwrap()
    }

    /// Returns the result; panics on an error.
    pub(crate) async fn ok(&self, method: &str, params: Value) -> Value {
        let mut response = self.response(method, params.clone()).await;
        assert!(response.get("error").is_none(), "{method} {params}: {response}");
        response["result"].take()
    }

    /// Returns code and message of the error; panics on a result.
    pub(crate) async fn error(&self, method: &str, params: Value) -> (i64, String) {
        let response = self.response(method, params.clone()).await;
        let error = response.get("error").unwrap_or_else(|| panic!("{method} {params}: {response}"));
        (error["code"].as_i64().unwrap(), error["message"].as_str().unwrap().to_owned())
    }

    pub(crate) fn account(&self, index: usize) -> String {
        self.node.accounts()[index].to_string()
    }

    /// Returns a signed transfer of one wei from the first account, as hex.
    pub(crate) fn signed_transfer(&self, nonce: u64) -> String {
        let transaction = TransactionRequest {
            chain_id: Some(self.node.view().chain_id()),
            nonce,
            to: Some(self.node.accounts()[1]),
            value: U256::from(1),
            gas_limit: Gas::new(21_000),
            max_fee_per_gas: 100_000_000_000,
            max_priority_fee_per_gas: 1,
            ..Default::default()
        };
        transaction.sign(&self.node.keys()[0]).unwrap().encoded().to_string()
    }
}

#[tokio::test]
async fn the_node_identifies_itself() {
    let chain = Chain::new();
    for (method, expected) in [
        ("eth_chainId", json!("0x7a69")),
        ("net_version", json!("31337")),
        ("net_listening", json!(true)),
        ("net_peerCount", json!("0x0")),
        ("eth_syncing", json!(false)),
        ("eth_mining", json!(true)),
        ("eth_blockNumber", json!("0x0")),
    ] {
        assert_eq!(chain.ok(method, json!([])).await, expected, "{method}");
    }
    assert!(chain.ok("web3_clientVersion", json!([])).await.as_str().unwrap().starts_with("chainbox/v"));
    let keccak_of_nothing = "0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470";
    assert_eq!(chain.ok("web3_sha3", json!(["0x"])).await, keccak_of_nothing);
    assert_eq!(chain.ok("eth_accounts", json!([])).await.as_array().unwrap().len(), 10);
    assert_eq!(chain.ok("eth_coinbase", json!([])).await.as_str().unwrap().len(), 42);
}

#[tokio::test]
async fn a_transfer_is_found_everywhere() {
    let chain = Chain::new();
    let (from, to) = (chain.account(0), chain.account(1));
    let before = chain.ok("eth_getBalance", json!([to, "latest"])).await;
    let hash = chain.ok("eth_sendTransaction", json!([{ "from": from, "to": to, "value": "0x5" }])).await;
    let receipt = chain.ok("eth_getTransactionReceipt", json!([hash])).await;
    assert_eq!(
        (&receipt["status"], &receipt["gasUsed"], &receipt["blockNumber"]),
        (&json!("0x1"), &json!("0x5208"), &json!("0x1"))
    );
    let transaction = chain.ok("eth_getTransactionByHash", json!([hash])).await;
    assert_eq!(transaction["from"].as_str().unwrap().to_lowercase(), from.to_lowercase());
    assert_eq!((&transaction["type"], &transaction["blockHash"]), (&json!("0x2"), &receipt["blockHash"]));
    for (method, params) in [
        ("eth_getTransactionByBlockNumberAndIndex", json!(["0x1", "0x0"])),
        ("eth_getTransactionByBlockHashAndIndex", json!([receipt["blockHash"], "0x0"])),
    ] {
        assert_eq!(chain.ok(method, params).await, transaction, "{method}");
    }
    let block = chain.ok("eth_getBlockByNumber", json!(["latest", false])).await;
    assert_eq!(block["transactions"], json!([hash]));
    assert_eq!(chain.ok("eth_getBlockByHash", json!([block["hash"], true])).await["transactions"][0], transaction);
    assert_eq!(chain.ok("eth_getBlockReceipts", json!(["latest"])).await, json!([receipt]));
    assert_eq!(chain.ok("eth_getBlockTransactionCountByNumber", json!(["0x1"])).await, "0x1");
    assert_eq!(chain.ok("eth_getBlockTransactionCountByHash", json!([block["hash"]])).await, "0x1");
    assert_eq!(chain.ok("eth_getTransactionCount", json!([from, "latest"])).await, "0x1");
    let balance = |value: &Value| U256::from_str_radix(&value.as_str().unwrap()[2..], 16).unwrap();
    let after = chain.ok("eth_getBalance", json!([to, "latest"])).await;
    assert_eq!(balance(&after) - balance(&before), U256::from(5));
    assert_eq!(chain.ok("eth_getBalance", json!([to, "0x0"])).await, before);
    let raw = chain.ok("eth_getRawTransactionByHash", json!([hash])).await;
    assert!(raw.as_str().unwrap().starts_with("0x02"));
}

#[tokio::test]
async fn unknown_blocks_and_transactions_are_null() {
    let chain = Chain::new();
    let hash = format!("0x{}", "11".repeat(32));
    for (method, params) in [
        ("eth_getTransactionByHash", json!([hash])),
        ("eth_getTransactionReceipt", json!([hash])),
        ("eth_getBlockByHash", json!([hash, false])),
        ("eth_getBlockByNumber", json!(["0x99", false])),
        ("eth_getBlockReceipts", json!(["0x99"])),
        ("eth_getBlockTransactionCountByNumber", json!(["0x99"])),
        ("eth_getTransactionByBlockNumberAndIndex", json!(["0x0", "0x0"])),
    ] {
        assert_eq!(chain.ok(method, params).await, Value::Null, "{method}");
    }
    assert_eq!(chain.error("eth_getBalance", json!([chain.account(0), "0x99"])).await.0, -32001);
    assert_eq!(chain.error("eth_getBalance", json!([chain.account(0), hash])).await.0, -32001);
}

#[tokio::test]
async fn a_token_is_called_logged_proven_and_traced() {
    let chain = Chain::new();
    let (owner, other) = (chain.node.accounts()[0], chain.node.accounts()[1]);
    let input = Erc20Params::new("Gold", "GLD", U256::from(1000), owner).init_code();
    let hash = chain.ok("eth_sendTransaction", json!([{ "from": owner, "data": input }])).await;
    let receipt = chain.ok("eth_getTransactionReceipt", json!([hash])).await;
    let token = receipt["contractAddress"].as_str().unwrap().to_owned();
    assert!(chain.ok("eth_getCode", json!([token, "latest"])).await.as_str().unwrap().starts_with("0xefcb"));

    let total_supply = json!([{ "to": token, "data": "0x18160ddd" }, "latest"]);
    assert_eq!(chain.ok("eth_call", total_supply.clone()).await, format!("0x{:064x}", 1000));
    let slot_two = json!({ token.clone(): { "stateDiff": { format!("0x{:064x}", 2): format!("0x{:064x}", 7) } } });
    let overridden = json!([total_supply[0], "latest", slot_two]);
    assert_eq!(chain.ok("eth_call", overridden).await, format!("0x{:064x}", 7));
    assert_eq!(chain.ok("eth_getStorageAt", json!([token, "0x2", "latest"])).await, format!("0x{:064x}", 1000));

    let transfer = format!("0xa9059cbb{:0>64}{:064x}", hex(&other.to_string()), 10);
    let call = json!({ "from": owner, "to": token, "data": transfer });
    let estimate = chain.ok("eth_estimateGas", json!([call])).await;
    let list = chain.ok("eth_createAccessList", json!([call, "latest"])).await;
    assert!(list["accessList"].as_array().is_some() && list["gasUsed"].is_string(), "{list}");
    let sent = chain.ok("eth_sendTransaction", json!([call])).await;
    let receipt = chain.ok("eth_getTransactionReceipt", json!([sent])).await;
    assert!(quantity(&receipt["gasUsed"]) <= quantity(&estimate));
    let topic = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
    let logs = chain.ok("eth_getLogs", json!([{ "fromBlock": "earliest", "address": token, "topics": [topic] }])).await;
    assert_eq!(logs.as_array().unwrap().len(), 2, "the mint and the transfer");
    assert_eq!(logs[1], receipt["logs"][0]);
    for empty in
        [json!([{ "fromBlock": "0x3", "toBlock": "latest" }]), json!([{ "fromBlock": "0x99", "toBlock": "0x9a" }])]
    {
        assert_eq!(chain.ok("eth_getLogs", empty).await, json!([]), "a range without blocks");
    }
    assert_eq!(chain.error("eth_getLogs", json!([{ "fromBlock": "0x2", "toBlock": "0x1" }])).await.0, -32602);
    let by_hash = json!([{ "blockHash": receipt["blockHash"] }]);
    assert_eq!(chain.ok("eth_getLogs", by_hash).await, receipt["logs"]);

    let proof = chain.ok("eth_getProof", json!([token, ["0x2"], "latest"])).await;
    assert_eq!(proof["storageProof"][0]["value"], "0x3e8");
    assert!(!proof["accountProof"].as_array().unwrap().is_empty());
    let trace = chain.ok("debug_traceTransaction", json!([sent, { "tracer": "callTracer" }])).await;
    assert_eq!((&trace["type"], &trace["gasUsed"]), (&json!("CALL"), &receipt["gasUsed"]));
    let traced = chain.ok("debug_traceCall", json!([call, "latest", { "tracer": "callTracer" }])).await;
    assert_eq!(traced["to"].as_str().unwrap().to_lowercase(), token.to_lowercase());
    assert_eq!(chain.error("debug_traceTransaction", json!([sent])).await.0, -32004);
    assert_eq!(chain.error("debug_traceTransaction", json!([sent, { "tracer": "prestateTracer" }])).await.0, -32004);
}

#[tokio::test]
async fn a_revert_has_code_three_its_reason_and_its_bytes() {
    let chain = Chain::new();
    let (owner, poor) = (chain.node.accounts()[0], chain.node.accounts()[1]);
    let input = Erc20Params::new("Gold", "GLD", U256::from(1000), owner).init_code();
    let hash = chain.ok("eth_sendTransaction", json!([{ "from": owner, "data": input }])).await;
    let token = chain.ok("eth_getTransactionReceipt", json!([hash])).await["contractAddress"].clone();
    let transfer = format!("0xa9059cbb{:0>64}{:064x}", hex(&owner.to_string()), 10);
    let call = json!({ "from": poor, "to": token, "data": transfer });
    for method in ["eth_call", "eth_estimateGas", "eth_sendTransaction"] {
        let response = chain.response(method, json!([call])).await;
        assert_eq!(response["error"]["code"], 3, "{method}: {response}");
        let message = response["error"]["message"].as_str().unwrap();
        assert!(message.starts_with("execution reverted: ERC20InsufficientBalance("), "{message}");
        assert!(response["error"]["data"].as_str().unwrap().starts_with("0xe450d38c"), "{response}");
    }
    let forced = json!([{ "from": poor, "to": token, "data": transfer, "gas": "0x30d40" }]);
    let hash = chain.ok("eth_sendTransaction", forced).await;
    let receipt = chain.ok("eth_getTransactionReceipt", json!([hash])).await;
    assert_eq!(receipt["status"], "0x0");
    assert!(quantity(&receipt["gasUsed"]) > 21_000);
}

#[tokio::test]
async fn log_indices_count_through_the_block() {
    let chain = Chain::new();
    let (owner, other) = (chain.node.accounts()[0], chain.node.accounts()[1]);
    let input = Erc20Params::new("Gold", "GLD", U256::from(1000), owner).init_code();
    let hash = chain.ok("eth_sendTransaction", json!([{ "from": owner, "data": input }])).await;
    let token = chain.ok("eth_getTransactionReceipt", json!([hash])).await["contractAddress"].clone();
    chain.ok("evm_setAutomine", json!([false])).await;
    let transfer = format!("0xa9059cbb{:0>64}{:064x}", hex(&other.to_string()), 10);
    for request in [
        json!({ "from": owner, "to": token, "data": transfer, "gas": "0x30d40" }),
        json!({ "from": owner, "to": other, "value": "0x1" }),
        json!({ "from": owner, "to": token, "data": transfer, "gas": "0x30d40" }),
        json!({ "from": owner, "data": input }),
    ] {
        chain.ok("eth_sendTransaction", json!([request])).await;
    }
    chain.ok("evm_mine", json!([])).await;
    let receipts = chain.ok("eth_getBlockReceipts", json!(["latest"])).await;
    let receipts = receipts.as_array().unwrap();
    let logs_of = |receipt: &Value| receipt["logs"].as_array().unwrap().clone();
    assert_eq!(receipts.iter().map(|receipt| logs_of(receipt).len()).collect::<Vec<_>>(), [1, 0, 1, 2]);
    let logs: Vec<Value> = receipts.iter().flat_map(logs_of).collect();
    for (index, log) in logs.iter().enumerate() {
        assert_eq!(quantity(&log["logIndex"]), index as u64);
    }
    let by_block = json!([{ "blockHash": receipts[0]["blockHash"] }]);
    assert_eq!(chain.ok("eth_getLogs", by_block).await, json!(logs));
    for receipt in receipts {
        assert_eq!(chain.ok("eth_getTransactionReceipt", json!([receipt["transactionHash"]])).await, *receipt);
    }
}

#[tokio::test]
async fn fees_have_a_history() {
    let chain = Chain::new();
    chain.ok("eth_sendTransaction", json!([{ "from": chain.account(0), "to": chain.account(1) }])).await;
    chain.ok("anvil_mine", json!(["0x3"])).await;
    let history = chain.ok("eth_feeHistory", json!(["0x3", "latest", [10, 50]])).await;
    assert_eq!(history["oldestBlock"], "0x2");
    assert_eq!(history["baseFeePerGas"].as_array().unwrap().len(), 4);
    assert_eq!(
        (history["gasUsedRatio"].as_array().unwrap().len(), history["reward"][0].as_array().unwrap().len()),
        (3, 2)
    );
    let all = chain.ok("eth_feeHistory", json!([1000, "latest"])).await;
    assert_eq!((all["oldestBlock"].clone(), all["gasUsedRatio"].as_array().unwrap().len()), (json!("0x0"), 5));
    assert!(quantity(&chain.ok("eth_gasPrice", json!([])).await) > 0);
    assert!(quantity(&chain.ok("eth_maxPriorityFeePerGas", json!([])).await) > 0);
    assert_eq!(chain.error("eth_feeHistory", json!(["0x1", "latest", [50, 10]])).await.0, -32602);
    assert_eq!(chain.error("eth_feeHistory", json!(["0x1", "latest", [101]])).await.0, -32602);
}

#[tokio::test]
async fn unlocked_accounts_sign() {
    let chain = Chain::new();
    let account = chain.account(0);
    let signature = chain.ok("eth_sign", json!([account, "0x68656c6c6f"])).await;
    assert_eq!(signature.as_str().unwrap().len(), 2 + 130);
    assert_eq!(chain.ok("personal_sign", json!(["0x68656c6c6f", account])).await, signature);
    let typed = json!({
        "types": { "EIP712Domain": [{ "name": "name", "type": "string" }], "Mail": [{ "name": "text", "type": "string" }] },
        "primaryType": "Mail", "domain": { "name": "test" }, "message": { "text": "hi" },
    });
    let signed = chain.ok("eth_signTypedData_v4", json!([account, typed])).await;
    assert_eq!(chain.ok("eth_signTypedData_v4", json!([account, typed.to_string()])).await, signed);
    let stranger = format!("0x{}", "99".repeat(20));
    assert_eq!(chain.error("eth_sign", json!([stranger, "0x"])).await.0, -32000);
    let request = json!([{ "from": account, "to": chain.account(1), "value": "0x1", "gas": "0x5208" }]);
    let signed = chain.ok("eth_signTransaction", request).await;
    let hash = chain.ok("eth_sendRawTransaction", json!([signed["raw"]])).await;
    assert_eq!(signed["tx"]["hash"], hash);
}

#[tokio::test]
async fn filters_return_changes_since_the_last_poll() {
    let chain = Chain::new();
    let blocks = chain.ok("eth_newBlockFilter", json!([])).await;
    let pending = chain.ok("eth_newPendingTransactionFilter", json!([])).await;
    let logs = chain.ok("eth_newFilter", json!([{}])).await;
    let owner = chain.node.accounts()[0];
    let input = Erc20Params::new("Gold", "GLD", U256::from(1000), owner).init_code();
    let hash = chain.ok("eth_sendTransaction", json!([{ "from": owner, "data": input }])).await;
    let receipt = chain.ok("eth_getTransactionReceipt", json!([hash])).await;
    assert_eq!(chain.ok("eth_getFilterChanges", json!([blocks])).await, json!([receipt["blockHash"]]));
    assert_eq!(chain.ok("eth_getFilterChanges", json!([blocks])).await, json!([]));
    assert_eq!(chain.ok("eth_getFilterChanges", json!([pending])).await, json!([hash]));
    assert_eq!(chain.ok("eth_getFilterChanges", json!([logs])).await, receipt["logs"]);
    assert_eq!(chain.ok("eth_getFilterLogs", json!([logs])).await, receipt["logs"], "its range is the head");
    for filter in [blocks, pending, logs] {
        assert_eq!(chain.ok("eth_uninstallFilter", json!([filter])).await, true);
        assert_eq!(chain.ok("eth_uninstallFilter", json!([filter])).await, false);
        assert_eq!(chain.error("eth_getFilterChanges", json!([filter])).await, (-32000, "filter not found".to_owned()));
    }
}

#[tokio::test]
async fn the_pending_block_has_the_pooled_transactions() {
    let chain = Chain::new();
    chain.ok("evm_setAutomine", json!([false])).await;
    let hash = chain.ok("eth_sendRawTransaction", json!([chain.signed_transfer(0)])).await;
    let pending = chain.ok("eth_getBlockByNumber", json!(["pending", false])).await;
    assert_eq!((&pending["number"], &pending["transactions"]), (&json!("0x1"), &json!([hash])));
    assert_eq!(chain.ok("eth_getTransactionByHash", json!([hash])).await["blockHash"], Value::Null);
}

/// Parses a quantity.
pub(crate) fn quantity(value: &Value) -> u64 {
    u64::from_str_radix(value.as_str().unwrap().trim_start_matches("0x"), 16).unwrap()
}

/// Returns hex text without `0x`.
fn hex(text: &str) -> &str {
    text.trim_start_matches("0x")
}
