//! The HTTP server: hyper on one port, request checks, and routing to Ethereum JSON-RPC on `/` and the service under `/v1`.
//!
//! Between hyper and an Ethereum method there are only the checks of [`guard`] and the framing of the body: no axum, no copy.

mod body;
mod budget;
mod client_address;
mod connection;
mod cors;
mod domains;
mod exchange;
mod figures;
mod guard;
mod metrics;
mod page;
mod paths;
mod refusal;
mod request_body;
mod route;
#[cfg(test)]
mod tests;
mod tls;
mod token;
mod websocket;

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use hyper::{
    Response, StatusCode,
    header::{self, HeaderValue},
};
use jsonrpsee::server::HttpBody as Body;
use tokio::{
    io::AsyncWriteExt as _,
    net::{TcpListener, TcpStream},
    sync::{Semaphore, watch},
    time::Instant,
};

use url::Url;

use self::token::RpcToken;
use super::{
    chains::Chains,
    domain_proof::{ResolveTxt, SystemTxtResolver},
    limits::ServerLimits,
    oauth::{LogInLink, LogInProvider},
    outbound::OutboundPolicy,
};
use crate::{
    platform::{InvalidPublicUrl, Mailbox, Platform, PublicUrl},
    primitives::Gas,
};

pub use client_address::{ForwardingHeader, InvalidProxyNetwork, ProxyNetwork, TrustedProxies};
pub use tls::{ServerTls, TlsError};
pub use token::InvalidToken;

/// Time between two probes of the service's health.
const PROBE_INTERVAL: Duration = Duration::from_secs(15);
/// Passes of deleting what has expired between two probes, at most. Each deletes some hundred records of every kind.
const FORGETTING_PASSES_MAX: usize = 200;
/// Time after which no further pass is begun.
const FORGETTING_TIME_MAX: Duration = Duration::from_secs(10);
/// Time between two looks at whether a sample of the chains' figures is due.
const SAMPLE_LOOK_INTERVAL: Duration = Duration::from_secs(3);

/// Address of the server, whom it serves, and its bounds.
///
/// ```
/// use chainbox::server::ServerConfig;
/// let config = ServerConfig::new(([127, 0, 0, 1], 0).into()).with_rpc_token("a-secret-of-mine")?;
/// assert_eq!(config.limits().websockets_max, 1024);
/// # Ok::<(), chainbox::server::InvalidToken>(())
/// ```
#[derive(Clone, Debug)]
pub struct ServerConfig {
    listen: SocketAddr,
    allowed_hosts: Vec<String>,
    allowed_origins: Vec<String>,
    /// Whether pages of every origin are accepted on loopback, and those of this machine everywhere.
    has_open_origins: bool,
    rpc_token: Option<RpcToken>,
    limits: ServerLimits,
    public_url: Option<PublicUrl>,
    public_host: Option<String>,
    public_origin: Option<String>,
    mailbox: Option<Arc<Mailbox>>,
    log_in_links: Vec<LogInLink>,
    providers: Vec<LogInProvider>,
    has_open_metrics: bool,
    outbound: OutboundPolicy,
    txt_resolver: Arc<dyn ResolveTxt>,
    tls: Option<ServerTls>,
    trusted_proxies: TrustedProxies,
}

impl ServerConfig {
    /// A server on this address and port, with every default; port 0 picks a free one.
    pub fn new(listen: SocketAddr) -> Self {
        Self {
            listen,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            has_open_origins: false,
            rpc_token: None,
            limits: ServerLimits::default(),
            public_url: None,
            public_host: None,
            public_origin: None,
            mailbox: None,
            log_in_links: Vec::new(),
            providers: Vec::new(),
            has_open_metrics: false,
            outbound: OutboundPolicy::default(),
            txt_resolver: Arc::new(SystemTxtResolver::default()),
            tls: None,
            trusted_proxies: TrustedProxies::default(),
        }
    }

    /// Accepts these `Host` names beside loopback names and IP addresses (protection against DNS rebinding).
    #[must_use]
    pub fn with_allowed_hosts(self, allowed_hosts: Vec<String>) -> Self {
        Self { allowed_hosts, ..self }
    }

    /// Accepts pages of these origins beside those that it serves itself; `*` for all.
    #[must_use]
    pub fn with_allowed_origins(self, allowed_origins: Vec<String>) -> Self {
        Self { allowed_origins, ..self }
    }

    /// Accepts pages of every origin where it listens on loopback, and of loopback names elsewhere: for development.
    #[must_use]
    pub fn with_open_origins(self) -> Self {
        Self { has_open_origins: true, ..self }
    }

    /// Permits other addresses to webhooks than public ones by https.
    #[must_use]
    pub fn with_outbound(self, outbound: OutboundPolicy) -> Self {
        Self { outbound, ..self }
    }

