//! Reorganisations: `anvil_reorg` and `anvil_rollback`, with anvil's parameters.

use alloy_primitives::Bytes;
use alloy_rpc_types_eth::TransactionRequest;
use serde::Deserialize;

use super::mining::{mine_error, records_failed};
use crate::{
    node::{BlockRef, NodeView, QueryError, REORG_DEPTH_MAX, ReorgError, Submission},
    primitives::{B256, Height},
    server::{
        eth::{
            Eth, Methods, convert,
            params::{Args, Argument, Quantity},
        },
        jsonrpc::errors::{REFUSED, RpcError, error, internal, invalid_params},
    },
};

pub(super) fn register(methods: &mut Methods) {
    methods.add_all(&["anvil_reorg"], 2, reorg);
    methods.add_all(&["anvil_rollback"], 1, rollback);
}

/// A transaction as anvil takes it: raw and signed, or the object of `eth_sendTransaction`.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Given {
    Raw(Bytes),
    Request(Box<TransactionRequest>),
}

/// Transactions, each with the block of the new branch that it is in, from 0.
type Placed = Vec<(Given, Quantity)>;

impl Argument for Placed {
    const EXPECTED: &'static str = "a list of [transaction, block index], each transaction raw bytes or an object";
}

/// `anvil_reorg(depth, [[transaction, block index], ...])`.
fn reorg(eth: &Eth, args: &Args<'_>) -> Result<(), RpcError> {
    let Quantity(depth) = args.required(0, "depth")?;
    let placed: Placed = args.optional(1, "transactions")?.unwrap_or_default();
    let sender = eth.node.accounts().first().copied();
    let transactions = placed.into_iter().map(|(given, Quantity(block))| {
        let submission = match given {
            Given::Raw(raw) => Submission::Raw(raw),
            Given::Request(request) => convert::call_request(*request, sender)?.into(),
        };
        Ok((submission, block))
    });
    let transactions = transactions.collect::<Result<Vec<_>, RpcError>>()?;
    rewinding(eth, depth, || eth.node.reorg(depth, transactions).map(drop))
}

/// `anvil_rollback(depth)`; one block without a depth.
fn rollback(eth: &Eth, args: &Args<'_>) -> Result<(), RpcError> {
    let depth = args.optional(0, "depth")?.map_or(1, |Quantity(depth)| depth);
    rewinding(eth, depth, || eth.node.rollback(depth).map(drop))
}

/// Runs a command that takes the newest blocks back, and takes the records beside the chain back with them.
fn rewinding(eth: &Eth, depth: u64, command: impl FnOnce() -> Result<(), ReorgError>) -> Result<(), RpcError> {
    let Some(records) = &eth.records else { return command().map_err(reorg_error) };
    let newest = transactions_of(&eth.view(), depth);
    command().map_err(reorg_error)?;
    let lost = newest.and_then(|newest| gone(&eth.view(), newest)).map_err(|cause| internal(&cause))?;
    records.rewind(&lost).map_err(|cause| records_failed(&cause))
}

/// Hashes of the transactions in the newest blocks, of at most as many as can be taken back.
fn transactions_of(view: &NodeView, depth: u64) -> Result<Vec<B256>, QueryError> {
    let head = view.head().height().get();
    let kept = head.saturating_sub(depth.min(REORG_DEPTH_MAX));
    let mut hashes = Vec::new();
    for height in kept.saturating_add(1)..=head {
        let block = view.block(BlockRef::Number(Height::new(height)))?;
        hashes.extend(block.transactions().iter().map(|transaction| transaction.hash()));
    }
    Ok(hashes)
}

/// Those of the transactions that neither a block nor the pool has.
fn gone(view: &NodeView, hashes: Vec<B256>) -> Result<Vec<B256>, QueryError> {
    let mut gone = Vec::new();
    for hash in hashes {
        if view.transaction(hash)?.is_none() {
            gone.push(hash);
        }
    }
    Ok(gone)
}

fn reorg_error(cause: ReorgError) -> RpcError {
    match cause {
        ReorgError::TooDeep { .. } | ReorgError::BlockIndex { .. } => invalid_params(cause.to_string()),
        ReorgError::Transaction { source, .. } => convert::send_error(source),
        ReorgError::Mine(cause) => mine_error(cause),
        other => error(REFUSED, other.to_string()),
    }
}
