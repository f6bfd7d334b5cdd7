//! Time of one client's `eth_blockNumber` while another client does the worst it can, over as many connections at once.
//!
//! `cargo bench --all-features --bench latency` prints the 50th and 99th percentile and the maximum for each kind of worst client,
//! and fails where the 99th is above 50 ms. A name after `--` selects the kinds that contain it.

use std::{
    io::{BufRead, BufReader, Error, Read, Result, Write},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread::{scope, sleep},
    time::{Duration, Instant},
};

use chainbox::{
    chain::GenesisSpec,
    primitives::{Address, DEFAULT_MNEMONIC, Gas, Wallet, ether},
    templates::Erc20Params,
};
use serde_json::{Value, json};

/// The 99th percentile that no worst client may push above.
const P99_MAX: Duration = Duration::from_millis(50);
/// Accounts in the state, which a dump has to carry.
const ACCOUNTS: u64 = 50_000;
/// Token transfers, each with a log.
const LOGS: u64 = 20_000;
/// Transfers in the longest block, of which the last one is traced.
const LONG_BLOCK: u64 = 10_000;
/// Time for which each kind is measured.
const MEASURED: Duration = Duration::from_secs(3);
/// Connections of a worst client.
const CONNECTIONS: [usize; 2] = [1, 8];

#[allow(clippy::disallowed_methods, reason = "a bench reads the clock")]
fn now() -> Instant {
    Instant::now()
}

/// One HTTP connection that is kept alive.
struct Http(BufReader<TcpStream>);

impl Http {
    fn connect(port: u16) -> Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        Ok(Self(BufReader::new(stream)))
    }

    fn begin(&mut self, path: &str, api_key: &str, body: &str) -> Result<()> {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nx-api-key: {api_key}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        self.0.get_mut().write_all(head.as_bytes())?;
        self.0.get_mut().write_all(body.as_bytes())
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.0.read_line(&mut line)?;
        Ok(line.trim_end().to_ascii_lowercase())
    }

    fn finish(&mut self) -> Result<Vec<u8>> {
        let (mut len, mut is_chunked) = (0, false);
        loop {
            let line = self.line()?;
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length: ") {
                len = value.parse().map_err(Error::other)?;
            }
            is_chunked |= line == "transfer-encoding: chunked";
        }
        let mut body = vec![0; len];
        self.0.read_exact(&mut body)?;
        while is_chunked {
            let (size, start) = (usize::from_str_radix(&self.line()?, 16).map_err(Error::other)?, body.len());
            body.resize(start + size, 0);
            self.0.read_exact(&mut body[start..])?;
            self.line()?;
            is_chunked = size > 0;
        }
        Ok(body)
    }

    fn post(&mut self, path: &str, api_key: &str, body: &str) -> Result<Vec<u8>> {
        self.begin(path, api_key, body)?;
        self.finish()
    }
}

fn call(method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string()
}

fn batch(calls: impl IntoIterator<Item = String>) -> String {
    format!("[{}]", calls.into_iter().collect::<Vec<_>>().join(","))
}

/// The binary with a chain that has something of everything.
struct Dev {
    child: Child,
    port: u16,
    api_key: String,
    token: String,
    long_block: String,
    last_transaction: String,
    dump: String,
}

