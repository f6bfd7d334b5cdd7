//! One connection: hyper's HTTP/1.1 with upgrades, ended gracefully when the server stops.

use std::{convert::Infallible, sync::Arc, time::Duration};

use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{net::TcpStream, sync::watch};

use super::route::{self, Shared};

/// How long a client may take to send a request's head.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);

/// Serves `stream` until the client leaves or the server stops.
pub(super) async fn run(stream: TcpStream, shared: Arc<Shared>, mut stopped: watch::Receiver<bool>) {
    // On loopback nobody starves the server with half a request, and a timer for each one would cost more than reading it.
    let header_timeout = (!shared.is_on_loopback()).then_some(HEADER_TIMEOUT);
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let shared = shared.clone();
        async move { Ok::<_, Infallible>(route::answer(shared, request).await) }
    });
    let connection = http1::Builder::new()
        .pipeline_flush(true)
        .timer(TokioTimer::new())
        .header_read_timeout(header_timeout)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    tokio::pin!(connection);
    tokio::select! {
        // A client that breaks its connection off is no failure of ours.
        _ = connection.as_mut() => return,
        _ = stopped.wait_for(|stopped| *stopped) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}
