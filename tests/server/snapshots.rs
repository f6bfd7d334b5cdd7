//! Snapshots of a development node's chain and its time cover the platform: its records and its clock.

use std::{path::Path, sync::Arc, time::Duration};

use chainbox::{
    node::ManualClock,
    primitives::Timestamp,
    server::{date, now_ms},
    system::governance::GOVERNANCE_ADDRESS,
    templates::BATCH_ADDRESS,
};
use serde_json::{Value, json};

use crate::{
    binary::{Dev, LIMIT, now},
    http::Service,
    person::Person,
    serving::{Answer, send},
    specification::{Site, access_token},
};

fn rest(dev: &Dev, key: &str, method: &str, path: &str, body: &Value) -> Answer {
    let headers = format!("authorization: Bearer {key}\r\ncontent-type: application/json\r\n");
    let body = if body.is_null() { String::new() } else { body.to_string() };
    send(&dev.address(), method, path, &headers, &body).unwrap()
}

/// The chain's Ethereum JSON-RPC under `/v1`.
fn eth(dev: &Dev, key: &str, method: &str, params: Value) -> Value {
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let answer = rest(dev, key, "POST", "/v1/blockchains/bc_default/eth", &call).json();
    answer.get("result").unwrap_or_else(|| panic!("{method}: {answer}")).clone()
}

#[test]
fn a_snapshot_of_the_default_chain_covers_its_deployments_and_time_travel_the_keys_expiry() {
    let folder = tempfile::tempdir().unwrap();
    let dev = Dev::start(folder.path(), &["--quiet"]);
    let key = dev.config["apiKey"].as_str().unwrap().to_owned();
    let deploy = |symbol: &str| {
        let params = json!({ "name": "Gold", "symbol": symbol, "totalSupply": "1" });
        let body = json!({ "blockchainId": "bc_default", "template": "erc20-token", "params": params });
        rest(&dev, &key, "POST", "/v1/contracts/deploy", &body).data()
    };
    let listed = || {
        let all = rest(&dev, &key, "GET", "/v1/contracts", &Value::Null).data();
        let all = all.as_array().unwrap().iter();
        all.map(|one| (one["id"].clone(), one["status"].clone())).collect::<Vec<_>>()
    };
    let first = deploy("ONE");
    let short = json!({ "name": "short", "scopes": ["blockchain:read"], "expiresIn": "1h" });
    let short = rest(&dev, &key, "POST", "/v1/auth/api-keys", &short).data()["key"].as_str().unwrap().to_owned();
    let works = || rest(&dev, &short, "GET", "/v1/blockchains", &Value::Null).status;
    assert_eq!(works(), 200);

    let snapshot = eth(&dev, &key, "evm_snapshot", json!([]));
    let second = deploy("TWO");
    // One that waits for its block when the snapshot is reverted to.
    eth(&dev, &key, "evm_setAutomine", json!([false]));
    let third = deploy("THREE");
    assert_eq!((listed().len(), &third["status"]), (3, &json!("pending")));
    eth(&dev, &key, "evm_increaseTime", json!([3_700]));
    assert_eq!(works(), 401, "the platform's clock goes with the chain's time");
    assert_eq!(eth(&dev, &key, "evm_revert", json!([snapshot])), true);
    assert_eq!(listed(), [(first["id"].clone(), json!("deployed"))]);
    assert_eq!(works(), 200, "and back");
    for gone in [&second, &third] {
        let path = format!("/v1/contracts/{}", gone["id"].as_str().unwrap());
        assert_eq!(rest(&dev, &key, "GET", &path, &Value::Null).status, 404);
    }
    eth(&dev, &key, "evm_setAutomine", json!([true]));
    // Nonces go on from the snapshot's, and so do addresses.
    let again = deploy("TWO");
    assert_eq!((&again["contractAddress"], &again["status"]), (&second["contractAddress"], &json!("deployed")));
    assert_eq!(eth(&dev, &key, "evm_revert", json!([snapshot])), false, "it was used");
    assert_eq!(listed().len(), 2);

    // A deployment that waited at the snapshot waits again after it.
    eth(&dev, &key, "evm_setAutomine", json!([false]));
    let waiting = deploy("WAIT");
    let snapshot = eth(&dev, &key, "evm_snapshot", json!([]));
    eth(&dev, &key, "evm_mine", json!([]));
    assert_eq!(listed()[2], (waiting["id"].clone(), json!("deployed")));
    deploy("LATE");
    assert_eq!(eth(&dev, &key, "evm_revert", json!([snapshot])), true);
    assert_eq!(listed()[2..], [(waiting["id"].clone(), json!("pending"))]);
    eth(&dev, &key, "evm_mine", json!([]));
    assert_eq!(listed()[2..], [(waiting["id"].clone(), json!("deployed"))]);
    let deadline = now() + LIMIT;
    assert!(dev.stop("-TERM").status.success() && now() < deadline);
}

