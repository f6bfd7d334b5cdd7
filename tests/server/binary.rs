//! The real binary: start, requests, shutdown, and the errors of a failed start.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{person::Person, printed::Printed};

pub(crate) const LIMIT: Duration = Duration::from_secs(60);

pub(crate) fn chainbox(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_chainbox"));
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A running `chainbox dev`. Dropping it kills it.
pub(crate) struct Dev {
    child: Child,
    pub(crate) config: Value,
    /// Its console, where somebody has waited for a text of it; see [`Dev::wait_for_text`].
    printed: Option<Printed>,
}

impl Dev {
    pub(crate) fn start(folder: &Path, flags: &[&str]) -> Self {
        let config_out = folder.join("config.json");
        let config_out = config_out.to_str().unwrap();
        let args = [&["dev", "--port", "0", "--config-out", config_out], flags].concat();
        let mut child = chainbox(&args).spawn().unwrap();
        let deadline = now() + LIMIT;
        loop {
            if let Ok(text) = std::fs::read_to_string(config_out) {
                let config = serde_json::from_str(&text).expect("the file is written atomically");
                return Self { child, config, printed: None };
            }
            if let Some(status) = child.try_wait().unwrap() {
                panic!("chainbox ended early: {status}: {:?}", child.wait_with_output());
            }
            assert!(now() < deadline, "no config within {LIMIT:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn address(&self) -> String {
        self.config["urls"]["http"].as_str().unwrap().trim_start_matches("http://").to_owned()
    }

    pub(crate) fn rpc(&self, method: &str, params: Value) -> Value {
        call(&self.address(), method, params)
    }

    /// Waits until the console has a text. From then on it is read as it comes.
    pub(crate) fn wait_for_text(&mut self, part: &str) {
        let stdout = &mut self.child.stdout;
        self.printed.get_or_insert_with(|| Printed::of(stdout.take().unwrap())).wait_for(part);
    }

    /// Sends a signal and waits for the exit.
    pub(crate) fn stop(mut self, signal: &str) -> Output {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        let deadline = now() + LIMIT;
        while self.child.try_wait().unwrap().is_none() {
            assert!(now() < deadline, "still running {LIMIT:?} after {signal}");
            std::thread::sleep(Duration::from_millis(5));
        }
        let mut output = Output { status: self.child.wait().unwrap(), stdout: Vec::new(), stderr: Vec::new() };
        let printed = self.printed.take().unwrap_or_else(|| Printed::of(self.child.stdout.take().unwrap()));
        output.stdout = printed.into_bytes();
        self.child.stderr.take().unwrap().read_to_end(&mut output.stderr).unwrap();
        output
    }
}

/// Makes one call over a connection of its own.
fn call(address: &str, method: &str, params: Value) -> Value {
    post(address, "", &json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }))["result"].take()
}

/// Posts JSON with further header lines over a connection of its own.
pub(crate) fn post(address: &str, headers: &str, body: &Value) -> Value {
    let body = body.to_string();
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    let head = format!(
        "POST / HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n"
    );
    stream.write_all((head + &body).as_bytes()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    let (_, body) = response.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no response: {response:?}"));
    serde_json::from_str(body).unwrap()
}

impl Drop for Dev {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[expect(clippy::disallowed_methods, reason = "a real process needs a real deadline")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

#[test]
fn the_config_file_is_complete() {
    let folder = tempfile::tempdir().unwrap();
    let dev = Dev::start(folder.path(), &["--quiet", "--accounts", "3", "--chain-id", "1234"]);
    let config = &dev.config;
    assert_eq!((&config["chainId"], &config["blockchainId"]), (&json!(1234), &json!("bc_default")));
    assert_eq!((config["accounts"].as_array().unwrap().len(), config["privateKeys"].as_array().unwrap().len()), (3, 3));
    assert_eq!(config["accounts"][0].as_str().unwrap().to_lowercase(), "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266");
    assert_eq!(config["privateKeys"][0], "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80");
    assert!(config["mnemonic"].as_str().unwrap().ends_with("junk"));
    assert!(config["apiKey"].as_str().unwrap().starts_with("cbx_"));
    assert_eq!(dev.rpc("eth_chainId", json!([])), "0x4d2");
    let output = dev.stop("-TERM");
    assert!(output.status.success(), "{output:?}");
    assert_eq!((output.stdout.len(), output.stderr.len()), (0, 0), "quiet: {output:?}");
}

/// Its page delivers it, and the console shows it all the same.
#[test]
fn the_console_shows_a_mail_that_was_read_in_the_mailbox_first() {
    let folder = tempfile::tempdir().unwrap();
    let mut dev = Dev::start(folder.path(), &[]);
    // The console looks at the mailbox again for the second one.
    for email in ["ann@example.org", "bob@example.org"] {
        Person::at(&dev.address()).signs_up(email);
        dev.wait_for_text(&format!("mail to {email}: "));
    }
    let text = String::from_utf8(dev.stop("-INT").stdout).unwrap();
    let shown = "mail to ann@example.org: Confirm your address of e-mail";
    assert_eq!(text.matches(shown).count(), 1, "{text}");
    assert!(text.contains("/oauth/confirm?token="), "{text}");
}

#[test]
fn the_console_shows_accounts_and_decoded_transactions() {
    let folder = tempfile::tempdir().unwrap();
    let mut dev = Dev::start(folder.path(), &[]);
    let (from, to) = (dev.config["accounts"][0].clone(), dev.config["accounts"][1].clone());
    let hash = dev.rpc("eth_sendTransaction", json!([{ "from": from, "to": to, "value": "0x7" }]));
    dev.wait_for_text("\nblock 1: ");
    let text = String::from_utf8(dev.stop("-INT").stdout).unwrap();
    for part in [
        "Available Accounts",
        "Private Keys",
        "Mnemonic:",
        "Chain ID:     31337",
        "Genesis Hash:",
        "Listening on 127.0.0.1:",
        "cbx_",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    let hash = hash.as_str().unwrap();
    let line = format!("block 1: {}…{} (0) -> (1) 7 wei  21000 gas  ok", &hash[..6], &hash[62..]);
    assert!(text.lines().any(|printed| printed == line), "{line} is not in {text}");
    assert!(text.ends_with("\nstopped at block 1\n"), "{text}");
}

/// Nobody reads the console here: once its pipe is full, its thread stands still, and nothing else does.
#[test]
fn a_console_that_is_not_read_holds_up_no_request() {
    let folder = tempfile::tempdir().unwrap();
    let dev = Dev::start(folder.path(), &[]);
    let accounts = dev.config["accounts"].as_array().unwrap().clone();
    let owner: chainbox::primitives::Address = accounts[0].as_str().unwrap().parse().unwrap();
    let code =
        chainbox::templates::Erc20Params::new("Gold", "GLD", chainbox::primitives::U256::from(1), owner).init_code();
    let hash = dev.rpc("eth_sendTransaction", json!([{ "from": owner, "data": code }]));
    let token = dev.rpc("eth_getTransactionReceipt", json!([hash]))["contractAddress"].clone();
    dev.rpc("evm_setAutomine", json!([false]));
    let data = format!("0xa9059cbb{:064x}{:064x}", 1, 5);
    for sender in &accounts[2..4] {
        let failing = json!({ "from": sender, "to": token, "gas": "0x186a0", "data": data });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_sendTransaction", "params": [failing] });
        let responses = post(&dev.address(), "", &json!(vec![call; 1_000]));
        assert!(responses.as_array().unwrap().iter().all(|response| response["result"].is_string()), "{responses}");
    }
    dev.rpc("evm_mine", json!([]));
    let block = dev.rpc("eth_getBlockByNumber", json!(["latest", false]));
    assert_eq!(block["transactions"].as_array().unwrap().len(), 2_000);
    for _ in 0..20 {
        dev.rpc("evm_mine", json!([]));
    }
    assert_eq!(dev.rpc("eth_blockNumber", json!([])), "0x16");
    let text = String::from_utf8(dev.stop("-TERM").stdout).unwrap();
    assert!(text.contains("failed: ERC20InsufficientBalance("), "{}", &text[..text.len().min(5_000)]);
}

#[test]
fn a_server_for_other_machines_warns_of_what_is_open() {
    for (flags, parts, without) in [
        (&[][..], &["Warning:", "can spend", "--rpc-token", "--no-dev-rpc"][..], None),
        (&["--no-dev-rpc"], &["Warning:", "JSON-RPC is open"], Some("can spend")),
        (&["--rpc-token", "open-sesame"], &["Listening on 0.0.0.0:"], Some("Warning:")),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut dev = Dev::start(folder.path(), &[&["--host", "0.0.0.0"], flags].concat());
        assert!(dev.address().starts_with("127.0.0.1:"), "{}", dev.address());
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "anvil_getAutomine", "params": [] });
        let (open, with_token) =
            (post(&dev.address(), "", &call), post(&dev.address(), "authorization: Bearer open-sesame\r\n", &call));
        assert_eq!(open["result"] == true, flags.is_empty(), "{flags:?}: {open}");
        assert_eq!(with_token["result"] == true, !flags.contains(&"--no-dev-rpc"), "{flags:?}: {with_token}");
        dev.wait_for_text("Listening on ");
        let text = String::from_utf8(dev.stop("-TERM").stdout).unwrap();
        for part in parts {
            assert!(text.contains(part), "{flags:?}: {part} is not in {text}");
        }
        assert!(without.is_none_or(|part| !text.contains(part)), "{flags:?}: {text}");
    }
    let invalid = chainbox(&["dev", "--port", "0", "--rpc-token", "short"]).output().unwrap();
    assert_eq!(invalid.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&invalid.stderr).contains("--rpc-token"));
}

#[test]
fn a_dump_is_written_at_shutdown_and_loaded_at_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state.dump");
    let file = file.to_str().unwrap();
    let dev = Dev::start(folder.path(), &["--quiet", "--dump-state", file]);
    let (from, to) = (dev.config["accounts"][0].clone(), dev.config["accounts"][1].clone());
    let hash = dev.rpc("eth_sendTransaction", json!([{ "from": from, "to": to, "value": "0x7" }]));
    assert!(dev.stop("-TERM").status.success());
    std::fs::remove_file(folder.path().join("config.json")).unwrap();
    let again = Dev::start(folder.path(), &["--quiet", "--load-state", file]);
    assert_eq!(again.rpc("eth_blockNumber", json!([])), "0x1");
    assert_eq!(again.rpc("eth_getTransactionReceipt", json!([hash]))["status"], "0x1");
}

/// A record of an impersonated transaction is what a dump says, not what its sender signed: whoever loads one is told.
#[test]
fn the_impersonated_transactions_of_a_loaded_dump_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state.dump");
    let file = file.to_str().unwrap();
    let dev = Dev::start(folder.path(), &["--quiet", "--dump-state", file]);
    let (account, stranger) = (dev.config["accounts"][0].clone(), "0x00000000000000000000000000000000000000c5");
    dev.rpc("eth_sendTransaction", json!([{ "from": account, "to": stranger, "value": "0xde0b6b3a7640000" }]));
    let signed_alone = dev.rpc("anvil_dumpState", json!([]));
    dev.rpc("anvil_impersonateAccount", json!([stranger]));
    assert!(dev.rpc("eth_sendTransaction", json!([{ "from": stranger, "to": account }])).is_string());
    assert!(dev.stop("-TERM").status.success());
    std::fs::remove_file(folder.path().join("config.json")).unwrap();

    let mut dev = Dev::start(folder.path(), &["--load-state", file]);
    let dump = dev.rpc("anvil_dumpState", json!([]));
    for loaded in [signed_alone, dump] {
        assert_eq!(dev.rpc("anvil_loadState", json!([loaded])), true, "as anvil returns");
    }
    dev.wait_for_text("\nloaded a dump: 2 blocks, 2 transactions, 1 of them");
    let text = String::from_utf8(dev.stop("-TERM").stdout).unwrap();
    let told = |text: &str| text.matches("2 blocks, 2 transactions, 1 of them").count();
    assert!(text.contains("loaded a dump: 1 block, 1 transaction\n"), "{text}");
    assert!(
        text.contains("Loaded State: ") && text.contains("\nloaded a dump: 2 blocks, 2 transactions, 1 of them"),
        "{text}"
    );
    assert_eq!(told(&text), 2, "{text}");
    std::fs::remove_file(folder.path().join("config.json")).unwrap();
    let quiet = Dev::start(folder.path(), &["--quiet", "--load-state", file]);
    assert_eq!(quiet.stop("-TERM").stdout, b"");
}

