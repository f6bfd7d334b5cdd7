//! Webhook subscriptions: where events of a workspace are delivered, and what signs the deliveries.
//!
//! A subscription's secret is sealed in the vault, and shown when it is made and when it is rotated. Every delivery carries two signatures
//! of the exact bytes sent: `Service-Signature`, and that of Standard Webhooks (its own file, `signature`).

mod event;
pub(super) mod signature;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

pub use self::event::WebhookEvent;
use self::signature::SignedDelivery;
use super::{
    PlatformError,
    blockchains::{Blockchains, Hosted},
    context::{Context, audit},
    entropy::random_bytes,
    plan::check_quota,
    principal::Principal,
    records::{Collection, Index, Reach, Record, SortKey, Stored, Unit},
    vault::Purpose,
};

/// Subscriptions of a workspace.
const WEBHOOKS_MAX: u64 = 100;
/// Random bytes of a drawn secret.
const SECRET_BYTES: usize = 24;

/// A subscription. Its secret is in the vault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Webhook {
    /// Receiver of the deliveries.
    pub url: String,
    /// What is delivered.
    pub events: Vec<WebhookEvent>,
    /// Whether anything is.
    pub is_enabled: bool,
    /// The one chain whose events are delivered; those of all without.
    pub blockchain_id: Option<String>,
}

impl Webhook {
    /// Subscriptions of a workspace by receiver.
    pub(super) const BY_URL: Index<Self> = Index::ordered(
        "name",
        Reach::Owner,
        |_| Some(SortKey::new()),
        |webhook| SortKey::new().text(&webhook.value.url),
    );
    /// Subscriptions of a workspace that are enabled.
    pub const ENABLED: Index<Self> = Index::ordered(
        "enabled",
        Reach::Owner,
        |webhook| webhook.value.is_enabled.then(SortKey::new),
        |webhook| SortKey::new().number(webhook.created_at_ms()),
    );
}

impl Record for Webhook {
    const KIND: &'static str = "webhook";
    const VERSION: u16 = 1;
    const INDICES: &'static [Index<Self>] = &[Self::ENABLED, Self::BY_URL, Index::UPDATED];
}

/// Changes of a subscription; what is `None` stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WebhookChange {
    /// Another receiver.
    pub url: Option<String>,
    /// Other events.
    pub events: Option<Vec<WebhookEvent>>,
    /// Whether anything is delivered.
    pub is_enabled: Option<bool>,
    /// Another chain whose events alone are delivered, or those of all.
    pub blockchain_id: Option<Option<String>>,
}

/// Rules of webhooks.
#[derive(Clone, Copy, Debug)]
pub struct Webhooks<'a> {
    pub(super) context: &'a Context,
    pub(super) hosted: &'a Hosted,
}

