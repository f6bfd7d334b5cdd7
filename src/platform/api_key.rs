//! API keys: `cbx_`, 48 random hex digits, 8 digits of checksum. Only a keyed hash of a key is kept.
//!
//! A key acts in one workspace, with its scopes as far as its maker's present role caps them: when the maker leaves, its keys are revoked.
//! Revocation and expiry work at once. Several keys may live side by side, so that one can be replaced without a pause. A key that an access
//! token has made is revoked with the token's grant, and with the OAuth client of the grant.

mod granted;
mod value;

use core::{fmt, num::NonZeroUsize};

use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;

use self::granted::MadeUnder;
pub(super) use self::granted::{revoke_granted, revoke_of_client};
pub use self::value::ApiKeyValue;
use super::{
    Fields, PlatformError,
    context::{Context, audit},
    default_workspace,
    oauth::OAuthClient,
    plan::check_quota,
    principal::{Principal, Subject},
    records::{Collection, Index, Owner, PageRequest, Reach, Record, RecordError, SortKey, Stored, Unit},
    scope::{Scope, ScopeSet},
    workspace::Member,
};
use crate::{
    primitives::{DurationUnits, parse_duration_secs},
    store::Order,
};

/// Longest life of a key, in days.
const LIFE_DAYS_MAX: u64 = 3_650;

/// Specification of a key: the decoded body of a request to create one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKeySpec {
    /// Label.
    pub name: String,
    /// What it permits.
    pub scopes: ScopeSet,
    /// Time after which it expires, in milliseconds; never by default.
    pub lifetime_ms: Option<u64>,
}

impl ApiKeySpec {
    /// Reads a request body (the service specification, "API key").
    ///
    /// # Errors
    /// [`PlatformError::Validation`] with every invalid field.
    pub fn read(body: serde_json::Value) -> Result<Self, PlatformError> {
        let mut fields = Fields::read(body)?;
        let name = fields.text("name").unwrap_or_default();
        let names = Scope::ALL.map(Scope::name);
        let named = fields.choices("scopes", &names);
        let scopes: ScopeSet = named.iter().filter_map(|name| Scope::from_name(name)).collect();
        fields.require("scopes", "a non-empty array of scopes", (!scopes.is_empty()).then_some(()));
        let expected = "a duration between 1s and 3650d: a number and one of s, h, d, as in 90d";
        let lifetime_ms = fields.read_with("expiresIn", expected, |value| {
            let secs = parse_duration_secs(value.as_str()?, DurationUnits::COMMON)?;
            (1..=LIFE_DAYS_MAX * 86_400).contains(&secs).then(|| secs * 1000)
        });
        fields.finish()?;
        Ok(Self { name, scopes, lifetime_ms })
    }
}

/// A kept API key: label, scopes, last four digits and keyed hash, but not the key itself.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiKey {
    /// Label.
    pub name: String,
    /// What it permits, at most.
    pub scopes: ScopeSet,
    /// Who made it.
    pub created_by: Subject,
    last_four: String,
    hash: [u8; 32],
    lifetime_ms: Option<u64>,
    /// Time from which it is not valid, in milliseconds since the Unix epoch.
    pub expires_at_ms: Option<u64>,
    /// Time of its revocation, in milliseconds since the Unix epoch.
    pub revoked_at_ms: Option<u64>,
    /// The grant that it ends with, where it was made by an access token. Former versions did not keep it.
    created_under: Option<MadeUnder>,
    /// Id of the first key that it follows by rotation, and whose workspaces it reaches; none of a key that was made anew.
    follows: Option<String>,
}

/// The second version of [`ApiKey`], without the key that it follows.
#[derive(Deserialize)]
struct ApiKeyV2 {
    name: String,
    scopes: ScopeSet,
    created_by: Subject,
    last_four: String,
    hash: [u8; 32],
    lifetime_ms: Option<u64>,
    expires_at_ms: Option<u64>,
    revoked_at_ms: Option<u64>,
    created_under: Option<MadeUnder>,
}

