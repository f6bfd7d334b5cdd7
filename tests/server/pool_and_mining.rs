//! Mining modes, the pool, time, snapshots, cheatcodes, dumps.

use serde_json::{Value, json};

use crate::{
    http::Service,
    methods::{Chain, quantity},
};

async fn height(chain: &Chain) -> u64 {
    quantity(&chain.ok("eth_blockNumber", json!([])).await)
}

#[tokio::test]
async fn queued_transactions_have_a_reason() {
    let chain = Chain::new();
    chain.ok("evm_setAutomine", json!([false])).await;
    assert_eq!(chain.ok("anvil_getAutomine", json!([])).await, false);
    for nonce in [0, 2] {
        chain.ok("eth_sendRawTransaction", json!([chain.signed_transfer(nonce)])).await;
    }
    assert_eq!(chain.ok("txpool_status", json!([])).await, json!({ "pending": "0x1", "queued": "0x1" }));
    let from = chain.account(0);
    let inspect = chain.ok("txpool_inspect", json!([])).await;
    assert!(inspect["queued"][&from]["2"].as_str().unwrap().contains("waits for nonce 1"), "{inspect}");
    let content = chain.ok("txpool_content", json!([])).await;
    assert_eq!(content["pending"][&from]["0"]["nonce"], "0x0");
    assert_eq!(chain.ok("txpool_contentFrom", json!([from])).await["queued"]["2"]["nonce"], "0x2");
    assert_eq!(chain.ok("eth_getTransactionCount", json!([from, "pending"])).await, "0x1");
    chain.ok("eth_sendRawTransaction", json!([chain.signed_transfer(1)])).await;
    chain.ok("evm_mine", json!([])).await;
    assert_eq!(chain.ok("eth_getTransactionCount", json!([from, "latest"])).await, "0x3");
    chain.ok("evm_setAutomine", json!([true])).await;
    let hash = chain.ok("eth_sendRawTransaction", json!([chain.signed_transfer(3)])).await;
    assert_ne!(chain.ok("eth_getTransactionReceipt", json!([hash])).await, Value::Null);
}

/// As in geth, pending is what nonce and balance allow; the next block need not have it.
#[tokio::test]
async fn the_pool_is_counted_and_listed_by_nonce_and_balance() {
    let chain = Chain::new();
    chain.ok("evm_setAutomine", json!([false])).await;
    let (cheap, gap) = (chain.account(0), chain.account(1));
    for nonce in 0..3 {
        let fees = json!({ "from": cheap, "to": gap, "nonce": format!("{nonce:#x}"), "gas": "0x5208",
            "maxFeePerGas": "0x1", "maxPriorityFeePerGas": "0x0" });
        chain.ok("eth_sendTransaction", json!([fees])).await;
    }
    chain.ok("eth_sendTransaction", json!([{ "from": gap, "to": cheap, "nonce": "0x4", "gas": "0x5208" }])).await;
    assert_eq!(chain.ok("txpool_status", json!([])).await, json!({ "pending": "0x3", "queued": "0x1" }));
    let content = chain.ok("txpool_content", json!([])).await;
    assert_eq!(content["pending"][&cheap].as_object().unwrap().len(), 3);
    assert_eq!(content["queued"], json!({ gap.clone(): { "4": content["queued"][&gap]["4"] } }));
    let inspect = chain.ok("txpool_inspect", json!([])).await;
    assert!(inspect["pending"][&cheap]["0"].as_str().unwrap().contains("below the next block's base fee"), "{inspect}");
    assert_eq!(chain.ok("txpool_contentFrom", json!([cheap])).await["pending"].as_object().unwrap().len(), 3);
    chain.ok("evm_mine", json!([])).await;
    assert_eq!(chain.ok("txpool_status", json!([])).await["pending"], "0x3", "too cheap for the block");
    chain.ok("anvil_removePoolTransactions", json!([cheap])).await;
    assert_eq!(chain.ok("txpool_status", json!([])).await, json!({ "pending": "0x0", "queued": "0x1" }));
}

#[tokio::test]
async fn the_pending_block_is_in_the_order_of_the_block_that_follows() {
    let chain = Chain::new();
    chain.ok("evm_setAutomine", json!([false])).await;
    for tips in [["0x1", "0x2"], ["0x2", "0x1"]] {
        for (index, tip) in tips.iter().enumerate() {
            let request = json!({ "from": chain.account(index), "to": chain.account(2), "maxPriorityFeePerGas": tip });
            chain.ok("eth_sendTransaction", json!([request])).await;
        }
        let pending = chain.ok("eth_getBlockByNumber", json!(["pending", false])).await;
        chain.ok("evm_mine", json!([])).await;
        let mined = chain.ok("eth_getBlockByNumber", json!(["latest", false])).await;
        assert_eq!(pending["transactions"].as_array().unwrap().len(), 2);
        assert_eq!(pending["transactions"], mined["transactions"]);
    }
}

