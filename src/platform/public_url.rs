//! The URL under which the service is reached: its issuer identifier, and the beginning of the links in its mails.

use core::fmt;

use url::{Host, Url};

/// Scheme, host and port of the service as its users see them, such as `https://chain.example`. It is the issuer of its tokens
/// (RFC 8414, 2; RFC 9207, 2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl {
    origin: String,
    is_https: bool,
}

/// A text that can't be the public URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} can't be the public URL: expected https (or http, for a loopback address or a proxy that adds TLS), a host, and a port where \
     it is not the scheme's, as in https://chain.example"
)]
pub struct InvalidPublicUrl {
    text: String,
}

impl PublicUrl {
    /// Reads an origin; one slash after it is left out.
    ///
    /// # Errors
    /// [`InvalidPublicUrl`] for another scheme than `http` and `https`, credentials, a path, a query or a fragment.
    pub fn new(text: &str) -> Result<Self, InvalidPublicUrl> {
        let invalid = || InvalidPublicUrl { text: text.chars().take(200).collect() };
        let url = Url::parse(text).map_err(|_| invalid())?;
        let is_bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
        let has_credentials = !url.username().is_empty() || url.password().is_some();
        if !matches!(url.scheme(), "http" | "https") || !is_bare || has_credentials {
            return Err(invalid());
        }
        Ok(Self { origin: url.origin().ascii_serialization(), is_https: url.scheme() == "https" })
    }

    /// The URL, without a slash at its end.
    pub fn as_str(&self) -> &str {
        &self.origin
    }

    /// Whether browsers reach the service by TLS, so that its cookies are for TLS alone.
    pub const fn is_https(&self) -> bool {
        self.is_https
    }

    /// Returns the URL of a path, which begins with a slash.
    pub fn link(&self, path: &str) -> String {
        format!("{}{path}", self.origin)
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.origin)
    }
}

/// Returns whether a host is this machine: a loopback address, or `localhost` (RFC 6761, 6.3).
pub(super) fn is_loopback<S: AsRef<str>>(host: &Host<S>) -> bool {
    match host {
        Host::Domain(name) => name.as_ref() == "localhost",
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_and_nothing_else_is_a_public_url() {
        for (text, want) in [
            ("https://chain.example", Some("https://chain.example")),
            ("https://Chain.Example:443/", Some("https://chain.example")),
            ("http://127.0.0.1:8545", Some("http://127.0.0.1:8545")),
            ("http://[::1]:8545/", Some("http://[::1]:8545")),
            ("https://chain.example/path", None),
            ("https://chain.example/?q", None),
            ("https://chain.example/#f", None),
            ("https://a:b@chain.example", None),
            ("ftp://chain.example", None),
            ("chain.example", None),
            ("", None),
        ] {
            let url = PublicUrl::new(text);
            assert_eq!(url.as_ref().map(PublicUrl::as_str).ok(), want, "{text}");
            assert_eq!(url.is_ok_and(|url| url.is_https()), want.is_some_and(|want| want.starts_with("https")));
        }
        let url = PublicUrl::new("https://chain.example").unwrap();
        assert_eq!(url.link("/oauth/confirm"), "https://chain.example/oauth/confirm");
        assert!(PublicUrl::new("x").unwrap_err().to_string().contains("as in https://chain.example"));
    }
}