/// A rollback takes the deployment of its block away, a reorg and a reset all that is not made again.
#[test]
fn a_rollback_a_reorg_and_a_reset_of_the_default_chain_take_its_deployments_back() {
    let folder = tempfile::tempdir().unwrap();
    let dev = Dev::start(folder.path(), &["--quiet"]);
    let key = dev.config["apiKey"].as_str().unwrap().to_owned();
    let deploy = |symbol: &str| {
        let params = json!({ "name": "Gold", "symbol": symbol, "totalSupply": "1" });
        let body = json!({ "blockchainId": "bc_default", "template": "erc20-token", "params": params });
        let made = rest(&dev, &key, "POST", "/v1/contracts/deploy", &body).data();
        assert_eq!(made["status"], "deployed", "{made}");
        made["id"].clone()
    };
    let listed = || {
        let all = rest(&dev, &key, "GET", "/v1/contracts", &Value::Null).data();
        all.as_array().unwrap().iter().map(|one| one["id"].clone()).collect::<Vec<_>>()
    };
    let first = deploy("ONE");
    deploy("TWO");
    eth(&dev, &key, "anvil_rollback", json!([1]));
    assert_eq!(listed(), core::slice::from_ref(&first));
    deploy("TWO");
    eth(&dev, &key, "anvil_reorg", json!([1, []]));
    assert_eq!(listed(), [first]);
    eth(&dev, &key, "anvil_reset", json!([]));
    assert!(listed().is_empty());
    let again = deploy("ONE");
    assert_eq!(listed(), [again]);
    assert!(dev.stop("-TERM").status.success());
}

/// A loaded dump takes back what was made since it, and leaves what the loaded chain has, also over a restart. One that is refused takes
/// nothing back.
#[test]
fn a_load_takes_back_what_the_loaded_chain_has_not() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("db");
    // Without a database the next process begins anew.
    let options = match cfg!(feature = "rocksdb") {
        true => vec!["--quiet", "--db-path", database.to_str().unwrap()],
        false => vec!["--quiet"],
    };
    let dev = Dev::start(folder.path(), &options);
    let key_of = |dev: &Dev| dev.config["apiKey"].as_str().unwrap().to_owned();
    let key = key_of(&dev);
    let made = |path: &str, body: Value| {
        let answer = rest(&dev, &key, "POST", path, &body);
        assert!(answer.is_success(), "{path}: {}", answer.body);
        answer.data()
    };
    let make_each = |name: &str| {
        let token = json!({ "name": name, "symbol": "GLD", "totalSupply": "1" });
        let deployment = json!({ "blockchainId": "bc_default", "template": "erc20-token", "params": token });
        made("/v1/contracts/deploy", deployment);
        let components = json!([{ "type": "token", "config": token }]);
        made("/v1/dapps", json!({ "name": name, "blockchainId": "bc_default", "components": components }));
        let project = json!({ "name": name, "template": "erc20-token", "config": { "blockchain": "bc_default" } });
        made("/v1/workspaces/ws_default/projects", project);
    };
    // Everything on the chain, with its state.
    let listed = |dev: &Dev| {
        let all = rest(dev, &key_of(dev), "GET", "/v1/resources?limit=100", &Value::Null).data();
        let here = all.as_array().unwrap().iter().filter(|one| one["blockchainId"] == "bc_default");
        here.map(|one| ["type", "id", "status"].map(|field| one[field].as_str().unwrap().to_owned()))
            .collect::<Vec<_>>()
    };
    let none = listed(&dev);
    let empty = eth(&dev, &key, "anvil_dumpState", json!([]));
    make_each("kept");
    let (with_kept, dump) = (listed(&dev), eth(&dev, &key, "anvil_dumpState", json!([])));
    assert_eq!(with_kept.len(), none.len() + 3, "{with_kept:?}");
    make_each("gone");
    let all = listed(&dev);
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "anvil_loadState", "params": ["0x7b7d"] });
    let refused = rest(&dev, &key, "POST", "/v1/blockchains/bc_default/eth", &call).json();
    assert!(refused["error"].is_object(), "{refused}");
    assert_eq!(listed(&dev), all);
    assert_eq!(eth(&dev, &key, "anvil_loadState", json!([dump])), true);
    assert_eq!(listed(&dev), with_kept);

    assert_eq!(eth(&dev, &key, "anvil_loadState", json!([empty])), true);
    assert_eq!((listed(&dev), eth(&dev, &key, "eth_blockNumber", json!([]))), (none.clone(), json!("0x0")));
    assert!(dev.stop("-TERM").status.success());
    std::fs::remove_file(folder.path().join("config.json")).unwrap();
    let dev = Dev::start(folder.path(), &options);
    let nothing = json!({ "pending": "0x0", "queued": "0x0" });
    assert_eq!((listed(&dev), eth(&dev, &key_of(&dev), "txpool_status", json!([]))), (none, nothing));
    assert!(dev.stop("-TERM").status.success());
}

