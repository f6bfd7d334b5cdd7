//! Idempotent requests (IETF draft "The Idempotency-Key HTTP Header Field"): a repeated request gets the first one's response.
//!
//! The key and the accepted operation are one unit of work, the operation's effect and its response another: a crash leaves each whole or
//! absent. What was accepted and has no response is found again at boot ([`Records::unfinished_requests`]) and is run to its end.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Index, Owner, PageRequest, Reach, Record, RecordError, Records, SortKey, Stored, Unit};
use crate::platform::scope::ScopeSet;

/// Characters of a client's key.
pub const IDEMPOTENCY_KEY_LEN_MAX: usize = 255;
/// Time for which a response is kept, in milliseconds: a day.
const KEPT_MS: u64 = 24 * 60 * 60 * 1000;

/// Response that a repeated request gets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Response {
    /// Status code of HTTP.
    pub status: u16,
    /// Body, in the form in which it is sent.
    pub body: Vec<u8>,
    /// Id of the first request, which the body repeats.
    pub request_id: String,
    /// Path of the resource that the request created.
    pub location: Option<String>,
}

/// A request that was accepted under a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdempotentRequest {
    /// Who sent it: keys of two subjects never meet.
    pub subject: String,
    /// What it was permitted when it was accepted.
    pub scopes: ScopeSet,
    /// Name of the operation.
    pub operation: String,
    /// Everything that the operation needs, to be run again after a crash.
    pub request: Vec<u8>,
    /// The response; `None` while the operation runs.
    pub response: Option<Response>,
    /// Time at which the key may be used anew, in milliseconds since the Unix epoch.
    pub expires_at_ms: u64,
}

impl IdempotentRequest {
    /// Requests without a response, of the whole service, the oldest first.
    const UNFINISHED: Index<Self> = Index::ordered(
        "unfinished",
        Reach::Service,
        |stored| stored.value.response.is_none().then(SortKey::new),
        |stored| SortKey::new().number(stored.created_at_ms()),
    );
    /// Requests with a response by the time at which they may be forgotten.
    const EXPIRY: Index<Self> = Index::ordered(
        "expiry",
        Reach::Service,
        |stored| stored.value.response.is_some().then(SortKey::new),
        |stored| SortKey::new().number(stored.value.expires_at_ms),
    );
}

impl Record for IdempotentRequest {
    const KIND: &'static str = "idempotency";
    const VERSION: u16 = 2;
    const INDICES: &'static [Index<Self>] = &[Self::UNFINISHED, Self::EXPIRY];

    fn upgrade(version: u16, bytes: &[u8]) -> Option<Self> {
        if version != 1 {
            return None;
        }
        let first: FirstVersion = postcard::from_bytes(bytes).ok()?;
        let response = first.response.map(|(status, body)| {
            let (request_id, location) = (String::new(), None);
            Response { status, body, request_id, location }
        });
        let FirstVersion { subject, operation, request, expires_at_ms, .. } = first;
        Some(Self { subject, scopes: ScopeSet::default(), operation, request, response, expires_at_ms })
    }
}

/// Version 1 of the record: without scopes, and responses without the request's id and the resource's path.
#[derive(Deserialize)]
struct FirstVersion {
    subject: String,
    operation: String,
    request: Vec<u8>,
    response: Option<(u16, Vec<u8>)>,
    expires_at_ms: u64,
}

/// A request that runs now; its effect and [`Unit::respond`] belong in one unit of work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted(Stored<IdempotentRequest>);

/// What becomes of a request with a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Acceptance {
    /// It is the first: it is to be run.
    Run(Accepted),
    /// It is a repetition: this is the response.
    Replay(Response),
}

/// A refused request with a key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IdempotencyError {
    /// The key is too long, or empty.
    #[error("an idempotency key has 1 to {IDEMPOTENCY_KEY_LEN_MAX} characters, this one has {characters}")]
    KeyLength {
        /// Characters of the key.
        characters: usize,
    },
    /// The first request with the key is still running.
    #[error("a request with this idempotency key is still running; repeat it later to get its response")]
    Running,
    /// Another request was sent with the key.
    #[error("another request was sent with this idempotency key; use a new key for a new request")]
    OtherRequest,
    /// The records failed.
    #[error(transparent)]
    Record(#[from] RecordError),
}

