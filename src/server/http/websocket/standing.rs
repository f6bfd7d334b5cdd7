//! Whether a session's client may still use it: its credentials are looked at again as long as it lasts.

use std::{
    fmt,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use hyper::{HeaderMap, StatusCode};

use crate::{
    platform::records::WorkspaceId,
    server::{
        api_error::ApiError,
        clock::{MonotonicClock, Ticks as _},
        eth::rpc::EthRpc,
        rest::{Admitted, App, PeerAddress},
    },
};

/// Time for which a look at the credentials holds for notifications.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// What the credentials of a session are, and what they were found to permit.
pub(in crate::server::http) struct Standing {
    app: App,
    headers: HeaderMap,
    peer: Option<PeerAddress>,
    chain: String,
    /// That of the chain when the session began.
    rpc: EthRpc,
    workspace: Option<WorkspaceId>,
    clock: MonotonicClock,
    /// Time of the last look, in milliseconds of `clock`.
    looked_at_ms: AtomicU64,
}

/// Leaves the credentials out.
impl fmt::Debug for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Standing").field("chain", &self.chain).finish_non_exhaustive()
    }
}

/// A message that is not executed.
#[derive(Debug)]
pub(super) enum Refusal {
    /// It is refused, and the session goes on: such as one more than the rate allows.
    Message(ApiError),
    /// Its client may not use the session any more: why.
    Session(String),
}

impl Standing {
    /// The standing of a client that was let in to `rpc` with these headers.
    pub(in crate::server::http) fn new(
        app: &App,
        admitted: &Admitted,
        headers: &HeaderMap,
        peer: Option<PeerAddress>,
        (chain, rpc): (&str, EthRpc),
    ) -> Self {
        Self {
            app: app.clone(),
            headers: headers.clone(),
            peer,
            chain: chain.to_owned(),
            rpc,
            workspace: admitted.principal.as_ref().map(|principal| principal.workspace().clone()),
            clock: MonotonicClock::default(),
            looked_at_ms: AtomicU64::new(0),
        }
    }

    /// Lets a message in as a request by itself, and a batch as one for each of its calls: credentials, rate, scope, plan, and the chain.
    pub(super) fn admit(&self, message: &[u8]) -> Result<(Admitted, EthRpc), Refusal> {
        let admitted = self.app.admit_message(&self.headers, self.peer, (self.chain.as_str(), message));
        let (admitted, rpc) = admitted.map_err(|cause| refusal(&cause))?;
        self.is_of(&rpc).map_err(Refusal::Session)?;
        self.looked_at_ms.store(self.now_ms(), Ordering::Relaxed);
        Ok((admitted, rpc))
    }

    /// Counts the bytes of a message that was let in, and of its response.
    pub(super) fn count(&self, admitted: &Admitted, received: usize, sent: usize) {
        admitted.count_bytes(&self.app, received, u64::try_from(sent).unwrap_or(u64::MAX));
    }

    /// Counts the bytes of a notification.
    pub(super) fn count_notification(&self, bytes: usize) {
        if let Some(workspace) = &self.workspace {
            let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
            self.app.platform().metering().count_bytes(workspace, bytes);
        }
    }

    /// Looks at the credentials again, unless that was done less than a second ago.
    ///
    /// # Errors
    /// Why the session ends.
    pub(super) fn look(&self) -> Result<(), String> {
        let (now, last) = (self.now_ms(), self.looked_at_ms.load(Ordering::Relaxed));
        if u128::from(now.saturating_sub(last)) < LOOK_INTERVAL.as_millis() {
            return Ok(());
        }
        self.looked_at_ms.store(now, Ordering::Relaxed);
        match self.app.look_at_session(&self.headers, &self.chain) {
            Ok(rpc) => self.is_of(&rpc),
            Err(cause) => match refusal(&cause) {
                Refusal::Session(reason) => Err(reason),
                // The store fails; the next look says.
                Refusal::Message(_) => Ok(()),
            },
        }
    }

    fn is_of(&self, rpc: &EthRpc) -> Result<(), String> {
        if rpc.is_same_chain(&self.rpc) {
            return Ok(());
        }
        Err(format!("blockchain {} was started anew: connect again", self.chain))
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.clock.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

fn refusal(cause: &ApiError) -> Refusal {
    match cause.status() {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::NOT_FOUND | StatusCode::CONFLICT => {
            Refusal::Session(cause.message().to_owned())
        }
        _ => Refusal::Message(cause.clone()),
    }
}
