//! The real binary as a developer of web pages uses it: what the banner says, state files, genesis files, templates, messages.

use std::{fs, path::Path, process::Output, time::Duration};

use chainbox::primitives::{Gas, KeyPair, TransactionRequest, U256, Wallet};
use serde_json::{Value, json};

use crate::binary::{Dev, LIMIT, chainbox, now, post};

const ALICE: &str = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
const BOB: &str = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";

/// Writes JSON into a folder and returns the path.
fn write(folder: &Path, name: &str, content: &Value) -> String {
    let path = folder.join(name);
    fs::write(&path, content.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Runs a command that is to fail, and returns what it says.
fn refused(flags: &[&str]) -> String {
    let Output { status, stdout, stderr } = chainbox(&[&["dev", "--port", "0"], flags].concat()).output().unwrap();
    assert_eq!((status.code(), stdout.len()), (Some(1), 0), "{flags:?}");
    String::from_utf8(stderr).unwrap()
}

/// Stops a node and returns what it printed.
fn printed(mut dev: Dev) -> String {
    dev.wait_for_text("Listening on ");
    let output = dev.stop("-TERM");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the error of a call.
fn error(dev: &Dev, method: &str, params: Value) -> (i64, String) {
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let response = post(&dev.address(), "", &call);
    let error = &response["error"];
    assert!(error.is_object(), "{method}: {response}");
    (error["code"].as_i64().unwrap(), error["message"].as_str().unwrap().to_owned())
}

fn has_all(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part} is not in {text}");
    }
}

#[test]
fn the_banner_shows_the_balances_of_the_state() {
    let folder = tempfile::tempdir().unwrap();
    let spec = json!({ "chainId": 1337, "accounts": { ALICE: { "balance": "1000000000000000000" } } });
    let genesis = write(folder.path(), "g1.json", &spec);
    let text = refused(&["--genesis", &genesis, "--chain-id", "7", "--balance", "5"]);
    has_all(&text, &[&genesis, "--chain-id 7: there it is 1337"]);
    let text = refused(&["--genesis", &genesis, "--balance", "5"]);
    has_all(&text, &["--balance 5 ETH: there it is (0)", ALICE, "1 ETH"]);
    let text = refused(&["--genesis", &genesis, "--accounts", "3"]);
    has_all(&text, &["--accounts 3: there it is 1 of these accounts"]);
    let dev = Dev::start(folder.path(), &["--genesis", &genesis]);
    has_all(&printed(dev), &[&format!("(0) {ALICE} (1 ETH)"), &format!("(1) {BOB} (0 ETH)"), "Chain ID:     1337"]);
}

#[cfg(feature = "rocksdb")]
#[test]
fn the_balances_of_a_database_are_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("db");
    let database = database.to_str().unwrap();
    let flags = ["--db-path", database, "--balance", "1.5", "--chain-id", "7"];
    has_all(&printed(Dev::start(folder.path(), &flags)), &["(0) 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266 (1.5 ETH)"]);
    has_all(&refused(&["--db-path", database, "--balance", "3"]), &["--balance 3 ETH: there it is (0)", "1.5 ETH"]);
    let elsewhere = tempfile::tempdir().unwrap();
    let again = Dev::start(elsewhere.path(), &flags);
    let transfer = json!([{ "from": ALICE, "to": BOB, "value": "0x6f05b59d3b20000" }]);
    assert!(again.rpc("eth_sendTransaction", transfer).is_string());
    drop(again);
    let third = tempfile::tempdir().unwrap();
    has_all(
        &printed(Dev::start(third.path(), &["--db-path", database])),
        &[&format!("{BOB} (2 ETH)"), "Head:         block 1"],
    );
}

#[test]
fn an_estimate_checks_the_value_first() {
    let folder = tempfile::tempdir().unwrap();
    let dev = Dev::start(folder.path(), &["--quiet"]);
    let estimate = |fields: Value| {
        let mut request = json!({ "from": ALICE, "to": BOB, "value": "0xd3c21bcecceda1000000" });
        request.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        error(&dev, "eth_estimateGas", json!([request]))
    };
    let (code, message) = estimate(json!({}));
    assert!(code == -32000 && message.starts_with("insufficient funds for gas * price + value"), "{message}");
    for fees in [json!({ "maxFeePerGas": "0x3b9aca00" }), json!({ "gasPrice": "0x3b9aca00" })] {
        let (code, message) = estimate(fees);
        assert!(code == -32000 && message.starts_with("insufficient funds for transfer"), "{message}");
    }
    let (code, message) = estimate(json!({ "value": "0x21e19e0c9bab23fffff", "maxFeePerGas": "0x3b9aca00" }));
    assert!(code == -32000 && message.starts_with("gas required exceeds allowance (0)"), "{message}");
    let call = json!([{ "from": ALICE, "to": BOB, "value": "0xd3c21bcecceda1000000", "maxFeePerGas": "0x3b9aca00" }]);
    let (code, message) = error(&dev, "eth_call", call);
    assert!(code == -32000 && message.starts_with("insufficient funds for gas * price + value"), "{message}");
}

