//! The pace of a writer's network: its pacer, its place on a pool, why it failed, and who waits for its blocks.

use core::{any::Any, error::Error, time::Duration};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::pool::{Host, HostedId};
use crate::sim::{Network, Pacer, PacerCounters, PacerError};

/// The pace of a shared network.
#[derive(Debug)]
pub(in crate::node) struct Pacing {
    pacer: Pacer,
    /// Its place on a pool; `None` when it has none, or has left.
    host: Option<Host>,
    /// Why the network stands still; `None` while it goes on.
    failure: Option<Arc<str>>,
    waiters: Arc<Waiters>,
}

impl Pacing {
    pub(super) fn new(network: &Network, now: Duration, host: Option<Host>) -> Result<Self, PacerError> {
        Ok(Self { pacer: Pacer::new(network, now)?, host, failure: None, waiters: Arc::default() })
    }

    pub(in crate::node) const fn failure(&self) -> Option<&Arc<str>> {
        self.failure.as_ref()
    }

    pub(super) const fn counters(&self) -> PacerCounters {
        self.pacer.counters()
    }

    /// Returns the present time, if a pool lets the network run.
    pub(in crate::node) fn now(&self) -> Option<Duration> {
        self.host.as_ref()?.now()
    }

    /// Lets the network run up to `now`; returns whether anything happened, or why it fails.
    pub(in crate::node) fn advance(&mut self, network: &mut Network, now: Duration) -> Result<bool, String> {
        self.pacer.advance(network, now).map_err(|error| with_causes(&error))
    }

    /// Marks the network as failed.
    pub(in crate::node) fn fail(&mut self, reason: &str) {
        self.failure = Some(reason.into());
        self.waiters.end();
    }

    pub(in crate::node) fn next_wake(&self, network: &Network) -> Option<Duration> {
        self.pacer.next_wake(network).filter(|_| self.failure.is_none())
    }

    /// Tells the pool when the network wants to run next: a command may have made that earlier.
    pub(in crate::node) fn wake_host(&self, network: &Network) {
        if let (Some(host), Some(at)) = (&self.host, self.next_wake(network)) {
            host.wake_at(at);
        }
    }

    pub(super) fn leave_host(&mut self) -> Option<HostedId> {
        self.waiters.end();
        self.host.take().map(|host| host.id())
    }

    /// Those who wait for blocks; `None` when nobody lets the network run meanwhile.
    pub(in crate::node) fn waiters(&self) -> Option<Arc<Waiters>> {
        self.now().filter(|_| self.failure.is_none()).map(|_| Arc::clone(&self.waiters))
    }

    /// Tells those who wait that the nodes show something new.
    pub(in crate::node) fn notify_waiters(&self) {
        self.waiters.notify();
    }
}

/// Threads that wait for what the nodes of a network will show.
#[derive(Debug, Default)]
pub(in crate::node) struct Waiters {
    /// Whether nothing will change any more.
    has_ended: Mutex<bool>,
    changed: Condvar,
}

impl Waiters {
    /// Waits until `is_done`, for at most `most`.
    pub(in crate::node) fn wait(&self, most: Duration, is_done: impl Fn() -> bool) {
        drop(self.changed.wait_timeout_while(self.has_ended(), most, |has_ended| !*has_ended && !is_done()));
    }

    fn notify(&self) {
        // Taken, so that nobody is between looking and waiting.
        drop(self.has_ended());
        self.changed.notify_all();
    }

    fn end(&self) {
        *self.has_ended() = true;
        self.changed.notify_all();
    }

    fn has_ended(&self) -> MutexGuard<'_, bool> {
        self.has_ended.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the error with its causes, in a line.
fn with_causes(error: &dyn Error) -> String {
    let (mut text, mut cause) = (error.to_string(), error.source());
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// Returns the text of a panic.
pub(in crate::node) fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic without a message".to_owned())
}