/// A development node whose genesis has governance, the first account's registry of modules, and the contract that makes others.
fn governed(folder: &Path) -> Dev {
    let dev = Dev::start(folder, &["--quiet"]);
    let key = dev.config["apiKey"].as_str().unwrap();
    let validators = rest(&dev, key, "GET", "/v1/blockchains/bc_default/validators", &Value::Null).data();
    let sealing = validators[0]["sealingAddress"].clone();
    assert!(dev.stop("-TERM").status.success());

    let genesis = folder.join("genesis.json");
    let account = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
    let spec = json!({
        "chainId": 31337, "accounts": { account: { "balance": "1000000000000000000000" } },
        "contracts": [{ "address": BATCH_ADDRESS, "template": "batch" }],
        "validators": [{ "address": sealing, "operator": account }],
        "governance": { "minVotingPeriodSecs": 10 }, "parameters": { "owner": GOVERNANCE_ADDRESS },
        "modules": { "authority": account }, "validatorRegistry": { "administrator": GOVERNANCE_ADDRESS },
    });
    std::fs::write(&genesis, spec.to_string()).unwrap();
    std::fs::remove_file(folder.join("config.json")).unwrap();
    Dev::start(folder, &["--quiet", "--genesis", genesis.to_str().unwrap()])
}

/// With governance in its genesis the default chain has proposals, and a snapshot covers them with their votes and what they have changed.
#[test]
fn a_snapshot_of_the_default_chain_covers_its_proposals() {
    let folder = tempfile::tempdir().unwrap();
    let dev = governed(folder.path());
    let key = dev.config["apiKey"].as_str().unwrap().to_owned();
    let propose = |limit: &str| {
        let body = json!({
            "blockchainId": "bc_default", "title": limit, "type": "parameter-change", "changes": { "gasLimit": limit }, "votingPeriod": "60s",
        });
        let answer = rest(&dev, &key, "POST", "/v1/governance/proposals", &body);
        assert_eq!(answer.status, 201, "{}", answer.body);
        format!("/v1/governance/proposals/{}", answer.data()["id"].as_str().unwrap())
    };
    let shown = |path: &str| rest(&dev, &key, "GET", path, &Value::Null).data();
    let limit = || eth(&dev, &key, "eth_getBlockByNumber", json!(["latest", false]))["gasLimit"].clone();
    let carry = |path: &str| {
        assert_eq!(rest(&dev, &key, "POST", &format!("{path}/vote"), &json!({ "vote": "yes" })).status, 200);
        eth(&dev, &key, "evm_increaseTime", json!([61]));
        (0..3).for_each(|_| drop(eth(&dev, &key, "evm_mine", json!([]))));
    };
    let first = propose("40000000");
    assert_eq!(shown(&first)["status"], "active");
    let snapshot = eth(&dev, &key, "evm_snapshot", json!([]));
    let second = propose("50000000");
    carry(&first);
    assert_eq!((&shown(&first)["status"], limit()), (&json!("executed"), json!("0x2625a00")));

    assert_eq!(eth(&dev, &key, "evm_revert", json!([snapshot])), true);
    let back = shown(&first);
    assert_eq!((&back["status"], &back["tally"]["yes"], limit()), (&json!("active"), &json!("0"), json!("0x1c9c380")));
    assert_eq!(rest(&dev, &key, "GET", &second, &Value::Null).status, 404);
    let listed = rest(&dev, &key, "GET", "/v1/resources?type=proposal", &Value::Null).data();
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed}");
    carry(&first);
    assert_eq!((&shown(&first)["status"], limit()), (&json!("executed"), json!("0x2625a00")));
    assert!(dev.stop("-TERM").status.success());
}