#[test]
fn a_genesis_by_hand_can_be_developed_on_unless_it_says_no() {
    let folder = tempfile::tempdir().unwrap();
    let genesis = write(folder.path(), "open.json", &json!({ "chainId": 1337 }));
    let dev = Dev::start(folder.path(), &["--genesis", &genesis, "--auto-impersonate"]);
    assert_eq!(dev.rpc("anvil_setBalance", json!([BOB, "0xde0b6b3a7640000"])), Value::Null);
    assert_eq!(dev.rpc("eth_getBalance", json!([BOB, "latest"])), "0xde0b6b3a7640000");
    let stranger = "0x00000000000000000000000000000000000000c5";
    dev.rpc("anvil_setBalance", json!([stranger, "0xde0b6b3a7640000"]));
    assert!(dev.rpc("eth_sendTransaction", json!([{ "from": stranger, "to": BOB }])).is_string());
    has_all(&printed(dev), &["(1): balance set to 1 ETH", "0x0000…00c5 -> (1) 0 ETH"]);

    let closed = write(folder.path(), "closed.json", &json!({ "chainId": 1337, "allowInterventions": false }));
    let elsewhere = tempfile::tempdir().unwrap();
    let dev = Dev::start(elsewhere.path(), &["--quiet", "--genesis", &closed]);
    let (code, message) = error(&dev, "anvil_setBalance", json!([BOB, "0x1"]));
    assert_eq!(
        (code, message.as_str()),
        (-32000, "genesis allows no interventions; set its field `allowInterventions`")
    );
    has_all(
        &refused(&["--genesis", &closed, "--auto-impersonate"]),
        &["--auto-impersonate: genesis allows no interventions"],
    );
}

#[test]
fn a_path_that_cannot_be_written_is_found_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), "file", &json!({}));
    let below = format!("{file}/state.dump");
    for flag in ["--dump-state", "--state", "--config-out"] {
        for path in [&below, folder.path().to_str().unwrap()] {
            has_all(&refused(&[flag, path]), &[flag, path, "cannot write"]);
        }
    }
    let new = folder.path().join("new").join("state.dump");
    let dev = Dev::start(folder.path(), &["--quiet", "--dump-state", new.to_str().unwrap()]);
    assert!(dev.stop("-TERM").status.success());
    assert!(new.is_file());
}

#[test]
fn a_dump_brings_its_own_genesis() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.dump");
    let file = file.to_str().unwrap();
    for (flags, held) in [
        (&["--chain-id", "5", "--accounts", "3", "--gas-limit", "50000000", "--hardfork", "london"][..], "--chain-id"),
        (&["--consensus", "pbft", "--validators", "4"], "--consensus"),
        (&["--consensus", "pos", "--validators", "2", "--timestamp", "1000000000"], "--timestamp"),
    ] {
        let first = tempfile::tempdir().unwrap();
        let dev = Dev::start(first.path(), &[&["--quiet", "--dump-state", file], flags].concat());
        assert!(dev.rpc("eth_sendTransaction", json!([{ "from": ALICE, "to": BOB, "value": "0x7" }])).is_string());
        let ids =
            |dev: &Dev| (dev.rpc("eth_chainId", json!([])), dev.rpc("eth_getBlockByNumber", json!(["latest", false])));
        let before = ids(&dev);
        assert!(dev.stop("-TERM").status.success());
        for flags in [&[][..], flags] {
            let second = tempfile::tempdir().unwrap();
            let again = Dev::start(second.path(), &[&["--load-state", file], flags].concat());
            assert_eq!(ids(&again), before, "{flags:?}");
            assert!(
                again.rpc("eth_sendTransaction", json!([{ "from": ALICE, "to": BOB, "value": "0x7" }])).is_string()
            );
            has_all(
                &printed(again),
                &[&format!("Loaded State: {file}: 1 block, 1 transaction\n"), "stopped at block 2"],
            );
        }
        let other = match held {
            "--consensus" => "raft",
            _ => "6",
        };
        has_all(&refused(&["--load-state", file, held, other]), &["the dump", file, held, "there it is"]);
    }
    fs::write(file, "no dump").unwrap();
    has_all(&refused(&["--load-state", file]), &[file, "dump: "]);
}

