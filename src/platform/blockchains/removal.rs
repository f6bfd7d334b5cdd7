//! Deleting a chain: what is in the store under its prefix, its deployments and dApps, its keys, its record.
//!
//! The record says so first. Everything after it is done in bounded batches, each of which finds what is left; a crash between them goes
//! on at the next boot.

use core::{num::NonZeroUsize, ops::ControlFlow};
use std::{collections::BTreeSet, sync::Arc};

use super::part::{PART, part_of};
use crate::{
    platform::{
        PlatformError,
        blockchain::{BlockchainRecord, ChainKeys},
        context::Context,
        dapps::record::DappRecord,
        deployment::DeploymentRecord,
        evidence::GivenEvidence,
        modules::{proposed::ProposedModule, record::HostedModule},
        records::{Index, PageRequest, Record, SortKey, Stored, Unit},
        sent::TransactionRecord,
        validator::HostedValidator,
        wallet,
    },
    store::{Batch, KeyValue, Order, PrefixedStore, Table},
};

/// Length of a chain's id: `bc_` and 16 hex digits.
const ID_LEN: usize = 19;
/// Keys that are deleted in one batch.
const KEYS_PER_BATCH: usize = 4_096;
/// Records that are deleted in one unit.
const RECORDS_PER_UNIT: NonZeroUsize = NonZeroUsize::new(64).expect("not zero");

/// Removes a chain that stands still.
pub(super) fn remove(
    context: &Context,
    store: &dyn KeyValue,
    part: &PrefixedStore,
    stored: &Stored<BlockchainRecord>,
) -> Result<(), PlatformError> {
    if store.is_durable() {
        Table::ALL.into_iter().try_for_each(|table| empty(part, table))?;
    }
    while context.records.unit(|unit| forget_sent(unit, stored, &DeploymentRecord::BY_BLOCKCHAIN))? {}
    while context.records.unit(|unit| forget_sent(unit, stored, &DappRecord::BY_BLOCKCHAIN))? {}
    while context.records.unit(|unit| forget_sent(unit, stored, &TransactionRecord::BY_BLOCKCHAIN))? {}
    context.records.unit(|unit| forget(context, unit, stored))
}

/// Deletes what the store has of chains without a record, in a store that is not served: an export that was staged, when the process ended
/// before the import had a record. Returns how many chains there were.
pub(in crate::platform) fn remove_orphans(
    store: &Arc<dyn KeyValue>,
    known: &BTreeSet<String>,
) -> Result<u64, PlatformError> {
    let (mut from, mut orphans) = (Vec::new(), 0_u64);
    loop {
        let mut found = None;
        let scanned = store.scan_from(Table::Platform, PART, Some(&from), Order::Ascending, &mut |key, _| {
            found = key.get(PART.len()..PART.len().saturating_add(ID_LEN)).map(<[u8]>::to_vec);
            ControlFlow::Break(())
        });
        scanned.map_err(PlatformError::internal)?;
        let Some(found) = found else { return Ok(orphans) };
        let id = String::from_utf8_lossy(&found);
        if !known.contains(&*id) {
            let part = part_of(store, &id);
            Table::ALL.into_iter().try_for_each(|table| empty(&part, table))?;
            orphans = orphans.saturating_add(1);
        }
        from = [PART, &found, &[u8::MAX]].concat();
    }
}

/// Deletes all pairs of a table of a chain's part of the store, from the first to the last, and then those that were written meanwhile.
fn empty(part: &PrefixedStore, table: Table) -> Result<(), PlatformError> {
    let mut last: Option<Vec<u8>> = None;
    loop {
        let mut keys = Vec::new();
        // A store remembers what was deleted for a while: what the batches before took is not passed again.
        let scanned = part.scan_from(table, &[], last.as_deref(), Order::Ascending, &mut |key, _| {
            keys.push(key.to_vec());
            if keys.len() < KEYS_PER_BATCH { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        scanned.map_err(PlatformError::internal)?;
        match (keys.last().cloned(), &last) {
            (None, None) => return Ok(()),
            (found, _) => last = found,
        }
        let mut batch = Batch::new();
        keys.into_iter().for_each(|key| batch.delete(table, key));
        part.write(batch).map_err(PlatformError::internal)?;
    }
}

/// Deletes some records of what was sent on a chain, by an index that groups them by chain; returns whether any were left.
fn forget_sent<T: Record>(
    unit: &mut Unit<'_>,
    stored: &Stored<BlockchainRecord>,
    index: &Index<T>,
) -> Result<bool, PlatformError> {
    let group = SortKey::new().text(stored.id());
    let page = unit.front(index, stored.owner(), &group, &PageRequest::first(RECORDS_PER_UNIT))?;
    page.items.iter().try_for_each(|sent| unit.delete(sent))?;
    Ok(!page.items.is_empty())
}

/// Deletes the record of a chain, those of its validators, evidence and modules, its keys and its treasury.
pub(super) fn forget(
    context: &Context,
    unit: &mut Unit<'_>,
    stored: &Stored<BlockchainRecord>,
) -> Result<(), PlatformError> {
    let (owner, id) = (stored.owner(), stored.id());
    for validator in unit.of().of_chain(&HostedValidator::BY_BLOCKCHAIN, owner, id)? {
        unit.delete(&validator)?;
    }
    for evidence in unit.of().of_chain(&GivenEvidence::BY_BLOCKCHAIN, owner, id)? {
        unit.delete(&evidence)?;
    }
    for module in unit.of().of_chain(&HostedModule::BY_BLOCKCHAIN, owner, id)? {
        unit.delete(&module)?;
    }
    for proposed in unit.of().of_chain(&ProposedModule::BY_BLOCKCHAIN, owner, id)? {
        unit.delete(&proposed)?;
    }
    wallet::delete_of_chain(context, unit, owner, (id, stored.value.spec.validators.len()))?;
    ChainKeys::discard(&context.vault, unit, owner, id)?;
    let present = unit.of::<BlockchainRecord>().get(owner, id)?;
    present.map_or(Ok(()), |present| Ok(unit.delete(&present)?))
}

#[cfg(all(test, feature = "rocksdb"))]
mod tests {
    use super::*;
    use crate::store::{RocksOptions, RocksStore, deleted_keys_passed};

    #[test]
    fn emptying_passes_nothing_that_it_has_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let store: Arc<dyn KeyValue> = Arc::new(RocksStore::open(folder.path(), RocksOptions::default()).unwrap());
        let part = part_of(&store, "bc_0000000000000001");
        let (mut batch, count) = (Batch::new(), 2 * KEYS_PER_BATCH + 10);
        (0..count).for_each(|number| batch.put(Table::Blocks, number.to_be_bytes(), *b"block"));
        part.write(batch).unwrap();
        let before = deleted_keys_passed();
        empty(&part, Table::Blocks).unwrap();
        let passed = deleted_keys_passed() - before;
        // Once at the end, which looks for what was written meanwhile.
        assert!(passed < u64::try_from(count).unwrap() + 100, "{passed} of {count}");
        let found = part.scan(Table::Blocks, &[], Order::Ascending, &mut |key, _| panic!("{key:?} is left"));
        found.unwrap();
    }
}
