//! `eth_subscribe`: new heads, logs (after a revert or reorg the removed ones first), pending transactions.
//!
//! Heads and logs are read from the chain at the subscriber's pace, from its place on: none is lost, and none waits in memory. A
//! subscriber whose place is lost is told so and closed. Pending transactions may be lost; they are counted.

use std::sync::Arc;

use alloy_rpc_types_eth::pubsub::SubscriptionKind;
use jsonrpsee::types::Params;
use serde::Serialize;
use serde_json::value::RawValue;

use super::{
    Eth, convert,
    logs::{self, LogQuery},
    params::{Args, Argument},
};
use crate::{
    chain::LogFilter,
    node::{HeadChanges, HeadCursorError, HeadFollower, NodeEvent, Subscription},
    server::jsonrpc::errors::{RpcError, invalid_params},
};

/// Heads sent at a time.
const HEADS_PER_STEP: usize = 64;
/// Blocks whose logs are sent at a time: one may have thousands.
const LOG_BLOCKS_PER_STEP: usize = 1;
/// Pending transactions that wait for a slow subscriber; further ones are lost and counted.
const PENDING_MAX: usize = 4_096;

impl Argument for SubscriptionKind {
    const EXPECTED: &'static str = "\"newHeads\", \"logs\", \"newPendingTransactions\" or \"syncing\"";
}

/// A subscription: the source of its results.
#[derive(Debug)]
pub(crate) struct Feed {
    eth: Arc<Eth>,
    topic: Topic,
}

/// Topic of a subscription.
#[derive(Debug)]
enum Topic {
    Heads(HeadFollower),
    Logs(LogFilter, HeadFollower),
    PendingHashes(Subscription),
    PendingTransactions(Subscription),
    /// Sends nothing: this node is always in sync.
    Syncing,
}

/// Why a subscription has no further results.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FeedError {
    /// The subscriber was too slow.
    #[error("the subscription is too slow: {0}; subscribe again")]
    TooSlow(String),
    /// A result could not be written, or the node is gone.
    #[error("the subscription ended: {0}")]
    Ended(String),
}

impl Feed {
    /// Reads the parameters of `eth_subscribe`. Every later change belongs to the subscription.
    ///
    /// # Errors
    /// -32602 for invalid parameters.
    pub(crate) fn open(eth: &Arc<Eth>, params: &Params<'_>) -> Result<Self, RpcError> {
        let args = Args::read(params, 2)?;
        let topic = match args.required::<SubscriptionKind>(0, "kind")? {
            SubscriptionKind::NewHeads => Topic::Heads(eth.node.follow_heads()),
            SubscriptionKind::Logs => {
                let query: LogQuery = args.optional(1, "filter")?.unwrap_or_default();
                logs::refuse_block_hash(&query)?;
                Topic::Logs(logs::matcher(&query), eth.node.follow_heads())
            }
            SubscriptionKind::NewPendingTransactions => {
                let is_full = args.optional(1, "fullTransactions")?.unwrap_or(false);
                let events = eth.node.subscribe_lossy(|event| matches!(event, NodeEvent::Pending(_)), PENDING_MAX);
                if is_full { Topic::PendingTransactions(events) } else { Topic::PendingHashes(events) }
            }
            SubscriptionKind::Syncing => Topic::Syncing,
            _ => {
                return Err(invalid_params(format!(
                    "invalid argument 0 (kind): expected {}",
                    SubscriptionKind::EXPECTED
                )));
            }
        };
        Ok(Self { eth: Arc::clone(eth), topic })
    }

    /// Waits for results and returns them, oldest first; maybe none. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> Result<Vec<Box<RawValue>>, FeedError> {
        match &mut self.topic {
            Topic::Heads(heads) => {
                let changes = heads.next(HEADS_PER_STEP).await.map_err(gap)?;
                changes.added.iter().map(|block| json(&convert::header(block.block()))).collect()
            }
            Topic::Logs(matcher, heads) => {
                let changes = heads.next(LOG_BLOCKS_PER_STEP).await.map_err(gap)?;
                changed_logs(&self.eth, matcher, &changes)
            }
            Topic::PendingHashes(events) => {
                let pending = next_pending(&self.eth, events).await?;
                pending.iter().map(|transaction| json(&transaction.hash())).collect()
            }
            Topic::PendingTransactions(events) => {
                let pending = next_pending(&self.eth, events).await?;
                pending.iter().map(|transaction| json(&convert::pooled_transaction(transaction))).collect()
            }
            Topic::Syncing => std::future::pending().await,
        }
    }
}

