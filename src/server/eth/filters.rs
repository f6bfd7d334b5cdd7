//! Polled filters for logs, blocks and pending transactions.
//!
//! A block or log filter is a place in the chain ([`HeadCursor`]): a poll reads the changes since the last one, reverts and reorgs
//! included, so that an idle filter costs nothing. A filter that is not polled for five minutes is removed, as in geth.
//!
//! A filter belongs to whose credentials made it: nobody else polls it, and nobody else's filters take its place. Callers without
//! credentials are one.

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
    platform::Subject,
    primitives::Height,
    server::{
        clock::{MonotonicClock, Ticks},
        ids,
        jsonrpc::errors::{LIMIT_EXCEEDED, REFUSED, RpcError, error, internal},
    },
};

/// Installed filters of all callers; past this number, a new one is refused.
const FILTERS_MAX: usize = 1024;
/// Installed filters of one caller; past this number, a new one replaces the caller's own whose last poll is oldest.
const FILTERS_OF_CALLER_MAX: usize = 64;
/// Time after the last poll at which a filter is removed, geth's.
const EXPIRY: Duration = Duration::from_secs(5 * 60);
/// Pending transactions that wait for a poll; further ones are lost and counted.
const PENDING_MAX: usize = 4_096;

pub(super) fn register(methods: &mut Methods) {
    methods.add("eth_newFilter", 1, new_log_filter);
    methods.add("eth_newBlockFilter", 0, |eth, args| {
        eth.filters.insert(args.caller(), Kind::Blocks(HeadCursor::at_head(&eth.view())))
    });
    methods.add("eth_newPendingTransactionFilter", 1, |eth, args| {
        let events = eth.node.subscribe_lossy(|event| matches!(event, NodeEvent::Pending(_)), PENDING_MAX);
        eth.filters.insert(args.caller(), Kind::Pending(events))
    });
    methods.add("eth_getFilterChanges", 1, changes);
    methods.add("eth_getFilterLogs", 1, all_logs);
    methods.add("eth_uninstallFilter", 1, |eth, args| {
        Ok(eth.filters.remove(args.caller(), &args.required::<String>(0, "filter")?))
    });
}

/// The filters of a chain. They are not part of its state: a revert keeps them.
#[derive(Debug)]
pub(super) struct Filters {
    clock: Arc<dyn Ticks>,
    by_id: Mutex<BTreeMap<String, Entry>>,
}

#[derive(Debug)]
struct Entry {
    /// Whose it is; `None` of callers without credentials.
    owner: Option<Subject>,
    /// Time of the last poll, by the clock of [`Filters`].
    polled: Duration,
    filter: Arc<Mutex<Kind>>,
}

impl Entry {
    fn is_of(&self, caller: Option<&Subject>) -> bool {
        self.owner.as_ref() == caller
    }
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

    fn insert(&self, caller: Option<&Subject>, kind: Kind) -> Result<String, RpcError> {
        let id = ids::random_id().map_err(|cause| internal(&cause))?;
        let mut table = self.table();
        let own = || table.iter().filter(move |(_, entry)| entry.is_of(caller));
        if own().count() >= FILTERS_OF_CALLER_MAX {
            let oldest = own().min_by_key(|(_, entry)| entry.polled).map(|(id, _)| id.clone());
            oldest.and_then(|id| table.remove(&id));
        }
        if table.len() >= FILTERS_MAX {
            return Err(too_many());
        }
        let filter = Arc::new(Mutex::new(kind));
        let entry = Entry { owner: caller.cloned(), polled: self.clock.elapsed(), filter };
        table.insert(id.clone(), entry);
        Ok(id)
    }

    fn remove(&self, caller: Option<&Subject>, id: &str) -> bool {
        let mut table = self.table();
        table.get(id).is_some_and(|entry| entry.is_of(caller)) && table.remove(id).is_some()
    }