/// Proposal, deployment, dApp, project and module go back together; what is not of the chain stays, and the mail that was due is sent.
#[test]
fn one_revert_takes_back_all_that_was_done_on_the_default_chain_and_no_mail() {
    let folder = tempfile::tempdir().unwrap();
    let dev = governed(folder.path());
    let key = dev.config["apiKey"].as_str().unwrap().to_owned();
    let made = |path: &str, body: Value| {
        let answer = rest(&dev, &key, "POST", path, &body);
        assert!(answer.is_success(), "{path}: {}", answer.body);
        answer.data()
    };
    let make_each = |name: &str, module: &Value| {
        let token = json!({ "name": name, "symbol": "GLD", "totalSupply": "1" });
        let (chain, changes) = ("bc_default", json!({ "gasLimit": "40000000" }));
        made(
            "/v1/governance/proposals",
            json!({ "blockchainId": chain, "title": name, "type": "parameter-change", "changes": changes, "votingPeriod": "60s" }),
        );
        made("/v1/contracts/deploy", json!({ "blockchainId": chain, "template": "erc20-token", "params": token }));
        let components = json!([{ "type": "token", "config": token }]);
        made("/v1/dapps", json!({ "name": name, "blockchainId": chain, "components": components }));
        let project = json!({ "name": name, "template": "erc20-token", "config": { "blockchain": chain } });
        let project = made("/v1/workspaces/ws_default/projects", project);
        made("/v1/blockchains/bc_default/modules", module.clone());
        project
    };
    // Everything on the chain, with its state.
    let listed = || {
        let all = rest(&dev, &key, "GET", "/v1/resources?limit=100", &Value::Null).data();
        let here = all.as_array().unwrap().iter().filter(|one| one["blockchainId"] == "bc_default");
        here.map(|one| ["type", "id", "status"].map(|field| one[field].as_str().unwrap().to_owned()))
            .collect::<Vec<_>>()
    };
    let defi = json!({ "module": "defi", "config": { "features": ["staking"] } });
    make_each("kept", &json!({ "module": "nft" }));
    let before = listed();
    for kind in ["proposal", "contract", "dapp", "project", "module"] {
        assert_eq!(before.iter().filter(|[one, ..]| one == kind).count(), 1, "{kind}: {before:?}");
    }
    let snapshot = eth(&dev, &key, "evm_snapshot", json!([]));
    let gone = make_each("gone", &defi);
    made("/v1/workspaces/ws_default/invitations", json!({ "email": "bob@example.org", "role": "viewer" }));
    assert_eq!(listed().len(), before.len() + 5);

    assert_eq!(eth(&dev, &key, "evm_revert", json!([snapshot])), true);
    assert_eq!(listed(), before);
    let invitations = rest(&dev, &key, "GET", "/v1/workspaces/ws_default/invitations", &Value::Null).data();
    assert_eq!(invitations[0]["status"], "open", "{invitations}");
    let mails = send(&dev.address(), "GET", "/oauth/mailbox", "accept: application/json\r\n", "").unwrap().json();
    let to: Vec<&Value> = mails["mails"].as_array().unwrap().iter().map(|mail| &mail["to"]).collect();
    assert_eq!(to, ["bob@example.org"]);
    // Others take the same nonces and addresses, and are not what was taken back.
    let again = make_each("gone", &defi);
    assert_eq!(again["contracts"], gone["contracts"]);
    assert_ne!(again["id"], gone["id"]);
    assert_eq!(listed().len(), before.len() + 5);
    assert!(dev.stop("-TERM").status.success());
}

