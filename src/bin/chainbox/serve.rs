//! `chainbox serve`: the service for many workspaces and chains, without a development chain.

pub(crate) mod args;
mod console;
mod limits;
mod mails;
mod providers;

use std::{error::Error, sync::Arc, time::Duration};

use chainbox::{
    platform::{Platform, PublicUrl},
    server::{
        Chains, ForwardingHeader, Limits, Server, ServerConfig, ServerLimits, ServerTls, TrustedProxies, WallClock,
    },
    store::KeyValue,
};
use tokio::sync::watch;

use self::args::ServeOptions;
use crate::{
    database::{self, LastHold},
    files, log, master_key, stop,
};

type Failure = Box<dyn Error>;

/// Time for which work on other threads is waited for at the end.
const SHUTDOWN: Duration = Duration::from_secs(10);

/// Requests that a busy thread goes on with before it looks for new ones, in place of tokio's 61: those that came together are answered before
/// later ones, so that with two hundred clients the slowest response takes twice the time of the middle one and not two and a half times.
const EVENT_INTERVAL: u32 = 200;

/// Runs until SIGINT or SIGTERM.
pub(crate) fn run(options: &ServeOptions) -> Result<(), Failure> {
    let _log = log::start(&options.log);
    let limits = limits::read(options)?;
    let store = open_store(options)?;
    let _hold = store.clone().map(LastHold::new);
    let platform = Arc::new(open(options, &limits, store)?);
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(cores.max(2)).event_interval(EVENT_INTERVAL).enable_all().build()?;
    let served = runtime.block_on(serve(options, platform, limits.server));
    runtime.shutdown_timeout(SHUTDOWN);
    served
}

/// Opens the database, where there is to be one.
fn open_store(options: &ServeOptions) -> Result<Option<Arc<dyn KeyValue>>, Failure> {
    let folder = options.db_path.as_deref();
    folder.map(|folder| database::open(folder, options.database.min_free_space)).transpose()
}

/// Opens the platform with its chains.
fn open(options: &ServeOptions, limits: &Limits, store: Option<Arc<dyn KeyValue>>) -> Result<Platform, Failure> {
    let builder = Platform::builder(Arc::new(WallClock))
        .with_plans(limits.plans.clone())
        .with_workspaces_max(limits.workspaces_max)
        .with_invitations_max(limits.invitations_max);
    let (Some(folder), Some(store)) = (&options.db_path, store) else { return Ok(builder.open(None)?) };
    let kept = &options.database;
    let given = kept.master_key_file.as_deref();
    let (key, former) = master_key::read(given, &kept.former_master_key_file, folder, &*store)?;
    let builder = match &kept.backup_path {
        Some(backups) => builder.with_backups(backups.clone()),
        None => builder,
    };
    Ok(builder.with_store(store).open_with(None, key, former)?)
}

async fn serve(options: &ServeOptions, platform: Arc<Platform>, limits: ServerLimits) -> Result<(), Failure> {
    let chains = Chains::without_development(Arc::clone(&platform));
    let config = server_config(options, limits).await?;
    let server = Server::bind(chains, config).await.map_err(|cause| files::with_causes(&cause))?;
    let signal = stop::signal()?;
    let url = server.public_url().clone();
    let (stopping, stopped) = watch::channel(false);
    let mails = mails::start(options, &platform, &url, stopped)?;
    console::print(&server, &platform, options.db_path.as_deref(), options.quiet)?;
    server.serve(signal).await;
    let _ = stopping.send(true);
    if let Some(mails) = mails {
        mails.await?;
    }
    Ok(())
}

async fn server_config(options: &ServeOptions, limits: ServerLimits) -> Result<ServerConfig, Failure> {
    let header = match options.trusted_proxy_header.as_str() {
        "forwarded" => ForwardingHeader::Forwarded,
        _ => ForwardingHeader::XForwardedFor,
    };
    let config = options
        .listen
        .config()
        .with_trusted_proxies(TrustedProxies::new(options.trusted_proxy.clone(), header))
        .with_limits(limits)
        .with_outbound(providers::outbound_policy(options)?);
    let config = match (&options.tls_cert, &options.tls_key) {
        (Some(certificate), Some(key)) => config.with_tls(ServerTls::from_files(certificate, key)?),
        _ => config,
    };
    let Some(url) = &options.public_url else {
        if options.openid_issuer.is_some() {
            return Err("--openid-issuer needs --public-url: the provider sends users back to it".into());
        }
        return Ok(config);
    };
    let url = PublicUrl::new(url).map_err(|cause| format!("--public-url: {}", files::with_causes(&cause)))?;
    let providers = providers::read(options, &url).await?;
    Ok(config.with_public_url(url).with_providers(providers))
}
