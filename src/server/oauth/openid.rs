//! Log-in with an outside OpenID provider: the browser goes there and comes back.
//!
//! What ties the answer to the browser is kept here, under the browser's cookie, once and for ten minutes.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

use axum::{
    Extension,
    extract::{Path, RawQuery, State},
    http::HeaderMap,
};

use super::{
    AuthorizationServer,
    account::{return_to, signed_in},
    browser::Browser,
    failure::{Answer, Failure},
    page::redirect_with,
};
use crate::{
    platform::{OsEntropy, Parameters, PublicUrl},
    server::{
        openid::{Callback, OpenIdLogin, OpenIdProvider},
        rest::PeerAddress,
    },
};

/// Log-ins that have begun and are kept; the oldest goes when there is one more.
const PENDING_MAX: usize = 10_000;
/// Time for which a log-in is kept, in milliseconds.
const PENDING_MS: u64 = 10 * 60 * 1000;

/// A provider that users may log in with.
#[derive(Clone, Debug)]
pub struct LogInProvider {
    name: String,
    segment: String,
    provider: Arc<OpenIdProvider>,
}

impl LogInProvider {
    /// Names a provider for users, and the segment of its path below `/oauth/openid/`: letters, digits, `-` and `_`.
    pub fn new(name: impl Into<String>, segment: impl Into<String>, provider: OpenIdProvider) -> Self {
        Self { name: name.into(), segment: segment.into(), provider: Arc::new(provider) }
    }

    /// Returns the redirect URI with which this service is to be registered at a provider with this segment.
    pub fn redirect_uri(url: &PublicUrl, segment: &str) -> String {
        url.link(&format!("/oauth/openid/{segment}/callback"))
    }

    /// Name of the provider, as users know it.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Path that begins a log-in.
    pub(super) fn path(&self) -> String {
        format!("/oauth/openid/{}", self.segment)
    }
}

/// A log-in that has begun.
struct Pending {
    segment: String,
    login: OpenIdLogin,
    place: String,
    expires_at_ms: u64,
}

/// Log-ins that have begun, by the browser's form token: one each.
#[derive(Default)]
pub(super) struct PendingLogIns(Mutex<(BTreeMap<String, Pending>, VecDeque<String>)>);

impl PendingLogIns {
    fn keep(&self, browser: String, pending: Pending) {
        let mut guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (by_browser, order) = &mut *guard;
        order.retain(|kept| *kept != browser);
        if order.len() >= PENDING_MAX
            && let Some(oldest) = order.pop_front()
        {
            by_browser.remove(&oldest);
        }
        order.push_back(browser.clone());
        by_browser.insert(browser, pending);
    }

    fn take(&self, browser: &str, now_ms: u64) -> Option<Pending> {
        let mut guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (by_browser, order) = &mut *guard;
        order.retain(|kept| kept != browser);
        by_browser.remove(browser).filter(|pending| now_ms < pending.expires_at_ms)
    }
}

fn provider<'a>(server: &'a AuthorizationServer, segment: &str) -> Result<&'a LogInProvider, Failure> {
    server.providers.iter().find(|provider| provider.segment == segment).ok_or(Failure::NoPage)
}

/// `GET /oauth/openid/{segment}`: sends the browser to the provider.
pub(super) async fn begin(
    State(server): State<AuthorizationServer>,
    Path(segment): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Answer {
    let provider = provider(&server, &segment)?;
    let browser = Browser::of(&server, &headers)?;
    let failed = |cause| Failure::Provider { name: provider.name.clone(), cause };
    let login = OpenIdLogin::draw(&OsEntropy).map_err(failed)?;
    let location = provider.provider.authorization_url(&login).map_err(failed)?;
    let parameters = Parameters::read(query.unwrap_or_default().as_bytes());
    let expires_at_ms = server.now_ms().saturating_add(PENDING_MS);
    let pending = Pending { segment, login, place: return_to(&parameters).to_owned(), expires_at_ms };
    server.pending.keep(browser.form_token(&server), pending);
    Ok(redirect_with(&location, browser.new_cookie(&server)))
}

/// `GET /oauth/openid/{segment}/callback`: where the provider sends the browser back to.
pub(super) async fn end(
    State(server): State<AuthorizationServer>,
    Path(segment): Path<String>,
    RawQuery(query): RawQuery,
    client: Option<Extension<PeerAddress>>,
    headers: HeaderMap,
) -> Answer {
    let provider = provider(&server, &segment)?;
    let browser = Browser::of(&server, &headers)?.with_client(client.map(|Extension(client)| client));
    let pending = server.pending.take(&browser.form_token(&server), server.now_ms());
    let pending = pending.filter(|pending| pending.segment == segment).ok_or(Failure::ForeignForm)?;
    let callback = Callback::from_query(&query.unwrap_or_default());
    let failed = |cause| Failure::Provider { name: provider.name.clone(), cause };
    let identity = provider.provider.exchange(&pending.login, &callback).await.map_err(failed)?;
    let email = identity.email.as_deref().filter(|_| identity.email_verified);
    let user =
        server.platform.users().of_client(browser.client()).by_identity(&identity.issuer, &identity.subject, email)?;
    signed_in(&server, &browser, user.id(), &pending.place)
}
