//! Receipts by transaction and by block.

use alloy_rpc_types_eth::TransactionReceipt;

use super::{Eth, Methods, convert, params::Args};
use crate::{node::Located, server::jsonrpc::errors::RpcError};

pub(super) fn register(methods: &mut Methods) {
    methods.add("eth_getTransactionReceipt", 1, by_transaction);
    methods.add("eth_getBlockReceipts", 1, of_block);
}

fn by_transaction(eth: &Eth, args: &Args<'_>) -> Result<Option<TransactionReceipt>, RpcError> {
    let view = eth.view();
    let found = view.transaction(args.required(0, "hash")?).map_err(convert::query_error)?;
    let Some(Located::Mined { block, index }) = found else { return Ok(None) };
    Ok(convert::receipt(&block, index as usize))
}

fn of_block(eth: &Eth, args: &Args<'_>) -> Result<Option<Vec<TransactionReceipt>>, RpcError> {
    let Some(block) = convert::find_block(&eth.view(), args.block(0)?)? else { return Ok(None) };
    Ok(Some((0..block.receipts().len()).filter_map(|index| convert::receipt(&block, index)).collect()))
}
