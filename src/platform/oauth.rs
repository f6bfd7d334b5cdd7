//! The OAuth 2.0 authorization server: clients, authorization, tokens. Its rules, without HTTP.
//!
//! | what | source |
//! |---|---|
//! | authorization code and refresh token grants | RFC 6749 |
//! | proof key for code exchange, S256 alone | RFC 7636 |
//! | revocation, introspection | RFC 7009, RFC 7662 |
//! | client registration | RFC 7591 |
//! | loopback redirects of native apps | RFC 8252 |
//! | issuer identification | RFC 9207 |
//! | refresh token rotation, exact redirect URIs, no downgrade of PKCE | RFC 9700 |
//!
//! One consent of a user makes one [`Grant`]: for a client, in one workspace. Its code, its family of refresh tokens and its access tokens
//! live and die with it, and what ends it by somebody's act revokes the API keys that were made with them; so does the end of its client. A
//! token permits what was granted, as far as the user's role in the workspace caps it at the moment.

mod authorization;
mod client;
mod deleted_client;
mod ended_token;
mod ending;
mod error;
mod exchange;
mod grant;
mod parameters;
mod pkce;
mod redirect_uri;
mod registration;
#[cfg(test)]
mod tests;
mod tokens;

pub use self::{
    authorization::{AuthorizationRefusal, AuthorizationRequest, Authorized, ShownRefusal},
    client::{ClientCredentials, OAuthClient},
    error::{OAuthError, OAuthErrorCode},
    exchange::TokenResponse,
    grant::{AccessToken, Grant},
    parameters::Parameters,
    registration::ClientRegistration,
    tokens::Introspection,
};
pub(super) use self::{
    deleted_client::DeletedClient,
    ended_token::{EndedToken, keep_own as keep_own_tokens},
    ending::end_all_of_user,
    grant::{delete_of_user, delete_of_workspace},
};

use std::net::IpAddr;

use super::{PlatformError, context::Context, records::PageRequest, scope::ScopeSet};

/// Rules of the authorization server.
#[derive(Clone, Copy, Debug)]
pub struct OAuth<'a> {
    pub(super) context: &'a Context,
    /// Address that the request came from.
    pub(super) client_address: Option<IpAddr>,
}

impl OAuth<'_> {
    /// Returns the rules as somebody at an address asks by them: it is in the lines of the audit log.
    #[must_use]
    pub const fn of_address(self, client_address: Option<IpAddr>) -> Self {
        Self { client_address, ..self }
    }

    /// Deletes grants and access tokens, ended ones too, that have expired, and revokes API keys of clients that are deleted, at most as many of
    /// each as `request` takes; returns how many. None of them has an effect before either.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the store fails.
    pub fn forget_expired(&self, request: &PageRequest) -> Result<usize, PlatformError> {
        self.context.records.unit(|unit| {
            let expired = grant::forget_expired(unit, request)?;
            let ended = ended_token::forget_expired(unit, request)?;
            Ok(expired.saturating_add(ended).saturating_add(deleted_client::go_on(unit, request)?))
        })
    }
}

/// Returns scopes as OAuth writes them: names with spaces between them (RFC 6749, 3.3).
pub fn scope_text(scopes: &ScopeSet) -> String {
    scopes.iter().map(super::Scope::name).collect::<Vec<_>>().join(" ")
}