/// Returns the logs of changes: removed ones first, as geth sends them.
fn changed_logs(eth: &Eth, matcher: &LogFilter, changes: &HeadChanges) -> Result<Vec<Box<RawValue>>, FeedError> {
    if changes.removed_missing > 0 {
        let missing = changes.removed_missing;
        return Err(FeedError::TooSlow(format!("the logs of {missing} reverted blocks are not kept any more")));
    }
    let mut results = Vec::new();
    for (blocks, removed) in [(&changes.removed, true), (&changes.added, false)] {
        for block in blocks {
            for log in logs::of_block(&eth.logs, block, matcher, removed) {
                results.push(json(&log)?);
            }
        }
    }
    Ok(results)
}

async fn next_pending(
    eth: &Eth,
    events: &mut Subscription,
) -> Result<Option<Arc<crate::primitives::Transaction>>, FeedError> {
    let event = events.next().await.map_err(|cause| FeedError::Ended(cause.to_string()))?;
    eth.counters.count_lost_pending(events.take_lost());
    Ok(match event {
        NodeEvent::Pending(transaction) => Some(transaction),
        _ => None,
    })
}

fn gap(cause: HeadCursorError) -> FeedError {
    match cause {
        HeadCursorError::Closed => FeedError::Ended(cause.to_string()),
        slow => FeedError::TooSlow(slow.to_string()),
    }
}

fn json(value: &impl Serialize) -> Result<Box<RawValue>, FeedError> {
    serde_json::value::to_raw_value(value).map_err(|cause| FeedError::Ended(cause.to_string()))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::{
        node::{HEAD_SWITCHES_MAX, Mining, Node},
        primitives::U256,
        server::{counters::Counters, eth::Development},
        templates::Erc20Params,
    };

    fn eth(node: &Node) -> Arc<Eth> {
        Arc::new(Eth::new(node.clone(), Arc::new(Counters::default()), Development::Open))
    }

    async fn read(feed: &mut Feed) -> Vec<Value> {
        let results = feed.next().await.unwrap();
        results.iter().map(|result| serde_json::from_str(result.get()).unwrap()).collect()
    }

    #[tokio::test]
    async fn a_reader_that_comes_late_gets_every_head() {
        let node = Node::new();
        let mut feed = Feed::open(&eth(&node), &Params::new(Some(r#"["newHeads"]"#))).unwrap();
        let count = 10_000;
        node.mine(count).unwrap();
        let mut next = 1;
        while next <= count {
            for head in read(&mut feed).await {
                assert_eq!(head["number"], format!("{next:#x}"));
                next += 1;
            }
        }
    }

    #[tokio::test]
    async fn a_revert_sends_removed_logs_and_then_the_new_ones() {
        let node = Node::new();
        let mut feed = Feed::open(&eth(&node), &Params::new(Some(r#"["logs",{}]"#))).unwrap();
        let snapshot = node.snapshot();
        let deploy = || {
            let owner = node.accounts()[0];
            node.deploy(owner, Erc20Params::new("Gold", "GLD", U256::from(1), owner).init_code()).unwrap();
        };
        deploy();
        let first = read(&mut feed).await;
        node.revert(snapshot).unwrap();
        node.increase_time(core::time::Duration::from_secs(5));
        deploy();
        let then = read(&mut feed).await;
        assert_eq!(then.len(), 2 * first.len());
        let (removed, added) = then.split_at(first.len());
        assert!(removed.iter().all(|log| log["removed"] == true) && added.iter().all(|log| log["removed"] == false));
        assert_eq!(removed[0]["blockHash"], first[0]["blockHash"]);
        assert_ne!(added[0]["blockHash"], first[0]["blockHash"]);
    }

    #[tokio::test]
    async fn a_reader_whose_place_is_lost_is_told() {
        let node = Node::new();
        let mut feed = Feed::open(&eth(&node), &Params::new(Some(r#"["newHeads"]"#))).unwrap();
        for _ in 0..=HEAD_SWITCHES_MAX {
            let snapshot = node.snapshot();
            node.mine(1).unwrap();
            node.revert(snapshot).unwrap();
        }
        assert!(matches!(feed.next().await, Err(FeedError::TooSlow(_))));
    }

    #[tokio::test]
    async fn pending_transactions_past_the_bound_are_counted() {
        let node = Node::builder().with_mining(Mining::Manual).build().unwrap();
        let eth = eth(&node);
        let mut feed = Feed::open(&eth, &Params::new(Some(r#"["newPendingTransactions"]"#))).unwrap();
        let (from, to) = (node.accounts()[0], node.accounts()[1]);
        for _ in 0..PENDING_MAX + 3 {
            let call = crate::chain::CallRequest::call(to, Vec::new()).with_from(from);
            node.send_request(call.with_gas(crate::primitives::Gas::new(21_000))).unwrap();
        }
        assert_eq!(read(&mut feed).await.len(), 1);
        assert_eq!(eth.counters.lost_pending(), 3);
    }
}
