//! Where the service may send requests to.

use core::str::FromStr;
use std::net::IpAddr;

use super::{
    OutboundError, OutboundUrl,
    address::{self, v4_contains, v6_contains},
};

/// Lowest port that is none of the system's (RFC 6335, 6).
const USER_PORTS: u16 = 1024;

/// Rules of the addresses that requests go to. The default permits `https` to public addresses alone, on port 443, 80 or one from 1024:
/// below it are the services of systems (RFC 6335), of which no other speaks HTTP, and some would take a request for commands of theirs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutboundPolicy {
    loopback: bool,
    allowed: Vec<Allowed>,
}

impl OutboundPolicy {
    /// Permits `http` and `https` to this machine's loopback addresses, for development.
    #[must_use]
    pub fn with_loopback(self) -> Self {
        Self { loopback: true, ..self }
    }

    /// Permits an origin or a network that would be refused.
    #[must_use]
    pub fn with_allowed(mut self, allowed: Allowed) -> Self {
        self.allowed.push(allowed);
        self
    }

    /// Checks what can be said of a URL before its name is resolved.
    pub(super) fn check(&self, url: &OutboundUrl) -> Result<(), OutboundError> {
        let invalid = |reason: String| Err(OutboundError::Url { reason });
        if self.allows_origin(url) {
            return Ok(());
        }
        if !url.is_https() && !self.loopback {
            return invalid("expected the scheme https, got http".to_owned());
        }
        let port = url.port();
        if port < USER_PORTS && !matches!(port, 80 | 443) {
            return invalid(format!(
                "port {port} is that of another service; expected 443, 80 or one from {USER_PORTS}"
            ));
        }
        match url.address().and_then(|address| Some((address, self.refusal(url, address)?))) {
            Some((address, reason)) => {
                Err(OutboundError::Refused { place: url.place(), address, reason: reason.to_owned() })
            }
            None => Ok(()),
        }
    }

    /// Returns why an address that a URL's host has must not be connected to.
    pub(super) fn refusal(&self, url: &OutboundUrl, address: IpAddr) -> Option<&'static str> {
        if self.allows_origin(url)
            || (self.loopback && address.to_canonical().is_loopback() && !address_is_mapped(address))
        {
            return None;
        }
        if !url.is_https() {
            return Some("not loopback, where alone http is allowed; use https");
        }
        if self.allowed.iter().any(|allowed| allowed.has_address(address)) {
            return None;
        }
        address::refusal(address)
    }

    fn allows_origin(&self, url: &OutboundUrl) -> bool {
        self.allowed.iter().any(|allowed| allowed.is_origin(url))
    }
}

/// An IPv4 address in IPv6's clothes is no spelling that a resolver gives.
const fn address_is_mapped(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.to_ipv4_mapped().is_some())
}

/// An exception of an [`OutboundPolicy`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Allowed {
    /// An origin, on whatever address and port it is.
    Origin {
        /// Whether requests in clear are allowed too.
        http: bool,
        /// Host in a URL's canonical form.
        host: String,
        /// Port.
        port: u16,
    },
    /// The addresses of a network, by `https` alone.
    Network {
        /// First address.
        address: IpAddr,
        /// Bits of the addresses that are the network's.
        length: u8,
    },
}

impl Allowed {
    /// The origin of a URL.
    pub fn origin_of(url: &OutboundUrl) -> Self {
        Self::Origin { http: !url.is_https(), host: url.host().to_owned(), port: url.port() }
    }

    fn is_origin(&self, url: &OutboundUrl) -> bool {
        match self {
            Self::Origin { http, host, port } => (*http || url.is_https()) && host == url.host() && *port == url.port(),
            Self::Network { .. } => false,
        }
    }

    fn has_address(&self, candidate: IpAddr) -> bool {
        match (self, candidate) {
            (Self::Network { address: IpAddr::V4(network), length }, IpAddr::V4(candidate)) => {
                v4_contains(*network, *length, candidate)
            }
            (Self::Network { address: IpAddr::V6(network), length }, IpAddr::V6(candidate)) => {
                v6_contains(*network, *length, candidate)
            }
            _ => false,
        }
    }
}

/// A text that names no exception.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} names no origin or network: expected host:port, http://host:port or address/bits, such as 10.1.0.0/16"
)]
pub struct InvalidAllowed {
    text: String,
}

impl FromStr for Allowed {
    type Err = InvalidAllowed;

    fn from_str(text: &str) -> Result<Self, InvalidAllowed> {
        network(text).or_else(|| origin(text)).ok_or_else(|| InvalidAllowed { text: text.to_owned() })
    }
}

