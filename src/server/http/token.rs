//! The token that guards Ethereum JSON-RPC.

use core::fmt;

use hyper::{
    HeaderMap,
    header::{self, HeaderValue},
};

/// A secret that clients must know. Only its hash is kept.
#[derive(Clone)]
pub(super) struct RpcToken(blake3::Hash);

/// A token that HTTP headers can't carry in all places where it is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the RPC token must be {min} to {max} characters of letters, digits and !#$%&'*+-.^_`|~ (RFC 9110, 5.6.2): browsers send it as a WebSocket subprotocol",
    min = TOKEN_LEN_MIN,
    max = TOKEN_LEN_MAX
)]
pub struct InvalidToken;

/// Least characters of a token.
const TOKEN_LEN_MIN: usize = 8;
/// Most characters of a token.
const TOKEN_LEN_MAX: usize = 512;

/// Place of a request's token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Presented {
    /// `Authorization: Bearer`, or none is needed.
    Header,
    /// The first subprotocol, which the handshake must agree on.
    Subprotocol(HeaderValue),
}

impl fmt::Debug for RpcToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RpcToken(..)")
    }
}

impl RpcToken {
    pub(super) fn new(token: &str) -> Result<Self, InvalidToken> {
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if (TOKEN_LEN_MIN..=TOKEN_LEN_MAX).contains(&token.len()) && token.bytes().all(is_token) {
            Ok(Self(blake3::hash(token.as_bytes())))
        } else {
            Err(InvalidToken)
        }
    }

    /// Compares in a time that does not depend on where a guess differs: hashes are compared, and theirs in constant time.
    fn is(&self, guess: &str) -> bool {
        self.0 == blake3::hash(guess.as_bytes())
    }

    /// Returns where a request has the token; `None` without it. A subprotocol counts for a WebSocket only.
    pub(super) fn find(&self, headers: &HeaderMap, is_websocket: bool) -> Option<Presented> {
        if let Some(authorization) = headers.get(header::AUTHORIZATION) {
            let (scheme, token) = authorization.to_str().ok()?.split_once(' ')?;
            return (scheme.eq_ignore_ascii_case("bearer") && self.is(token.trim())).then_some(Presented::Header);
        }
        let protocols = headers.get(header::SEC_WEBSOCKET_PROTOCOL).filter(|_| is_websocket)?;
        let first = protocols.to_str().ok()?.split(',').next()?.trim();
        let agreed = HeaderValue::from_str(first).ok()?;
        self.is(first).then_some(Presented::Subprotocol(agreed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_found_in_either_place() {
        let token = RpcToken::new("open-sesame").unwrap();
        let headers = |name: header::HeaderName, value: &str| HeaderMap::from_iter([(name, value.parse().unwrap())]);
        for (value, found) in [
            ("Bearer open-sesame", true),
            ("bearer open-sesame", true),
            ("Bearer open-sesame2", false),
            ("Bearer ", false),
            ("Basic open-sesame", false),
            ("open-sesame", false),
        ] {
            assert_eq!(token.find(&headers(header::AUTHORIZATION, value), false).is_some(), found, "{value}");
        }
        for (value, found) in [("open-sesame", true), ("open-sesame, other", true), ("other, open-sesame", false)] {
            let headers = headers(header::SEC_WEBSOCKET_PROTOCOL, value);
            let want = found.then(|| Presented::Subprotocol(HeaderValue::from_static("open-sesame")));
            assert_eq!(token.find(&headers, true), want, "{value}");
            assert_eq!(token.find(&headers, false), None, "no WebSocket");
        }
        assert!(token.find(&HeaderMap::new(), true).is_none());
    }

    #[test]
    fn a_token_is_of_header_characters_and_is_never_shown() {
        for (token, is_valid) in [
            ("1234567", false),
            ("12345678", true),
            ("has a space", false),
            ("has,a,comma", false),
            (&"x".repeat(513), false),
        ] {
            assert_eq!(RpcToken::new(token).is_ok(), is_valid, "{token}");
        }
        assert!(!format!("{:?}", RpcToken::new("open-sesame").unwrap()).contains("sesame"));
    }
}
