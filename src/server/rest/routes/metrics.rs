//! `GET /v1/blockchains/{blockchainId}/metrics`.

use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    platform::{ChainMetrics, Scope},
    server::{
        api_error::ApiError,
        rest::{
            App,
            endpoint::{Access, Endpoint, Tag},
            error_code::ErrorCode,
            parameter::Parameter,
            request::Request,
        },
    },
};

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
    /// Validators that the protocol counts now.
    active_validators: u64,
    /// Transactions in all blocks of the chain.
    total_transactions: u64,
    /// Always `0 H/s`: no block here is mined by hashing.
    #[schema(example = "0 H/s")]
    network_hashrate: &'static str,
    /// Mean price per unit of gas that the transactions of the last 100 blocks paid, in gwei; without any the next block's base fee.
    #[schema(example = "0.875 gwei")]
    average_gas_price: String,
    /// Part of the validators' duties in the last 100 blocks that were done, in percent; 100 before the first duty.
    #[schema(minimum = 0, maximum = 100)]
    validator_uptime: f64,
    /// Transactions in the pool.
    mempool_size: u64,
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
    active_validators: u64,
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
    mempool_size: u64,
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
        .fails_with(&[ErrorCode::Conflict])
        .parameter(Parameter::one_of("shape", "Spelling of the figures.", shapes, Some("default")))
        .reads(get),
    ]
}

fn get(app: &App, request: &Request) -> Result<MetricsView, ApiError> {
    let blockchains = app.platform().blockchains();
    let chain = blockchains.readable(request.principal()?, request.path("blockchainId"))?;
    let metrics = Metrics::from(blockchains.metrics(&chain)?);
    Ok(match request.query("shape") {
        Some("compact") => MetricsView::Compact(metrics.into()),
        _ => MetricsView::Full(metrics),
    })
}

impl From<ChainMetrics> for Metrics {
    fn from(metrics: ChainMetrics) -> Self {
        Self {
            current_block: metrics.current_block,
            block_time: metrics.block_time_secs,
            transactions_per_second: metrics.transactions_per_second,
            active_validators: metrics.active_validators,
            total_transactions: metrics.total_transactions,
            network_hashrate: "0 H/s",
            average_gas_price: gwei_text(metrics.average_gas_price),
            validator_uptime: metrics.uptime_percent(),
            mempool_size: metrics.mempool_size,
        }
    }
}

/// Returns an amount of wei in gwei, without rounding.
fn gwei_text(wei: u128) -> String {
    let (whole, part) = (wei / 1_000_000_000, wei % 1_000_000_000);
    let digits = format!("{part:09}");
    match digits.trim_end_matches('0') {
        "" => format!("{whole} gwei"),
        part => format!("{whole}.{part} gwei"),
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
