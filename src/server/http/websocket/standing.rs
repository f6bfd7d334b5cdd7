//! Whether a session's client may still use it: its credentials are looked at again as long as it lasts.

use std::{
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
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
    looks: Looks,
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
            looks: Looks::default(),
        }
    }

    /// Lets a message in as a request by itself, and a batch as one for each of its calls: credentials, rate, scope, plan, and the chain.
    pub(super) fn admit(&self, message: &[u8]) -> Result<(Admitted, EthRpc), Refusal> {
        let admitted = self.app.admit_message(&self.headers, self.peer, (self.chain.as_str(), message));
        let (admitted, rpc) = admitted.map_err(|cause| refusal(&cause))?;
        self.is_of(&rpc).map_err(Refusal::Session)?;
        self.looks.note(self.clock.elapsed());
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
        self.looks.unless_recent(self.clock.elapsed(), || match self.app.look_at_session(&self.headers, &self.chain) {
            Ok(rpc) => self.is_of(&rpc),
            Err(cause) => match refusal(&cause) {
                Refusal::Session(reason) => Err(reason),
                // The store fails; the next look says.
                Refusal::Message(_) => Ok(()),
            },
        })
    }

    fn is_of(&self, rpc: &EthRpc) -> Result<(), String> {
        if rpc.is_same_chain(&self.rpc) {
            return Ok(());
        }
        Err(format!("blockchain {} was started anew: connect again", self.chain))
    }
}

/// When the credentials were last found to be good, since the session began. Its tasks share it.
#[derive(Debug, Default)]
struct Looks(Mutex<Duration>);

impl Looks {
    fn last(&self) -> MutexGuard<'_, Duration> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a look that found them good.
    fn note(&self, now: Duration) {
        *self.last() = now;
    }

    /// Looks, unless that was done less than [`LOOK_INTERVAL`] ago. Who asks while another task looks waits for what it finds: until
    /// then nobody knows whether the last look still holds.
    fn unless_recent(&self, now: Duration, look: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
        let mut last = self.last();
        if now.saturating_sub(*last) >= LOOK_INTERVAL {
            look()?;
            *last = now;
        }
        Ok(())
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

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, thread};

    use super::*;

    fn refused() -> Result<(), String> {
        Err("gone".to_owned())
    }

    #[test]
    fn a_look_holds_for_a_second() {
        let looks = Looks::default();
        assert_eq!(looks.unless_recent(LOOK_INTERVAL - Duration::from_millis(1), refused), Ok(()));
        assert_eq!(looks.unless_recent(LOOK_INTERVAL, refused), refused());
        assert_eq!(looks.unless_recent(LOOK_INTERVAL, refused), refused(), "what was refused does not hold");
        looks.note(LOOK_INTERVAL);
        assert_eq!(looks.unless_recent(LOOK_INTERVAL, refused), Ok(()));
    }

    #[test]
    fn who_asks_while_another_looks_waits_for_what_it_finds() {
        let looks = &Looks::default();
        let (looking, is_looking) = mpsc::channel();
        let (answer, answered) = mpsc::channel();
        thread::scope(|scope| {
            let first = move || {
                looks.unless_recent(LOOK_INTERVAL, || {
                    looking.send(()).unwrap();
                    answered.recv().unwrap();
                    refused()
                })
            };
            let first = scope.spawn(first);
            is_looking.recv().unwrap();
            let second = scope.spawn(|| looks.unless_recent(LOOK_INTERVAL, refused));
            thread::sleep(Duration::from_millis(50));
            assert!(!second.is_finished(), "it was told that the last look still holds");
            answer.send(()).unwrap();
            assert_eq!((first.join().unwrap(), second.join().unwrap()), (refused(), refused()));
        });
    }
}
