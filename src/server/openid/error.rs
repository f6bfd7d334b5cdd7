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
    #[error("the answer of the OpenID provider belongs to another login (state); start again")]
    State,
    /// The browser came back from another issuer (RFC 9207), or from one that does not say so though it promised to.
    #[error("the answer came from {got:?}, not from the OpenID provider {want:?} (iss); start again")]
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
    #[error("the OpenID provider's answer has no code; start again")]
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
    #[error("it is signed by the key {key_id:?}, which the provider does not publish")]
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
    #[error("it is for {got:?}; expected {want:?} (aud)")]
    Audience {
        /// Client id of this service.
        want: String,
        /// Audience of the token.
        got: Vec<String>,
    },
    /// It was given to another client.
    #[error("it was given to {got:?}; expected {want:?} (azp)")]
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
