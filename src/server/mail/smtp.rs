//! One mail over one connection to the relay.

use core::time::Duration;
use std::error::Error as _;

use lettre::transport::smtp::{
    Error,
    authentication::Mechanism,
    client::{AsyncSmtpConnection, Certificate, CertificateStore, TlsParameters},
    commands::{Data, Mail as MailFrom, Rcpt},
    extension::{ClientId, Extension, MailBodyParameter, MailParameter},
};
use tokio::time::timeout;

use super::{MailConfigError, SmtpConfig, config::Security, message::Composed};

/// Time in which the relay must have taken a mail.
pub const DELIVERY_TIMEOUT: Duration = Duration::from_secs(60);
/// Time in which a connection must stand.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Time for taking leave, whose answer nobody needs.
const QUIT_TIMEOUT: Duration = Duration::from_secs(2);
/// Characters of a reason.
const REASON_LEN_MAX: usize = 300;

/// Why a mail was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// Nothing can be sent at present.
    Relay { reason: String },
    /// The relay wants this mail later.
    Postponed { reason: String },
    /// The mail will never be taken.
    Refused { reason: String },
}

/// The relay, with what every connection to it needs.
pub(super) struct Relay {
    config: SmtpConfig,
    hello: ClientId,
    tls: Option<TlsParameters>,
}

impl Relay {
    pub(super) fn new(config: SmtpConfig) -> Result<Self, MailConfigError> {
        let tls = match config.security {
            Security::Clear => None,
            Security::Tls | Security::StartTls => Some(tls(&config)?),
        };
        let hello = ClientId::Domain(config.from.email.domain().to_owned());
        Ok(Self { config, hello, tls })
    }

    pub(super) const fn config(&self) -> &SmtpConfig {
        &self.config
    }

    /// Hands a mail to the relay. When this is dropped or its time is up, whether the relay took the mail may be unknown.
    pub(super) async fn deliver(&self, mail: &Composed) -> Result<(), Failure> {
        let late = || Failure::Relay { reason: format!("no answer within {} s", DELIVERY_TIMEOUT.as_secs()) };
        timeout(DELIVERY_TIMEOUT, self.exchange(mail)).await.unwrap_or_else(|_| Err(late()))
    }

    async fn exchange(&self, mail: &Composed) -> Result<(), Failure> {
        let mut connection = self.connect().await?;
        let result = transact(&mut connection, mail).await;
        let _ = timeout(QUIT_TIMEOUT, connection.abort()).await;
        result
    }

    async fn connect(&self) -> Result<AsyncSmtpConnection, Failure> {
        let SmtpConfig { host, port, security, credentials, .. } = &self.config;
        let at_once = self.tls.clone().filter(|_| *security == Security::Tls);
        let address = (host.as_str(), *port);
        let connected = AsyncSmtpConnection::connect_tokio1(address, Some(CONNECT_TIMEOUT), &self.hello, at_once, None);
        let mut connection = connected.await.map_err(relay_failure)?;
        if let (Security::StartTls, Some(tls)) = (security, &self.tls) {
            if !connection.can_starttls() {
                let reason = "it offers no STARTTLS; take smtps:// or, within a network you trust, tls=none".to_owned();
                return Err(Failure::Relay { reason });
            }
            connection.starttls(tls.clone(), &self.hello).await.map_err(relay_failure)?;
        }
        if let Some(credentials) = credentials {
            let mechanisms = [Mechanism::Plain, Mechanism::Login];
            connection.auth(&mechanisms, &credentials.for_connection()).await.map_err(relay_failure)?;
        }
        Ok(connection)
    }
}

/// One mail transaction (RFC 5321, 3.3). What is wrong with the sender is wrong with the configuration, and concerns all mails.
async fn transact(connection: &mut AsyncSmtpConnection, mail: &Composed) -> Result<(), Failure> {
    let mut parameters = Vec::new();
    let supports = |extension| connection.server_info().supports_feature(extension);
    if !(mail.from.to_string().is_ascii() && mail.to.to_string().is_ascii()) {
        if !supports(Extension::SmtpUtfEight) {
            return Err(Failure::Refused { reason: "the relay takes no addresses beyond ASCII (RFC 6531)".to_owned() });
        }
        parameters.push(MailParameter::SmtpUtfEight);
    }
    if !mail.bytes.is_ascii() && supports(Extension::EightBitMime) {
        parameters.push(MailParameter::Body(MailBodyParameter::EightBitMime));
    }
    connection.command(MailFrom::new(Some(mail.from.clone()), parameters)).await.map_err(relay_failure)?;
    connection.command(Rcpt::new(mail.to.clone(), Vec::new())).await.map_err(mail_failure)?;
    connection.command(Data).await.map_err(mail_failure)?;
    connection.message(&mail.bytes).await.map_err(mail_failure)?;
    Ok(())
}

fn relay_failure(cause: Error) -> Failure {
    Failure::Relay { reason: reason(&cause) }
}

fn mail_failure(cause: Error) -> Failure {
    let reason = reason(&cause);
    if cause.is_permanent() {
        Failure::Refused { reason }
    } else if cause.is_transient() {
        Failure::Postponed { reason }
    } else {
        Failure::Relay { reason }
    }
}

/// What the relay said or what else went wrong, in one line. Commands, which hold credentials, are no part of it.
fn reason(cause: &Error) -> String {
    let mut text = cause.to_string();
    let mut next = cause.source();
    while let Some(error) = next {
        let further = error.to_string();
        if !text.contains(&further) {
            text.push_str(": ");
            text.push_str(&further);
        }
        next = error.source();
    }
    text.chars().map(|character| if character.is_control() { ' ' } else { character }).take(REASON_LEN_MAX).collect()
}

fn tls(config: &SmtpConfig) -> Result<TlsParameters, MailConfigError> {
    let failed = |cause: Error| MailConfigError::Tls { reason: reason(&cause) };
    let mut builder = TlsParameters::builder(config.host.clone()).certificate_store(CertificateStore::None);
    for certificate in config.roots.certificates() {
        builder = builder.add_root_certificate(Certificate::from_der(certificate.to_vec()).map_err(failed)?);
    }
    builder.build_rustls().map_err(failed)
}
