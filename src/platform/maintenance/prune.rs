//! Pruning a store that is not served: what has expired, old states, what an interrupted import left.

use core::num::NonZeroUsize;
use std::sync::Arc;

use super::chains::stored_chains;
use crate::{
    node::Clock,
    platform::{
        PlatformError,
        blockchain::BlockchainRecord,
        blockchains::remove_orphans,
        context::Context,
        forget_expired,
        records::{PageRequest, RecordError, Records},
        vault::MasterKey,
    },
    store::KeyValue,
};

/// Fewest states below the head that pruning leaves of a chain.
pub const STATES_KEPT_MIN: u64 = 256;
/// Records of a kind that one unit deletes.
const RECORDS_AT_ONCE: NonZeroUsize = NonZeroUsize::new(256).expect("not zero");

/// What pruning deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Records that had expired: sessions, tokens, grants, attempts, responses to idempotent requests.
    pub records: u64,
    /// Exports whose import was interrupted before its chain had a record.
    pub orphans: u64,
    /// Chains with the number of heights whose states are gone.
    pub states: Vec<(String, u64)>,
    /// Chains that can't be opened, with the reason; nothing of them is deleted.
    pub skipped: Vec<(String, String)>,
}

/// Deletes what has expired, and the states of all chains that are more than `states_kept` blocks below the head and irreversible; at least
/// [`STATES_KEPT_MIN`] are kept. Each step is one batch: what is interrupted goes on at the next call.
///
/// # Errors
/// [`PlatformError`] when the store fails, was written by a newer version or is under another master key.
pub fn prune(
    store: &Arc<dyn KeyValue>,
    clock: Arc<dyn Clock>,
    master_key: MasterKey,
    states_kept: Option<u64>,
) -> Result<Pruned, PlatformError> {
    let records = Records::open(Arc::clone(store), clock)?;
    let context = Context::of_store(records, master_key)?;
    let mut pruned = Pruned::default();
    loop {
        let count = forget_expired(&context, &PageRequest::first(RECORDS_AT_ONCE))?;
        if count == 0 {
            break;
        }
        pruned.records = pruned.records.saturating_add(count as u64);
    }
    let mut known = std::collections::BTreeSet::new();
    context.records.for_every::<BlockchainRecord, RecordError>(|stored| {
        known.insert(stored.id().to_owned());
        Ok(())
    })?;
    pruned.orphans = remove_orphans(store, &known)?;
    let Some(kept) = states_kept.map(|kept| kept.max(STATES_KEPT_MIN)) else { return Ok(pruned) };
    for stored in stored_chains(store, &context.records)? {
        match stored.open() {
            Ok(Some(mut chain)) => {
                let mut heights = 0_u64;
                loop {
                    match chain.prune_states(kept).map_err(PlatformError::internal)? {
                        0 => break,
                        some => heights = heights.saturating_add(some),
                    }
                }
                pruned.states.push((stored.id, heights));
            }
            Ok(None) => {}
            Err(reason) => pruned.skipped.push((stored.id, reason)),
        }
    }
    Ok(pruned)
}
