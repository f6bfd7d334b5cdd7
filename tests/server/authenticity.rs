//! Speaking for others: every way into the node, times every forged form. None moves anybody's money or acts as the chain.

use alloy_consensus::{SignableTransaction, TxEip1559, TxEip2930, TxEnvelope, TxLegacy};
use alloy_eips::eip2718::Encodable2718;
use chainbox::{
    consensus::ConsensusKind,
    node::Node,
    primitives::{Address, Bytes, Gas, Signature, TransactionRequest, TxKind, U256, ether, uint},
    system::staking::{STAKING_ADDRESS, begin_block},
    vm::SYSTEM_ADDRESS,
};
use serde_json::{Value, json};

use crate::{http::Service, methods::Chain};

/// Somebody with money whose key nobody has.
const VICTIM: Address = Address::repeat_byte(0xab);
const THIEF: Address = Address::repeat_byte(0x77);
const GWEI: u128 = 1_000_000_000;

fn theft() -> TransactionRequest {
    TransactionRequest {
        chain_id: Some(31_337),
        to: Some(THIEF),
        value: ether(1),
        gas_limit: Gas::new(21_000),
        max_fee_per_gas: 100 * GWEI,
        ..Default::default()
    }
}

/// The theft with this signature, in each transaction type.
fn with_signature(signature: Signature) -> Vec<Bytes> {
    let (chain_id, gas_limit, max_fee_per_gas, to, value) = (31_337, 21_000, 100 * GWEI, TxKind::Call(THIEF), ether(1));
    let legacy =
        TxLegacy { chain_id: Some(chain_id), gas_price: max_fee_per_gas, gas_limit, to, value, ..Default::default() };
    let listed = TxEip2930 { chain_id, gas_price: max_fee_per_gas, gas_limit, to, value, ..Default::default() };
    let dynamic = TxEip1559 { chain_id, max_fee_per_gas, gas_limit, to, value, ..Default::default() };
    let all: [TxEnvelope; 3] = [
        legacy.into_signed(signature).into(),
        listed.into_signed(signature).into(),
        dynamic.into_signed(signature).into(),
    ];
    all.iter().map(|envelope| envelope.encoded_2718().into()).collect()
}

/// Raw transactions that name a sender who signed nothing.
fn forged_raws() -> Vec<(String, Bytes)> {
    let order = uint!(0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141_U256);
    let word = |address: Address| U256::from_be_slice(address.as_slice());
    let (victim, system) = (word(VICTIM), word(SYSTEM_ADDRESS));
    let scalars = [
        ("no signature", U256::ZERO, U256::ZERO),
        ("the victim in s", U256::ZERO, victim),
        ("the victim in r", victim, U256::ZERO),
        ("the victim in both", victim, victim),
        ("the chain in s", U256::ZERO, system),
        ("s at the order", U256::ONE, order),
        ("r at the order", order, U256::ONE),
        ("everything set", U256::MAX, U256::MAX),
    ];
    let mut forged = Vec::new();
    for (name, r, s) in scalars {
        for parity in [false, true] {
            let raws = with_signature(Signature::new(r, s, parity));
            forged.extend(raws.into_iter().map(|raw| (format!("{name}, parity {parity}, type {:#04x}", raw[0]), raw)));
        }
    }
    for sender in [VICTIM, SYSTEM_ADDRESS, Address::ZERO] {
        let record = theft().impersonate(sender).unwrap().encoded();
        forged.push((format!("a record of {sender}"), record));
    }
    forged
}

fn is_error(response: &Value) -> bool {
    response.get("error").is_some_and(|error| !error.is_null())
}

fn check_untouched(node: &Node, what: &str) {
    let view = node.view();
    let balance = |address| view.balance(address, chainbox::node::BlockRef::Latest).unwrap();
    assert_eq!(balance(VICTIM), ether(100), "{what}: the victim's money moved");
    assert_eq!(balance(THIEF), U256::ZERO, "{what}: the thief got money");
    assert!(view.pool().is_empty(), "{what}: something waits in the pool");
}

fn chain_with_victim() -> Chain {
    let chain = Chain::new();
    chain.node.set_balance(VICTIM, ether(100)).unwrap();
    chain
}