impl Dev {
    fn start(folder: &Path) -> Self {
        let (genesis, config) = (folder.join("genesis.json"), folder.join("config.json"));
        let mut spec = GenesisSpec::new(31_337);
        spec.allow_interventions = true;
        spec.gas_limit = Gas::new(2_000_000_000);
        let keys = Wallet::from_phrase(DEFAULT_MNEMONIC).and_then(|wallet| wallet.keys(0, 20)).expect("keys");
        keys.iter().for_each(|key| spec.fund(key.address(), ether(1_000_000)));
        (0..ACCOUNTS).for_each(|n| spec.fund(Address::left_padding_from(&(n + 1_000).to_be_bytes()), ether(1)));
        std::fs::write(&genesis, spec.to_json()).expect("the folder takes it");
        let binary = std::env::var("CHAINBOX_BIN").unwrap_or_else(|_| env!("CARGO_BIN_EXE_chainbox").to_owned());
        let child = Command::new(binary)
            .args(["dev", "--quiet", "--port", "0", "--accounts", "20", "--genesis"])
            .arg(&genesis)
            .arg("--config-out")
            .arg(&config)
            .stdout(Stdio::null())
            .spawn()
            .expect("the binary starts");
        let begun = now();
        let config: Value = loop {
            if let Ok(text) = std::fs::read(&config) {
                break serde_json::from_slice(&text).expect("the file is written atomically");
            }
            assert!(begun.elapsed() < Duration::from_secs(120), "no config");
            sleep(Duration::from_millis(10));
        };
        let url = config["urls"]["http"].as_str().expect("a URL");
        let port = url.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
        let api_key = config["apiKey"].as_str().expect("a key").to_owned();
        let empty = String::new;
        let (token, long_block, last_transaction, dump) = (empty(), empty(), empty(), empty());
        let mut dev = Self { child, port, api_key, token, long_block, last_transaction, dump };
        dev.fill(&keys.iter().map(|key| key.address().to_string()).collect::<Vec<_>>());
        dev
    }

    fn ask(&self, method: &str, params: &Value) -> Value {
        let body = Http::connect(self.port).and_then(|mut http| http.post("/", "", &call(method, params)));
        let mut response: Value = serde_json::from_slice(&body.expect("a response")).expect("JSON");
        assert!(response.get("error").is_none(), "{method}: {response}");
        response["result"].take()
    }

    /// Makes the token, its logs, a long block and a dump.
    fn fill(&mut self, accounts: &[String]) {
        let owner: Address = accounts[0].parse().expect("an address");
        let init_code = Erc20Params::new("Gold", "GLD", ether(1_000_000), owner).init_code();
        let hash = self.ask("eth_sendTransaction", &json!([{ "from": owner, "data": init_code }]));
        let receipt = self.ask("eth_getTransactionReceipt", &json!([hash]));
        receipt["contractAddress"].as_str().expect("an address").clone_into(&mut self.token);
        let mut http = Http::connect(self.port).expect("a connection");
        let mut send = |calls: Vec<Value>| {
            let text = batch(calls.iter().map(|request| call("eth_sendTransaction", &json!([request]))));
            let body = http.post("/", "", &text).expect("a response");
            let responses: Vec<Value> = serde_json::from_slice(&body).expect("JSON");
            let failed = responses.iter().find(|response| response.get("error").is_some());
            assert!(failed.is_none(), "{failed:?}");
            responses.last().expect("a response")["result"].clone()
        };
        for _ in 0..LOGS / 1_000 {
            let data = format!("0xa9059cbb{:064x}{:064x}", 7, 1);
            let transfer = json!({ "from": owner, "to": self.token, "data": data, "gas": "0x186a0" });
            send(vec![transfer; 1_000]);
        }
        self.ask("evm_setAutomine", &json!([false]));
        let mut last = Value::Null;
        for n in 0..LONG_BLOCK / 1_000 {
            let from = &accounts[1 + n as usize % 15];
            last = send(vec![json!({ "from": from, "to": owner, "value": "0x1", "gas": "0x5208" }); 1_000]);
        }
        self.ask("evm_mine", &json!([]));
        self.ask("evm_setAutomine", &json!([true]));
        last.as_str().expect("a hash").clone_into(&mut self.last_transaction);
        let block = self.ask("eth_getBlockByNumber", &json!(["latest", false]));
        assert_eq!(block["transactions"].as_array().map(Vec::len), Some(LONG_BLOCK as usize));
        block["number"].as_str().expect("a number").clone_into(&mut self.long_block);
        self.ask("anvil_dumpState", &json!([])).as_str().expect("a dump").clone_into(&mut self.dump);
    }

