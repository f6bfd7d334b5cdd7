//! Tokens that vest, by the service's routes: their wallets release them as the chain's time goes on.

use std::time::Duration;

use alloy_primitives::{Address, U256, hex};
use alloy_sol_types::SolCall;
use chainbox::templates::vesting_wallet::interface::{release_1Call, release_2Call};
use serde_json::{Value, json};

use crate::{
    binary::{Dev, LIMIT, now},
    serving::{Answer, send},
};

const BOB: &str = "0x1111111111111111111111111111111111111111";
const DAY_SECS: u64 = 24 * 60 * 60;

fn rest(dev: &Dev, method: &str, path: &str, body: &Value) -> Answer {
    let key = dev.config["apiKey"].as_str().unwrap();
    let headers = format!("authorization: Bearer {key}\r\ncontent-type: application/json\r\n");
    let body = if body.is_null() { String::new() } else { body.to_string() };
    send(&dev.address(), method, path, &headers, &body).unwrap()
}

fn eth(dev: &Dev, method: &str, params: Value) -> Value {
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let answer = rest(dev, "POST", "/v1/blockchains/bc_default/eth", &call).json();
    answer.get("result").unwrap_or_else(|| panic!("{method}: {answer}")).clone()
}

/// Returns who has how much of a token.
fn holders(dev: &Dev, token: &Value) -> Vec<(String, String)> {
    let path = format!("/v1/tokens/{}/holders?sort=balance:desc", token["id"].as_str().unwrap());
    let list = rest(dev, "GET", &path, &Value::Null).data();
    let text = |holder: &Value, name: &str| holder[name].as_str().unwrap().to_lowercase();
    list.as_array().unwrap().iter().map(|holder| (text(holder, "address"), text(holder, "balance"))).collect()
}

/// Half a year into a year of vesting, half of it is released; before the cliff nothing.
fn vests(standard: &str, release: impl Fn(Address) -> Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let dev = Dev::start(folder.path(), &["--quiet"]);
    let part = json!({ "address": BOB, "amount": "300", "vesting": { "duration": "360d", "cliff": "90d" } });
    let body = json!({
        "blockchainId": "bc_default", "standard": standard, "name": "Gold", "symbol": "GLD",
        "totalSupply": "1000", "distribution": [part],
    });
    let token = rest(&dev, "POST", "/v1/tokens", &body).data();
    let [(_, rest_of_it), (wallet, held)] = holders(&dev, &token).try_into().expect("two holders");
    assert_eq!((rest_of_it.as_str(), held.as_str()), ("700", "300"));
    let contract: Address = token["contractAddress"].as_str().unwrap().parse().unwrap();
    let from = eth(&dev, "eth_accounts", json!([]))[0].clone();
    let released_after = |days: u64| {
        eth(&dev, "evm_increaseTime", json!([days * DAY_SECS]));
        let data = hex::encode_prefixed(release(contract));
        eth(&dev, "eth_sendTransaction", json!([{ "from": from, "to": wallet, "data": data }]));
        let holders = holders(&dev, &token);
        holders.into_iter().find(|(address, _)| address == BOB).map(|(_, balance)| balance)
    };
    assert_eq!(released_after(89), None, "before the cliff");
    assert_eq!(released_after(91).as_deref(), Some("150"), "after half of it");
    assert_eq!(released_after(180).as_deref(), Some("300"), "at the end");
    assert!(dev.stop("-TERM").status.success());
}

#[test]
fn fungible_tokens_vest() {
    vests("ERC20", |token| release_1Call { token }.abi_encode());
}

#[test]
fn units_of_a_multi_token_vest() {
    vests("ERC1155", |token| release_2Call { token, id: U256::ONE }.abi_encode());
}

/// A call of a method of the service, with its result.
fn rpc(dev: &Dev, method: &str, params: &Value) -> Value {
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let answer = rest(dev, "POST", "/v1/rpc", &call).json();
    answer.get("result").unwrap_or_else(|| panic!("{method} {params}: {answer}")).clone()
}

/// Waits until something is there.
fn until<T>(what: &str, look: impl Fn() -> Option<T>) -> T {
    let deadline = now() + LIMIT;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(now() < deadline, "{what} within {LIMIT:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// On another chain than that of the process, whose blocks come by a clock of their own: it goes with the default chain's time.
#[test]
fn tokens_of_another_chain_vest_by_time_travel_of_the_default_one() {
    let folder = tempfile::tempdir().unwrap();
    let dev = Dev::start(folder.path(), &["--quiet"]);
    let chain =
        rest(&dev, "POST", "/v1/blockchains", &json!({ "name": "paced", "config": { "blockTime": "1s" } })).data();
    let (id, treasury) = (&chain["id"], &chain["treasury"]);
    let part = json!({ "address": BOB, "amount": "300", "vesting": { "duration": "360d", "cliff": "90d" } });
    let body = json!({
        "blockchainId": id, "standard": "ERC20", "name": "Gold", "symbol": "GLD", "totalSupply": "1000",
        "distribution": [part],
    });
    let made = rest(&dev, "POST", "/v1/tokens", &body).data();
    let path = format!("/v1/tokens/{}", made["id"].as_str().unwrap());
    let token = until("the token is deployed", || {
        Some(rest(&dev, "GET", &path, &Value::Null).data()).filter(|token| token["status"] == "deployed")
    });
    let (wallet, _) = holders(&dev, &token).into_iter().find(|(_, balance)| balance == "300").unwrap();
    let contract: Address = token["contractAddress"].as_str().unwrap().parse().unwrap();
    let data = hex::encode_prefixed(release_1Call { token: contract }.abi_encode());
    // Seconds since 1970 of the newest block.
    let time = || {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_getBlockByNumber", "params": ["latest", false] });
        let block = rest(&dev, "POST", &format!("/v1/blockchains/{}/eth", id.as_str().unwrap()), &call).json();
        let text = block["result"]["timestamp"].as_str().unwrap().trim_start_matches("0x").to_owned();
        u64::from_str_radix(&text, 16).unwrap()
    };
    let began = time();
    let released_at = |days: u64, more: u64| {
        eth(&dev, "evm_increaseTime", json!([more * DAY_SECS]));
        until("blocks of the moved time", || (time() >= began + days * DAY_SECS).then_some(()));
        let call = json!({ "blockchainId": id, "contractAddress": wallet, "data": data, "from": treasury });
        let sent = rpc(&dev, "contract.execute", &call)["transactionHash"].clone();
        let of_it = json!({ "blockchainId": id, "transactionHash": sent });
        let done = until("the release is in a block", || {
            Some(rpc(&dev, "blockchain.getTransaction", &of_it)).filter(|found| found["status"] != "pending")
        });
        assert_eq!(done["status"], "success", "{done}");
        let holders = holders(&dev, &token);
        holders.into_iter().find(|(address, _)| address == BOB).map(|(_, balance)| balance)
    };
    assert_eq!(released_at(89, 89), None, "before the cliff");
    assert_eq!(released_at(180, 91).as_deref(), Some("150"), "after half of it");
    assert_eq!(released_at(360, 180).as_deref(), Some("300"), "at the end");
    assert!(dev.stop("-TERM").status.success());
}
