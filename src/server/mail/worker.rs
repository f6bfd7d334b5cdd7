//! The worker that empties the outbox of mails.

use core::{fmt, future::Future, num::NonZeroUsize, pin::pin, time::Duration};
use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use tokio::time::{sleep, timeout};

use super::{
    MailConfigError, SmtpConfig,
    message::{Composed, RenderMail, compose},
    schedule::{MAIL_AGE_MAX, relay_pause, retry_delay},
    smtp::{Failure, Relay},
};
use crate::platform::{
    Platform,
    records::{AuditLine, OutboxEntry, PageRequest, RecordError, Records, Stored},
};

/// Time for which the mail under way may go on after the worker was told to stop.
pub const STOP_GRACE: Duration = Duration::from_secs(10);
/// Topics of the outbox that are mails.
const TOPICS: &str = "mail.";
/// Time between two looks at the outbox.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Entries of the outbox that are read at once.
const PAGE_LEN: NonZeroUsize = NonZeroUsize::new(64).expect("not zero");
/// Mails that are taken up at once, at least.
const BATCH_LEN: usize = 32;

/// What a worker has done since its start.
#[derive(Debug, Default)]
pub struct MailStatus {
    sent: AtomicU64,
    postponed: AtomicU64,
    undeliverable: AtomicU64,
    last_failure: Mutex<Option<String>>,
}

impl MailStatus {
    /// Mails that the relay has taken.
    pub fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Attempts that failed and are repeated.
    pub fn postponed(&self) -> u64 {
        self.postponed.load(Ordering::Relaxed)
    }

    /// Mails that were given up.
    pub fn undeliverable(&self) -> u64 {
        self.undeliverable.load(Ordering::Relaxed)
    }

    /// Why the last attempt failed; `None` after one that did not.
    pub fn last_failure(&self) -> Option<String> {
        self.last_failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, count: Option<&AtomicU64>, failure: Option<String>) {
        if let Some(count) = count {
            count.fetch_add(1, Ordering::Relaxed);
        }
        *self.last_failure.lock().unwrap_or_else(PoisonError::into_inner) = failure;
    }
}

/// Sends the mails of a platform's outbox, one after the other. A platform has one worker.
pub struct MailWorker {
    platform: Arc<Platform>,
    relay: Relay,
    render: Arc<dyn RenderMail>,
    status: Arc<MailStatus>,
}

impl fmt::Debug for MailWorker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { relay, status, .. } = self;
        f.debug_struct("MailWorker").field("relay", relay.config()).field("status", status).finish_non_exhaustive()
    }
}

/// What became of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Attempt {
    /// Sent, or there was nothing to send any more.
    Done,
    /// This mail failed.
    Failed,
    /// Nothing can be sent at present.
    RelayFailed,
}

impl MailWorker {
    /// Creates a worker.
    ///
    /// # Errors
    /// [`MailConfigError::Tls`].
    pub fn new(
        platform: Arc<Platform>,
        config: SmtpConfig,
        render: Arc<dyn RenderMail>,
    ) -> Result<Self, MailConfigError> {
        Ok(Self { platform, relay: Relay::new(config)?, render, status: Arc::default() })
    }

    /// What the worker has done, to be read while it runs.
    pub fn status(&self) -> Arc<MailStatus> {
        Arc::clone(&self.status)
    }