#[tokio::test]
async fn an_oversized_transaction_is_refused_with_geths_words() {
    let chain = Chain::new();
    let input = format!("0x{}", "00".repeat(128 << 10));
    let request = json!({ "from": chain.account(0), "to": chain.account(1), "data": input, "gas": "0x7a1200" });
    let (code, message) = chain.error("eth_sendTransaction", json!([request])).await;
    assert_eq!(code, -32000);
    assert!(message.starts_with("oversized data"), "{message}");
}

#[tokio::test]
async fn thirty_shuffled_nonces_are_all_mined() {
    let chain = Chain::new();
    // 11 and 30 are coprime: a fixed permutation.
    for index in 0..30_u64 {
        chain.ok("eth_sendRawTransaction", json!([chain.signed_transfer(index * 11 % 30)])).await;
    }
    assert_eq!(chain.ok("eth_getTransactionCount", json!([chain.account(0), "latest"])).await, "0x1e");
    assert_eq!(chain.ok("txpool_status", json!([])).await, json!({ "pending": "0x0", "queued": "0x0" }));
}

#[tokio::test]
async fn a_revert_undoes_everything_and_newer_snapshots() {
    let chain = Chain::new();
    let first = chain.ok("evm_snapshot", json!([])).await;
    chain.ok("eth_sendRawTransaction", json!([chain.signed_transfer(0)])).await;
    let second = chain.ok("evm_snapshot", json!([])).await;
    chain.ok("evm_increaseTime", json!([1000])).await;
    chain.ok("evm_mine", json!([])).await;
    assert_eq!(chain.ok("evm_revert", json!([first])).await, true);
    assert_eq!(height(&chain).await, 0);
    assert_eq!(chain.ok("eth_getTransactionCount", json!([chain.account(0), "latest"])).await, "0x0");
    for gone in [first, second, json!("0x99")] {
        assert_eq!(chain.ok("evm_revert", json!([gone])).await, false);
    }
}

#[tokio::test]
async fn time_is_set_by_methods() {
    let chain = Chain::new();
    let time = async || quantity(&chain.ok("eth_getBlockByNumber", json!(["latest", false])).await["timestamp"]);
    let start = time().await;
    chain.ok("evm_increaseTime", json!(["0xe10"])).await;
    chain.ok("evm_mine", json!([])).await;
    assert!(time().await >= start + 3600);
    let next = time().await + 500;
    chain.ok("evm_setNextBlockTimestamp", json!([next])).await;
    chain.ok("evm_mine", json!([])).await;
    assert_eq!(time().await, next);
    assert_eq!(chain.error("evm_setNextBlockTimestamp", json!([start])).await.0, -32000);
    chain.ok("evm_mine", json!([{ "timestamp": next + 7, "blocks": 2 }])).await;
    let block = chain.ok("eth_getBlockByNumber", json!(["0x3", false])).await;
    assert_eq!(quantity(&block["timestamp"]), next + 7);
}

#[tokio::test]
async fn blocks_are_mined_by_count_and_interval() {
    let chain = Chain::new();
    chain.ok("hardhat_mine", json!(["0x64", "0xa"])).await;
    assert_eq!(height(&chain).await, 100);
    let time =
        async |block: &str| quantity(&chain.ok("eth_getBlockByNumber", json!([block, false])).await["timestamp"]);
    assert_eq!(time("0x64").await - time("0x1").await, 990);
    assert_eq!(chain.error("anvil_mine", json!(["0xffffffffff"])).await.0, -32602);
}