impl<'a> Webhooks<'a> {
    /// The subscriptions, for reading; [`Index::CREATED`] lists those of a workspace.
    pub fn all(&self) -> Collection<'a, Webhook> {
        self.context.records.of()
    }

    /// Returns a subscription that takes deliveries.
    ///
    /// # Errors
    /// [`PlatformError::NotFound`]; [`PlatformError::Conflict`] for one that is disabled.
    pub fn require_enabled(&self, principal: &Principal, id: &str) -> Result<Stored<Webhook>, PlatformError> {
        let stored = self.all().require(&principal.owner(), id)?;
        if !stored.value.is_enabled {
            let message = format!("webhook {id} is disabled, so nothing is sent to it: PATCH enabled to true first");
            return Err(PlatformError::Conflict { message });
        }
        Ok(stored)
    }

    /// Draws a secret: `whsec_` and base64, as Standard Webhooks writes them.
    ///
    /// # Errors
    /// [`PlatformError::Entropy`].
    pub fn draw_secret(&self) -> Result<Zeroizing<String>, PlatformError> {
        let bytes = Zeroizing::new(random_bytes::<SECRET_BYTES>(&*self.context.entropy)?);
        Ok(Zeroizing::new(signature::secret_text(&*bytes)))
    }

    /// Makes a subscription under an id that was drawn for the request, and seals its secret.
    ///
    /// # Errors
    /// As [`Blockchains::readable`] for the chain that it names; [`PlatformError::Conflict`] past 100 of a workspace.
    pub fn create(
        &self,
        unit: &mut Unit<'_>,
        principal: &Principal,
        id: &str,
        webhook: Webhook,
        secret: &str,
    ) -> Result<Stored<Webhook>, PlatformError> {
        let owner = principal.owner();
        self.check_chain(principal, webhook.blockchain_id.as_deref())?;
        check_quota("webhooks", unit.of::<Webhook>().count(&Index::CREATED, &owner, &SortKey::new())?, WEBHOOKS_MAX)?;
        self.context.vault.seal(unit, &owner, id, Purpose::WebhookSecret, secret.as_bytes())?;
        let stored = unit.insert(&owner, id, webhook)?;
        audit(unit, principal, "webhook.create", format!("webhook {id}"))?;
        Ok(stored)
    }

    /// Changes a subscription.
    ///
    /// # Errors
    /// [`PlatformError::NotFound`], and as [`Webhooks::create`] for its chain and for another one.
    pub fn update(
        &self,
        unit: &mut Unit<'_>,
        principal: &Principal,
        id: &str,
        change: WebhookChange,
    ) -> Result<Stored<Webhook>, PlatformError> {
        let mut stored = unit.of::<Webhook>().require(&principal.owner(), id)?;
        self.check_told(principal, &stored.value)?;
        let WebhookChange { url, events, is_enabled, blockchain_id } = change;
        self.check_chain(principal, blockchain_id.as_ref().and_then(Option::as_deref))?;
        stored.value.url = url.unwrap_or(stored.value.url);
        stored.value.events = events.unwrap_or(stored.value.events);
        stored.value.is_enabled = is_enabled.unwrap_or(stored.value.is_enabled);
        stored.value.blockchain_id = blockchain_id.unwrap_or(stored.value.blockchain_id);
        let stored = unit.replace(&stored)?;
        audit(unit, principal, "webhook.update", format!("webhook {id}"))?;
        Ok(stored)
    }

    /// Replaces the secret of a subscription by a drawn one, which is returned with it. The former one is gone: the new one alone signs
    /// whatever is sent from then on.
    ///
    /// # Errors
    /// [`PlatformError::NotFound`], [`PlatformError::Entropy`]; [`PlatformError::Forbidden`] where its chain is not the principal's to read.
    pub fn rotate_secret(
        &self,
        unit: &mut Unit<'_>,
        principal: &Principal,
        id: &str,
    ) -> Result<(Zeroizing<String>, Stored<Webhook>), PlatformError> {
        let secret = self.draw_secret()?;
        let stored = unit.of::<Webhook>().require(&principal.owner(), id)?;
        self.check_told(principal, &stored.value)?;
        let vault = &self.context.vault;
        vault.discard(unit, stored.owner(), id)?;
        vault.seal(unit, stored.owner(), id, Purpose::WebhookSecret, secret.as_bytes())?;
        let stored = unit.replace(&stored)?;
        audit(unit, principal, "webhook.rotate-secret", format!("webhook {id}"))?;
        Ok((secret, stored))
    }

    /// Deletes a subscription and its secret.
    ///
    /// # Errors
    /// [`PlatformError::NotFound`].
    pub fn delete(&self, unit: &mut Unit<'_>, principal: &Principal, id: &str) -> Result<(), PlatformError> {
        let stored = unit.of::<Webhook>().require(&principal.owner(), id)?;
        self.context.vault.discard(unit, stored.owner(), id)?;
        unit.delete(&stored)?;
        audit(unit, principal, "webhook.delete", format!("webhook {id}"))
    }

    /// Signs a delivery of an event to a subscription, at this moment. `body` is the exact bytes to send; `event_id` is the same over all
    /// attempts.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the secret can't be opened.
    pub fn sign(
        &self,
        webhook: &Stored<Webhook>,
        event_id: String,
        body: Vec<u8>,
    ) -> Result<SignedDelivery, PlatformError> {
        let context = self.context;
        let secret = context.vault.open(&context.records, webhook.owner(), webhook.id(), Purpose::WebhookSecret)?;
        let now_secs = context.records.clock().now_ms() / 1_000;
        Ok(SignedDelivery::new(event_id, now_secs, secret.bytes(), body))
    }

    /// Checks that a caller may know what a subscription tells: who is no participant of its chain would have it sent elsewhere.
    fn check_told(&self, principal: &Principal, webhook: &Webhook) -> Result<(), PlatformError> {
        let chain = webhook.blockchain_id.as_deref();
        match self.check_chain(principal, chain) {
            // Of a deleted chain nothing is told. One that is there is not found by who may not know of it.
            Err(PlatformError::NotFound { .. }) if chain.is_some_and(|id| self.hosted.owner(id).is_none()) => Ok(()),
            other => other,
        }
    }

    /// Refuses a chain whose events the principal may not read.
    fn check_chain(&self, principal: &Principal, chain: Option<&str>) -> Result<(), PlatformError> {
        let Some(chain) = chain else { return Ok(()) };
        let blockchains = Blockchains { context: self.context, hosted: self.hosted };
        blockchains.readable_record(principal, chain).map(drop)
    }
}
