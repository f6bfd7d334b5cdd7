//! Who may do what with a record.

use alloy_primitives::b256;

use super::{
    interface::{self as sol, Access},
    state::REGISTRY,
};
use crate::{templates::common::DEFAULT_ADMIN_ROLE, vm::contract::*};

/// Role of who writes the records of others, where rules say so: keccak of `WRITER_ROLE`.
pub const WRITER_ROLE: B256 = b256!("2b8f168f361ac1393a163ed4adfa899a87be7b7c71645167bdaddd822ae453c8");

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
