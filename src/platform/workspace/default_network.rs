//! The network of a workspace: what its requests mean that name none.
//!
//! It is a network of projects, by its word, or a chain of the workspace, by its id or name, on which dApps are then made. It is checked when it
//! is set: the chain may be deleted afterwards.

use crate::platform::{
    BlockchainRecord, PlatformError, ProjectNetwork,
    records::{Index, Owner, RecordError, SortKey, Unit},
};

/// Refuses a network that is neither one of projects nor a chain of the workspace. A new workspace has no chain yet.
pub(super) fn check(unit: &Unit<'_>, owner: &Owner, network: Option<&str>) -> Result<(), PlatformError> {
    let Some(network) = network else { return Ok(()) };
    if ProjectNetwork::from_name(network).is_some() || has_chain(unit, owner, network)? {
        return Ok(());
    }
    let names = ProjectNetwork::ALL.map(ProjectNetwork::name).join(", ");
    let expected = format!("one of {names}, or the id or name of a blockchain that the workspace has");
    Err(PlatformError::field("settings.defaultNetwork", expected, network))
}

/// Returns whether a chain of a workspace has this id or name.
pub(in crate::platform) fn has_chain(unit: &Unit<'_>, owner: &Owner, text: &str) -> Result<bool, RecordError> {
    let mut is_there = false;
    unit.of::<BlockchainRecord>().for_each(&Index::CREATED, owner, &SortKey::new(), |stored| {
        is_there |= stored.id() == text || stored.value.spec.name == text;
        Ok::<_, RecordError>(())
    })?;
    Ok(is_there)
}
