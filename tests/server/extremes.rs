//! Every number of every method at its extremes: an answer or a typed error, no panic, and a node that goes on.

use chainbox::{
    consensus::ConsensusKind,
    node::Node,
    primitives::{U256, ether},
    server::EthRpc,
    templates::Erc20Params,
};
use serde_json::{Value, json};

use crate::methods::Chain;

/// Parameters by method: each `$n` is a number to vary, `$a` an address, `$h` the head's hash, `$t` a token's address, `$x` a
/// mined transaction's hash. A method that is not listed gets [`UNLISTED`].
const CALLS: &[(&str, &[&str])] = &[
    ("eth_getBalance", &["['$a', '$n']"]),
    ("eth_getTransactionCount", &["['$a', '$n']"]),
    ("eth_getCode", &["['$a', '$n']"]),
    ("eth_getStorageAt", &["['$t', '$n', 'latest']", "['$t', '0x0', '$n']"]),
    ("eth_getProof", &["['$t', ['$n'], 'latest']", "['$t', [], '$n']"]),
    ("eth_getBlockByNumber", &["['$n', true]"]),
    ("eth_getHeaderByNumber", &["['$n']"]),
    ("eth_getBlockReceipts", &["['$n']"]),
    ("eth_getBlockTransactionCountByNumber", &["['$n']"]),
    ("eth_getUncleCountByBlockNumber", &["['$n']"]),
    ("eth_getUncleByBlockNumberAndIndex", &["['$n', '$n']"]),
    ("eth_getUncleByBlockHashAndIndex", &["['$h', '$n']"]),
    ("eth_getTransactionByBlockNumberAndIndex", &["['$n', '0x0']", "['latest', '$n']", "['pending', '$n']"]),
    ("eth_getTransactionByBlockHashAndIndex", &["['$h', '$n']"]),
    ("eth_feeHistory", &["['$n', 'latest', [50]]", "['0x2', '$n', []]", "['0x2', 'latest', ['$n']]"]),
    ("eth_getLogs", &["[{'fromBlock': '$n', 'toBlock': '$n'}]"]),
    ("eth_newFilter", &["[{'fromBlock': '$n', 'toBlock': '$n'}]"]),
    ("eth_getFilterChanges", &["['$n']"]),
    ("eth_getFilterLogs", &["['$n']"]),
    ("eth_uninstallFilter", &["['$n']"]),
    ("eth_call", &[TRANSACTION, "[{'to': '$t'}, '$n']", OVERRIDES, BLOCK_OVERRIDES]),
    ("eth_estimateGas", &[TRANSACTION, "[{'to': '$t'}, '$n']", OVERRIDES, BLOCK_OVERRIDES]),
    ("eth_createAccessList", &[TRANSACTION, "[{'to': '$t'}, '$n']"]),
    ("debug_traceCall", &[TRACED, "[{'to': '$t'}, '$n', {'tracer': 'callTracer'}]"]),
    ("debug_traceTransaction", &["['$x', {'tracer': 'callTracer'}]"]),
    ("eth_sendTransaction", &[TRANSACTION]),
    ("eth_sendUnsignedTransaction", &[TRANSACTION]),
    ("eth_signTransaction", &[TRANSACTION]),
    ("anvil_setBalance", &["['$a', '$n']"]),
    ("anvil_setNonce", &["['$a', '$n']"]),
    ("anvil_setStorageAt", &["['$t', '$n', '$n']"]),
    ("anvil_setNextBlockBaseFeePerGas", &["['$n']"]),
    ("evm_setBlockGasLimit", &["['$n']"]),
    ("evm_mine", &["['$n']", "[{'timestamp': '$n', 'blocks': '0x2'}]", "[{'blocks': '$n'}]"]),
    ("evm_mine_detailed", &["['$n']"]),
    ("anvil_mine", &["['$n', '0x1']", "['0x3', '$n']"]),
    ("evm_setIntervalMining", &["['$n']"]),
    ("evm_increaseTime", &["['$n']"]),
    ("evm_setTime", &["['$n']"]),
    ("evm_setNextBlockTimestamp", &["['$n']"]),
    ("evm_setBlockTimestampInterval", &["['$n']"]),
    ("evm_revert", &["['$n']"]),
    ("anvil_reset", &["[{'forking': {'blockNumber': '$n'}}]"]),
];

