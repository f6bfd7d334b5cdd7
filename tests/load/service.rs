//! Load on `chainbox serve`: connections that are kept alive send four reads to one write, as fast as they are answered. Then the process is
//! killed, and after a restart each write that was acknowledged must be there.
//!
//! `tests/clients/load.mjs` does the same with Node. Here all requests are prepared, and one thread sends them, so that the run takes little
//! from the processors that the service shares with it. A few seconds of it run by default; `scripts/load-service` runs the whole, which also
//! bounds the time of responses. `CHAINBOX_BIN` names another binary, `CHAINBOX_LOAD_SECS` and `CHAINBOX_LOAD_CONNECTIONS` change the whole.

mod api;
mod client;
mod connection;
mod figures;
mod serving;
mod sign_up;
mod writer;

use std::{sync::Arc, time::Duration};

use chainbox::platform::DEFAULT_WORKSPACE_ID;
use serde_json::{Value, json};
use tokio::time::sleep;

use self::{
    api::{Api, Request},
    client::{Client, Shared},
    connection::Connection,
    figures::{Millis, Summary, Times, processor_time},
    serving::Serving,
    writer::{Chain, Editor, Sender, Writer},
};
use crate::setting;

/// Connections to one that sends transactions; the others change workspaces.
const CONNECTIONS_PER_SENDER: usize = 10;
/// Connections that send transactions, at most.
const SENDERS_MAX: usize = 10;
/// Transactions that are signed for each second, shared by all connections alike: more than they come to send.
const SIGNED_PER_SEC: u64 = 20_000;
/// Problems that are told in full.
const TOLD_MAX: usize = 20;

/// Bounds of the 99th percentiles.
#[derive(Clone, Copy, Debug)]
struct Latest {
    reads: Duration,
    writes: Duration,
}

/// Those that docs/load.md has.
const LATEST: Latest = Latest { reads: Duration::from_millis(20), writes: Duration::from_millis(100) };

/// Length and size of a run.
#[derive(Clone, Copy, Debug)]
struct Plan {
    secs: u64,
    connections: usize,
    latest: Option<Latest>,
}

/// What became of the clients of a run.
#[derive(Debug)]
struct Outcome {
    reads: Summary,
    writes: Summary,
    writers: Vec<Writer>,
    /// Requests that failed before the kill.
    failures: Vec<String>,
}

fn reads(api: &Api, chain: &Chain) -> Vec<Request> {
    let latest = json!({ "blockchainId": chain.id, "blockNumber": "latest" });
    vec![
        api.rest("GET", &format!("/v1/workspaces/{DEFAULT_WORKSPACE_ID}"), &Value::Null),
        api.rest("GET", &format!("/v1/blockchains/{}", chain.id), &Value::Null),
        api.rest("GET", "/v1/workspaces", &Value::Null),
        api.rpc("blockchain.getBlock", &latest),
    ]
}

/// Makes the writers of all connections, the senders of transactions first.
async fn writers(plan: Plan, api: &mut Api, chain: &Chain) -> Vec<Writer> {
    let senders = (plan.connections / CONNECTIONS_PER_SENDER).clamp(1, SENDERS_MAX);
    let transactions = SIGNED_PER_SEC * plan.secs / plan.connections as u64;
    let mut all = Vec::new();
    for number in 0..plan.connections {
        all.push(match number < senders {
            true => Writer::Sender(Sender::make(api, chain, number, transactions).await),
            false => Writer::Editor(Editor::make(api, number).await),
        });
    }
    all
}

/// Runs the clients and kills the service while all of them are at work.
async fn load(plan: Plan, serving: &mut Serving, shared: Shared, writers: Vec<Writer>) -> Outcome {
    let mut clients = Vec::new();
    for writer in writers {
        let connection = Connection::connect(serving.address()).await.expect("the service listens");
        clients.push(Client::new(connection, writer));
    }
    let shared = Arc::new(shared);
    let processes = [("generator", "self".to_owned()), ("service", serving.id().to_string())];
    let times = || processes.each_ref().map(|(_, process)| processor_time(process).unwrap_or_default());
    let before = times();
    let running: Vec<_> = clients.into_iter().map(|client| tokio::spawn(client.live(shared.clone()))).collect();
    sleep(Duration::from_secs(plan.secs)).await;
    let after = times();
    shared.end();
    serving.kill();
    for (((name, _), before), after) in processes.iter().zip(before).zip(after) {
        println!("processor time of the {name}: {:.1} s", after.saturating_sub(before).as_secs_f64());
    }

    let (mut reads, mut writes) = (Times::default(), Times::default());
    let (mut writers, mut failures) = (Vec::new(), Vec::new());
    for client in running {
        let client = client.await.expect("a client panicked");
        reads.append(client.reads);
        writes.append(client.writes);
        writers.push(client.writer);
        failures.extend(client.failure);
    }
    Outcome { reads: reads.summary(), writes: writes.summary(), writers, failures }
}

