//! `chainbox db` and backups of a running service, with the real binary.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Output,
    time::Duration,
};

use chainbox::platform::Role;
use serde_json::{Value, json};

use crate::{
    binary::{LIMIT, chainbox, now},
    serving::{Serving, database, send},
};

fn db(args: &[&str]) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } = chainbox(&[&["db"], args].concat()).output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap() + &String::from_utf8(stderr).unwrap())
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// Reading routes whose answers are of the moment (a restart begins each replica at the head), and those that need no data.
const OF_THE_MOMENT: [&str; 5] =
    ["/v1/health", "/v1/analytics/timeseries", "/v1/openapi.json", "/v1/docs", "/v1/validators/{validatorId}/status"];

/// What every reading route of the OpenAPI document shows of everything that was made, by path.
fn shown(service: &Serving, key: &str) -> BTreeMap<String, Value> {
    let document = service.request(key, "GET", "/v1/openapi.json", &Value::Null).json();
    let paths = document["paths"].as_object().unwrap();
    let reading =
        paths.iter().filter(|(path, item)| item["get"].is_object() && !OF_THE_MOMENT.contains(&path.as_str()));
    let mut shown = BTreeMap::new();
    for path in reading.flat_map(|(template, _)| filled(service, key, template)) {
        // All of the list that has everything.
        let target = if path == "/v1/resources" { format!("{path}?limit=100") } else { path.clone() };
        let answer = service.request(key, "GET", &target, &Value::Null);
        // Of what the protocol lacks, such as delegations.
        if answer.status == 409 {
            shown.insert(path, answer.json()["error"]["message"].take());
            continue;
        }
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        let json: Option<Value> = serde_json::from_str(&answer.body).ok();
        let mut data = json.map_or(Value::from(answer.body), |json| json.get("data").cloned().unwrap_or(json));
        without_counts_of_requests(&mut data);
        if path == "/v1/resources" {
            // A start notes which deployments blocks have, and changes their records by it.
            data.as_array_mut().unwrap().iter_mut().for_each(|item| item["updatedAt"] = Value::Null);
        }
        shown.insert(path, data);
    }
    shown
}

fn assert_same(got: &BTreeMap<String, Value>, want: &BTreeMap<String, Value>, after: &str) {
    for (path, want) in want {
        let got = got.get(path).unwrap_or_else(|| panic!("{path} is not shown after {after}"));
        match (got.as_array(), want.as_array()) {
            // A backup is a line of its own.
            (Some(got), Some(want)) if path.ends_with("/audit") => {
                assert!(got.starts_with(want), "{path} after {after}")
            }
            _ => assert_eq!(got, want, "{path} after {after}"),
        }
    }
    assert_eq!(got.len(), want.len(), "after {after}");
}

/// Each resource of the list has the state that its own route tells.
fn assert_states_are_those_of_their_routes(shown: &BTreeMap<String, Value>) {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut compared = std::collections::BTreeSet::new();
    for resource in shown["/v1/resources"].as_array().unwrap() {
        let (id, kind) = (text(&resource["id"]), text(&resource["type"]));
        let own = match kind.as_str() {
            "api-key" => format!("/v1/auth/api-keys/{id}"),
            "blockchain" => format!("/v1/blockchains/{id}"),
            "contract" => format!("/v1/contracts/{id}"),
            "module" => {
                format!("/v1/blockchains/{}/modules/{}", text(&resource["blockchainId"]), text(&resource["name"]))
            }
            "project" => format!("/v1/workspaces/{}/projects/{id}", text(&resource["workspaceId"])),
            "dapp" => format!("/v1/dapps/{id}"),
            "validator" => format!("/v1/validators/{id}"),
            "proposal" => format!("/v1/governance/proposals/{id}"),
            "webhook" => {
                let is_enabled = shown[&format!("/v1/webhooks/{id}")]["enabled"].as_bool().unwrap();
                assert_eq!(resource["status"], if is_enabled { "enabled" } else { "disabled" }, "{id}");
                compared.insert(kind);
                continue;
            }
            "invitation" => {
                let path = format!("/v1/workspaces/{}/invitations", text(&resource["workspaceId"]));
                let own = shown[&path].as_array().unwrap().iter().find(|one| one["id"] == resource["id"]).unwrap();
                assert_eq!(resource["status"], own["status"], "{id}");
                compared.insert(kind);
                continue;
            }
            // They have no states.
            "workspace" | "wallet" | "oauth-client" | "member" => continue,
            other => panic!("say here what the route of {other} is"),
        };
        assert_eq!(resource["status"], shown[&own]["status"], "{own}");
        compared.insert(kind);
    }
    assert_eq!(compared.len(), 10, "{compared:?}");
}