#[cfg(feature = "rocksdb")]
#[test]
fn a_database_outlives_the_process_and_is_locked_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("db");
    let database = database.to_str().unwrap();
    let dev = Dev::start(folder.path(), &["--quiet", "--db-path", database]);
    let (from, to) = (dev.config["accounts"][0].clone(), dev.config["accounts"][1].clone());
    let hash = dev.rpc("eth_sendTransaction", json!([{ "from": from, "to": to, "value": "0x7" }]));
    let second = chainbox(&["dev", "--port", "0", "--db-path", database]).output().unwrap();
    let text = String::from_utf8_lossy(&second.stderr).into_owned();
    assert_eq!(second.status.code(), Some(1));
    assert!(text.contains("in use by another process") && text.contains(database), "{text}");
    assert!(dev.stop("-TERM").status.success());
    std::fs::remove_file(folder.path().join("config.json")).unwrap();
    let again = Dev::start(folder.path(), &["--quiet", "--db-path", database]);
    assert_eq!(again.rpc("eth_getTransactionReceipt", json!([hash]))["status"], "0x1");
    assert_eq!(again.rpc("eth_blockNumber", json!([])), "0x1");
}

/// An account of [`write_genesis`].
const FUNDED: &str = "0x00000000000000000000000000000000000000aa";

