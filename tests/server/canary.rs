//! Keys of the vault, known to the test because it drew them, are in nothing that the service says or writes: no answer, page, log, console,
//! export or backup.

use std::{
    fs,
    path::Path,
    sync::{Arc, Mutex},
};

use base64ct::{Base64, Base64UrlUnpadded, Encoding as _};
use chainbox::{
    platform::{BlockchainSpec, Entropy, EntropyError, OsEntropy, Platform, Scope, vault::MasterKey},
    server::WallClock,
    store::{RocksOptions, RocksStore},
};
use serde_json::{Value, json};

use crate::{
    binary::chainbox,
    serving::{Serving, send},
    stored_data::filled,
};

/// The operating system's generator, which notes the draws that are as long as a key.
#[derive(Debug, Default)]
struct NotedEntropy(Mutex<Vec<[u8; 32]>>);

impl Entropy for NotedEntropy {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), EntropyError> {
        OsEntropy.fill(bytes)?;
        if let Ok(key) = <[u8; 32]>::try_from(&*bytes) {
            self.0.lock().unwrap().push(key);
        }
        Ok(())
    }
}

/// Bytes that may not be found: a key as it is, in hex digits and in Base64.
struct Canaries(Vec<Vec<u8>>);

impl Canaries {
    fn of(keys: &[[u8; 32]]) -> Self {
        let forms = |key: &[u8; 32]| {
            let hex = alloy_primitives::hex::encode(key);
            // The last digit of Base64 depends on what follows.
            let cut = |text: String| text.as_bytes()[..42].to_vec();
            let upper = hex.to_uppercase().into_bytes();
            let base64 = [cut(Base64::encode_string(key)), cut(Base64UrlUnpadded::encode_string(key))];
            let list: Vec<String> = key.iter().map(u8::to_string).collect();
            [
                vec![key.to_vec(), hex.into_bytes(), upper, list.join(", ").into_bytes(), list.join(",").into_bytes()],
                base64.into(),
            ]
            .concat()
        };
        Self(keys.iter().flat_map(forms).collect())
    }

    /// Looks at each place once: forms are known by their first four bytes.
    fn are_not_in(&self, bytes: &[u8], place: &str) {
        let mut by_start = std::collections::BTreeMap::<[u8; 4], Vec<&[u8]>>::new();
        for form in &self.0 {
            by_start.entry(form[..4].try_into().unwrap()).or_default().push(form);
        }
        for (at, start) in bytes.windows(4).enumerate() {
            let Some(forms) = by_start.get(start) else { continue };
            for form in forms {
                assert!(!bytes[at..].starts_with(form), "{place} has a key of the vault");
            }
        }
    }
}

/// Makes a database whose keys are drawn by `entropy`; returns an admin's API key.
fn database(folder: &Path, entropy: &Arc<NotedEntropy>) -> String {
    let store = Arc::new(RocksStore::open(folder, RocksOptions::default()).unwrap());
    let key = MasterKey::from_file_or_new(&folder.join("CHAINBOX.key"), &**entropy).unwrap();
    let builder = Platform::builder(Arc::new(WallClock)).with_store(store).with_entropy(entropy.clone());
    let platform = builder.open_with(None, key, Vec::new()).unwrap();
    let validators: Vec<Value> =
        (1..5).map(|byte| json!({ "address": alloy_primitives::Address::repeat_byte(byte).to_string() })).collect();
    for body in [
        json!({ "name": "network", "consensus": "pbft", "config": { "blockTime": "1s" }, "validators": validators }),
        json!({ "name": "ledger" }),
    ] {
        platform.blockchains().create(&platform.service_principal(), BlockchainSpec::read(body).unwrap()).unwrap();
    }
    platform.create_api_key("operator", &[Scope::Admin]).unwrap().text().to_owned()
}

