//! Redirect URIs: which may be registered, and when a presented one is a registered one.

use url::Url;

use crate::platform::public_url::is_loopback;

/// Bytes of a redirect URI.
const LEN_MAX: usize = 2_000;

/// Checks that a client may register a redirect URI.
///
/// Allowed are `https`, `http` to this machine (RFC 8252, 7.3), and for a public client a private scheme with a dot in it (RFC 8252, 7.1).
///
/// # Errors
/// A text that says what was expected.
pub(super) fn check(uri: &str, is_public: bool) -> Result<(), String> {
    let shown: String = uri.chars().take(200).collect();
    let is_plain = uri.len() <= LEN_MAX && uri.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    let url = Url::parse(uri).ok().filter(|_| is_plain).ok_or_else(|| {
        format!("{shown} is no redirect URI: expected an absolute URI of at most {LEN_MAX} ASCII characters")
    })?;
    if uri.contains('#') {
        return Err(format!("{shown} has a fragment, which a redirect URI may not have (RFC 6749, 3.1.2)"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(format!("{shown} has credentials, which a redirect URI may not have"));
    }
    let is_allowed = match url.scheme() {
        "https" => true,
        "http" => url.host().is_some_and(|host| is_loopback(&host)),
        scheme => is_public && scheme.contains('.'),
    };
    if is_allowed {
        return Ok(());
    }
    Err(format!(
        "{shown} can't be a redirect URI: expected https, http to a loopback address, or for a public client a private scheme with a dot in \
         it, as in com.example.app:/callback"
    ))
}

/// Returns whether a presented URI is the registered one: equal character by character (RFC 9700, 2.1), but for the port of a native
/// client's loopback address (RFC 8252, 7.3; RFC 9700, 4.1.3).
pub(super) fn matches(registered: &str, presented: &str, is_public: bool) -> bool {
    if registered == presented {
        return true;
    }
    is_public
        && match (loopback_without_port(registered), loopback_without_port(presented)) {
            (Some(registered), Some(presented)) => registered == presented,
            _ => false,
        }
}

/// Returns what is before and after the port of an `http` URI to this machine. Nothing is normalised: the texts are compared as they are.
fn loopback_without_port(uri: &str) -> Option<(&str, &str)> {
    const HOSTS: [&str; 3] = ["http://127.0.0.1", "http://[::1]", "http://localhost"];
    let host = HOSTS.into_iter().find(|host| uri.starts_with(host))?;
    let rest = &uri[host.len()..];
    let rest = match rest.strip_prefix(':') {
        Some(port) => {
            let digits = port.bytes().take_while(u8::is_ascii_digit).count();
            port[..digits].parse::<u16>().ok().filter(|port| *port > 0)?;
            &port[digits..]
        }
        None => rest,
    };
    (rest.is_empty() || rest.starts_with(['/', '?'])).then_some((host, rest))
}

/// Returns the response to an authorization request: the redirect URI with parameters after those that it has (RFC 6749, 3.1.2 and 4.1.2).
pub(super) fn with_parameters(uri: &str, parameters: &[(&str, &str)]) -> String {
    let encoded = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(parameters).finish();
    let joint = match uri.split_once('?') {
        None => "?",
        Some((_, query)) if query.is_empty() || query.ends_with('&') => "",
        Some(_) => "&",
    };
    format!("{uri}{joint}{encoded}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_safe_uris_are_registered() {
        for (uri, confidential, public) in [
            ("https://app.example/callback", true, true),
            ("https://app.example/callback?tenant=1", true, true),
            ("https://app.example", true, true),
            ("http://127.0.0.1:4711/cb", true, true),
            ("http://localhost/cb", true, true),
            ("http://[::1]/cb", true, true),
            ("com.example.app:/callback", false, true),
            ("com.example.app://callback", false, true),
            ("myapp://callback", false, false),
            ("http://app.example/callback", false, false),
            ("http://localhost.evil.example/", false, false),
            ("https://app.example/#x", false, false),
            ("https://app.example/#", false, false),
            ("https://user@app.example/", false, false),
            ("https://app.example\\@evil.example/", false, false),
            ("https://app.example/a b", false, false),
            ("https://app.example/é", false, false),
            ("/callback", false, false),
            ("app.example/callback", false, false),
            ("javascript:alert(1)", false, false),
            ("data:text/html,x", false, false),
            ("", false, false),
        ] {
            assert_eq!(check(uri, false).is_ok(), confidential, "{uri}, confidential");
            assert_eq!(check(uri, true).is_ok(), public, "{uri}, public");
        }
        let long = |len: usize| format!("https://app.example/{}", "a".repeat(len - 20));
        assert!(check(&long(LEN_MAX), true).is_ok() && check(&long(LEN_MAX + 1), true).is_err());
    }

    #[test]
    fn a_presented_uri_is_compared_character_by_character() {
        for (registered, presented, confidential, public) in [
            ("https://a.example/cb", "https://a.example/cb", true, true),
            ("https://a.example/cb", "https://a.example/cb/", false, false),
            ("https://a.example/cb", "https://a.example/cb?x=1", false, false),
            ("https://a.example/cb", "https://A.example/cb", false, false),
            ("https://a.example/cb", "https://a.example:443/cb", false, false),
            ("https://a.example/cb", "https://a.example/%63b", false, false),
            ("http://127.0.0.1/cb", "http://127.0.0.1:50000/cb", false, true),
            ("http://127.0.0.1:1/cb", "http://127.0.0.1/cb", false, true),
            ("http://[::1]:1/cb?a", "http://[::1]:2/cb?a", false, true),
            ("http://localhost/cb", "http://localhost:9/cb", false, true),
            ("http://127.0.0.1/cb", "http://localhost:9/cb", false, false),
            ("http://127.0.0.1/cb", "http://127.0.0.1:9/other", false, false),
            ("http://127.0.0.1/cb", "http://127.0.0.1:0/cb", false, false),
            ("http://127.0.0.1/cb", "http://127.0.0.1:99999/cb", false, false),
            ("http://127.0.0.1/cb", "http://127.0.0.1:/cb", false, false),
            ("http://127.0.0.1/cb", "http://127.0.0.1:80@evil.example/cb", false, false),
            ("http://127.0.0.1", "http://127.0.0.1.evil.example", false, false),
            ("http://127.0.0.1/cb", "https://127.0.0.1:9/cb", false, false),
        ] {
            assert_eq!(matches(registered, presented, false), confidential, "{registered} {presented}, confidential");
            assert_eq!(matches(registered, presented, true), public, "{registered} {presented}, public");
        }
    }

    #[test]
    fn a_response_keeps_the_uris_own_query() {
        let with = |uri| with_parameters(uri, &[("code", "c d"), ("state", "&=é")]);
        assert_eq!(with("https://a.example/cb"), "https://a.example/cb?code=c+d&state=%26%3D%C3%A9");
        assert_eq!(with("https://a.example/cb?x=1"), "https://a.example/cb?x=1&code=c+d&state=%26%3D%C3%A9");
        assert_eq!(with("https://a.example/cb?"), "https://a.example/cb?code=c+d&state=%26%3D%C3%A9");
    }
}