    /// The kinds of worst clients, each with the path and body of what it asks for again and again.
    fn kinds(&self) -> Vec<(&'static str, &'static str, String)> {
        let (token, traced) = (&self.token, &self.last_transaction);
        let eth = |method: &str, params: Value| ("/", call(method, &params));
        let many = |method: &str, params: Value| ("/", batch(vec![call(method, &params); 1_000]));
        let deployment = json!({ "blockchainId": "bc_default", "template": "erc20-token", "params": { "name": "G", "symbol": "G" } });
        let read = json!({ "to": token, "data": format!("0x70a08231{:064x}", 7) });
        let transfer = json!({ "from": "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266", "to": Address::from([7; 20]), "value": "0x1" });
        let slots: Vec<String> = (0..256).map(|slot| format!("{slot:#x}")).collect();
        let words = "0x".to_owned() + &"00".repeat(2_400_000);
        let padding = " ".repeat(10 << 20);
        let (numbers, nested) = ("1,".repeat(2_500_000), "[".repeat(2_500_000) + &"]".repeat(2_500_000));
        let kinds = [
            ("nothing", ("/", String::new())),
            (
                "trace the end of a long block",
                eth("debug_traceTransaction", json!([traced, { "tracer": "callTracer" }])),
            ),
            ("logs of all blocks", eth("eth_getLogs", json!([{ "fromBlock": "0x0" }]))),
            ("dump", eth("anvil_dumpState", json!([]))),
            ("fee history of 1,024 blocks", eth("eth_feeHistory", json!(["0x400", "latest", [1, 25, 50, 75, 99]]))),
            ("1,000 fee histories", many("eth_feeHistory", json!(["0x400", "latest", [1, 25, 50, 75, 99]]))),
            ("1,000 calls", many("eth_call", json!([read, "latest"]))),
            ("1,000 estimates", many("eth_estimateGas", json!([transfer, "latest"]))),
            ("1,000 proofs of 256 slots", many("eth_getProof", json!([token, slots, "latest"]))),
            ("1,000 long blocks", many("eth_getBlockByNumber", json!([self.long_block, false]))),
            ("a long block in full", eth("eth_getBlockByNumber", json!([self.long_block, true]))),
            ("receipts of a long block", eth("eth_getBlockReceipts", json!([self.long_block]))),
            ("1,000 last receipts of a long block", many("eth_getTransactionReceipt", json!([traced]))),
            ("the pending block", eth("eth_getBlockByNumber", json!(["pending", true]))),
            (
                "1,000 transactions",
                many("eth_sendTransaction", json!([{ "from": self.sender(), "to": self.sender(), "gas": "0x5208" }])),
            ),
            ("1,000 balances set", many("anvil_setBalance", json!([Address::repeat_byte(9), "0x5"]))),
            ("a hash of 2.4 MB", eth("web3_sha3", json!([words]))),
            ("a body of 10 MB", ("/", format!("[{padding}]"))),
            ("a batch of 5 MB of numbers", ("/", format!("[{numbers}1]"))),
            ("a batch of 5 MB of nested arrays", ("/", format!("[{nested}]"))),
            ("deployments by REST", ("/v1/contracts/deploy", deployment.to_string())),
            // What comes before is pruned by them.
            ("mine a million blocks", eth("anvil_mine", json!(["0xf4240"]))),
            ("a dump loaded", eth("anvil_loadState", json!([self.dump]))),
        ];
        kinds.into_iter().map(|(name, (path, body))| (name, path, body)).collect()
    }

    /// Asks once, so that no kind measures errors; returns the beginning of an error.
    fn error(&self, name: &str, path: &str, body: &str) -> Option<String> {
        let is_refused = name.starts_with("a body of") || name.starts_with("a batch of");
        if is_refused || ["nothing", "mine a million blocks"].contains(&name) {
            return None;
        }
        let answered = Http::connect(self.port).and_then(|mut http| http.post(path, &self.api_key, body));
        let answer = String::from_utf8_lossy(&answered.expect("a response")).chars().take(500).collect::<String>();
        // A batch ends where its responses reach their bound.
        (answer.contains("\"error\"") && !answer.contains("response too large")).then_some(answer)
    }

