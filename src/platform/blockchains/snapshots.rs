//! Snapshots of the default chain of a development node: they cover the records of what was done on it.
//!
//! A revert takes the chain's deployments, its modules and the transactions that the service sent back to those of the snapshot. The dApps
//! and projects that were made on it since are deleted: their contracts are gone. Of the others, what is of the chain is as it was; name,
//! description and page are not, and stay, as one stays deleted that somebody has deleted. Proposals, votes and the list of validators are the
//! chain's own, and the default chain has no records of validators and no kept evidence. Audit lines, counts of use, webhooks and keys
//! are not of the chain, and the outbox has mails alone, which tell of users and workspaces: what was done, signed and mailed stays so.
//! Snapshots end with the process, as those of the node do.
//!
//! A reset of the chain to its genesis is a revert to a snapshot without records. Where blocks were taken back otherwise, what was made by
//! a transaction that is gone is deleted, and a module that one changed is as it was before. So it is where a dump was loaded in place of the
//! chain.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::PoisonError,
};

use alloy_primitives::B256;

use super::Blockchains;
use crate::platform::{
    DEFAULT_BLOCKCHAIN_ID, PlatformError,
    dapps::record::DappRecord,
    default_workspace,
    deployment::DeploymentRecord,
    modules::record::HostedModule,
    projects::record::Project,
    records::{Collection, Index, Owner, Record, RecordError, Stored, Unit},
    sent::TransactionRecord,
};

/// What is kept of the records at each snapshot, by its number.
pub(super) type Snapshots = BTreeMap<u64, Kept>;

/// The records of the default chain at a snapshot; none at its genesis.
#[derive(Debug, Default)]
pub(super) struct Kept {
    deployments: Vec<Stored<DeploymentRecord>>,
    modules: Vec<Stored<HostedModule>>,
    dapps: Vec<Stored<DappRecord>>,
    projects: Vec<Stored<Project>>,
    /// Whether a block was known to have it, by the id of each transaction that the service sent.
    transactions: BTreeMap<String, bool>,
}

impl Blockchains<'_> {
    /// Keeps the records of the default chain for a snapshot that was taken of it.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the store fails.
    pub fn keep_snapshot(&self, number: u64) -> Result<(), PlatformError> {
        let records = &self.context.records;
        // At the start the disk may have been full.
        Project::complete_indices(records)?;
        let transactions = on_default(records.of(), &TransactionRecord::BY_BLOCKCHAIN)?;
        let present = Kept {
            deployments: on_default(records.of(), &DeploymentRecord::BY_BLOCKCHAIN)?,
            modules: on_default(records.of(), &HostedModule::BY_BLOCKCHAIN)?,
            dapps: on_default(records.of(), &DappRecord::BY_BLOCKCHAIN)?,
            projects: on_default(records.of(), &Project::BY_BLOCKCHAIN)?,
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
        self.take_back_to(kept)?;
        snapshots.split_off(&number);
        Ok(())
    }

    /// Deletes the records of the default chain, which was reset to its genesis, and forgets all snapshots.
    ///
    /// # Errors
    /// [`PlatformError`] when the store fails; the records are then as they were.
    pub fn reset_to_genesis(&self) -> Result<(), PlatformError> {
        Project::complete_indices(&self.context.records)?;
        let mut snapshots = self.hosted.snapshots.lock().unwrap_or_else(PoisonError::into_inner);
        self.take_back_to(&Kept::default())?;
        snapshots.clear();
        Ok(())
    }

    /// Takes back what these transactions made of the records of the default chain, which have left it with their blocks and are not in its pool.
    ///
    /// # Errors
    /// [`PlatformError`] when the store fails; the records are then as they were.
    pub fn forget_lost(&self, transactions: &[B256]) -> Result<(), PlatformError> {
        Project::complete_indices(&self.context.records)?;
        let lost: BTreeSet<B256> = transactions.iter().copied().collect();
        let is_lost = |hash: Option<&B256>| hash.is_some_and(|hash| lost.contains(hash));
        self.context.records.unit(|unit| {
            delete_where(unit, &DeploymentRecord::BY_BLOCKCHAIN, |made| is_lost(Some(&made.transaction_hash)))?;
            let owner = Owner::Workspace(default_workspace());
            HostedModule::forget_transactions(unit, &owner, DEFAULT_BLOCKCHAIN_ID, &lost)?;
            delete_where(unit, &DappRecord::BY_BLOCKCHAIN, |dapp| {
                is_lost(dapp.deployment.as_ref().map(|deployment| &deployment.transaction_hash))
            })?;
            delete_where(unit, &Project::BY_BLOCKCHAIN, |project| is_lost(project.transaction.as_ref()))?;
            delete_where(unit, &TransactionRecord::BY_BLOCKCHAIN, |sent| is_lost(Some(&sent.hash)))
        })?;
        self.hosted.delegators.forget(DEFAULT_BLOCKCHAIN_ID);
        Ok(())
    }

    /// Returns the hashes of the transactions that made records of the default chain or changed its modules, in ascending order.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the store fails.
    pub fn recorded_transactions(&self) -> Result<Vec<B256>, PlatformError> {
        let records = &self.context.records;
        Project::complete_indices(records)?;
        let deployments = on_default(records.of(), &DeploymentRecord::BY_BLOCKCHAIN)?;
        let modules = on_default(records.of(), &HostedModule::BY_BLOCKCHAIN)?;
        let dapps = on_default(records.of(), &DappRecord::BY_BLOCKCHAIN)?;
        let projects = on_default(records.of(), &Project::BY_BLOCKCHAIN)?;
        let sent = on_default(records.of(), &TransactionRecord::BY_BLOCKCHAIN)?;
        let mut hashes: BTreeSet<B256> = deployments.iter().map(|made| made.value.transaction_hash).collect();
        hashes.extend(modules.iter().flat_map(|module| module.value.transactions.iter().copied()));
        let of_dapps = dapps.iter().filter_map(|dapp| dapp.value.deployment.as_ref());
        hashes.extend(of_dapps.map(|deployment| deployment.transaction_hash));
        hashes.extend(projects.iter().filter_map(|project| project.value.transaction));
        hashes.extend(sent.iter().map(|sent| sent.value.hash));
        Ok(hashes.into_iter().collect())
    }

    /// As [`Blockchains::forget_lost`] after a loaded chain took the place of the default chain; forgets all snapshots, which ended with it.
    ///
    /// # Errors
    /// [`PlatformError`] when the store fails; the records are then as they were.
    pub fn forget_replaced(&self, transactions: &[B256]) -> Result<(), PlatformError> {
        let mut snapshots = self.hosted.snapshots.lock().unwrap_or_else(PoisonError::into_inner);
        self.forget_lost(transactions)?;
        snapshots.clear();
        Ok(())
    }

    /// Takes the records of the default chain back to those that were kept.
    fn take_back_to(&self, kept: &Kept) -> Result<(), PlatformError> {
        self.context.records.unit(|unit| {
            // Whether a block has the transaction of a deployment or of a dApp is looked for again.
            revert_whole(unit, &kept.deployments, &DeploymentRecord::BY_BLOCKCHAIN)?;
            revert_whole(unit, &kept.modules, &HostedModule::BY_BLOCKCHAIN)?;
            revert_made(unit, &kept.dapps, &DappRecord::BY_BLOCKCHAIN, |dapp, old| {
                dapp.deployment.clone_from(&old.deployment);
            })?;
            revert_made(unit, &kept.projects, &Project::BY_BLOCKCHAIN, Project::take_contracts_of)?;
            revert_transactions(unit, &kept.transactions)
        })?;
        // Final blocks that were read are gone.
        self.hosted.delegators.forget(DEFAULT_BLOCKCHAIN_ID);
        Ok(())
    }
}

