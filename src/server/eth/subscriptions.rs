//! `eth_subscribe` over WebSocket: new heads, logs (in a reorg removed ones first), pending transactions.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use alloy_rpc_types_eth::{Filter, pubsub::SubscriptionKind};
use jsonrpsee::{
    PendingSubscriptionSink, SubscriptionSink,
    core::{server::SubscriptionMessage, traits::IdProvider},
    types::{Params, SubscriptionId},
};
use serde::Serialize;

use super::{
    Eth, Methods, convert, logs,
    params::{Args, Argument},
};
use crate::{
    node::NodeEvent,
    server::jsonrpc::errors::{RpcError, invalid_params},
};

pub(super) fn register(methods: &mut Methods) {
    let registered = methods.0.register_subscription(
        "eth_subscribe",
        "eth_subscription",
        "eth_unsubscribe",
        |params, pending, eth, _| subscribe(params, pending, eth),
    );
    debug_assert!(registered.is_ok(), "eth_subscribe is registered twice");
}

/// Source of subscription ids: hex quantities, which Ethereum clients expect.
#[derive(Debug, Default)]
pub(crate) struct HexIds(AtomicU64);

impl IdProvider for HexIds {
    fn next_id(&self) -> SubscriptionId<'static> {
        format!("{:#x}", self.0.fetch_add(1, Ordering::Relaxed).saturating_add(1)).into()
    }
}

impl Argument for SubscriptionKind {
    const EXPECTED: &'static str = "\"newHeads\", \"logs\", \"newPendingTransactions\" or \"syncing\"";
}

/// Topic of a subscription.
enum Topic {
    Heads,
    Logs(Box<Filter>),
    PendingHashes,
    PendingTransactions,
    /// Sends nothing: this node is always in sync.
    Syncing,
}

impl Topic {
    fn read(params: &Params<'_>) -> Result<Self, RpcError> {
        let args = Args::read(params, 2)?;
        match args.required::<SubscriptionKind>(0, "kind")? {
            SubscriptionKind::NewHeads => Ok(Self::Heads),
            SubscriptionKind::Logs => {
                let filter: Filter = args.optional(1, "filter")?.unwrap_or_default();
                logs::refuse_block_hash(&filter)?;
                Ok(Self::Logs(Box::new(filter)))
            }
            SubscriptionKind::NewPendingTransactions => {
                Ok(match args.optional(1, "fullTransactions")?.unwrap_or(false) {
                    true => Self::PendingTransactions,
                    false => Self::PendingHashes,
                })
            }
            SubscriptionKind::Syncing => Ok(Self::Syncing),
            _ => Err(invalid_params(format!("invalid argument 0 (kind): expected {}", SubscriptionKind::EXPECTED))),
        }
    }
}

async fn subscribe(params: Params<'static>, pending: PendingSubscriptionSink, eth: Arc<Eth>) {
    let topic = match Topic::read(&params) {
        Ok(topic) => topic,
        Err(error) => return pending.reject(error).await,
    };
    // Before the response is sent, so that no later event is missed.
    let mut events = eth.node.subscribe();
    let Ok(sink) = pending.accept().await else { return };
    loop {
        let event = tokio::select! {
            () = sink.closed() => return,
            event = events.next() => event,
        };
        // A subscriber that is too slow is disconnected: the node does not wait for it.
        let Ok(event) = event else { return };
        if !forward(&topic, event, &sink).await {
            return;
        }
    }
}

/// Sends the parts of an event that belong to the topic; `false` when the subscriber has closed.
async fn forward(topic: &Topic, event: NodeEvent, sink: &SubscriptionSink) -> bool {
    match (topic, event) {
        (Topic::Heads, NodeEvent::Head { added, .. }) => {
            for block in added.iter() {
                if !send(sink, &convert::header(block.block())).await {
                    return false;
                }
            }
        }
        (Topic::Logs(filter), NodeEvent::Head { removed, added, .. }) => {
            for (blocks, removed) in [(removed, true), (added, false)] {
                for block in blocks.iter() {
                    for log in logs::of_block(block, filter, removed) {
                        if !send(sink, &log).await {
                            return false;
                        }
                    }
                }
            }
        }
        (Topic::PendingHashes, NodeEvent::Pending(transaction)) => return send(sink, &transaction.hash()).await,
        (Topic::PendingTransactions, NodeEvent::Pending(transaction)) => {
            return send(sink, &convert::pooled_transaction(&transaction)).await;
        }
        _ => {}
    }
    true
}

async fn send(sink: &SubscriptionSink, value: &impl Serialize) -> bool {
    match SubscriptionMessage::new(sink.method_name(), sink.subscription_id(), value) {
        Ok(message) => sink.send(message).await.is_ok(),
        Err(_) => false,
    }
}
