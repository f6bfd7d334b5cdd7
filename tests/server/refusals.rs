//! Rejected transactions: each has its own error message, and the node continues.

use chainbox::{
    chain::GenesisSpec,
    node::Node,
    primitives::{Gas, Transaction, TransactionRequest, U256, ether, hex},
    system::permissions::PermissionsConfig,
};
use serde_json::json;

use crate::methods::Chain;

fn request(chain: &Chain) -> TransactionRequest {
    TransactionRequest {
        chain_id: Some(chain.node.view().chain_id()),
        to: Some(chain.node.accounts()[1]),
        gas_limit: Gas::new(21_000),
        max_fee_per_gas: 100_000_000_000,
        max_priority_fee_per_gas: 1,
        ..Default::default()
    }
}

fn sign(chain: &Chain, request: TransactionRequest) -> Transaction {
    request.sign(&chain.node.keys()[0]).unwrap()
}

#[tokio::test]
async fn every_invalid_transaction_has_its_message() {
    // Without the cap on a transaction's gas, which comes before the block's gas limit.
    let chain = Chain::over(Node::builder().with_transaction_gas_cap(false).build().unwrap());
    let good = request(&chain);
    let raw = |request: TransactionRequest| sign(&chain, request).encoded().to_string();
    let huge = U256::from(10).pow(U256::from(30));
    for (name, raw, part) in [
        ("another chain", raw(TransactionRequest { chain_id: Some(999), ..good.clone() }), "chain id"),
        (
            "another chain, legacy",
            raw(TransactionRequest { chain_id: Some(999), gas_price: Some(100_000_000_000), ..good.clone() }),
            "chain id",
        ),
        (
            "too little gas",
            raw(TransactionRequest { gas_limit: Gas::new(20_999), ..good.clone() }),
            "intrinsic gas too low",
        ),
        (
            "value above balance",
            raw(TransactionRequest { value: huge, ..good.clone() }),
            "insufficient funds for gas * price + value",
        ),
        (
            "more gas than a block has",
            raw(TransactionRequest {
                gas_limit: Gas::new(u64::MAX / 2),
                max_fee_per_gas: 1,
                max_priority_fee_per_gas: 1,
                ..good.clone()
            }),
            "exceeds block gas limit",
        ),
        ("garbage", "0x02c0ffee".to_owned(), "invalid transaction encoding"),
        ("nothing", "0x".to_owned(), "invalid transaction encoding"),
        ("trailing bytes", format!("{}00", raw(good.clone())), "bytes after the transaction's end"),
        ("blob", "0x03f8b1".to_owned(), "EIP-4844 blob transaction"),
        ("set code", "0x04f8b1".to_owned(), "EIP-7702 set-code transaction"),
        ("unknown type", "0x55c0".to_owned(), "0x55"),
    ] {
        let (code, message) = chain.error("eth_sendRawTransaction", json!([raw])).await;
        assert_eq!(code, -32000, "{name}: {message}");
        assert!(message.contains(part), "{name}: {message}");
    }
    chain.ok("eth_sendRawTransaction", json!([raw(good.clone())])).await;
    let (_, message) = chain.error("eth_sendRawTransaction", json!([raw(good)])).await;
    assert!(message.contains("nonce too low") || message.contains("already known"), "{message}");
}

#[tokio::test]
async fn who_may_not_send_or_deploy_is_told_whom_to_ask() {
    let keys = Node::new();
    let [admin, listed] = [0, 1].map(|index| keys.accounts()[index]);
    let permissions = PermissionsConfig::new(admin).with_accounts([listed]).with_deployers([]);
    let mut genesis = GenesisSpec::new(31_337).with_permissions(permissions);
    keys.accounts().iter().for_each(|account| genesis.fund(*account, ether(100)));
    let chain = Chain::over(Node::builder().with_genesis(genesis).build().unwrap());
    let by = |key: usize, request: TransactionRequest| request.sign(&chain.node.keys()[key]).unwrap().encoded();
    let deployment = TransactionRequest { to: None, gas_limit: Gas::new(60_000), ..request(&chain) };
    for (name, method, params, part) in [
        ("sender", "eth_sendRawTransaction", json!([by(2, request(&chain))]), "sender not allowed: address"),
        ("deployer", "eth_sendRawTransaction", json!([by(1, deployment)]), "deployer not allowed: address"),
        ("estimate", "eth_estimateGas", json!([{ "from": chain.account(2), "to": chain.account(0) }]), "sender not"),
        (
            "unlocked",
            "eth_sendTransaction",
            json!([{ "from": chain.account(2), "to": chain.account(0) }]),
            "sender not",
        ),
        ("creation", "eth_call", json!([{ "from": chain.account(1), "data": "0xefcb00010002" }]), "deployer not"),
    ] {
        let (code, message) = chain.error(method, params).await;
        assert_eq!(code, -32000, "{name}: {message}");
        assert!(message.contains(part) && message.contains("0x0000000000000000000000000000000000001002"), "{message}");
    }
    chain.ok("eth_sendRawTransaction", json!([by(1, request(&chain))])).await;
    assert_eq!(chain.ok("eth_call", json!([{ "from": chain.account(2), "to": chain.account(0) }])).await, "0x");
}

