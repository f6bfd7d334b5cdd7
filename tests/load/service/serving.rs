//! `chainbox serve` as a child process, over a database in a folder.

use std::{
    fs::{self, File},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use tokio::time::{Instant, sleep};

/// Time for a start, for what the console shows, and for an end.
const LIMIT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(5);
/// The quotas that the load would reach.
const LIMITS: &str = "[workspaces]\nof_a_user_max = 1000\n";
const REQUESTS_PER_MINUTE: &str = "1000000000";
/// Prefix of the token with which the first user signs up.
const BOOTSTRAP: &str = "cbb_";

/// A running `chainbox serve`: that of `CHAINBOX_BIN`, else the one that was built with this test. Dropping it kills it.
#[derive(Debug)]
pub(super) struct Serving {
    child: Child,
    address: SocketAddr,
    stdout: PathBuf,
    stderr: PathBuf,
}

impl Serving {
    /// Starts it on the database in `folder`; port 0 is any port.
    pub(super) async fn start(folder: &Path, port: u16) -> Self {
        let [database, limits, stdout, stderr] =
            ["database", "limits.toml", "stdout", "stderr"].map(|name| folder.join(name));
        fs::create_dir_all(&database).expect("the folder takes it");
        fs::write(&limits, LIMITS).expect("the folder takes it");
        let file = |path: &Path| File::create(path).expect("the folder takes it");
        let binary = std::env::var_os("CHAINBOX_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_chainbox").into());
        let child = Command::new(binary)
            .args(["serve", "--port", &port.to_string(), "--requests-per-minute", REQUESTS_PER_MINUTE])
            .arg("--db-path")
            .arg(database)
            .arg("--limits")
            .arg(limits)
            .stdin(Stdio::null())
            .stdout(file(&stdout))
            .stderr(file(&stderr))
            .spawn()
            .expect("the binary starts");
        let mut serving = Self { child, address: ([127, 0, 0, 1], port).into(), stdout, stderr };
        serving.address = serving.said("address", address_in).await;
        serving
    }

    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the token with which the first user signs up.
    pub(super) async fn bootstrap_token(&mut self) -> String {
        self.said("token of the first user", token_in).await
    }

    /// Waits until the console has what is looked for.
    async fn said<T>(&mut self, what: &str, find: fn(&str) -> Option<T>) -> T {
        let begun = Instant::now();
        loop {
            let said = fs::read_to_string(&self.stdout).expect("the console is a file");
            if let Some(found) = find(&said) {
                return found;
            }
            let ended = self.child.try_wait().expect("it is a child");
            let log = fs::read_to_string(&self.stderr).unwrap_or_default();
            assert!(ended.is_none(), "chainbox ended ({ended:?}) and has shown no {what}; it said:\n{said}{log}");
            assert!(begun.elapsed() < LIMIT, "chainbox has shown no {what} within {LIMIT:?}; it said:\n{said}{log}");
            sleep(POLL).await;
        }
    }

    /// Kills the process (SIGKILL) and waits for its end.
    pub(super) fn kill(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }

    /// Asks it to end (SIGTERM) and waits until it has.
    pub(super) async fn stop(mut self) {
        let sent = Command::new("kill").args(["-TERM", &self.id().to_string()]).status();
        assert!(sent.expect("kill is there").success(), "SIGTERM is not sent");
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("it is a child") {
                let log = fs::read_to_string(&self.stderr).unwrap_or_default();
                assert!(status.success(), "chainbox ended with {status} after SIGTERM; it said:\n{log}");
                return;
            }
            assert!(begun.elapsed() < LIMIT, "chainbox runs {LIMIT:?} after SIGTERM");
            sleep(POLL).await;
        }
    }
}

fn address_in(said: &str) -> Option<SocketAddr> {
    let (_, rest) = said.split_once(" serves on ")?;
    rest.split_once('\n')?.0.parse().ok()
}

fn token_in(said: &str) -> Option<String> {
    let (_, rest) = said.split_once(BOOTSTRAP)?;
    let (digits, _) = rest.split_once('\n')?;
    Some(format!("{BOOTSTRAP}{digits}"))
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
