//! A running `chainbox serve`, and a small client of its REST interface.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::Child,
    time::Duration,
};

use serde_json::Value;

use crate::{
    binary::{LIMIT, chainbox, now},
    endpoint_table::note_call,
};

/// A running `chainbox serve`. Dropping it kills it.
pub(crate) struct Serving {
    child: Child,
    pub(crate) address: String,
}

/// An answer of the service.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|cause| panic!("{cause}: {}", self.body))
    }

    pub(crate) fn data(&self) -> Value {
        assert!(matches!(self.status, 200 | 201), "{}: {}", self.status, self.body);
        self.json()["data"].take()
    }

    /// Where it redirects to.
    pub(crate) fn location(&self) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix("location: "))
    }

    pub(crate) fn is_success(&self) -> bool {
        matches!(self.status, 200 | 201)
    }
}

impl Serving {
    /// Starts the service and waits until it says where it listens.
    pub(crate) fn start(flags: &[&str]) -> Self {
        let mut child = chainbox(&[&["serve", "--port", "0"], flags].concat()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = lines.next().and_then(Result::ok).unwrap_or_default();
        let Some((_, address)) = first.split_once(" serves on ") else {
            let mut said = String::new();
            let _ = child.stderr.take().unwrap().read_to_string(&mut said);
            panic!("chainbox did not come up: {first} {said}");
        };
        let address = address.to_owned();
        // What follows is read, so that the process never waits for its console.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address }
    }

    /// Starts the service with its console and its log in the files `stdout` and `stderr` of a folder.
    #[cfg(feature = "rocksdb")]
    pub(crate) fn start_into(flags: &[&str], folder: &std::path::Path) -> Self {
        let (stdout, stderr) = (folder.join("stdout"), folder.join("stderr"));
        let file = |path| std::fs::File::create(path).unwrap();
        let mut command = chainbox(&[&["serve", "--port", "0"], flags].concat());
        let child = command.stdout(file(&stdout)).stderr(file(&stderr)).spawn().unwrap();
        let mut service = Self { child, address: String::new() };
        let deadline = now() + LIMIT;
        loop {
            let said = std::fs::read_to_string(&stdout).unwrap();
            if let Some((line, _)) = said.split_once('\n') {
                let (_, address) = line.split_once(" serves on ").unwrap_or_else(|| panic!("{said}"));
                address.clone_into(&mut service.address);
                return service;
            }
            let ended = service.child.try_wait().unwrap();
            assert!(ended.is_none() && now() < deadline, "{ended:?} {}", std::fs::read_to_string(&stderr).unwrap());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends it as a crash does.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks it to end, and waits for it.
    pub(crate) fn stop(self) {
        self.terminate();
        self.stop_after_signal();
    }

    /// Waits for the end that it was asked for.
    pub(crate) fn stop_after_signal(mut self) {
        let deadline = now() + LIMIT;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                assert!(status.success(), "{status}");
                return;
            }
            assert!(now() < deadline, "still running {LIMIT:?} after SIGTERM");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn terminate(&self) {
        let sent = std::process::Command::new("kill").args(["-TERM", &self.pid().to_string()]).status();
        assert!(sent.unwrap().success());
    }

    /// Sends a request with an API key, which must be answered.
    pub(crate) fn request(&self, key: &str, method: &str, path: &str, body: &Value) -> Answer {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let headers = format!("authorization: Bearer {key}\r\ncontent-type: application/json\r\n");
        send(&self.address, method, path, &headers, &body).unwrap()
    }

    pub(crate) fn get(&self, key: &str, path: &str) -> Value {
        self.request(key, "GET", path, &Value::Null).data()
    }

    /// Every item of a list.
    pub(crate) fn all(&self, key: &str, path: &str) -> Vec<Value> {
        let mut items = Vec::new();
        for page in 1.. {
            let answer = self.request(key, "GET", &format!("{path}?limit=100&page={page}"), &Value::Null).json();
            items.extend(answer["data"].as_array().unwrap().iter().cloned());
            if answer["pagination"]["hasNext"] != true {
                break;
            }
        }
        items
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends a request over a connection of its own.
pub(crate) fn send(address: &str, method: &str, path: &str, headers: &str, body: &str) -> io::Result<Answer> {
    let stream = TcpStream::connect(address)?;
    exchange(stream, address, method, path, headers, body)
}

/// Sends a request over a connection, and reads the answer to its end.
pub(crate) fn exchange(
    mut stream: impl Read + Write,
    address: &str,
    method: &str,
    path: &str,
    headers: &str,
    body: &str,
) -> io::Result<Answer> {
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n{body}"
    )?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let cut = || io::Error::new(io::ErrorKind::UnexpectedEof, "no whole response");
    let (head, body) = text.split_once("\r\n\r\n").ok_or_else(cut)?;
    let header = |name: &str| {
        let mut lines = head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
    };
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(cut)?;
    if header("content-length").and_then(|length| length.parse().ok()) != Some(body.len()) {
        return Err(cut());
    }
    note_call(method, path, status);
    Ok(Answer { status, head: head.to_ascii_lowercase(), body: body.to_owned() })
}

/// Makes a database with an admin's API key, and does what `prepare` does, before it is served.
#[cfg(feature = "rocksdb")]
pub(crate) fn database(folder: &std::path::Path, prepare: impl FnOnce(&chainbox::platform::Platform)) -> String {
    use std::sync::Arc;

    use chainbox::{
        platform::{OsEntropy, Platform, Scope, vault::MasterKey},
        server::WallClock,
        store::{RocksOptions, RocksStore},
    };

    let store = Arc::new(RocksStore::open(folder, RocksOptions::default()).unwrap());
    let key = MasterKey::from_file_or_new(&folder.join("CHAINBOX.key"), &OsEntropy).unwrap();
    let platform = Platform::builder(Arc::new(WallClock)).with_store(store).open_with(None, key, Vec::new()).unwrap();
    prepare(&platform);
    platform.create_api_key("operator", &[Scope::Admin]).unwrap().text().to_owned()
}

/// By the flags of the real binary: what is for development alone is in `dev`, and not in `serve`.
#[cfg(feature = "rocksdb")]
#[test]
fn what_is_for_development_is_in_dev_alone() {
    use std::collections::BTreeSet;

    use chainbox::{node::Node, server::EthRpc};
    use serde_json::json;

    use crate::binary::{Dev, post};

    let folder = tempfile::tempdir().unwrap();
    let dev = Dev::start(folder.path(), &["--quiet"]);
    let data = folder.path().join("data");
    let key = database(&data, |_| {});
    let serving = Serving::start(&["--db-path", data.to_str().unwrap(), "--requests-per-minute", "1000000"]);
    for (path, of_serve) in [("/", 404), ("/metrics", 401), ("/oauth/mailbox", 404), ("/v1/oauth/mailbox", 404)] {
        let status = |address: &str| send(address, "GET", path, "accept: text/html\r\n", "").unwrap().status;
        assert_eq!((status(&serving.address), status(&dev.address())), (of_serve, 200), "{path}");
    }
    assert_eq!(send(&serving.address, "POST", "/", "", "").unwrap().status, 404);
    assert_eq!(serving.request(&key, "GET", "/metrics", &Value::Null).status, 200, "to the operator");

    let call = |method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let (all, usual) = (EthRpc::new(Node::new()), EthRpc::without_development(Node::new()));
    let usual: BTreeSet<&str> = usual.methods().method_names().collect();
    let development: BTreeSet<&str> = all.methods().method_names().filter(|name| !usual.contains(name)).collect();
    let chain = serving.request(&key, "POST", "/v1/blockchains", &json!({ "name": "ledger" })).data();
    let path = format!("/v1/blockchains/{}/eth", chain["id"].as_str().unwrap());
    for method in &development {
        let answer = serving.request(&key, "POST", &path, &call(method, json!([])));
        assert_eq!(answer.json()["error"]["code"], -32_601, "{method}: {}", answer.body);
    }
    let head = serving.request(&key, "POST", &path, &call("eth_blockNumber", json!([]))).json();
    assert_eq!(head["result"], "0x0", "{head}");

    let account = &dev.config["accounts"][0];
    let headers =
        format!("x-api-key: {}\r\ncontent-type: application/json\r\n", dev.config["apiKey"].as_str().unwrap());
    for (method, params) in [
        ("evm_mine", json!([])),
        ("anvil_setBalance", json!([account, "0xde0b6b3a7640000"])),
        ("hardhat_setBalance", json!([account, "0xde0b6b3a7640000"])),
        ("hardhat_mine", json!(["0x1"])),
        ("eth_sendTransaction", json!([{ "from": account, "to": account }])),
    ] {
        assert!(development.contains(method), "{method} is not for development");
        let asked = call(method, params);
        let answer = post(&dev.address(), "", &asked);
        assert!(answer.get("result").is_some(), "{method}: {answer}");
        let answer = send(&dev.address(), "POST", "/v1/blockchains/bc_default/eth", &headers, &asked.to_string());
        let answer = answer.unwrap().json();
        assert!(answer.get("result").is_some(), "{method}: {answer}");
    }
}
