//! The end of grants by what somebody does: a revocation, a code or a refresh token that comes again, another password.
//!
//! It takes the API keys along that were made under them. A grant that expires, or makes room for another, is deleted alone.
//! `deleted_client.rs` has the end of a client.

use super::grant::{self, Grant};
use crate::platform::{
    api_key::revoke_granted,
    records::{RecordError, Stored, Unit},
};

/// Ends a grant with its access tokens and with the API keys that were made under it.
pub(super) fn end(unit: &mut Unit<'_>, grant: &Stored<Grant>) -> Result<(), RecordError> {
    revoke_granted(unit, &grant.value.user, Some(grant.id()))?;
    grant::delete(unit, grant)
}

/// Ends all grants of a user, and the API keys that were made under any, also of those that have expired.
pub(in crate::platform) fn end_all_of_user(unit: &mut Unit<'_>, user: &str) -> Result<(), RecordError> {
    revoke_granted(unit, user, None)?;
    grant::delete_of_user(unit, user, None)
}