    /// Sends what becomes due until `stop` is ready; the mail under way then has [`STOP_GRACE`] to be taken.
    ///
    /// Dropping the future stops at once: a mail that the relay has taken may then be sent again after the next start.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let mut stop = pin!(stop);
        let mut relay_failures = 0_u32;
        loop {
            let mut pause = POLL_INTERVAL;
            for entry in self.due().await {
                let mut attempt = pin!(self.attempt(entry));
                let attempt = tokio::select! {
                    attempt = &mut attempt => attempt,
                    () = &mut stop => {
                        let _ = timeout(STOP_GRACE, attempt).await;
                        return;
                    }
                };
                if attempt == Attempt::RelayFailed {
                    relay_failures = relay_failures.saturating_add(1);
                    pause = relay_pause(relay_failures);
                    break;
                }
                relay_failures = 0;
            }
            tokio::select! {
                () = sleep(pause) => {}
                () = &mut stop => return,
            }
        }
    }

    /// Returns mails that are due.
    pub(super) async fn due(&self) -> Vec<Stored<OutboxEntry>> {
        match self.with_records(due_mails).await {
            Ok(due) => due,
            Err(cause) => {
                self.status.note(None, Some(cause));
                Vec::new()
            }
        }
    }

    /// Tries to send a mail, and writes down what became of it.
    pub(super) async fn attempt(&self, entry: Stored<OutboxEntry>) -> Attempt {
        let entry = Arc::new(entry);
        let failure = match self.compose(&entry).await {
            Ok(Some(mail)) => self.relay.deliver(&mail).await.err(),
            Ok(None) => {
                let done = self.with_records(move |records| forget(records, &entry)).await;
                self.status.note(None, done.err());
                return Attempt::Done;
            }
            Err(failure) => Some(failure),
        };
        let (written, count, attempt) = match failure.clone() {
            None => (self.with_records(move |records| forget(records, &entry)).await, &self.status.sent, Attempt::Done),
            Some(Failure::Refused { .. }) => (self.give_up(entry).await, &self.status.undeliverable, Attempt::Failed),
            Some(failure) => {
                let attempt = match failure {
                    Failure::Relay { .. } => Attempt::RelayFailed,
                    _ => Attempt::Failed,
                };
                let now_ms = self.platform.records().clock().now_ms();
                if now_ms.saturating_sub(entry.created_at_ms()) >= millis(MAIL_AGE_MAX) {
                    (self.give_up(entry).await, &self.status.undeliverable, attempt)
                } else {
                    let postponed = self.with_records(move |records| postpone(records, &entry)).await;
                    (postponed, &self.status.postponed, attempt)
                }
            }
        };
        let reason = failure
            .map(|(Failure::Relay { reason } | Failure::Postponed { reason } | Failure::Refused { reason })| reason);
        self.status.note(Some(count), written.err().or(reason));
        attempt
    }

    /// Makes the message of an entry; `None` when there is nothing to tell any more.
    async fn compose(&self, entry: &Arc<Stored<OutboxEntry>>) -> Result<Option<Composed>, Failure> {
        let (entry, render, from) = (Arc::clone(entry), Arc::clone(&self.render), self.relay.config().from.clone());
        let now_ms = self.platform.records().clock().now_ms();
        let composing = tokio::task::spawn_blocking(move || match render.render(&entry) {
            Ok(Some(mail)) => match compose(&entry, &mail, &from, now_ms) {
                Ok(composed) => Ok(Some(composed)),
                Err(reason) => Err(Failure::Refused { reason }),
            },
            Ok(None) => Ok(None),
            Err(cause) => Err(Failure::Postponed { reason: cause.to_string() }),
        });
        composing.await.unwrap_or_else(|_| Err(Failure::Postponed { reason: "making the mail panicked".to_owned() }))
    }

    async fn give_up(&self, entry: Arc<Stored<OutboxEntry>>) -> Result<(), String> {
        self.with_records(move |records| give_up(records, &entry)).await
    }

    /// Runs `work`, which may wait for the disk, on a thread for such work.
    async fn with_records<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Records) -> Result<T, RecordError> + Send + 'static,
    ) -> Result<T, String> {
        let platform = Arc::clone(&self.platform);
        match tokio::task::spawn_blocking(move || work(platform.records())).await {
            Ok(result) => result.map_err(|cause| format!("the outbox: {cause}")),
            Err(cause) => Err(format!("the outbox: {cause}")),
        }
    }
}

/// Returns the mails that are due, the longest due first. Messages of other topics may lie between them.
fn due_mails(records: &Records) -> Result<Vec<Stored<OutboxEntry>>, RecordError> {
    let (mut mails, mut number) = (Vec::new(), NonZeroUsize::MIN);
    loop {
        let due = records.due_messages(&PageRequest::first(PAGE_LEN).with_number(number))?;
        let is_last = due.len() < PAGE_LEN.get();
        mails.extend(due.into_iter().filter(|entry| entry.value.topic.starts_with(TOPICS)));
        if is_last || mails.len() >= BATCH_LEN {
            return Ok(mails);
        }
        number = number.saturating_add(1);
    }
}

fn forget(records: &Records, entry: &Stored<OutboxEntry>) -> Result<(), RecordError> {
    unless_changed(records.unit(|unit| unit.delete(entry)))
}

fn postpone(records: &Records, entry: &Stored<OutboxEntry>) -> Result<(), RecordError> {
    let delay = retry_delay(entry.value.failures.saturating_add(1));
    unless_changed(records.unit(|unit| {
        let due_at_ms = unit.now_ms().saturating_add(millis(delay));
        unit.postpone(entry, due_at_ms)
    }))
}

fn give_up(records: &Records, entry: &Stored<OutboxEntry>) -> Result<(), RecordError> {
    let line = AuditLine {
        subject: "service".to_owned(),
        action: "mail.undeliverable".to_owned(),
        target: format!("{} {}", entry.value.topic, entry.id()),
        client: None,
    };
    unless_changed(records.unit(|unit| {
        unit.delete(entry)?;
        unit.audit(entry.owner(), line)
    }))
}

/// An entry that was withdrawn or changed meanwhile is as whoever did it wants it.
fn unless_changed(result: Result<(), RecordError>) -> Result<(), RecordError> {
    match result {
        Err(RecordError::Missing { .. } | RecordError::Stale { .. }) => Ok(()),
        result => result,
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