/// Prints the figures of the run and returns what came later than it may.
fn late(plan: Plan, outcome: &Outcome) -> Vec<String> {
    println!("| requests | number | a second | p50 ms | p99 ms | max ms | bound on p99 |");
    println!("|---|---|---|---|---|---|---|");
    let bounds = plan.latest.map_or([None, None], |latest| [Some(latest.reads), Some(latest.writes)]);
    let rows = [("reads", outcome.reads), ("writes", outcome.writes)];
    let mut late = Vec::new();
    for ((name, Summary { number, p50, p99, max }), bound) in rows.into_iter().zip(bounds) {
        let [half, most, longest] = [p50, p99, max].map(Millis);
        let wanted = bound.map_or_else(|| "none".to_owned(), |bound| Millis(bound).to_string());
        println!("| {name} | {number} | {} | {half} | {most} | {longest} | {wanted} |", number as u64 / plan.secs);
        if bound.is_some_and(|bound| p99 >= bound) {
            late.push(format!("p99 of {name} is {most} ms; below {wanted} ms is wanted"));
        }
    }
    late
}

/// Looks up what was acknowledged, and returns what is lost. A run that has acknowledged nothing shows nothing.
async fn lost(writers: &[Writer], api: &mut Api, chain: &Chain) -> Vec<String> {
    let (mut workspaces, mut transactions, mut lost) = (0, 0, Vec::new());
    for writer in writers {
        match writer {
            Writer::Editor(editor) => {
                workspaces += usize::from(editor.is_acknowledged());
                lost.extend(editor.lost(api).await);
            }
            Writer::Sender(sender) => {
                transactions += sender.acknowledged.len();
                lost.extend(sender.lost(api, chain).await);
            }
        }
    }
    println!(
        "after kill and restart: {workspaces} workspaces and {transactions} transactions looked at, {} lost",
        lost.len()
    );
    if workspaces == 0 || transactions == 0 {
        lost.push(format!("{workspaces} workspaces and {transactions} transactions show nothing: both are wanted"));
    }
    lost
}

/// Fails with the first problems.
fn judge(problems: &[String]) {
    let told = &problems[..problems.len().min(TOLD_MAX)];
    assert!(problems.is_empty(), "{} problems, the first of them:\n{}", problems.len(), told.join("\n"));
}

async fn run(plan: Plan) {
    let folder = tempfile::tempdir().unwrap();
    let mut serving = Serving::start(folder.path(), 0).await;
    let (address, token) = (serving.address(), serving.bootstrap_token().await);
    let mut api = Api::connect(address, sign_up::first_key(address, &token).await).await;
    let chain = Chain::make(&mut api).await;
    let writers = writers(plan, &mut api, &chain).await;
    let shared = Shared::new(reads(&api, &chain));
    let outcome = load(plan, &mut serving, shared, writers).await;
    let late = late(plan, &outcome);
    let Outcome { writers, failures, .. } = outcome;
    println!("clients whose request failed before the kill: {}", failures.len());

    let serving = Serving::start(folder.path(), address.port()).await;
    api.reconnect().await;
    let lost = lost(&writers, &mut api, &chain).await;
    serving.stop().await;
    judge(&[failures, lost, late].concat());
}

/// A short run: how long responses take is not bounded on a machine that does other things beside it.
#[tokio::test]
async fn acknowledged_writes_outlive_a_kill_under_load() {
    run(Plan { secs: 2, connections: 20, latest: None }).await;
}

#[tokio::test]
#[ignore = "half a minute of a release build on a machine that does nothing else: scripts/load-service"]
async fn two_hundred_clients_are_answered_in_time() {
    let connections = usize::try_from(setting("CHAINBOX_LOAD_CONNECTIONS", 200)).expect("a number of connections");
    run(Plan { secs: setting("CHAINBOX_LOAD_SECS", 30), connections, latest: Some(LATEST) }).await;
}