/// Takes the records of a type back to those of a snapshot.
fn revert_whole<T: Record + PartialEq>(
    unit: &mut Unit<'_>,
    kept: &[Stored<T>],
    by_chain: &Index<T>,
) -> Result<(), RecordError> {
    revert_made(unit, kept, by_chain, T::clone_from)?;
    for record in kept {
        if unit.of::<T>().get(record.owner(), record.id())?.is_none() {
            unit.insert(record.owner(), record.id(), record.value.clone())?;
        }
    }
    Ok(())
}

/// Deletes the records of a type that were made since a snapshot, and changes the others by `take_back`, which gets a record and what it was.
fn revert_made<T: Record + PartialEq>(
    unit: &mut Unit<'_>,
    kept: &[Stored<T>],
    by_chain: &Index<T>,
    take_back: impl Fn(&mut T, &T),
) -> Result<(), RecordError> {
    let kept: BTreeMap<&str, &T> = kept.iter().map(|record| (record.id(), &record.value)).collect();
    for present in on_default(unit.of(), by_chain)? {
        let Some(old) = kept.get(present.id()) else {
            unit.delete(&present)?;
            continue;
        };
        let mut reverted = present.clone();
        take_back(&mut reverted.value, old);
        if reverted.value != present.value {
            unit.replace(&reverted)?;
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

/// Deletes the records of a type on the default chain that are such.
fn delete_where<T: Record>(
    unit: &mut Unit<'_>,
    by_chain: &Index<T>,
    is_such: impl Fn(&T) -> bool,
) -> Result<(), RecordError> {
    for record in on_default(unit.of(), by_chain)?.iter().filter(|record| is_such(&record.value)) {
        unit.delete(record)?;
    }
    Ok(())
}

/// Returns the records on the default chain, by an index of an owner's records by chain.
fn on_default<T: Record>(records: Collection<'_, T>, by_chain: &Index<T>) -> Result<Vec<Stored<T>>, RecordError> {
    records.of_chain(by_chain, &Owner::Workspace(default_workspace()), DEFAULT_BLOCKCHAIN_ID)
}
