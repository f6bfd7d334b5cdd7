//! Logs by block, and polled filters, across reverts.

use chainbox::{primitives::U256, templates::Erc20Params};
use serde_json::{Value, json};

use crate::methods::Chain;

/// Deploys a token, which emits logs, and returns the block's hash.
async fn deploy(chain: &Chain) -> Value {
    let owner = chain.node.accounts()[0];
    let data = Erc20Params::new("Gold", "GLD", U256::from(1), owner).init_code();
    let hash = chain.ok("eth_sendTransaction", json!([{ "from": owner, "data": data }])).await;
    chain.ok("eth_getTransactionReceipt", json!([hash])).await["blockHash"].clone()
}

#[tokio::test]
async fn a_block_filter_tells_the_new_blocks_after_a_revert() {
    let chain = Chain::new();
    let snapshot = chain.ok("evm_snapshot", json!([])).await;
    let filter = chain.ok("eth_newBlockFilter", json!([])).await;
    chain.ok("anvil_mine", json!([5])).await;
    assert_eq!(chain.ok("eth_getFilterChanges", json!([filter])).await.as_array().unwrap().len(), 5);
    chain.ok("evm_revert", json!([snapshot])).await;
    chain.ok("evm_increaseTime", json!([10])).await;
    chain.ok("anvil_mine", json!([3])).await;
    let mut want = Vec::new();
    for height in 1..=3 {
        let block = chain.ok("eth_getBlockByNumber", json!([format!("{height:#x}"), false])).await;
        want.push(block["hash"].clone());
    }
    assert_eq!(chain.ok("eth_getFilterChanges", json!([filter])).await, json!(want));
    assert_eq!(chain.ok("eth_getFilterChanges", json!([filter])).await, json!([]));
}

#[tokio::test]
async fn a_log_filter_tells_removed_logs_and_then_the_new_ones() {
    let chain = Chain::new();
    let filter = chain.ok("eth_newFilter", json!([{}])).await;
    let snapshot = chain.ok("evm_snapshot", json!([])).await;
    let old = deploy(&chain).await;
    let seen = chain.ok("eth_getFilterChanges", json!([filter])).await;
    chain.ok("evm_revert", json!([snapshot])).await;
    chain.ok("evm_increaseTime", json!([10])).await;
    let new = deploy(&chain).await;
    let changes = chain.ok("eth_getFilterChanges", json!([filter])).await;
    let of = |block: &Value, removed: bool| {
        let logs = changes.as_array().unwrap().iter();
        logs.filter(|log| log["blockHash"] == *block && log["removed"] == removed).count()
    };
    let count = seen.as_array().unwrap().len();
    assert!(count > 0);
    assert_eq!((of(&old, true), of(&new, false)), (count, count), "{changes}");
    assert_eq!(changes[0]["removed"], true, "removed logs come first");
}

#[tokio::test]
async fn ids_are_unpredictable_and_an_unknown_filter_is_geths_error() {
    let chain = Chain::new();
    let first = chain.ok("eth_newBlockFilter", json!([])).await;
    let second = chain.ok("eth_newBlockFilter", json!([])).await;
    assert_ne!(first, second);
    assert!(first.as_str().unwrap().len() > 20, "{first}");
    for unknown in ["0x1", "0x2", ""] {
        let error = chain.error("eth_getFilterChanges", json!([unknown])).await;
        assert_eq!(error, (-32000, "filter not found".to_owned()));
    }
    let error = chain.error("eth_getFilterLogs", json!([first])).await;
    assert_eq!(error, (-32000, "filter not found".to_owned()), "it is no log filter");
}

#[tokio::test]
async fn logs_by_block_hash_are_those_of_that_very_block() {
    let chain = Chain::new();
    let block = deploy(&chain).await;
    let logs = chain.ok("eth_getLogs", json!([{ "blockHash": block }])).await;
    assert!(!logs.as_array().unwrap().is_empty());
    assert!(logs.as_array().unwrap().iter().all(|log| log["blockHash"] == block));
    chain.ok("evm_mine", json!([])).await;
    let empty = chain.ok("eth_getBlockByNumber", json!(["latest", false])).await["hash"].clone();
    assert_eq!(chain.ok("eth_getLogs", json!([{ "blockHash": empty }])).await, json!([]));
    let (code, message) = chain.error("eth_getLogs", json!([{ "blockHash": format!("0x{}", "12".repeat(32)) }])).await;
    assert_eq!(code, -32001, "{message}");
    assert!(message.contains("unknown block"), "{message}");
}

