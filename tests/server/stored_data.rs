//! `chainbox db` and backups of a running service, with the real binary.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Output,
};

use serde_json::{Value, json};

use crate::{
    binary::chainbox,
    serving::{Serving, database},
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

/// What the routes show of everything that was made.
fn shown(service: &Serving, key: &str) -> Value {
    let lists = ["/v1/workspaces", "/v1/auth/api-keys", "/v1/blockchains", "/v1/contracts", "/v1/dapps"];
    let mut shown: Vec<Value> = lists.iter().map(|path| json!(service.all(key, path))).collect();
    shown.push(service.get(key, "/v1/workspaces/ws_default/usage"));
    for chain in service.all(key, "/v1/blockchains") {
        let id = chain["id"].as_str().unwrap();
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_getBlockByNumber", "params": ["latest", true] });
        shown.push(service.request(key, "POST", &format!("/v1/blockchains/{id}/eth"), &call).json());
        shown.push(service.all(key, &format!("/v1/blockchains/{id}/participants")).into());
    }
    for dapp in service.all(key, "/v1/dapps") {
        shown.push(service.request(key, "GET", dapp["site"].as_str().unwrap(), &Value::Null).body.into());
    }
    let mut shown = json!(shown);
    without_counts_of_requests(&mut shown);
    shown
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

/// A workspace, a key, a chain, a deployment, made by routes: all of it is in an online backup and in one of the stopped database, and after
/// their restoration. No key is in any byte of a backup.
#[test]
fn everything_survives_backup_and_restore() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (data, backups) = (at("data"), at("backups"));
    let mut secrets = Vec::new();
    let key = database(&data, |_| {});
    secrets.push(key.clone());
    let service = Serving::start(&["--db-path", text(&data), "--backup-path", text(&backups)]);
    let make = |path: &str, body: Value| service.request(&key, "POST", path, &body).data();
    make("/v1/workspaces", json!({ "name": "research", "description": "kept" }));
    let made = make("/v1/auth/api-keys", json!({ "name": "reader", "scopes": ["workspace:read"], "expiresIn": "90d" }));
    let reader = made["key"].as_str().unwrap().to_owned();
    secrets.push(reader.clone());
    let chain = make(
        "/v1/blockchains",
        json!({ "name": "ledger", "consensus": "raft", "features": ["smart-contracts", "privacy"] }),
    );
    let params = json!({ "name": "Gold", "symbol": "GLD", "totalSupply": "1000" });
    make("/v1/contracts/deploy", json!({ "blockchainId": chain["id"], "template": "erc20-token", "params": params }));
    let shop = json!({ "name": "Shop", "template": "defi", "blockchainId": chain["id"], "frontend": { "customDomain": "shop.example" } });
    make("/v1/dapps", shop);
    let before = shown(&service, &key);
    let online = make("/v1/admin/backups", Value::Null);
    let id = online["id"].as_str().unwrap();
    assert!(online["bytes"].as_u64().unwrap() > 10_000, "{online}");
    assert_eq!(service.request(&reader, "POST", "/v1/admin/backups", &Value::Null).status, 403);
    let (code, said) = db(&["check", "--db-path", text(&data)]);
    assert!(code == Some(1) && said.contains("in use"), "{said}");
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
        assert_eq!(shown(&service, &key), before, "backup {number}");
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
        [(&newer_database as &dyn Fn(&PathBuf), ["format 4", "format 3"]), (&newer_records, ["7", "1"])]
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