fn network(text: &str) -> Option<Allowed> {
    let (address, length) = text.split_once('/')?;
    let (address, length) = (address.parse::<IpAddr>().ok()?, length.parse::<u8>().ok()?);
    let length_max = if address.is_ipv4() { 32 } else { 128 };
    (length <= length_max).then_some(Allowed::Network { address, length })
}

fn origin(text: &str) -> Option<Allowed> {
    let (http, authority) = match text.strip_prefix("http://") {
        Some(authority) => (true, authority),
        None => (false, text.strip_prefix("https://").unwrap_or(text)),
    };
    let (_, port) = authority.rsplit_once(':')?;
    let port = port.parse().ok()?;
    let url = OutboundUrl::parse(&format!("https://{authority}/")).ok()?;
    // A path or query would have made the port no number; the parser knows the rest.
    Some(Allowed::Origin { http, host: url.host().to_owned(), port })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(policy: &OutboundPolicy, url: &str) -> Result<(), String> {
        policy.check(&OutboundUrl::parse(url).unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn urls_are_judged_before_anything_is_sent() {
        let (strict, dev) = (OutboundPolicy::default(), OutboundPolicy::default().with_loopback());
        let listed = OutboundPolicy::default()
            .with_allowed("http://provider.test:9000".parse().unwrap())
            .with_allowed("Mail.Internal:25".parse().unwrap())
            .with_allowed("10.1.0.0/16".parse().unwrap())
            .with_allowed("fd00::/8".parse().unwrap());
        for (policy, url, says) in [
            (&strict, "https://example.com/", ""),
            (&strict, "https://example.com:8443/", ""),
            (&strict, "https://example.com:1024/", ""),
            (&strict, "https://example.com:1023/", "port 1023"),
            (&strict, "https://example.com:22/", "port 22"),
            (&strict, "http://example.com/", "scheme https"),
            (&strict, "http://127.0.0.1/", "scheme https"),
            (&strict, "https://127.0.0.1/", "loopback"),
            (&strict, "https://2130706433/", "loopback"),
            (&strict, "https://[::ffff:127.0.0.1]/", "mapped"),
            (&strict, "https://169.254.169.254/", "link-local"),
            (&strict, "https://10.1.2.3/", "private"),
            (&dev, "http://127.0.0.1:3000/", ""),
            (&dev, "http://[::1]:3000/", ""),
            (&dev, "https://127.0.0.1:3000/", ""),
            (&dev, "http://127.0.0.1:25/", "port 25"),
            (&dev, "http://[::ffff:127.0.0.1]:3000/", "loopback"),
            (&dev, "http://10.1.2.3/", "use https"),
            (&dev, "http://8.8.8.8/", "use https"),
            (&dev, "https://10.1.2.3/", "private"),
            (&listed, "http://provider.test:9000/", ""),
            (&listed, "https://provider.test:9000/", ""),
            (&listed, "http://provider.test:9001/", "scheme https"),
            (&listed, "http://other.test:9000/", "scheme https"),
            (&listed, "https://mail.internal:25/", ""),
            (&listed, "http://mail.internal:25/", "scheme https"),
            (&listed, "https://10.1.255.255/", ""),
            (&listed, "http://10.1.255.255/", "scheme https"),
            (&listed, "https://10.2.0.0/", "private"),
            (&listed, "https://[fd12::1]/", ""),
            (&listed, "https://[fc00::1]/", "unique local"),
        ] {
            match judge(policy, url) {
                Ok(()) => assert_eq!(says, "", "{url} is permitted"),
                Err(error) => assert!(!says.is_empty() && error.contains(says), "{url}: {error}"),
            }
        }
    }

    #[test]
    fn exceptions_are_read_from_text() {
        let origin = |http, host: &str, port| Allowed::Origin { http, host: host.to_owned(), port };
        for (text, want) in [
            ("example.com:443", origin(false, "example.com", 443)),
            ("https://Example.com:443", origin(false, "example.com", 443)),
            ("http://127.0.0.1:8080", origin(true, "127.0.0.1", 8080)),
            ("[::1]:8080", origin(false, "[::1]", 8080)),
            ("10.0.0.0/8", Allowed::Network { address: [10, 0, 0, 0].into(), length: 8 }),
        ] {
            assert_eq!(text.parse(), Ok(want), "{text}");
        }
        for text in [
            "",
            "example.com",
            "10.0.0.0/33",
            "fd00::/129",
            "10.0.0.0/",
            "http://a:80/path",
            "a:b",
            "u@a:80",
            "::1",
            "/8",
        ] {
            let error = text.parse::<Allowed>().unwrap_err().to_string();
            assert!(error.contains("host:port"), "{error}");
        }
    }
}
