//! `chainbox serve`: the service for many workspaces and chains, without a development chain.

pub(crate) mod args;
mod console;
mod limits;
mod mails;
mod providers;

use std::{error::Error, sync::Arc, time::Duration};

use chainbox::{
    platform::{Platform, PublicUrl},
    server::{Chains, Limits, Server, ServerConfig, ServerLimits, WallClock},
    store::KeyValue,
};
use tokio::sync::watch;

use self::args::ServeOptions;
use crate::{database, files, log, master_key, stop};

type Failure = Box<dyn Error>;

/// Time for which work on other threads is waited for at the end.
const SHUTDOWN: Duration = Duration::from_secs(10);

/// Runs until SIGINT or SIGTERM.
pub(crate) fn run(options: &ServeOptions) -> Result<(), Failure> {
    let _log = log::start(&options.log);
    let limits = limits::read(options)?;
    let platform = Arc::new(open(options, &limits)?);
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(cores.max(2)).enable_all().build()?;
    let served = runtime.block_on(serve(options, platform, limits.server));
    runtime.shutdown_timeout(SHUTDOWN);
    served
}

/// Opens the platform with its chains.
fn open(options: &ServeOptions, limits: &Limits) -> Result<Platform, Failure> {
    let builder = Platform::builder(Arc::new(WallClock)).with_plans(limits.plans.clone());
    let Some(folder) = &options.db_path else { return Ok(builder.open(None)?) };
    let store: Arc<dyn KeyValue> = database::open(folder, options.min_free_space)?;
    let (key, former) = master_key::read(options.master_key_file.as_deref(), &options.former_master_key_file, folder)?;
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
    if !options.quiet {
        console::print(&server, &platform, options.db_path.as_deref())?;
    }
    server.serve(signal).await;
    let _ = stopping.send(true);
    if let Some(mails) = mails {
        mails.await?;
    }
    Ok(())
}

async fn server_config(options: &ServeOptions, limits: ServerLimits) -> Result<ServerConfig, Failure> {
    let config = ServerConfig::new((options.host, options.port).into())
        .with_allowed_hosts(options.allow_host.clone())
        .with_allowed_origins(options.allow_origin.clone())
        .with_limits(limits);
    let Some(url) = &options.public_url else {
        if options.openid_issuer.is_some() {
            return Err("--openid-issuer needs --public-url: the provider sends users back to it".into());
        }
        return Ok(config);
    };
    let url = PublicUrl::new(url).map_err(|cause| format!("--public-url: {}", files::with_causes(&cause)))?;
    let providers = providers::discover(options, &url).await?;
    Ok(config.with_public_url(url).with_providers(providers))
}
