//! Checks of `Host` and `Origin` against DNS rebinding.
//!
//! A rebound name resolves to this machine, but the browser still sends that name as `Host`. So `Host` must
//! be an IP address, a loopback name, or a configured name; and a browser's `Origin` must be configured or the
//! server's own. In development every origin is accepted on loopback, and elsewhere those of loopback names.

use std::net::IpAddr;

use hyper::{
    HeaderMap, StatusCode, Version,
    header::{self, HeaderValue},
};

use super::ServerConfig;

/// Reason for which a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// There are so many `Host`: two, which another server may read otherwise than this one, or none in HTTP/1.1 (RFC 9112, 3.2).
    Hosts(usize),
    /// `Host` is none of the accepted names.
    Host(String),
    /// `Origin` is not accepted.
    Origin(String),
}

impl Refusal {
    pub(super) const fn status(&self) -> StatusCode {
        match self {
            Self::Hosts(_) => StatusCode::BAD_REQUEST,
            Self::Host(_) | Self::Origin(_) => StatusCode::FORBIDDEN,
        }
    }

    /// Returns the message for the client, with the option that accepts the name.
    pub(super) fn message(&self) -> String {
        match self {
            Self::Hosts(count) => format!("a request has one header `Host`, and this one has {count}"),
            Self::Host(host) => format!(
                "host {host:?} is not served here (protection against DNS rebinding): use localhost, an IP address, or start with --allow-host {host}"
            ),
            Self::Origin(origin) => {
                format!("origin {origin:?} may not call this server: start with --allow-origin {origin}")
            }
        }
    }
}

/// Checks that there is one `Host`, or in HTTP/1.0 one at most.
pub(super) fn check_count(version: Version, headers: &HeaderMap) -> Result<(), Refusal> {
    match headers.get_all(header::HOST).iter().count() {
        1 => Ok(()),
        0 if version < Version::HTTP_11 => Ok(()),
        count => Err(Refusal::Hosts(count)),
    }
}

/// Checks the names in `Host` and `Origin`.
pub(super) fn check(headers: &HeaderMap, config: &ServerConfig, on_loopback: bool) -> Result<(), Refusal> {
    if let Some(host) = headers.get(header::HOST) {
        let host = host.to_str().map_err(|_| Refusal::Host("not text".to_owned()))?;
        let name = without_port(host);
        if !is_local_name(name) && !hosts(config).any(|allowed| allowed.eq_ignore_ascii_case(name)) {
            return Err(Refusal::Host(name.to_owned()));
        }
    }
    match headers.get(header::ORIGIN) {
        Some(origin) if !on_loopback || !config.has_open_origins => {
            let text = origin.to_str().unwrap_or("not text");
            if is_origin_accepted(text, headers.get(header::HOST), config) {
                Ok(())
            } else {
                Err(Refusal::Origin(text.to_owned()))
            }
        }
        _ => Ok(()),
    }
}

/// Whether pages of `origin` are accepted wherever the server listens: configured ones, those that it serves itself, which come back to the
/// `host` that they are from, and in development those that this machine serves.
pub(super) fn is_origin_accepted(origin: &str, host: Option<&HeaderValue>, config: &ServerConfig) -> bool {
    is_origin_configured(origin, config)
        || is_own(origin, host)
        || config.has_open_origins && is_loopback_origin(origin)
}

/// Whether a page of `origin` asks the very host that it came from. That the host is served here is checked before.
fn is_own(origin: &str, host: Option<&HeaderValue>) -> bool {
    let own = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    let host = host.and_then(|host| host.to_str().ok());
    own.zip(host).is_some_and(|(own, host)| own.eq_ignore_ascii_case(host))
}

/// Whether the configuration names `origin`.
pub(super) fn is_origin_configured(origin: &str, config: &ServerConfig) -> bool {
    let mut origins = config.allowed_origins.iter().chain(&config.public_origin);
    origins.any(|allowed| allowed == "*" || allowed.eq_ignore_ascii_case(origin))
}

/// Names that are accepted beside those of this machine: configured ones, and that of the public URL.
pub(super) fn hosts(config: &ServerConfig) -> impl Iterator<Item = &String> {
    config.allowed_hosts.iter().chain(&config.public_host)
}

/// Whether `origin` is `http` or `https` of a loopback name or address. A page from there can't be another machine's.
fn is_loopback_origin(origin: &str) -> bool {
    let Some(host) = ["http://", "https://"].iter().find_map(|scheme| {
        origin.get(..scheme.len()).filter(|start| start.eq_ignore_ascii_case(scheme)).map(|_| &origin[scheme.len()..])
    }) else {
        return false;
    };
    let name = without_port(host);
    is_loopback_name(name) || address(name).is_some_and(|address| address.is_loopback())
}

/// Whether `name` names this machine without a look-up: an IP address or a loopback name.
fn is_local_name(name: &str) -> bool {
    address(name).is_some() || is_loopback_name(name)
}