#[tokio::test]
async fn replacement_needs_ten_percent_more() {
    let chain = Chain::new();
    chain.ok("evm_setAutomine", json!([false])).await;
    let with_fees = |max_fee_per_gas, max_priority_fee_per_gas| TransactionRequest {
        max_fee_per_gas,
        max_priority_fee_per_gas,
        ..request(&chain)
    };
    let raw = |request: TransactionRequest| sign(&chain, request).encoded().to_string();
    let first = raw(with_fees(100_000_000_000, 1_000));
    chain.ok("eth_sendRawTransaction", json!([first])).await;
    assert_eq!(chain.error("eth_sendRawTransaction", json!([first])).await.1, "already known");
    let (_, message) = chain.error("eth_sendRawTransaction", json!([raw(with_fees(100_000_000_001, 1_001))])).await;
    assert!(message.starts_with("replacement transaction underpriced"), "{message}");
    chain.ok("eth_sendRawTransaction", json!([raw(with_fees(110_000_000_000, 1_100))])).await;
}

#[tokio::test]
async fn evm_bytecode_has_an_error_of_its_own() {
    let chain = Chain::new();
    let bytecode = hex::encode_prefixed(hex!("6080604052348015600e575f80fd5b50"));
    let (_, message) = chain.error("eth_estimateGas", json!([{ "from": chain.account(0), "data": bytecode }])).await;
    assert!(message.contains("EVM"), "{message}");
    // As a revert, whose reason client libraries show.
    let (code, message) = chain.error("eth_call", json!([{ "from": chain.account(0), "data": bytecode }])).await;
    assert_eq!(code, 3, "{message}");
    let with_gas = json!([{ "from": chain.account(0), "data": bytecode, "gas": "0x7a120" }]);
    let (code, message) = chain.error("eth_sendTransaction", with_gas).await;
    assert_eq!(code, -32000, "{message}");
    assert!(message.starts_with("EVM bytecode is not supported"), "{message}");
    assert_eq!(chain.ok("eth_blockNumber", json!([])).await, "0x0");
}

/// Client libraries show the reason that is in the data of a revert, and say "no data present" of any other.
#[tokio::test]
async fn a_wrong_creation_has_its_reason_in_the_data_too() {
    let chain = Chain::new();
    for (init_code, reason) in [
        ("0xefcb00010002", "the parameters of the constructor of erc20-token do not decode as ("),
        ("0xefcb00010002ff", "1 bytes are too few"),
        ("0xefcb03e70001", "template 999 version 1 (0x03e70001) is not registered"),
        ("0xef00", "invalid code: starts with 0xEF and is no template marker"),
        ("0x6080604052", "EVM bytecode is not supported"),
    ] {
        for method in ["eth_call", "eth_estimateGas"] {
            let params = json!([{ "from": chain.account(0), "data": init_code }]);
            let error = chain.response(method, params).await["error"].clone();
            let message = error["message"].as_str().unwrap();
            assert!(message.contains(reason) && !message.contains("buffer overrun"), "{method} {init_code}: {message}");
            assert_eq!(error["code"], 3, "{method} {init_code}: {message}");
            let data = hex::decode(error["data"].as_str().unwrap()).unwrap();
            // Error(string).
            assert_eq!(data.get(..4), Some(&hex!("08c379a0")[..]), "{method} {init_code}: {error}");
            assert!(String::from_utf8_lossy(&data).contains(reason), "{method} {init_code}: {error}");
        }
    }
}

#[tokio::test]
async fn unsupported_fields_of_requests_are_named() {
    let chain = Chain::new();
    let with = |extra: serde_json::Value| {
        let mut request = json!({ "from": chain.account(0), "to": chain.account(1) });
        for (key, value) in extra.as_object().unwrap() {
            request[key] = value.clone();
        }
        json!([request])
    };
    for (extra, part) in [
        (json!({ "type": "0x3" }), "EIP-4844"),
        (json!({ "blobVersionedHashes": [] }), "EIP-4844"),
        (json!({ "type": "0x4" }), "EIP-7702"),
        (json!({ "authorizationList": [] }), "EIP-7702"),
        (json!({ "data": "0x01", "input": "0x02" }), "not equal"),
        (json!({ "gasPrice": "0x1", "maxFeePerGas": "0x1" }), "both gasPrice"),
    ] {
        for method in ["eth_sendTransaction", "eth_call", "eth_estimateGas"] {
            let (code, message) = chain.error(method, with(extra.clone())).await;
            assert_eq!(code, -32602, "{method} {extra}: {message}");
            assert!(message.contains(part), "{method}: {message}");
        }
    }
    let stranger = format!("0x{}", "99".repeat(20));
    let (code, message) = chain.error("eth_sendTransaction", json!([{ "from": stranger }])).await;
    assert_eq!(code, -32000);
    assert!(message.contains("unknown account"), "{message}");
}
