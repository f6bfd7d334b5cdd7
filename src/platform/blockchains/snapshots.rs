//! Snapshots of the default chain of a development node: they cover the records of what was done on it.
//!
//! A revert takes the chain's deployments back to those of the snapshot. Mails in the outbox, audit lines and counts of use are not of the chain:
//! what was sent, done and signed stays so. Snapshots end with the process, as those of the node do.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::PoisonError,
};

use super::Blockchains;
use crate::platform::{
    DEFAULT_BLOCKCHAIN_ID, PlatformError, default_workspace,
    deployment::DeploymentRecord,
    records::{Collection, Owner, RecordError, Stored},
};

/// Deployments at each snapshot, by its number.
pub(super) type Snapshots = BTreeMap<u64, Vec<Stored<DeploymentRecord>>>;

impl Blockchains<'_> {
    /// Keeps the records of the default chain for a snapshot that was taken of it.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the store fails.
    pub fn keep_snapshot(&self, number: u64) -> Result<(), PlatformError> {
        let present = on_default(self.context.records.of())?;
        self.hosted.snapshots.lock().unwrap_or_else(PoisonError::into_inner).insert(number, present);
        Ok(())
    }

    /// Takes the records of the default chain back to a snapshot that the chain was reverted to, and forgets it and all newer ones. One
    /// that is not known changes nothing.
    ///
    /// # Errors
    /// [`PlatformError`] when the store fails; the records are then as they were, and the snapshot is kept.
    pub fn revert_to_snapshot(&self, number: u64) -> Result<(), PlatformError> {
        let mut snapshots = self.hosted.snapshots.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(kept) = snapshots.get(&number) else { return Ok(()) };
        self.context.records.unit(|unit| {
            let present = on_default(unit.of())?;
            let ids: BTreeSet<&str> = kept.iter().map(Stored::id).collect();
            for record in present.iter().filter(|record| !ids.contains(record.id())) {
                unit.delete(record)?;
            }
            for record in kept {
                match present.iter().find(|now| now.id() == record.id()) {
                    Some(now) if now.value == record.value => {}
                    // Whether a block has its transaction is looked for again.
                    Some(now) => {
                        let mut now = now.clone();
                        now.value = record.value.clone();
                        unit.replace(&now)?;
                    }
                    None => drop(unit.insert(record.owner(), record.id(), record.value.clone())?),
                }
            }
            Ok::<_, PlatformError>(())
        })?;
        snapshots.split_off(&number);
        Ok(())
    }
}

/// Returns the deployments on the default chain.
fn on_default(deployments: Collection<'_, DeploymentRecord>) -> Result<Vec<Stored<DeploymentRecord>>, RecordError> {
    let (owner, group) = (Owner::Workspace(default_workspace()), DeploymentRecord::on_chain(DEFAULT_BLOCKCHAIN_ID));
    let mut found = Vec::new();
    deployments.for_each(&DeploymentRecord::BY_BLOCKCHAIN, &owner, &group, |record| {
        found.push(record);
        Ok::<_, RecordError>(())
    })?;
    Ok(found)
}