/// The paths of a template, with the ids of everything that there is.
pub(crate) fn filled(service: &Serving, key: &str, template: &str) -> Vec<String> {
    let Some((before, rest)) = template.split_once('{') else { return vec![template.to_owned()] };
    let (parameter, after) = rest.split_once('}').unwrap();
    let each = |list: &str, field: &str| {
        let items = service.all(key, list);
        items.iter().map(|item| item[field].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let of_chains = |list: &str, field: &str| {
        let chains = each("/v1/blockchains", "id").into_iter();
        chains.flat_map(|id| each(&format!("/v1/blockchains/{id}/{list}"), field)).collect()
    };
    let chain = before.strip_prefix("/v1/blockchains/").and_then(|rest| rest.split('/').next()).unwrap_or_default();
    let ids: Vec<String> = match parameter {
        "workspaceId" => each("/v1/workspaces", "id"),
        "apiKeyId" => each("/v1/auth/api-keys", "id"),
        "blockchainId" => each("/v1/blockchains", "id"),
        "deploymentId" => each("/v1/contracts", "id"),
        "tokenId" => each("/v1/tokens", "id"),
        "dappId" => each("/v1/dapps", "id"),
        "projectId" => each(&format!("{}projects", before.trim_end_matches("projects/")), "id"),
        "module" => each(&format!("/v1/blockchains/{chain}/modules"), "id"),
        "webhookId" => each("/v1/webhooks", "id"),
        "clientId" => each("/v1/oauth-clients", "id"),
        "validatorId" => of_chains("validators", "id"),
        "proposalId" => of_chains("proposals", "id"),
        "block" => vec!["latest".to_owned()],
        "hash" => each(&format!("/v1/blockchains/{chain}/transactions"), "hash"),
        "address" => {
            let treasury = service.get(key, &format!("/v1/blockchains/{chain}"))["treasury"].clone();
            vec![treasury.as_str().unwrap().to_owned()]
        }
        other => panic!("say here where the ids of {other} come from"),
    };
    ids.into_iter().flat_map(|id| filled(service, key, &format!("{before}{id}{after}"))).collect()
}

/// Makes a network of four, one of which is stopped, with a fifth that joins, and pauses it.
fn paused_network(service: &Serving, key: &str) -> String {
    let make = |path: &str, body: Value| service.request(key, "POST", path, &body).data();
    let address = |number: u8| alloy_primitives::Address::repeat_byte(number).to_string();
    let validators: Vec<Value> = (1..5).map(|number| json!({ "address": address(number) })).collect();
    let body = json!({ "name": "network", "config": { "blockTime": "1s" }, "validators": validators });
    let id = make("/v1/blockchains", body)["id"].as_str().unwrap().to_owned();
    let path = |rest: &str| format!("/v1/blockchains/{id}{rest}");
    let listed = service.get(key, &path("/validators"));
    make(&format!("/v1/validators/{}/stop", listed[0]["id"].as_str().unwrap()), Value::Null);
    make(&path("/validators"), json!({ "address": address(5), "name": "five", "metadata": { "location": "Bern" } }));
    let deadline = now() + LIMIT;
    while service.get(key, &path("/metrics"))["totalTransactions"] == 0 {
        assert!(now() < deadline, "no block has the transaction of the fifth");
        std::thread::sleep(Duration::from_millis(50));
    }
    make(&path("/pause"), Value::Null);
    id
}

/// Makes a chain with stake, some of which is delegated; returns the path of the delegations.
fn staked_chain(service: &Serving, key: &str) -> String {
    let make = |path: &str, body: Value| service.request(key, "POST", path, &body).data();
    let operator = alloy_primitives::Address::repeat_byte(9).to_string();
    let body = json!({ "name": "staked", "consensus": "proof-of-stake", "validators": [{ "address": operator }] });
    let chain = make("/v1/blockchains", body)["id"].as_str().unwrap().to_owned();
    let listed = service.get(key, &format!("/v1/blockchains/{chain}/validators"));
    let path = format!("/v1/validators/{}/delegations", listed[0]["id"].as_str().unwrap());
    make(&path, json!({ "amount": "2000000000000000000" }));
    path
}

/// Registers an application; returns its id.
fn client(service: &Serving, key: &str) -> String {
    let metadata = json!({
        "client_name": "App", "redirect_uris": ["https://app.example/cb"], "scope": "workspace:read",
        "token_endpoint_auth_method": "client_secret_post",
    });
    let answer = service.request(key, "POST", "/oauth/register", &metadata);
    assert_eq!(answer.status, 201, "{}", answer.body);
    answer.json()["client_id"].as_str().unwrap().to_owned()
}

/// Returns whether the authorization server lets the application ask for access: an unknown one is told so.
fn knows_client(service: &Serving, client: &str) -> bool {
    let path = format!(
        "/oauth/authorize?client_id={client}&redirect_uri=https%3A%2F%2Fapp.example%2Fcb&response_type=code&scope=workspace:read&state=s"
    );
    let answer = send(&service.address, "GET", &path, "", "").unwrap();
    assert!(matches!(answer.status, 303 | 400 | 404), "{}: {}", answer.status, answer.body);
    answer.location().is_some_and(|location| location.starts_with("/oauth/login"))
}

/// Waits for a sample of the network that is complete, and returns the path of the time series up to its end, with its points.
fn past_series(service: &Serving, key: &str, chain: &str) -> (String, Value) {
    let path = format!("/v1/analytics/timeseries?blockchainId={chain}&metric=transactions&granularity=15s");
    let deadline = now() + LIMIT;
    loop {
        let points = service.get(key, &path)["points"].take();
        if let [_, .., last] = &points.as_array().unwrap()[..] {
            // The last may get more samples yet.
            let (from, to) = (points[0]["timestamp"].as_str().unwrap(), last["timestamp"].as_str().unwrap());
            let path = format!("{path}&from={from}&to={to}");
            let points = service.get(key, &path)["points"].take();
            assert!(!points.as_array().unwrap().is_empty(), "{path}");
            return (path, points);
        }
        assert!(now() < deadline, "two samples come within {LIMIT:?}: {points}");
        std::thread::sleep(Duration::from_millis(250));
    }
}

/// Requests are counted as used: those of this test are no part of what a backup has to have. Gas is counted from the chains' own sums every
/// 15 s, so that a start may count what was used before.
fn without_counts_of_requests(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(without_counts_of_requests),
        Value::Object(members) => {
            if members.get("id").is_some_and(|name| name == "requests" || name == "bytes" || name == "gas") {
                members.clear();
            }
            members.values_mut().for_each(without_counts_of_requests);
        }
        _ => {}
    }
}

/// Something of every kind, made by routes: all of it is in an online backup and in one of the stopped database, after their restoration and
/// after a restart. No key is in any byte of a backup.
#[test]
fn everything_survives_restart_backup_and_restore() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (data, backups) = (at("data"), at("backups"));
    let mut secrets = Vec::new();
    let key = database(&data, |platform| {
        let user = platform.users().by_identity("https://id.example", "ann", Some("ann@example.org")).unwrap();
        let (members, me) = (platform.workspaces().members(), platform.service_principal());
        let (_, token) = platform.unit(|unit| members.invite(unit, &me, "ann@example.org", Role::Viewer)).unwrap();
        platform.unit(|unit| members.accept(unit, user.id(), token.text())).unwrap();
    });
    secrets.push(key.clone());
    let flags = ["--db-path", text(&data), "--backup-path", text(&backups)];
    let service = Serving::start(&flags);
    let make = |path: &str, body: Value| service.request(&key, "POST", path, &body).data();
    make("/v1/workspaces", json!({ "name": "research", "description": "kept" }));
    make("/v1/workspaces/ws_default/invitations", json!({ "email": "ben@example.org", "role": "viewer" }));
    let made = make("/v1/auth/api-keys", json!({ "name": "reader", "scopes": ["workspace:read"], "expiresIn": "90d" }));
    let reader = made["key"].as_str().unwrap().to_owned();
    secrets.push(reader.clone());
    let chain = make(
        "/v1/blockchains",
        json!({ "name": "ledger", "consensus": "raft", "features": ["smart-contracts", "privacy"] }),
    );
    let id = &chain["id"];
    let params = json!({ "name": "Gold", "symbol": "GLD", "totalSupply": "1000" });
    let deployed =
        make("/v1/contracts/deploy", json!({ "blockchainId": id, "template": "erc20-token", "params": params }));
    let transfer = json!({ "method": "transfer", "args": ["0x5555555555555555555555555555555555555555", "7"] });
    make(&format!("/v1/contracts/{}/execute", deployed["id"].as_str().unwrap()), transfer);
    let vested =
        json!({ "address": chain["treasury"], "amount": "10", "vesting": { "duration": "12m", "cliff": "3m" } });
    make(
        "/v1/tokens",
        json!({
            "blockchainId": id, "standard": "ERC20", "name": "Silver", "symbol": "SLV", "totalSupply": "100",
            "distribution": [vested],
        }),
    );
    let note = make("/v1/governance/proposals", json!({ "blockchainId": id, "title": "A note", "type": "text" }));
    let vote = format!("/v1/governance/proposals/{}/vote", note["id"].as_str().unwrap());
    make(&vote, json!({ "vote": "yes", "weight": "1", "reason": "why not" }));
    let delegated = staked_chain(&service, &key);
    let client = client(&service, &key);
    make("/v1/webhooks", json!({ "url": "https://93.184.215.14/hook", "events": ["contract.deployed"] }));
    // Blocks of a paused network are not of the moment.
    let network = paused_network(&service, &key);
    assert_eq!(service.get(&key, &format!("/v1/blockchains/{network}"))["status"], "paused");
    let shop = json!({
        "name": "Shop", "template": "defi", "blockchainId": id, "frontend": { "customDomain": "shop.example" },
    });
    make("/v1/dapps", shop);
    make(&format!("/v1/blockchains/{}/modules", id.as_str().unwrap()), json!({ "module": "dao" }));
    make("/v1/workspaces/ws_default/projects", json!({ "name": "first" }));
    let (series, points) = past_series(&service, &key, &network);
    let before = shown(&service, &key);
    assert_states_are_those_of_their_routes(&before);
    assert_eq!(before["/v1/workspaces/ws_default/members"][0]["email"], "ann@example.org");
    assert_eq!(before[&vote.replace("/vote", "/votes")][0]["reason"], "why not");
    assert_eq!(before[&delegated].as_array().unwrap().len(), 2, "{}", before[&delegated]);
    let is_as_before = |service: &Serving, after: &str| {
        assert_same(&shown(service, &key), &before, after);
        assert_eq!(service.get(&key, &series)["points"], points, "{series} after {after}");
        assert!(knows_client(service, &client), "the application after {after}");
    };
    let online = make("/v1/admin/backups", Value::Null);
    let id = online["id"].as_str().unwrap();
    assert!(online["bytes"].as_u64().unwrap() > 10_000, "{online}");
    assert_eq!(service.request(&reader, "POST", "/v1/admin/backups", &Value::Null).status, 403);
    let (code, said) = db(&["check", "--db-path", text(&data)]);
    assert!(code == Some(1) && said.contains("in use"), "{said}");
    service.stop();
    let service = Serving::start(&flags);
    is_as_before(&service, "a restart");
    service.stop();

    let offline = at("offline");
    let (code, said) = db(&["backup", "--db-path", text(&data), "--to", text(&offline)]);
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = db(&["backup", "--db-path", text(&data), "--to", text(&offline)]);
    assert_eq!(code, Some(1), "a backup is never written over: {said}");
    let master = fs::read_to_string(data.join("CHAINBOX.key")).unwrap().trim().to_owned();
    secrets.push(master);
    for (number, backup) in [backups.join(id), offline].iter().enumerate() {
        canaries_are_in_no_byte(backup, &secrets);
        let restored = at(&format!("restored {number}"));
        let (code, said) = db(&["restore", "--from", text(backup), "--db-path", text(&restored)]);
        assert_eq!(code, Some(0), "{said}");
        let (code, said) = db(&["restore", "--from", text(backup), "--db-path", text(&restored)]);
        assert!(code == Some(1) && said.contains("not empty"), "{said}");
        // The key is kept elsewhere.
        let master_key = data.join("CHAINBOX.key");
        let named = ["--db-path", text(&restored), "--master-key-file", text(&master_key)];
        let (code, said) = db(&[&["check"], &named[..]].concat());
        assert!(code == Some(0) && said.contains("nothing is wrong") && said.contains("open under"), "{said}");
        let service = Serving::start(&named);
        is_as_before(&service, &format!("backup {number}"));
        assert_eq!(service.request(&reader, "GET", "/v1/workspaces", &Value::Null).status, 200, "its key is valid");
        let again = json!({ "blockchainId": chain["id"], "template": "erc20-token", "params": params });
        assert_eq!(service.request(&key, "POST", "/v1/contracts/deploy", &again).status, 201, "the chain goes on");
        service.stop();
    }
}

