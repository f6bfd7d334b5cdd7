//! `GET /v1/blockchains/{blockchainId}/metrics`.

use axum::{
    extract::{Query, State},
    http::HeaderMap,
};
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    App,
    envelope::ApiResponse,
    query::{Params, refuse_unknown},
    request::ResourceId,
    schema::{Failure, Success},
};
use crate::{
    platform::{ChainMetrics, Scope},
    server::api_error::ApiError,
};

/// Figures of a chain. Two fields with the same figure serve clients of two versions of the service.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Metrics {
    /// Height of the newest block.
    current_block: u64,
    /// The same as currentBlock.
    block_height: u64,
    /// Mean time between the last 100 blocks, genesis excepted, in seconds; 0 with fewer than two blocks.
    block_time: f64,
    /// Transactions per second over the last 100 blocks; 0 while their timestamps span no second.
    transactions_per_second: f64,
    /// The same as transactionsPerSecond.
    tps: f64,
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
    /// The same as averageGasPrice.
    #[schema(example = "0.875 gwei")]
    gas_price: String,
    /// Part of the validators' duties in the last 100 blocks that were done, in percent; null before the first block.
    validator_uptime: Option<f64>,
    /// Transactions in the pool.
    mempool_size: u64,
}

/// Returns figures of a chain. Scope blockchain:read.
#[utoipa::path(
    get, path = "/v1/blockchains/{blockchainId}/metrics", tag = "Blockchains", operation_id = "getBlockchainMetrics",
    params(("blockchainId" = String, Path, description = "Id of the chain")),
    responses(
        (status = 200, description = "The present figures", body = Success<Metrics>), (status = 401, description = "No valid credentials", body = Failure),
        (status = 403, description = "The scope is missing", body = Failure), (status = 404, description = "No such chain", body = Failure),
    ),
)]
pub(super) async fn get(
    State(app): State<App>,
    headers: HeaderMap,
    ResourceId(id): ResourceId,
    Query(params): Query<Params>,
) -> Result<ApiResponse, ApiError> {
    let principal = app.authorize(&headers, Scope::BlockchainRead)?;
    refuse_unknown(&params, &[])?;
    let blockchains = app.chains.platform().blockchains();
    let chain = blockchains.readable(&principal, &id)?;
    ApiResponse::ok(&Metrics::from(blockchains.metrics(&chain)?))
}

impl From<ChainMetrics> for Metrics {
    fn from(metrics: ChainMetrics) -> Self {
        let price = gwei_text(metrics.average_gas_price);
        Self {
            current_block: metrics.current_block,
            block_height: metrics.current_block,
            block_time: metrics.block_time_secs,
            transactions_per_second: metrics.transactions_per_second,
            tps: metrics.transactions_per_second,
            active_validators: metrics.active_validators,
            total_transactions: metrics.total_transactions,
            network_hashrate: "0 H/s",
            average_gas_price: price.clone(),
            gas_price: price,
            validator_uptime: metrics.validator_uptime,
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