/// Over a database, a block that left the chain may still be read by its hash.
#[cfg(feature = "rocksdb")]
#[tokio::test]
async fn a_block_that_left_the_chain_has_its_own_logs_and_is_not_canonical() {
    use chainbox::{
        node::{Database, Node},
        store::{RocksOptions, RocksStore},
    };
    let folder = tempfile::tempdir().unwrap();
    let store = RocksStore::open(folder.path().join("database"), RocksOptions::default()).unwrap();
    let database = Database::Store(std::sync::Arc::new(store));
    let chain = Chain::over(Node::builder().with_database(database).build().unwrap());
    let snapshot = chain.ok("evm_snapshot", json!([])).await;
    let old = deploy(&chain).await;
    // The store gives the block back once nobody reads it any more.
    let reader = chain.node.view();
    chain.ok("evm_revert", json!([snapshot])).await;
    chain.ok("evm_increaseTime", json!([10])).await;
    let new = deploy(&chain).await;
    assert_ne!(old, new);
    for block in [&old, &new] {
        let logs = chain.ok("eth_getLogs", json!([{ "blockHash": block }])).await;
        assert!(!logs.as_array().unwrap().is_empty(), "{block}");
        assert!(logs.as_array().unwrap().iter().all(|log| log["blockHash"] == *block), "{logs}");
    }
    let account = chain.account(0);
    let call = json!({ "from": account, "to": account });
    for (method, params) in [
        ("eth_getBalance", json!([account])),
        ("eth_getTransactionCount", json!([account])),
        ("eth_getCode", json!([account])),
        ("eth_getStorageAt", json!([account, "0x0"])),
        ("eth_getProof", json!([account, []])),
        ("eth_call", json!([call])),
        ("eth_estimateGas", json!([call])),
        ("eth_createAccessList", json!([call])),
        ("eth_getBlockReceipts", json!([])),
    ] {
        let at = |block: &Value| {
            let mut params = params.as_array().unwrap().clone();
            params.push(json!({ "blockHash": block, "requireCanonical": true }));
            json!(params)
        };
        let error = chain.error(method, at(&old)).await;
        assert_eq!(error, (-32000, "hash is not currently canonical".to_owned()), "{method}");
        chain.ok(method, at(&new)).await;
    }
    drop(reader);
}

#[tokio::test]
async fn a_filter_with_more_positions_than_a_log_has_topics_does_not_match_it() {
    let chain = Chain::new();
    let by_poll = |positions: usize| chain.ok("eth_newFilter", json!([{ "topics": vec![Value::Null; positions] }]));
    let polled = [by_poll(3).await, by_poll(4).await];
    deploy(&chain).await;
    let logs = chain.ok("eth_getLogs", json!([{ "fromBlock": "earliest" }])).await;
    let with_topics = |count: usize| {
        let topics = logs.as_array().unwrap().iter().map(|log| log["topics"].as_array().unwrap().len());
        topics.filter(|topics| *topics >= count).count()
    };
    assert!(with_topics(3) > with_topics(4) && with_topics(4) > 0, "Transfer has three, RoleGranted four: {logs}");
    for positions in 0..=4 {
        let filter = json!([{ "fromBlock": "earliest", "topics": vec![Value::Null; positions] }]);
        let found = chain.ok("eth_getLogs", filter).await;
        assert_eq!(found.as_array().unwrap().len(), with_topics(positions), "{positions} positions: {found}");
    }
    let (three, four) = (&polled[0], &polled[1]);
    for method in ["eth_getFilterLogs", "eth_getFilterChanges"] {
        for (filter, positions) in [(three, 3), (four, 4)] {
            let found = chain.ok(method, json!([filter])).await;
            assert_eq!(found.as_array().unwrap().len(), with_topics(positions), "{method}, {positions} positions");
        }
    }
}