/// Writes a genesis with chain id 77 and one funded account.
fn write_genesis(path: &str) {
    let spec = json!({ "chainId": 77, "accounts": { FUNDED: { "balance": "12345" } }, "baseFee": "off" });
    std::fs::write(path, spec.to_string()).unwrap();
}

#[test]
fn a_genesis_file_defines_the_chain() {
    let folder = tempfile::tempdir().unwrap();
    let genesis = folder.path().join("genesis.json");
    let genesis = genesis.to_str().unwrap();
    write_genesis(genesis);
    let dev = Dev::start(folder.path(), &["--quiet", "--genesis", genesis]);
    assert_eq!(dev.config["chainId"], 77);
    assert_eq!(dev.rpc("eth_getBalance", json!([FUNDED, "latest"])), "0x3039");
    assert!(dev.stop("-TERM").status.success());

    std::fs::write(genesis, r#"{"chainId": 77, "acounts": {}}"#).unwrap();
    let typo = chainbox(&["dev", "--port", "0", "--genesis", genesis]).output().unwrap();
    let text = String::from_utf8_lossy(&typo.stderr).into_owned();
    assert_eq!(typo.status.code(), Some(1));
    assert!(text.contains("acounts") && text.contains("genesis.json"), "{text}");
}

#[cfg(feature = "rocksdb")]
#[test]
fn a_database_opens_without_its_genesis_file() {
    let folder = tempfile::tempdir().unwrap();
    let (genesis, database) = (folder.path().join("genesis.json"), folder.path().join("db"));
    let (genesis, database) = (genesis.to_str().unwrap(), database.to_str().unwrap());
    write_genesis(genesis);
    let dev = Dev::start(folder.path(), &["--quiet", "--db-path", database, "--genesis", genesis]);
    assert_eq!(dev.config["chainId"], 77);
    assert!(dev.stop("-TERM").status.success());
    std::fs::remove_file(folder.path().join("config.json")).unwrap();
    let again = Dev::start(folder.path(), &["--quiet", "--db-path", database]);
    assert_eq!(again.config["chainId"], 77);
    assert_eq!(again.rpc("eth_getBalance", json!([FUNDED, "latest"])), "0x3039");
    assert!(again.stop("-TERM").status.success());

    let other = chainbox(&["dev", "--port", "0", "--db-path", database, "--chain-id", "78"]).output().unwrap();
    let text = String::from_utf8_lossy(&other.stderr).into_owned();
    assert_eq!(other.status.code(), Some(1));
    assert!(text.contains("the database at") && text.contains("--chain-id 78: there it is 77"), "{text}");
}

#[test]
fn each_protocol_serves_a_chain() {
    for (name, validators) in [("poa", "3"), ("pos", "4"), ("dpos", "4"), ("pbft", "4"), ("raft", "3")] {
        let folder = tempfile::tempdir().unwrap();
        let dev = Dev::start(folder.path(), &["--quiet", "--consensus", name, "--validators", validators]);
        let (from, to) = (dev.config["accounts"][0].clone(), dev.config["accounts"][1].clone());
        let hash = dev.rpc("eth_sendTransaction", json!([{ "from": from, "to": to, "value": "0x7" }]));
        assert_eq!(dev.rpc("eth_getTransactionReceipt", json!([hash]))["status"], "0x1", "{name}");
        dev.rpc("anvil_mine", json!(["0x1f"]));
        let number = |tag: &str| {
            let number = dev.rpc("eth_getBlockByNumber", json!([tag, false]))["number"].clone();
            u64::from_str_radix(number.as_str().unwrap().trim_start_matches("0x"), 16).unwrap()
        };
        let (safe, finalized) = match name {
            "pbft" | "raft" => (32, 32),
            // DPoS with four producers finalizes five blocks late, PoS justifies one epoch of eight slots late and finalizes two
            // late, PoA finalizes under two of three signers.
            "dpos" => (27, 27),
            "pos" => (24, 16),
            _ => (30, 30),
        };
        assert_eq!((number("latest"), number("safe"), number("finalized")), (32, safe, finalized), "{name}");
        assert!(dev.stop("-TERM").status.success());
    }
    let output = chainbox(&["dev", "--port", "0", "--consensus", "pbft", "--validators", "3"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains("pbft: ") && text.contains("validators"), "{text}");
}

#[cfg(feature = "rocksdb")]
#[test]
fn a_database_remembers_its_protocol() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("db");
    let db = db.to_str().unwrap();
    let first = Dev::start(folder.path(), &["--quiet", "--db-path", db, "--consensus", "pbft", "--validators", "4"]);
    first.rpc("evm_mine", json!([]));
    assert!(first.stop("-TERM").status.success());
    let elsewhere = tempfile::tempdir().unwrap();
    let again = Dev::start(elsewhere.path(), &["--quiet", "--db-path", db]);
    again.rpc("evm_mine", json!([]));
    assert_eq!(again.rpc("eth_getBlockByNumber", json!(["finalized", false]))["number"], "0x2");
    assert!(again.stop("-TERM").status.success());
    let mut other = chainbox(&["dev", "--port", "0", "--db-path", db, "--consensus", "raft", "--validators", "4"]);
    let text = String::from_utf8_lossy(&other.output().unwrap().stderr).into_owned();
    assert!(text.contains("--consensus raft: there it is pbft"), "{text}");
}

/// A file system in memory, unmounted when dropped.
#[cfg(feature = "rocksdb")]
struct SmallDisk<'a>(&'a Path);

