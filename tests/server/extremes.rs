//! Every number of every method at its extremes: an answer or a typed error, no panic, and a node that goes on.

use chainbox::{
    consensus::ConsensusKind,
    node::Node,
    primitives::{U256, ether},
    server::EthRpc,
    templates::Erc20Params,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::methods::Chain;

/// Parameters by method: each `$n` is a number to vary, `$a` an address, `$h` the head's hash, `$t` a token's
/// address. A method that is not listed gets [`UNLISTED`].
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
    ("anvil_reorg", &["['$n']"]),
    ("anvil_rollback", &["['$n']"]),
    ("evm_setIntervalMining", &["['$n']"]),
    ("evm_increaseTime", &["['$n']"]),
    ("evm_setTime", &["['$n']"]),
    ("evm_setNextBlockTimestamp", &["['$n']"]),
    ("evm_setBlockTimestampInterval", &["['$n']"]),
    ("evm_revert", &["['$n']"]),
    ("anvil_reset", &["[{'forking': {'blockNumber': '$n'}}]"]),
];

const TRANSACTION: &str = "[{'from': '$a', 'to': '$a', 'nonce': '$n', 'gas': '$n', 'gasPrice': '$n', 'maxFeePerGas': '$n', \
    'maxPriorityFeePerGas': '$n', 'value': '$n', 'chainId': '$n', 'type': '$n', 'maxFeePerBlobGas': '$n'}]";
const TRACED: &str = "[{'from': '$a', 'to': '$a', 'nonce': '$n', 'gas': '$n', 'gasPrice': '$n', 'value': '$n'}, 'latest', \
    {'tracer': 'callTracer'}]";