/// The text of a key, its digits without their prefix, and its bytes.
fn canaries_are_in_no_byte(backup: &Path, secrets: &[String]) {
    for entry in fs::read_dir(backup).unwrap() {
        let path = entry.unwrap().path();
        let bytes = fs::read(&path).unwrap();
        for secret in secrets {
            let digits = secret.strip_prefix("cbx_").unwrap_or(secret);
            let raw = alloy_primitives::hex::decode(digits).unwrap();
            for needle in [digits.as_bytes(), digits.to_uppercase().as_bytes(), &raw] {
                assert!(needle.len() >= 16);
                let found = bytes.windows(needle.len()).any(|some| some == needle);
                assert!(!found, "{} has a secret", path.display());
            }
        }
    }
    assert!(!backup.join("CHAINBOX.key").exists());
}

#[test]
fn a_newer_format_is_refused_with_both_numbers_and_nothing_is_restored_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (data, backup) = (at("data"), at("backup"));
    database(&data, |_| {});
    assert_eq!(db(&["backup", "--db-path", text(&data), "--to", text(&backup)]).0, Some(0));

    let newer_database =
        |folder: &PathBuf| fs::write(folder.join("CHAINBOX"), "chainbox database, format 4\n").unwrap();
    let newer_records = |folder: &PathBuf| {
        use chainbox::store::{Batch, KeyValue, RocksOptions, RocksStore, Table};
        let store = RocksStore::open(folder, RocksOptions::default()).unwrap();
        let mut batch = Batch::new();
        batch.put(Table::Platform, *b"\xffplatform/f", 7_u32.to_be_bytes());
        store.write(batch).unwrap();
    };
    for (number, (spoil, numbers)) in
        [(&newer_database as &dyn Fn(&PathBuf), ["format 4", "format 3"]), (&newer_records, ["format 7", "up to 2"])]
            .into_iter()
            .enumerate()
    {
        let (spoiled, copied, target) = (at(&format!("data {number}")), at(&format!("copy {number}")), at("target"));
        for (from, to) in [(&data, &spoiled), (&backup, &copied)] {
            copy(from, to);
            spoil(to);
        }
        for args in [
            &["check", "--db-path", text(&spoiled)][..],
            &["prune", "--db-path", text(&spoiled)],
            &["restore", "--from", text(&copied), "--db-path", text(&target)],
        ] {
            let (code, said) = db(args);
            assert!(code == Some(1) && numbers.iter().all(|number| said.contains(number)), "{args:?}: {said}");
        }
        assert!(!target.exists());
        let output = chainbox(&["serve", "--port", "0", "--db-path", text(&spoiled)]).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(1) && numbers.iter().all(|number| said.contains(number)), "{said}");
    }
}

