//! Log-in with an outside OpenID provider: the browser goes there and comes back.
//!
//! What ties the answer to the browser is kept here, under the browser's cookie, once and for ten minutes. A client's network has so many
//! log-ins that have begun; further ones take the place of its own oldest, and of nobody else's.

use std::{
    collections::{BTreeMap, BTreeSet},
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
    platform::{OsEntropy, Parameters, PlatformError, PublicUrl, network_of},
    server::{
        openid::{Callback, OnDemandProvider, OpenIdLogin},
        rest::PeerAddress,
    },
};

/// Log-ins that have begun and are kept; one more is refused until the oldest ends.
const PENDING_MAX: usize = 10_000;
/// Of them those of one network; its own oldest goes when there is one more.
const PENDING_OF_NETWORK_MAX: usize = 20;
/// Time for which a log-in is kept, in milliseconds.
const PENDING_MS: u64 = 10 * 60 * 1000;

/// A provider that users may log in with.
#[derive(Clone, Debug)]
pub struct LogInProvider {
    name: String,
    segment: String,
    provider: Arc<OnDemandProvider>,
}

impl LogInProvider {
    /// Names a provider for users, and the segment of its path below `/oauth/openid/`: letters, digits, `-` and `_`.
    pub fn new(name: impl Into<String>, segment: impl Into<String>, provider: impl Into<OnDemandProvider>) -> Self {
        Self { name: name.into(), segment: segment.into(), provider: Arc::new(provider.into()) }
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
pub(super) struct PendingLogIns(Mutex<Table>);

#[derive(Default)]
struct Table {
    by_browser: BTreeMap<String, Kept>,
    /// Browsers by the numbers of their log-ins. All are kept for the same time: the first one ends first.
    by_number: BTreeMap<u64, String>,
    /// Numbers of the log-ins of each network.
    by_network: BTreeMap<String, BTreeSet<u64>>,
    next_number: u64,
}

struct Kept {
    number: u64,
    network: String,
    pending: Pending,
}

impl PendingLogIns {
    /// Keeps a log-in of a browser in a network, in place of the one that it has begun before.
    ///
    /// # Errors
    /// [`PlatformError::TooManyAttempts`] when as many as can be kept are.
    fn keep(&self, browser: String, network: String, pending: Pending, now_ms: u64) -> Result<(), PlatformError> {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.remove(&browser);
        table.forget_expired(now_ms);
        if let Some(oldest) = table.oldest_of_full(&network) {
            table.remove(&oldest);
        }
        if table.by_browser.len() >= PENDING_MAX {
            let retry_after_secs = table.first_end_ms().unwrap_or(now_ms).saturating_sub(now_ms).div_ceil(1000).max(1);
            return Err(PlatformError::TooManyAttempts { retry_after_secs });
        }
        table.insert(browser, network, pending);
        Ok(())
    }

    fn take(&self, browser: &str, now_ms: u64) -> Option<Pending> {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.remove(browser).filter(|pending| now_ms < pending.expires_at_ms)
    }
}

impl Table {
    fn insert(&mut self, browser: String, network: String, pending: Pending) {
        let number = self.next_number;
        self.next_number = number.saturating_add(1);
        self.by_number.insert(number, browser.clone());
        self.by_network.entry(network.clone()).or_default().insert(number);
        self.by_browser.insert(browser, Kept { number, network, pending });
    }

    fn remove(&mut self, browser: &str) -> Option<Pending> {
        let Kept { number, network, pending } = self.by_browser.remove(browser)?;
        self.by_number.remove(&number);
        if let Some(numbers) = self.by_network.get_mut(&network) {
            numbers.remove(&number);
            if numbers.is_empty() {
                self.by_network.remove(&network);
            }
        }
        Some(pending)
    }

    /// Time at which the first log-in ends.
    fn first_end_ms(&self) -> Option<u64> {
        let (_, browser) = self.by_number.first_key_value()?;
        Some(self.by_browser.get(browser)?.pending.expires_at_ms)
    }

    fn forget_expired(&mut self, now_ms: u64) {
        while self.first_end_ms().is_some_and(|end| end <= now_ms) {
            let first = self.by_number.first_key_value().map(|(_, browser)| browser.clone());
            first.and_then(|browser| self.remove(&browser));
        }
    }

    /// Returns the browser of the oldest log-in of a network that has as many as it may.
    fn oldest_of_full(&self, network: &str) -> Option<String> {
        let numbers = self.by_network.get(network).filter(|numbers| numbers.len() >= PENDING_OF_NETWORK_MAX)?;
        self.by_number.get(numbers.first()?).cloned()
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
    client: Option<Extension<PeerAddress>>,
    headers: HeaderMap,
) -> Answer {
    let provider = provider(&server, &segment)?;
    let browser = Browser::of(&server, &headers)?.with_client(client.map(|Extension(client)| client));
    let failed = |cause| Failure::Provider { name: provider.name.clone(), cause };
    let login = OpenIdLogin::draw(&OsEntropy).map_err(failed)?;
    let location = provider.provider.provider().await.and_then(|found| found.authorization_url(&login));
    let location = location.map_err(failed)?;
    let parameters = Parameters::read(query.unwrap_or_default().as_bytes());
    let now_ms = server.now_ms();
    let expires_at_ms = now_ms.saturating_add(PENDING_MS);
    let pending = Pending { segment, login, place: return_to(&parameters).to_owned(), expires_at_ms };
    let network = browser.client().map_or_else(|| "unknown".to_owned(), network_of);
    server.pending.keep(browser.form_token(&server), network, pending, now_ms)?;
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
    let found = provider.provider.provider().await.map_err(failed)?;
    let identity = found.exchange(&pending.login, &callback).await.map_err(failed)?;
    let email = identity.email.as_deref().filter(|_| identity.email_verified);
    let user =
        server.platform.users().of_client(browser.client()).by_identity(&identity.issuer, &identity.subject, email)?;
    signed_in(&server, &browser, user.id(), &pending.place)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Begins a log-in of a browser; returns how long it is to wait where that is refused.
    fn begin(log_ins: &PendingLogIns, browser: &str, network: &str, now_ms: u64) -> Result<(), u64> {
        let login = OpenIdLogin::draw(&OsEntropy).unwrap();
        let (segment, place) = ("corp".to_owned(), browser.to_owned());
        let pending = Pending { segment, login, place, expires_at_ms: now_ms + PENDING_MS };
        match log_ins.keep(browser.to_owned(), network.to_owned(), pending, now_ms) {
            Ok(()) => Ok(()),
            Err(PlatformError::TooManyAttempts { retry_after_secs }) => Err(retry_after_secs),
            Err(other) => panic!("{other:?}"),
        }
    }

    /// What is in the three tables.
    fn kept(log_ins: &PendingLogIns) -> [usize; 3] {
        let table = log_ins.0.lock().unwrap();
        let numbers = table.by_network.values().map(BTreeSet::len).sum();
        assert!(table.by_network.values().all(|numbers| !numbers.is_empty()));
        [table.by_browser.len(), table.by_number.len(), numbers]
    }

    #[test]
    fn a_network_past_its_bound_loses_its_own_oldest_log_in() {
        let log_ins = PendingLogIns::default();
        begin(&log_ins, "ann", "192.0.2.1", 0).unwrap();
        for number in 0..PENDING_OF_NETWORK_MAX {
            begin(&log_ins, &format!("eve {number}"), "192.0.2.9", 1).unwrap();
        }
        assert_eq!(kept(&log_ins), [PENDING_OF_NETWORK_MAX + 1; 3]);
        // A browser that begins anew takes its own place, and is then the newest.
        begin(&log_ins, "eve 0", "192.0.2.9", 2).unwrap();
        assert_eq!(kept(&log_ins), [PENDING_OF_NETWORK_MAX + 1; 3]);
        begin(&log_ins, "eve", "192.0.2.9", 2).unwrap();
        assert_eq!(kept(&log_ins), [PENDING_OF_NETWORK_MAX + 1; 3]);
        assert!(log_ins.take("eve 1", 3).is_none(), "the oldest of its network");
        for browser in ["ann", "eve", "eve 0", "eve 2"] {
            let taken = log_ins.take(browser, 3).map(|pending| pending.place);
            assert_eq!(taken.as_deref(), Some(browser));
            assert!(log_ins.take(browser, 3).is_none(), "{browser}: once");
        }
        assert_eq!(kept(&log_ins), [PENDING_OF_NETWORK_MAX - 3; 3]);
    }

    #[test]
    fn past_the_bound_of_all_networks_a_log_in_is_refused_until_the_oldest_ends() {
        let log_ins = PendingLogIns::default();
        for number in 0..PENDING_MAX {
            let now_ms = u64::from(number > 0) * 1_500;
            begin(&log_ins, &format!("browser {number}"), &format!("network {number}"), now_ms).unwrap();
        }
        assert_eq!(begin(&log_ins, "ann", "192.0.2.1", 1_500), Err(599));
        assert_eq!(begin(&log_ins, "browser 1", "network 1", 1_500), Ok(()), "in place of its own");
        assert_eq!(kept(&log_ins), [PENDING_MAX; 3]);
        assert_eq!(begin(&log_ins, "ann", "192.0.2.1", PENDING_MS), Ok(()), "the first has ended");
        assert!(log_ins.take("browser 0", 0).is_none());
        assert_eq!(begin(&log_ins, "bob", "192.0.2.2", PENDING_MS + 1_500), Ok(()));
        assert_eq!(kept(&log_ins), [2; 3], "ann's and bob's: what has ended is forgotten");
    }
}
