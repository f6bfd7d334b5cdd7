//! One connection: HTTP/1.1 with upgrades, closed after its running request when the server stops.

use std::{convert::Infallible, sync::Arc};

use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{net::TcpStream, sync::watch};

use super::{exchange, route::ServerContext};
use crate::server::rest::PeerAddress;

/// Serves `stream` until the client closes it or the server stops.
pub(super) async fn run(stream: TcpStream, context: Arc<ServerContext>, mut stopped: watch::Receiver<bool>) {
    let head_timeout = context.limits().head_timeout;
    let peer = stream.peer_addr().ok().map(|address| PeerAddress(address.ip()));
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        let context = context.clone();
        if let Some(peer) = peer {
            request.extensions_mut().insert(peer);
        }
        async move { Ok::<_, Infallible>(exchange::respond(context, request).await) }
    });
    let connection = http1::Builder::new()
        .pipeline_flush(true)
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
