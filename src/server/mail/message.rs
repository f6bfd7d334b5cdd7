//! Mails: what is said to whom, and its form as a message (RFC 5322).

use core::time::Duration;
use std::time::SystemTime;

use lettre::{
    Address, Message,
    message::{
        Mailbox, MultiPart, SinglePart,
        header::{HeaderName, HeaderValue},
    },
};
use zeroize::Zeroizing;

use crate::platform::records::{OutboxEntry, Stored};

/// Characters of a subject.
const SUBJECT_LEN_MAX: usize = 200;

/// A mail to one person. Its texts may hold what only that person may know: they are overwritten when they are dropped.
#[expect(missing_debug_implementations, reason = "it holds secrets")]
pub struct Mail {
    /// Address of the recipient, such as `name@example.com`.
    pub to: String,
    /// Subject, one line.
    pub subject: String,
    /// Plain text.
    pub text: Zeroizing<String>,
    /// The same as HTML, where there is one.
    pub html: Option<Zeroizing<String>>,
}

/// Makes mails of the outbox's entries. Object-safe, and stays so. A closure of the same form is one.
pub trait RenderMail: Send + Sync {
    /// Returns the mail of an entry, or `None` when what it would tell of is gone, such as a withdrawn invitation: the entry is then
    /// deleted. It is called outside an async context and may read the store. It is called again for each attempt and must not change
    /// anything.
    ///
    /// # Errors
    /// [`RenderError`]; the entry is tried again later.
    fn render(&self, entry: &Stored<OutboxEntry>) -> Result<Option<Mail>, RenderError>;
}

impl<F> RenderMail for F
where
    F: Fn(&Stored<OutboxEntry>) -> Result<Option<Mail>, RenderError> + Send + Sync,
{
    fn render(&self, entry: &Stored<OutboxEntry>) -> Result<Option<Mail>, RenderError> {
        self(entry)
    }
}

/// A mail can't be made of an entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the mail can't be made: {reason}")]
pub struct RenderError {
    reason: String,
}

impl RenderError {
    /// A failure for this reason, which must hold no secret.
    pub fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into() }
    }
}

/// A message as it is sent.
pub(super) struct Composed {
    pub(super) from: Address,
    pub(super) to: Address,
    pub(super) bytes: Zeroizing<Vec<u8>>,
}

/// Composes the message of an entry's mail, or returns why there can be none.
pub(super) fn compose(
    entry: &Stored<OutboxEntry>,
    mail: &Mail,
    from: &Mailbox,
    now_ms: u64,
) -> Result<Composed, String> {
    let to = mail.to.parse::<Address>().map_err(|cause| format!("the recipient is no address: {cause}"))?;
    if mail.subject.chars().count() > SUBJECT_LEN_MAX || mail.subject.chars().any(char::is_control) {
        return Err(format!("the subject is not one line of at most {SUBJECT_LEN_MAX} characters"));
    }
    let date = SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(now_ms)).unwrap_or(SystemTime::UNIX_EPOCH);
    let builder = Message::builder()
        .message_id(Some(message_id(entry, from)))
        .date(date)
        .from(from.clone())
        .to(Mailbox::new(None, to.clone()))
        .subject(mail.subject.as_str())
        // No answer is wanted from a machine (RFC 3834).
        .raw_header(HeaderValue::new(HeaderName::new_from_ascii_str("Auto-Submitted"), "auto-generated".to_owned()));
    let composed = match &mail.html {
        None => builder.singlepart(SinglePart::plain(mail.text.to_string())),
        Some(html) => builder.multipart(MultiPart::alternative_plain_html(mail.text.to_string(), html.to_string())),
    };
    let message = composed.map_err(|cause| cause.to_string())?;
    Ok(Composed { from: from.email.clone(), to, bytes: Zeroizing::new(message.formatted()) })
}

/// The same for each attempt, so that a mail that came twice is known as one. The time keeps apart two services that start their count
/// anew and share a domain.
fn message_id(entry: &Stored<OutboxEntry>, from: &Mailbox) -> String {
    format!("<{}.{}.{}@{}>", entry.id(), entry.owner().as_str(), entry.created_at_ms(), from.email.domain())
}
