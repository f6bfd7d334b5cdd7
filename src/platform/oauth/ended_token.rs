//! Access tokens whose grant their own sender has ended, by leaving or deleting the workspace that it was granted for.
//!
//! The request that did so is answered again under its idempotency key, for which it must be known whose the token was. A token that has ended
//! is kept for that alone, until it would have expired: nothing that authenticates looks here.

use core::fmt;

use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;

use super::{Grant, OAuth, grant::tokens_of};
use crate::platform::{
    PlatformError,
    expiry::expired,
    principal::Principal,
    records::{Index, Owner, PageRequest, Reach, Record, RecordError, SortKey, Stored, Unit},
    token::TokenKind,
};

/// An access token that has ended. Id and owner are those that it had: the owner may be gone.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::platform) struct EndedToken {
    /// Id of the user.
    pub(super) user: String,
    /// Id of its grant, which is gone.
    pub(super) grant: String,
    hash: [u8; 32],
    /// Time from which nobody is known by it, in milliseconds since the Unix epoch: when it would have expired.
    expires_at_ms: u64,
}

impl EndedToken {
    const BY_HASH: Index<Self> =
        Index::unique("hash", Reach::Service, |token| Some(SortKey::new().bytes(&token.value.hash)));
    const BY_EXPIRY: Index<Self> = Index::ordered(
        "expiry",
        Reach::Service,
        |_| Some(SortKey::new()),
        |token| SortKey::new().number(token.value.expires_at_ms),
    );
}

impl Record for EndedToken {
    const KIND: &'static str = "ended-oauth-token";
    const INDICES: &'static [Index<Self>] = &[Self::BY_HASH, Self::BY_EXPIRY];
}

/// Leaves the hash out.
impl fmt::Debug for EndedToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EndedToken").field("user", &self.user).field("grant", &self.grant).finish_non_exhaustive()
    }
}

/// Keeps the access tokens of the grant that a principal acts under, where the workspace that it acts in is the one that the grant is for: by
/// what it does the grant is about to end. Every token of a grant is the same sender.
pub(in crate::platform) fn keep_own(unit: &mut Unit<'_>, principal: &Principal) -> Result<(), RecordError> {
    let owner = principal.owner();
    let Some(grant) = principal.grant().filter(|_| principal.home() == owner) else { return Ok(()) };
    let Some(grant) = unit.of::<Grant>().get(&owner, grant)? else { return Ok(()) };
    for token in tokens_of(unit, &grant)? {
        let ended = EndedToken {
            user: grant.value.user.clone(),
            grant: grant.id().to_owned(),
            hash: token.value.hash,
            expires_at_ms: token.value.expires_at_ms,
        };
        unit.insert(&owner, token.id(), ended)?;
    }
    Ok(())
}

/// Deletes those that would have expired; returns how many.
pub(super) fn forget_expired(unit: &mut Unit<'_>, request: &PageRequest) -> Result<usize, RecordError> {
    let tokens = expired(unit, &EndedToken::BY_EXPIRY, request, |token| token.expires_at_ms)?;
    tokens.iter().try_for_each(|token| unit.delete(token))?;
    Ok(tokens.len())
}

impl OAuth<'_> {
    /// Returns a token that has ended, by its text.
    pub(super) fn find_ended(&self, token: &str) -> Result<Option<Stored<EndedToken>>, PlatformError> {
        if !TokenKind::Access.is_well_formed(token) {
            return Ok(None);
        }
        let (records, hash) = (&self.context.records, self.context.secret.hash(token.as_bytes()));
        let group = SortKey::new().bytes(&hash);
        let found = records.of::<EndedToken>().find(&EndedToken::BY_HASH, &Owner::Service, &group)?;
        let now_ms = records.clock().now_ms();
        let is_known = |found: &EndedToken| now_ms < found.expires_at_ms && bool::from(found.hash.ct_eq(&hash));
        Ok(found.filter(|found| is_known(&found.value)))
    }
}