impl From<ApiKeyV2> for ApiKey {
    fn from(second: ApiKeyV2) -> Self {
        Self {
            name: second.name,
            scopes: second.scopes,
            created_by: second.created_by,
            last_four: second.last_four,
            hash: second.hash,
            lifetime_ms: second.lifetime_ms,
            expires_at_ms: second.expires_at_ms,
            revoked_at_ms: second.revoked_at_ms,
            created_under: second.created_under,
            follows: None,
        }
    }
}

/// The first version of [`ApiKey`], without the grant.
#[derive(Deserialize)]
struct ApiKeyV1 {
    name: String,
    scopes: ScopeSet,
    created_by: Subject,
    last_four: String,
    hash: [u8; 32],
    lifetime_ms: Option<u64>,
    expires_at_ms: Option<u64>,
    revoked_at_ms: Option<u64>,
}

impl From<ApiKeyV1> for ApiKeyV2 {
    fn from(first: ApiKeyV1) -> Self {
        let ApiKeyV1 { name, scopes, created_by, last_four, hash, lifetime_ms, expires_at_ms, revoked_at_ms } = first;
        let created_under = None;
        Self { name, scopes, created_by, last_four, hash, lifetime_ms, expires_at_ms, revoked_at_ms, created_under }
    }
}

/// State of an API key: active leads to expired with its time, both to revoked by command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApiKeyState {
    /// It authenticates.
    Active,
    /// Its time is over.
    Expired,
    /// It was revoked.
    Revoked,
}

impl ApiKeyState {
    /// Name of the state.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
        }
    }
}

impl ApiKey {
    const BY_HASH: Index<Self> =
        Index::unique("hash", Reach::Service, |key| Some(SortKey::new().bytes(&key.value.hash)));
    /// Keys of all workspaces by id: for rules that name a key of whatever workspace.
    pub(super) const BY_ID: Index<Self> =
        Index::unique("id", Reach::Service, |key| Some(SortKey::new().text(key.id())));
    /// Keys of a workspace by whether they are revoked.
    const BY_STATE: Index<Self> = Index::ordered(
        "state",
        Reach::Owner,
        |key| Some(SortKey::new().flag(key.value.revoked_at_ms.is_some())),
        |key| SortKey::new().number(key.created_at_ms()),
    );
    /// Keys of a workspace that are not revoked, by when they expire; those that never do are the last.
    const BY_EXPIRY: Index<Self> = Index::ordered(
        "expiry",
        Reach::Owner,
        |key| key.value.revoked_at_ms.is_none().then(SortKey::new),
        |key| SortKey::new().number(key.value.expires_at_ms.unwrap_or(u64::MAX)),
    );
    /// Keys of a workspace by name.
    pub(super) const BY_NAME: Index<Self> =
        Index::ordered("name", Reach::Owner, |_| Some(SortKey::new()), |key| SortKey::new().text(&key.value.name));
    /// Keys of a workspace by their maker.
    pub(super) const BY_CREATOR: Index<Self> = Index::ordered(
        "creator",
        Reach::Owner,
        |key| Some(Self::made_by(&key.value.created_by)),
        |key| SortKey::new().number(key.created_at_ms()),
    );

    /// Group of [`Self::BY_STATE`] of keys that are not revoked.
    fn unrevoked() -> SortKey {
        SortKey::new().flag(false)
    }

    /// Group of [`Self::BY_CREATOR`].
    pub(super) fn made_by(subject: &Subject) -> SortKey {
        SortKey::new().text(&subject.to_string())
    }

    /// Returns the key with all but its prefix and last four digits left out.
    pub fn masked(&self) -> String {
        format!("{}...{}", ApiKeyValue::PREFIX, self.last_four)
    }

