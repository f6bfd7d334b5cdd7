//! The relay and the sender: a URL, credentials from a file or the environment, an address.

use std::{fs, net::IpAddr, path::Path};

use lettre::{message::Mailbox, transport::smtp::authentication::Credentials};
use url::{Host, Url};
use zeroize::Zeroizing;

use crate::server::outbound::TlsRoots;

/// Port of message submission (RFC 6409).
const SUBMISSION_PORT: u16 = 587;
/// Port of message submission over TLS (RFC 8314).
const SUBMISSIONS_PORT: u16 = 465;

/// How a connection to the relay is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Security {
    /// TLS from the first byte (RFC 8314).
    Tls,
    /// TLS after STARTTLS (RFC 3207), without which nothing is sent.
    StartTls,
    /// None.
    Clear,
}

/// A relay and a sender.
#[derive(Clone, Debug)]
pub struct SmtpConfig {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) security: Security,
    pub(super) credentials: Option<SmtpCredentials>,
    pub(super) from: Mailbox,
    pub(super) roots: TlsRoots,
}

/// A relay or a sender that can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MailConfigError {
    /// The URL names no relay. It is not repeated, as it may hold a password.
    #[error(
        "the relay's URL: {reason}; expected smtps://HOST[:465], smtp://HOST[:587], or smtp://HOST[:PORT]?tls=none"
    )]
    Url {
        /// What is wrong with it.
        reason: String,
    },
    /// The sender is no address.
    #[error("the sender {from:?} is no address: {reason}; expected name@example.com or Name <name@example.com>")]
    From {
        /// Text that came.
        from: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The credentials can't be read. They are not repeated.
    #[error("the relay's credentials in {place}: {reason}; expected USER:PASSWORD")]
    Credentials {
        /// File or environment variable.
        place: String,
        /// What is wrong with them.
        reason: String,
    },
    /// Credentials would be sent in clear to another machine.
    #[error(
        "tls=none would send the relay's credentials to {host} in clear; take smtps:// or smtp:// without tls=none"
    )]
    CredentialsInClear {
        /// Host of the relay.
        host: String,
    },
    /// The TLS parameters can't be made.
    #[error("TLS to the relay: {reason}")]
    Tls {
        /// What is wrong.
        reason: String,
    },
}

impl SmtpConfig {
    /// Reads a relay's URL and the address of the sender.
    ///
    /// `smtps://` is TLS from the first byte, `smtp://` is STARTTLS, and `smtp://...?tls=none` is in clear. A user and a password are no part
    /// of the URL, which shows in lists of processes.
    ///
    /// # Errors
    /// [`MailConfigError::Url`], [`MailConfigError::From`].
    pub fn new(url: &str, from: &str, roots: TlsRoots) -> Result<Self, MailConfigError> {
        let invalid = |reason: &str| MailConfigError::Url { reason: reason.to_owned() };
        let url = Url::parse(url).map_err(|cause| invalid(&cause.to_string()))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(invalid("it has a user or a password; give them in a file or the environment"));
        }
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or_else(|| invalid("it has no host"))?;
        if !matches!(url.path(), "" | "/") || url.fragment().is_some() {
            return Err(invalid("it has a path or a fragment"));
        }
        let (security, port) = match (url.scheme(), url.query()) {
            ("smtps", None) => (Security::Tls, SUBMISSIONS_PORT),
            ("smtp", None) => (Security::StartTls, SUBMISSION_PORT),
            ("smtp", Some("tls=none")) => (Security::Clear, SUBMISSION_PORT),
            ("smtp" | "smtps", Some(_)) => return Err(invalid("it has an unknown query")),
            _ => return Err(invalid("it has another scheme")),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let parsed = from.parse::<Mailbox>();
        let from =
            parsed.map_err(|cause| MailConfigError::From { from: from.to_owned(), reason: cause.to_string() })?;
        Ok(Self { host, port: url.port().unwrap_or(port), security, credentials: None, from, roots })
    }

    /// Logs in to the relay before sending.
    ///
    /// # Errors
    /// [`MailConfigError::CredentialsInClear`] for a relay without TLS that is not on this machine.
    pub fn with_credentials(self, credentials: SmtpCredentials) -> Result<Self, MailConfigError> {
        if self.security == Security::Clear && !is_loopback(&self.host) {
            return Err(MailConfigError::CredentialsInClear { host: self.host });
        }
        Ok(Self { credentials: Some(credentials), ..self })
    }
}

fn is_loopback(host: &str) -> bool {
    match Host::parse(host) {
        Ok(Host::Ipv4(address)) => address.is_loopback(),
        _ => host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback()),
    }
}

/// User and password for the relay. They are overwritten when they are dropped.
#[derive(Clone)]
pub struct SmtpCredentials {
    user: Zeroizing<String>,
    password: Zeroizing<String>,
}

/// Leaves both out.
impl core::fmt::Debug for SmtpCredentials {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("SmtpCredentials").finish_non_exhaustive()
    }
}

