//! Reorganisations: `anvil_reorg` and `anvil_rollback`, with anvil's parameters.

use alloy_primitives::Bytes;
use alloy_rpc_types_eth::TransactionRequest;
use serde::Deserialize;

use super::mining::mine_error;
use crate::{
    node::{ReorgError, Submission},
    server::{
        eth::{
            Eth, Methods, convert,
            params::{Args, Argument, Quantity},
        },
        jsonrpc::errors::{REFUSED, RpcError, error, invalid_params},
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
    eth.node.reorg(depth, transactions).map(drop).map_err(reorg_error)
}

/// `anvil_rollback(depth)`; one block without a depth.
fn rollback(eth: &Eth, args: &Args<'_>) -> Result<(), RpcError> {
    let depth = args.optional(0, "depth")?.map_or(1, |Quantity(depth)| depth);
    eth.node.rollback(depth).map(drop).map_err(reorg_error)
}

fn reorg_error(cause: ReorgError) -> RpcError {
    match cause {
        ReorgError::TooDeep { .. } | ReorgError::BlockIndex { .. } => invalid_params(cause.to_string()),
        ReorgError::Transaction { source, .. } => convert::send_error(source),
        ReorgError::Mine(cause) => mine_error(cause),
        other => error(REFUSED, other.to_string()),
    }
}
