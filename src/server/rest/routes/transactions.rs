//! `/v1/blockchains/{blockchainId}/transactions`.

use alloy_primitives::B256;
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    events::{EventView, range, span},
    view::chain_data,
};
use crate::{
    chain::ExecutedBlock,
    node::{BlockRef, Located as Found},
    platform::PlatformError,
    primitives::{Height, Transaction},
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

/// A transaction. Amounts are decimal integers of the smallest unit.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct TransactionView {
    /// Its hash.
    hash: String,
    /// pending leads to success or failed, by its block.
    status: TransactionStatus,
    /// Height of its block; null while it is pending.
    block_number: Option<u64>,
    /// Hash of its block; null while it is pending.
    block_hash: Option<String>,
    /// Time of its block: ISO 8601, UTC; null while it is pending.
    timestamp: Option<String>,
    /// Its place in the block, from 0; null while it is pending.
    transaction_index: Option<usize>,
    /// Its sender.
    from: String,
    /// Who it calls or pays; null for one that creates a contract.
    to: Option<String>,
    /// The contract that it made; null where it made none.
    contract_address: Option<String>,
    /// What it pays.
    value: String,
    /// Number of the sender's transactions before it.
    nonce: u64,
    /// Gas limit, in gas units.
    gas_limit: String,
    /// Gas used, in gas units; null while it is pending.
    gas_used: Option<String>,
    /// Price per unit of gas; null while it is pending.
    effective_gas_price: Option<String>,
    /// Its data, in hex.
    input: String,
    /// Its events; empty while it is pending.
    events: Vec<EventView>,
}

/// State of a transaction.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum TransactionStatus {
    Pending,
    Success,
    Failed,
}

impl TransactionView {
    fn pending(transaction: &Transaction) -> Self {
        Self {
            hash: transaction.hash().to_string(),
            status: TransactionStatus::Pending,
            block_number: None,
            block_hash: None,
            timestamp: None,
            transaction_index: None,
            from: transaction.sender().to_string(),
            to: transaction.to().map(|to| to.to_string()),
            contract_address: None,
            value: transaction.value().to_string(),
            nonce: transaction.nonce(),
            gas_limit: transaction.gas_limit().get().to_string(),
            gas_used: None,
            effective_gas_price: None,
            input: transaction.input().to_string(),
            events: Vec::new(),
        }
    }

    fn mined(block: &ExecutedBlock, index: usize, transaction: &Transaction) -> Self {
        let view = Self {
            block_number: Some(block.height().get()),
            block_hash: Some(block.hash().to_string()),
            timestamp: Some(clock::iso_8601(block.timestamp().as_secs().saturating_mul(1_000))),
            transaction_index: Some(index),
            ..Self::pending(transaction)
        };
        let Some(receipt) = block.receipts().get(index) else { return view };
        let events = receipt.logs().iter();
        Self {
            status: if receipt.is_success() { TransactionStatus::Success } else { TransactionStatus::Failed },
            contract_address: receipt.contract_address.map(|address| address.to_string()),
            gas_used: Some(receipt.gas_used.get().to_string()),
            effective_gas_price: Some(receipt.effective_gas_price.to_string()),
            events: events.map(|log| EventView::new(log, block.height().get(), transaction.hash())).collect(),
            ..view
        }
    }
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    let [from, to] = range();
    vec![
        chain_data(
            "/v1/blockchains/{blockchainId}/transactions",
            "listTransactions",
            "Lists the transactions in a range of blocks, of at most 1000; in the newest by default.",
        )
        .parameter(from)
        .parameter(to)
        .runs(Runs::Long)
        .lists(&["position"], list),
        chain_data(
            "/v1/blockchains/{blockchainId}/transactions/{hash}",
            "getTransaction",
            "Returns a transaction that a block or the pool has.",
        )
        .reads(get),
    ]
}

fn list(app: &App, request: &Request, page: &Page) -> Result<(Vec<TransactionView>, u64), ApiError> {
    let chain = app.platform().blockchains().readable(request.principal()?, request.path("blockchainId"))?;
    let view = chain.node().view();
    let (from, to) = span(request, view.head().height().get())?;
    let mut all = Vec::new();
    for height in from..=to {
        let block = view.block(BlockRef::Number(Height::new(height))).map_err(PlatformError::from_query)?;
        all.extend((0..block.transactions().len()).map(|index| (block.clone(), index)));
    }
    let total = all.len() as u64;
    let shown = page.select(all).into_iter();
    let views = shown
        .filter_map(|(block, index)| Some(TransactionView::mined(&block, index, block.transactions().get(index)?)));
    Ok((views.collect(), total))
}

fn get(app: &App, request: &Request) -> Result<TransactionView, ApiError> {
    let chain = app.platform().blockchains().readable(request.principal()?, request.path("blockchainId"))?;
    let text = request.path("hash");
    let not_found = || PlatformError::not_found("transaction", text);
    let hash: B256 = text.parse().map_err(|_| not_found())?;
    let found = chain.node().view().transaction(hash).map_err(PlatformError::from_query)?;
    match found.ok_or_else(not_found)? {
        Found::Pooled(transaction) => Ok(TransactionView::pending(&transaction)),
        Found::Mined { block, index } => {
            let index = index as usize;
            let transaction = block.transactions().get(index).ok_or_else(not_found)?;
            Ok(TransactionView::mined(&block, index, transaction))
        }
    }
}