/// Returns the IP address that `name` is; one of version 6 is in brackets.
fn address(name: &str) -> Option<IpAddr> {
    match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
        Some(bare) => bare.parse().ok().map(IpAddr::V6),
        None => name.parse().ok().map(IpAddr::V4),
    }
}

/// Whether `name` is `localhost` or a name below it (RFC 6761, 6.3), of letters, digits, `-` and `.` only.
fn is_loopback_name(name: &str) -> bool {
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.'));
    let name = name.to_ascii_lowercase();
    is_name && (name == "localhost" || name.strip_suffix(".localhost").is_some_and(|rest| !rest.is_empty()))
}

/// Returns `host` of `host:port`. An IPv6 address is in brackets.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if !name.ends_with(':') && port.bytes().all(|digit| digit.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(host: &str, origin: Option<&str>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        headers
    }

    fn config() -> ServerConfig {
        ServerConfig::new(([127, 0, 0, 1], 0).into())
            .with_allowed_hosts(vec!["chain.example".to_owned()])
            .with_allowed_origins(vec!["https://app.example".to_owned()])
    }

    fn development() -> ServerConfig {
        config().with_open_origins()
    }

    #[test]
    fn only_local_and_configured_hosts_are_accepted() {
        for host in ["localhost:8545", "127.0.0.1", "[::1]:8545", "a.localhost", "192.168.1.4:80", "CHAIN.example:8545"]
        {
            assert_eq!(check(&headers(host, None), &config(), true), Ok(()), "{host}");
        }
        for host in [
            "evil.example:8545",
            "localhost.evil.example",
            "xlocalhost",
            "",
            ".localhost",
            "<script>alert(1)</script>.localhost",
            "a b.localhost",
            "a\"b.localhost:8545",
            "a_b.localhost",
            "[127.0.0.1]",
            "::1",
            "localhost:80:81",
        ] {
            assert!(matches!(check(&headers(host, None), &config(), true), Err(Refusal::Host(_))), "{host}");
        }
    }

    #[test]
    fn a_second_host_is_refused_whatever_it_is() {
        for second in ["localhost", "evil.example"] {
            let mut headers = headers("localhost", None);
            headers.append(header::HOST, second.parse().unwrap());
            assert_eq!(check_count(Version::HTTP_11, &headers), Err(Refusal::Hosts(2)), "{second}");
            assert_eq!(check_count(Version::HTTP_10, &headers), Err(Refusal::Hosts(2)), "{second}");
        }
    }

    #[test]
    fn http_1_1_has_a_host_and_http_1_0_may_have_none() {
        for version in [Version::HTTP_10, Version::HTTP_11] {
            assert_eq!(check_count(version, &headers("localhost", None)), Ok(()));
        }
        assert_eq!(check_count(Version::HTTP_11, &HeaderMap::new()), Err(Refusal::Hosts(0)));
        assert_eq!(check_count(Version::HTTP_10, &HeaderMap::new()), Ok(()));
    }

    #[test]
    fn in_development_pages_of_this_machine_are_accepted_off_loopback() {
        for (origin, accepted) in [
            ("http://localhost:3000", true),
            ("https://app.localhost", true),
            ("http://127.0.0.1:5173", true),
            ("http://[::1]:3000", true),
            ("HTTP://LOCALHOST", true),
            ("http://192.168.1.4", false),
            ("http://localhost.evil.example", false),
            ("http://localhost@evil.example", false),
            ("chrome-extension://localhost", false),
            ("null", false),
        ] {
            let asked = headers("192.168.1.5", Some(origin));
            assert_eq!(check(&asked, &development(), false).is_ok(), accepted, "{origin}");
            assert!(check(&asked, &config(), false).is_err() && check(&asked, &config(), true).is_err(), "{origin}");
        }
    }

    #[test]
    fn origins_must_be_configured_but_in_development_on_loopback() {
        let foreign = headers("192.168.1.4", Some("https://evil.example"));
        assert_eq!(check(&foreign, &development(), true), Ok(()));
        for (config, on_loopback) in [(development(), false), (config(), true), (config(), false)] {
            assert!(matches!(check(&foreign, &config, on_loopback), Err(Refusal::Origin(_))));
        }
        assert_eq!(check(&headers("192.168.1.4", Some("https://app.example")), &config(), false), Ok(()));
        for (host, origin, is_own) in [
            ("127.0.0.1:8545", "http://127.0.0.1:8545", true),
            ("localhost:8545", "http://localhost:8545", true),
            ("chain.example", "https://CHAIN.example", true),
            ("127.0.0.1:8545", "http://127.0.0.1:3000", false),
            ("127.0.0.1:8545", "http://localhost:8545", false),
            ("127.0.0.1:8545", "null", false),
        ] {
            assert_eq!(check(&headers(host, Some(origin)), &config(), true).is_ok(), is_own, "{origin}");
        }
    }
}