const TRANSACTION: &str = "[{'from': '$a', 'to': '$t', 'nonce': '$n', 'gas': '$n', 'gasPrice': '$n', 'maxFeePerGas': '$n', \
    'maxPriorityFeePerGas': '$n', 'value': '$n', 'chainId': '$n', 'type': '$n', 'maxFeePerBlobGas': '$n'}]";
const TRACED: &str = "[{'from': '$a', 'to': '$t', 'nonce': '$n', 'gas': '$n', 'gasPrice': '$n', 'value': '$n'}, 'latest', \
    {'tracer': 'callTracer'}]";
const OVERRIDES: &str =
    "[{'from': '$a', 'to': '$t', 'maxFeePerGas': '0x77359400'}, 'latest', {'$a': {'balance': '$n', 'nonce': '$n'}}]";
const BLOCK_OVERRIDES: &str = "[{'to': '$t'}, 'latest', {}, {'number': '$n', 'time': '$n', 'gasLimit': '$n', 'baseFee': '$n', 'baseFeePerGas': '$n'}]";

const UNLISTED: &[&str] =
    &["[]", "['$n']", "['$a', '$n']", "['$n', '$n']", "[{'from': '$a', 'to': '$a', 'value': '$n'}]"];

/// Methods that change the node for all later calls, or block for long with a valid number.
const LEFT_OUT: &[&str] = &["anvil_loadState", "hardhat_loadState"];

/// The numbers, in each form that JSON-RPC clients send.
fn extremes() -> Vec<Value> {
    let two = U256::from(2);
    let power = |exponent: u64| two.pow(U256::from(exponent));
    let mut numbers = vec![U256::ZERO, U256::from(1), U256::MAX];
    for exponent in [31, 32, 53, 63, 64, 128] {
        numbers.extend([power(exponent) - U256::from(1), power(exponent)]);
    }
    numbers.push(power(64) - U256::from(2));
    let mut forms: Vec<Value> = numbers.iter().map(|number| json!(format!("{number:#x}"))).collect();
    forms.push(json!(format!("0x1{}", "0".repeat(64))));
    forms.extend([
        json!(u64::MAX),
        json!(u64::MAX - 1),
        json!(1_u64 << 53),
        json!(u64::MAX.to_string()),
        json!(-1),
        json!(1e300),
    ]);
    forms
}

/// Fills in a template: one number varied, the others absent from an object or one; then all of them varied.
fn filled(template: &str, names: &[(&str, String)], extreme: &Value) -> Vec<Value> {
    let mut text = template.replace('\'', "\"");
    for (name, value) in names {
        text = text.replace(name, value);
    }
    let parsed: Value = serde_json::from_str(&text).unwrap_or_else(|cause| panic!("{cause}: {text}"));
    let count = text.matches("\"$n\"").count();
    let one_varied = (0..count).map(|place| {
        let mut value = parsed.clone();
        fill(&mut value, &mut 0, Some(place), extreme);
        value
    });
    let mut all = parsed.clone();
    fill(&mut all, &mut 0, None, extreme);
    one_varied.chain([all]).collect()
}

fn fill(value: &mut Value, seen: &mut usize, place: Option<usize>, extreme: &Value) {
    let mut take = |seen: &mut usize| {
        *seen += 1;
        place.is_none_or(|place| place + 1 == *seen)
    };
    match value {
        Value::String(text) if text == "$n" => *value = if take(seen) { extreme.clone() } else { json!("0x1") },
        Value::Array(items) => items.iter_mut().for_each(|item| fill(item, seen, place, extreme)),
        Value::Object(fields) => {
            fields.retain(|_, field| {
                if *field != json!("$n") {
                    fill(field, seen, place, extreme);
                    return true;
                }
                let is_taken = take(seen);
                *field = extreme.clone();
                is_taken
            });
        }
        _ => {}
    }
}

