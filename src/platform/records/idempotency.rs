//! Idempotent requests (IETF draft "The Idempotency-Key HTTP Header Field"): a repeated request gets the first one's response.
//!
//! The key and the accepted operation are one unit of work, the operation's effect and its response another: a crash leaves each whole or
//! absent. What was accepted and has no response is found again at boot ([`Records::unfinished_requests`]) and is run to its end; so is, while
//! the process goes on, what could not be written ([`Records::leave_open`]).
//!
//! The record tells requests apart by a fingerprint. Request and response themselves may show secrets: they are in the vault, under the
//! record's id, for which the rules above this module care.

use core::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::{
    Collection, Index, Owner, PageRequest, Reach, Record, RecordError, Records, SortKey, Stored, Unit, WorkspaceId,
    left_open::Place,
};
use crate::platform::scope::ScopeSet;

/// Characters of a client's key.
pub const IDEMPOTENCY_KEY_LEN_MAX: usize = 255;
/// Time for which a response is kept, in milliseconds: a day.
pub(in crate::platform) const KEPT_MS: u64 = 24 * 60 * 60 * 1000;

/// Response that a repeated request gets. Its body may show a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Response {
    /// Status code of HTTP.
    pub status: u16,
    /// Body, in the form in which it is sent.
    pub body: Zeroizing<Vec<u8>>,
    /// Id of the first request, which the body repeats.
    pub request_id: String,
    /// Path of the resource that the request created.
    pub location: Option<String>,
}

/// Leaves the body out.
impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response").field("status", &self.status).finish_non_exhaustive()
    }
}

/// Who sends a request, as far as it is needed to run the request again. Keys of two senders never meet: of two subjects, or of two grants of
/// one user, which may be of two clients.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sender {
    /// Its subject.
    pub subject: String,
    /// What it is permitted.
    pub scopes: ScopeSet,
    /// Workspace of its credentials.
    pub home: Option<WorkspaceId>,
    /// Id of the OAuth grant that its credentials are of, if they are of one.
    pub grant: Option<String>,
    /// Workspace that it acts in: its home, or the one that the request's path names.
    pub workspace: Option<WorkspaceId>,
}

impl Sender {
    /// Returns what tells its keys from those of others. Every token of a grant is the same sender.
    fn credential(&self) -> String {
        let Self { subject, grant, .. } = self;
        grant.as_ref().map_or_else(|| subject.clone(), |grant| format!("{subject} grant:{grant}"))
    }
}

/// A request that was accepted under a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdempotentRequest {
    /// Subject of who sent it.
    pub subject: String,
    /// What it was permitted when it was accepted.
    pub scopes: ScopeSet,
    /// Name of the operation.
    pub operation: String,
    /// Keyed hash of the request, by which another request under the same key is known.
    pub fingerprint: [u8; 32],
    /// Whether it has its response; without one the operation runs.
    pub is_answered: bool,
    /// Time at which the key may be used anew, in milliseconds since the Unix epoch.
    pub expires_at_ms: u64,
    /// Workspace of the sender's credentials; former versions did not keep it.
    pub home: Option<WorkspaceId>,
    /// Id of the OAuth grant that the sender's credentials are of, if they are of one.
    pub grant: Option<String>,
    /// Workspace that the sender acts in; former versions did not keep it: there it is the record's owner.
    pub workspace: Option<WorkspaceId>,
    /// What a record of a former version held in clear, until it is sealed. It is never written.
    #[serde(skip)]
    pub(in crate::platform) former: Option<FormerContent>,
}

/// Request and response of a record of version 1 or 2, which held them in clear.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::platform) struct FormerContent {
    pub(in crate::platform) request: Vec<u8>,
    pub(in crate::platform) response: Option<Response>,
}

/// Leaves both out.
impl fmt::Debug for FormerContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FormerContent").finish_non_exhaustive()
    }
}

impl IdempotentRequest {
    /// Requests without a response, of the whole service, the oldest first.
    pub(in crate::platform) const UNFINISHED: Index<Self> = Index::ordered(
        "unfinished",
        Reach::Service,
        |stored| (!stored.value.is_answered).then(SortKey::new),
        |stored| SortKey::new().number(stored.created_at_ms()),
    );
    /// Requests with a response by the time at which they may be forgotten.
    pub(in crate::platform) const EXPIRY: Index<Self> = Index::ordered(
        "expiry",
        Reach::Service,
        |stored| stored.value.is_answered.then(SortKey::new),
        |stored| SortKey::new().number(stored.value.expires_at_ms),
    );