#[test]
fn a_state_file_is_loaded_where_it_is_and_written_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.dump");
    let file = file.to_str().unwrap();
    for height in 1..=3 {
        let elsewhere = tempfile::tempdir().unwrap();
        let dev = Dev::start(elsewhere.path(), &["--state", file, "--chain-id", "77"]);
        assert!(dev.rpc("eth_sendTransaction", json!([{ "from": ALICE, "to": BOB, "value": "0x7" }])).is_string());
        let text = printed(dev);
        assert!(text.contains(&format!("\nwrote {file} (")), "{text}");
        assert!(text.ends_with(&format!(" bytes)\nstopped at block {height}\n")), "{text}");
        assert_eq!(text.contains("Loaded State:"), height > 1, "{text}");
    }
    let elsewhere = tempfile::tempdir().unwrap();
    let dev = Dev::start(elsewhere.path(), &["--quiet", "--state", file, "--state-interval", "1"]);
    let before = fs::read(file).unwrap();
    dev.rpc("evm_mine", json!([]));
    let deadline = now() + LIMIT;
    while fs::read(file).unwrap() == before {
        assert!(now() < deadline, "not written within {LIMIT:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
    has_all(&refused(&["--state", file]), &[file, "another chainbox uses this file"]);
    // Dropping kills it: what the interval wrote is what is left, and the file is free.
    drop(dev);
    let genesis = write(folder.path(), "other.json", &json!({ "chainId": 78 }));
    has_all(&refused(&["--state", file, "--genesis", &genesis]), &[file, &genesis, "Leave out --genesis"]);
    let elsewhere = tempfile::tempdir().unwrap();
    let dev = Dev::start(elsewhere.path(), &["--quiet", "--load-state", file]);
    assert_eq!(dev.rpc("eth_blockNumber", json!([])), "0x4");
}

#[test]
fn evm_bytecode_is_refused_before_it_costs_gas() {
    let folder = tempfile::tempdir().unwrap();
    let dev = Dev::start(folder.path(), &[]);
    let bytecode = "0x6080604052348015600e575f5ffd5b50603e80601a5f395ff3fe";
    let creation = json!([{ "from": ALICE, "data": bytecode, "gas": "0x7a120" }]);
    let (code, message) = error(&dev, "eth_sendTransaction", creation);
    assert_eq!(code, -32000, "{message}");
    has_all(&message, &["EVM bytecode is not supported", "0xefcb00010002", "/v1/templates"]);
    let key: KeyPair = Wallet::from_phrase(chainbox::primitives::DEFAULT_MNEMONIC).unwrap().key(1).unwrap();
    let raw = |input: &str| {
        let input = chainbox::primitives::hex::decode(input).unwrap().into();
        let (gas_limit, fee) = (Gas::new(500_000), 10_000_000_000);
        let request =
            TransactionRequest { chain_id: Some(31_337), input, gas_limit, max_fee_per_gas: fee, ..Default::default() };
        request.sign(&key).unwrap().encoded().to_string()
    };
    let (code, message) = error(&dev, "eth_sendRawTransaction", json!([raw(bytecode)]));
    assert!(code == -32000 && message.contains("EVM bytecode is not supported"), "{message}");
    let (code, message) = error(&dev, "eth_sendRawTransaction", json!([raw("0xef01")]));
    assert!(code == -32000 && message.contains("no template marker"), "{message}");
    // Client libraries show the reason of a revert, and of nothing else that fails an estimate.
    let (code, message) = error(&dev, "eth_estimateGas", json!([{ "from": ALICE, "data": bytecode }]));
    assert!(code == 3 && message.starts_with("execution reverted: EVM bytecode is not supported"), "{message}");
    assert_eq!(dev.rpc("eth_blockNumber", json!([])), "0x0");
    assert_eq!(dev.rpc("eth_getBalance", json!([BOB, "latest"])), "0x21e19e0c9bab2400000");
    has_all(
        &printed(dev),
        &["No EVM: deploy templates, as 0xefcb00010002", "eth_sendTransaction (0) creates a contract"],
    );
}

#[test]
fn the_templates_are_listed_in_words_and_in_json() {
    let printed = |args: &[&str]| {
        let text = String::from_utf8(chainbox(args).output().unwrap().stdout).unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        text
    };
    let list = printed(&["templates"]);
    assert!(list.lines().any(|line| line.starts_with("erc20-token           1        2  ERC-20 token")), "{list}");
    let token = printed(&["templates", "erc20-token"]);
    has_all(&token, &["0xefcb00010002", "string symbol", "transfer(address to, uint256 value)", "_balances"]);
    let refused = chainbox(&["templates", "erc20"]).output().unwrap();
    assert_eq!((refused.status.code(), refused.stdout), (Some(2), vec![]));
    has_all(&String::from_utf8(refused.stderr).unwrap(), &["no template is called \"erc20\"", "erc20-token?"]);
    let output = chainbox(&["templates", "--json"]).output().unwrap();
    let listed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&listed[0]["name"], &listed[0]["bytecode"]), (&json!("erc20-token"), &json!("0xefcb00010002")));
    let name = json!({
        "name": "name", "type": "string", "description": "Name of the token, at most 31 bytes.", "unit": null, "default": null, "optional": false,
        "members": [],
    });
    assert_eq!(listed[0]["constructor"][0], name);
    assert!(listed[0]["abi"].as_array().unwrap().len() > 20, "{listed}");
    let output = chainbox(&["templates", "erc20-token", "--json"]).output().unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&output.stdout).unwrap(), listed[0]);
}

