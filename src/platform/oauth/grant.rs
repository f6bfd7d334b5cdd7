//! What a user has granted to a client in a workspace, and the access tokens that it led to.

use core::{fmt, num::NonZeroUsize};

use serde::{Deserialize, Serialize};

use super::{OAuthClient, OAuthError};
use crate::platform::{
    context::Context,
    expiry::expired,
    records::{Index, Owner, PageRequest, Reach, Record, RecordError, SortKey, Stored, Unit},
    scope::ScopeSet,
    token::{Token, TokenKind},
    workspace::Member,
};

/// Life of an authorization code, in milliseconds: the most that RFC 6749, 4.1.2 recommends.
pub(super) const CODE_MS: u64 = 10 * 60 * 1000;
/// Life of an access token, in milliseconds.
pub(super) const ACCESS_MS: u64 = 60 * 60 * 1000;
/// Time without use after which a family of refresh tokens ends, in milliseconds (RFC 9700, 4.14.2).
pub(super) const REFRESH_MS: u64 = 30 * 24 * 60 * 60 * 1000;
/// Grants of a user; the oldest ends when there is one more.
const GRANTS_MAX: usize = 100;
/// Access tokens of a grant that are valid at a time; the oldest ends when there is one more.
const ACCESS_TOKENS_MAX: usize = 20;
/// Tokens of a workspace or a grant that are read at once when it is deleted.
const READ_AT_ONCE: NonZeroUsize = NonZeroUsize::new(256).expect("not zero");

/// How far a grant has come.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum GrantState {
    /// Its code was not exchanged yet.
    Code {
        /// The `redirect_uri` of the authorization request, when it had one (RFC 6749, 4.1.3).
        redirect_uri: Option<String>,
        /// The `code_challenge`, when it had one.
        challenge: Option<String>,
    },
    /// Its code was exchanged. The hash of the code stays, so that a second use is noticed.
    Tokens {
        /// The newest refresh token, when the client gets any.
        refresh: Option<RefreshHashes>,
    },
}

/// Keyed hashes of the newest refresh token of a family. Each token begins with the digits of its family, so that every older one is known
/// for what it is, and nothing is kept of it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RefreshHashes {
    pub(super) family: [u8; 32],
    pub(super) token: [u8; 32],
}

/// What a user has granted to a client. Its owner is the workspace that the client acts in.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Id of the client.
    pub client: String,
    /// Id of the user.
    pub user: String,
    /// What was granted, at most.
    pub scopes: ScopeSet,
    pub(super) code_hash: [u8; 32],
    pub(super) state: GrantState,
    /// Time from which it is not valid, in milliseconds since the Unix epoch: its code's, or its refresh token's.
    pub expires_at_ms: u64,
}

impl Grant {
    pub(super) const BY_CODE: Index<Self> =
        Index::unique("code", Reach::Service, |grant| Some(SortKey::new().bytes(&grant.value.code_hash)));
    pub(super) const BY_FAMILY: Index<Self> = Index::unique("family", Reach::Service, |grant| {
        let GrantState::Tokens { refresh: Some(refresh) } = &grant.value.state else { return None };
        Some(SortKey::new().bytes(&refresh.family))
    });
    /// Grants of a user in all workspaces, the oldest first.
    pub const BY_USER: Index<Self> = Index::ordered(
        "user",
        Reach::Service,
        |grant| Some(SortKey::new().text(&grant.value.user)),
        |grant| SortKey::new().number(grant.created_at_ms()),
    );
    const BY_EXPIRY: Index<Self> = Index::ordered(
        "expiry",
        Reach::Service,
        |_| Some(SortKey::new()),
        |grant| SortKey::new().number(grant.value.expires_at_ms),
    );
}

impl Record for Grant {
    const KIND: &'static str = "oauth-grant";
    const INDICES: &'static [Index<Self>] = &[Self::BY_CODE, Self::BY_FAMILY, Self::BY_USER, Self::BY_EXPIRY];
}

/// Leaves the hashes out.
impl fmt::Debug for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grant")
            .field("client", &self.client)
            .field("user", &self.user)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}

/// An access token, of which a keyed hash is kept. Its owner is its grant's.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessToken {
    /// Id of the grant.
    pub grant: String,
    /// What it permits, at most.
    pub scopes: ScopeSet,
    pub(super) hash: [u8; 32],
    /// Time from which it is not valid, in milliseconds since the Unix epoch.
    pub expires_at_ms: u64,
}

impl AccessToken {
    pub(super) const BY_HASH: Index<Self> =
        Index::unique("hash", Reach::Service, |token| Some(SortKey::new().bytes(&token.value.hash)));
    const BY_GRANT: Index<Self> = Index::ordered(
        "grant",
        Reach::Owner,
        |token| Some(SortKey::new().text(&token.value.grant)),
        |token| SortKey::new().number(token.created_at_ms()),
    );
    const BY_EXPIRY: Index<Self> = Index::ordered(
        "expiry",
        Reach::Service,
        |_| Some(SortKey::new()),
        |token| SortKey::new().number(token.value.expires_at_ms),
    );
}

impl Record for AccessToken {
    const KIND: &'static str = "oauth-token";
    const INDICES: &'static [Index<Self>] = &[Self::BY_HASH, Self::BY_GRANT, Self::BY_EXPIRY];
}

