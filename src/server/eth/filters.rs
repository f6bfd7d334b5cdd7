//! Polled filters for logs, blocks and pending transactions.
//!
//! A block or log filter is a place in the chain ([`HeadCursor`]): a poll reads the changes since the last one, reverts and reorgs
//! included, so that an idle filter costs nothing. A filter that is not polled for five minutes is removed, as in geth.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use alloy_rpc_types_eth::{FilterChanges, Log as RpcLog, Transaction as RpcTransaction};

use super::{
    Eth, Methods,
    logs::{self, LogQuery},
    params::Args,
};
use crate::{
    chain::LogFilter,
    node::{HeadCursor, HeadCursorError, NodeEvent, Subscription},
    primitives::Height,
    server::{
        clock::{MonotonicClock, Ticks},
        ids,
        jsonrpc::errors::{REFUSED, RpcError, error, internal},
    },
};

/// Installed filters; past this number, a new one replaces the one whose last poll is oldest.
const FILTERS_MAX: usize = 1024;
/// Time after the last poll at which a filter is removed, geth's.
const EXPIRY: Duration = Duration::from_secs(5 * 60);
/// Pending transactions that wait for a poll; further ones are lost and counted.
const PENDING_MAX: usize = 4_096;

pub(super) fn register(methods: &mut Methods) {
    methods.add("eth_newFilter", 1, new_log_filter);
    methods.add("eth_newBlockFilter", 0, |eth, _| eth.filters.insert(Kind::Blocks(HeadCursor::at_head(&eth.view()))));
    methods.add("eth_newPendingTransactionFilter", 1, |eth, _| {
        let events = eth.node.subscribe_lossy(|event| matches!(event, NodeEvent::Pending(_)), PENDING_MAX);
        eth.filters.insert(Kind::Pending(events))
    });
    methods.add("eth_getFilterChanges", 1, changes);
    methods.add("eth_getFilterLogs", 1, all_logs);
    methods.add("eth_uninstallFilter", 1, |eth, args| Ok(eth.filters.remove(&args.required::<String>(0, "filter")?)));
}

/// The filters of a chain. They are not part of its state: a revert keeps them.
#[derive(Debug)]
pub(super) struct Filters {
    clock: Arc<dyn Ticks>,
    by_id: Mutex<BTreeMap<String, Entry>>,
}

#[derive(Debug)]
struct Entry {
    /// Time of the last poll, by the clock of [`Filters`].
    polled: Duration,
    filter: Arc<Mutex<Kind>>,
}

#[derive(Debug)]
enum Kind {
    Logs(Box<LogQuery>, HeadCursor),
    Blocks(HeadCursor),
    Pending(Subscription),
}

impl Default for Filters {
    fn default() -> Self {
        Self::new(Arc::new(MonotonicClock::default()))
    }
}

impl Filters {
    fn new(clock: Arc<dyn Ticks>) -> Self {
        Self { clock, by_id: Mutex::default() }
    }

    /// The table without the filters that have expired.
    fn table(&self) -> MutexGuard<'_, BTreeMap<String, Entry>> {
        let now = self.clock.elapsed();
        let mut table = self.by_id.lock().unwrap_or_else(PoisonError::into_inner);
        table.retain(|_, entry| now.saturating_sub(entry.polled) < EXPIRY);
        table
    }

    fn insert(&self, kind: Kind) -> Result<String, RpcError> {
        let id = ids::random_id().map_err(|cause| internal(&cause))?;
        let mut table = self.table();
        if table.len() >= FILTERS_MAX {
            let oldest = table.iter().min_by_key(|(_, entry)| entry.polled).map(|(id, _)| id.clone());
            oldest.and_then(|id| table.remove(&id));
        }
        let entry = Entry { polled: self.clock.elapsed(), filter: Arc::new(Mutex::new(kind)) };
        table.insert(id.clone(), entry);
        Ok(id)
    }

    fn remove(&self, id: &str) -> bool {
        self.table().remove(id).is_some()
    }

    /// Runs `poll` on the filter with this id; other filters are not locked meanwhile.
    fn with<T>(&self, id: &str, poll: impl FnOnce(&mut Kind) -> Result<T, RpcError>) -> Result<T, RpcError> {
        let filter = {
            let mut table = self.table();
            let entry = table.get_mut(id).ok_or_else(not_found)?;
            entry.polled = self.clock.elapsed();
            Arc::clone(&entry.filter)
        };
        let mut filter = filter.lock().unwrap_or_else(PoisonError::into_inner);
        poll(&mut filter)
    }
}

/// Returns geth's error for an unknown filter.
fn not_found() -> RpcError {
    error(REFUSED, "filter not found")
}

fn new_log_filter(eth: &Eth, args: &Args<'_>) -> Result<String, RpcError> {
    let query: LogQuery = args.optional(0, "filter")?.unwrap_or_default();
    logs::refuse_block_hash(&query)?;
    eth.filters.insert(Kind::Logs(Box::new(query), HeadCursor::at_head(&eth.view())))
}

