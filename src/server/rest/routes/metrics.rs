//! `GET /v1/blockchains/{blockchainId}/metrics`.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use alloy_primitives::B256;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    node::{BlockRef, NodeView, QueryError},
    platform::{Blockchain, PlatformError, Scope},
    primitives::Height,
    server::{
        api_error::ApiError,
        rest::{
            App,
            endpoint::{Access, Endpoint, Tag},
            parameter::Parameter,
            request::Request,
        },
    },
};

/// Blocks over which rates are measured.
const WINDOW_BLOCKS: u64 = 100;

/// Figures of a chain, in the spelling that was asked for.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
enum MetricsView {
    /// The spelling by default.
    Full(Metrics),
    /// The short spelling.
    Compact(CompactMetrics),
}

/// Figures of a chain.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Metrics {
    /// Height of the newest block.
    current_block: u64,
    /// Mean time between the last 100 blocks, genesis excepted, in seconds; 0 with fewer than two blocks.
    block_time: f64,
    /// Transactions per second over the last 100 blocks; 0 while their timestamps span no second.
    transactions_per_second: f64,
    /// Validators in the genesis specification. Later changes of the validator set are not counted.
    active_validators: usize,
    /// Transactions in all blocks of the chain.
    total_transactions: u64,
    /// Always `0 H/s`: no block here is mined by hashing.
    #[schema(example = "0 H/s")]
    network_hashrate: &'static str,
    /// Base fee of the next block, in gwei; not an average.
    #[schema(example = "0.875 gwei")]
    average_gas_price: String,
    /// Always 100: validators run in the process of the service, and their uptime is not measured.
    validator_uptime: f64,
    /// Transactions in the pool.
    mempool_size: usize,
}

/// Figures of a chain, in short names.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct CompactMetrics {
    /// As `currentBlock`.
    block_height: u64,
    /// As `blockTime`, with its unit.
    #[schema(example = "2s")]
    block_time: String,
    /// As `transactionsPerSecond`.
    tps: f64,
    /// As in the other spelling.
    active_validators: usize,
    /// As in the other spelling.
    total_transactions: u64,
    /// As in the other spelling.
    #[schema(example = "0 H/s")]
    network_hashrate: &'static str,
    /// As `averageGasPrice`.
    #[schema(example = "0.875 gwei")]
    gas_price: String,
    /// As in the other spelling.
    validator_uptime: f64,
    /// As in the other spelling.
    mempool_size: usize,
}

impl From<Metrics> for CompactMetrics {
    fn from(full: Metrics) -> Self {
        Self {
            block_height: full.current_block,
            block_time: format!("{}s", full.block_time),
            tps: full.transactions_per_second,
            active_validators: full.active_validators,
            total_transactions: full.total_transactions,
            network_hashrate: full.network_hashrate,
            gas_price: full.average_gas_price,
            validator_uptime: full.validator_uptime,
            mempool_size: full.mempool_size,
        }
    }
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    let shapes = ["default", "compact"].map(str::to_owned);
    vec![
        Endpoint::get(
            "/v1/blockchains/{blockchainId}/metrics",
            "getBlockchainMetrics",
            Tag::Blockchains,
            Access::Scope(Scope::BlockchainRead),
            "Returns the present figures of a blockchain.",
        )
        .parameter(Parameter::one_of("shape", "Spelling of the figures.", shapes, Some("default")))
        .reads(get),
    ]
}

fn get(app: &App, request: &Request) -> Result<MetricsView, ApiError> {
    let chain = app.platform().blockchains().require(request.principal()?, request.path("blockchainId"))?;
    let metrics = measure(&app.totals, &chain).map_err(PlatformError::internal)?;
    Ok(match request.query("shape") {
        Some("compact") => MetricsView::Compact(metrics.into()),
        _ => MetricsView::Full(metrics),
    })
}

fn measure(totals: &Totals, chain: &Blockchain) -> Result<Metrics, QueryError> {
    let view = chain.node().view();
    let head = view.head().height().get();
    let first = head.saturating_sub(WINDOW_BLOCKS);
    let mut transactions = 0_usize;
    for number in first.saturating_add(1)..=head {
        transactions = transactions
            .saturating_add(view.block(BlockRef::Number(Height::new(number)))?.block().transactions().len());
    }
    let time_of = |number| -> Result<u64, QueryError> {
        Ok(view.block(BlockRef::Number(Height::new(number)))?.block().timestamp().as_secs())
    };
    // Genesis may be years older than the first block: rates start at block 1.
    let from = first.max(1).min(head);
    let secs = time_of(head)?.saturating_sub(time_of(from)?) as f64;
    let blocks = head.saturating_sub(from) as f64;
    let tps = if secs > 0.0 { transactions as f64 / secs } else { 0.0 };
    Ok(Metrics {
        current_block: head,
        block_time: if blocks > 0.0 { secs / blocks } else { 0.0 },
        transactions_per_second: tps,
        active_validators: view.chain().spec().validators.len(),
        total_transactions: totals.count(chain.id(), &view)?,
        network_hashrate: "0 H/s",
        average_gas_price: gwei_text(view.next_base_fee()),
        validator_uptime: 100.0,
        mempool_size: view.pool().len(),
    })
}

/// Returns an amount of wei in gwei, without rounding.
fn gwei_text(wei: u64) -> String {
    let (whole, part) = (wei / 1_000_000_000, wei % 1_000_000_000);
    let digits = format!("{part:09}");
    match digits.trim_end_matches('0') {
        "" => format!("{whole} gwei"),
        part => format!("{whole}.{part} gwei"),
    }
}

/// Number of transactions of each chain up to a block, so that the next request counts only later blocks.
#[derive(Clone, Debug, Default)]
pub(in crate::server::rest) struct Totals(Arc<Mutex<BTreeMap<String, (Height, B256, u64)>>>);

impl Totals {
    fn count(&self, id: &str, view: &NodeView) -> Result<u64, QueryError> {
        let head = view.head();
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(id).copied();
        // A revert or a reorg may have removed the counted block: count from genesis.
        let known = known
            .filter(|(height, hash, _)| view.block(BlockRef::Number(*height)).is_ok_and(|block| block.hash() == *hash));
        let (from, mut total) = known.map_or((0, 0), |(height, _, total)| (height.get(), total));
        for number in from.saturating_add(1)..=head.height().get() {
            let block = view.block(BlockRef::Number(Height::new(number)))?;
            total = total.saturating_add(block.block().transactions().len() as u64);
        }
        let counted = (head.height(), head.hash(), total);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id.to_owned(), counted);
        Ok(total)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_in_gwei_are_exact() {
        for (wei, text) in
            [(0, "0 gwei"), (1, "0.000000001 gwei"), (875_000_000, "0.875 gwei"), (2_000_000_000, "2 gwei")]
        {
            assert_eq!(gwei_text(wei), text);
        }
    }
}