    /// Looks for the TXT records that prove domains of dApps by this resolver; by default by the machine's name servers.
    #[must_use]
    pub fn with_txt_resolver(self, txt_resolver: Arc<dyn ResolveTxt>) -> Self {
        Self { txt_resolver, ..self }
    }

    /// Serves Ethereum JSON-RPC only to clients with this token: as `Authorization: Bearer`, on a WebSocket also as first subprotocol.
    ///
    /// # Errors
    /// [`InvalidToken`] for a token that is empty or not a token of HTTP.
    pub fn with_rpc_token(self, token: &str) -> Result<Self, InvalidToken> {
        Ok(Self { rpc_token: Some(RpcToken::new(token)?), ..self })
    }

    /// Sets the URL under which users reach the server: issuer of tokens, and beginning of the links in pages and mails. By default that of
    /// the listener.
    #[must_use]
    pub fn with_public_url(self, public_url: PublicUrl) -> Self {
        // Its pages and forms come back with its own name and origin.
        let url = Url::parse(public_url.as_str()).ok();
        let public_host = url.as_ref().and_then(|url| url.host_str()).map(str::to_owned);
        let public_origin = url.map(|url| url.origin().ascii_serialization());
        Self { public_url: Some(public_url), public_host, public_origin, ..self }
    }

    /// Delivers mails into a mailbox and shows it at `/oauth/mailbox`, to everybody: for development alone.
    #[must_use]
    pub fn with_mailbox(self, mailbox: Arc<Mailbox>) -> Self {
        Self { mailbox: Some(mailbox), ..self }
    }

    /// Adds other ways to log in to the login page.
    #[must_use]
    pub fn with_log_in_links(self, log_in_links: Vec<LogInLink>) -> Self {
        Self { log_in_links, ..self }
    }

    /// Lets users log in with outside OpenID providers.
    #[must_use]
    pub fn with_providers(self, providers: Vec<LogInProvider>) -> Self {
        Self { providers, ..self }
    }

    /// Shows `/metrics` to everybody who reaches the server: for development. Otherwise it needs the scope `admin`.
    #[must_use]
    pub fn with_open_metrics(self) -> Self {
        Self { has_open_metrics: true, ..self }
    }

    /// Serves by TLS alone.
    #[must_use]
    pub fn with_tls(self, tls: ServerTls) -> Self {
        Self { tls: Some(tls), ..self }
    }

    /// Takes the address of a client from what these proxies say of it. Requests of others are theirs whatever they say.
    #[must_use]
    pub fn with_trusted_proxies(self, trusted_proxies: TrustedProxies) -> Self {
        Self { trusted_proxies, ..self }
    }

    /// Replaces the bounds.
    #[must_use]
    pub fn with_limits(self, limits: ServerLimits) -> Self {
        Self { limits, ..self }
    }

    /// The bounds.
    pub const fn limits(&self) -> &ServerLimits {
        &self.limits
    }
}

/// The server cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Another process listens on the port.
    #[error(
        "port {port} on {host} is already in use: stop the process that has it, or choose another with --port (0 picks a free one)"
    )]
    PortTaken {
        /// Requested address.
        host: std::net::IpAddr,
        /// Requested port.
        port: u16,
    },
    /// The address cannot be bound.
    #[error("cannot listen on {listen}")]
    Listen {
        /// Requested address and port.
        listen: SocketAddr,
        /// Error of the operating system.
        #[source]
        source: io::Error,
    },
    /// The listener's address makes no URL for users.
    #[error("no URL for users follows from the address: give one with --public-url")]
    PublicUrl(#[from] InvalidPublicUrl),
    /// A thread or the runtime of [`serve`](fn@crate::server::serve) could not be started.
    #[error("the server could not be started")]
    NotStarted {
        /// Error of the operating system.
        source: io::Error,
    },
}

/// A server that is bound to its port. Connections are accepted from [`Server::serve`] on.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    context: Arc<route::ServerContext>,
}

