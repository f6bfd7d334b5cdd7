//! Mails of the outbox, sent through an SMTP relay (RFC 5321, RFC 6409).
//!
//! What the platform wants to tell somebody by mail waits in its outbox under a topic that begins with `mail.`. A [`MailWorker`] takes what
//! is due, has a [`RenderMail`] make the text, and hands it to the relay, one mail at a time. A mail that was taken is deleted from the
//! outbox; a crash between both sends it again, with the same `Message-ID`.
//!
//! | the relay's answer | what happens |
//! |---|---|
//! | taken | the entry is deleted |
//! | no connection, no TLS, credentials or sender refused | the entry is tried again later, and so are all others: the worker pauses, from [`RELAY_PAUSE`] up to [`RELAY_PAUSE_MAX`] |
//! | 4xx for the recipient or the text | the entry is tried again after [`retry_delay`] |
//! | 5xx for the recipient or the text, or the entry is older than [`MAIL_AGE_MAX`] | the entry is deleted, with a line `mail.undeliverable` in its owner's audit log |
//!
//! The relay is named by whoever runs the service, so its address is not checked as those of
//! [`outbound`](super::outbound) requests are. TLS is required unless the URL says otherwise.

mod config;
mod message;
mod schedule;
mod smtp;
#[cfg(test)]
mod tests;
mod worker;

pub use config::{MailConfigError, SmtpConfig, SmtpCredentials};
pub use message::{Mail, RenderError, RenderMail};
pub use schedule::{MAIL_AGE_MAX, RELAY_PAUSE, RELAY_PAUSE_MAX, retry_delay};
pub use smtp::DELIVERY_TIMEOUT;
pub use worker::{MailStatus, MailWorker, STOP_GRACE};
