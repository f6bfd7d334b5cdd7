//! One connection: HTTP/1.1 with upgrades, closed after its running request when the server stops.

use std::{convert::Infallible, net::IpAddr, sync::Arc};

use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    sync::watch,
};

use super::{exchange, route::ServerContext};
use crate::server::rest::PeerAddress;

/// Serves a connection until the client closes it or the server stops, by TLS where the server has a certificate.
pub(super) async fn accept(stream: TcpStream, context: Arc<ServerContext>, stopped: watch::Receiver<bool>) {
    let peer = stream.peer_addr().ok().map(|address| address.ip());
    let Some(tls) = context.tls() else { return run(stream, peer, context, stopped).await };
    // Who does not finish the handshake in the time for a request's head, or speaks something else, is left alone.
    let handshake = tokio::time::timeout(context.limits().head_timeout, tls.acceptor().accept(stream));
    if let Ok(Ok(stream)) = handshake.await {
        run(stream, peer, context, stopped).await;
    }
}

/// Serves `stream`.
async fn run(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    peer: Option<IpAddr>,
    context: Arc<ServerContext>,
    mut stopped: watch::Receiver<bool>,
) {
    let head_timeout = context.limits().head_timeout;
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        let context = context.clone();
        if let Some(peer) = peer {
            let client = context.client(peer, request.headers());
            request.extensions_mut().insert(PeerAddress(client));
        }
        async move { Ok::<_, Infallible>(exchange::respond(context, request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head_timeout)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    tokio::pin!(connection);
    tokio::select! {
        // A client that aborts its connection is not an error of the server.
        _ = connection.as_mut() => return,
        _ = stopped.wait_for(|stopped| *stopped) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}
