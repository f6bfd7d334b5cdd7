//! A provider whose description is read when it is needed: one that is down keeps nobody from starting, and is asked again later.

use core::{fmt, time::Duration};
use std::sync::Arc;

use tokio::sync::Mutex;

use super::{OpenIdConfig, OpenIdError, OpenIdProvider, discovery};
use crate::{node::Clock, server::outbound::OutboundClient};

/// Time for which a failed discovery is answered with its error, before the provider is asked again.
pub const DISCOVERY_AGE_MIN: Duration = Duration::from_secs(5);

/// An outside OpenID provider that is discovered when it is needed first, and again after a failure.
pub struct OnDemandProvider(State);

/// A provider that was discovered before, or one that may fail to be.
enum State {
    Discovered(Arc<OpenIdProvider>),
    OnDemand(Box<Discovery>),
}

/// What a provider is discovered with, and the newest outcome.
struct Discovery {
    config: OpenIdConfig,
    client: OutboundClient,
    clock: Arc<dyn Clock>,
    outcome: Mutex<Option<Outcome>>,
}

/// Outcome of a discovery.
enum Outcome {
    Found(Arc<OpenIdProvider>),
    Failed { cause: OpenIdError, at_ms: u64 },
}

impl OnDemandProvider {
    /// Names a provider, without asking it.
    ///
    /// # Errors
    /// [`OpenIdError::Request`] for an issuer that is no URL, or one that `client` may not ask.
    pub fn new(config: OpenIdConfig, client: OutboundClient, clock: Arc<dyn Clock>) -> Result<Self, OpenIdError> {
        discovery::document_url(&client, &config)?;
        let outcome = Mutex::default();
        Ok(Self(State::OnDemand(Box::new(Discovery { config, client, clock, outcome }))))
    }

    /// Returns the provider, whose description is read where it has not been. Whoever asks meanwhile waits for the answer, so that many log-ins
    /// at once ask once. Dropping the future leaves what was known.
    ///
    /// # Errors
    /// As [`OpenIdProvider::discover`]; for [`DISCOVERY_AGE_MIN`] after a failure, its error again.
    pub async fn provider(&self) -> Result<Arc<OpenIdProvider>, OpenIdError> {
        match &self.0 {
            State::Discovered(provider) => Ok(Arc::clone(provider)),
            State::OnDemand(discovery) => discovery.provider().await,
        }
    }
}

impl Discovery {
    async fn provider(&self) -> Result<Arc<OpenIdProvider>, OpenIdError> {
        let mut outcome = self.outcome.lock().await;
        match &*outcome {
            Some(Outcome::Found(provider)) => return Ok(Arc::clone(provider)),
            Some(Outcome::Failed { cause, at_ms }) if self.is_recent(*at_ms) => return Err(cause.clone()),
            Some(Outcome::Failed { .. }) | None => {}
        }
        let (config, client, clock) = (self.config.clone(), self.client.clone(), Arc::clone(&self.clock));
        match OpenIdProvider::discover(config, client, clock).await.map(Arc::new) {
            Ok(provider) => {
                *outcome = Some(Outcome::Found(Arc::clone(&provider)));
                Ok(provider)
            }
            Err(cause) => {
                *outcome = Some(Outcome::Failed { cause: cause.clone(), at_ms: self.clock.now_ms() });
                Err(cause)
            }
        }
    }

    /// Returns whether a time is less than [`DISCOVERY_AGE_MIN`] ago. A clock that went back makes it old.
    fn is_recent(&self, at_ms: u64) -> bool {
        let age_ms = u64::try_from(DISCOVERY_AGE_MIN.as_millis()).unwrap_or(u64::MAX);
        self.clock.now_ms().checked_sub(at_ms).is_some_and(|since| since < age_ms)
    }
}

impl From<OpenIdProvider> for OnDemandProvider {
    fn from(provider: OpenIdProvider) -> Self {
        Self(State::Discovered(Arc::new(provider)))
    }
}

impl fmt::Debug for OnDemandProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            State::Discovered(provider) => f.debug_tuple("OnDemandProvider").field(provider).finish(),
            State::OnDemand(discovery) => f.debug_tuple("OnDemandProvider").field(&discovery.config).finish(),
        }
    }
}