fn changes(eth: &Eth, args: &Args<'_>) -> Result<FilterChanges<RpcTransaction>, RpcError> {
    let id: String = args.required(0, "filter")?;
    eth.filters.with(&id, |kind| match kind {
        Kind::Blocks(cursor) => {
            let changes = cursor.advance(&eth.view(), usize::MAX).map_err(gap)?;
            Ok(FilterChanges::Hashes(changes.added.iter().map(|block| block.hash()).collect()))
        }
        Kind::Logs(query, cursor) => Ok(FilterChanges::Logs(new_logs(eth, query, cursor)?)),
        Kind::Pending(events) => Ok(FilterChanges::Hashes(new_pending(eth, events)?)),
    })
}

/// Returns the logs since the last poll: those removed first.
fn new_logs(eth: &Eth, query: &LogQuery, cursor: &mut HeadCursor) -> Result<Vec<RpcLog>, RpcError> {
    let changes = cursor.advance(&eth.view(), usize::MAX).map_err(gap)?;
    if changes.removed_missing > 0 {
        let missing = changes.removed_missing;
        return Err(missed(&format!("the logs of {missing} reverted blocks are not kept any more")));
    }
    let matcher: LogFilter = logs::matcher(query);
    let mut found: Vec<RpcLog> = Vec::new();
    for (blocks, removed) in [(&changes.removed, true), (&changes.added, false)] {
        for block in blocks.iter().filter(|block| is_in_range(query, block.height())) {
            found.extend(logs::of_block(&eth.logs, block, &matcher, removed));
        }
    }
    Ok(found)
}

fn new_pending(eth: &Eth, events: &mut Subscription) -> Result<Vec<alloy_primitives::B256>, RpcError> {
    match events.take_lost() {
        0 => {}
        lost => {
            eth.counters.count_lost_pending(lost);
            return Err(missed(&format!("{lost} pending transactions came after the first {PENDING_MAX}")));
        }
    }
    let mut hashes = Vec::new();
    loop {
        match events.try_next() {
            Ok(NodeEvent::Pending(transaction)) => hashes.push(transaction.hash()),
            Ok(_) => {}
            Err(_) => return Ok(hashes),
        }
    }
}

fn gap(cause: HeadCursorError) -> RpcError {
    missed(&cause.to_string())
}

/// Returns the error for changes that can't be told any more. It comes once; the next poll has what follows.
fn missed(what: &str) -> RpcError {
    error(REFUSED, format!("the filter was polled too rarely and missed changes: {what}; poll again for what follows"))
}

fn all_logs(eth: &Eth, args: &Args<'_>) -> Result<Vec<RpcLog>, RpcError> {
    let id: String = args.required(0, "filter")?;
    let query = eth.filters.with(&id, |kind| match kind {
        Kind::Logs(query, _) => Ok(query.clone()),
        _ => Err(not_found()),
    })?;
    logs::find(&eth.view(), &query, args)
}

fn is_in_range(query: &LogQuery, height: Height) -> bool {
    let filter = &query.filter;
    filter.get_from_block().is_none_or(|from| height.get() >= from)
        && filter.get_to_block().is_none_or(|to| height.get() <= to)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::node::Node;

    #[derive(Debug, Default)]
    struct ManualTicks(AtomicU64);

    impl Ticks for ManualTicks {
        fn elapsed(&self) -> Duration {
            Duration::from_secs(self.0.load(Ordering::Relaxed))
        }
    }

    fn blocks(node: &Node) -> Kind {
        Kind::Blocks(HeadCursor::at_head(&node.view()))
    }

    #[test]
    fn a_filter_expires_five_minutes_after_its_last_poll() {
        let (node, clock) = (Node::new(), Arc::new(ManualTicks::default()));
        let filters = Filters::new(clock.clone());
        let polled = filters.insert(blocks(&node)).unwrap();
        let forgotten = filters.insert(blocks(&node)).unwrap();
        let poll = |id: &str| filters.with(id, |_| Ok(())).is_ok();
        clock.0.store(299, Ordering::Relaxed);
        assert!(poll(&polled));
        clock.0.store(300, Ordering::Relaxed);
        assert!(poll(&polled) && !poll(&forgotten));
        clock.0.store(599, Ordering::Relaxed);
        assert!(poll(&polled));
        clock.0.store(899, Ordering::Relaxed);
        let error = filters.with(&polled, |_| Ok(())).unwrap_err();
        assert_eq!((error.code(), error.message()), (REFUSED, "filter not found"));
    }

    #[test]
    fn past_the_bound_a_new_filter_replaces_the_one_polled_longest_ago() {
        let (node, clock) = (Node::new(), Arc::new(ManualTicks::default()));
        let filters = Filters::new(clock.clone());
        let ids: Vec<String> = (0..FILTERS_MAX as u64)
            .map(|second| {
                clock.0.store(second / 8, Ordering::Relaxed);
                filters.insert(blocks(&node)).unwrap()
            })
            .collect();
        clock.0.store(200, Ordering::Relaxed);
        for id in &ids[..8] {
            filters.with(id, |_| Ok(())).unwrap();
        }
        assert_eq!(filters.table().len(), FILTERS_MAX);
        filters.insert(blocks(&node)).unwrap();
        assert_eq!(filters.table().len(), FILTERS_MAX);
        let left = ids[8..16].iter().filter(|id| filters.table().contains_key(*id)).count();
        assert_eq!(left, 7, "one of those polled longest ago is gone");
        assert!(ids[..8].iter().all(|id| filters.table().contains_key(id)));
    }
}