#[cfg(feature = "rocksdb")]
impl<'a> SmallDisk<'a> {
    fn mount(path: &'a Path) -> Option<Self> {
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=192m", "tmpfs"]).arg(path).output();
        mounted.is_ok_and(|output| output.status.success()).then_some(Self(path))
    }
}

#[cfg(feature = "rocksdb")]
impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}

#[cfg(feature = "rocksdb")]
#[test]
fn below_the_free_space_asked_for_the_database_is_read_only() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("db");
    let database = database.to_str().unwrap();
    let restart = |flags: &[&str]| {
        let elsewhere = tempfile::tempdir().unwrap();
        (Dev::start(elsewhere.path(), &[&["--quiet", "--db-path", database], flags].concat()), elsewhere)
    };
    let (dev, _config) = restart(&[]);
    let transfer = json!([{ "from": dev.config["accounts"][0], "to": dev.config["accounts"][1], "value": "0x7" }]);
    let hash = dev.rpc("eth_sendTransaction", transfer.clone());
    assert!(dev.stop("-TERM").status.success());
    // No disk has as much.
    let (dev, _config) = restart(&["--min-free-space", "1048576TiB"]);
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_sendTransaction", "params": transfer });
    let error = post(&dev.address(), "", &call)["error"].clone();
    let bound = (1_u64 << 60).to_string();
    assert_eq!((&error["code"], &error["data"]["details"]["freeBytesMin"]), (&json!(-32050), &json!(bound)), "{error}");
    assert_eq!(dev.rpc("eth_blockNumber", json!([])), "0x1");
    assert_eq!(dev.rpc("eth_getTransactionReceipt", json!([hash]))["status"], "0x1");
    assert!(dev.stop("-TERM").status.success());
    let (dev, _config) = restart(&["--min-free-space", "0"]);
    assert!(dev.rpc("eth_sendTransaction", transfer).is_string());
    assert_eq!(dev.rpc("eth_blockNumber", json!([])), "0x2");
}

