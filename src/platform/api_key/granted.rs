//! Keys that access tokens have made.
//!
//! An OAuth client keeps such a key as it keeps its tokens: what ends the grant of a token by somebody's act revokes the keys that were made
//! under it, in the same unit of work. A grant that expires, or makes room for another, leaves them: a key may be meant to live longer than any
//! token. The grants of a deleted client lie in many workspaces, and so do the keys: each is refused when it is used.

use serde::{Deserialize, Serialize};

use super::{ApiKey, for_each_live};
use crate::platform::{
    PlatformError,
    oauth::{Grant, OAuthClient},
    principal::{Principal, Subject},
    records::{AuditLine, Index, Owner, Reach, RecordError, Records, SortKey, Unit},
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
    /// [`PlatformError::Forbidden`] for a grant that has ended since the principal was let in.
    pub(super) fn of(unit: &Unit<'_>, principal: &Principal) -> Result<Option<Self>, PlatformError> {
        let Some(id) = principal.grant() else { return Ok(None) };
        let Some(grant) = unit.of::<Grant>().get(&principal.home(), id)? else {
            let message = "the access token was revoked meanwhile: ask the user for access again".to_owned();
            return Err(PlatformError::Forbidden { message });
        };
        Ok(Some(Self { grant: id.to_owned(), client: grant.value.client }))
    }

    /// Returns whether the client of the grant is there still.
    pub(super) fn has_client(&self, records: &Records) -> Result<bool, RecordError> {
        let group = SortKey::new().text(&self.client);
        Ok(records.of::<OAuthClient>().find(&OAuthClient::BY_ID, &Owner::Service, &group)?.is_some())
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
    })?;
    for key in keys {
        unit.replace(&key.revoked(unit.now_ms()))?;
        let (subject, target) = (key.value.created_by.to_string(), format!("key {}", key.id()));
        unit.audit(key.owner(), AuditLine { subject, action: "key.revoke".to_owned(), target, client: None })?;
    }
    Ok(())
}