    /// Returns whether it is this very request.
    fn is_of(&self, operation: &str, fingerprint: [u8; 32]) -> bool {
        self.operation == operation && self.fingerprint == fingerprint
    }

    /// Returns whether a former version accepted it, by the same sender's credentials.
    fn is_former_of(&self, sender: &Sender) -> bool {
        self.workspace.is_none() && self.grant == sender.grant
    }

    /// Returns whether its key may be used anew.
    fn is_expired(&self, now_ms: u64) -> bool {
        self.is_answered && self.expires_at_ms <= now_ms
    }
}

impl Record for IdempotentRequest {
    const KIND: &'static str = "idempotency";
    const VERSION: u16 = 5;
    const INDICES: &'static [Index<Self>] = &[Self::UNFINISHED, Self::EXPIRY];

    fn upgrade(version: u16, bytes: &[u8]) -> Option<Self> {
        let second = match version {
            1 => postcard::from_bytes::<FirstVersion>(bytes).ok()?.into(),
            2 => postcard::from_bytes::<SecondVersion>(bytes).ok()?,
            3 => return postcard::from_bytes::<ThirdVersion>(bytes).ok().map(Self::from),
            4 => return postcard::from_bytes::<FourthVersion>(bytes).ok().map(Self::from),
            _ => return None,
        };
        let response = second.response.map(|former| Response {
            status: former.status,
            body: Zeroizing::new(former.body),
            request_id: former.request_id,
            location: former.location,
        });
        Some(Self {
            subject: second.subject,
            scopes: second.scopes,
            operation: second.operation,
            fingerprint: [0; 32],
            is_answered: response.is_some(),
            expires_at_ms: second.expires_at_ms,
            home: None,
            grant: None,
            workspace: None,
            former: Some(FormerContent { request: second.request, response }),
        })
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

/// Version 2 of the record: request and response in clear.
#[derive(Deserialize)]
struct SecondVersion {
    subject: String,
    scopes: ScopeSet,
    operation: String,
    request: Vec<u8>,
    response: Option<SecondResponse>,
    expires_at_ms: u64,
}

/// Response of version 2.
#[derive(Deserialize)]
struct SecondResponse {
    status: u16,
    body: Vec<u8>,
    request_id: String,
    location: Option<String>,
}

impl From<FirstVersion> for SecondVersion {
    fn from(first: FirstVersion) -> Self {
        let response = first.response.map(|(status, body)| {
            let (request_id, location) = (String::new(), None);
            SecondResponse { status, body, request_id, location }
        });
        let FirstVersion { subject, operation, request, expires_at_ms, .. } = first;
        Self { subject, scopes: ScopeSet::default(), operation, request, response, expires_at_ms }
    }
}

/// Version 3 of the record: without the home and the grant of its sender.
#[derive(Deserialize)]
struct ThirdVersion {
    subject: String,
    scopes: ScopeSet,
    operation: String,
    fingerprint: [u8; 32],
    is_answered: bool,
    expires_at_ms: u64,
}

impl From<ThirdVersion> for IdempotentRequest {
    fn from(third: ThirdVersion) -> Self {
        let ThirdVersion { subject, scopes, operation, fingerprint, is_answered, expires_at_ms } = third;
        let (home, grant) = (None, None);
        FourthVersion { subject, scopes, operation, fingerprint, is_answered, expires_at_ms, home, grant }.into()
    }
}

/// Version 4 of the record: without the workspace that its sender acts in, which was the record's owner.
#[derive(Deserialize)]
struct FourthVersion {
    subject: String,
    scopes: ScopeSet,
    operation: String,
    fingerprint: [u8; 32],
    is_answered: bool,
    expires_at_ms: u64,
    home: Option<WorkspaceId>,
    grant: Option<String>,
}

impl From<FourthVersion> for IdempotentRequest {
    fn from(fourth: FourthVersion) -> Self {
        let FourthVersion { subject, scopes, operation, fingerprint, is_answered, expires_at_ms, home, grant } = fourth;
        let (workspace, former) = (None, None);
        Self { subject, scopes, operation, fingerprint, is_answered, expires_at_ms, home, grant, workspace, former }
    }
}

/// An accepted request. While it runs, its effect and [`Unit::respond`] belong in one unit of work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted(Stored<IdempotentRequest>);

/// What becomes of a request with a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Acceptance {
    /// It is the first: it is to be run.
    Run(Accepted),
    /// It is a repetition of this one, which has its response.
    Repeated(Accepted),
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
    /// Accepts a request of `sender` under its key, or finds the one that it repeats. `owner` is that of the sender's keys: its home, whatever
    /// workspace it acts in. `fingerprint` is that of the whole request.
    ///
    /// # Errors
    /// [`IdempotencyError`].
    pub fn accept(
        &mut self,
        owner: &Owner,
        sender: &Sender,
        key: &str,
        operation: &str,
        fingerprint: [u8; 32],
    ) -> Result<Acceptance, IdempotencyError> {
        let characters = key.chars().count();
        if !(1..=IDEMPOTENCY_KEY_LEN_MAX).contains(&characters) {
            return Err(IdempotencyError::KeyLength { characters });
        }
        if let Some(known) = known_under(&self.of(), owner, sender, key, self.now_ms())? {
            if !known.value.is_expired(self.now_ms()) {
                return repeated(known, operation, fingerprint);
            }
            self.delete(&known)?;
        }
        let id = id_of(&sender.credential(), key);
        let Sender { subject, scopes, home, grant, workspace } = sender.clone();
        let accepted = IdempotentRequest {
            subject,
            scopes,
            operation: operation.to_owned(),
            fingerprint,
            is_answered: false,
            expires_at_ms: self.now_ms().saturating_add(KEPT_MS),
            home,
            grant,
            workspace,
            former: None,
        };
        Ok(Acceptance::Run(Accepted(self.insert(owner, &id, accepted)?)))
    }

    /// Notes that an accepted request has its response, in the unit of its effect.
    ///
    /// # Errors
    /// [`RecordError::Stale`] when it has a response already, and those of reading.
    pub fn respond(&mut self, accepted: &Accepted) -> Result<(), RecordError> {
        let mut stored = accepted.0.clone();
        stored.value.is_answered = true;
        self.replace(&stored).map(drop)
    }

    /// Forgets an accepted request that was refused before it had an effect, so that the key can be used again.
    ///
    /// # Errors
    /// As [`Unit::respond`].
    pub fn withdraw(&mut self, accepted: &Accepted) -> Result<(), RecordError> {
        self.delete(&accepted.0)
    }

    /// Returns requests whose responses are kept long enough, of at most as many as `page` takes.
    ///
    /// # Errors
    /// [`RecordError`] of reading.
    pub fn expired_requests(&mut self, page: &PageRequest) -> Result<Vec<Accepted>, RecordError> {
        let page = self.front(&IdempotentRequest::EXPIRY, &Owner::Service, &SortKey::new(), page)?;
        let expired = page.items.into_iter().take_while(|stored| stored.value.expires_at_ms <= self.now_ms());
        Ok(expired.map(Accepted).collect())
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

    /// Leaves an accepted request to whoever takes it next: its effect and its response could not be written.
    pub fn leave_open(&self, accepted: &Accepted) {
        self.left_open.add(place_of(&accepted.0));
    }

    /// Leaves all accepted requests without a response: while none of them runs.
    ///
    /// # Errors
    /// [`RecordError`] of reading.
    pub fn leave_unfinished_open(&self) -> Result<(), RecordError> {
        self.of().for_each(&IdempotentRequest::UNFINISHED, &Owner::Service, &SortKey::new(), |stored| {
            self.left_open.add(place_of(&stored));
            Ok(())
        })
    }

    /// Returns where the requests are that are left open, the oldest first.
    pub fn open_places(&self) -> Vec<OpenRequest> {
        self.left_open.all().into_iter().map(OpenRequest).collect()
    }

    /// Takes a request if it is still left open. One that has its response since, or is forgotten, is left no more.
    ///
    /// # Errors
    /// [`RecordError`] of reading; it is then still left.
    pub fn take_open_at(&self, OpenRequest(place): &OpenRequest) -> Result<Option<Accepted>, RecordError> {
        let found = self.unfinished_at(place)?;
        Ok(found.filter(|_| self.left_open.take(place)))
    }

    /// Takes the request of `sender` under a key, if it is left open.
    ///
    /// # Errors
    /// [`RecordError`] of reading.
    pub fn take_open_under(&self, owner: &Owner, sender: &Sender, key: &str) -> Result<Option<Accepted>, RecordError> {
        let known = known_under(&self.of(), owner, sender, key, self.clock().now_ms())?;
        let unfinished = known.filter(|known| !known.value.is_answered);
        Ok(unfinished.filter(|known| self.left_open.take(&place_of(known))).map(Accepted))
    }

    /// Returns the request of `sender` under a key that has its response, if it is the very one that is repeated.
    ///
    /// # Errors
    /// [`RecordError`] of reading.
    pub fn answered_under(
        &self,
        owner: &Owner,
        sender: &Sender,
        key: &str,
        operation: &str,
        fingerprint: [u8; 32],
    ) -> Result<Option<Accepted>, RecordError> {
        let now_ms = self.clock().now_ms();
        let known = known_under(&self.of(), owner, sender, key, now_ms)?;
        let answered = known.filter(|known| known.value.is_answered && !known.value.is_expired(now_ms));
        Ok(answered.filter(|known| known.value.is_of(operation, fingerprint)).map(Accepted))
    }

    /// Returns a request that was left open, unless it has its response since or is forgotten.
    fn unfinished_at(&self, place: &Place) -> Result<Option<Accepted>, RecordError> {
        let (_, owner, id) = place;
        let known = self.of::<IdempotentRequest>().get(owner, id)?;
        let found = known.filter(|known| !known.value.is_answered && place_of(known) == *place).map(Accepted);
        if found.is_none() {
            self.left_open.take(place);
        }
        Ok(found)
    }
}

/// An accepted request that is left open.
#[derive(Clone, Debug)]
pub struct OpenRequest(Place);

fn place_of(stored: &Stored<IdempotentRequest>) -> Place {
    (stored.created_at_ms(), stored.owner().clone(), stored.id().to_owned())
}

fn repeated(
    known: Stored<IdempotentRequest>,
    operation: &str,
    fingerprint: [u8; 32],
) -> Result<Acceptance, IdempotencyError> {
    if !known.value.is_of(operation, fingerprint) {
        return Err(IdempotencyError::OtherRequest);
    }
    if known.value.is_answered { Ok(Acceptance::Repeated(Accepted(known))) } else { Err(IdempotencyError::Running) }
}

/// Returns the record of a sender's key.
fn known_under(
    requests: &Collection<'_, IdempotentRequest>,
    owner: &Owner,
    sender: &Sender,
    key: &str,
    now_ms: u64,
) -> Result<Option<Stored<IdempotentRequest>>, RecordError> {
    let known = requests.get(owner, &id_of(&sender.credential(), key))?;
    if known.is_some() { Ok(known) } else { former_under(requests, owner, sender, key, now_ms) }
}

/// Returns the record of a sender's key that a former version kept: in the workspace that the sender acts in, or under the subject alone, with
/// the grant in it. One that has expired is left to [`Unit::expired_requests`], so that what is sealed of it is deleted with it.
fn former_under(
    requests: &Collection<'_, IdempotentRequest>,
    owner: &Owner,
    sender: &Sender,
    key: &str,
    now_ms: u64,
) -> Result<Option<Stored<IdempotentRequest>>, RecordError> {
    let acted_in = sender.workspace.as_ref().map(Owner::from).filter(|acted_in| acted_in != owner);
    let ids = [id_of(&sender.subject, key), id_of(&sender.credential(), key)];
    for kept_by in core::iter::once(owner).chain(&acted_in) {
        for id in &ids {
            let found = requests.get(kept_by, id)?;
            let former = found.filter(|found| found.value.is_former_of(sender) && !found.value.is_expired(now_ms));
            if former.is_some() {
                return Ok(former);
            }
        }
    }
    Ok(None)
}

/// Id of the record of a key: any characters may be in a key, not in an id.
fn id_of(credential: &str, key: &str) -> String {
    let digest = Sha256::new().chain_update(credential).chain_update([0]).chain_update(key).finalize();
    alloy_primitives::hex::encode(digest)
}
