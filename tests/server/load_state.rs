//! The real binary starts from what `GET /v1/blockchains/{blockchainId}/export` has answered: `chainbox dev --load-state`.

use std::collections::BTreeMap;

use chainbox::primitives::U256;
use serde_json::{Value, json};

use crate::{binary::Dev, specification::Site};

const PAID: &str = "0x7777777777777777777777777777777777777777";

/// Data of the call `transfer(PAID, amount)` of a token.
fn transfer(amount: u64) -> String {
    format!("0xa9059cbb{:0>64}{amount:064x}", PAID.trim_start_matches("0x"))
}

/// Data of the call `balanceOf(PAID)` of a token.
fn balance_of() -> String {
    format!("0x70a08231{:0>64}", PAID.trim_start_matches("0x"))
}

/// Ethereum JSON-RPC of one chain.
type Eth<'a> = dyn Fn(&str, Value) -> Value + 'a;

/// What a chain shows of accounts: balance, nonce, code, the root of the storage, and each slot.
fn shown(eth: &Eth<'_>, accounts: &BTreeMap<String, Vec<U256>>) -> BTreeMap<String, Value> {
    let shown = accounts.iter().map(|(address, slots)| {
        let proof = eth("eth_getProof", json!([address, [], "latest"]));
        let code = eth("eth_getCode", json!([address, "latest"]));
        let value = |slot: &U256| eth("eth_getStorageAt", json!([address, format!("{slot:#x}"), "latest"]));
        let storage: Vec<Value> = slots.iter().map(value).collect();
        let account = ["balance", "nonce", "codeHash", "storageHash"].map(|name| proof[name].clone());
        assert!(account.iter().all(Value::is_string), "{proof}");
        (address.clone(), json!([account, code, storage]))
    });
    shown.collect()
}

/// The accounts of an export, each with the slots of its storage.
fn accounts_of(export: &Value) -> BTreeMap<String, Vec<U256>> {
    let accounts = export["chain"]["genesis"]["accounts"].as_object().unwrap().iter();
    let slots = |account: &Value| {
        let slots = account["storage"].as_object().into_iter().flatten();
        slots.map(|(slot, _)| slot.parse().unwrap()).collect()
    };
    accounts.map(|(address, account)| (address.to_lowercase(), slots(account))).collect()
}

/// A chain of the service with a token and a payment: its id, its treasury, the token's address.
fn source(site: &Site, consensus: &str, chain_id: u64) -> (String, String, String) {
    let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{value}")).to_lowercase();
    let chain = json!({ "name": consensus, "consensus": consensus, "chainId": chain_id });
    let chain = site.make("/v1/blockchains", chain);
    let (id, treasury) = (text(&chain["id"]), text(&chain["treasury"]));
    let params = json!({ "name": "Gold", "symbol": "GLD", "totalSupply": "1000" });
    let token =
        site.make("/v1/contracts/deploy", json!({ "blockchainId": id, "template": "erc20-token", "params": params }));
    let path = format!("/v1/contracts/{}/execute", token["id"].as_str().unwrap());
    let moved = site.call("POST", &path, &json!({ "method": "transfer", "args": [PAID, "7"] }));
    assert_eq!(moved.status, 200, "{}", moved.body);
    let payment = json!({ "blockchainId": id, "contractAddress": PAID, "data": "0x", "from": treasury, "value": "5" });
    let payment = json!({ "jsonrpc": "2.0", "id": 1, "method": "contract.execute", "params": payment });
    let paid = site.call("POST", "/v1/rpc", &payment).json();
    assert!(paid["result"]["transactionHash"].is_string(), "{paid}");
    (id, treasury, text(&token["contractAddress"]))
}

/// The node makes blocks on what it has loaded: a payment, a call of the token, an empty block.
fn mines_on(dev: &Dev, treasury: &str, token: &str) {
    assert_eq!(dev.rpc("eth_blockNumber", json!([])), "0x0", "a state alone");
    dev.rpc("anvil_impersonateAccount", json!([treasury]));
    for transaction in [
        json!({ "from": treasury, "to": PAID, "value": "0x2" }),
        json!({ "from": treasury, "to": token, "data": transfer(3) }),
    ] {
        let hash = dev.rpc("eth_sendTransaction", json!([transaction]));
        let receipt = dev.rpc("eth_getTransactionReceipt", json!([hash]));
        assert_eq!(receipt["status"], "0x1", "{transaction}: {receipt}");
    }
    assert_eq!(dev.rpc("eth_getBalance", json!([PAID, "latest"])), "0x7");
    let held = dev.rpc("eth_call", json!([{ "to": token, "data": balance_of() }, "latest"]));
    assert_eq!(held.as_str().map(|held| held.parse::<U256>().unwrap()), Some(U256::from(10)));
    dev.rpc("evm_mine", json!([]));
    assert_eq!(dev.rpc("eth_blockNumber", json!([])), "0x3");
}

#[test]
fn a_development_node_starts_from_the_export_of_a_chain_and_mines_on() {
    let site = Site::start();
    for (consensus, chain_id) in [("proof-of-authority", 4_001), ("proof-of-stake", 4_002)] {
        let (id, treasury, token) = source(&site, consensus, chain_id);
        let exported = site.call("GET", &format!("/v1/blockchains/{id}/export"), &Value::Null);
        assert_eq!(exported.status, 200, "{}", exported.body);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("export.json");
        std::fs::write(&file, &exported.body).unwrap();
        let dev = Dev::start(folder.path(), &["--quiet", "--load-state", file.to_str().unwrap()]);
        assert_eq!(dev.rpc("eth_chainId", json!([])), format!("{chain_id:#x}"));

        let of_service = |method: &str, params: Value| {
            let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
            let answer = site.call("POST", &format!("/v1/blockchains/{id}/eth"), &call).json();
            answer.get("result").unwrap_or_else(|| panic!("{method}: {answer}")).clone()
        };
        let accounts = accounts_of(&exported.json());
        let wanted = shown(&of_service, &accounts);
        assert_eq!(shown(&|method: &str, params: Value| dev.rpc(method, params), &accounts), wanted, "{consensus}");
        // There is something of each kind to compare.
        assert_eq!(wanted[PAID][0][0], "0x5", "{consensus}: {wanted:?}");
        assert_ne!(wanted[&treasury][0][1], "0x0", "{consensus}: {wanted:?}");
        let (code, storage) = (&wanted[&token][1], &wanted[&token][2]);
        assert!(code.as_str().is_some_and(|code| code.len() > 2), "{consensus}: {code}");
        let is_set = |value: &Value| value.as_str().unwrap().parse::<U256>().unwrap() > U256::ZERO;
        assert!(storage.as_array().is_some_and(|slots| slots.len() > 1 && slots.iter().all(is_set)), "{storage}");
        mines_on(&dev, &treasury, &token);
        assert!(dev.stop("-TERM").status.success());
    }
}
