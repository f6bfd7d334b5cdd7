//! A master key that the environment alone has, and its change, with the real binary.

use std::{
    fs,
    io::{BufRead, BufReader, Read as _},
    path::Path,
    process::{Child, Command, Output},
    time::Duration,
};

use serde_json::{Value, json};

use crate::{
    binary::{LIMIT, chainbox, now},
    serving::{Answer, database, send},
};

const MASTER_KEY: &str = "CHAINBOX_MASTER_KEY";
const RECEIVER: &str = "0x7777777777777777777777777777777777777777";

fn under(master: &str, args: &[&str]) -> Command {
    let mut command = chainbox(args);
    command.env(MASTER_KEY, master);
    command
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Runs a command that ends by itself; returns its status and all that it says, in one line.
fn said(mut command: Command) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let all = String::from_utf8(stdout).unwrap() + &String::from_utf8(stderr).unwrap();
    (status.code(), all.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// A `chainbox serve` under a master key of its environment. Dropping it kills it.
struct UnderKey {
    child: Child,
    address: String,
    api_key: String,
}

impl UnderKey {
    fn start(mut serve: Command, api_key: &str) -> Self {
        let mut child = serve.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = lines.next().and_then(Result::ok).unwrap_or_default();
        let Some((_, address)) = first.split_once(" serves on ") else {
            let mut said = String::new();
            let _ = child.stderr.take().unwrap().read_to_string(&mut said);
            panic!("chainbox did not come up: {first} {said}");
        };
        let address = address.to_owned();
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address, api_key: api_key.to_owned() }
    }

    fn stop(mut self) {
        let ended = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        assert!(ended.unwrap().success());
        let deadline = now() + LIMIT;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(now() < deadline, "still running {LIMIT:?} after SIGTERM");
            std::thread::sleep(Duration::from_millis(5));
        };
        assert!(status.success(), "{status}");
    }

    fn request(&self, method: &str, path: &str, more_headers: &str, body: &Value) -> Answer {
        let key = &self.api_key;
        let headers = format!("authorization: Bearer {key}\r\ncontent-type: application/json\r\n{more_headers}");
        let body = if body.is_null() { String::new() } else { body.to_string() };
        send(&self.address, method, path, &headers, &body).unwrap()
    }

    fn call(&self, method: &str, params: Value) -> Value {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let mut answer = self.request("POST", "/v1/rpc", "", &call).json();
        assert!(answer["result"].is_object(), "{method}: {answer}");
        answer["result"].take()
    }

    /// Pays from an account whose key is in the vault, on a chain whose validator's key is there, too; waits for the block.
    fn pays(&self, chain: &str, from: &str, to: &str, value: &str) {
        let params =
            json!({ "blockchainId": chain, "contractAddress": to, "data": "0x", "value": value, "from": from });
        let hash = self.call("contract.execute", params)["transactionHash"].take();
        let deadline = now() + LIMIT;
        loop {
            let found =
                self.call("blockchain.getTransaction", json!({ "blockchainId": chain, "transactionHash": hash }));
            if found["status"] != "pending" {
                assert_eq!((&found["status"], found["value"].as_str()), (&json!("success"), Some(value)), "{found}");
                assert_eq!(found["from"].as_str().unwrap().to_lowercase(), from.to_lowercase());
                return;
            }
            assert!(now() < deadline, "no block has it: {found}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Makes an API key under an idempotency key: its response is kept sealed, for it shows the API key.
    fn new_api_key(&self) -> Answer {
        let spec = json!({ "name": "ci", "scopes": ["workspace:read"] });
        self.request("POST", "/v1/auth/api-keys", "idempotency-key: once\r\n", &spec)
    }
}

impl Drop for UnderKey {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Under the old key something of each kind is sealed; the new one opens all of it once the old one was named beside it, and from then on
/// alone.
#[test]
fn a_master_key_of_the_environment_is_changed() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (data, former) = (at("data"), at("former.key"));
    let api_key = database(&data, |_| {});
    // From here on the environment alone has it.
    fs::rename(data.join("CHAINBOX.key"), &former).unwrap();
    let old = fs::read_to_string(&former).unwrap().trim().to_owned();
    let new = "5a".repeat(32);
    let serve = |master: &str, flags: &[&str]| {
        under(master, &[&["serve", "--port", "0", "--db-path", text(&data)][..], flags].concat())
    };

    let service = UnderKey::start(serve(&old, &[]), &api_key);
    let chain = service.request("POST", "/v1/blockchains", "", &json!({ "name": "ledger" })).data();
    let (id, treasury) = (chain["id"].as_str().unwrap(), chain["treasury"].as_str().unwrap());
    let wallet = service.request("GET", "/v1/workspaces/ws_default", "", &Value::Null).data()["wallet"].take();
    let wallet = wallet.as_str().unwrap();
    service.pays(id, treasury, wallet, "100000000000000000");
    service.pays(id, wallet, RECEIVER, "1");
    let made = service.new_api_key();
    assert_eq!(made.status, 201, "{}", made.body);
    service.stop();

    // The new one alone opens nothing yet.
    is_refused(serve(&new, &[]), [&old, &new]);
    let beside = ["--former-master-key-file", text(&former)];
    for (flags, value) in [(&beside[..], "2"), (&beside[..0], "3")] {
        let service = UnderKey::start(serve(&new, flags), &api_key);
        service.pays(id, wallet, RECEIVER, value);
        service.pays(id, treasury, RECEIVER, value);
        let again = service.new_api_key();
        assert_eq!((again.status, &again.body), (201, &made.body), "{flags:?}");
        assert!(again.head.lines().any(|line| line == "idempotent-replayed: true"), "{flags:?}: {}", again.head);
        service.stop();
    }
    is_refused(serve(&old, &[]), [&old, &new]);
    let (code, report) = said(under(&new, &["db", "check", "--db-path", text(&data)]));
    assert!(code == Some(0) && report.contains("open under the master key"), "{report}");
    assert!(!data.join("CHAINBOX.key").exists(), "none was made beside that of the environment");
}

/// The refusal names both keys by their ids, says what to do, and shows neither.
fn is_refused(serve: Command, keys: [&str; 2]) {
    let (code, error) = said(serve);
    assert_eq!(code, Some(1), "{error}");
    assert!(error.contains("a secret is under the master key"), "{error}");
    let advice = "start with the key that the store was made with, or name it as a former key";
    assert!(error.contains(advice), "{error}");
    assert!(keys.iter().all(|key| !error.contains(key)), "{error}");
}

#[test]
fn a_master_key_that_is_none_is_refused_by_the_name_of_its_variable() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let wrong = "not-a-key";
    let (code, error) = said(under(wrong, &["serve", "--port", "0", "--db-path", text(&data)]));
    assert_eq!(code, Some(1), "{error}");
    assert!(error.contains("the master key in $CHAINBOX_MASTER_KEY is not usable: expected 64 hex digits"), "{error}");
    assert!(!error.contains(wrong), "{error}");
}

/// As of a backup that is restored, whose key is kept elsewhere.
#[test]
fn a_database_without_its_key_is_given_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let (data, kept) = (folder.path().join("data"), folder.path().join("kept.key"));
    let api_key = database(&data, |_| {});
    let own = data.join("CHAINBOX.key");
    fs::rename(&own, &kept).unwrap();
    let flags = ["serve", "--port", "0", "--db-path", text(&data)];
    for _ in 0..2 {
        let (code, error) = said(chainbox(&flags));
        assert_eq!(code, Some(1), "{error}");
        assert!(error.contains("the database has secrets") && error.contains("--master-key-file"), "{error}");
        assert!(!own.exists(), "nothing is written");
    }
    let service = UnderKey::start(chainbox(&[&flags[..], &["--master-key-file", text(&kept)]].concat()), &api_key);
    assert_eq!(service.request("GET", "/v1/workspaces", "", &Value::Null).status, 200);
    service.stop();
}
