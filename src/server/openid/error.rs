//! Errors of logins at an outside provider.

use crate::{platform::EntropyError, server::outbound::OutboundError};

/// A login at an outside provider that failed. Messages hold no token, code or secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenIdError {
    /// A request to the provider failed.
    #[error("the OpenID provider's {what}: {source}")]
    Request {
        /// What was asked for.
        what: &'static str,
        /// Why it failed.
        #[source]
        source: OutboundError,
    },
    /// A document of the provider is not what its specification asks for.
    #[error("the OpenID provider's {what}: {reason}")]
    Document {
        /// Which document.
        what: &'static str,
        /// What was expected and what came.
        reason: String,
    },
    /// The discovery document is another issuer's (OpenID Connect Discovery 1.0, 4.3).
    #[error(
        "the OpenID provider calls itself {got:?}, but {want:?} was asked; name the issuer exactly as the provider does"
    )]
    Issuer {
        /// Issuer of the configuration.
        want: String,
        /// Issuer of the document.
        got: String,
    },
    /// The provider lacks something that this service needs.
    #[error("the OpenID provider does not support {what}; it offers {offered}")]
    Unsupported {
        /// What is needed.
        what: &'static str,
        /// What it offers.
        offered: String,
    },
    /// The browser came back with another `state` than it was sent with: the answer belongs to another login, or is forged.
    #[error("the answer of the OpenID provider belongs to another login (state)")]
    State,
    /// The browser came back from another issuer (RFC 9207), or from one that does not say so though it promised to.
    #[error("the answer {}; expected one from the OpenID provider {want:?} (iss)", came_from(got))]
    CallbackIssuer {
        /// Issuer that was asked.
        want: String,
        /// Issuer in the answer; empty for none.
        got: String,
    },
    /// The provider or the user refused (OpenID Connect Core 1.0, 3.1.2.6).
    #[error("the OpenID provider refused: {error}{}", of(description))]
    Refused {
        /// Error code, such as `access_denied`.
        error: String,
        /// What the provider says of it.
        description: Option<String>,
    },
    /// The browser came back with neither code nor error.
    #[error("the OpenID provider's answer has no code")]
    NoCode,
    /// The token endpoint refused the code (RFC 6749, 5.2).
    #[error("the OpenID provider refused the code: {error}{}", of(description))]
    Exchange {
        /// Error code, such as `invalid_grant`.
        error: String,
        /// What the provider says of it.
        description: Option<String>,
    },
    /// The ID token is not valid.
    #[error("the ID token is refused: {0}")]
    IdToken(#[from] IdTokenError),
    /// The user information is another subject's (OpenID Connect Core 1.0, 5.3.4).
    #[error("the user information is of another subject than the ID token")]
    Subject,
    /// No random bytes for a login.
    #[error(transparent)]
    Entropy(#[from] EntropyError),
}

impl OpenIdError {
    /// Whether it is of the person or the browser, who refused the login or came back with something else than the provider's answer to it;
    /// otherwise the provider or the way to it failed.
    pub(in crate::server) fn is_of_the_browser(&self) -> bool {
        match self {
            Self::State | Self::CallbackIssuer { .. } | Self::NoCode => true,
            Self::Refused { error, .. } => error == "access_denied",
            _ => false,
        }
    }
}

/// Returns where an answer came from.
fn came_from(issuer: &str) -> String {
    if issuer.is_empty() { "names no issuer".to_owned() } else { format!("came from {issuer:?}") }
}

/// Returns the key of a token whose key is not published.
fn unknown_key(key_id: &Option<String>) -> String {
    match key_id {
        Some(id) => format!("the key {id:?}, which the provider does not publish"),
        None => "a key without an id, and the provider publishes none of its kind".to_owned(),
    }
}

/// Returns whom a token was given to.
fn given_to(party: &Option<String>) -> String {
    match party {
        Some(party) => format!("was given to {party:?}"),
        None => "does not say to whom it was given".to_owned(),
    }
}

/// Returns whom a token is for.
fn audience(receivers: &[String]) -> String {
    if receivers.is_empty() {
        return "nobody".to_owned();
    }
    receivers.iter().map(|receiver| format!("{receiver:?}")).collect::<Vec<_>>().join(", ")
}

fn of(description: &Option<String>) -> String {
    description.as_ref().map(|text| format!(" ({text})")).unwrap_or_default()
}

/// A check of an ID token that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IdTokenError {
    /// It is no JWS in the compact serialisation (RFC 7515, 7.1).
    #[error("it is no signed token: {reason}")]
    Format {
        /// What was expected.
        reason: String,
    },
    /// It is signed by an algorithm that is not accepted.
    #[error("it is signed with {algorithm:?}; expected RS256, ES256 or EdDSA, as the provider announces")]
    Algorithm {
        /// Algorithm of its header.
        algorithm: String,
    },
    /// Its header demands extensions (RFC 7515, 4.1.11).
    #[error("its header demands extensions (crit) that this service does not know")]
    Critical,
    /// The provider publishes no key for it.
    #[error("it is signed by {}", unknown_key(key_id))]
    UnknownKey {
        /// Key id of its header.
        key_id: Option<String>,
    },
    /// The signature is not that of the provider's key.
    #[error("its signature is wrong")]
    Signature,
    /// It was issued by another.
    #[error("it is issued by {got:?}; expected {want:?} (iss)")]
    Issuer {
        /// Issuer that was asked.
        want: String,
        /// Issuer of the token.
        got: String,
    },
    /// It is for others.
    #[error("it is for {}; expected {want:?} (aud)", audience(got))]
    Audience {
        /// Client id of this service.
        want: String,
        /// Audience of the token.
        got: Vec<String>,
    },
    /// It was given to another client.
    #[error("it {}; expected {want:?} (azp)", given_to(got))]
    AuthorizedParty {
        /// Client id of this service.
        want: String,
        /// Client of the token.
        got: Option<String>,
    },
    /// It has expired.
    #[error("it expired at {expired_at}, now is {now} (exp, seconds since 1970)")]
    Expired {
        /// End of its validity.
        expired_at: u64,
        /// Present time.
        now: u64,
    },
    /// It was issued in the future, or long ago.
    #[error("it was issued at {issued_at}, now is {now} (iat, seconds since 1970); are both clocks right?")]
    IssuedAt {
        /// Time of issue.
        issued_at: u64,
        /// Present time.
        now: u64,
    },
    /// It is not valid yet.
    #[error("it is valid from {from}, now is {now} (nbf, seconds since 1970); are both clocks right?")]
    NotYet {
        /// Beginning of its validity.
        from: u64,
        /// Present time.
        now: u64,
    },
    /// It belongs to another login.
    #[error("it belongs to another login (nonce)")]
    Nonce,
    /// It belongs to another access token.
    #[error("it belongs to another access token (at_hash)")]
    AccessTokenHash,
    /// Its subject is empty or too long.
    #[error("its subject has not 1 to 255 characters (sub)")]
    Subject,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said_in_words() {
        let text = |text: &str| text.to_owned();
        let key = |key_id: Option<&str>| IdTokenError::UnknownKey { key_id: key_id.map(text) };
        let party = |got: Option<&str>| IdTokenError::AuthorizedParty { want: text("us"), got: got.map(text) };
        let audience = |got: &[&str]| IdTokenError::Audience {
            want: text("us"),
            got: got.iter().map(|each| text(each)).collect(),
        };
        for (error, expected) in [
            (key(Some("k1")), r#"it is signed by the key "k1", which the provider does not publish"#),
            (key(None), "it is signed by a key without an id, and the provider publishes none of its kind"),
            (party(Some("other")), r#"it was given to "other"; expected "us" (azp)"#),
            (party(None), r#"it does not say to whom it was given; expected "us" (azp)"#),
            (audience(&["a", "b"]), r#"it is for "a", "b"; expected "us" (aud)"#),
            (audience(&[]), r#"it is for nobody; expected "us" (aud)"#),
        ] {
            assert_eq!(error.to_string(), expected);
        }
        let callback = |got: &str| OpenIdError::CallbackIssuer { want: text("op"), got: text(got) };
        assert_eq!(
            callback("other").to_string(),
            r#"the answer came from "other"; expected one from the OpenID provider "op" (iss)"#
        );
        assert_eq!(
            callback("").to_string(),
            r#"the answer names no issuer; expected one from the OpenID provider "op" (iss)"#
        );
    }

    #[test]
    fn who_has_failed_is_told_apart() {
        let refused = |error: &str| OpenIdError::Refused { error: error.to_owned(), description: None };
        assert!(refused("access_denied").is_of_the_browser() && OpenIdError::State.is_of_the_browser());
        assert!(!refused("server_error").is_of_the_browser());
        assert!(!OpenIdError::IdToken(IdTokenError::Signature).is_of_the_browser());
    }
}
