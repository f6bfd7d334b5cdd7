//! The provider and this service as its client.

use core::{fmt, time::Duration};

use zeroize::Zeroizing;

/// Difference of the two clocks that is tolerated, by default.
const LEEWAY: Duration = Duration::from_secs(60);

/// A provider, and what it knows this service by.
#[derive(Clone)]
pub struct OpenIdConfig {
    pub(super) issuer: String,
    pub(super) client_id: String,
    pub(super) client_secret: Option<Zeroizing<String>>,
    pub(super) redirect_uri: String,
    pub(super) scopes: Vec<String>,
    pub(super) leeway: Duration,
}

impl OpenIdConfig {
    /// Names a provider by its issuer, such as `https://accounts.example.com`, and this service by the client id and redirect URI that it was
    /// registered with there.
    pub fn new(issuer: impl Into<String>, client_id: impl Into<String>, redirect_uri: impl Into<String>) -> Self {
        Self {
            issuer: issuer.into(),
            client_id: client_id.into(),
            client_secret: None,
            redirect_uri: redirect_uri.into(),
            scopes: ["openid", "email", "profile"].map(str::to_owned).into(),
            leeway: LEEWAY,
        }
    }

    /// Sets the client's secret; without one, the client is public and PKCE alone ties code and client together.
    #[must_use]
    pub fn with_client_secret(self, secret: Zeroizing<String>) -> Self {
        Self { client_secret: Some(secret), ..self }
    }

    /// Sets the scopes that are asked for beside `openid`; by default `email` and `profile`.
    #[must_use]
    pub fn with_scopes(self, scopes: impl IntoIterator<Item = String>) -> Self {
        let others = scopes.into_iter().filter(|scope| scope != "openid");
        Self { scopes: std::iter::once("openid".to_owned()).chain(others).collect(), ..self }
    }

    /// Sets the difference of the two clocks that is tolerated.
    #[must_use]
    pub fn with_leeway(self, leeway: Duration) -> Self {
        Self { leeway, ..self }
    }
}

/// Leaves the secret out.
impl fmt::Debug for OpenIdConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { issuer, client_id, client_secret, redirect_uri, scopes, leeway } = self;
        f.debug_struct("OpenIdConfig")
            .field("issuer", issuer)
            .field("client_id", client_id)
            .field("is_confidential", &client_secret.is_some())
            .field("redirect_uri", redirect_uri)
            .field("scopes", scopes)
            .field("leeway", leeway)
            .finish()
    }
}