    /// Runs `poll` on the caller's filter with this id; other filters are not locked meanwhile.
    fn with<T>(
        &self,
        caller: Option<&Subject>,
        id: &str,
        poll: impl FnOnce(&mut Kind) -> Result<T, RpcError>,
    ) -> Result<T, RpcError> {
        let filter = {
            let mut table = self.table();
            let entry = table.get_mut(id).filter(|entry| entry.is_of(caller)).ok_or_else(not_found)?;
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

fn too_many() -> RpcError {
    let message = format!(
        "too many filters: the chain has {FILTERS_MAX}, those of all callers, which is the maximum; try again in {} s, after which those \
         that nobody polls are removed, or subscribe over WebSocket",
        EXPIRY.as_secs()
    );
    error(LIMIT_EXCEEDED, message)
}

fn new_log_filter(eth: &Eth, args: &Args<'_>) -> Result<String, RpcError> {
    let query: LogQuery = args.optional(0, "filter")?.unwrap_or_default();
    logs::refuse_block_hash(&query)?;
    eth.filters.insert(args.caller(), Kind::Logs(Box::new(query), HeadCursor::at_head(&eth.view())))
}

fn changes(eth: &Eth, args: &Args<'_>) -> Result<FilterChanges<RpcTransaction>, RpcError> {
    let id: String = args.required(0, "filter")?;
    eth.filters.with(args.caller(), &id, |kind| match kind {
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
    let query = eth.filters.with(args.caller(), &id, |kind| match kind {
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

    use serde_json::{Value, json};

    use super::*;
    use crate::{
        node::Node,
        platform::{Principal, Role, records::WorkspaceId},
        server::eth::rpc::{EthRpc, extensions_of},
    };

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

    fn key(number: usize) -> Subject {
        Subject::ApiKey(format!("key_{number}"))
    }

    impl Filters {
        fn poll(&self, caller: Option<&Subject>, id: &str) -> Result<(), RpcError> {
            self.with(caller, id, |_| Ok(()))
        }

        fn has(&self, id: &str) -> bool {
            self.table().contains_key(id)
        }
    }

    #[test]
    fn a_filter_expires_five_minutes_after_its_last_poll() {
        let (node, clock) = (Node::new(), Arc::new(ManualTicks::default()));
        let filters = Filters::new(clock.clone());
        let polled = filters.insert(None, blocks(&node)).unwrap();
        let forgotten = filters.insert(None, blocks(&node)).unwrap();
        let poll = |id: &str| filters.poll(None, id).is_ok();
        clock.0.store(299, Ordering::Relaxed);
        assert!(poll(&polled));
        clock.0.store(300, Ordering::Relaxed);
        assert!(poll(&polled) && !poll(&forgotten));
        clock.0.store(599, Ordering::Relaxed);
        assert!(poll(&polled));
        clock.0.store(899, Ordering::Relaxed);
        let error = filters.poll(None, &polled).unwrap_err();
        assert_eq!((error.code(), error.message()), (REFUSED, "filter not found"));
    }

    #[test]
    fn a_filter_is_its_callers_alone() {
        let (node, filters) = (Node::new(), Filters::default());
        let callers = [None, Some(key(1)), Some(key(2)), Some(Subject::User("key_1".to_owned()))];
        let ids = callers.each_ref().map(|caller| filters.insert(caller.as_ref(), blocks(&node)).unwrap());
        for (number, caller) in callers.iter().enumerate() {
            for (other, id) in ids.iter().enumerate().filter(|(other, _)| *other != number) {
                let error = filters.poll(caller.as_ref(), id).unwrap_err();
                assert_eq!((error.code(), error.message()), (REFUSED, "filter not found"), "{caller:?}, {other}");
                assert!(!filters.remove(caller.as_ref(), id), "{caller:?}, {other}");
            }
        }
        for (caller, id) in callers.iter().zip(&ids) {
            filters.poll(caller.as_ref(), id).unwrap();
            assert!(filters.remove(caller.as_ref(), id) && !filters.remove(caller.as_ref(), id), "{caller:?}");
        }
    }

    #[test]
    fn past_its_bound_a_caller_replaces_its_own_filter_that_was_polled_longest_ago() {
        let (node, clock) = (Node::new(), Arc::new(ManualTicks::default()));
        let filters = Filters::new(clock.clone());
        let (one, other) = (key(1), key(2));
        // The other's is the oldest of all.
        let others = filters.insert(Some(&other), blocks(&node)).unwrap();
        let ids: Vec<String> = (1..=FILTERS_OF_CALLER_MAX as u64)
            .map(|second| {
                clock.0.store(second, Ordering::Relaxed);
                filters.insert(Some(&one), blocks(&node)).unwrap()
            })
            .collect();
        assert!(ids.iter().all(|id| filters.has(id)), "at the bound");
        clock.0.store(200, Ordering::Relaxed);
        filters.poll(Some(&one), &ids[0]).unwrap();
        let newest = filters.insert(Some(&one), blocks(&node)).unwrap();
        let gone: Vec<&String> = ids.iter().filter(|id| !filters.has(id)).collect();
        assert_eq!(gone, [&ids[1]], "the first was polled since");
        assert!(filters.has(&newest) && filters.has(&others));
        assert_eq!(filters.table().len(), FILTERS_OF_CALLER_MAX + 1);
    }

    #[test]
    fn past_the_bound_of_all_callers_a_new_filter_is_refused_unless_it_replaces_one() {
        let (node, clock) = (Node::new(), Arc::new(ManualTicks::default()));
        let filters = Filters::new(clock.clone());
        let full = FILTERS_MAX / FILTERS_OF_CALLER_MAX;
        for number in 0..FILTERS_MAX {
            filters.insert(Some(&key(number % full)), blocks(&node)).unwrap();
        }
        let refused = filters.insert(Some(&key(full)), blocks(&node)).unwrap_err();
        assert_eq!(refused.code(), LIMIT_EXCEEDED);
        assert!(refused.message().contains("1024") && refused.message().contains("300 s"), "{}", refused.message());
        let replacing = filters.insert(Some(&key(0)), blocks(&node)).unwrap();
        assert!(filters.has(&replacing));
        assert_eq!(filters.table().len(), FILTERS_MAX);
        clock.0.store(EXPIRY.as_secs(), Ordering::Relaxed);
        filters.insert(Some(&key(full)), blocks(&node)).unwrap();
        assert_eq!(filters.table().len(), 1, "the others have expired");
    }

    /// The subject comes with the call, as the server passes it.
    #[tokio::test]
    async fn a_call_makes_and_polls_filters_of_whose_credentials_it_has() {
        let rpc = EthRpc::new(Node::new());
        let call = async |caller: Option<Subject>, method: &str, params: Value| {
            let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string();
            let workspace = WorkspaceId::new("ws_1").unwrap();
            let principal = caller.map(|subject| Principal::new(subject, workspace, Role::Viewer.cap()));
            let extensions = principal.as_ref().map(extensions_of).unwrap_or_default();
            let answer = rpc.http_service().execute(body.as_bytes(), extensions).await.unwrap();
            serde_json::from_str::<Value>(answer.get()).unwrap()
        };
        for (method, params) in [
            ("eth_newBlockFilter", json!([])),
            ("eth_newFilter", json!([{}])),
            ("eth_newPendingTransactionFilter", json!([])),
        ] {
            let made = call(Some(key(1)), method, params).await["result"].clone();
            for (caller, is_own) in [(None, false), (Some(key(2)), false), (Some(key(1)), true)] {
                let polled = call(caller.clone(), "eth_getFilterChanges", json!([made])).await;
                assert_eq!(polled["result"].is_array(), is_own, "{method}, {caller:?}: {polled}");
                let removed = call(caller, "eth_uninstallFilter", json!([made])).await;
                assert_eq!(removed["result"], is_own, "{method}: {removed}");
            }
        }
    }
}
