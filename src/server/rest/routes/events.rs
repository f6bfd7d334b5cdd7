//! `/v1/blockchains/{blockchainId}/events`: what contracts have emitted.

use alloy_primitives::{Address, B256, Log};
use serde::Serialize;
use utoipa::ToSchema;

use super::view::chain_data;
use crate::{
    chain::LogFilter,
    platform::PlatformError,
    primitives::Height,
    server::{
        api_error::ApiError,
        rest::{
            App,
            endpoint::{Endpoint, Runs},
            page::Page,
            parameter::Parameter,
            request::Request,
        },
    },
};

/// Blocks that one request looks through.
const BLOCKS_MAX: u64 = 1_000;
/// Events that one request finds.
const EVENTS_MAX: usize = 10_000;

/// An event of a contract.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct EventView {
    /// The contract that emitted it.
    address: String,
    /// Its topics, in hex; the first is the hash of its signature.
    topics: Vec<String>,
    /// Its data, in hex.
    data: String,
    /// Height of its block.
    block_number: u64,
    /// Hash of its transaction.
    transaction_hash: String,
}

impl EventView {
    /// Shows a log.
    pub(super) fn new(log: &Log, height: u64, transaction: B256) -> Self {
        Self {
            address: log.address.to_string(),
            topics: log.topics().iter().map(ToString::to_string).collect(),
            data: log.data.data.to_string(),
            block_number: height,
            transaction_hash: transaction.to_string(),
        }
    }
}

/// The parameters of a range of blocks.
pub(super) fn range() -> [Parameter; 2] {
    [
        Parameter::height("fromBlock", "Number of the first block; 999 before the last one by default."),
        Parameter::height("toBlock", "Number of the last block; the newest by default."),
    ]
}

/// Reads the range of blocks that a request asks for.
///
/// # Errors
/// 400 for one that is empty or too long.
pub(super) fn span(request: &Request, head: u64) -> Result<(u64, u64), ApiError> {
    let height = |name| request.query(name).and_then(|text| text.parse::<u64>().ok());
    let to = height("toBlock").unwrap_or(head).min(head);
    let from = height("fromBlock").unwrap_or_else(|| to.saturating_sub(BLOCKS_MAX - 1));
    let wrong = |message: String| Err(ApiError::bad_request(message));
    match to.checked_sub(from) {
        None => wrong(format!("fromBlock {from} is above toBlock {to}, and the newest block is {head}")),
        Some(more) if more >= BLOCKS_MAX => {
            wrong(format!("{from} to {to} are more than {BLOCKS_MAX} blocks: ask for fewer at once"))
        }
        Some(_) => Ok((from, to)),
    }
}

pub(super) fn endpoints() -> Vec<Endpoint> {
    let [from, to] = range();
    vec![
        chain_data(
            "/v1/blockchains/{blockchainId}/events",
            "listEvents",
            "Lists the events in a range of blocks, of at most 1000; in the newest by default.",
        )
        .parameter(from)
        .parameter(to)
        .parameter(Parameter::text("address", "The contract that emitted them.", "^0x[0-9a-fA-F]{40}$", |text| {
            text.starts_with("0x") && text.parse::<Address>().is_ok()
        }))
        .parameter(Parameter::text(
            "topic",
            "Their first topic: the hash of the event's signature.",
            "^0x[0-9a-fA-F]{64}$",
            |text| text.starts_with("0x") && text.parse::<B256>().is_ok(),
        ))
        .runs(Runs::Long)
        .lists(&["position"], list),
    ]
}

fn list(app: &App, request: &Request, page: &Page) -> Result<(Vec<EventView>, u64), ApiError> {
    let chain = app.platform().blockchains().readable(request.principal()?, request.path("blockchainId"))?;
    let view = chain.node().view();
    let (from, to) = span(request, view.head().height().get())?;
    let topic = request.query("topic").and_then(|text| text.parse::<B256>().ok());
    let filter = LogFilter {
        from: Height::new(from),
        to: Height::new(to),
        addresses: request.query("address").and_then(|text| text.parse().ok()).into_iter().collect(),
        topics: topic.map(|topic| vec![topic]).into_iter().collect(),
    };
    let logs = view.logs(&filter, EVENTS_MAX).map_err(|cause| match cause {
        crate::node::QueryError::TooManyResults { .. } => ApiError::bad_request(format!(
            "more than {EVENTS_MAX} events are in blocks {from} to {to}: ask for fewer blocks at once"
        )),
        other => PlatformError::from_query(other).into(),
    })?;
    let total = logs.len() as u64;
    let views = page.select(logs).into_iter();
    Ok((views.map(|found| EventView::new(&found.log, found.height.get(), found.transaction_hash)).collect(), total))
}