#[cfg(feature = "rocksdb")]
#[test]
fn a_running_node_goes_on_once_its_disk_has_room() {
    let folder = tempfile::tempdir().unwrap();
    let disk = folder.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let Some(_mounted) = SmallDisk::mount(&disk) else {
        eprintln!("skipped: mounting a small file system needs root");
        return;
    };
    let (database, filler) = (disk.join("db"), disk.join("filler"));
    let flags = ["--quiet", "--min-free-space", "64MiB", "--db-path", database.to_str().unwrap()];
    let dev = Dev::start(folder.path(), &flags);
    let transfer = json!([{ "from": dev.config["accounts"][0], "to": dev.config["accounts"][1], "value": "0x7" }]);
    let send = || {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_sendTransaction", "params": transfer });
        post(&dev.address(), "", &call)
    };
    assert!(send()["result"].is_string());
    let mut filling = std::fs::File::create(&filler).unwrap();
    let (mut sent, mut refused) = (1, json!(null));
    while refused.is_null() {
        filling.write_all(&vec![1; 8 << 20]).unwrap();
        refused = send()["error"]["code"].take();
        sent += u32::from(refused.is_null());
    }
    assert_eq!(refused, -32050);
    for _ in 0..3 {
        assert_eq!(send()["error"]["code"], -32050);
        assert_eq!(dev.rpc("eth_blockNumber", json!([])), format!("{sent:#x}"));
    }
    std::fs::remove_file(&filler).unwrap();
    drop(filling);
    assert!(send()["result"].is_string());
    assert_eq!(dev.rpc("eth_blockNumber", json!([])), format!("{:#x}", sent + 1));
    assert!(dev.stop("-TERM").status.success());
}

