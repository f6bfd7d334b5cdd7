//! The HTTP server: hyper on one port, request checks, and routing to Ethereum JSON-RPC on `/` and the service under `/v1`.
//!
//! Between hyper and an Ethereum method there are only the checks of [`guard`] and the framing of the body: no axum, no copy.

mod connection;
mod cors;
mod guard;
mod page;
mod route;

use std::{io, net::SocketAddr, sync::Arc};

use jsonrpsee::server::HttpBody as Body;
use tokio::{net::TcpListener, sync::watch};

use super::chains::Chains;

/// Address of the server, and the hosts and origins that it accepts.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// Address and port; port 0 picks a free one.
    pub listen: SocketAddr,
    /// Accepted `Host` names beside loopback names and IP addresses (protection against DNS rebinding).
    pub allowed_hosts: Vec<String>,
    /// Accepted origins of browser pages; `*` for all. On loopback every origin is accepted.
    pub allowed_origins: Vec<String>,
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
        Ok(Self { listener, address, context: Arc::new(route::ServerContext::new(chains, config, address)) })
    }

    /// Address of the listener, with the port that the system chose for port 0.
    pub const fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` completes, then accepts no new connection and finishes running requests, for at most 10 seconds.
    pub async fn serve(self, stop: impl Future<Output = ()>) {
        let (stopping, stopped) = watch::channel(false);
        let (alive, mut finished) = tokio::sync::mpsc::channel::<()>(1);
        tokio::pin!(stop);
        loop {
            tokio::select! {
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        let _ = stream.set_nodelay(true);
                        let connection = connection::run(stream, self.context.clone(), stopped.clone());
                        let alive = alive.clone();
                        tokio::spawn(async move {
                            connection.await;
                            drop(alive);
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
        self.context.stop_websockets();
        drop(alive);
        // Every connection holds a sender: the channel closes when the last one ends.
        let grace = std::time::Duration::from_secs(10);
        let _ = tokio::time::timeout(grace, finished.recv()).await;
    }
}
