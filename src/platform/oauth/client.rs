//! Clients: records of a workspace, found by their id from everywhere.

use core::fmt;

use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;

use super::{OAuth, OAuthError, OAuthErrorCode, redirect_uri};
use crate::platform::{
    PlatformError,
    principal::Subject,
    records::{Collection, Index, Owner, Reach, Record, SortKey, Stored},
    scope::ScopeSet,
};

/// A client of the authorization server (RFC 6749, 2). Its id is the `client_id`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OAuthClient {
    /// Name that users are shown.
    pub name: String,
    /// Where users may be sent back to.
    pub redirect_uris: Vec<String>,
    /// Scopes that it may ask for.
    pub scopes: ScopeSet,
    /// Whether it gets refresh tokens.
    pub refreshes: bool,
    /// Who registered it.
    pub created_by: Subject,
    /// Keyed hash of its secret; a public client has none.
    pub(super) secret_hash: Option<[u8; 32]>,
}

impl OAuthClient {
    pub(in crate::platform) const BY_ID: Index<Self> =
        Index::unique("id", Reach::Service, |client| Some(SortKey::new().text(client.id())));

    /// Clients of a workspace by name.
    pub(in crate::platform) const BY_NAME: Index<Self> = Index::ordered(
        "name",
        Reach::Owner,
        |_| Some(SortKey::new()),
        |client| SortKey::new().text(&client.value.name),
    );

    /// Whether it keeps no secret (RFC 6749, 2.1), so that it needs PKCE.
    pub const fn is_public(&self) -> bool {
        self.secret_hash.is_none()
    }

    /// Returns whether users may be sent to a URI.
    pub(super) fn accepts(&self, uri: &str) -> bool {
        self.redirect_uris.iter().any(|registered| redirect_uri::matches(registered, uri, self.is_public()))
    }
}

impl Record for OAuthClient {
    const KIND: &'static str = "oauth-client";
    const INDICES: &'static [Index<Self>] = &[Self::BY_ID, Self::BY_NAME, Index::UPDATED];
}

/// Leaves the hash out.
impl fmt::Debug for OAuthClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuthClient")
            .field("name", &self.name)
            .field("redirect_uris", &self.redirect_uris)
            .finish_non_exhaustive()
    }
}

/// What a client authenticates itself with (RFC 6749, 2.3).
#[expect(missing_debug_implementations, reason = "it holds a secret")]
#[derive(Clone, Copy)]
pub struct ClientCredentials<'a> {
    /// The `client_id`.
    pub id: &'a str,
    /// The `client_secret`; none of a public client.
    pub secret: Option<&'a str>,
}

impl<'a> OAuth<'a> {
    /// The clients, for reading; [`Index::CREATED`] lists those of a workspace.
    pub fn clients(&self) -> Collection<'a, OAuthClient> {
        self.context.records.of()
    }

    /// Returns the client with this id, whichever workspace it belongs to.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the store fails.
    pub fn client(&self, id: &str) -> Result<Option<Stored<OAuthClient>>, PlatformError> {
        Ok(self.clients().find(&OAuthClient::BY_ID, &Owner::Service, &SortKey::new().text(id))?)
    }

    /// Returns the client that credentials show. A public one shows its id alone, a confidential one its secret too.
    ///
    /// # Errors
    /// `invalid_client`.
    pub fn authenticate_client(&self, credentials: ClientCredentials<'_>) -> Result<Stored<OAuthClient>, OAuthError> {
        let refuse = |message: &str| Err(OAuthError::new(OAuthErrorCode::InvalidClient, message));
        let Some(client) = self.client(credentials.id)? else { return refuse("there is no such client") };
        match (&client.value.secret_hash, credentials.secret) {
            (None, None) => Ok(client),
            (None, Some(_)) => refuse("the client is public: it has no client_secret"),
            (Some(_), None) => refuse("the client is confidential: send its client_secret"),
            (Some(kept), Some(secret)) => {
                let hash = self.context.secret.hash(secret.as_bytes());
                if bool::from(kept.ct_eq(&hash)) { Ok(client) } else { refuse("the client_secret is wrong") }
            }
        }
    }
}
