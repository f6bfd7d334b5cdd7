//! Polled filters for logs, blocks and pending transactions.
//!
//! A block or log filter stores the head of its last poll. A poll reads the changes since then, reorgs included, from the
//! block tree, so that an idle filter costs nothing.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use alloy_primitives::{B256, U64};
use alloy_rpc_types_eth::{Filter, FilterChanges, Log as RpcLog, Transaction as RpcTransaction};

use super::{Eth, Methods, convert, logs, params::Args};
use crate::{
    chain::ExecutedBlock,
    node::{BlockRef, NodeEvent, NodeView, Subscription, SubscriptionError},
    primitives::Height,
    server::jsonrpc::errors::{NOT_FOUND, REFUSED, RpcError, error},
};

/// Installed filters; past this number, a new one replaces the one whose last poll is oldest.
const FILTERS_MAX: usize = 1024;

pub(super) fn register(methods: &mut Methods) {
    methods.add("eth_newFilter", 1, new_log_filter);
    methods.add("eth_newBlockFilter", 0, |eth, _| Ok(eth.filters.insert(Kind::Blocks(Cursor::at_head(&eth.view())))));
    methods.add("eth_newPendingTransactionFilter", 1, |eth, _| {
        Ok(eth.filters.insert(Kind::Pending(eth.node.subscribe_to(is_pending))))
    });
    methods.add("eth_getFilterChanges", 1, changes);
    methods.add("eth_getFilterLogs", 1, all_logs);
    methods.add("eth_uninstallFilter", 1, |eth, args| Ok(eth.filters.remove(args.required(0, "filter")?)));
}

/// The filters of a chain. They are not part of its state: a revert keeps them.
#[derive(Debug, Default)]
pub(super) struct Filters(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    next_id: u64,
    /// Number of polls so far, which orders filters by their last poll.
    polls: u64,
    /// Filters by id, each with the number of its last poll.
    by_id: BTreeMap<u64, (u64, Kind)>,
}

#[derive(Debug)]
enum Kind {
    Logs(Box<Filter>, Cursor),
    Blocks(Cursor),
    Pending(Subscription),
}

/// The head at the last poll of a filter.
#[derive(Clone, Copy, Debug)]
struct Cursor {
    height: Height,
    hash: B256,
}

impl Filters {
    fn insert(&self, kind: Kind) -> U64 {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if table.by_id.len() >= FILTERS_MAX {
            let oldest = table.by_id.iter().min_by_key(|(_, (polled, _))| *polled).map(|(id, _)| *id);
            oldest.and_then(|id| table.by_id.remove(&id));
        }
        table.next_id = table.next_id.saturating_add(1);
        table.polls = table.polls.saturating_add(1);
        let (id, polled) = (table.next_id, table.polls);
        table.by_id.insert(id, (polled, kind));
        U64::from(id)
    }

    fn remove(&self, id: U64) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).by_id.remove(&id.to()).is_some()
    }

    /// Runs `poll` on the filter with this id.
    fn with<T>(&self, id: U64, poll: impl FnOnce(&mut Kind) -> Result<T, RpcError>) -> Result<T, RpcError> {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.polls = table.polls.saturating_add(1);
        let polls = table.polls;
        let (polled, kind) = table.by_id.get_mut(&id.to()).ok_or_else(|| error(NOT_FOUND, "filter not found"))?;
        *polled = polls;
        poll(kind)
    }
}

impl super::params::Argument for U64 {
    const EXPECTED: &'static str = "a filter id (0x and hex digits)";
}

const fn is_pending(event: &NodeEvent) -> bool {
    matches!(event, NodeEvent::Pending(_))
}

fn new_log_filter(eth: &Eth, args: &Args<'_>) -> Result<U64, RpcError> {
    let filter: Filter = args.optional(0, "filter")?.unwrap_or_default();
    logs::refuse_block_hash(&filter)?;
    Ok(eth.filters.insert(Kind::Logs(Box::new(filter), Cursor::at_head(&eth.view()))))
}

fn changes(eth: &Eth, args: &Args<'_>) -> Result<FilterChanges<RpcTransaction>, RpcError> {
    let view = eth.view();
    eth.filters.with(args.required(0, "filter")?, |kind| match kind {
        Kind::Blocks(cursor) => {
            let (_, added) = cursor.advance(&view)?;
            Ok(FilterChanges::Hashes(added.iter().map(|block| block.hash()).collect()))
        }
        Kind::Logs(filter, cursor) => {
            let (removed, added) = cursor.advance(&view)?;
            let mut found: Vec<RpcLog> = Vec::new();
            for (blocks, removed) in [(removed, true), (added, false)] {
                for block in blocks.iter().filter(|block| is_in_range(filter, block.height())) {
                    found.extend(logs::of_block(block, filter, removed));
                }
            }
            Ok(FilterChanges::Logs(found))
        }
        Kind::Pending(events) => {
            let mut hashes = Vec::new();
            loop {
                match events.try_next() {
                    Ok(NodeEvent::Pending(transaction)) => hashes.push(transaction.hash()),
                    Ok(_) => {}
                    Err(SubscriptionError::Lagged { .. }) => {
                        *events = eth.node.subscribe_to(is_pending);
                        return Err(error(
                            REFUSED,
                            "the filter was polled too rarely and missed transactions: it starts again from here",
                        ));
                    }
                    Err(_) => break,
                }
            }
            Ok(FilterChanges::Hashes(hashes))
        }
    })
}

fn all_logs(eth: &Eth, args: &Args<'_>) -> Result<Vec<RpcLog>, RpcError> {
    let filter = eth.filters.with(args.required(0, "filter")?, |kind| match kind {
        Kind::Logs(filter, _) => Ok(filter.clone()),
        _ => Err(error(REFUSED, "filter not found: the filter with this id is not a log filter")),
    })?;
    logs::find(&eth.view(), &filter)
}

fn is_in_range(filter: &Filter, height: Height) -> bool {
    filter.get_from_block().is_none_or(|from| height.get() >= from)
        && filter.get_to_block().is_none_or(|to| height.get() <= to)
}

impl Cursor {
    fn at_head(view: &NodeView) -> Self {
        let head = view.head();
        Self { height: head.height(), hash: head.hash() }
    }

    /// Moves to the head and returns the blocks removed (newest first) and added (oldest first) since the last poll.
    fn advance(&mut self, view: &NodeView) -> Result<(Vec<ExecutedBlock>, Vec<ExecutedBlock>), RpcError> {
        let head = view.head();
        let mut removed = Vec::new();
        let mut common = *self;
        loop {
            let canonical = view.block(BlockRef::Number(common.height)).ok();
            if canonical.is_some_and(|block| block.hash() == common.hash) {
                break;
            }
            // A revert removes blocks from the tree too, so they can't be listed: continue from the parent's height.
            let Ok(block) = view.block(BlockRef::Hash(common.hash)) else {
                let parent = common.height.parent().unwrap_or_default();
                let fallback = view.block(BlockRef::Number(parent.min(head.height()))).map_err(convert::query_error)?;
                common = Self { height: fallback.height(), hash: fallback.hash() };
                break;
            };
            let Some(parent) = block.height().parent() else { break };
            common = Self { height: parent, hash: block.block().parent_hash() };
            removed.push(block);
        }
        let mut added = Vec::new();
        for number in common.height.get().saturating_add(1)..=head.height().get() {
            added.push(view.block(BlockRef::Number(Height::new(number))).map_err(convert::query_error)?);
        }
        *self = Self { height: head.height(), hash: head.hash() };
        Ok((removed, added))
    }
}