/// Calls a method on a task of its own; `None` after a panic.
async fn answer(rpc: &EthRpc, method: &str, params: &Value) -> Option<Value> {
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
    let methods = rpc.methods().clone();
    let task =
        tokio::spawn(async move { methods.raw_json_request(&call, 1).await.map(|(response, _)| response.to_string()) });
    serde_json::from_str(&task.await.ok()?.ok()?).ok()
}

fn is_fine(answer: Option<&Value>) -> bool {
    // An internal error is one that the caller's numbers must not be able to cause.
    answer.is_some_and(|answer| {
        answer.get("result").is_some() || answer["error"]["code"].as_i64().is_some_and(|code| code != -32603)
    })
}

async fn run(chain: Chain) {
    let owner = chain.node.accounts()[0];
    let token = chain.node.deploy(owner, Erc20Params::new("Gold", "GLD", U256::from(9), owner).init_code()).unwrap();
    let mined = chain.node.transfer(owner, chain.node.accounts()[1], U256::from(1)).unwrap();
    let names = [
        ("$a", chain.account(0)),
        ("$t", token.address().to_string()),
        ("$h", mined.block().hash().to_string()),
        ("$x", mined.transaction().hash().to_string()),
    ];
    let mut methods: Vec<&str> = chain.rpc.methods().method_names().collect();
    methods.retain(|method| !LEFT_OUT.contains(method) && !method.ends_with("subscribe"));
    methods.sort_unstable();
    let mut failed = Vec::new();
    let mut snapshot = chain.ok("evm_snapshot", json!([])).await;
    let after = [
        ("eth_getBlockByNumber", json!(["pending", true])),
        ("eth_sendTransaction", json!([{ "from": chain.account(0), "to": chain.account(1), "value": "0x1" }])),
        ("eth_sendTransaction", json!([{ "from": chain.account(2), "to": names[1].1, "gas": "0x186a0" }])),
        ("eth_getTransactionCount", json!([chain.account(0), "pending"])),
        ("txpool_content", json!([])),
        ("evm_mine", json!([])),
        ("eth_feeHistory", json!(["0x4", "latest", [50]])),
        ("eth_gasPrice", json!([])),
        ("anvil_metadata", json!([])),
        ("anvil_dumpState", json!([])),
    ];
    for method in methods {
        let is_change =
            !["eth_get", "eth_call", "eth_estimate", "eth_create", "debug_", "net_", "web3_", "txpool_", "eth_fee"]
                .iter()
                .any(|prefix| method.starts_with(prefix));
        let listed = CALLS.iter().find(|(name, _)| *name == method).map(|(_, templates)| *templates);
        let (templates, follow_ups) = listed.map_or((UNLISTED, &after[..1]), |templates| (templates, &after[..]));
        for extreme in extremes() {
            for params in templates.iter().flat_map(|template| filled(template, &names, &extreme)) {
                let got = answer(&chain.rpc, method, &params).await;
                if !is_fine(got.as_ref()) {
                    failed.push(format!("{method} {params}: {got:?}"));
                }
                if !is_change {
                    continue;
                }
                for (next, next_params) in follow_ups {
                    let got = answer(&chain.rpc, next, next_params).await;
                    // A block may be impossible then, and says why.
                    let is_refused_block = *next == "evm_mine" && got.is_some();
                    if !is_fine(got.as_ref()) && !is_refused_block {
                        failed.push(format!("{next} {next_params} after {method} {params}: {got:?}"));
                    }
                }
                let reverted = answer(&chain.rpc, "evm_revert", &json!([snapshot])).await;
                if reverted.as_ref().is_none_or(|answer| answer["result"] != true) {
                    // A reset or a revert of the method's own took it.
                    chain.ok("anvil_reset", json!([])).await;
                }
                snapshot = chain.ok("evm_snapshot", json!([])).await;
            }
        }
    }
    failed.truncate(40);
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[tokio::test]
async fn numbers_at_their_extremes_have_an_answer() {
    run(Chain::new()).await;
}

#[tokio::test]
async fn numbers_at_their_extremes_have_an_answer_on_a_chain_with_stake() {
    let node = Node::builder().with_consensus(ConsensusKind::Pos.on_demand()).with_stakes([40, 30].map(ether));
    run(Chain::over(node.with_validators(2).build().unwrap())).await;
}