#[tokio::test]
async fn no_raw_transaction_speaks_for_somebody_who_did_not_sign() {
    let service = Service::start().await;
    let node = service.platform.default_blockchain().unwrap().node().clone();
    let chain = Chain::over(node.clone());
    node.set_balance(VICTIM, ether(100)).unwrap();
    // Impersonation is a permission of a development method, not of whoever writes the address.
    for is_impersonated in [false, true] {
        if is_impersonated {
            node.impersonate(VICTIM).unwrap();
        }
        for (name, raw) in forged_raws() {
            let name = format!("{name}, impersonated: {is_impersonated}");
            let single = chain.response("eth_sendRawTransaction", json!([raw])).await;
            // Made-up scalars may be a signature of somebody; never of the victim.
            assert!(is_error(&single), "{name}: {single}");
            check_untouched(&node, &name);

            let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_sendRawTransaction", "params": [raw] });
            let headers = [("content-type", "application/json")];
            let batch = service.send("POST", "/", &headers, &json!([call, call]).to_string()).await.json();
            assert!(batch.as_array().unwrap().iter().all(is_error), "{name} in a batch: {batch}");
            check_untouched(&node, &name);

            for method in ["transaction.send", "transaction.simulate"] {
                let params = json!({ "blockchainId": "bc_default", "signedTransaction": raw });
                let call = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
                let headers = [("x-api-key", service.api_key.as_str()), ("content-type", "application/json")];
                let reply = service.send("POST", "/v1/rpc", &headers, &call.to_string()).await.json();
                assert!(is_error(&reply), "{name} by {method}: {reply}");
                check_untouched(&node, &name);
            }
        }
    }
}

#[tokio::test]
async fn requests_name_unlocked_or_impersonated_accounts_alone() {
    let chain = chain_with_victim();
    let request = |from: Address| json!([{ "from": from, "to": THIEF, "value": "0x1", "gas": "0x5208" }]);
    for method in ["eth_sendTransaction", "eth_sendUnsignedTransaction", "eth_signTransaction"] {
        for from in [VICTIM, SYSTEM_ADDRESS] {
            chain.error(method, request(from)).await;
            check_untouched(&chain.node, method);
        }
        chain.ok("anvil_autoImpersonateAccount", json!([true])).await;
        chain.error(method, request(SYSTEM_ADDRESS)).await;
        chain.ok("anvil_autoImpersonateAccount", json!([false])).await;
    }
    assert_eq!(chain.error("anvil_impersonateAccount", json!([SYSTEM_ADDRESS])).await.0, -32602);

    chain.ok("anvil_impersonateAccount", json!([VICTIM])).await;
    chain.ok("eth_sendTransaction", request(VICTIM)).await;
    chain.ok("anvil_stopImpersonatingAccount", json!([VICTIM])).await;
    chain.error("eth_sendTransaction", request(VICTIM)).await;
}

#[tokio::test]
async fn the_service_does_not_share_impersonations() {
    let service = Service::start().await;
    let node = service.platform.default_blockchain().unwrap().node().clone();
    let body = json!({ "blockchainId": "bc_default", "template": "erc20-token", "params": { "name": "Gold", "symbol": "GLD", "totalSupply": "1000" } });
    let token = service.rest("POST", "/v1/contracts/deploy", body).await.json()["data"]["contractAddress"].clone();
    node.set_balance(VICTIM, ether(100)).unwrap();
    node.impersonate(VICTIM).unwrap();
    let execute = |from: Address| {
        let params = json!({ "blockchainId": "bc_default", "contractAddress": token, "from": from,
            "method": "approve", "args": [THIEF, "1"] });
        json!({ "jsonrpc": "2.0", "id": 7, "method": "contract.execute", "params": params }).to_string()
    };
    let headers = [("x-api-key", service.api_key.as_str()), ("content-type", "application/json")];
    for from in [VICTIM, SYSTEM_ADDRESS] {
        let reply = service.send("POST", "/v1/rpc", &headers, &execute(from)).await.json();
        assert!(is_error(&reply), "{from}: {reply}");
    }
    let own = service.send("POST", "/v1/rpc", &headers, &execute(node.accounts()[0])).await.json();
    assert!(!is_error(&own), "{own}");
}

