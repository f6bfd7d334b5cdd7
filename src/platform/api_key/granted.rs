//! Keys that access tokens have made.
//!
//! An OAuth client keeps such a key as it keeps its tokens: what ends the grant of a token by somebody's act revokes the keys that were made
//! under it, in the same unit of work. A grant that expires, or makes room for another, leaves them: a key may be meant to live longer than any
//! token. The grants of a deleted client lie in many workspaces, and so do the keys: from then on each is refused and counts as revoked, and
//! they are revoked some at a time.

use core::num::NonZeroUsize;

use serde::{Deserialize, Serialize};

use super::{ApiKey, for_each_live};
use crate::platform::{
    PlatformError,
    oauth::{Grant, OAuthClient},
    principal::{Principal, Subject},
    records::{AuditLine, Collection, Index, Owner, PageRequest, Reach, RecordError, SortKey, Stored, Unit},
};

/// The OAuth grant under which a key was made, and its client.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct MadeUnder {
    grant: String,
    client: String,
}

impl MadeUnder {
    /// Returns the grant that the credentials of a principal are of, if they are of one.
    ///
    /// # Errors
    /// [`PlatformError::Forbidden`] for a grant that has ended since the principal was let in, as it does when its client is deleted.
    pub(super) fn of(unit: &Unit<'_>, principal: &Principal) -> Result<Option<Self>, PlatformError> {
        let Some(id) = principal.grant() else { return Ok(None) };
        let grant = unit.of::<Grant>().get(&principal.home(), id)?;
        match grant.map(|grant| Self { grant: id.to_owned(), client: grant.value.client }) {
            Some(under) if under.has_client(&unit.of())? => Ok(Some(under)),
            _ => {
                let message = "the access token was revoked meanwhile: ask the user for access again".to_owned();
                Err(PlatformError::Forbidden { message })
            }
        }
    }

    /// Returns whether the client of the grant is there still.
    fn has_client(&self, clients: &Collection<'_, OAuthClient>) -> Result<bool, RecordError> {
        Ok(clients.find(&OAuthClient::BY_ID, &Owner::Service, &SortKey::new().text(&self.client))?.is_some())
    }
}

impl ApiKey {
    /// Keys of all workspaces that were made under grants and are not revoked, by their maker and by when they expire; those that never do are
    /// the last.
    pub(super) const BY_GRANTOR: Index<Self> = Index::ordered(
        "grantor",
        Reach::Service,
        |key| {
            let is_granted = key.value.created_under.is_some() && key.value.revoked_at_ms.is_none();
            is_granted.then(|| Self::made_by(&key.value.created_by))
        },
        |key| SortKey::new().number(key.value.expires_at_ms.unwrap_or(u64::MAX)),
    );

    /// Keys of all workspaces that were made under grants of a client and are not revoked, the oldest first.
    pub(super) const BY_CLIENT: Index<Self> = Index::ordered(
        "client",
        Reach::Service,
        |key| {
            let under = key.value.created_under.as_ref().filter(|_| key.value.revoked_at_ms.is_none());
            under.map(|under| SortKey::new().text(&under.client))
        },
        |key| SortKey::new().number(key.created_at_ms()),
    );

    /// Id of the OAuth client under whose grant it was made; `None` of one that no access token made, nor a key that one made.
    pub fn oauth_client(&self) -> Option<&str> {
        self.created_under.as_ref().map(|under| under.client.as_str())
    }

    /// Returns whether it was made under a grant of a client that is deleted.
    pub(super) fn has_lost_client(&self, clients: &Collection<'_, OAuthClient>) -> Result<bool, RecordError> {
        match &self.created_under {
            Some(under) => Ok(!under.has_client(clients)?),
            None => Ok(false),
        }
    }

    fn is_under(&self, grant: &str) -> bool {
        self.created_under.as_ref().is_some_and(|under| under.grant == grant)
    }
}

/// Revokes the keys that were made under a grant of a user, or under any. Plans bound how many of them are valid.
pub(in crate::platform) fn revoke_granted(
    unit: &mut Unit<'_>,
    user: &str,
    grant: Option<&str>,
) -> Result<(), RecordError> {
    let group = ApiKey::made_by(&Subject::User(user.to_owned()));
    let mut keys = Vec::new();
    for_each_live(unit, (&ApiKey::BY_GRANTOR, &Owner::Service, &group), |key| {
        keys.extend(grant.is_none_or(|grant| key.value.is_under(grant)).then_some(key));
        Ok(())
    })?;
    keys.iter().try_for_each(|key| revoke_by(unit, &key.value.created_by, key))
}

/// Revokes keys that were made under grants of a client that is deleted, the oldest `limit` of those that are not revoked, whether they have
/// expired or not; returns how many. In the audit logs of their workspaces the service does so: who deleted the client may be a stranger there.
pub(in crate::platform) fn revoke_of_client(
    unit: &mut Unit<'_>,
    client: &str,
    limit: NonZeroUsize,
) -> Result<usize, RecordError> {
    let (group, request) = (SortKey::new().text(client), PageRequest::first(limit).counted());
    let keys = unit.front(&ApiKey::BY_CLIENT, &Owner::Service, &group, &request)?.items;
    keys.iter().try_for_each(|key| revoke_by(unit, &Subject::Service, key))?;
    Ok(keys.len())
}

/// Revokes a key, with a line of it in the audit log of its workspace.
fn revoke_by(unit: &mut Unit<'_>, subject: &Subject, key: &Stored<ApiKey>) -> Result<(), RecordError> {
    unit.replace(&key.revoked(unit.now_ms()))?;
    let (subject, target) = (subject.to_string(), format!("key {}", key.id()));
    unit.audit(key.owner(), AuditLine { subject, action: "key.revoke".to_owned(), target, client: None })
}