/// One clock: what waits for time on the default chain, on another chain and in the service's records moves with `evm_increaseTime`; a
/// revert takes the default chain's deployments back, and not the blocks of the other chain.
#[test]
fn time_travel_ends_votes_and_invitations_and_a_revert_leaves_other_chains() {
    let folder = tempfile::tempdir().unwrap();
    let dev = Dev::start(folder.path(), &["--quiet"]);
    let key = dev.config["apiKey"].as_str().unwrap().to_owned();
    let data = |method: &str, path: &str, body: Value| {
        let answer = rest(&dev, &key, method, path, &body);
        assert!(answer.status < 300, "{method} {path}: {}", answer.body);
        answer.data()
    };
    let until = |path: &str, is_wanted: &dyn Fn(&Value) -> bool| {
        let deadline = now() + LIMIT;
        loop {
            let found = data("GET", path, Value::Null);
            if is_wanted(&found) {
                return found;
            }
            assert!(now() < deadline, "{path}: {found}");
            std::thread::sleep(Duration::from_millis(100));
        }
    };
    let chain = data("POST", "/v1/blockchains", json!({ "name": "paced", "config": { "blockTime": "1s" } }));
    let chain = chain["id"].as_str().unwrap();
    let body = json!({
        "blockchainId": chain, "title": "Slower", "type": "parameter-change", "changes": { "blockTime": "2s" }, "votingPeriod": "30d",
    });
    let proposal = data("POST", "/v1/governance/proposals", body);
    let proposal = format!("/v1/governance/proposals/{}", proposal["id"].as_str().unwrap());
    until(&proposal, &|found| found["status"] == "active");
    data("POST", &format!("{proposal}/vote"), json!({ "vote": "yes" }));
    until(&proposal, &|found| found["tally"]["yes"] == "1");
    let invited = json!({ "email": "bob@example.org", "role": "viewer" });
    let invited = data("POST", "/v1/workspaces/ws_default/invitations", invited);
    assert_eq!(invited["status"], "open", "{invited}");

    let snapshot = eth(&dev, &key, "evm_snapshot", json!([]));
    let params = json!({ "name": "Gold", "symbol": "GLD", "totalSupply": "1" });
    let deployment = json!({ "blockchainId": "bc_default", "template": "erc20-token", "params": params });
    data("POST", "/v1/contracts/deploy", deployment);
    eth(&dev, &key, "evm_increaseTime", json!([31 * 86_400]));
    let executed = until(&proposal, &|found| found["status"] != "active" && found["status"] != "passed");
    assert_eq!(executed["status"], "executed", "{executed}");
    let invitations = data("GET", "/v1/workspaces/ws_default/invitations", Value::Null);
    assert_eq!(invitations[0]["status"], "expired", "{invitations}");

    assert_eq!(eth(&dev, &key, "evm_revert", json!([snapshot])), true);
    assert_eq!(data("GET", "/v1/contracts", Value::Null).as_array().map(Vec::len), Some(0));
    assert_eq!(data("GET", &proposal, Value::Null)["status"], "executed", "the other chain's blocks stay");
    let path = format!("/v1/blockchains/{chain}/metrics");
    let height = data("GET", &path, Value::Null)["currentBlock"].as_u64().unwrap();
    until(&path, &|found| found["currentBlock"].as_u64() > Some(height));
    assert!(dev.stop("-TERM").status.success());
}

