//! One connection of the load: four reads to one write, as fast as they are answered.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;

use super::{
    api::Request,
    connection::{Connection, Response},
    figures::Times,
    writer::Writer,
};

/// Time after which a request that is not answered has failed, although the kill came.
const RESPONSE_LIMIT: Duration = Duration::from_secs(10);

/// What all clients share.
#[derive(Debug)]
pub(super) struct Shared {
    reads: Vec<Request>,
    is_over: AtomicBool,
}

impl Shared {
    pub(super) const fn new(reads: Vec<Request>) -> Self {
        Self { reads, is_over: AtomicBool::new(false) }
    }

    /// Lets nobody send any more, so that at most one write of a connection has no answer.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}

/// A connection, what it writes, and how long it waited.
#[derive(Debug)]
pub(super) struct Client {
    connection: Connection,
    pub(super) writer: Writer,
    pub(super) reads: Times,
    pub(super) writes: Times,
    /// The first request that failed: it was the last one.
    pub(super) failure: Option<String>,
}

impl Client {
    pub(super) fn new(connection: Connection, writer: Writer) -> Self {
        Self { connection, writer, reads: Times::default(), writes: Times::default(), failure: None }
    }

    /// Sends until the load is over, or a request has failed.
    pub(super) async fn live(mut self, shared: Arc<Shared>) -> Self {
        while !shared.is_over() && self.failure.is_none() {
            self.failure = self.round(&shared).await.err();
        }
        self
    }

    /// Sends each read once, then a write.
    async fn round(&mut self, shared: &Shared) -> Result<(), String> {
        for read in &shared.reads {
            let response = timed(&mut self.connection, read, &mut self.reads, shared).await?;
            let Some(response) = response else { return Ok(()) };
            read.check(&response)?;
            if shared.is_over() {
                return Ok(());
            }
        }
        let write = self.writer.prepare()?;
        let response = timed(&mut self.connection, write, &mut self.writes, shared).await?;
        let Some(response) = response else { return Ok(()) };
        write.check(&response)?;
        self.writer.acknowledge(&response)
    }
}

/// Sends a request and times its response; `None` where the kill came first.
async fn timed<'c>(
    connection: &'c mut Connection,
    request: &Request,
    times: &mut Times,
    shared: &Shared,
) -> Result<Option<Response<'c>>, String> {
    let begun = Instant::now();
    let sent = connection.send(&request.bytes).await;
    let waited = begun.elapsed();
    match sent {
        Ok(response) => {
            times.push(waited);
            Ok(Some(response))
        }
        Err(_) if shared.is_over() && waited < RESPONSE_LIMIT => Ok(None),
        Err(cause) => Err(format!("{} is not answered within {waited:?}: {cause}", request.name)),
    }
}
