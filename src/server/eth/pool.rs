//! `txpool_*`: pending transactions, and queued ones with the reason.

use std::collections::BTreeMap;

use alloy_primitives::{Address, U64};
use serde_json::{Map, Value, json};

use super::{Eth, Methods, convert, params::Args};
use crate::{
    chain::{Pool, PooledTransaction},
    server::jsonrpc::errors::RpcError,
};

pub(super) fn register(methods: &mut Methods) {
    methods.add("txpool_status", 0, status);
    methods.add("txpool_content", 0, |eth, _| Ok(all(eth.view().pool(), content_of)));
    methods.add("txpool_inspect", 0, |eth, _| Ok(all(eth.view().pool(), summary_of)));
    methods.add("txpool_contentFrom", 1, content_from);
}

fn status(eth: &Eth, _: &Args<'_>) -> Result<Value, RpcError> {
    let (ready, queued) = eth.view().pool().counts();
    Ok(json!({ "pending": U64::from(ready), "queued": U64::from(queued) }))
}

fn all(pool: &Pool, show: impl Fn(&PooledTransaction) -> Value) -> Value {
    listing(pool, &pool.content(), show)
}

fn content_from(eth: &Eth, args: &Args<'_>) -> Result<Value, RpcError> {
    let address: Address = args.required(0, "address")?;
    let view = eth.view();
    let all = listing(view.pool(), &view.pool().content_of(&address), content_of);
    let of = |kind: &str| all[kind].get(address.to_checksum(None)).cloned().unwrap_or_else(|| json!({}));
    Ok(json!({ "pending": of("pending"), "queued": of("queued") }))
}

/// Returns geth's form: pending and queued, each by sender, then by nonce in decimal. As in geth, pending is what nonce and balance
/// allow, also where the fee is below the base fee.
fn listing(pool: &Pool, all: &[PooledTransaction], show: impl Fn(&PooledTransaction) -> Value) -> Value {
    let mut kinds: [BTreeMap<Address, Map<String, Value>>; 2] = Default::default();
    for pooled in all {
        let (sender, nonce) = (pooled.transaction.sender(), pooled.transaction.nonce());
        let is_ready = pool.pending_nonce(&sender).is_some_and(|next| nonce < next);
        let by_nonce = kinds[usize::from(!is_ready)].entry(sender).or_default();
        by_nonce.insert(nonce.to_string(), show(pooled));
    }
    let [pending, queued] = kinds.map(|senders| {
        let checksummed = senders.into_iter().map(|(sender, by_nonce)| (sender.to_checksum(None), by_nonce.into()));
        Value::Object(checksummed.collect())
    });
    json!({ "pending": pending, "queued": queued })
}

fn content_of(pooled: &PooledTransaction) -> Value {
    serde_json::to_value(convert::pooled_transaction(&pooled.transaction)).unwrap_or(Value::Null)
}

/// Returns `to: value wei + gas limit gas x fee wei`, with the reason where the next block can't contain it.
fn summary_of(pooled: &PooledTransaction) -> Value {
    let transaction = &pooled.transaction;
    let to = transaction.to().map_or_else(|| "contract creation".to_owned(), |to| to.to_checksum(None));
    let mut text = format!(
        "{to}: {} wei + {} gas \u{d7} {} wei",
        transaction.value(),
        transaction.gas_limit().get(),
        transaction.max_fee_per_gas()
    );
    if let Some(reason) = &pooled.excluded {
        text = format!("{text} ({reason})");
    }
    text.into()
}
