//! One connection: hyper's HTTP/1.1 with upgrades, ended gracefully when the server stops.

use std::{convert::Infallible, sync::Arc};

use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{net::TcpStream, sync::watch};

use super::route::{self, Shared};

/// Serves `stream` until the client leaves or the server stops.
pub(super) async fn run(stream: TcpStream, shared: Arc<Shared>, mut stopped: watch::Receiver<bool>) {
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let shared = shared.clone();
        async move { Ok::<_, Infallible>(route::answer(shared, request).await) }
    });
    let connection = http1::Builder::new()
        .pipeline_flush(true)
        .timer(TokioTimer::new())
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
