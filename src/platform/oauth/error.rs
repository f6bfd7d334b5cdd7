//! Errors of the authorization server, with the codes of the standards.

use crate::platform::PlatformError;

/// An `error` of OAuth 2.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OAuthErrorCode {
    /// RFC 6749, 4.1.2.1 and 5.2.
    InvalidRequest,
    /// RFC 6749, 5.2.
    InvalidClient,
    /// RFC 6749, 5.2.
    InvalidGrant,
    /// RFC 6749, 4.1.2.1 and 5.2.
    UnauthorizedClient,
    /// RFC 6749, 5.2.
    UnsupportedGrantType,
    /// RFC 6749, 4.1.2.1.
    UnsupportedResponseType,
    /// RFC 6749, 4.1.2.1 and 5.2.
    InvalidScope,
    /// RFC 6749, 4.1.2.1.
    AccessDenied,
    /// RFC 6749, 4.1.2.1.
    ServerError,
    /// RFC 6749, 4.1.2.1.
    TemporarilyUnavailable,
    /// RFC 7591, 3.2.2.
    InvalidRedirectUri,
    /// RFC 7591, 3.2.2.
    InvalidClientMetadata,
}

impl OAuthErrorCode {
    /// Returns the code as it is sent.
    pub const fn name(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid_request",
            Self::InvalidClient => "invalid_client",
            Self::InvalidGrant => "invalid_grant",
            Self::UnauthorizedClient => "unauthorized_client",
            Self::UnsupportedGrantType => "unsupported_grant_type",
            Self::UnsupportedResponseType => "unsupported_response_type",
            Self::InvalidScope => "invalid_scope",
            Self::AccessDenied => "access_denied",
            Self::ServerError => "server_error",
            Self::TemporarilyUnavailable => "temporarily_unavailable",
            Self::InvalidRedirectUri => "invalid_redirect_uri",
            Self::InvalidClientMetadata => "invalid_client_metadata",
        }
    }
}

/// An error of the authorization server with its description, which has no secret and only the characters of RFC 6749, 5.2.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {description}", code.name())]
pub struct OAuthError {
    /// The `error`.
    pub code: OAuthErrorCode,
    /// The `error_description`.
    pub description: String,
}

impl OAuthError {
    /// Creates an error. What a description may not have (RFC 6749, 5.2: other than printable ASCII, `"` and `\`) becomes `'`.
    pub fn new(code: OAuthErrorCode, description: impl AsRef<str>) -> Self {
        let allowed = |c: char| matches!(c, ' '..='~') && !matches!(c, '"' | '\\');
        let description = description.as_ref().chars().map(|c| if allowed(c) { c } else { '\'' }).collect();
        Self { code, description }
    }
}

impl From<PlatformError> for OAuthError {
    fn from(cause: PlatformError) -> Self {
        let code = match cause {
            PlatformError::StorageFull { .. } => OAuthErrorCode::TemporarilyUnavailable,
            _ => OAuthErrorCode::ServerError,
        };
        Self::new(code, cause.to_string())
    }
}

impl From<crate::platform::records::RecordError> for OAuthError {
    fn from(cause: crate::platform::records::RecordError) -> Self {
        PlatformError::from(cause).into()
    }
}

impl From<crate::platform::EntropyError> for OAuthError {
    fn from(cause: crate::platform::EntropyError) -> Self {
        PlatformError::from(cause).into()
    }
}

#[cfg(test)]
mod unit_tests {
    use super::*;

    #[test]
    fn a_description_has_the_characters_of_the_standard() {
        let error = OAuthError::new(OAuthErrorCode::InvalidScope, "no \"scope\" \\ é\n");
        assert_eq!(error.to_string(), "invalid_scope: no 'scope' ' ''");
    }
}
