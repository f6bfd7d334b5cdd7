//! `chainbox dev`: the node, its server, and their shutdown.

mod amounts;
pub(crate) mod args;
mod atomic_file;
mod banner;
mod config_out;
mod console;
mod database;
mod genesis_file;
mod held_chain;
mod service;
mod start;
mod state_files;
mod state_lock;

use std::{error::Error, sync::Arc, time::Duration};

use chainbox::{
    chain::GenesisSpec,
    platform::{Mailbox, PlatformError, Scope},
    server::{self, Chains, Server, ServerConfig, outbound::OutboundPolicy},
};

use self::{
    args::DevOptions,
    config_out::Config,
    console::{Console, RunningConsole},
    start::Started,
    state_lock::StateLock,
};
use crate::{files, log, stop};

type Failure = Box<dyn Error>;

/// Runs until SIGINT or SIGTERM.
pub(crate) fn run(options: &DevOptions) -> Result<(), Failure> {
    if options.genesis_example {
        files::report(false, GenesisSpec::EXAMPLE);
        return Ok(());
    }
    let _log = log::start(&options.log);
    state_files::try_paths(options)?;
    // Held until everything is written.
    let _lock = options.state.as_deref().map(StateLock::take).transpose()?;
    let started = start::start(options)?;
    let node = started.node.clone();
    // Half of the cores serve requests: fewer threads exchange less work, and the other cores recover signers, execute blocks and
    // run clients. At least two, so that one is free while the other executes a transaction.
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads((cores / 2).max(2)).enable_all().build()?;
    let console = runtime.block_on(serve(options, started));
    // Calls that still run on blocking threads are not waited for.
    runtime.shutdown_timeout(Duration::from_millis(100));
    let console = console?;
    let written = state_files::write_dumps(options, &node);
    if let Some(console) = console {
        let stopped = format!("stopped at block {}", node.view().head().height());
        let lines = written.as_ref().ok().into_iter().flatten().cloned();
        console.finish(lines.chain([stopped]).collect());
    }
    written.map(drop)
}

/// Serves the node until it is to stop; returns its console, if it has one.
async fn serve(options: &DevOptions, started: Started) -> Result<Option<RunningConsole>, Failure> {
    let node = started.node.clone();
    let platform = Arc::new(service::open(options, &started)?);
    let api_key = match platform.renew_api_key("dev", &[Scope::Admin]) {
        Ok(key) => Some(key.text().to_owned()),
        // Reads go on when the disk is full; the key of the start before stays valid, and its text is not known any more.
        Err(PlatformError::StorageFull { .. }) => None,
        Err(cause) => return Err(cause.into()),
    };
    let mut chains = match options.no_dev_rpc {
        true => Chains::without_development(platform.clone()),
        false => Chains::new(platform.clone()),
    };
    let console = if options.quiet { None } else { Some(Console::new(&node)) };
    if let Some(console) = &console {
        chains = chains.with_monitor(console.monitor());
    }
    let server = Server::bind(chains.clone(), server_config(options)?).await;
    let server = server.map_err(|cause| files::with_causes(&cause))?;
    let address = server.local_addr();
    let stop = stop::signal()?;
    chains.default_rpc().cloned().map(server::drive).map(tokio::spawn);
    if let (Some(path), Some(secs)) = (&options.state, options.state_interval) {
        tokio::spawn(state_files::write_at_intervals(path.clone(), Duration::from_secs(secs), node.clone()));
    }
    let serving = tokio::spawn(server.serve(stop));
    if let Some(path) = &options.config_out {
        let config = Config::new(&node, &platform, address, api_key.as_deref());
        state_files::write(path, &serde_json::to_vec_pretty(&config)?)?;
    }
    let console = match console {
        Some(console) => Some(console.start(banner::banner(&started, options, address, api_key.as_deref()))?),
        None => None,
    };
    serving.await?;
    Ok(console)
}

fn server_config(options: &DevOptions) -> Result<ServerConfig, Failure> {
    let config = options
        .listen
        .config()
        .with_open_origins()
        .with_mailbox(Arc::new(Mailbox::default()))
        .with_open_metrics()
        .with_outbound(OutboundPolicy::default().with_loopback());
    match &options.rpc_token {
        Some(token) => config.with_rpc_token(token).map_err(|cause| format!("--rpc-token: {cause}").into()),
        None => Ok(config),
    }
}