impl Server {
    /// Binds the port.
    ///
    /// # Errors
    /// [`ServeError`].
    pub async fn bind(chains: Chains, config: ServerConfig) -> Result<Self, ServeError> {
        let listen = config.listen;
        let failed = |source: io::Error| match source.kind() {
            io::ErrorKind::AddrInUse => ServeError::PortTaken { host: listen.ip(), port: listen.port() },
            _ => ServeError::Listen { listen, source },
        };
        let listener = TcpListener::bind(listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let public_url = match &config.public_url {
            Some(url) => url.clone(),
            None => {
                let scheme = if config.tls.is_some() { "https" } else { "http" };
                PublicUrl::new(&format!("{scheme}://{}", url_host(address)))?
            }
        };
        let chains = chains.with_call_gas_max(Gas::new(config.limits.call_gas_max));
        let context = Arc::new(route::ServerContext::new(chains, config, address, public_url));
        Ok(Self { listener, address, context })
    }

    /// Address of the listener, with the port that the system chose for port 0.
    pub const fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// URL under which users reach the server.
    pub fn public_url(&self) -> &PublicUrl {
        self.context.public_url()
    }

    /// Serves until `stop` completes, then accepts no new connection and finishes running requests, for at most 10 seconds.
    pub async fn serve(self, stop: impl Future<Output = ()>) {
        self.context.resume().await;
        let probes = tokio::spawn(probe(Arc::clone(&self.context)));
        let samples = tokio::spawn(sample(Arc::clone(&self.context)));
        let (stopping, stopped) = watch::channel(false);
        let (alive, mut finished) = tokio::sync::mpsc::channel::<()>(1);
        let permits = Arc::new(Semaphore::new(self.context.limits().connections_max));
        tokio::pin!(stop);
        loop {
            tokio::select! {
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        let _ = stream.set_nodelay(true);
                        let Ok(permit) = permits.clone().try_acquire_owned() else {
                            self.context.count_refused_connection();
                            tokio::spawn(refuse(stream, self.context.limits().connections_max));
                            continue;
                        };
                        let connection = connection::accept(stream, self.context.clone(), stopped.clone());
                        let alive = alive.clone();
                        tokio::spawn(async move {
                            connection.await;
                            drop((alive, permit));
                        });
                    }
                    // Out of file descriptors, or the connection is closed already: the other connections go on.
                    Err(_) => tokio::time::sleep(std::time::Duration::from_millis(10)).await,
                },
                () = &mut stop => break,
            }
        }
        drop(self.listener);
        let _ = stopping.send(true);
        drop(alive);
        let grace = std::time::Duration::from_secs(10);
        let ended = async {
            self.context.sessions().stop().await;
            // Every connection holds a sender: the channel closes when the last one ends.
            finished.recv().await
        };
        let _ = tokio::time::timeout(grace, ended).await;
        probes.abort();
        samples.abort();
        let platform = Arc::clone(self.context.platform());
        // What it can't write stays reserved: the workspaces have used a little more than they did.
        let _ = tokio::task::spawn_blocking(move || platform.metering().close()).await;
    }
}

/// Probes the service's health at intervals, for its uptime; runs again what could not be written, and deletes what has expired.
async fn probe(context: Arc<route::ServerContext>) {
    let mut ticks = tokio::time::interval(PROBE_INTERVAL);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut reruns: Option<tokio::task::JoinHandle<()>> = None;
    loop {
        ticks.tick().await;
        let (platform, tls) = (Arc::clone(context.platform()), context.tls().cloned());
        let _ = tokio::task::spawn_blocking(move || {
            platform.probe();
            // Until the files are right, the certificate before them is shown.
            let _ = tls.map(|tls| tls.reload());
            // Where the store fails, the next tick tries again.
            let _ = platform.metering().flush();
        })
        .await;
        // Beside the probes, which wait for no request.
        if reruns.as_ref().is_none_or(tokio::task::JoinHandle::is_finished) {
            let context = Arc::clone(&context);
            reruns = Some(tokio::spawn(async move { context.resume_left_open().await }));
        }
        forget_expired(context.platform()).await;
    }
}

/// Deletes what has expired, a pass at a time, until none is left or the bounds are reached. Others write between two passes.
async fn forget_expired(platform: &Arc<Platform>) {
    let began = Instant::now();
    for _ in 0..FORGETTING_PASSES_MAX {
        let platform = Arc::clone(platform);
        let pass = tokio::task::spawn_blocking(move || platform.forget_expired()).await;
        // Where the store fails, the next tick tries again.
        let may_have_more = matches!(pass, Ok(Ok(true)));
        if !may_have_more || began.elapsed() >= FORGETTING_TIME_MAX {
            return;
        }
    }
}

/// Samples the figures of chains. It looks often, so that no time that has a sample is missed.
async fn sample(context: Arc<route::ServerContext>) {
    let mut ticks = tokio::time::interval(SAMPLE_LOOK_INTERVAL);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let platform = Arc::clone(context.platform());
        // Where the store fails, the next tick tries again.
        let _ = tokio::task::spawn_blocking(move || platform.analytics().sample()).await;
    }
}

/// Returns host and port of a URL of the listener: a name of this machine where it listens on all addresses.
fn url_host(address: SocketAddr) -> String {
    if address.ip().is_unspecified() { format!("localhost:{}", address.port()) } else { address.to_string() }
}

/// Answers a connection past the bound, whatever it asks for.
async fn refuse(mut stream: TcpStream, connections_max: usize) {
    let body = format!("{connections_max} connections are open, which is the maximum: close one first\n");
    let response = format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\nretry-after: 1\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let _ = stream.write_all(response.as_bytes()).await;
    let _ = stream.shutdown().await;
}

/// Returns a response with a line of text.
fn plain(status: StatusCode, message: String) -> Response<Body> {
    let mut response = Response::new(Body::from(message + "\n"));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}
