//! The provider's keys, kept for a while (OpenID Connect Core 1.0, 10.1.1).

use core::time::Duration;

use serde::Deserialize;
use tokio::sync::Mutex;

use super::{
    IdTokenError, OpenIdError,
    discovery::get,
    jws::{PublicKey, SignedToken},
};
use crate::server::outbound::{OutboundClient, OutboundUrl};

/// Keys of a provider that are kept; further ones are left out.
pub const KEYS_MAX: usize = 32;
/// Time for which keys are kept: a key that the provider has withdrawn is used no longer than this.
pub const KEYS_AGE_MAX: Duration = Duration::from_secs(60 * 60);
/// Time for which keys are kept at least, so that tokens with made-up key ids or signatures cause no flood of requests.
pub const KEYS_AGE_MIN: Duration = Duration::from_secs(60);

/// A set of keys as it is published (RFC 7517, 5).
#[derive(Debug, Deserialize)]
struct Document {
    keys: Vec<serde_json::Value>,
}

/// Keys with the time at which they were asked for.
#[derive(Debug)]
struct Fetched {
    keys: Vec<PublicKey>,
    at_ms: u64,
}

impl Fetched {
    fn is_older_than(&self, age: Duration, now_ms: u64) -> bool {
        let age_ms = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
        // A clock that went back makes them old: their age is unknown.
        now_ms.checked_sub(self.at_ms).is_none_or(|since| since >= age_ms)
    }
}

/// The keys of one provider.
#[derive(Debug, Default)]
pub(super) struct KeySet {
    fetched: Mutex<Option<Fetched>>,
}

impl KeySet {
    /// Returns the payload of a token whose signature is the provider's. Keys are asked for when none are kept or they are old, and once more
    /// when none of them has signed the token: the provider may have changed its keys, under other ids, the same, or none. Tokens that come
    /// meanwhile wait for the answer, so that many logins at once ask once. Dropping the future leaves what was kept.
    ///
    /// # Errors
    /// [`OpenIdError::IdToken`], and those of asking for the keys.
    pub(super) async fn verify<'t>(
        &self,
        token: &'t SignedToken<'_>,
        client: &OutboundClient,
        url: &OutboundUrl,
        now_ms: u64,
    ) -> Result<&'t [u8], OpenIdError> {
        let mut fetched = self.fetched.lock().await;
        if let Some(kept) = fetched.as_ref().filter(|kept| !kept.is_older_than(KEYS_AGE_MAX, now_ms)) {
            let known = token.verify(&kept.keys);
            let may_ask = kept.is_older_than(KEYS_AGE_MIN, now_ms);
            let may_be_changed = matches!(known, Err(IdTokenError::UnknownKey { .. } | IdTokenError::Signature));
            if !(may_ask && may_be_changed) {
                return Ok(known?);
            }
        }
        let keys = fetch(client, url).await?;
        let payload = token.verify(&keys);
        *fetched = Some(Fetched { keys, at_ms: now_ms });
        Ok(payload?)
    }
}

async fn fetch(client: &OutboundClient, url: &OutboundUrl) -> Result<Vec<PublicKey>, OpenIdError> {
    let document: Document = get(client, "key set", url.clone(), None).await?;
    Ok(document.keys.into_iter().filter_map(PublicKey::read).take(KEYS_MAX).collect())
}
