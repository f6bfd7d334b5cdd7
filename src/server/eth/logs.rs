//! `eth_getLogs`, and log matching for filters and subscriptions.

use alloy_eips::BlockNumberOrTag;
use alloy_rpc_types_eth::{Filter, FilterBlockOption, Log as RpcLog};
use serde::{Deserialize, Deserializer, de, de::IgnoredAny};
use serde_json::value::RawValue;

use super::{
    Eth, Methods, convert,
    params::{Args, Argument},
    shared_logs::SharedLogs,
};
use crate::{
    chain::{ExecutedBlock, LogFilter},
    node::{BlockRef, NodeView, QueryError},
    primitives::Height,
    server::jsonrpc::errors::{INVALID_PARAMS, RpcError, error, invalid_params},
};

/// Logs in one response.
const LOGS_MAX: usize = 1_000_000;
/// Blocks searched between two looks at whether the caller is still there.
const BLOCKS_PER_STEP: u64 = 1_000;

pub(super) fn register(methods: &mut Methods) {
    methods.add("eth_getLogs", 1, |eth: &Eth, args: &Args<'_>| {
        let query: LogQuery = args.required(0, "filter")?;
        find(&eth.view(), &query, args)
    });
}

/// A log filter as a client sends it.
#[derive(Clone, Debug, Default)]
pub(super) struct LogQuery {
    pub(super) filter: Filter,
    /// Positions in `topics`. A log with fewer topics does not match, as in geth, whatever the last positions match.
    topic_positions: usize,
}

impl<'de> Deserialize<'de> for LogQuery {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // `Filter` always has four positions.
        #[derive(Deserialize)]
        struct Positions {
            topics: Option<Vec<IgnoredAny>>,
        }
        let text = Box::<RawValue>::deserialize(deserializer)?;
        let filter = serde_json::from_str(text.get()).map_err(de::Error::custom)?;
        let Positions { topics } = serde_json::from_str(text.get()).map_err(de::Error::custom)?;
        Ok(Self { filter, topic_positions: topics.map_or(0, |topics| topics.len()) })
    }
}

impl Argument for LogQuery {
    const EXPECTED: &'static str = "a log filter (fromBlock, toBlock or blockHash, address, at most 4 topics)";
}

/// Returns the canonical logs that a filter matches, oldest first; with `blockHash` those of that block, canonical or not.
///
/// Searches in steps, between which a caller that has left ends it.
pub(super) fn find(view: &NodeView, query: &LogQuery, args: &Args<'_>) -> Result<Vec<RpcLog>, RpcError> {
    if let Some(hash) = query.filter.get_block_hash() {
        let block = view.block(BlockRef::Hash(hash)).map_err(convert::query_error)?;
        return Ok(matcher(query).select(&block).into_iter().map(|log| convert::log(log, false)).collect());
    }
    let Some(mut criteria) = criteria(view, query)? else { return Ok(Vec::new()) };
    let (mut found, last) = (Vec::new(), criteria.to);
    loop {
        args.check_cancelled()?;
        criteria.to = last.min(Height::new(criteria.from.get().saturating_add(BLOCKS_PER_STEP - 1)));
        let left = LOGS_MAX.saturating_sub(found.len());
        let logs = view.logs(&criteria, left).map_err(|cause| match cause {
            QueryError::TooManyResults { .. } => convert::query_error(QueryError::TooManyResults { max: LOGS_MAX }),
            other => convert::query_error(other),
        })?;
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
pub(super) fn matcher(query: &LogQuery) -> LogFilter {
    let filter = &query.filter;
    let positions = filter.topics.iter().take(query.topic_positions);
    let topics = positions.map(|set| sorted(set.iter().copied())).collect();
    LogFilter::default().with_addresses(sorted(filter.address.iter().copied())).with_topics(topics)
}

/// Converts a filter with a block range; `None` for a range without blocks.
fn criteria(view: &NodeView, query: &LogQuery) -> Result<Option<LogFilter>, RpcError> {
    let (from, to) = match query.filter.block_option {
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
    let mut criteria = matcher(query);
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
pub(super) fn refuse_block_hash(query: &LogQuery) -> Result<(), RpcError> {
    match query.filter.get_block_hash() {
        Some(_) => Err(invalid_params(
            "invalid argument: blockHash is for eth_getLogs only; filters and subscriptions match new blocks",
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{Address, B256, Log};

    use super::*;

    const TOPIC: &str = "0x0101010101010101010101010101010101010101010101010101010101010101";

    /// A log with `count` topics, the first one [`TOPIC`].
    fn log(count: usize) -> Log {
        let topics = (1..=count as u8).map(B256::repeat_byte).collect();
        Log::new(Address::ZERO, topics, Default::default()).unwrap()
    }

    #[test]
    fn every_position_of_a_filter_needs_a_topic_as_in_geth() {
        for (topics, fewest) in [
            ("[]".to_owned(), 0),
            ("null".to_owned(), 0),
            ("[null]".to_owned(), 1),
            ("[[]]".to_owned(), 1),
            ("[null, null, null, null]".to_owned(), 4),
            (format!("[\"{TOPIC}\"]"), 1),
            (format!("[\"{TOPIC}\", null]"), 2),
            (format!("[[\"{TOPIC}\"], [], null]"), 3),
            (format!("[[null, \"{TOPIC}\"], [null]]"), 2),
        ] {
            let query: LogQuery = serde_json::from_str(&format!("{{\"topics\": {topics}}}")).unwrap();
            let matcher = matcher(&query);
            for count in 0..=4 {
                assert_eq!(matcher.matches(&log(count)), count >= fewest, "{topics}, a log with {count}");
            }
        }
        for invalid in ["{\"topics\": [null, null, null, null, null]}", "{\"topics\": 5}", "[]", "{\"topics\": [1]}"] {
            assert!(serde_json::from_str::<LogQuery>(invalid).is_err(), "{invalid}");
        }
        assert!(matcher(&LogQuery::default()).matches(&log(0)));
    }
}
