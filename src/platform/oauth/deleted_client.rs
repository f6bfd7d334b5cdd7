//! The end of a client by its deletion.
//!
//! Its grants, and the API keys that were made under them, lie in as many workspaces as it has users. None of them is valid without the client.
//! The first keys are revoked as it is deleted. Where there are more, a record is left of it, by which the others are revoked some at a time.

use core::num::NonZeroUsize;

use serde::{Deserialize, Serialize};

use crate::platform::{
    api_key::revoke_of_client,
    records::{Index, Owner, PageRequest, Record, RecordError, SortKey, Unit},
};

/// Keys that are revoked as a client is deleted.
const KEYS_AT_ONCE: NonZeroUsize = NonZeroUsize::new(64).expect("not zero");

/// A client that is deleted, of whose keys some may not be revoked yet. Its id is the client's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::platform) struct DeletedClient;

impl Record for DeletedClient {
    const KIND: &'static str = "deleted-oauth-client";
}

/// Revokes the first keys of a client that is deleted.
pub(super) fn begin(unit: &mut Unit<'_>, client: &str) -> Result<(), RecordError> {
    if revoke_of_client(unit, client, KEYS_AT_ONCE)? < KEYS_AT_ONCE.get() {
        return Ok(());
    }
    unit.insert(&Owner::Service, client, DeletedClient).map(drop)
}

/// Revokes keys that deleted clients left, at most as many as `request` takes; returns how many records it has changed.
pub(super) fn go_on(unit: &mut Unit<'_>, request: &PageRequest) -> Result<usize, RecordError> {
    let clients = unit.front::<DeletedClient>(&Index::CREATED, &Owner::Service, &SortKey::new(), request)?.items;
    let (mut left, mut changed) = (request.limit.get(), 0_usize);
    for client in clients {
        let Some(limit) = NonZeroUsize::new(left) else { break };
        let revoked = revoke_of_client(unit, client.id(), limit)?;
        (left, changed) = (left.saturating_sub(revoked), changed.saturating_add(revoked));
        if revoked < limit.get() {
            unit.delete(&client)?;
            changed = changed.saturating_add(1);
        }
    }
    Ok(changed)
}
