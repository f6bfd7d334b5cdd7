//! Finding, sending and signing transactions.

use alloy_primitives::{Address, B256, Bytes};
use alloy_rpc_types_eth::{Transaction as RpcTransaction, TransactionRequest};
use serde_json::{Value, json};

use super::{
    Eth, Methods, accounts, blocks, convert,
    params::{Args, Quantity},
};
use crate::{
    chain::{CallRequest, ExecutedBlock},
    node::{Located, Node, Submission},
    server::jsonrpc::errors::{RpcError, invalid_params},
};

pub(super) fn register(methods: &mut Methods) {
    methods.add("eth_getTransactionByHash", 1, by_hash);
    methods.add("eth_getRawTransactionByHash", 1, raw_by_hash);
    methods.add("eth_getTransactionByBlockNumberAndIndex", 2, |eth, args| {
        let block = blocks::find_by_number(&eth.view(), args)?;
        if !blocks::is_pending(args)? {
            return at_index(block, args);
        }
        // A transaction of the pending block is in no block yet.
        let (block, index) = (block.as_ref().map(ExecutedBlock::block), index(args)?);
        let found = block.and_then(|block| block.transactions().get(index));
        Ok(found.map(|transaction| convert::pooled_transaction(transaction)))
    });
    methods.add("eth_getTransactionByBlockHashAndIndex", 2, |eth, args| {
        at_index(blocks::find_by_hash(&eth.view(), args)?, args)
    });
    methods.add("eth_sendRawTransaction", 1, send_raw);
    methods.add("eth_sendTransaction", 1, send);
    methods.add("eth_sendUnsignedTransaction", 1, send);
    methods.add("eth_signTransaction", 1, sign);
}

fn by_hash(eth: &Eth, args: &Args<'_>) -> Result<Option<RpcTransaction>, RpcError> {
    let found = eth.view().transaction(args.required(0, "hash")?).map_err(convert::query_error)?;
    Ok(match found {
        Some(Located::Mined { block, index }) => convert::transaction_in(block.block(), index as usize),
        Some(Located::Pooled(transaction)) => Some(convert::pooled_transaction(&transaction)),
        None => None,
    })
}

fn raw_by_hash(eth: &Eth, args: &Args<'_>) -> Result<Option<Bytes>, RpcError> {
    let found = eth.view().transaction(args.required(0, "hash")?).map_err(convert::query_error)?;
    Ok(match found {
        Some(Located::Mined { block, index }) => block.block().transaction(index).map(|found| found.encoded()),
        Some(Located::Pooled(transaction)) => Some(transaction.encoded()),
        None => None,
    })
}

fn at_index(block: Option<ExecutedBlock>, args: &Args<'_>) -> Result<Option<RpcTransaction>, RpcError> {
    let index = index(args)?;
    Ok(block.and_then(|block| convert::transaction_in(block.block(), index)))
}

fn index(args: &Args<'_>) -> Result<usize, RpcError> {
    let Quantity(index) = args.required(1, "index")?;
    Ok(usize::try_from(index).unwrap_or(usize::MAX))
}

fn send_raw(eth: &Eth, args: &Args<'_>) -> Result<B256, RpcError> {
    eth.node.send_raw(&args.required::<Bytes>(0, "transaction")?).map_err(convert::send_error)
}

fn send(eth: &Eth, args: &Args<'_>) -> Result<B256, RpcError> {
    let request = request(&eth.node, args)?;
    eth.node.send_request(request.clone()).map_err(|cause| convert::request_error(&eth.node, &request, cause))
}

/// Reads the call of a method that sends, of which a batch makes one command.
pub(super) fn submission(node: &Node, method: &str, args: &Args<'_>) -> Result<Submission, RpcError> {
    match method {
        "eth_sendRawTransaction" => args.required(0, "transaction").map(Submission::Raw),
        _ => request(node, args).map(Submission::from),
    }
}

fn request(node: &Node, args: &Args<'_>) -> Result<CallRequest, RpcError> {
    let request: TransactionRequest = args.required(0, "transaction")?;
    if request.from.is_none() && node.accounts().is_empty() {
        return Err(invalid_params("invalid argument 0 (transaction): from is missing and no account is unlocked"));
    }
    convert::call_request(request, node.accounts().first().copied())
}

/// `eth_signTransaction`: signs without sending; returns geth's `{ raw, tx }`.
fn sign(eth: &Eth, args: &Args<'_>) -> Result<Value, RpcError> {
    let request: TransactionRequest = args.required(0, "transaction")?;
    let from: Address =
        request.from.ok_or_else(|| invalid_params("invalid argument 0 (transaction): from is missing"))?;
    if !eth.node.keys().iter().any(|key| key.address() == from) {
        return Err(accounts::unknown_account(from));
    }
    let request = convert::call_request(request, None)?;
    let filled = eth.node.fill(request.clone());
    let transaction = filled.map_err(|cause| convert::request_error(&eth.node, &request, cause))?;
    Ok(json!({ "raw": transaction.encoded(), "tx": convert::pooled_transaction(&transaction) }))
}