impl Unit<'_> {
    /// Accepts a request of `subject` under its key, or returns the response to the one that it repeats.
    ///
    /// # Errors
    /// [`IdempotencyError`].
    pub fn accept(
        &mut self,
        owner: &Owner,
        subject: &str,
        scopes: &ScopeSet,
        key: &str,
        operation: &str,
        request: &[u8],
    ) -> Result<Acceptance, IdempotencyError> {
        let characters = key.chars().count();
        if !(1..=IDEMPOTENCY_KEY_LEN_MAX).contains(&characters) {
            return Err(IdempotencyError::KeyLength { characters });
        }
        let id = id_of(subject, key);
        if let Some(known) = self.of::<IdempotentRequest>().get(owner, &id)? {
            let is_expired = known.value.response.is_some() && known.value.expires_at_ms <= self.now_ms();
            if !is_expired {
                return repeated(known.value, operation, request);
            }
            self.delete(&known)?;
        }
        let accepted = IdempotentRequest {
            subject: subject.to_owned(),
            scopes: scopes.clone(),
            operation: operation.to_owned(),
            request: request.to_vec(),
            response: None,
            expires_at_ms: self.now_ms().saturating_add(KEPT_MS),
        };
        Ok(Acceptance::Run(Accepted(self.insert(owner, &id, accepted)?)))
    }

    /// Keeps the response to an accepted request, in the unit of its effect.
    ///
    /// # Errors
    /// [`RecordError::Stale`] when it has a response already, and those of reading.
    pub fn respond(&mut self, accepted: &Accepted, response: Response) -> Result<(), RecordError> {
        let mut stored = accepted.0.clone();
        stored.value.response = Some(response);
        self.replace(&stored).map(drop)
    }

    /// Forgets an accepted request that was refused before it had an effect, so that the key can be used again.
    ///
    /// # Errors
    /// As [`Unit::respond`].
    pub fn withdraw(&mut self, accepted: &Accepted) -> Result<(), RecordError> {
        self.delete(&accepted.0)
    }
}

impl Accepted {
    /// The accepted request.
    pub const fn request(&self) -> &Stored<IdempotentRequest> {
        &self.0
    }
}

impl Records {
    /// Returns accepted requests without a response, the oldest first: at boot, those to be run to their end.
    ///
    /// # Errors
    /// [`RecordError`] of reading.
    pub fn unfinished_requests(&self, page: &PageRequest) -> Result<Vec<Accepted>, RecordError> {
        let page = self.of().page(&IdempotentRequest::UNFINISHED, &Owner::Service, &SortKey::new(), page)?;
        Ok(page.items.into_iter().map(Accepted).collect())
    }

    /// Deletes responses that are kept long enough, at most as many as `page` takes; returns how many.
    ///
    /// # Errors
    /// [`RecordError`].
    pub fn forget_responses(&self, page: &PageRequest) -> Result<usize, RecordError> {
        self.unit(|unit| {
            let index = &IdempotentRequest::EXPIRY;
            let page = unit.of::<IdempotentRequest>().page(index, &Owner::Service, &SortKey::new(), page)?;
            let now_ms = unit.now_ms();
            let expired = page.items.iter().take_while(|stored| stored.value.expires_at_ms <= now_ms);
            let expired: Vec<_> = expired.collect();
            expired.iter().try_for_each(|stored| unit.delete(*stored))?;
            Ok(expired.len())
        })
    }
}

fn repeated(known: IdempotentRequest, operation: &str, request: &[u8]) -> Result<Acceptance, IdempotencyError> {
    if known.operation != operation || known.request != request {
        return Err(IdempotencyError::OtherRequest);
    }
    known.response.map(Acceptance::Replay).ok_or(IdempotencyError::Running)
}

/// Id of the record of a key: any characters may be in a key, not in an id.
fn id_of(subject: &str, key: &str) -> String {
    let digest = Sha256::new().chain_update(subject).chain_update([0]).chain_update(key).finalize();
    alloy_primitives::hex::encode(digest)
}