#[test]
fn check_tells_what_is_wrong_and_prune_leaves_a_database_that_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let (code, said) = db(&["check", "--db-path", text(&data)]);
    assert!(code == Some(1) && said.contains("no database"), "{said}");
    assert!(!data.exists(), "nothing was made");
    let key = database(&data, |platform| {
        let spec = chainbox::platform::BlockchainSpec::read(json!({ "name": "ledger" })).unwrap();
        let chain = platform.blockchains().create(&platform.service_principal(), spec).unwrap();
        chain.node().mine(600).unwrap();
    });
    let (code, said) = db(&["prune", "--db-path", text(&data), "--keep-states", "256"]);
    assert!(code == Some(0) && said.contains("states of"), "{said}");
    assert_eq!(db(&["prune", "--db-path", text(&data), "--keep-states", "255"]).0, Some(2));
    let (code, said) = db(&["check", "--db-path", text(&data)]);
    assert!(code == Some(0) && said.contains("at height 600"), "{said}");
    let service = Serving::start(&["--db-path", text(&data)]);
    assert_eq!(service.all(&key, "/v1/blockchains")[0]["currentBlock"], 600);
    service.stop();

    {
        use chainbox::store::{Batch, KeyValue, RocksOptions, RocksStore, Table};
        let store = RocksStore::open(&data, RocksOptions::default()).unwrap();
        let mut batch = Batch::new();
        batch.put(Table::Platform, *b"\xffplatform/rworkspace\0ws_default\0ws_default", *b"\0\x09");
        store.write(batch).unwrap();
    }
    let (code, said) = db(&["check", "--db-path", text(&data)]);
    assert!(code == Some(3) && said.contains("FAULT") && said.contains("workspace"), "{said}");
}

