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

use core::num::NonZeroUsize;
use std::{error::Error, sync::Arc, time::Duration};

use chainbox::{
    chain::GenesisSpec,
    platform::{Mailbox, Platform, PlatformError, PublicUrl, Scope, records::PageRequest},
    server::{self, Chains, Server, ServerConfig, outbound::OutboundPolicy},
};
use tokio::sync::mpsc;

use self::{
    args::DevOptions,
    config_out::Config,
    console::{Console, RunningConsole, ShownMail},
    start::Started,
    state_lock::StateLock,
};
use crate::{database::LastHold, files, log, stop};

type Failure = Box<dyn Error>;

/// Time between two looks for mails that the console shows.
const MAIL_INTERVAL: Duration = Duration::from_millis(500);
/// Mails that are delivered at one look.
const MAILS_AT_ONCE: NonZeroUsize = NonZeroUsize::new(16).expect("not zero");

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
    let _hold = started.store.clone().map(LastHold::new);
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
    let mailbox = Arc::new(Mailbox::default());
    let server = Server::bind(chains.clone(), server_config(options, &mailbox)?).await;
    let server = server.map_err(|cause| files::with_causes(&cause))?;
    if let Some(console) = &console {
        tokio::spawn(show_mails(platform.clone(), mailbox, server.public_url().clone(), console.mails()));
    }
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

/// Delivers mails into the mailbox as they come, and has the console show what is in it, whoever delivered it.
async fn show_mails(platform: Arc<Platform>, mailbox: Arc<Mailbox>, url: PublicUrl, console: mpsc::Sender<ShownMail>) {
    let mut ticks = tokio::time::interval(MAIL_INTERVAL);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut last_shown = 0;
    while !console.is_closed() {
        ticks.tick().await;
        let (platform, delivered_to, service_url) = (platform.clone(), mailbox.clone(), url.clone());
        let delivering = tokio::task::spawn_blocking(move || {
            platform.mails().deliver_to(&delivered_to, &service_url, &PageRequest::first(MAILS_AT_ONCE)).map(drop)
        });
        // Where the store fails, the next tick tries again.
        let _ = delivering.await;
        for received in mailbox.newer_than(last_shown) {
            last_shown = received.number;
            // What a slow terminal has no place for is in the mailbox.
            drop(console.try_send(ShownMail::of(&received.mail, &url)));
        }
    }
}

fn server_config(options: &DevOptions, mailbox: &Arc<Mailbox>) -> Result<ServerConfig, Failure> {
    let config = options
        .listen
        .config()
        .with_open_origins()
        .with_mailbox(mailbox.clone())
        .with_open_metrics()
        .with_outbound(OutboundPolicy::default().with_loopback());
    match &options.rpc_token {
        Some(token) => config.with_rpc_token(token).map_err(|cause| format!("--rpc-token: {cause}").into()),
        None => Ok(config),
    }
}
