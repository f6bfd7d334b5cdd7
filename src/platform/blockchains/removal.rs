//! Deleting a chain: what is in the store under its prefix, its deployments, its keys, its record.
//!
//! The record says so first. Everything after it is done in bounded batches, each of which finds what is left; a crash between them goes
//! on at the next boot.

use core::{num::NonZeroUsize, ops::ControlFlow};

use crate::{
    platform::{
        PlatformError,
        blockchain::{BlockchainRecord, ChainKeys},
        context::Context,
        deployment::DeploymentRecord,
        records::{Index, PageRequest, Record, SortKey, Stored, Unit},
        sent::TransactionRecord,
        validator::HostedValidator,
        wallet,
    },
    store::{Batch, KeyValue, Order, PrefixedStore, Table},
};

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
    while context.records.unit(|unit| forget_sent(unit, stored, &TransactionRecord::BY_BLOCKCHAIN))? {}
    context.records.unit(|unit| forget(context, unit, stored))
}

/// Deletes all pairs of a table of a chain's part of the store.
fn empty(part: &PrefixedStore, table: Table) -> Result<(), PlatformError> {
    loop {
        let mut keys = Vec::new();
        let scanned = part.scan(table, &[], Order::Ascending, &mut |key, _| {
            keys.push(key.to_vec());
            if keys.len() < KEYS_PER_BATCH { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        scanned.map_err(PlatformError::internal)?;
        if keys.is_empty() {
            return Ok(());
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
    let page = unit.of::<T>().page(index, stored.owner(), &group, &PageRequest::first(RECORDS_PER_UNIT))?;
    page.items.iter().try_for_each(|sent| unit.delete(sent))?;
    Ok(!page.items.is_empty())
}

/// Deletes the record of a chain, its keys and its treasury.
pub(super) fn forget(
    context: &Context,
    unit: &mut Unit<'_>,
    stored: &Stored<BlockchainRecord>,
) -> Result<(), PlatformError> {
    let (owner, id) = (stored.owner(), stored.id());
    for validator in HostedValidator::of_unit(unit, owner, id)? {
        unit.delete(&validator)?;
    }
    wallet::delete_treasury(context, unit, owner, id)?;
    ChainKeys::discard(&context.vault, unit, owner, id)?;
    let present = unit.of::<BlockchainRecord>().get(owner, id)?;
    present.map_or(Ok(()), |present| Ok(unit.delete(&present)?))
}
