//! Snapshots of the default chain of a development node: they cover the records of what was done on it.
//!
//! A revert takes the chain's deployments and the transactions that the service sent back to those of the snapshot, and deletes the dApps that
//! were made since: their contracts are gone. The page of another dApp is not of the chain, and stays as it is. Proposals and votes are the
//! chain's own. Audit lines and counts of use are not of the chain, and the outbox has mails alone, which tell of users and workspaces: what was
//! done, signed and mailed stays so. Snapshots end with the process, as those of the node do.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::PoisonError,
};

use super::Blockchains;
use crate::platform::{
    DEFAULT_BLOCKCHAIN_ID, PlatformError,
    dapps::record::DappRecord,
    default_workspace,
    deployment::DeploymentRecord,
    records::{Collection, Index, Owner, Record, RecordError, SortKey, Stored, Unit},
    sent::TransactionRecord,
};

/// What is kept of the records at each snapshot, by its number.
pub(super) type Snapshots = BTreeMap<u64, Kept>;

/// The records of the default chain at a snapshot.
#[derive(Debug)]
pub(super) struct Kept {
    deployments: Vec<Stored<DeploymentRecord>>,
    dapps: Vec<Stored<DappRecord>>,
    /// Whether a block was known to have it, by the id of each transaction that the service sent.
    transactions: BTreeMap<String, bool>,
}

impl Blockchains<'_> {
    /// Keeps the records of the default chain for a snapshot that was taken of it.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the store fails.
    pub fn keep_snapshot(&self, number: u64) -> Result<(), PlatformError> {
        let transactions = on_default(self.context.records.of(), &TransactionRecord::BY_BLOCKCHAIN)?;
        let present = Kept {
            deployments: on_default(self.context.records.of(), &DeploymentRecord::BY_BLOCKCHAIN)?,
            dapps: on_default(self.context.records.of(), &DappRecord::BY_BLOCKCHAIN)?,
            transactions: transactions.iter().map(|sent| (sent.id().to_owned(), sent.value.is_settled)).collect(),
        };
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
            revert_dapps(unit, &kept.dapps)?;
            revert_deployments(unit, &kept.deployments)?;
            revert_transactions(unit, &kept.transactions)
        })?;
        snapshots.split_off(&number);
        Ok(())
    }
}

/// Deletes the dApps that were made since a snapshot, and takes the deployment of the others back to what it was.
fn revert_dapps(unit: &mut Unit<'_>, kept: &[Stored<DappRecord>]) -> Result<(), RecordError> {
    for mut dapp in on_default(unit.of(), &DappRecord::BY_BLOCKCHAIN)? {
        match kept.iter().find(|old| old.id() == dapp.id()) {
            None => unit.delete(&dapp)?,
            Some(old) if old.value.deployment == dapp.value.deployment => {}
            Some(old) => {
                // Whether a block has its transaction is looked for again.
                dapp.value.deployment.clone_from(&old.value.deployment);
                unit.replace(&dapp)?;
            }
        }
    }
    Ok(())
}

fn revert_deployments(unit: &mut Unit<'_>, kept: &[Stored<DeploymentRecord>]) -> Result<(), RecordError> {
    let present = on_default(unit.of(), &DeploymentRecord::BY_BLOCKCHAIN)?;
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
    Ok(())
}

/// One that was forgotten since the snapshot had been in a block for a day, and stays forgotten.
fn revert_transactions(unit: &mut Unit<'_>, kept: &BTreeMap<String, bool>) -> Result<(), RecordError> {
    for mut now in on_default(unit.of(), &TransactionRecord::BY_BLOCKCHAIN)? {
        match kept.get(now.id()) {
            None => unit.delete(&now)?,
            Some(was_settled) if *was_settled == now.value.is_settled => {}
            Some(was_settled) => {
                now.value.is_settled = *was_settled;
                unit.replace(&now)?;
            }
        }
    }
    Ok(())
}

/// Returns the records on the default chain, by an index of an owner's records by chain.
fn on_default<T: Record>(records: Collection<'_, T>, by_chain: &Index<T>) -> Result<Vec<Stored<T>>, RecordError> {
    let (owner, group) = (Owner::Workspace(default_workspace()), SortKey::new().text(DEFAULT_BLOCKCHAIN_ID));
    let mut found = Vec::new();
    records.for_each(by_chain, &owner, &group, |record| {
        found.push(record);
        Ok::<_, RecordError>(())
    })?;
    Ok(found)
}
