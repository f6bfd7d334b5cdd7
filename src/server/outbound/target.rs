//! URLs that the service sends requests to, in the WHATWG URL Standard's canonical form.

use core::fmt;
use std::net::IpAddr;

use url::{Host, Url};

use super::OutboundError;

/// Characters of a URL.
pub const URL_LEN_MAX: usize = 2048;

/// A URL of scheme `http` or `https` with a host and without credentials.
///
/// Parsing it brings a host to one spelling: `0x7f.1`, `2130706433` and `127.0.0.1` are one address, and a name is in lower case and
/// ASCII (URL Standard, 3.5). Debug output and errors show the origin alone, as paths and queries may hold secrets.
#[derive(Clone, PartialEq, Eq)]
pub struct OutboundUrl(Url);

impl OutboundUrl {
    /// Reads a URL. Whether the service may connect to it is [`OutboundClient::check`](super::OutboundClient::check)'s to say.
    ///
    /// # Errors
    /// [`OutboundError::Url`].
    pub fn parse(text: &str) -> Result<Self, OutboundError> {
        let invalid = |reason: &str| Err(OutboundError::Url { reason: reason.to_owned() });
        if text.len() > URL_LEN_MAX {
            return invalid(&format!("expected at most {URL_LEN_MAX} characters, got {}", text.len()));
        }
        let mut url = match Url::parse(text) {
            Ok(url) => url,
            Err(cause) => {
                return invalid(&format!("expected an absolute URL such as https://example.com/path: {cause}"));
            }
        };
        if !matches!(url.scheme(), "http" | "https") {
            return invalid(&format!("expected the scheme https, got {}", url.scheme()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return invalid("it has a user name or a password before the host; leave them out");
        }
        if url.host().is_none() || url.port_or_known_default() == Some(0) {
            return invalid("expected a host and, where one is given, a port from 1 to 65535");
        }
        url.set_fragment(None);
        Ok(Self(url))
    }

    /// Text of the URL, whole.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    pub(super) fn is_https(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// Host as it is in the URL, an IPv6 address in brackets.
    pub(super) fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    pub(super) fn port(&self) -> u16 {
        self.0.port_or_known_default().unwrap_or_default()
    }

    /// The address, where the host is one.
    pub(super) fn address(&self) -> Option<IpAddr> {
        match self.0.host()? {
            Host::Domain(_) => None,
            Host::Ipv4(address) => Some(address.into()),
            Host::Ipv6(address) => Some(address.into()),
        }
    }

    /// Host and port, for messages.
    pub fn place(&self) -> String {
        format!("{}:{}", self.host(), self.port())
    }
}

impl fmt::Debug for OutboundUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OutboundUrl({}://{}/..)", self.0.scheme(), self.place())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_an_address_is_the_address() {
        for text in
            ["127.0.0.1", "127.1", "0x7f000001", "2130706433", "017700000001", "0x7f.0.0.1", "127.0.0.1.", "①②⑦.0.0.1"]
        {
            let url = OutboundUrl::parse(&format!("https://{text}/")).unwrap();
            assert_eq!(url.address(), Some(IpAddr::from([127, 0, 0, 1])), "{text}");
            assert_eq!(url.host(), "127.0.0.1", "{text}");
        }
        for text in ["[::1]", "[0:0::0:1]", "[0000:0000:0000:0000:0000:0000:0000:0001]"] {
            let url = OutboundUrl::parse(&format!("https://{text}/")).unwrap();
            assert_eq!((url.address(), url.host()), (Some("::1".parse().unwrap()), "[::1]"), "{text}");
        }
    }

    #[test]
    fn what_is_no_url_of_the_web_is_refused_with_the_reason() {
        for (text, says) in [
            ("", "absolute URL"),
            ("/path", "absolute URL"),
            ("example.com", "absolute URL"),
            ("https://", "absolute URL"),
            ("ftp://example.com/", "scheme https, got ftp"),
            ("file:///etc/passwd", "scheme https, got file"),
            ("https://user@example.com/", "user name or a password"),
            ("https://user:word@example.com/", "user name or a password"),
            ("https://:word@example.com/", "user name or a password"),
            ("https://example.com:0/", "1 to 65535"),
            ("https://example.com:65536/", "invalid port"),
            ("https://256.0.0.1/", "invalid IPv4"),
            ("https://[::1/", "invalid IPv6"),
            ("https://a b/", "invalid"),
        ] {
            let error = OutboundUrl::parse(text).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
            assert!(!error.contains("word@"), "{error}");
        }
    }

    #[test]
    fn a_url_is_bounded() {
        let url = |length: usize| format!("https://example.com/{}", "a".repeat(length - 20));
        assert!(OutboundUrl::parse(&url(URL_LEN_MAX)).is_ok());
        assert!(OutboundUrl::parse(&url(URL_LEN_MAX + 1)).unwrap_err().to_string().contains("2048"));
    }

    #[test]
    fn debug_output_shows_the_origin_alone() {
        let url = OutboundUrl::parse("https://Example.com/hook/secret?token=secret#secret").unwrap();
        assert_eq!(format!("{url:?}"), "OutboundUrl(https://example.com:443/..)");
        assert_eq!(url.as_str(), "https://example.com/hook/secret?token=secret");
    }
}