/// The test's runtime has one thread: a sender that waited on it would block all readers.
#[tokio::test]
async fn reads_are_served_while_a_send_waits_for_the_writer() {
    let service = Service::start().await;
    let node = service.platform.default_blockchain().unwrap().node().clone();
    let mining = service.rpc("evm_mine", json!([{ "blocks": 1_500 }]));
    let meanwhile = async {
        while node.view().head().height().get() == 0 {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
        let send =
            service.rpc("eth_sendTransaction", json!([{ "from": node.accounts()[0], "to": node.accounts()[1] }]));
        let read = async {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            quantity(&service.rpc("eth_blockNumber", json!([])).await["result"])
        };
        tokio::join!(send, read)
    };
    let (mined, (sent, height)) = tokio::join!(mining, meanwhile);
    assert_eq!(mined["result"], "0x0");
    assert!(sent["result"].is_string(), "{sent}");
    assert!((1..1_500).contains(&height), "read at {height}");
}

#[tokio::test]
async fn state_is_set_by_methods() {
    let chain = Chain::new();
    let address = format!("0x{}", "ab".repeat(20));
    for prefix in ["anvil", "hardhat"] {
        chain.ok(&format!("{prefix}_setBalance"), json!([address, "0xde0b6b3a7640000"])).await;
        chain.ok(&format!("{prefix}_setNonce"), json!([address, "0x7"])).await;
        chain.ok(&format!("{prefix}_setStorageAt"), json!([address, "0x1", format!("0x{:064x}", 9)])).await;
        chain.ok(&format!("{prefix}_setCode"), json!([address, "0xefcb00010002"])).await;
        assert_eq!(chain.ok("eth_getBalance", json!([address, "latest"])).await, "0xde0b6b3a7640000");
        assert_eq!(chain.ok("eth_getTransactionCount", json!([address, "latest"])).await, "0x7");
        assert_eq!(chain.ok("eth_getStorageAt", json!([address, "0x1", "latest"])).await, format!("0x{:064x}", 9));
        assert_eq!(chain.ok("eth_getCode", json!([address, "latest"])).await, "0xefcb00010002");
    }
}

#[tokio::test]
async fn impersonated_accounts_send_until_impersonation_stops() {
    let chain = Chain::new();
    let stranger = format!("0x{}", "cd".repeat(20));
    let send = json!([{ "from": stranger, "to": chain.account(1), "value": "0x1" }]);
    chain.ok("anvil_setBalance", json!([stranger, "0xde0b6b3a7640000"])).await;
    assert_eq!(chain.error("eth_sendTransaction", send.clone()).await.0, -32000);
    chain.ok("hardhat_impersonateAccount", json!([stranger])).await;
    assert_eq!(chain.ok("eth_accounts", json!([])).await[10], stranger, "clients check this list before they send");
    let hash = chain.ok("eth_sendTransaction", send.clone()).await;
    assert_eq!(chain.ok("eth_getTransactionReceipt", json!([hash])).await["status"], "0x1");
    chain.ok("anvil_stopImpersonatingAccount", json!([stranger])).await;
    assert_eq!(chain.error("eth_sendTransaction", send.clone()).await.0, -32000);
    chain.ok("anvil_autoImpersonateAccount", json!([true])).await;
    chain.ok("eth_sendTransaction", send).await;
}

#[tokio::test]
async fn parameters_of_the_next_block_are_set() {
    let chain = Chain::new();
    chain.ok("anvil_setNextBlockBaseFeePerGas", json!(["0x2540be400"])).await;
    chain.ok("evm_mine", json!([])).await;
    let block = chain.ok("eth_getBlockByNumber", json!(["latest", false])).await;
    assert_eq!(block["baseFeePerGas"], "0x2540be400");
    chain.ok("evm_setBlockGasLimit", json!(["0x1c9c380"])).await;
    chain.ok("evm_mine", json!([])).await;
    assert_eq!(chain.ok("eth_getBlockByNumber", json!(["latest", false])).await["gasLimit"], "0x1c9c380");
    assert_eq!(chain.error("anvil_setCoinbase", json!([chain.account(3)])).await.0, -32004);
}

#[tokio::test]
async fn pooled_transactions_are_dropped() {
    let chain = Chain::new();
    chain.ok("evm_setAutomine", json!([false])).await;
    let hash = chain.ok("eth_sendRawTransaction", json!([chain.signed_transfer(0)])).await;
    assert_eq!(chain.ok("anvil_dropTransaction", json!([hash])).await, hash);
    assert_eq!(chain.ok("hardhat_dropTransaction", json!([hash])).await, Value::Null);
    chain.ok("eth_sendRawTransaction", json!([chain.signed_transfer(0)])).await;
    chain.ok("anvil_dropAllTransactions", json!([])).await;
    assert_eq!(chain.ok("txpool_status", json!([])).await["pending"], "0x0");
}

#[tokio::test]
async fn a_dump_loads_into_another_node_and_dumps_to_equal_bytes() {
    let chain = Chain::new();
    chain.ok("eth_sendRawTransaction", json!([chain.signed_transfer(0)])).await;
    let dump = chain.ok("anvil_dumpState", json!([])).await;
    assert_eq!(chain.ok("hardhat_dumpState", json!([])).await, dump);
    let other = Chain::new();
    assert_eq!(other.ok("anvil_loadState", json!([dump])).await, true);
    for method in ["eth_getBlockByNumber"] {
        let params = json!(["latest", true]);
        assert_eq!(other.ok(method, params.clone()).await, chain.ok(method, params).await);
    }
    assert_eq!(other.ok("anvil_dumpState", json!([])).await, dump);
    assert_eq!(other.error("anvil_loadState", json!(["0xc0ffee"])).await.0, -32602);
}

#[tokio::test]
async fn a_reset_goes_back_to_genesis() {
    let chain = Chain::new();
    let genesis = chain.ok("anvil_nodeInfo", json!([])).await["instanceId"].clone();
    chain.ok("anvil_mine", json!(["0x5"])).await;
    chain.ok("anvil_reset", json!([])).await;
    assert_eq!(height(&chain).await, 0);
    let metadata = chain.ok("hardhat_metadata", json!([])).await;
    assert_eq!((&metadata["instanceId"], &metadata["chainId"]), (&genesis, &json!(31337)));
    let fork = json!([{ "forking": { "jsonRpcUrl": "http://localhost:1" } }]);
    assert_eq!(chain.error("hardhat_reset", fork).await.0, -32602);
    chain.ok("anvil_reset", json!([{ "forking": { "blockNumber": null } }])).await;
}
