//! Nodes served for tests: without a runtime of one's own, in one, and as replicas of a network that are behind.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::Duration,
};

use alloy_sol_types::SolCall;
use chainbox::{
    consensus::{ConsensusConfig, ConsensusKind, PbftConfig, ReplicaId},
    node::{Mining, Node},
    primitives::{Address, U256},
    server::{RunningServer, serve},
    sim::{Network, default_sim_config},
    templates::{Erc20Params, erc20::interface::Erc20Token},
};
use serde_json::{Value, json};

/// A JSON-RPC client that blocks its thread.
fn call(server: &RunningServer, method: &str, params: Value) -> Value {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
    let mut stream = TcpStream::connect(server.address()).unwrap();
    write!(
        stream,
        "POST / HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        server.address(),
        body.len()
    )
    .unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    serde_json::from_str(response.split_once("\r\n\r\n").unwrap().1).unwrap()
}

fn result(server: &RunningServer, method: &str, params: Value) -> Value {
    let response = call(server, method, params);
    response.get("result").unwrap_or_else(|| panic!("{method}: {response}")).clone()
}

fn number(value: &Value) -> u64 {
    u64::from_str_radix(value.as_str().unwrap().trim_start_matches("0x"), 16).unwrap()
}

fn height(server: &RunningServer) -> u64 {
    number(&result(server, "eth_blockNumber", json!([])))
}

#[test]
fn a_node_is_served_beside_a_plain_test() {
    let node = Node::new();
    let server = serve(&node).unwrap();
    let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
    node.transfer(alice, bob, U256::from(5)).unwrap();
    assert_eq!(height(&server), 1);
    result(&server, "eth_sendTransaction", json!([{ "from": alice, "to": bob, "value": "0x1" }]));
    assert_eq!(node.view().head().height().get(), 2, "both change one node");
    let other = serve(&node).unwrap();
    assert_ne!(server.url(), other.url());
    server.stop();
    assert_eq!(height(&other), 2);
}

#[tokio::test]
async fn a_served_node_needs_nothing_of_the_tests_own_runtime() {
    let node = Node::new();
    let server = serve(&node).unwrap();
    // The test's only thread is blocked by the client.
    node.mine(4).unwrap();
    assert_eq!(height(&server), 4);
    // Interval mining is by the wall clock.
    node.set_mining(Mining::Interval(Duration::from_millis(10))).unwrap();
    while height(&server) < 8 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    server.stop();
}

#[test]
fn a_provider_that_is_behind_lags_in_blocks_calls_and_logs_and_catches_up() {
    let last = ReplicaId::new(3);
    let network = Network::builder().with_consensus(ConsensusConfig::Pbft(PbftConfig::default()));
    let network = network.with_validators(4).with_dev_accounts(2).build().unwrap().share().unwrap();
    let (near, behind) = (network.node(ReplicaId::new(0)).unwrap(), network.node(last).unwrap());
    let (alice, bob) = (near.accounts()[0], near.accounts()[1]);
    let gold = near.deploy(alice, Erc20Params::new("Gold", "GLD", U256::from(100), alice).init_code()).unwrap();
    near.pass_time(Duration::from_secs(5)).unwrap();
    let (first, second) = (serve(&near).unwrap(), serve(&behind).unwrap());

    network.lock().isolate(last).unwrap();
    gold.send(Erc20Token::transferCall { to: bob, value: U256::from(7) }).unwrap();
    near.pass_time(Duration::from_secs(10)).unwrap();
    let balance = |server: &RunningServer| {
        let input = alloy_primitives::Bytes::from(Erc20Token::balanceOfCall { account: bob }.abi_encode());
        number(&result(server, "eth_call", json!([{ "to": gold.address(), "input": input }, "latest"])))
    };
    let logs = |server: &RunningServer| {
        let filter = json!([{ "address": gold.address(), "fromBlock": "earliest" }]);
        result(server, "eth_getLogs", filter).as_array().unwrap().len()
    };
    assert!(height(&first) > height(&second) + 5, "{} {}", height(&first), height(&second));
    assert_eq!((balance(&first), balance(&second)), (7, 0));
    assert_eq!((logs(&first), logs(&second)), (3, 2));
    let filter = result(&second, "eth_newBlockFilter", json!([]));

    // What is sent through a provider reaches the network by its replica.
    let nobody = Address::repeat_byte(0x42);
    let hash = result(&first, "eth_sendTransaction", json!([{ "from": alice, "to": nobody, "value": "0x9" }]));
    assert_eq!(result(&second, "eth_getTransactionByHash", json!([hash])), Value::Null);
    let refused = call(&second, "evm_mine", json!([]));
    assert!(refused["error"]["message"].as_str().unwrap().contains("replica of a network"), "{refused}");

    network.lock().heal().unwrap();
    near.pass_time(Duration::from_secs(30)).unwrap();
    assert_eq!((balance(&second), logs(&second)), (7, 3));
    assert!(height(&second) + 2 >= height(&first));
    assert_eq!(number(&result(&second, "eth_getBalance", json!([nobody, "latest"]))), 9);
    let news = result(&second, "eth_getFilterChanges", json!([filter]));
    assert!(news.as_array().unwrap().len() > 10, "{news}");
}

