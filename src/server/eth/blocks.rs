//! Blocks by number, tag and hash.

use alloy_eips::{BlockId, BlockNumberOrTag};
use alloy_primitives::{B256, U64};
use alloy_rpc_types_eth::{Block as RpcBlock, Header as RpcHeader};
use serde::Serialize;
use serde_json::Value;

use super::{
    Eth, Methods, convert,
    params::{Args, Argument},
};
use crate::{chain::ExecutedBlock, node::NodeView, server::jsonrpc::errors::RpcError};

pub(super) fn register(methods: &mut Methods) {
    methods.add("eth_getBlockByNumber", 2, by_number);
    methods.add("eth_getBlockByHash", 2, by_hash);
    methods.add("eth_getHeaderByNumber", 1, header_by_number);
    methods.add("eth_getHeaderByHash", 1, header_by_hash);
    methods.add("eth_getBlockTransactionCountByNumber", 1, count_by_number);
    methods.add("eth_getBlockTransactionCountByHash", 1, count_by_hash);
    methods.add("eth_getUncleCountByBlockNumber", 1, |eth, args| {
        Ok(find_by_number(&eth.view(), args)?.map(|_| U64::ZERO))
    });
    methods.add("eth_getUncleCountByBlockHash", 1, |eth, args| Ok(find_by_hash(&eth.view(), args)?.map(|_| U64::ZERO)));
    methods.add("eth_getUncleByBlockNumberAndIndex", 2, |_, _| Ok(None::<RpcBlock>));
    methods.add("eth_getUncleByBlockHashAndIndex", 2, |_, _| Ok(None::<RpcBlock>));
}

impl Argument for BlockNumberOrTag {
    const EXPECTED: &'static str =
        "a block number in hex, \"latest\", \"pending\", \"earliest\", \"safe\" or \"finalized\"";
}

/// A block or header of the chain, or the pending one.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
enum Shown<T> {
    Made(T),
    Pending(Value),
}

fn by_number(eth: &Eth, args: &Args<'_>) -> Result<Option<Shown<RpcBlock>>, RpcError> {
    let full = args.optional(1, "fullTransactions")?.unwrap_or(false);
    let Some(found) = find_by_number(&eth.view(), args)? else { return Ok(None) };
    let block = found.block();
    let shown = if is_pending(args)? {
        Shown::Pending(convert::pending_block(block, full)?)
    } else {
        Shown::Made(convert::block(block, full))
    };
    Ok(Some(shown))
}

/// Whether the first parameter is the tag of the pending block.
pub(super) fn is_pending(args: &Args<'_>) -> Result<bool, RpcError> {
    Ok(args.required::<BlockNumberOrTag>(0, "block")?.is_pending())
}

fn by_hash(eth: &Eth, args: &Args<'_>) -> Result<Option<RpcBlock>, RpcError> {
    let full = args.optional(1, "fullTransactions")?.unwrap_or(false);
    Ok(find_by_hash(&eth.view(), args)?.map(|block| convert::block(block.block(), full)))
}

fn header_by_number(eth: &Eth, args: &Args<'_>) -> Result<Option<Shown<RpcHeader>>, RpcError> {
    let Some(found) = find_by_number(&eth.view(), args)? else { return Ok(None) };
    let shown = if is_pending(args)? {
        Shown::Pending(convert::pending_header(found.block())?)
    } else {
        Shown::Made(convert::header(found.block()))
    };
    Ok(Some(shown))
}

fn header_by_hash(eth: &Eth, args: &Args<'_>) -> Result<Option<RpcHeader>, RpcError> {
    Ok(find_by_hash(&eth.view(), args)?.map(|block| convert::header(block.block())))
}

fn count_by_number(eth: &Eth, args: &Args<'_>) -> Result<Option<U64>, RpcError> {
    Ok(find_by_number(&eth.view(), args)?.map(|block| U64::from(block.block().transactions().len())))
}

fn count_by_hash(eth: &Eth, args: &Args<'_>) -> Result<Option<U64>, RpcError> {
    Ok(find_by_hash(&eth.view(), args)?.map(|block| U64::from(block.block().transactions().len())))
}

/// Returns the block that the first parameter names by number or tag.
pub(super) fn find_by_number(view: &NodeView, args: &Args<'_>) -> Result<Option<ExecutedBlock>, RpcError> {
    convert::find_block(view, BlockId::Number(args.required(0, "block")?))
}

/// Returns the block that the first parameter names by hash.
pub(super) fn find_by_hash(view: &NodeView, args: &Args<'_>) -> Result<Option<ExecutedBlock>, RpcError> {
    convert::find_block(view, BlockId::hash(args.required::<B256>(0, "blockHash")?))
}