#[test]
fn the_genesis_example_is_a_genesis() {
    let folder = tempfile::tempdir().unwrap();
    let output = chainbox(&["dev", "--genesis-example"]).output().unwrap();
    assert!(output.status.success());
    let path = folder.path().join("genesis.json");
    fs::write(&path, &output.stdout).unwrap();
    let dev = Dev::start(folder.path(), &["--quiet", "--genesis", path.to_str().unwrap()]);
    assert_eq!(dev.config["chainId"], 1337);
    let supply = json!([{ "to": "0x00000000000000000000000000000000000070c0", "data": "0x18160ddd" }, "latest"]);
    assert_eq!(dev.rpc("eth_call", supply), format!("{:#066x}", U256::from(10).pow(U256::from(24))));
    assert_eq!(dev.rpc("eth_getTransactionCount", json!([BOB, "latest"])), "0x7");
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/genesis.md")).unwrap();
    assert!(page.contains(std::str::from_utf8(&output.stdout).unwrap()));
}

#[test]
fn a_genesis_of_geth_is_read_and_what_is_ignored_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let spec = json!({
        "config": { "chainId": 4242, "homesteadBlock": 0, "londonBlock": 0, "shanghaiTime": 0, "clique": { "period": 5, "epoch": 30_000 } },
        "alloc": { ALICE.trim_start_matches("0x"): { "balance": "0xde0b6b3a7640000" } },
        "gasLimit": "0x1c9c380", "baseFeePerGas": "0x7", "timestamp": "0x5f5e100", "extraData": "0x00", "difficulty": "0x1",
    });
    let genesis = write(folder.path(), "geth.json", &spec);
    let dev = Dev::start(folder.path(), &["--genesis", &genesis]);
    assert_eq!(dev.config["chainId"], 4242);
    let block = dev.rpc("eth_getBlockByNumber", json!(["0x0", false]));
    assert_eq!((&block["gasLimit"], &block["baseFeePerGas"]), (&json!("0x1c9c380"), &json!("0x7")));
    assert_eq!((&block["timestamp"], &block["blobGasUsed"]), (&json!("0x5f5e100"), &Value::Null));
    dev.rpc("anvil_setBalance", json!([BOB, "0x1"]));
    let text = printed(dev);
    has_all(
        &text,
        &["Fork:         shanghai", "(0) 0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266 (1 ETH)", "(1973-03-03T09:46:40Z)"],
    );
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    has_all(&text, &["not taken over: extraData: signers of another protocol", "not taken over: config.clique"]);
}

#[test]
fn a_genesis_with_foreign_validators_says_whose_keys_there_are() {
    let folder = tempfile::tempdir().unwrap();
    let genesis = write(folder.path(), "g.json", &json!({ "chainId": 1, "validators": [{ "address": ALICE }] }));
    has_all(
        &refused(&["--genesis", &genesis]),
        &["genesis lists the validators", ALICE, "the keys at hand are those of 0x"],
    );
}

