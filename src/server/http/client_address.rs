//! The address of a client behind proxies that the operator trusts.
//!
//! A proxy appends the address that it got a request from: to `X-Forwarded-For`, or as `for=` to `Forwarded` (RFC 7239). What the client
//! itself sent is to the left of that, and may be anything. So the list is read from the right, past the addresses of trusted proxies; the
//! first other one is the client's. Only the one header that the proxies are configured to write is read: the other passes through them as
//! the client sent it.

use core::{fmt, str::FromStr};
use std::net::IpAddr;

use hyper::{HeaderMap, header::HeaderName};

use crate::server::outbound::address::{v4_contains, v6_contains};

/// Addresses in a forwarding header that are looked at.
const HOPS_MAX: usize = 64;

/// A network of proxies: an address, or an address and the length of its prefix in bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProxyNetwork {
    address: IpAddr,
    length: u8,
}

/// A text that is no network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no network: expected an address, or an address and the bits of its prefix, such as 10.1.0.0/16")]
pub struct InvalidProxyNetwork {
    text: String,
}

impl FromStr for ProxyNetwork {
    type Err = InvalidProxyNetwork;

    fn from_str(text: &str) -> Result<Self, InvalidProxyNetwork> {
        let invalid = || InvalidProxyNetwork { text: text.to_owned() };
        let (address, length) = text.split_once('/').map_or((text, None), |(address, length)| (address, Some(length)));
        let address: IpAddr = address.parse().map_err(|_| invalid())?;
        let length_max = if address.is_ipv4() { 32 } else { 128 };
        let length = length.map_or(Ok(length_max), str::parse).map_err(|_| invalid())?;
        if length <= length_max { Ok(Self { address, length }) } else { Err(invalid()) }
    }
}

impl fmt::Display for ProxyNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

impl ProxyNetwork {
    fn contains(self, candidate: IpAddr) -> bool {
        match (self.address, candidate) {
            (IpAddr::V4(network), IpAddr::V4(candidate)) => v4_contains(network, self.length, candidate),
            (IpAddr::V6(network), IpAddr::V6(candidate)) => v6_contains(network, self.length, candidate),
            _ => false,
        }
    }
}

/// The header in which trusted proxies name whom they got a request from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ForwardingHeader {
    /// `X-Forwarded-For`.
    #[default]
    XForwardedFor,
    /// `Forwarded` (RFC 7239).
    Forwarded,
}

impl ForwardingHeader {
    const fn name(self) -> HeaderName {
        match self {
            Self::XForwardedFor => HeaderName::from_static("x-forwarded-for"),
            Self::Forwarded => hyper::header::FORWARDED,
        }
    }

    /// Returns the address of an element of the header's list; `None` for what is none, such as `unknown`.
    fn address(self, element: &str) -> Option<IpAddr> {
        match self {
            Self::XForwardedFor => node_address(element.trim()),
            Self::Forwarded => {
                let pairs = element.split(';').filter_map(|pair| pair.split_once('='));
                let node =
                    pairs.filter(|(name, _)| name.trim().eq_ignore_ascii_case("for")).map(|(_, node)| node).next()?;
                node_address(node.trim().trim_matches('"'))
            }
        }
    }
}

/// Reads an address with or without a port; one of version 6 with a port is in brackets (RFC 7239, 6).
fn node_address(text: &str) -> Option<IpAddr> {
    let bare = text.parse().ok();
    let address = bare.or_else(|| text.parse::<std::net::SocketAddr>().ok().map(|socket| socket.ip()));
    let bracketed = || text.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    address.or_else(bracketed).map(|address: IpAddr| address.to_canonical())
}

/// The proxies that are trusted to name their clients.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedProxies {
    networks: Vec<ProxyNetwork>,
    header: ForwardingHeader,
}

impl TrustedProxies {
    /// Trusts the proxies of these networks, which write this header.
    pub const fn new(networks: Vec<ProxyNetwork>, header: ForwardingHeader) -> Self {
        Self { networks, header }
    }

    fn trusts(&self, address: IpAddr) -> bool {
        self.networks.iter().any(|network| network.contains(address))
    }

