//! `/v1/blockchains/{blockchainId}/blocks`.

use alloy_primitives::B256;
use serde::Serialize;
use utoipa::ToSchema;

use super::view::chain_data;
use crate::{
    chain::ExecutedBlock,
    node::BlockRef,
    platform::PlatformError,
    primitives::Height,
    server::{
        api_error::ApiError,
        clock,
        rest::{
            App,
            endpoint::{Endpoint, Runs},
            page::Page,
            request::Request,
        },
    },
};

/// A block. Amounts are decimal integers of the smallest unit.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct BlockView {
    /// Its height.
    number: u64,
    /// Its hash.
    hash: String,
    /// Hash of its parent.
    parent_hash: String,
    /// Its time: ISO 8601, UTC.
    timestamp: String,
    /// Address of the key that sealed it.
    miner: String,
    /// Gas limit, in gas units.
    gas_limit: String,
    /// Gas used, in gas units.
    gas_used: String,
    /// Base fee per unit of gas; null on a chain without one.
    base_fee_per_gas: Option<String>,
    /// Root of the state after it.
    state_root: String,
    /// Root of its transactions.
    transactions_root: String,
    /// Root of their receipts.
    receipts_root: String,
    /// Its length, in bytes.
    size: usize,
    /// Number of its transactions.
    transaction_count: usize,
    /// Hashes of its transactions.
    transactions: Vec<String>,
}

impl BlockView {
    fn new(executed: &ExecutedBlock) -> Self {
        let block = executed.block();
        let header = block.header();
        Self {
            number: block.height().get(),
            hash: block.hash().to_string(),
            parent_hash: block.parent_hash().to_string(),
            timestamp: clock::iso_8601(block.timestamp().as_secs().saturating_mul(1_000)),
            miner: header.beneficiary.to_string(),
            gas_limit: header.gas_limit.to_string(),
            gas_used: block.gas_used().get().to_string(),
            base_fee_per_gas: block.base_fee().map(|fee| fee.to_string()),
            state_root: header.state_root.to_string(),
            transactions_root: header.transactions_root.to_string(),
            receipts_root: header.receipts_root.to_string(),
            size: block.size(),
            transaction_count: block.transactions().len(),
            transactions: block.transactions().iter().map(|transaction| transaction.hash().to_string()).collect(),
        }
    }
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    vec![
        chain_data(
            "/v1/blockchains/{blockchainId}/blocks",
            "listBlocks",
            "Lists the blocks of a blockchain, by number.",
        )
        .runs(Runs::Long)
        .lists(&["number"], list),
        chain_data(
            "/v1/blockchains/{blockchainId}/blocks/{block}",
            "getBlock",
            "Returns a block by its number, its hash, or latest, safe, finalized, earliest.",
        )
        .reads(get),
    ]
}

fn list(app: &App, request: &Request, page: &Page) -> Result<(Vec<BlockView>, u64), ApiError> {
    let chain = app.platform().blockchains().readable(request.principal()?, request.path("blockchainId"))?;
    let view = chain.node().view();
    let head = view.head().height().get();
    let total = head.saturating_add(1);
    let (skipped, count, newest_first) = page.window();
    let mut found = Vec::new();
    for place in skipped..skipped.saturating_add(count).min(total) {
        let height = if newest_first { head.saturating_sub(place) } else { place };
        let block = view.block(BlockRef::Number(Height::new(height))).map_err(PlatformError::from_query)?;
        found.push(BlockView::new(&block));
    }
    Ok((found, total))
}

fn get(app: &App, request: &Request) -> Result<BlockView, ApiError> {
    let chain = app.platform().blockchains().readable(request.principal()?, request.path("blockchainId"))?;
    let text = request.path("block");
    let at = block_ref(text).ok_or_else(|| PlatformError::not_found("block", text))?;
    let block = chain.node().view().block(at).map_err(PlatformError::from_query)?;
    Ok(BlockView::new(&block))
}

/// Reads the name of a block that is made: a number, a hash or a tag.
pub(super) fn block_ref(text: &str) -> Option<BlockRef> {
    match text {
        "latest" => Some(BlockRef::Latest),
        "safe" => Some(BlockRef::Safe),
        "finalized" => Some(BlockRef::Finalized),
        "earliest" => Some(BlockRef::Earliest),
        hash if hash.starts_with("0x") && hash.len() == 66 => hash.parse::<B256>().ok().map(BlockRef::Hash),
        number => number.parse().ok().map(|number| BlockRef::Number(Height::new(number))),
    }
}