    fn sender(&self) -> Value {
        self.ask("eth_accounts", &json!([]))[18].clone()
    }

    /// Measures the reader while `connections` ask for `body` without pause. Returns the sorted times, and how often it was answered.
    fn measure(&self, connections: usize, path: &str, body: &str) -> (Vec<Duration>, u64) {
        let (is_over, done) = (AtomicBool::new(false), AtomicU64::new(0));
        let worst = || -> Result<()> {
            while !is_over.load(Ordering::Relaxed) {
                // A body that is refused closes its connection.
                let mut http = Http::connect(self.port)?;
                http.0.get_ref().set_read_timeout(Some(Duration::from_millis(200)))?;
                while !is_over.load(Ordering::Relaxed) && http.begin(path, &self.api_key, body).is_ok() {
                    // At the end a row of blocks is left in the middle, which stops it.
                    while http.0.fill_buf().is_err_and(|cause| cause.kind() == std::io::ErrorKind::WouldBlock) {
                        if is_over.load(Ordering::Relaxed) {
                            return Ok(());
                        }
                    }
                    http.0.get_ref().set_read_timeout(None)?;
                    if http.finish().is_err() {
                        break;
                    }
                    http.0.get_ref().set_read_timeout(Some(Duration::from_millis(200)))?;
                    done.fetch_add(1, Ordering::Relaxed);
                }
            }
            Ok(())
        };
        let read = || {
            let mut http = Http::connect(self.port).expect("a connection");
            let question = call("eth_blockNumber", &json!([]));
            let (begun, mut times) = (now(), Vec::new());
            while begun.elapsed() < MEASURED || times.len() < 100 {
                let asked = now();
                let body = http.post("/", "", &question).expect("a response");
                times.push(asked.elapsed());
                assert!(body.starts_with(b"{"), "an object");
                sleep(Duration::from_millis(1));
            }
            is_over.store(true, Ordering::Relaxed);
            times.sort_unstable();
            times
        };
        let times = scope(|threads| {
            if !body.is_empty() {
                (0..connections).for_each(|_| drop(threads.spawn(|| worst().expect("a connection"))));
            }
            threads.spawn(read).join().expect("the reader ends")
        });
        (times, done.load(Ordering::Relaxed))
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    // Tests of all targets start benches too, and measure nothing.
    if !arguments.any(|argument| argument == "--bench") {
        return;
    }
    let wanted: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let folder = tempfile::tempdir().expect("a folder");
    let dev = Dev::start(folder.path());
    let (mut above, millis) = (Vec::new(), |time: Duration| format!("{:.1}", time.as_secs_f64() * 1_000.0));
    println!("| worst client | connections | answered | p50 ms | p99 ms | max ms |");
    println!("|---|---|---|---|---|---|");
    for (name, path, body) in dev.kinds() {
        if !wanted.is_empty() && !wanted.iter().any(|wanted| name.contains(wanted.as_str())) {
            continue;
        }
        if let Some(error) = dev.error(name, path, &body) {
            above.push(format!("{name}: {error}"));
            continue;
        }
        for connections in CONNECTIONS {
            let (times, done) = dev.measure(connections, path, &body);
            let (p50, p99, most) = (times[times.len() / 2], times[times.len() * 99 / 100], times[times.len() - 1]);
            println!("| {name} | {connections} | {done} | {} | {} | {} |", millis(p50), millis(p99), millis(most));
            if p99 > P99_MAX {
                above.push(format!("{name} over {connections} connections: {} ms", millis(p99)));
            }
            if body.is_empty() {
                break;
            }
        }
    }
    assert!(above.is_empty(), "errors, or a 99th percentile above {P99_MAX:?}: {above:#?}");
}