/// Leaves the hash out.
impl fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccessToken").field("grant", &self.grant).field("scopes", &self.scopes).finish_non_exhaustive()
    }
}

/// Adds a grant; the user's oldest one makes room.
pub(super) fn insert(unit: &mut Unit<'_>, owner: &Owner, id: &str, grant: Grant) -> Result<(), RecordError> {
    let mut grants = of_user(unit, &grant.user)?;
    while grants.len() >= GRANTS_MAX {
        delete(unit, &grants.remove(0))?;
    }
    unit.insert(owner, id, grant).map(drop)
}

/// Draws an access token of a grant; the grant's oldest one makes room.
pub(super) fn issue(
    context: &Context,
    unit: &mut Unit<'_>,
    grant: &Stored<Grant>,
    scopes: ScopeSet,
) -> Result<Token, OAuthError> {
    let mut tokens = tokens_of(unit, grant)?;
    while tokens.len() >= ACCESS_TOKENS_MAX {
        unit.delete(&tokens.remove(0))?;
    }
    let (token, id) = (Token::draw(&*context.entropy, TokenKind::Access)?, context.id("tok")?);
    let (hash, expires_at_ms) = (context.secret.hash(token.text().as_bytes()), unit.now_ms().saturating_add(ACCESS_MS));
    unit.insert(grant.owner(), &id, AccessToken { grant: grant.id().to_owned(), scopes, hash, expires_at_ms })?;
    Ok(token)
}

/// Returns what a grant permits now: as far as the role of its user caps `scopes`. `None` when it permits nothing any more: it has expired,
/// its client is gone, or its user is no member of the workspace.
pub(super) fn present_scopes(
    context: &Context,
    grant: &Stored<Grant>,
    scopes: &ScopeSet,
    now_ms: u64,
) -> Result<Option<ScopeSet>, RecordError> {
    let clients = context.records.of::<OAuthClient>();
    let client = clients.find(&OAuthClient::BY_ID, &Owner::Service, &SortKey::new().text(&grant.value.client))?;
    let member = context.records.of::<Member>().get(grant.owner(), &grant.value.user)?;
    let member = member.filter(|_| now_ms < grant.value.expires_at_ms && client.is_some());
    Ok(member.map(|member| scopes.capped_by(&member.value.role.cap())))
}

/// Returns the access tokens of a grant, the oldest first.
pub(super) fn tokens_of(unit: &Unit<'_>, grant: &Stored<Grant>) -> Result<Vec<Stored<AccessToken>>, RecordError> {
    let group = SortKey::new().text(grant.id());
    let request = PageRequest::first(READ_AT_ONCE);
    Ok(unit.of::<AccessToken>().page(&AccessToken::BY_GRANT, grant.owner(), &group, &request)?.items)
}

/// Deletes a grant with its access tokens.
pub(super) fn delete(unit: &mut Unit<'_>, grant: &Stored<Grant>) -> Result<(), RecordError> {
    tokens_of(unit, grant)?.iter().try_for_each(|token| unit.delete(token))?;
    unit.delete(grant)
}

fn of_user(unit: &Unit<'_>, user: &str) -> Result<Vec<Stored<Grant>>, RecordError> {
    unit.of::<Grant>().all(&Grant::BY_USER, &Owner::Service, &SortKey::new().text(user))
}

/// Deletes the grants of a user, in one workspace or in all.
pub(in crate::platform) fn delete_of_user(
    unit: &mut Unit<'_>,
    user: &str,
    workspace: Option<&Owner>,
) -> Result<(), RecordError> {
    let grants = of_user(unit, user)?;
    let there = grants.iter().filter(|grant| workspace.is_none_or(|owner| grant.owner() == owner));
    there.into_iter().try_for_each(|grant| delete(unit, grant))
}

/// Deletes the clients of a workspace, and the grants and access tokens in it.
pub(in crate::platform) fn delete_of_workspace(unit: &mut Unit<'_>, owner: &Owner) -> Result<(), RecordError> {
    delete_all::<AccessToken>(unit, owner)?;
    delete_all::<Grant>(unit, owner)?;
    delete_all::<OAuthClient>(unit, owner)
}

fn delete_all<T: Record>(unit: &mut Unit<'_>, owner: &Owner) -> Result<(), RecordError> {
    let all = unit.of::<T>().all(&Index::CREATED, owner, &SortKey::new())?;
    all.iter().try_for_each(|stored| unit.delete(stored))
}

/// Deletes grants and access tokens that have expired; returns how many.
pub(super) fn forget_expired(
    unit: &mut Unit<'_>,
    request: &PageRequest,
) -> Result<usize, crate::platform::PlatformError> {
    let tokens = expired(unit, &AccessToken::BY_EXPIRY, request, |token| token.expires_at_ms)?;
    tokens.iter().try_for_each(|token| unit.delete(token))?;
    let grants = expired(unit, &Grant::BY_EXPIRY, request, |grant| grant.expires_at_ms)?;
    grants.iter().try_for_each(|grant| delete(unit, grant))?;
    Ok(tokens.len().saturating_add(grants.len()))
}
