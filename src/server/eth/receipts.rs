//! Receipts, each at the same cost whatever the size of its block.

use std::sync::{Arc, Mutex, PoisonError};

use alloy_primitives::B256;
use alloy_rpc_types_eth::TransactionReceipt;

use super::{Eth, Methods, convert, params::Args};
use crate::{
    chain::{ExecutedBlock, Receipt},
    node::Located,
    server::jsonrpc::errors::RpcError,
};

/// Blocks whose log indices are kept; readers ask for the receipts of recent blocks.
const BLOCKS_MAX: usize = 8;

pub(super) fn register(methods: &mut Methods) {
    methods.add("eth_getTransactionReceipt", 1, by_transaction);
    methods.add("eth_getBlockReceipts", 1, of_block);
}

fn by_transaction(eth: &Eth, args: &Args<'_>) -> Result<Option<TransactionReceipt>, RpcError> {
    let view = eth.view();
    let found = view.transaction(args.required(0, "hash")?).map_err(convert::query_error)?;
    let Some(Located::Mined { block, index }) = found else { return Ok(None) };
    let index = index as usize;
    let first_log_index = eth.log_indices.first_of(block.hash(), block.receipts(), index);
    Ok(convert::receipt(&block, index, first_log_index))
}

fn of_block(eth: &Eth, args: &Args<'_>) -> Result<Option<Vec<TransactionReceipt>>, RpcError> {
    Ok(convert::find_block(&eth.view(), args.block(0)?)?.map(|block| all_of(&block)))
}

/// Every receipt of a block, in order.
pub(super) fn all_of(block: &ExecutedBlock) -> Vec<TransactionReceipt> {
    let mut log_index = 0;
    let mut all = Vec::with_capacity(block.receipts().len());
    for (index, receipt) in block.receipts().iter().enumerate() {
        all.extend(convert::receipt(block, index, log_index));
        log_index += receipt.logs().len() as u64;
    }
    all
}

/// The index of each receipt's first log within its block, kept for the blocks asked last.
#[derive(Debug, Default)]
pub(super) struct LogIndices(Mutex<Vec<(B256, Arc<[u64]>)>>);

impl LogIndices {
    fn first_of(&self, block: B256, receipts: &[Receipt], index: usize) -> u64 {
        if receipts.len() == 1 {
            return 0;
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, indices)) = kept.iter().find(|(hash, _)| *hash == block) {
            return indices.get(index).copied().unwrap_or(0);
        }
        let indices: Arc<[u64]> = receipts
            .iter()
            .scan(0, |next, receipt| {
                let first = *next;
                *next += receipt.logs().len() as u64;
                Some(first)
            })
            .collect();
        let first = indices.get(index).copied().unwrap_or(0);
        if kept.len() == BLOCKS_MAX {
            kept.remove(0);
        }
        kept.push((block, indices));
        first
    }
}
