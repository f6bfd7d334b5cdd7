//! Every fork through the JSON-RPC: the fields of a block and a receipt, what is refused, `mixHash`.

use alloy_sol_types::SolCall;
use chainbox::{
    chain::Hardfork,
    consensus::ConsensusKind,
    node::Node,
    primitives::{B256, Gas, TransactionRequest, U256, hex},
    templates::{Erc20Params, erc20::interface as erc20},
};
use serde_json::{Value, json};

use crate::methods::Chain;

const CAP: u64 = 1 << 24;

fn chain_of(fork: Hardfork) -> Chain {
    Chain::over(Node::builder().with_hardfork(fork).build().unwrap())
}

fn transfer(chain: &Chain, nonce: u64, gas_limit: u64, input: Vec<u8>) -> Value {
    let request = TransactionRequest {
        chain_id: Some(chain.node.view().chain_id()),
        nonce,
        to: Some(chain.node.accounts()[1]),
        value: U256::from(1),
        gas_limit: Gas::new(gas_limit),
        max_fee_per_gas: 10_000_000_000,
        max_priority_fee_per_gas: 1,
        input: input.into(),
        ..Default::default()
    };
    json!([request.sign(&chain.node.keys()[0]).unwrap().encoded().to_string()])
}

/// Fields of a block beyond London's, with the first fork that has them and their value.
const FIELDS: [(&str, Hardfork, &str); 5] = [
    ("withdrawalsRoot", Hardfork::Shanghai, "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421"),
    ("blobGasUsed", Hardfork::Cancun, "0x0"),
    ("excessBlobGas", Hardfork::Cancun, "0x0"),
    ("parentBeaconBlockRoot", Hardfork::Cancun, "0x0000000000000000000000000000000000000000000000000000000000000000"),
    ("requestsHash", Hardfork::Prague, "0xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
];

#[tokio::test]
async fn blocks_and_receipts_have_the_fields_of_their_fork() {
    for fork in Hardfork::ALL {
        let chain = chain_of(fork);
        let hash = chain.ok("eth_sendRawTransaction", transfer(&chain, 0, 21_000, Vec::new())).await;
        for number in ["0x0", "0x1"] {
            let block = chain.ok("eth_getBlockByNumber", json!([number, false])).await;
            for (field, since, value) in FIELDS {
                let want = (fork >= since).then_some(value);
                assert_eq!(block.get(field).and_then(Value::as_str), want, "{fork} {field} of {number}");
            }
            let withdrawals = (fork >= Hardfork::Shanghai).then(|| json!([]));
            assert_eq!(block.get("withdrawals").cloned(), withdrawals, "{fork}");
            assert!(block["baseFeePerGas"].is_string(), "{fork}");
            let has_mix = block["mixHash"] != json!(B256::ZERO);
            assert_eq!(has_mix, fork >= Hardfork::Paris, "{fork}: {}", block["mixHash"]);
            assert_eq!(block["difficulty"], if number == "0x0" { "0x0" } else { "0x2" }, "{fork}: Clique's");
        }
        // A client that hashes the header itself gets the block's hash.
        let block = chain.ok("eth_getBlockByNumber", json!(["latest", false])).await;
        let header: alloy_rpc_types_eth::Header = serde_json::from_value(block).unwrap();
        assert_eq!(header.inner.hash_slow(), header.hash, "{fork}");
        let receipt = chain.ok("eth_getTransactionReceipt", json!([hash])).await;
        assert_eq!((&receipt["status"], &receipt["gasUsed"]), (&json!("0x1"), &json!("0x5208")), "{fork}");
        assert!(receipt.get("blobGasUsed").is_none(), "{fork}: only blob transactions' receipts have it");
        assert_eq!(chain.ok("anvil_nodeInfo", json!([])).await["hardFork"], format!("{fork:?}"));
        let history = chain.ok("eth_feeHistory", json!(["0x1", "latest", []])).await;
        let blob_fee = if fork >= Hardfork::Cancun { "0x1" } else { "0x0" };
        assert_eq!(history["baseFeePerBlobGas"], json!([blob_fee, blob_fee]), "{fork}");
    }
}

#[tokio::test]
async fn each_fork_refuses_what_its_rules_forbid() {
    for fork in Hardfork::ALL {
        let chain = chain_of(fork);
        let send = |gas_limit, input| chain.response("eth_sendRawTransaction", transfer(&chain, 0, gas_limit, input));
        let error = |response: Value| response["error"]["message"].as_str().unwrap_or_default().to_owned();
        if fork >= Hardfork::Osaka {
            assert_eq!(
                error(send(CAP + 1, vec![]).await),
                format!("transaction gas limit too high (cap: {CAP}, tx: {})", CAP + 1)
            );
        }
        if fork >= Hardfork::Prague {
            let message = "insufficient gas for floor data gas cost: have 24999, want 25000";
            assert_eq!(error(send(24_999, vec![1; 100]).await), message);
        }
        for (raw, words) in [("0x03f8b1", "EIP-4844 blob transaction"), ("0x04f8b1", "EIP-7702 set-code transaction")] {
            let (_, message) = chain.error("eth_sendRawTransaction", json!([raw])).await;
            assert!(message.contains(words), "{fork}: {message}");
        }
        let free =
            chain.ok("eth_call", json!([{ "to": chain.account(1), "gas": format!("{:#x}", CAP + 1) }, "latest"])).await;
        assert_eq!(free, "0x", "{fork}: calls have no cap");
        if fork < Hardfork::Osaka {
            let sent = send(CAP + 1, vec![]).await;
            assert!(sent.get("error").is_none(), "{fork}: {sent}");
        }
    }
    let uncapped = Chain::over(Node::builder().with_transaction_gas_cap(false).build().unwrap());
    uncapped.ok("eth_sendRawTransaction", transfer(&uncapped, 0, CAP + 1, Vec::new())).await;
}

/// EIP-7623: clearing a slot is refunded, and then the call data's floor holds.
#[tokio::test]
async fn the_floor_of_call_data_holds_after_refunds() {
    for fork in [Hardfork::Cancun, Hardfork::Prague] {
        let chain = chain_of(fork);
        let (alice, bob) = (chain.node.accounts()[0], chain.node.accounts()[1]);
        let token = Erc20Params::new("Gold", "GLD", U256::from(1_000), alice);
        let token = chain.node.deploy(alice, token.init_code()).unwrap().address();
        let mut gas = Vec::new();
        for value in [5, 0] {
            let mut data = erc20::approveCall { spender: bob, value: U256::from(value) }.abi_encode();
            data.resize(1_500, 0);
            let nonzero = data.iter().filter(|byte| **byte != 0).count() as u64;
            let floor = 21_000 + 10 * (1_500 + 3 * nonzero);
            let request = json!([{ "from": alice, "to": token, "data": hex::encode_prefixed(data) }]);
            let hash = chain.ok("eth_sendTransaction", request).await;
            let receipt = chain.ok("eth_getTransactionReceipt", json!([hash])).await;
            assert_eq!(receipt["status"], "0x1", "{fork}");
            let used = receipt["gasUsed"].as_str().unwrap().strip_prefix("0x").unwrap();
            gas.push((u64::from_str_radix(used, 16).unwrap(), floor));
        }
        let [(set, floor_of_set), (cleared, floor)] = gas[..] else { unreachable!("two transactions") };
        assert!(set > floor_of_set, "{fork}: setting a slot costs more than the call data");
        if fork >= Hardfork::Prague {
            assert_eq!(cleared, floor, "{fork}");
        } else {
            assert!(cleared < floor, "{fork}: {cleared} {floor}");
        }
    }
}

#[tokio::test]
async fn prev_randao_is_set_for_one_block() {
    let set = json!(B256::repeat_byte(7));
    let mix_of = async |chain: &Chain| {
        chain.ok("evm_mine", json!([])).await;
        chain.ok("eth_getBlockByNumber", json!(["latest", false])).await["mixHash"].take()
    };
    for fork in Hardfork::ALL.into_iter().filter(|fork| *fork >= Hardfork::Paris) {
        for kind in ConsensusKind::ALL.into_iter().filter(|kind| *kind != ConsensusKind::Pos) {
            let node = Node::builder().with_hardfork(fork).with_consensus(kind.on_demand()).build().unwrap();
            let chain = Chain::over(node);
            assert_eq!(chain.ok("anvil_setPrevRandao", json!([set])).await, Value::Null);
            assert_eq!(mix_of(&chain).await, set, "{fork} {}", kind.name());
            assert_ne!(mix_of(&chain).await, set, "{fork} {}", kind.name());
        }
    }
    let london = chain_of(Hardfork::London);
    let (_, message) = london.error("hardhat_setPrevRandao", json!([set])).await;
    assert!(message.contains("from Paris on, and the chain's fork is london"), "{message}");
    let pos = Chain::over(Node::builder().with_consensus(ConsensusKind::Pos.on_demand()).build().unwrap());
    let (_, message) = pos.error("anvil_setPrevRandao", json!([set])).await;
    assert!(message.contains("the consensus protocol decides mixHash"), "{message}");
    assert_ne!(mix_of(&pos).await, json!(B256::ZERO));
    let (_, message) = chain_of(Hardfork::Osaka).error("anvil_setPrevRandao", json!([B256::ZERO])).await;
    assert!(message.contains("zero is not valid"), "{message}");
}
