//! The log of the real binary: a line for each request, and nothing in it that a client may hold secret.

use std::io::{Read, Write};

use serde_json::{Value, json};

use crate::binary::Dev;

/// Sends a request with a canary in every part that must not be logged.
fn send(address: &str, path: &str, headers: &str) {
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n{headers}\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    stream.read_to_end(&mut Vec::new()).unwrap();
}

fn log_of(flags: &[&str]) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let dev = Dev::start(folder.path(), &[&["--quiet"], flags].concat());
    let (address, key) = (dev.address(), dev.config["apiKey"].as_str().unwrap().to_owned());
    let headers = format!("x-api-key: {key}\r\nx-request-id: req-of-mine\r\n");
    send(&address, "/v1/workspaces/ws_canary?secret=canary", &headers);
    send(&address, "/v1/canary", "authorization: Bearer canary\r\n");
    dev.rpc("eth_chainId", json!([]));
    let log = String::from_utf8(dev.stop("-TERM").stderr).unwrap();
    (log, key)
}

#[test]
fn a_request_is_a_line_with_id_route_status_and_time() {
    let (log, key) = log_of(&["--log", "json", "--log-level", "info"]);
    assert!(!log.contains("canary") && !log.contains(&key), "{log}");
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of_mine = lines.iter().find(|line| line["span"]["id"] == "req-of-mine").unwrap_or_else(|| panic!("{log}"));
    let span = &of_mine["span"];
    assert_eq!((&span["method"], &span["route"]), (&json!("GET"), &json!("/v1/workspaces/{workspaceId}")));
    assert_eq!((&span["status"], &of_mine["message"]), (&json!(404), &json!("answered")), "{of_mine}");
    assert!(span["duration_ms"].as_f64().is_some_and(|ms| ms > 0.0), "{of_mine}");
    assert!(lines.iter().any(|line| line["span"]["route"] == "none" && line["span"]["status"] == 404), "{log}");
    assert_eq!(lines.len(), 2, "Ethereum JSON-RPC on / has no lines: {log}");
}

#[test]
fn the_text_has_the_same_and_the_default_has_neither() {
    let (log, _) = log_of(&["--log-level", "info"]);
    assert!(log.lines().any(|line| line.contains("id=req-of-mine") && line.contains("status=404")), "{log}");
    let (log, _) = log_of(&[]);
    assert_eq!(log, "");
}
