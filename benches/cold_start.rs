//! Time from spawning `chainbox dev` to its first response: in memory, on a database after a clean stop, and after a
//! kill.
//!
//! `cargo bench --all-features --bench cold_start`

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use chainbox::{
    chain::GenesisSpec,
    primitives::{Address, ether},
};
use criterion::{Criterion, criterion_group, criterion_main};

const ACCOUNTS: u64 = 1_000_000;
const RESPONSE_LIMIT: Duration = Duration::from_secs(120);
const QUESTION: &str = r#"{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}"#;

/// Starts a node and returns it with the time to its first response.
fn start(arguments: &[&str]) -> (Child, u16, Duration) {
    let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a free port").port();
    #[allow(clippy::disallowed_methods, reason = "a bench reads the clock")]
    let begun = Instant::now();
    let child = Command::new(env!("CARGO_BIN_EXE_chainbox"))
        .args(["dev", "--quiet", "--port", &port.to_string()])
        .args(arguments)
        .stdout(Stdio::null())
        .spawn()
        .expect("the binary starts");
    while request(port, QUESTION).is_none() {
        assert!(begun.elapsed() < RESPONSE_LIMIT, "no response");
        sleep(Duration::from_micros(300));
    }
    (child, port, begun.elapsed())
}

fn request(port: u16, body: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    let head =
        "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length";
    write!(stream, "{head}: {}\r\n\r\n{body}", body.len()).ok()?;
    let mut response = String::new();
    stream.read_to_string(&mut response).ok()?;
    response.contains("result").then_some(response)
}

fn stop(mut child: Child) {
    // SIGTERM, as a supervisor sends it.
    let killed = Command::new("kill").arg(child.id().to_string()).status().expect("kill runs");
    assert!(killed.success() && child.wait().expect("it ends").success(), "a clean stop");
}

fn kill(mut child: Child) {
    child.kill().expect("it runs");
    child.wait().expect("it ends");
}

fn timed(criterion: &mut Criterion, name: &str, arguments: &[&str], end: fn(Child)) {
    let mut group = criterion.benchmark_group("cold_start");
    group.sample_size(10);
    group.bench_function(name, |bencher| {
        bencher.iter_custom(|iterations| {
            (0..iterations)
                .map(|_| {
                    let (child, _, took) = start(arguments);
                    end(child);
                    took
                })
                .sum()
        });
    });
    group.finish();
}

/// Writes a genesis file with so many accounts.
fn genesis_file(folder: &Path) -> String {
    let mut genesis = GenesisSpec::new(31_337);
    for n in 0..ACCOUNTS {
        genesis.fund(Address::left_padding_from(&(n + 1_000).to_be_bytes()), ether(1));
    }
    let path = folder.join("genesis.json");
    std::fs::write(&path, genesis.to_json()).expect("the folder takes it");
    path.to_string_lossy().into_owned()
}

fn cold_start(criterion: &mut Criterion) {
    timed(criterion, "store=memory", &[], kill);
    let folder = tempfile::tempdir().expect("a folder");
    let database = folder.path().join("database").to_string_lossy().into_owned();
    let genesis = genesis_file(folder.path());
    let (child, ..) = start(&["--db-path", &database, "--genesis", &genesis]);
    stop(child);
    let arguments = ["--db-path", database.as_str()];
    timed(criterion, &format!("store=rocksdb,accounts={ACCOUNTS},after=stop"), &arguments, stop);
    timed(criterion, &format!("store=rocksdb,accounts={ACCOUNTS},after=kill"), &arguments, kill);
}

criterion_group!(benches, cold_start);
criterion_main!(benches);
