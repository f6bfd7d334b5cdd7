//! Blocks by number, tag and hash.

use alloy_eips::{BlockId, BlockNumberOrTag};
use alloy_primitives::{B256, U64};
use alloy_rpc_types_eth::{Block as RpcBlock, Header as RpcHeader};

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

fn by_number(eth: &Eth, args: &Args<'_>) -> Result<Option<RpcBlock>, RpcError> {
    let full = args.optional(1, "fullTransactions")?.unwrap_or(false);
    let view = eth.view();
    if args.required::<BlockNumberOrTag>(0, "block")?.is_pending() {
        return Ok(Some(convert::pending_block(&view, full)));
    }
    Ok(find_by_number(&view, args)?.map(|block| convert::block(block.block(), full)))
}

fn by_hash(eth: &Eth, args: &Args<'_>) -> Result<Option<RpcBlock>, RpcError> {
    let full = args.optional(1, "fullTransactions")?.unwrap_or(false);
    Ok(find_by_hash(&eth.view(), args)?.map(|block| convert::block(block.block(), full)))
}

fn header_by_number(eth: &Eth, args: &Args<'_>) -> Result<Option<RpcHeader>, RpcError> {
    Ok(find_by_number(&eth.view(), args)?.map(|block| convert::header(block.block())))
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
