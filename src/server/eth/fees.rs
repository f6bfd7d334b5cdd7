//! Gas prices (EIP-1559): base fee, tips, history.

use alloy_eips::{BlockId, BlockNumberOrTag};
use alloy_primitives::U128;
use alloy_rpc_types_eth::FeeHistory;

use super::{
    Eth, Methods, convert,
    params::{Args, Quantity},
};
use crate::{
    chain::{ExecutedBlock, next_base_fee},
    node::{BlockRef, NodeView},
    primitives::{Gas, Height},
    server::jsonrpc::errors::{RpcError, invalid_params, unknown_block},
};

/// Blocks of one fee history, geth's bound.
const HISTORY_BLOCKS_MAX: u64 = 1024;
/// Percentiles of one fee history, geth's bound.
const PERCENTILES_MAX: usize = 100;

pub(super) fn register(methods: &mut Methods) {
    methods.add("eth_gasPrice", 0, gas_price);
    methods.add("eth_maxPriorityFeePerGas", 0, |eth, _| Ok(U128::from(eth.node.suggested_tip())));
    methods.add("eth_feeHistory", 3, fee_history);
    methods.add("eth_blobBaseFee", 0, |_, _| Ok(U128::from(1)));
}

fn gas_price(eth: &Eth, _: &Args<'_>) -> Result<U128, RpcError> {
    Ok(U128::from(eth.node.suggested_tip().saturating_add(eth.view().next_base_fee().into())))
}

fn fee_history(eth: &Eth, args: &Args<'_>) -> Result<FeeHistory, RpcError> {
    let Quantity(count) = args.required(0, "blockCount")?;
    let newest: BlockNumberOrTag = args.optional(1, "newestBlock")?.unwrap_or_default();
    let percentiles: Vec<f64> = args.optional(2, "rewardPercentiles")?.unwrap_or_default();
    check_percentiles(&percentiles)?;
    let view = eth.view();
    let newest = convert::find_block(&view, BlockId::Number(newest))?.ok_or_else(|| unknown_block(newest))?;
    let end = newest.height().get().saturating_add(1);
    let count = count.min(HISTORY_BLOCKS_MAX).min(end);
    if count == 0 {
        return Ok(FeeHistory::default());
    }
    let oldest = end.saturating_sub(count);
    let mut history =
        FeeHistory { oldest_block: oldest, reward: (!percentiles.is_empty()).then(Vec::new), ..Default::default() };
    for number in oldest..end {
        // The newest may be the pending block, which has no place in the chain.
        let block = match Height::new(number) {
            height if height == newest.height() => newest.clone(),
            height => view.block(BlockRef::Number(height)).map_err(convert::query_error)?,
        };
        history.base_fee_per_gas.push(u128::from(block.block().base_fee().unwrap_or(0)));
        history.gas_used_ratio.push(gas_used_ratio(&block));
        history.base_fee_per_blob_gas.push(blob_base_fee(&block));
        history.blob_gas_used_ratio.push(0.0);
        if let Some(rewards) = &mut history.reward {
            rewards.push(tips_at(&block, &percentiles));
        }
    }
    history.base_fee_per_gas.push(u128::from(base_fee_after(&view, &newest)?));
    history.base_fee_per_blob_gas.push(blob_base_fee(&newest));
    Ok(history)
}

/// Returns the base fee of blob gas: the least, 1, where headers have the field (EIP-4844), else 0.
fn blob_base_fee(block: &ExecutedBlock) -> u128 {
    block.block().header().excess_blob_gas.map_or(0, |_| 1)
}

/// Returns the base fee of the block after `block`, which for the head is the next block's; after the pending block by its gas.
fn base_fee_after(view: &NodeView, block: &ExecutedBlock) -> Result<u64, RpcError> {
    if block.height() > view.head().height() {
        let header = block.block().header();
        let params = view.chain().base_fee_params(view.head()).map_err(|error| convert::query_error(error.into()))?;
        let (used, limit) = (Gas::new(header.gas_used), Gas::new(header.gas_limit));
        let after = params.zip(header.base_fee_per_gas).map(|(params, fee)| next_base_fee(params, used, limit, fee));
        return Ok(after.unwrap_or(0));
    }
    if block.height() == view.head().height() {
        return Ok(view.next_base_fee());
    }
    let child = view.block(BlockRef::Number(block.height().next())).map_err(convert::query_error)?;
    Ok(child.block().base_fee().unwrap_or(0))
}

fn check_percentiles(percentiles: &[f64]) -> Result<(), RpcError> {
    if percentiles.len() > PERCENTILES_MAX {
        return Err(invalid_params(format!(
            "over the query limit {PERCENTILES_MAX}: {} percentiles",
            percentiles.len()
        )));
    }
    let in_bounds = percentiles.iter().all(|percentile| (0.0..=100.0).contains(percentile));
    let rising = percentiles.windows(2).all(|pair| pair[0] <= pair[1]);
    if in_bounds && rising {
        Ok(())
    } else {
        Err(invalid_params("invalid reward percentile: between 0 and 100, rising"))
    }
}

fn gas_used_ratio(block: &ExecutedBlock) -> f64 {
    match block.block().header().gas_limit {
        0 => 0.0,
        limit => block.block().gas_used().get() as f64 / limit as f64,
    }
}

/// Returns the tips at `percentiles` of a block's gas, ordered by tip, as geth computes them; zeros for an empty block.
fn tips_at(executed: &ExecutedBlock, percentiles: &[f64]) -> Vec<u128> {
    let block = executed.block();
    let base_fee = block.base_fee().unwrap_or(0);
    let mut tips: Vec<(u128, u64)> = block
        .transactions()
        .iter()
        .zip(executed.receipts())
        .map(|(transaction, receipt)| {
            (transaction.effective_tip_per_gas(base_fee).unwrap_or(0), receipt.gas_used.get())
        })
        .collect();
    tips.sort_unstable();
    let gas_used = block.gas_used().get() as f64;
    percentiles
        .iter()
        .map(|percentile| {
            let threshold = (gas_used * percentile / 100.0) as u64;
            let mut sum = 0_u64;
            let reached = tips.iter().find(|(_, gas)| {
                sum = sum.saturating_add(*gas);
                sum >= threshold
            });
            reached.or(tips.last()).map_or(0, |(tip, _)| *tip)
        })
        .collect()
}