    /// Returns its state at a time, of the clients that there are then. A key whose client is deleted is revoked, also before its record says so.
    ///
    /// # Errors
    /// Those of looking for the client.
    pub fn state(&self, now_ms: u64, clients: &Collection<'_, OAuthClient>) -> Result<ApiKeyState, RecordError> {
        if self.revoked_at_ms.is_some() || self.has_lost_client(clients)? {
            return Ok(ApiKeyState::Revoked);
        }
        Ok(if self.is_live(now_ms) { ApiKeyState::Active } else { ApiKeyState::Expired })
    }

    /// Returns whether its state is active.
    pub(super) fn is_active(&self, now_ms: u64, clients: &Collection<'_, OAuthClient>) -> Result<bool, RecordError> {
        Ok(self.is_live(now_ms) && !self.has_lost_client(clients)?)
    }

    /// Returns whether its record says that it is valid at a time: it is neither revoked nor expired.
    pub(super) fn is_live(&self, now_ms: u64) -> bool {
        self.revoked_at_ms.is_none() && self.expires_at_ms.is_none_or(|expiry| now_ms < expiry)
    }
}

impl Stored<ApiKey> {
    /// Id of the first key that it follows by rotation; its own for a key that was made anew.
    pub(super) fn rotated_from(&self) -> &str {
        self.value.follows.as_deref().unwrap_or_else(|| self.id())
    }

    /// Returns the key as revoked; one that is revoked stays as it is.
    pub(super) fn revoked(&self, now_ms: u64) -> Self {
        let mut revoked = self.clone();
        revoked.value.revoked_at_ms.get_or_insert(now_ms);
        revoked
    }
}

impl Record for ApiKey {
    const KIND: &'static str = "key";
    const VERSION: u16 = 3;
    const INDICES: &'static [Index<Self>] = &[
        Self::BY_HASH,
        Self::BY_ID,
        Self::BY_STATE,
        Self::BY_EXPIRY,
        Self::BY_CREATOR,
        Self::BY_GRANTOR,
        Self::BY_CLIENT,
        Self::BY_NAME,
        Index::UPDATED,
    ];

    fn upgrade(version: u16, bytes: &[u8]) -> Option<Self> {
        let second: ApiKeyV2 = match version {
            1 => postcard::from_bytes::<ApiKeyV1>(bytes).ok()?.into(),
            2 => postcard::from_bytes(bytes).ok()?,
            _ => return None,
        };
        Some(second.into())
    }
}

/// Leaves the hash out.
impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiKey").field("name", &self.name).field("scopes", &self.scopes).finish_non_exhaustive()
    }
}

/// Keys that are read at once when all that are valid are looked for.
const READ_AT_ONCE: NonZeroUsize = NonZeroUsize::new(64).expect("not zero");

/// Visits the keys of a group that are valid now by their records, of an index by expiry. Those that have expired are not read, however many
/// there are.
fn for_each_live(
    unit: &Unit<'_>,
    (index, owner, group): (&Index<ApiKey>, &Owner, &SortKey),
    mut visit: impl FnMut(Stored<ApiKey>) -> Result<(), RecordError>,
) -> Result<(), RecordError> {
    let now_ms = unit.now_ms();
    let mut request = PageRequest::first(READ_AT_ONCE).in_order(Order::Descending);
    loop {
        let page = unit.of::<ApiKey>().page(index, owner, group, &request)?;
        let is_whole = page.items.iter().all(|key| key.value.is_live(now_ms));
        page.items.into_iter().take_while(|key| key.value.is_live(now_ms)).try_for_each(&mut visit)?;
        let Some(next) = page.next.filter(|_| is_whole) else { return Ok(()) };
        request = request.after(next);
    }
}

/// Returns how many keys of a workspace are valid now.
pub(super) fn count_live(unit: &Unit<'_>, owner: &Owner) -> Result<u64, RecordError> {
    let (mut live, now_ms, clients) = (0_u64, unit.now_ms(), unit.of::<OAuthClient>());
    for_each_live(unit, (&ApiKey::BY_EXPIRY, owner, &SortKey::new()), |key| {
        live = live.saturating_add(u64::from(key.value.is_active(now_ms, &clients)?));
        Ok(())
    })?;
    Ok(live)
}