const OVERRIDES: &str =
    "[{'from': '$a', 'to': '$a', 'maxFeePerGas': '0x77359400'}, 'latest', {'$a': {'balance': '$n', 'nonce': '$n'}}]";
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
        json!(0),
        json!(100),
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
    let take = |seen: &mut usize| {
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

/// Deploys a token and makes a transfer; the names of templates with what they stand for.
fn names(chain: &Chain) -> [(&'static str, String); 3] {
    let owner = chain.node.accounts()[0];
    let init_code = Erc20Params::new("Gold", "GLD", U256::from(9), owner).init_code();
    let token = chain.node.deploy(owner, init_code).unwrap();
    let mined = chain.node.transfer(owner, chain.node.accounts()[1], U256::from(1)).unwrap();
    [("$a", owner.to_string()), ("$t", token.address().to_string()), ("$h", mined.block().hash().to_string())]
}

fn is_change(method: &str) -> bool {
    let reads = ["eth_get", "eth_call", "eth_estimate", "eth_create", "debug_", "net_", "web3_", "txpool_", "eth_fee"];
    !reads.iter().any(|prefix| method.starts_with(prefix))
}

/// Calls that must have an answer after any change.
fn follow_ups(chain: &Chain) -> [(&'static str, Value); 10] {
    let (one, other) = (chain.account(0), chain.account(2));
    [
        ("eth_getBlockByNumber", json!(["pending", true])),
        ("eth_sendTransaction", json!([{ "from": one, "to": other, "value": "0x1" }])),
        ("eth_sendTransaction", json!([{ "from": other, "to": one, "gas": "0x186a0" }])),
        ("eth_getTransactionCount", json!([one, "pending"])),
        ("txpool_content", json!([])),
        ("evm_mine", json!([])),
        ("eth_feeHistory", json!(["0x4", "pending", [50]])),
        ("eth_gasPrice", json!([])),
        ("anvil_metadata", json!([])),
        ("anvil_dumpState", json!([])),
    ]
}

async fn run(chain: Chain) {
    let names = names(&chain);
    let mut methods: Vec<&str> = chain.rpc.methods().method_names().collect();
    methods.retain(|method| !LEFT_OUT.contains(method) && !method.ends_with("subscribe"));
    methods.sort_unstable();
    let mut failed = Vec::new();
    let mut unanswered: Vec<(&str, &str)> = Vec::new();
    let dump = chain.node.dump().unwrap();
    let mut snapshot = chain.ok("evm_snapshot", json!([])).await;
    let after = follow_ups(&chain);
    for method in methods {
        let is_change = is_change(method);
        let listed = CALLS.iter().find(|(name, _)| *name == method).map(|(_, templates)| *templates);
        let (templates, follow_ups) = listed.map_or((UNLISTED, &after[..1]), |templates| (templates, &after[..]));
        // Templates that no number made a valid call of.
        let mut refused: Vec<&str> = templates.to_vec();
        for extreme in extremes() {
            for (template, params) in templates.iter().flat_map(|template| {
                filled(template, &names, &extreme).into_iter().map(move |params| (template, params))
            }) {
                let got = answer(&chain.rpc, method, &params).await;
                if !is_fine(got.as_ref()) {
                    failed.push(format!("{method} {params}: {got:?}"));
                }
                if got.is_some_and(|got| got.get("result").is_some()) {
                    refused.retain(|refused| refused != template);
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
                    chain.node.load(&dump).unwrap();
                }
                snapshot = chain.ok("evm_snapshot", json!([])).await;
            }
        }
        if listed.is_some() && !method.starts_with("eth_getFilter") {
            unanswered.extend(
                refused.into_iter().filter(|template| *template != BLOCK_OVERRIDES).map(|template| (method, template)),
            );
        }
    }
    assert_eq!(unanswered, [], "a template that is never a valid call tests nothing");
    failed.truncate(40);
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[tokio::test]
async fn numbers_at_their_extremes_have_an_answer() {
    run(Chain::new()).await;
}

/// Other chains go with the default one's time and do not come back: no method leads it past the year 2400, and each up to there.
#[tokio::test]
async fn time_travel_leads_no_further_than_the_year_2400() {
    /// 2400-12-31T23:59:59Z.
    const LAST: u64 = 13_601_087_999;
    let chain = Chain::new();
    let before = (chain.node.view().now(), chain.node.view().head().height());
    for (method, params) in [
        ("evm_increaseTime", json!([u64::MAX])),
        ("anvil_increaseTime", json!([LAST + 1])),
        ("evm_setTime", json!([LAST + 1])),
        ("anvil_setTime", json!([(LAST + 1) * 1_000])),
        ("evm_setNextBlockTimestamp", json!([u64::MAX])),
        ("hardhat_setNextBlockTimestamp", json!([LAST + 1])),
        ("anvil_setBlockTimestampInterval", json!([LAST + 1])),
        ("evm_mine", json!([LAST + 1])),
        ("evm_mine", json!([{ "timestamp": u64::MAX }])),
        ("anvil_mine_detailed", json!([LAST + 1])),
        ("hardhat_mine", json!([2, LAST])),
        ("anvil_mine", json!([3, u64::MAX])),
    ] {
        let (code, message) = chain.error(method, params.clone()).await;
        assert_eq!(code, -32602, "{method} {params}: {message}");
        assert!(message.contains("2400") && message.contains(&LAST.to_string()), "{method} {params}: {message}");
    }
    assert_eq!((chain.node.view().now(), chain.node.view().head().height()), before, "nothing is changed");

    chain.ok("evm_setTime", json!([LAST - 100])).await;
    chain.ok("evm_mine", json!([])).await;
    chain.ok("evm_increaseTime", json!([90])).await;
    chain.ok("evm_mine", json!([])).await;
    assert_eq!(chain.node.view().head().timestamp().as_secs(), LAST - 10);
    assert_eq!(chain.error("evm_increaseTime", json!([11])).await.0, -32602, "it is from where the chain is");
    chain.ok("hardhat_mine", json!([3, 1])).await;
    chain.ok("evm_setTime", json!([LAST * 1_000 + 999])).await;
    chain.ok("evm_mine", json!([LAST])).await;
    chain.ok("evm_increaseTime", json!([0])).await;
    assert_eq!(chain.error("evm_increaseTime", json!([1])).await.0, -32602);
    assert_eq!(chain.node.view().head().timestamp().as_secs(), LAST);
}

/// Changes that no revert undoes before the next one: those of [`CALLS`], by index of method, template, number and place.
fn changes() -> impl Strategy<Value = Vec<(usize, usize, usize, usize)>> {
    proptest::collection::vec((any::<usize>(), any::<usize>(), any::<usize>(), any::<usize>()), 1..12)
}

/// Makes the changes on a node, each followed by [`follow_ups`].
async fn run_changes(chain: &Chain, picks: &[(usize, usize, usize, usize)]) -> Result<(), String> {
    let names = names(chain);
    let changing: Vec<_> = CALLS.iter().filter(|(method, _)| is_change(method)).collect();
    let extremes = extremes();
    for (method, template, extreme, place) in picks {
        let (method, templates) = changing[method % changing.len()];
        let choices = filled(templates[template % templates.len()], &names, &extremes[extreme % extremes.len()]);
        let params = &choices[place % choices.len()];
        let calls = [(*method, params.clone())].into_iter().chain(follow_ups(chain));
        for (called, params) in calls {
            let got = answer(&chain.rpc, called, &params).await;
            let is_refused_block = called.contains("mine") && got.is_some();
            if !is_fine(got.as_ref()) && !is_refused_block {
                return Err(format!("{called} {params} after {method} {params}: {got:?}"));
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn changes_to_extremes_in_any_order_leave_a_node_that_answers(picks in changes(), has_stake: bool) {
        let builder = Node::builder();
        let node = if has_stake {
            let stakes = [40, 30].map(ether);
            builder.with_consensus(ConsensusKind::Pos.on_demand()).with_stakes(stakes).with_validators(2).build().unwrap()
        } else {
            builder.build().unwrap()
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let outcome = runtime.block_on(run_changes(&Chain::over(node), &picks));
        prop_assert_eq!(outcome, Ok(()));
    }
}
