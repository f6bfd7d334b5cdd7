//! Connections to checked addresses.

use core::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use std::{future::Future, io, net::SocketAddr, sync::Arc};

use hyper::Uri;
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::{
    client::legacy::connect::{Connected, Connection},
    rt::TokioIo,
};
use tokio::{net::TcpStream, time::Instant};
use tower::Service;

use super::{OutboundError, OutboundPolicy, OutboundUrl, Resolve};

/// Time in which a connection must stand, its TLS handshake included.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Addresses of a name that are tried, one after the other.
const ADDRESSES_MAX: usize = 8;

type Connecting<T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send>>;

/// TCP connections to addresses that the policy permits.
#[derive(Clone, Debug)]
pub(super) struct CheckedConnector {
    pub(super) policy: Arc<OutboundPolicy>,
    pub(super) resolver: Arc<dyn Resolve>,
}

impl CheckedConnector {
    async fn connect(&self, url: &OutboundUrl) -> Result<CheckedStream, OutboundError> {
        self.policy.check(url)?;
        let place = url.place();
        let mut failed = None;
        for address in self.addresses(url).await?.into_iter().take(ADDRESSES_MAX) {
            match TcpStream::connect(address).await {
                Ok(stream) => {
                    // A request is written whole: waiting for more of it would only delay it.
                    let _ = stream.set_nodelay(true);
                    return Ok(CheckedStream { stream: TokioIo::new(stream), made: Instant::now() });
                }
                Err(cause) => failed = Some(format!("{address}: {cause}")),
            }
        }
        Err(OutboundError::Unreachable { place, reason: failed.unwrap_or_else(|| "it has no address".to_owned()) })
    }

    /// Resolves the host, once, and checks every address. One refused address refuses the name: a public name that also leads inside is
    /// in error or hostile, and going on with the rest of its addresses would hide that.
    async fn addresses(&self, url: &OutboundUrl) -> Result<Vec<SocketAddr>, OutboundError> {
        let place = url.place();
        let addresses = match url.address() {
            Some(address) => vec![address],
            None => match self.resolver.resolve(url.host()).await {
                Ok(addresses) => addresses,
                Err(cause) => return Err(OutboundError::Unresolved { place, reason: cause.to_string() }),
            },
        };
        for &address in &addresses {
            if let Some(reason) = self.policy.refusal(url, address) {
                return Err(OutboundError::Refused { place, address, reason: reason.to_owned() });
            }
        }
        Ok(addresses.into_iter().map(|address| SocketAddr::new(address, url.port())).collect())
    }
}

impl Service<Uri> for CheckedConnector {
    type Response = CheckedStream;
    type Error = OutboundError;
    type Future = Connecting<CheckedStream, OutboundError>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), OutboundError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connector = self.clone();
        // The client makes URIs of checked URLs alone; reading it again keeps one spelling of the host.
        Box::pin(async move { connector.connect(&OutboundUrl::parse(&uri.to_string())?).await })
    }
}

/// A connection to a checked address.
#[derive(Debug)]
pub(super) struct CheckedStream {
    stream: TokioIo<TcpStream>,
    made: Instant,
}

/// Time at which a connection was made, which the client reads to end it when it is old.
#[derive(Clone, Copy, Debug)]
pub(super) struct MadeAt(pub(super) Instant);

impl Connection for CheckedStream {
    fn connected(&self) -> Connected {
        Connected::new().extra(MadeAt(self.made))
    }
}

impl hyper::rt::Read for CheckedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: hyper::rt::ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl hyper::rt::Write for CheckedStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// Connections with or without TLS, made in bounded time, with typed errors.
#[derive(Clone, Debug)]
pub(super) struct OutboundConnector(pub(super) HttpsConnector<CheckedConnector>);

impl Service<Uri> for OutboundConnector {
    type Response = MaybeHttpsStream<CheckedStream>;
    type Error = OutboundError;
    type Future = Connecting<Self::Response, OutboundError>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), OutboundError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let place = OutboundUrl::parse(&uri.to_string()).map_or_else(|_| String::new(), |url| url.place());
        let connecting = self.0.call(uri);
        Box::pin(async move {
            match tokio::time::timeout(CONNECT_TIMEOUT, connecting).await {
                Ok(Ok(stream)) => Ok(stream),
                Ok(Err(cause)) => Err(typed(place, cause)),
                Err(_) => Err(OutboundError::Timeout { place, limit: CONNECT_TIMEOUT }),
            }
        })
    }
}

/// Returns the error that [`CheckedConnector`] gave, or that of the TLS handshake.
fn typed(place: String, cause: Box<dyn std::error::Error + Send + Sync>) -> OutboundError {
    match cause.downcast::<OutboundError>() {
        Ok(own) => *own,
        Err(other) => OutboundError::Tls { place, reason: other.to_string() },
    }
}