#[test]
fn providers_on_two_branches_differ_until_one_reorganises_and_removes_its_logs() {
    let network = Network::builder().with_consensus(default_sim_config(ConsensusKind::Pos)).with_validators(4);
    let network = network.with_dev_accounts(3).build().unwrap().share().unwrap();
    let [left, right] = [0, 2].map(|replica| network.node(ReplicaId::new(replica)).unwrap());
    let (alice, owner) = (left.accounts()[0], left.accounts()[2]);
    let gold = left.deploy(owner, Erc20Params::new("Gold", "GLD", U256::from(100), owner).init_code()).unwrap();
    left.pass_time(Duration::from_secs(10)).unwrap();
    let halves = [[0, 1].map(ReplicaId::new), [2, 3].map(ReplicaId::new)];
    let cut = network.lock().partition(&[&halves[0], &halves[1]]).unwrap();

    let providers = [serve(&left).unwrap(), serve(&right).unwrap()];
    let filter = json!([{ "address": gold.address() }]);
    let filters = providers.each_ref().map(|provider| result(provider, "eth_newFilter", filter.clone()));
    // The owner spends one nonce on both branches.
    for (node, to) in [(&left, Address::repeat_byte(0xb0)), (&right, alice)] {
        node.contract(gold.address(), owner).send(Erc20Token::transferCall { to, value: U256::from(7) }).unwrap();
    }
    let changes = |provider: &RunningServer, filter: &Value| {
        result(provider, "eth_getFilterChanges", json!([filter])).as_array().unwrap().clone()
    };
    for (provider, filter) in providers.iter().zip(&filters) {
        let seen = changes(provider, filter);
        assert_eq!((seen.len(), &seen[0]["removed"]), (1, &json!(false)));
    }
    let heads = providers.each_ref().map(|provider| result(provider, "eth_getBlockByNumber", json!(["latest", false])));
    assert_ne!(heads[0]["hash"], heads[1]["hash"]);

    network.lock().end_fault(cut).unwrap();
    left.pass_time(Duration::from_secs(60)).unwrap();
    let news: Vec<Value> =
        providers.iter().zip(&filters).flat_map(|(provider, filter)| changes(provider, filter)).collect();
    let removed = news.iter().filter(|log| log["removed"] == true).count();
    assert!(removed > 0);
    let number = json!([format!("{:#x}", height(&providers[0]).min(height(&providers[1])) - 4), false]);
    let [first, second] =
        providers.each_ref().map(|provider| result(provider, "eth_getBlockByNumber", number.clone())["hash"].clone());
    assert_eq!(first, second);
}