#[test]
fn time_begins_at_the_timestamp_and_blocks_may_take_half_a_second() {
    let folder = tempfile::tempdir().unwrap();
    let flags = ["--timestamp", "1000000000", "--block-time", "0.5", "--balance", "0.5", "--accounts", "1"];
    let dev = Dev::start(folder.path(), &[&["--quiet"][..], &flags].concat());
    assert_eq!(dev.rpc("eth_getBalance", json!([ALICE, "latest"])), "0x6f05b59d3b20000");
    let block = |tag: &str| dev.rpc("eth_getBlockByNumber", json!([tag, false]));
    assert_eq!(block("0x0")["timestamp"], "0x3b9aca00");
    let deadline = now() + LIMIT;
    while block("0x2").is_null() {
        assert!(now() < deadline, "no block within {LIMIT:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
    let second = u64::from_str_radix(&block("0x2")["timestamp"].as_str().unwrap()[2..], 16).unwrap();
    assert!((1_000_000_000..1_000_000_000 + LIMIT.as_secs()).contains(&second), "{second}");
}

#[test]
fn unknown_functions_and_constructors_without_parameters_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let dev = Dev::start(folder.path(), &["--genesis", &example(folder.path())]);
    let token = "0x00000000000000000000000000000000000070c0";
    for (method, request, words) in [
        (
            "eth_call",
            json!({ "to": token, "data": "0x12345678" }),
            "erc20-token has no function with selector 0x12345678",
        ),
        (
            "eth_estimateGas",
            json!({ "to": token, "data": "0x12345678" }),
            "erc20-token has no function with selector 0x12345678",
        ),
        (
            "eth_sendTransaction",
            json!({ "from": ALICE, "to": token, "data": "0xa9059cbb" }),
            "transfer(address,uint256) of erc20-token",
        ),
        (
            "eth_sendTransaction",
            json!({ "from": ALICE, "data": "0xefcb00010002" }),
            "the constructor of erc20-token do not decode",
        ),
    ] {
        let (code, message) = error(&dev, method, json!([request]));
        assert!(
            code == 3 && message.starts_with("execution reverted: ") && message.contains(words),
            "{method}: {message}"
        );
    }
    let gas_given = json!([{ "from": ALICE, "to": token, "data": "0x12345678", "gas": "0x186a0" }]);
    assert!(dev.rpc("eth_sendTransaction", gas_given).is_string());
    let text = printed(dev);
    has_all(&text, &["eth_call -> erc20-token#1 4 bytes of call data  failed: erc20-token has no function"]);
    let mined = text.lines().find(|line| line.starts_with("block 1: ")).unwrap();
    assert!(mined.ends_with("failed: erc20-token has no function with selector 0x12345678"), "{mined}");
}

/// Writes the example of a genesis.
fn example(folder: &Path) -> String {
    let path = folder.join("example.json");
    fs::write(&path, chainbox::chain::GenesisSpec::EXAMPLE).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Every example of the help, as a new user types it, with a free port.
#[test]
fn the_examples_of_the_help_work_at_the_first_run() {
    let output = chainbox(&["dev", "--help"]).output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    let (_, examples) = help.split_once("Examples:\n").unwrap();
    let commands = examples.lines().filter_map(|line| line.trim_start().strip_prefix("chainbox dev"));
    let commands: Vec<&str> = commands.map(|rest| rest.split("  ").next().unwrap().trim()).collect();
    assert!(commands.len() >= 8, "{commands:?}");
    for command in commands {
        if command.contains("--db-path") && cfg!(not(feature = "rocksdb")) {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let flags: Vec<&str> = command.split_whitespace().collect();
        let mut process = chainbox(&["dev"]);
        process.args(&flags).env("CHAINBOX_PORT", "0").current_dir(folder.path());
        if command.contains("--genesis-example") {
            assert!(process.output().unwrap().status.success(), "{command}");
            continue;
        }
        let config = folder.path().join("node.json");
        process.env("CHAINBOX_CONFIG_OUT", &config);
        let mut child = process.spawn().unwrap();
        let deadline = now() + LIMIT;
        while !config.exists() {
            assert!(
                child.try_wait().unwrap().is_none() && now() < deadline,
                "{command}: {:?}",
                child.wait_with_output()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
