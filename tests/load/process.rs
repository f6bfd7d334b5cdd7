//! The real binary as a child process.

use std::{
    net::SocketAddr,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use serde_json::Value;
use tokio::time::{Instant, sleep};

/// A running `chainbox dev` over a database. Dropping it kills it.
#[derive(Debug)]
pub(crate) struct Dev {
    child: Child,
    config: Value,
}

impl Dev {
    /// Starts the binary on the database in `folder`; port 0 is any port.
    pub(crate) async fn start(folder: &Path, port: u16) -> Self {
        let (database, config_out) = (folder.join("database"), folder.join("config.json"));
        let _ = std::fs::remove_file(&config_out);
        let child = Command::new(env!("CARGO_BIN_EXE_chainbox"))
            .args(["dev", "--quiet", "--accounts", "74", "--port", &port.to_string()])
            .arg("--db-path")
            .arg(database)
            .arg("--config-out")
            .arg(&config_out)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("the binary starts");
        let mut dev = Self { child, config: Value::Null };
        let begun = Instant::now();
        loop {
            if let Ok(text) = std::fs::read_to_string(&config_out) {
                dev.config = serde_json::from_str(&text).expect("the file is written atomically");
                return dev;
            }
            let ended = dev.child.try_wait().expect("it is a child");
            assert!(ended.is_none(), "the binary ended: {ended:?}");
            assert!(begun.elapsed() < Duration::from_secs(60), "no config within a minute");
            sleep(Duration::from_millis(5)).await;
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        let url = self.config["urls"]["http"].as_str().expect("a URL");
        url.trim_start_matches("http://").parse().expect("an address")
    }

    pub(crate) fn api_key(&self) -> &str {
        self.config["apiKey"].as_str().expect("a key")
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Kills the process (SIGKILL) and waits for its end.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }
}

impl Drop for Dev {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
