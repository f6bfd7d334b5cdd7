//! `eth_getLogs`, and log matching for filters and subscriptions.

use alloy_eips::BlockNumberOrTag;
use alloy_rpc_types_eth::{Filter, FilterBlockOption, Log as RpcLog};

use super::{Eth, Methods, convert, params::Args, shared_logs::SharedLogs};
use crate::{
    chain::{ExecutedBlock, LogFilter},
    node::{BlockRef, NodeView},
    primitives::Height,
    server::jsonrpc::errors::{INVALID_PARAMS, RpcError, error, invalid_params},
};

/// Logs in one response.
const LOGS_MAX: usize = 1_000_000;
/// Blocks searched between two looks at whether the caller is still there.
const BLOCKS_PER_STEP: u64 = 1_000;

pub(super) fn register(methods: &mut Methods) {
    methods.add("eth_getLogs", 1, |eth: &Eth, args: &Args<'_>| {
        let filter: Filter = args.required(0, "filter")?;
        find(&eth.view(), &filter, args)
    });
}

/// Returns the canonical logs that a filter matches, oldest first; with `blockHash` those of that block, canonical or not.
///
/// Searches in steps, between which a caller that has left ends it.
pub(super) fn find(view: &NodeView, filter: &Filter, args: &Args<'_>) -> Result<Vec<RpcLog>, RpcError> {
    if let Some(hash) = filter.get_block_hash() {
        let block = view.block(BlockRef::Hash(hash)).map_err(convert::query_error)?;
        return Ok(matcher(filter).select(&block).into_iter().map(|log| convert::log(log, false)).collect());
    }
    let Some(mut criteria) = criteria(view, filter)? else { return Ok(Vec::new()) };
    let (mut found, last) = (Vec::new(), criteria.to);
    loop {
        args.check_cancelled()?;
        criteria.to = last.min(Height::new(criteria.from.get().saturating_add(BLOCKS_PER_STEP - 1)));
        let left = LOGS_MAX.saturating_sub(found.len());
        let logs = view.logs(&criteria, left).map_err(convert::query_error)?;
        found.extend(logs.into_iter().map(|log| convert::log(log, false)));
        if criteria.to >= last {
            return Ok(found);
        }
        criteria.from = criteria.to.next();
    }
}

/// Returns the logs of one block that `matcher` matches, regardless of its block range.
pub(super) fn of_block(
    shared: &SharedLogs,
    block: &ExecutedBlock,
    matcher: &LogFilter,
    removed: bool,
) -> impl Iterator<Item = RpcLog> {
    let logs = matcher.may_match(&block.block().header().logs_bloom).then(|| shared.of_block(block));
    let logs: Vec<RpcLog> =
        logs.iter().flat_map(|logs| logs.iter()).filter(|log| matcher.matches(&log.inner)).cloned().collect();
    logs.into_iter().map(move |log| RpcLog { removed, ..log })
}

/// Returns addresses and topics of a filter, without a block range.
pub(super) fn matcher(filter: &Filter) -> LogFilter {
    let mut topics: Vec<Vec<_>> = filter.topics.iter().map(|set| sorted(set.iter().copied())).collect();
    while topics.last().is_some_and(Vec::is_empty) {
        topics.pop();
    }
    LogFilter::default().with_addresses(sorted(filter.address.iter().copied())).with_topics(topics)
}

/// Converts a filter with a block range; `None` for a range without blocks.
fn criteria(view: &NodeView, filter: &Filter) -> Result<Option<LogFilter>, RpcError> {
    let (from, to) = match filter.block_option {
        FilterBlockOption::AtBlockHash(_) => return Ok(None),
        FilterBlockOption::Range { from_block, to_block } => {
            let head = view.head().height();
            let height = |tag: Option<BlockNumberOrTag>| match tag.unwrap_or_default() {
                BlockNumberOrTag::Latest | BlockNumberOrTag::Pending => Ok(head),
                BlockNumberOrTag::Number(number) => Ok(Height::new(number)),
                tag => view.block(convert::tag_ref(tag)).map(|block| block.height()).map_err(convert::query_error),
            };
            let (from, to) = (height(from_block)?, height(to_block)?);
            // From the next block up to a tag is what pollers ask for, so only two numbers can be an error.
            if from > to
                && matches!(
                    (from_block, to_block),
                    (Some(BlockNumberOrTag::Number(_)), Some(BlockNumberOrTag::Number(_)))
                )
            {
                return Err(error(INVALID_PARAMS, format!("invalid block range params: from {from} to {to}")));
            }
            if from > head || from > to {
                return Ok(None);
            }
            (from, to.min(head))
        }
    };
    let mut criteria = matcher(filter);
    (criteria.from, criteria.to) = (from, to);
    Ok(Some(criteria))
}

/// Returns the members of a set in ascending order.
fn sorted<T: Ord>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut values: Vec<T> = values.collect();
    values.sort_unstable();
    values
}

/// Refuses `blockHash` in the criteria of a filter or subscription.
pub(super) fn refuse_block_hash(filter: &Filter) -> Result<(), RpcError> {
    match filter.get_block_hash() {
        Some(_) => Err(invalid_params(
            "invalid argument: blockHash is for eth_getLogs only; filters and subscriptions match new blocks",
        )),
        None => Ok(()),
    }
}
