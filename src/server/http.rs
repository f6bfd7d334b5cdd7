//! One hyper server on one port: Ethereum JSON-RPC on `/`, the service under `/v1`.
//!
//! The way of an Ethereum call is kept short: hyper, a look at three headers, jsonrpsee's reader, the method.

mod connection;
mod cors;
mod guard;
mod page;
mod route;

use std::{io, net::SocketAddr, sync::Arc};

use jsonrpsee::server::HttpBody as Body;
use tokio::{net::TcpListener, sync::watch};

use super::chains::Chains;

/// Where the server listens and whom it answers.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// Address and port; port 0 picks a free one.
    pub listen: SocketAddr,
    /// Host names that requests may name beside loopback names and plain addresses (against DNS rebinding).
    pub allowed_hosts: Vec<String>,
    /// Origins whose pages may call; `*` is every one. On loopback every origin may.
    pub allowed_origins: Vec<String>,
}

/// Why the server does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The port has another listener.
    #[error(
        "port {port} on {host} is already in use: stop the process that has it, or choose another with --port (0 picks a free one)"
    )]
    PortTaken {
        /// The address asked for.
        host: std::net::IpAddr,
        /// The port asked for.
        port: u16,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on {listen}")]
    Listen {
        /// What was asked for.
        listen: SocketAddr,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// A bound, not yet answering server.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    shared: Arc<route::Shared>,
}

impl Server {
    /// Takes the port. Nothing is answered before [`Server::serve`].
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
        Ok(Self { listener, address, shared: Arc::new(route::Shared::new(chains, config, address)) })
    }

    /// Where it listens; the port is the real one.
    pub const fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Answers until `stop` is done, then takes no new connection and finishes the requests that are running.
    pub async fn serve(self, stop: impl Future<Output = ()>) {
        let (stopping, stopped) = watch::channel(false);
        let (alive, mut finished) = tokio::sync::mpsc::channel::<()>(1);
        tokio::pin!(stop);
        loop {
            tokio::select! {
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        let _ = stream.set_nodelay(true);
                        let connection = connection::run(stream, self.shared.clone(), stopped.clone());
                        let alive = alive.clone();
                        tokio::spawn(async move {
                            connection.await;
                            drop(alive);
                        });
                    }
                    // Out of file descriptors or a connection that is already gone: let the others go on.
                    Err(_) => tokio::time::sleep(std::time::Duration::from_millis(10)).await,
                },
                () = &mut stop => break,
            }
        }
        drop(self.listener);
        let _ = stopping.send(true);
        self.shared.stop_websockets();
        drop(alive);
        // Every connection holds a sender; the channel closes when the last one is done.
        let grace = std::time::Duration::from_secs(10);
        let _ = tokio::time::timeout(grace, finished.recv()).await;
    }
}