impl SmtpCredentials {
    /// Reads `USER:PASSWORD`; `place` names where they are from.
    ///
    /// # Errors
    /// [`MailConfigError::Credentials`].
    pub fn from_text(text: &str, place: &str) -> Result<Self, MailConfigError> {
        let invalid =
            |reason: &str| MailConfigError::Credentials { place: place.to_owned(), reason: reason.to_owned() };
        let line = text.trim_end_matches(['\r', '\n']);
        let (user, password) = line.split_once(':').ok_or_else(|| invalid("there is no colon"))?;
        if user.is_empty() || password.is_empty() {
            return Err(invalid("the user or the password is empty"));
        }
        if line.chars().any(char::is_control) {
            return Err(invalid("there are control characters, or several lines"));
        }
        Ok(Self { user: Zeroizing::new(user.to_owned()), password: Zeroizing::new(password.to_owned()) })
    }

    /// Reads them from a file.
    ///
    /// # Errors
    /// [`MailConfigError::Credentials`].
    pub fn from_file(path: &Path) -> Result<Self, MailConfigError> {
        let place = path.display().to_string();
        match fs::read_to_string(path).map(Zeroizing::new) {
            Ok(text) => Self::from_text(&text, &place),
            Err(cause) => Err(MailConfigError::Credentials { place, reason: cause.to_string() }),
        }
    }

    /// Reads them from an environment variable; `None` when it is not set.
    ///
    /// # Errors
    /// [`MailConfigError::Credentials`].
    pub fn from_env(name: &str) -> Result<Option<Self>, MailConfigError> {
        match std::env::var(name).map(Zeroizing::new) {
            Ok(text) => Self::from_text(&text, &format!("${name}")).map(Some),
            Err(std::env::VarError::NotPresent) => Ok(None),
            Err(std::env::VarError::NotUnicode(_)) => {
                Err(MailConfigError::Credentials { place: format!("${name}"), reason: "it is no text".to_owned() })
            }
        }
    }

    /// Returns a copy for one connection.
    pub(super) fn for_connection(&self) -> Credentials {
        Credentials::new(self.user.to_string(), self.password.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(url: &str) -> Result<SmtpConfig, MailConfigError> {
        SmtpConfig::new(url, "Chainbox <noreply@example.com>", TlsRoots::none())
    }

    #[test]
    fn a_url_names_relay_port_and_protection() {
        for (url, host, port, security) in [
            ("smtps://mail.example.com", "mail.example.com", 465, Security::Tls),
            ("smtp://mail.example.com", "mail.example.com", 587, Security::StartTls),
            ("smtp://mail.example.com/", "mail.example.com", 587, Security::StartTls),
            ("smtp://mail.example.com:25", "mail.example.com", 25, Security::StartTls),
            ("smtp://127.0.0.1:1025?tls=none", "127.0.0.1", 1025, Security::Clear),
            ("smtp://[::1]:1025?tls=none", "::1", 1025, Security::Clear),
        ] {
            let read = config(url).unwrap();
            assert_eq!((&*read.host, read.port, read.security), (host, port, security), "{url}");
        }
        for (url, says) in [
            ("mail.example.com", "relative URL"),
            ("http://mail.example.com", "another scheme"),
            ("smtp://user:secret@mail.example.com", "user or a password"),
            ("smtp://user@mail.example.com", "user or a password"),
            ("smtp:///path", "no host"),
            ("smtp://mail.example.com/path", "a path"),
            ("smtp://mail.example.com?tls=maybe", "unknown query"),
            ("smtps://mail.example.com?tls=none", "unknown query"),
        ] {
            let error = config(url).unwrap_err().to_string();
            assert!(
                error.contains(says) && error.contains("smtps://HOST") && !error.contains("secret"),
                "{url}: {error}"
            );
        }
        let error = SmtpConfig::new("smtp://a.test", "nobody", TlsRoots::none()).unwrap_err();
        assert!(error.to_string().contains("name@example.com"), "{error}");
    }

    #[test]
    fn credentials_are_one_line_and_never_shown() {
        let read = SmtpCredentials::from_text("user:se:cret\n", "a file").unwrap();
        assert_eq!((&**read.user, &**read.password), ("user", "se:cret"));
        for text in ["", "secret", ":secret", "secret:", "secret:a\nb", "secret:a\0b"] {
            let Err(error) = SmtpCredentials::from_text(text, "the file") else { panic!("{text:?} is read") };
            let error = error.to_string();
            assert!(
                error.contains("the file") && error.contains("USER:PASSWORD") && !error.contains("secret"),
                "{error}"
            );
        }
        let debug = format!("{:?}", config("smtps://a.test").unwrap().with_credentials(read).unwrap());
        assert!(!debug.contains("cret"), "{debug}");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("credentials");
        assert!(SmtpCredentials::from_file(&path).unwrap_err().to_string().contains("credentials"));
        fs::write(&path, "user:word\n").unwrap();
        assert!(SmtpCredentials::from_file(&path).is_ok());
        assert!(SmtpCredentials::from_env("CHAINBOX_NO_SUCH_VARIABLE").unwrap().is_none());
    }

    #[test]
    fn credentials_do_not_leave_the_machine_in_clear() {
        let credentials = || SmtpCredentials::from_text("a:b", "").unwrap();
        for (url, permitted) in [
            ("smtp://127.0.0.1?tls=none", true),
            ("smtp://localhost?tls=none", true),
            ("smtp://[::1]?tls=none", true),
            ("smtp://mail.example.com?tls=none", false),
            ("smtp://10.0.0.1?tls=none", false),
            ("smtp://mail.example.com", true),
            ("smtps://mail.example.com", true),
        ] {
            assert_eq!(config(url).unwrap().with_credentials(credentials()).is_ok(), permitted, "{url}");
        }
    }
}