/// Checks that one more key is within the plan.
fn check_keys(unit: &Unit<'_>, owner: &Owner, max: u64) -> Result<(), PlatformError> {
    // Those that have expired are among them, and those whose client is deleted.
    let unrevoked = unit.of::<ApiKey>().count(&ApiKey::BY_STATE, owner, &ApiKey::unrevoked())?;
    if unrevoked < max { Ok(()) } else { check_quota("live API keys", count_live(unit, owner)?, max) }
}

/// Returns who answers for a key that a principal makes, and the grant that the key ends with: those of a key that makes it, so that it goes
/// with the member and with the grant. Credentials that were revoked since the principal was let in make no key that would outlive them.
fn maker(unit: &Unit<'_>, principal: &Principal) -> Result<(Subject, Option<MadeUnder>), PlatformError> {
    let Subject::ApiKey(id) = principal.subject() else {
        return Ok((principal.subject().clone(), MadeUnder::of(unit, principal)?));
    };
    let made = unit.of::<ApiKey>().require(&principal.home(), id)?.value;
    if made.state(unit.now_ms(), &unit.of())? == ApiKeyState::Revoked {
        return Err(PlatformError::Forbidden { message: "the API key was revoked meanwhile".to_owned() });
    }
    Ok((made.created_by, made.created_under))
}

/// Returns whether a principal may pass the reach of a key on to its successor: it is the key itself, or its maker without a grant, who reaches
/// as much.
fn may_pass_on(principal: &Principal, key: &Stored<ApiKey>) -> bool {
    match principal.subject() {
        Subject::ApiKey(id) => id == key.id(),
        maker => *maker == key.value.created_by && principal.grant().is_none(),
    }
}

/// Rules of API keys.
#[derive(Clone, Copy, Debug)]
pub struct ApiKeys<'a> {
    pub(super) context: &'a Context,
}