/// Who reads a record that is damaged on the disk is told of an internal error, without anything from inside, and the service goes on.
#[test]
fn a_damaged_record_is_an_internal_error_and_the_service_goes_on() {
    use chainbox::store::{Batch, KeyValue, RocksOptions, RocksStore, Table};

    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let key = database(&data, |_| {});
    let flags = ["--db-path", text(&data)];
    let service = Serving::start(&flags);
    let kept = json!({ "name": "research", "description": "kept from others" });
    let made = service.request(&key, "POST", "/v1/workspaces", &kept).data();
    let id = made["id"].as_str().unwrap();
    service.stop();

    // Version, revision and times stay; the rest ends before what its first length says.
    let (header_bytes, damage) = (26, "~damaged~");
    {
        let store = RocksStore::open(&data, RocksOptions::default()).unwrap();
        let place = format!("platform/rworkspace\0{id}\0{id}");
        let place = [&b"\xff"[..], place.as_bytes()].concat();
        let mut value = store.get(Table::Platform, &place).unwrap().expect("the record is there").to_vec();
        assert!(String::from_utf8_lossy(&value).contains("kept from others"));
        value.truncate(header_bytes);
        value.extend_from_slice(damage.as_bytes());
        let mut batch = Batch::new();
        batch.put(Table::Platform, place, value);
        store.write(batch).unwrap();
    }

    let service = Serving::start(&flags);
    let path = format!("/v1/workspaces/{id}");
    for _ in 0..2 {
        let answer = service.request(&key, "GET", &path, &Value::Null);
        assert_eq!(answer.status, 500, "{}", answer.body);
        let body = answer.json();
        let error = &body["error"];
        assert_eq!((&body["success"], &error["code"]), (&json!(false), &json!("INTERNAL_ERROR")), "{body}");
        assert!(body.get("data").is_none(), "{body}");
        let request_id = error["requestId"].as_str().unwrap();
        assert!(answer.head.lines().any(|line| line == format!("x-request-id: {request_id}")), "{}", answer.head);
        assert!(error["timestamp"].is_string(), "{body}");
        let message = error["message"].as_str().unwrap();
        assert!(message.starts_with("internal error: "), "{message}");
        let bytes = alloy_primitives::hex::encode(damage);
        for inside in [text(folder.path()), "RocksDB", "platform/", ".rs", "kept from", damage, &bytes] {
            assert!(!answer.body.contains(inside), "{inside} is in {}", answer.body);
        }
        // Other records are read and made.
        assert_eq!(service.get(&key, "/v1/workspaces/ws_default")["id"], "ws_default");
        assert_eq!(service.request(&key, "POST", "/v1/workspaces", &kept).status, 201);
    }
    service.stop();
}
