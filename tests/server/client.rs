//! `chainbox keys` and `chainbox chains` against a running service.

use std::process::Output;

use serde_json::{Value, json};

use crate::binary::{Dev, chainbox};

/// Runs a command of the client with a key.
fn run(dev: &Dev, key: &str, args: &[&str]) -> Output {
    let mut command = chainbox(args);
    command.env("CHAINBOX_API_KEY", key).env("CHAINBOX_URL", dev.config["urls"]["http"].as_str().unwrap());
    command.output().unwrap()
}

fn printed(dev: &Dev, args: &[&str]) -> String {
    let output = run(dev, dev.config["apiKey"].as_str().unwrap(), args);
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn json_of(dev: &Dev, args: &[&str]) -> Value {
    serde_json::from_str(&printed(dev, &[args, &["--json"]].concat())).unwrap()
}

fn refused(dev: &Dev, key: &str, args: &[&str]) -> (i32, String) {
    let output = run(dev, key, args);
    assert!(output.stdout.is_empty(), "{output:?}");
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

/// The words of the row that begins with an id.
fn row(table: &str, id: &str) -> Vec<String> {
    let row = table.lines().find(|line| line.trim_start().starts_with(id)).unwrap_or_else(|| panic!("{id}: {table}"));
    row.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn keys_are_made_used_listed_and_revoked() {
    let folder = tempfile::tempdir().unwrap();
    let dev = Dev::start(folder.path(), &["--quiet"]);
    let made = printed(&dev, &["keys", "create", "ci", "--scope", "workspace:read", "--expires-in", "90d"]);
    let key = made.lines().next().unwrap();
    assert!(key.starts_with("cbx_") && made.ends_with("The key is shown this once.\n"), "{made}");
    // The new key itself lists them; what it does not permit, it does not get.
    let listed = run(&dev, key, &["keys", "list", "--json"]);
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let ci = listed.as_array().unwrap().iter().find(|one| one["name"] == "ci").unwrap();
    assert_eq!((&ci["scopes"], ci["expiresAt"].is_null()), (&json!(["workspace:read"]), false));
    let (code, message) = refused(&dev, key, &["chains", "list"]);
    assert!(code == 1 && message.contains("FORBIDDEN") && message.contains("blockchain:read"), "{message}");
    let id = ci["id"].as_str().unwrap();
    let words = row(&printed(&dev, &["keys", "list"]), id);
    assert_eq!(words[..4], [id, "ci", "active", "workspace:read"]);
    let revoked = json_of(&dev, &["keys", "revoke", id]);
    assert_eq!(revoked["id"], id, "{revoked}");
    let (code, message) = refused(&dev, key, &["keys", "list"]);
    assert!(code == 1 && message.contains("UNAUTHORIZED"), "{message}");
    let (code, message) = refused(&dev, "", &["keys", "list"]);
    assert!(code == 2 && message.contains("CHAINBOX_API_KEY"), "{message}");
    let (code, message) = refused(&dev, key, &["keys", "revoke", "../blockchains/bc_default"]);
    assert!(code == 2 && message.contains("is no id"), "{message}");
}

#[test]
fn chains_are_made_listed_over_pages_and_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let dev = Dev::start(folder.path(), &["--quiet"]);
    let words = row(&printed(&dev, &["chains", "list"]), "bc_default");
    assert_eq!(words[2..5], ["proof-of-authority", "31337", "running"]);
    let made = json_of(&dev, &["chains", "create", "ledger", "--consensus", "raft", "--chain-id", "777"]);
    assert_eq!((&made["consensus"], &made["chainId"]), (&json!("raft"), &json!(777)));
    let id = made["id"].as_str().unwrap();
    assert_eq!(row(&printed(&dev, &["chains", "list"]), id)[1..], ["ledger", "raft", "777", "running", "0"]);
    let key = dev.config["apiKey"].as_str().unwrap();
    let (code, message) =
        refused(&dev, key, &["chains", "create", "x", "--consensus", "magic", "--block-time", "soon"]);
    assert!(code == 1 && message.contains("consensus: expected one of proof-of-authority"), "{message}");
    assert!(message.contains("config.blockTime: expected"), "{message}");
    assert_eq!(printed(&dev, &["chains", "delete", id]), format!("{id} is deleted\n"));
    let (code, message) = refused(&dev, key, &["chains", "delete", id]);
    assert!(code == 1 && message.contains("NOT_FOUND"), "{message}");
    let ids = json_of(&dev, &["chains", "list"]);
    assert_eq!(ids.as_array().unwrap().len(), 1, "{ids}");
    // More keys than a page has, so that the list has two pages.
    for number in 0..101 {
        let body = json!({ "name": format!("key {number}"), "scopes": ["blockchain:read"] }).to_string();
        let sent = post(&dev, key, "/v1/auth/api-keys", &body);
        assert!(sent.starts_with("HTTP/1.1 201"), "{sent}");
    }
    assert_eq!(json_of(&dev, &["keys", "list"]).as_array().unwrap().len(), 102);
}

#[test]
fn nobody_there_and_another_server_are_told_apart() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answering = std::thread::spawn(move || {
        use std::io::{Read as _, Write as _};
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 4096]).unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello").unwrap();
    });
    let url = format!("http://{address}");
    let ask = |url: &str| {
        let mut command = chainbox(&["chains", "list", "--url", url, "--api-key", "cbx_x"]);
        let output = command.output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, message) = ask(&url);
    answering.join().unwrap();
    assert!(code == 1 && message.contains("is it a chainbox service?"), "{message}");
    let (code, message) = ask(&url);
    assert!(code == 1 && message.contains(&address.to_string()), "{message}");
    let (code, message) = ask("ftp://x");
    assert!(code == 2 && message.contains("--url"), "{message}");
}

fn post(dev: &Dev, key: &str, path: &str, body: &str) -> String {
    use std::io::{Read as _, Write as _};
    let address = dev.address();
    let mut stream = std::net::TcpStream::connect(&address).unwrap();
    let length = body.len();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {key}\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
    );
    stream.write_all((head + body).as_bytes()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    response
}