impl<'a> ApiKeys<'a> {
    /// The keys, for reading; [`Index::CREATED`] lists those of a workspace.
    pub fn all(&self) -> Collection<'a, ApiKey> {
        self.context.records.of()
    }

    /// Creates a key in the workspace that a principal acts in, and returns its value, which can't be read again.
    ///
    /// # Errors
    /// [`PlatformError::Forbidden`] for scopes that the principal lacks and for a grant that has ended, [`PlatformError::Conflict`] for a full
    /// plan, [`PlatformError::Entropy`]; no key is then kept.
    pub fn create(
        &self,
        unit: &mut Unit<'_>,
        principal: &Principal,
        spec: ApiKeySpec,
    ) -> Result<(ApiKeyValue, Stored<ApiKey>), PlatformError> {
        let beyond: Vec<&str> = spec.scopes.beyond(principal.scopes()).into_iter().map(Scope::name).collect();
        if !beyond.is_empty() {
            let message = format!("a key has at most its maker's scopes, without {}", beyond.join(", "));
            return Err(PlatformError::Forbidden { message });
        }
        let (value, id) = (ApiKeyValue::draw(&*self.context.entropy)?, self.context.id("key")?);
        let key = ApiKey {
            name: spec.name,
            scopes: spec.scopes,
            created_by: principal.subject().clone(),
            last_four: value.last_four(),
            hash: self.context.secret.hash(value.text().as_bytes()),
            lifetime_ms: spec.lifetime_ms,
            expires_at_ms: None,
            revoked_at_ms: None,
            created_under: None,
            follows: None,
        };
        let stored = self.insert(unit, principal, &id, key)?;
        Ok((value, stored))
    }

    fn insert(
        &self,
        unit: &mut Unit<'_>,
        principal: &Principal,
        id: &str,
        mut key: ApiKey,
    ) -> Result<Stored<ApiKey>, PlatformError> {
        let owner = principal.owner();
        check_keys(unit, &owner, self.context.plan(unit, &owner)?.api_keys_max)?;
        (key.created_by, key.created_under) = maker(unit, principal)?;
        key.expires_at_ms = key.lifetime_ms.map(|lifetime| unit.now_ms().saturating_add(lifetime));
        let stored = unit.insert(&owner, id, key)?;
        audit(unit, principal, "key.create", format!("key {id}"))?;
        Ok(stored)
    }

    /// Makes a successor of a key, with its name, scopes and lifetime. The key itself goes on for `overlap_ms`, unless it expires before. The
    /// successor reaches the workspaces that the key created where the key rotates itself, or its maker does, present or as the service: other
    /// credentials, which do not reach them, gain no reach by rotating.
    ///
    /// # Errors
    /// [`PlatformError::NotFound`]; [`PlatformError::Conflict`] for a key that is not valid any more, and as [`ApiKeys::create`].
    pub fn rotate(
        &self,
        unit: &mut Unit<'_>,
        principal: &Principal,
        id: &str,
        overlap_ms: u64,
    ) -> Result<(ApiKeyValue, Stored<ApiKey>), PlatformError> {
        let (value, next_id) = (ApiKeyValue::draw(&*self.context.entropy)?, self.context.id("key")?);
        let mut old = unit.of::<ApiKey>().require(&principal.owner(), id)?;
        let now_ms = unit.now_ms();
        if !old.value.is_active(now_ms, &unit.of())? {
            return Err(PlatformError::Conflict {
                message: format!("key {id} is revoked or expired: create a new one"),
            });
        }
        if let [beyond, ..] = old.value.scopes.beyond(principal.scopes())[..] {
            return Err(PlatformError::MissingScope { scope: beyond });
        }
        let next = ApiKey {
            last_four: value.last_four(),
            hash: self.context.secret.hash(value.text().as_bytes()),
            follows: may_pass_on(principal, &old).then(|| old.rotated_from().to_owned()),
            ..old.value.clone()
        };
        let end = now_ms.saturating_add(overlap_ms);
        old.value.expires_at_ms = Some(old.value.expires_at_ms.map_or(end, |expiry| expiry.min(end)));
        unit.replace(&old)?;
        audit(unit, principal, "key.rotate", format!("key {id}"))?;
        let stored = self.insert(unit, principal, &next_id, next)?;
        Ok((value, stored))
    }

    /// Revokes a key, at once. Revoking it again changes nothing.
    ///
    /// # Errors
    /// [`PlatformError::NotFound`].
    pub fn revoke(
        &self,
        unit: &mut Unit<'_>,
        principal: &Principal,
        id: &str,
    ) -> Result<Stored<ApiKey>, PlatformError> {
        let key = unit.of::<ApiKey>().require(&principal.owner(), id)?;
        if key.value.revoked_at_ms.is_some() {
            return Ok(key);
        }
        let stored = unit.replace(&key.revoked(unit.now_ms()))?;
        audit(unit, principal, "key.revoke", format!("key {id}"))?;
        Ok(stored)
    }

    /// Deletes the keys of this name that the service itself has made, and returns their ids.
    pub(super) fn forget_own(&self, unit: &mut Unit<'_>, name: &str) -> Result<Vec<String>, PlatformError> {
        let (owner, group) = (Owner::Workspace(default_workspace()), ApiKey::made_by(&Subject::Service));
        let mut own = Vec::new();
        unit.of::<ApiKey>().for_each(&ApiKey::BY_CREATOR, &owner, &group, |key| {
            own.extend((key.value.name == name).then_some(key));
            Ok::<_, PlatformError>(())
        })?;
        own.iter().try_for_each(|key| unit.delete(key))?;
        Ok(own.iter().map(|key| key.id().to_owned()).collect())
    }

    /// Returns the principal of an API key; `None` for one that is unknown, revoked or expired, whose maker is no member any more, or that
    /// belongs to an OAuth client that is deleted.
    ///
    /// The key is found by its keyed hash, which tells nobody without the secret anything, and compared in constant time.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the store fails.
    pub fn authenticate(&self, value: &str) -> Result<Option<Principal>, PlatformError> {
        let now_ms = self.context.records.clock().now_ms();
        let Some(key) = self.find(value)?.filter(|key| key.value.is_live(now_ms)) else { return Ok(None) };
        let Some(workspace) = key.owner().workspace().cloned() else { return Ok(None) };
        if key.value.has_lost_client(&self.context.records.of())? {
            return Ok(None);
        }
        let scopes = match &key.value.created_by {
            Subject::User(user) => match self.context.records.of::<Member>().get(key.owner(), user)? {
                Some(member) => key.value.scopes.capped_by(&member.value.role.cap()),
                None => return Ok(None),
            },
            Subject::Service | Subject::ApiKey(_) => key.value.scopes.clone(),
        };
        Ok(Some(Principal::new(Subject::ApiKey(key.id().to_owned()), workspace, scopes)))
    }

    /// Returns whose an API key is, or was before it ended: a principal that may do nothing. `None` for one that is unknown.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the store fails.
    pub fn identify(&self, value: &str) -> Result<Option<Principal>, PlatformError> {
        let Some(key) = self.find(value)? else { return Ok(None) };
        let Some(workspace) = key.owner().workspace().cloned() else { return Ok(None) };
        Ok(Some(Principal::new(Subject::ApiKey(key.id().to_owned()), workspace, ScopeSet::default())))
    }

    /// Finds a key, live or not, by its value.
    fn find(&self, value: &str) -> Result<Option<Stored<ApiKey>>, PlatformError> {
        if !value::is_well_formed(value) {
            return Ok(None);
        }
        let hash = self.context.secret.hash(value.as_bytes());
        let found = self.all().find(&ApiKey::BY_HASH, &Owner::Service, &SortKey::new().bytes(&hash))?;
        Ok(found.filter(|key| bool::from(key.value.hash.ct_eq(&hash))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_the_first_version_is_read_without_a_grant() {
        let scopes: ScopeSet = [Scope::BlockchainRead].into_iter().collect();
        let maker = Subject::User("usr_a".to_owned());
        let old = ("ci", &scopes, &maker, "89ab", [7_u8; 32], Some(5_u64), Some(9_u64), None::<u64>);
        let read = ApiKey::upgrade(1, &postcard::to_allocvec(&old).unwrap()).unwrap();
        assert_eq!((read.name.as_str(), &read.scopes, &read.created_by), ("ci", &scopes, &maker));
        assert_eq!((read.masked().as_str(), read.hash, read.lifetime_ms), ("cbx_...89ab", [7; 32], Some(5)));
        assert_eq!((read.expires_at_ms, read.revoked_at_ms), (Some(9), None));
        assert!(read.created_under.is_none() && read.follows.is_none());
        assert!(ApiKey::upgrade(0, &[]).is_none());
    }

    #[test]
    fn a_key_of_the_second_version_is_read_as_made_anew() {
        let scopes: ScopeSet = [Scope::BlockchainRead].into_iter().collect();
        let old = ("ci", &scopes, &Subject::Service, "89ab", [7_u8; 32], None::<u64>, Some(9_u64), Some(5_u64));
        let old = [postcard::to_allocvec(&old).unwrap(), postcard::to_allocvec(&None::<MadeUnder>).unwrap()].concat();
        let read = ApiKey::upgrade(2, &old).unwrap();
        assert_eq!((read.name.as_str(), &read.scopes, &read.created_by), ("ci", &scopes, &Subject::Service));
        assert_eq!((read.lifetime_ms, read.expires_at_ms, read.revoked_at_ms), (None, Some(9), Some(5)));
        assert!(read.created_under.is_none() && read.follows.is_none());
    }
}