    /// Returns the address of the client of a request that came from `peer`: the right-most that is not a trusted proxy's. Where the list
    /// ends or says something else than an address, it is the last address before that.
    pub(super) fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut client = peer.to_canonical();
        if self.networks.is_empty() || !self.trusts(client) {
            return client;
        }
        let lines: Vec<&str> =
            headers.get_all(self.header.name()).iter().filter_map(|line| line.to_str().ok()).collect();
        let elements = lines.iter().rev().flat_map(|line| line.rsplit(','));
        for element in elements.take(HOPS_MAX) {
            let Some(address) = self.header.address(element) else { return client };
            client = address;
            if !self.trusts(client) {
                return client;
            }
        }
        client
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(header: ForwardingHeader, peer: &str, lines: &[(&str, &str)]) -> String {
        let networks = ["10.0.0.0/8", "192.0.2.1", "2001:db8::/32"].map(|text| text.parse().unwrap()).to_vec();
        let mut headers = HeaderMap::new();
        for (name, line) in lines {
            headers.append(HeaderName::try_from(*name).unwrap(), line.parse().unwrap());
        }
        TrustedProxies::new(networks, header).client(peer.parse().unwrap(), &headers).to_string()
    }

    #[test]
    fn the_right_most_address_that_is_no_proxys_is_the_clients() {
        let name = "x-forwarded-for";
        for (peer, lines, wanted) in [
            ("203.0.113.9", &[(name, "1.2.3.4")][..], "203.0.113.9"),
            ("10.1.1.1", &[], "10.1.1.1"),
            ("10.1.1.1", &[(name, "1.2.3.4")], "1.2.3.4"),
            ("::ffff:10.1.1.1", &[(name, "1.2.3.4")], "1.2.3.4"),
            ("10.1.1.1", &[(name, "6.6.6.6, 1.2.3.4, 10.2.2.2,192.0.2.1")], "1.2.3.4"),
            ("10.1.1.1", &[(name, "6.6.6.6"), (name, "1.2.3.4, 10.2.2.2")], "1.2.3.4"),
            ("10.1.1.1", &[(name, "10.3.3.3, 10.2.2.2")], "10.3.3.3"),
            ("10.1.1.1", &[(name, "1.2.3.4, unknown, 10.2.2.2")], "10.2.2.2"),
            ("10.1.1.1", &[(name, "1.2.3.4:5678")], "1.2.3.4"),
            ("10.1.1.1", &[(name, "2001:db8::7, 2a00::1")], "2a00::1"),
            ("2001:db8::1", &[(name, "[2a00::1]:99")], "2a00::1"),
            ("10.1.1.1", &[("forwarded", "for=6.6.6.6")], "10.1.1.1"),
        ] {
            assert_eq!(client(ForwardingHeader::XForwardedFor, peer, lines), wanted, "{peer} {lines:?}");
        }
    }

    #[test]
    fn forwarded_is_read_as_rfc_7239_writes_it() {
        for (line, wanted) in [
            ("for=192.0.2.60;proto=http;by=203.0.113.43", "192.0.2.60"),
            ("For=\"[2a00::17]:4711\"", "2a00::17"),
            ("for=6.6.6.6, for=1.2.3.4, proto=https;for=10.9.9.9", "1.2.3.4"),
            ("for=unknown", "10.1.1.1"),
            ("for=1.2.3.4, for=_hidden", "10.1.1.1"),
            ("proto=https", "10.1.1.1"),
        ] {
            let lines = [("x-forwarded-for", "6.6.6.6"), ("forwarded", line)];
            assert_eq!(client(ForwardingHeader::Forwarded, "10.1.1.1", &lines), wanted, "{line}");
        }
    }

    #[test]
    fn networks_are_addresses_with_a_prefix() {
        for text in ["", "10.0.0.0/33", "10.0.0/8", "::/129", "localhost", "10.0.0.0/x", "10.0.0.0/-1"] {
            assert!(text.parse::<ProxyNetwork>().unwrap_err().to_string().contains("10.1.0.0/16"), "{text}");
        }
        assert_eq!("::1".parse::<ProxyNetwork>().unwrap().to_string(), "::1/128");
    }
}
