//! The authorization server over HTTP: its endpoints, and the pages on which users sign up, log in and consent.
//!
//! | path | what | source |
//! |---|---|---|
//! | `/oauth/authorize` | login and consent, then a redirect with the code | RFC 6749, 3.1 |
//! | `/oauth/token` | codes and refresh tokens for access tokens | RFC 6749, 3.2 |
//! | `/oauth/revoke`, `/oauth/introspect` | revocation, introspection | RFC 7009, RFC 7662 |
//! | `/oauth/register` | registration of clients | RFC 7591 |
//! | `/.well-known/oauth-authorization-server` | metadata | RFC 8414 |
//! | `/oauth/login`, `/oauth/logout`, `/oauth/account` | sessions of browsers, change of the password | |
//! | `/oauth/account/api-keys` | an API key for one's programs | |
//! | `/oauth/signup`, `/oauth/confirm`, `/oauth/forgot`, `/oauth/reset` | users | |
//! | `/oauth/invitations/accept` | an invitation to a workspace | |
//! | `/oauth/openid/...` | log-in with an outside provider | OpenID Connect Core 1.0, 3.1 |
//! | `/oauth/mailbox` | the mails of a development service | |
//!
//! All but the metadata answer below `/v1` too. Nothing is wrapped in the service's envelope. The pages need no script and have none; every
//! form carries a token that is tied to the browser's cookie. The rules are the platform's; hashing runs on threads of its own.

mod account;
mod api_keys;
mod authorize;
mod browser;
mod client_credentials;
mod discovery;
mod failure;
mod form;
mod invitation;
mod mailbox;
mod openid;
mod page;
mod register;
mod sign_up;
#[cfg(test)]
mod tests;
mod token;

use std::sync::Arc;

use axum::{
    Router,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use tokio::sync::Semaphore;

pub use self::openid::LogInProvider;
use self::openid::PendingLogIns;
pub(in crate::server) use self::register::{is_registration, resume_registration};
use crate::platform::{Mailbox, Platform, PlatformError, PublicUrl};

/// Passwords that are hashed at a time: each takes a core for tens of milliseconds and 19 MiB.
const HASHED_AT_ONCE: usize = 4;

/// Another way to log in, which the login page links to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogInLink {
    /// Name of the provider, as users know it.
    pub name: String,
    /// Path on this server that begins the log-in; it gets the parameter `return_to`.
    pub path: String,
}

/// The authorization server of a platform.
#[derive(Clone)]
pub struct AuthorizationServer {
    platform: Arc<Platform>,
    url: PublicUrl,
    mailbox: Option<Arc<Mailbox>>,
    links: Arc<[LogInLink]>,
    providers: Arc<[LogInProvider]>,
    pending: Arc<PendingLogIns>,
    hashing: Arc<Semaphore>,
}

impl core::fmt::Debug for AuthorizationServer {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("AuthorizationServer")
            .field("url", &self.url)
            .field("links", &self.links)
            .finish_non_exhaustive()
    }
}

impl AuthorizationServer {
    /// Creates the server that users reach under `url`, its issuer.
    pub fn new(platform: Arc<Platform>, url: PublicUrl) -> Self {
        let hashing = Arc::new(Semaphore::new(HASHED_AT_ONCE));
        Self {
            platform,
            url,
            mailbox: None,
            links: Arc::new([]),
            providers: Arc::new([]),
            pending: Arc::default(),
            hashing,
        }
    }

    /// Delivers mails into a mailbox and shows it at `/oauth/mailbox`, to everybody: for development alone.
    #[must_use]
    pub fn with_mailbox(self, mailbox: Arc<Mailbox>) -> Self {
        Self { mailbox: Some(mailbox), ..self }
    }

    /// Adds other ways to log in to the login page.
    #[must_use]
    pub fn with_log_in_links(self, links: Vec<LogInLink>) -> Self {
        Self { links: links.into(), ..self }
    }

    /// Lets users log in with outside providers, which the login page links to.
    #[must_use]
    pub fn with_providers(self, providers: Vec<LogInProvider>) -> Self {
        let link = |provider: &LogInProvider| LogInLink { name: provider.name().to_owned(), path: provider.path() };
        let links = self.links.iter().cloned().chain(providers.iter().map(link)).collect();
        Self { links, providers: providers.into(), ..self }
    }

    /// Returns the router of all paths, for a server to mount.
    pub fn router(self) -> Router {
        Router::new()
            .nest("/oauth", endpoints())
            .nest("/v1/oauth", endpoints())
            .route("/.well-known/oauth-authorization-server", get(discovery::metadata))
            .fallback(page::not_found)
            .with_state(self)
    }

    /// Time of the platform, in milliseconds since the Unix epoch.
    fn now_ms(&self) -> u64 {
        self.platform.records().clock().now_ms()
    }

    /// Runs what hashes a password on a thread of its own, after those that came before.
    async fn hash<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Platform) -> Result<T, PlatformError> + Send + 'static,
    ) -> Result<T, PlatformError> {
        let _turn = self.hashing.acquire().await.map_err(PlatformError::internal)?;
        let platform = Arc::clone(&self.platform);
        tokio::task::spawn_blocking(move || work(&platform)).await.map_err(PlatformError::internal)?
    }
}

/// Returns the page that refuses a form of a client that has sent too many.
pub(in crate::server) fn too_many_forms(retry_after_secs: u64) -> Response {
    failure::Failure::Platform(PlatformError::TooManyAttempts { retry_after_secs }).into_response()
}

fn endpoints() -> Router<AuthorizationServer> {
    Router::new()
        .route("/authorize", get(authorize::show).post(authorize::decide))
        .route("/token", post(token::token).fallback(token::only_post))
        .route("/revoke", post(token::revoke).fallback(token::only_post))
        .route("/introspect", post(token::introspect).fallback(token::only_post))
        .route("/register", post(register::register).fallback(token::only_post))
        .route("/login", get(account::show_log_in).post(account::log_in))
        .route("/logout", get(account::show_log_out).post(account::log_out))
        .route("/account", get(account::show).post(account::change_password))
        .route("/account/api-keys", post(api_keys::create))
        .route("/signup", get(sign_up::show).post(sign_up::sign_up))
        .route("/confirm", get(sign_up::show_confirm).post(sign_up::confirm))
        .route("/forgot", get(sign_up::show_forgot).post(sign_up::forgot))
        .route("/reset", get(sign_up::show_reset).post(sign_up::reset))
        .route("/invitations/accept", get(invitation::show).post(invitation::accept))
        .route("/openid/{segment}", get(openid::begin))
        .route("/openid/{segment}/callback", get(openid::end))
        .route("/mailbox", get(mailbox::show))
        .route("/style.css", get(style))
}

async fn style() -> impl IntoResponse {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/css; charset=utf-8")),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (header::CACHE_CONTROL, HeaderValue::from_static("max-age=3600")),
    ];
    (StatusCode::OK, headers, include_str!("oauth/style.css"))
}