#[test]
fn no_key_of_the_vault_is_said_or_written_anywhere() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (data, backups) = (at("data"), at("backups"));
    let entropy = Arc::new(NotedEntropy::default());
    let key = database(&data, &entropy);
    let keys = entropy.0.lock().unwrap().clone();
    // The master key, five validators with their standby keys, treasuries, the workspace's wallet, and a data key for each.
    assert!(keys.len() > 10, "{}", keys.len());
    let canaries = Canaries::of(&keys);
    let flags =
        ["--db-path", data.to_str().unwrap(), "--backup-path", backups.to_str().unwrap(), "--log-level", "debug"];
    let service = Serving::start_into(&flags, folder.path());
    let said = |answer: &crate::serving::Answer, place: &str| {
        canaries.are_not_in(answer.head.as_bytes(), place);
        canaries.are_not_in(answer.body.as_bytes(), place);
    };

    let chain = service.get(&key, "/v1/blockchains")[1]["id"].as_str().unwrap().to_owned();
    for (path, body) in [
        (
            "/v1/contracts/deploy",
            json!({ "blockchainId": chain, "template": "erc20-token", "params": { "name": "Gold", "symbol": "GLD" } }),
        ),
        ("/v1/governance/proposals", json!({ "blockchainId": chain, "title": "A note", "type": "text" })),
        ("/v1/dapps", json!({ "name": "Page" })),
    ] {
        said(&service.request(&key, "POST", path, &body), path);
    }
    let document = service.request(&key, "GET", "/v1/openapi.json", &Value::Null).json();
    let mut answers = 0;
    for (template, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let method = method.to_uppercase();
            let content = &operation["requestBody"]["content"]["application/json"]["examples"];
            let examples = content.as_object().into_iter().flat_map(|all| all.values()).map(|one| one["value"].clone());
            let bodies: Vec<Value> = examples.chain([Value::Null, json!({ "privateKey": true })]).collect();
            let paths = if method == "GET" { filled(&service, &key, template) } else { Vec::new() };
            // One that nobody has, too.
            let nowhere = template.replace(['{', '}'], "");
            for path in paths.into_iter().chain([nowhere]) {
                for body in &bodies {
                    said(&service.request(&key, &method, &path, body), &path);
                    answers += 1;
                }
            }
        }
    }
    assert!(answers > 200, "{answers}");
    for path in ["/metrics", "/.well-known/oauth-authorization-server", "/oauth/login", "/v1/docs"] {
        said(&send(&service.address, "GET", path, &format!("x-api-key: {key}\r\n"), "").unwrap(), path);
    }
    let exported = service.request(&key, "GET", &format!("/v1/blockchains/{chain}/export"), &Value::Null);
    assert!(exported.status == 200 && exported.body.len() > 1_000, "{}", exported.body);
    let backup = service.request(&key, "POST", "/v1/admin/backups", &Value::Null).data();
    service.stop();

    let log = fs::read(at("stderr")).unwrap();
    assert!(log.len() > 10_000, "the log is that of every request: {}", log.len());
    let check = chainbox(&["db", "check", "--db-path", data.to_str().unwrap()]).output().unwrap();
    assert!(check.status.success(), "{check:?}");
    for (bytes, place) in [
        (&log, "the log"),
        (&fs::read(at("stdout")).unwrap(), "the console"),
        (&check.stdout, "db check"),
        (&check.stderr, "db check"),
    ] {
        canaries.are_not_in(bytes, place);
    }
    let backup = backups.join(backup["id"].as_str().unwrap());
    let mut files = 0;
    for kept in [&backup, &data] {
        for entry in fs::read_dir(kept).unwrap() {
            let path = entry.unwrap().path();
            if path.file_name().is_some_and(|name| name != "CHAINBOX.key") {
                canaries.are_not_in(&fs::read(&path).unwrap(), &path.display().to_string());
                files += 1;
            }
        }
    }
    assert!(files > 4, "{files}");
    // What it looks for would be found.
    let planted = [&b"..."[..], alloy_primitives::hex::encode(keys[3]).as_bytes()].concat();
    assert!(std::panic::catch_unwind(|| canaries.are_not_in(&planted, "a planted key")).is_err());
}
