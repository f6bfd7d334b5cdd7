//! Tokens that vest, by the service's routes: their wallets release them as the chain's time goes on.

use alloy_primitives::{Address, U256, hex};
use alloy_sol_types::SolCall;
use chainbox::templates::vesting_wallet::interface::{release_1Call, release_2Call};
use serde_json::{Value, json};

use crate::{
    binary::Dev,
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
