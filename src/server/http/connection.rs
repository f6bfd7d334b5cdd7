//! One connection: HTTP/1.1 with upgrades, closed after its running request when the server stops.

use std::{convert::Infallible, sync::Arc, time::Duration};

use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{net::TcpStream, sync::watch};

use super::route::{self, ServerContext};

/// Time within which a client must send the head of a request.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);

/// Serves `stream` until the client closes it or the server stops.
pub(super) async fn run(stream: TcpStream, context: Arc<ServerContext>, mut stopped: watch::Receiver<bool>) {
    // Slow requests are an attack from other machines only, and a timer per request costs more than reading it.
    let header_timeout = (!context.is_on_loopback()).then_some(HEADER_TIMEOUT);
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let context = context.clone();
        async move { Ok::<_, Infallible>(route::respond(context, request).await) }
    });
    let connection = http1::Builder::new()
        .pipeline_flush(true)
        .timer(TokioTimer::new())
        .header_read_timeout(header_timeout)
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