/// One clock: an access token expires by it, and each chain is sampled at it, that of the process and another; where a revert takes it back,
/// each is sampled from there on at once.
#[test]
fn time_travel_ends_access_tokens_and_moves_the_samples_of_every_chain() {
    const METRIC: &str = "metric=tps&granularity=15s";
    let site = Site::start();
    let mut person = Person::at(&site.address);
    person.signs_up("ann@example.org");
    let (token, _) = access_token(&site, &mut person);
    let bearer = format!("authorization: Bearer {token}\r\n");
    let admitted = || send(&site.address, "GET", "/v1/workspaces", &bearer, "").unwrap().status;
    let other = site.make("/v1/blockchains", json!({ "name": "other" }))["id"].as_str().unwrap().to_owned();
    let points = |chain: &str, query: &str| {
        let path = format!("/v1/analytics/timeseries?blockchainId={chain}&{METRIC}{query}");
        site.call("GET", &path, &Value::Null).data()["points"].as_array().unwrap().clone()
    };
    // Dates to the second, whose order is that of their texts.
    let at = |point: &Value| point["timestamp"].as_str().unwrap()[..19].to_owned();
    let in_secs = |secs: u64| date(Timestamp::from_secs(now_ms() / 1_000 + secs))[..19].to_owned();
    let sampled_since = |moment: &str| {
        let deadline = now() + LIMIT;
        for chain in ["bc_default", other.as_str()] {
            while points(chain, "").last().is_none_or(|point| *at(point) < *moment) {
                assert!(now() < deadline, "{chain} has no sample since {moment}: {:?}", points(chain, ""));
                std::thread::sleep(Duration::from_millis(200));
            }
        }
    };
    let began = in_secs(0);
    sampled_since(&began);
    assert_eq!(admitted(), 200);

    let eth = |method: &str, params: Value| {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let answer = site.call("POST", "/v1/blockchains/bc_default/eth", &call);
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()["result"].clone()
    };
    let snapshot = eth("evm_snapshot", json!([]));

    // An access token lives for an hour. A sample of the moved time begins less than 15 s before it.
    let moved = in_secs(7_200 - 20);
    eth("evm_increaseTime", json!([7_200]));
    assert_eq!(admitted(), 401, "the token has expired by the chain's time");
    sampled_since(&moved);
    let gap_ends = in_secs(7_200 - 300);
    for chain in ["bc_default", other.as_str()] {
        let all = points(chain, &format!("&from={began}Z"));
        let (after, before): (Vec<String>, Vec<String>) = all.iter().map(at).partition(|at| *at >= moved);
        assert!(!after.is_empty(), "{chain}: {all:?}");
        assert!(before.iter().all(|at| *at < gap_ends), "{chain} has points of the time that was left out: {all:?}");
    }

    let back = in_secs(0);
    assert_eq!(eth("evm_revert", json!([snapshot])), true);
    let deadline = now() + LIMIT;
    for chain in ["bc_default", other.as_str()] {
        loop {
            let all: Vec<String> = points(chain, &format!("&from={began}Z")).iter().map(at).collect();
            assert!(all.iter().all(|at| *at < in_secs(60)), "{chain} has points of the time that was left: {all:?}");
            if all.last().is_some_and(|last| *last >= back) {
                break;
            }
            assert!(now() < deadline, "{chain} has no sample since {back}: {all:?}");
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

/// The chain has less after a revert than it had: its figures over time count what it makes from there on, and not from where it was.
#[tokio::test]
async fn figures_over_time_count_what_is_made_after_a_revert() {
    let clock = Arc::new(ManualClock::new(Timestamp::from_secs(1_800_057_600)));
    let service = Service::timed(clock.clone()).await;
    let accounts = service.rpc("eth_accounts", json!([])).await["result"].take();
    let payment = json!({ "from": accounts[0], "to": accounts[1], "value": "0x1" });
    let pay_and_pass = async |payments: usize| {
        for _ in 0..payments {
            let sent = service.rpc("eth_sendTransaction", json!([payment])).await;
            assert!(sent["result"].is_string(), "{sent}");
        }
        clock.advance(Duration::from_secs(15));
        service.platform.analytics().sample().unwrap();
    };
    service.platform.analytics().sample().unwrap();
    pay_and_pass(1).await;
    let snapshot = service.rpc("evm_snapshot", json!([])).await["result"].take();
    pay_and_pass(4).await;
    assert_eq!(service.rpc("evm_revert", json!([snapshot])).await["result"], true);
    pay_and_pass(3).await;
    pay_and_pass(2).await;
    for (metric, of_one) in [("transactions", 1.0), ("gasUsed", 21_000.0)] {
        let path = format!("/v1/analytics/timeseries?blockchainId=bc_default&metric={metric}&granularity=15s");
        let points = service.rest("GET", &path, Value::Null).await.json()["data"]["points"].take();
        let values: Vec<f64> =
            points.as_array().unwrap().iter().map(|point| point["value"].as_f64().unwrap() / of_one).collect();
        assert_eq!(values, [0.0, 1.0, 4.0, 3.0, 2.0], "{metric}: {points}");
    }
}