#[cfg(feature = "rocksdb")]
#[test]
fn a_foreign_folder_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("letter.txt"), "dear diary").unwrap();
    let output = chainbox(&["dev", "--port", "0", "--db-path", folder.path().to_str().unwrap()]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("not usable here"), "{text}");
}

#[cfg(not(feature = "rocksdb"))]
#[test]
fn a_database_is_refused_by_a_binary_without_rocksdb() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("db");
    let output = chainbox(&["dev", "--port", "0", "--db-path", database.to_str().unwrap()]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{text}");
    for part in ["built without RocksDB", "cargo build --features server,rocksdb", database.to_str().unwrap()] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    assert!(!database.exists(), "nothing was created");
}

#[test]
fn a_running_request_is_finished_before_the_exit() {
    let folder = tempfile::tempdir().unwrap();
    let dev = Dev::start(folder.path(), &["--quiet"]);
    let address = dev.address();
    // Two seconds of blocks at this machine's speed: the node waits ten for what is running.
    let started = now();
    dev.rpc("evm_mine", json!([{ "blocks": 50 }]));
    let block_time = (now() - started) / 50;
    let blocks = (Duration::from_secs(2).as_nanos() / block_time.as_nanos().max(1)).clamp(10, 20_000) as u64;
    let before = dev.rpc("eth_blockNumber", json!([]));
    let mining = std::thread::spawn(move || call(&address, "evm_mine", json!([{ "blocks": blocks }])));
    while dev.rpc("eth_blockNumber", json!([])) == before {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(dev.stop("-TERM").status.success());
    assert_eq!(mining.join().unwrap(), "0x0", "the response was sent although the node was stopping");
}

#[test]
fn a_port_in_use_is_an_error() {
    let holder = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = holder.local_addr().unwrap().port().to_string();
    let output = chainbox(&["dev", "--port", &port]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains(&format!("port {port} on 127.0.0.1 is already in use")), "{text}");
}

#[test]
fn invalid_flags_are_errors() {
    for (flags, part, code) in [
        (&["dev", "--port", "70000"][..], "--port", 2),
        (&["dev", "--chain-id", "0"], "--chain-id", 2),
        (&["dev", "--consensus", "raffle"], "proof-of-authority", 2),
        (&["dev", "--no-such-flag"], "--no-such-flag", 2),
        (&["dev", "--mnemonic", "test test test"], "mnemonic", 1),
        (&["dev", "--load-state", "/no/such/file"], "/no/such/file", 1),
    ] {
        let output = chainbox(flags).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{flags:?}: {text}");
        assert!(text.contains(part), "{flags:?}: {text}");
    }
}

#[test]
fn help_has_examples() {
    let output = chainbox(&["dev", "--help"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "Examples:",
        "--block-time 0.5",
        "CHAINBOX_PORT",
        "--config-out",
        "RocksDB database in this folder; needs a binary",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn interval_mining_follows_the_wall_clock() {
    let folder = tempfile::tempdir().unwrap();
    let dev = Dev::start(folder.path(), &["--quiet", "--block-time", "1"]);
    let deadline = now() + LIMIT;
    while dev.rpc("eth_blockNumber", json!([])) == "0x0" {
        assert!(now() < deadline, "no block within {LIMIT:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
