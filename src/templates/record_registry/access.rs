//! Who may do what with a record.

use super::{
    interface::{self as sol, Access},
    state::{REGISTRY, WRITER_ROLE},
};
use crate::{templates::common::DEFAULT_ADMIN_ROLE, vm::contract::*};

/// Refuses a caller that is not among those whom a rule of the collection needs; `owner` is the record's, or who creates it.
pub(super) fn check(
    host: &mut Host<'_>,
    needed: Access,
    collection: B256,
    id: B256,
    owner: Address,
) -> Result<(), Stop> {
    let account = host.caller();
    let is_allowed = match needed {
        Access::Anyone => true,
        Access::RecordOwner => account == owner,
        Access::Writers => REGISTRY.access.has_role(host, WRITER_ROLE, account)?,
        Access::OwnerOrWriters => account == owner || REGISTRY.access.has_role(host, WRITER_ROLE, account)?,
        Access::Admin => REGISTRY.access.has_role(host, DEFAULT_ADMIN_ROLE, account)?,
        Access::__Invalid => false,
    };
    require(is_allowed, sol::RecordUnauthorizedAccount { collection, id, account, needed })
}
