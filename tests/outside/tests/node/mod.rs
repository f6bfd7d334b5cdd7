//! A `chainbox dev` process on a free port, ended when dropped.

use std::{
    env, fs,
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use alloy_primitives::Address;
use serde_json::Value;

/// Code of the template erc20-token: 0xEFCB, template id, version (two bytes each, big-endian).
pub const ERC20_MARKER: [u8; 6] = [0xEF, 0xCB, 0x00, 0x01, 0x00, 0x02];

/// How often the configuration is looked for, 10 ms apart: 30 s.
const START_TRIES: u32 = 3000;

pub struct DevNode {
    child: Child,
    _folder: tempfile::TempDir,
    pub http: String,
    pub ws: String,
    pub chain_id: u64,
    pub accounts: Vec<Address>,
    pub private_keys: Vec<String>,
}

impl DevNode {
    /// Starts the binary and waits until it says that it answers.
    pub fn start() -> Self {
        let binary = env::var_os("CHAINBOX_BIN").map(PathBuf::from).expect("set CHAINBOX_BIN to the chainbox binary");
        let folder = tempfile::tempdir().expect("temporary folder");
        let path = folder.path().join("config.json");
        let child = Command::new(&binary)
            .args(["dev", "--port", "0", "--quiet", "--config-out"])
            .arg(&path)
            .stdin(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", binary.display()));
        // Owned from here on, so that a failure below ends the process too.
        let mut node = Self {
            child,
            _folder: folder,
            http: String::new(),
            ws: String::new(),
            chain_id: 0,
            accounts: Vec::new(),
            private_keys: Vec::new(),
        };
        let mut look = || {
            assert!(node.child.try_wait().expect("process state").is_none(), "chainbox dev ended at once");
            thread::sleep(Duration::from_millis(10));
            fs::read(&path).ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok())
        };
        let config = (0..START_TRIES).find_map(|_| look()).expect("chainbox dev wrote its configuration");
        let text = |value: &Value| value.as_str().expect("a string").to_owned();
        let list = |value: &Value| value.as_array().expect("a list").iter().map(text).collect::<Vec<_>>();
        node.http = text(&config["urls"]["http"]);
        node.ws = text(&config["urls"]["ws"]);
        node.chain_id = config["chainId"].as_u64().expect("chain id");
        node.accounts = list(&config["accounts"]).iter().map(|account| account.parse().expect("address")).collect();
        node.private_keys = list(&config["privateKeys"]);
        node
    }
}

impl Drop for DevNode {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