#[tokio::test]
async fn nothing_from_outside_acts_as_the_chain() {
    let node = Node::builder().with_consensus(ConsensusKind::Pos.on_demand()).build().unwrap();
    let chain = Chain::over(node.clone());
    chain.ok("anvil_setBalance", json!([SYSTEM_ADDRESS, "0x56bc75e2d63100000"])).await;
    let reward = begin_block(node.accounts()[0], &[]);
    let call = json!({ "from": SYSTEM_ADDRESS, "to": STAKING_ADDRESS, "data": reward.input, "gas": "0x7a1200" });
    let before = node.view().balance(STAKING_ADDRESS, chainbox::node::BlockRef::Latest).unwrap();
    for (method, params) in [
        ("eth_call", json!([call, "latest"])),
        ("eth_call", json!([call, "latest", { SYSTEM_ADDRESS.to_string(): { "balance": "0xffffffff" } }])),
        ("eth_estimateGas", json!([call])),
        ("eth_createAccessList", json!([call])),
        ("debug_traceCall", json!([call, "latest", { "tracer": "callTracer" }])),
        ("eth_sendTransaction", json!([call])),
        ("anvil_impersonateAccount", json!([SYSTEM_ADDRESS])),
    ] {
        let (_, message) = chain.error(method, params).await;
        assert!(message.contains("0xffffffff") || message.to_lowercase().contains("0xfff"), "{method}: {message}");
    }
    // The same call by anybody reaches the contract, which refuses it.
    let by_account = json!({ "to": STAKING_ADDRESS, "data": reward.input });
    let (_, message) = chain.error("eth_call", json!([by_account, "latest"])).await;
    assert!(message.contains("revert"), "{message}");
    assert_eq!(node.view().balance(STAKING_ADDRESS, chainbox::node::BlockRef::Latest).unwrap(), before);
}

/// A dump as JSON, changed, and loaded into a fresh node.
async fn load_changed(dump: &Value, change: impl FnOnce(&mut Value)) -> Result<(), String> {
    let mut forged = dump.clone();
    change(&mut forged);
    let other = Chain::new();
    let before = other.node.view().head().hash();
    let bytes = Bytes::from(serde_json::to_vec(&forged).unwrap());
    let response = other.response("anvil_loadState", json!([bytes])).await;
    if is_error(&response) {
        assert_eq!(response["error"]["code"], -32602, "{response}");
        assert_eq!(other.node.view().head().hash(), before, "a refused dump changes nothing");
        return Err(response["error"]["message"].as_str().unwrap().to_owned());
    }
    Ok(())
}

#[tokio::test]
async fn a_dump_speaks_for_nobody() {
    let chain = chain_with_victim();
    let signed = chain.signed_transfer(0);
    chain.ok("eth_sendRawTransaction", json!([signed])).await;
    chain.ok("anvil_impersonateAccount", json!([VICTIM])).await;
    chain.ok("eth_sendTransaction", json!([{ "from": VICTIM, "to": THIEF, "value": "0x1" }])).await;
    chain.ok("evm_setAutomine", json!([false])).await;
    chain.ok("eth_sendRawTransaction", json!([chain.signed_transfer(1)])).await;
    chain.ok("eth_sendTransaction", json!([{ "from": VICTIM, "to": THIEF, "value": "0x1", "gas": "0x5208" }])).await;
    let bytes: Bytes = serde_json::from_value(chain.ok("anvil_dumpState", json!([])).await).unwrap();
    let dump: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(dump["pool"].as_array().unwrap().len(), 1, "the impersonated one is not part of it");
    load_changed(&dump, |_| ()).await.unwrap();

    let summary = Node::new().load(&chain.node.dump().unwrap()).unwrap();
    assert_eq!((summary.transactions, summary.impersonated), (2, 1));

    for (name, raw) in forged_raws() {
        let refused = load_changed(&dump, |dump| dump["pool"] = json!([raw])).await;
        assert!(refused.is_err(), "{name} in the pool of a dump");
    }
    // The sender of the first block's signed transaction, in the list of senders that the stored form ends with.
    let sender = chain.account(0)[2..].to_lowercase();
    let refused = load_changed(&dump, |dump| {
        let block = dump["chain"]["blocks"][0]["block"].as_str().unwrap().replace(&sender, &"ab".repeat(20));
        dump["chain"]["blocks"][0]["block"] = json!(block);
    });
    let message = refused.await.unwrap_err();
    assert!(message.contains("sender"), "{message}");
}
