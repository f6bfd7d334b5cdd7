//! Conversions between the engine's types and those of the Ethereum JSON-RPC.

use alloy_consensus::{ReceiptEnvelope, ReceiptWithBloom, transaction::Recovered};
use alloy_eips::{self as eips, BlockNumberOrTag};
use alloy_primitives::{Address, B256, Bytes, TxKind, U256};
use alloy_rpc_types_eth::{
    Block as RpcBlock, BlockTransactions, Header as RpcHeader, Log as RpcLog, Transaction as RpcTransaction,
    TransactionReceipt, TransactionRequest, state::StateOverride,
};
use alloy_sol_types::{Revert, SolError as _};
use serde::Serialize;
use serde_json::Value;

use crate::{
    chain::{AccountOverride, Block, CallOutcome, CallRequest, ExecutedBlock, LocatedLog, StateOverrides},
    node::{BlockRef, EngineError, MineError, Node, NodeView, QueryError, SendError},
    primitives::{Height, Transaction},
    server::{
        decode,
        jsonrpc::errors::{
            self, HALTED, LIMIT_EXCEEDED, NOT_FOUND, PRUNED, REFUSED, RpcError, command_failed, error, internal,
            invalid_params,
        },
    },
    vm::HaltReason,
};

/// Converts a block parameter.
///
/// # Errors
/// -32000 for a block that is not canonical although `requireCanonical` is set (EIP-1898).
pub(crate) fn block_ref(view: &NodeView, id: eips::BlockId) -> Result<BlockRef, RpcError> {
    match id {
        eips::BlockId::Number(number) => Ok(tag_ref(number)),
        eips::BlockId::Hash(hash) => {
            let id = BlockRef::Hash(hash.block_hash);
            if hash.require_canonical == Some(true) {
                view.block(id).map_err(query_error)?;
                if !view.chain().is_canonical(hash.block_hash) {
                    return Err(error(REFUSED, "hash is not currently canonical"));
                }
            }
            Ok(id)
        }
    }
}

/// Converts a block number or tag.
pub(crate) const fn tag_ref(number: BlockNumberOrTag) -> BlockRef {
    match number {
        BlockNumberOrTag::Latest => BlockRef::Latest,
        BlockNumberOrTag::Pending => BlockRef::Pending,
        BlockNumberOrTag::Earliest => BlockRef::Earliest,
        BlockNumberOrTag::Safe => BlockRef::Safe,
        BlockNumberOrTag::Finalized => BlockRef::Finalized,
        BlockNumberOrTag::Number(number) => BlockRef::Number(Height::new(number)),
    }
}

/// Returns the block, or `None` for an unknown one, where the RPC returns null instead of an error.
pub(crate) fn find_block(view: &NodeView, id: eips::BlockId) -> Result<Option<ExecutedBlock>, RpcError> {
    match view.block(block_ref(view, id)?) {
        Ok(block) => Ok(Some(block)),
        Err(QueryError::UnknownBlock { .. } | QueryError::UnknownHeight { .. }) => Ok(None),
        Err(other) => Err(query_error(other)),
    }
}

/// Converts the header of a block, with the block's hash and size.
pub(crate) fn header(block: &Block) -> RpcHeader {
    RpcHeader {
        hash: block.hash(),
        inner: block.header().clone(),
        // As geth since the merge; the execution APIs' schema of a block has no such field.
        total_difficulty: None,
        size: Some(U256::from(block.size())),
    }
}

/// Converts a block, with whole transactions if `full`, else with their hashes.
pub(crate) fn block(block: &Block, full: bool) -> RpcBlock {
    let transactions = if full {
        let all = (0..block.transactions().len()).filter_map(|index| transaction_in(block, index));
        BlockTransactions::Full(all.collect())
    } else {
        BlockTransactions::Hashes(block.transactions().iter().map(|transaction| transaction.hash()).collect())
    };
    let withdrawals = block.header().withdrawals_root.map(|_| Default::default());
    RpcBlock { header: header(block), uncles: Vec::new(), transactions, withdrawals }
}

/// Converts the header of the pending block. As in geth, what its seal decides is null: hash, nonce, miner.
pub(crate) fn pending_header(block: &Block) -> Result<Value, RpcError> {
    without_seal(&header(block))
}

/// Converts the pending block, as [`pending_header`]. Its transactions are in no block yet.
pub(crate) fn pending_block(pending: &Block, full: bool) -> Result<Value, RpcError> {
    let mut shown = block(pending, false);
    if full {
        let all = pending.transactions().iter().map(|transaction| pooled_transaction(transaction));
        shown.transactions = BlockTransactions::Full(all.collect());
    }
    without_seal(&shown)
}

fn without_seal(shown: &impl Serialize) -> Result<Value, RpcError> {
    let mut shown = serde_json::to_value(shown).map_err(|cause| internal(&cause))?;
    for field in ["hash", "nonce", "miner"] {
        shown[field] = Value::Null;
    }
    Ok(shown)
}

/// Returns the transaction at `index` of a block.
pub(crate) fn transaction_in(block: &Block, index: usize) -> Option<RpcTransaction> {
    let transaction = block.transactions().get(index)?;
    Some(RpcTransaction {
        inner: Recovered::new_unchecked(transaction.envelope().clone(), transaction.sender()),
        block_hash: Some(block.hash()),
        block_number: Some(block.height().get()),
        transaction_index: Some(index as u64),
        effective_gas_price: Some(transaction.effective_gas_price(block.base_fee().unwrap_or(0))),
        block_timestamp: Some(block.timestamp().as_secs()),
    })
}

/// Converts a transaction that is in no block. As in geth, its price is then the largest fee.
pub(crate) fn pooled_transaction(transaction: &Transaction) -> RpcTransaction {
    RpcTransaction {
        inner: Recovered::new_unchecked(transaction.envelope().clone(), transaction.sender()),
        block_hash: None,
        block_number: None,
        transaction_index: None,
        effective_gas_price: Some(transaction.max_fee_per_gas()),
        block_timestamp: None,
    }
}

/// Returns the logs of the transaction at `index` of a block.
pub(crate) fn logs(executed: &ExecutedBlock, index: usize) -> Option<impl Iterator<Item = RpcLog>> {
    let block = executed.block();
    let (transaction, receipt) = (block.transactions().get(index)?, executed.receipts().get(index)?);
    let logs = (u64::from(receipt.first_log_index)..).zip(receipt.logs());
    Some(logs.map(move |(log_index, log)| RpcLog {
        inner: log.clone(),
        block_hash: Some(block.hash()),
        block_number: Some(block.height().get()),
        block_timestamp: Some(block.timestamp().as_secs()),
        transaction_hash: Some(transaction.hash()),
        transaction_index: Some(index as u64),
        log_index: Some(log_index),
        removed: false,
    }))
}

/// Returns the receipt of the transaction at `index` of a block.
pub(crate) fn receipt(executed: &ExecutedBlock, index: usize) -> Option<TransactionReceipt> {
    let block = executed.block();
    let (transaction, receipt) = (block.transactions().get(index)?, executed.receipts().get(index)?);
    let inner = ReceiptWithBloom {
        receipt: alloy_consensus::Receipt {
            status: receipt.inner.status,
            cumulative_gas_used: receipt.inner.cumulative_gas_used,
            logs: logs(executed, index)?.collect(),
        },
        logs_bloom: receipt.bloom(),
    };
    Some(TransactionReceipt {
        inner: match receipt.ty {
            0 => ReceiptEnvelope::Legacy(inner),
            1 => ReceiptEnvelope::Eip2930(inner),
            _ => ReceiptEnvelope::Eip1559(inner),
        },
        transaction_hash: transaction.hash(),
        transaction_index: Some(index as u64),
        block_hash: Some(block.hash()),
        block_number: Some(block.height().get()),
        gas_used: receipt.gas_used.get(),
        effective_gas_price: receipt.effective_gas_price,
        blob_gas_used: None,
        blob_gas_price: None,
        from: transaction.sender(),
        to: transaction.to(),
        contract_address: receipt.contract_address,
    })
}

/// Converts a log. `removed` marks logs of blocks that a reorg took out of the chain.
pub(crate) fn log(found: LocatedLog, removed: bool) -> RpcLog {
    RpcLog {
        inner: found.log,
        block_hash: Some(found.block_hash),
        block_number: Some(found.height.get()),
        block_timestamp: Some(found.timestamp.as_secs()),
        transaction_hash: Some(found.transaction_hash),
        transaction_index: Some(u64::from(found.transaction_index)),
        log_index: Some(u64::from(found.log_index)),
        removed,
    }
}

/// Converts a transaction object. `default_sender` replaces a missing `from`.
pub(crate) fn call_request(
    request: TransactionRequest,
    default_sender: Option<Address>,
) -> Result<CallRequest, RpcError> {
    refuse_unsupported(&request)?;
    let input = match (request.input.input, request.input.data) {
        (Some(input), Some(data)) if input != data => {
            return Err(invalid_params("both \"data\" and \"input\" are set and not equal: send one of them"));
        }
        (Some(bytes), _) | (None, Some(bytes)) => bytes,
        (None, None) => Bytes::new(),
    };
    if request.gas_price.is_some() && (request.max_fee_per_gas.is_some() || request.max_priority_fee_per_gas.is_some())
    {
        return Err(invalid_params("both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified"));
    }
    Ok(CallRequest {
        from: request.from.or(default_sender),
        to: request.to.and_then(|to| match to {
            TxKind::Call(to) => Some(to),
            TxKind::Create => None,
        }),
        value: request.value.unwrap_or_default(),
        input,
        gas: request.gas.map(crate::primitives::Gas::new),
        gas_price: request.gas_price,
        max_fee_per_gas: request.max_fee_per_gas,
        max_priority_fee_per_gas: request.max_priority_fee_per_gas,
        nonce: request.nonce,
        chain_id: request.chain_id,
        // Type 1 is one with an access list, be it an empty one.
        access_list: request.access_list.or_else(|| (request.transaction_type == Some(1)).then(Default::default)),
    })
}

fn refuse_unsupported(request: &TransactionRequest) -> Result<(), RpcError> {
    let blobs =
        request.blob_versioned_hashes.is_some() || request.sidecar.is_some() || request.max_fee_per_blob_gas.is_some();
    let name = match request.transaction_type {
        _ if blobs => "EIP-4844 blob transactions are",
        _ if request.authorization_list.is_some() => "EIP-7702 set-code transactions are",
        None | Some(0..=2) => return Ok(()),
        Some(3) => "EIP-4844 blob transactions are",
        Some(4) => "EIP-7702 set-code transactions are",
        Some(_) => "transactions of this type are",
    };
    Err(invalid_params(format!("{name} not supported: send type 0x0 (legacy), 0x1 (EIP-2930) or 0x2 (EIP-1559)")))
}

/// Converts the state overrides of a simulated call.
pub(crate) fn state_overrides(overrides: Option<StateOverride>) -> Result<StateOverrides, RpcError> {
    let mut all = StateOverrides::default();
    for (address, account) in overrides.into_iter().flatten().collect::<std::collections::BTreeMap<_, _>>() {
        if account.move_precompile_to.is_some() {
            return Err(invalid_params(format!("account {address}: movePrecompileToAddress is not supported")));
        }
        let slots = |slots: alloy_primitives::map::B256HashMap<B256>| {
            slots.into_iter().map(|(slot, value)| (slot.into(), value.into())).collect()
        };
        all.insert(
            address,
            AccountOverride {
                balance: account.balance,
                nonce: account.nonce,
                code: account.code,
                state: account.state.map(slots),
                state_diff: account.state_diff.map(slots),
            },
        );
    }
    Ok(all)
}

/// Returns the return data of a simulated call, or its error.
pub(crate) fn call_output(node: &Node, request: &CallRequest, outcome: CallOutcome) -> Result<Bytes, RpcError> {
    outcome.success_output().cloned().ok_or_else(|| call_failure(node, request, &outcome))
}

/// Returns the error of a failed execution: a revert (code 3, with the revert data) or another halt (-32003). The reason is in the words
/// of the chain's templates.
pub(crate) fn call_failure(node: &Node, request: &CallRequest, outcome: &CallOutcome) -> RpcError {
    // The commonest first mistakes. Client libraries show the reason that is in a revert's data, and no other.
    let with_data = |reason: String| errors::reverted(&Revert::from(reason.as_str()).abi_encode().into(), Some(reason));
    let is_no_code = matches!(
        outcome.halt(),
        Some(HaltReason::EvmBytecodeUnsupported | HaltReason::UnknownTemplate { .. } | HaltReason::InvalidCode)
    );
    if request.to.is_none() && is_no_code {
        return with_data(outcome.describe());
    }
    match outcome.revert_data() {
        Some(data) if request.to.is_none() && data.is_empty() => {
            match decode::describe_revert(node, request, outcome) {
                Some(reason) => with_data(reason),
                None => errors::reverted(data, None),
            }
        }
        Some(data) => errors::reverted(data, decode::describe_revert(node, request, outcome)),
        None => error(HALTED, outcome.describe()),
    }
}

/// Converts a failed query.
pub(crate) fn query_error(cause: QueryError) -> RpcError {
    match cause {
        QueryError::UnknownHeight { .. } | QueryError::UnknownBlock { .. } | QueryError::UnknownTransaction { .. } => {
            error(NOT_FOUND, cause.to_string())
        }
        QueryError::Pruned { .. } => error(PRUNED, cause.to_string()),
        QueryError::Invalid(reason) => error(REFUSED, reason.to_string()),
        QueryError::Override { .. } => invalid_params(cause.to_string()),
        QueryError::TooManyResults { .. } => error(LIMIT_EXCEEDED, cause.to_string()),
        other => internal(&other),
    }
}

/// As [`send_error`], for a request, whose failure is told in words.
pub(crate) fn request_error(node: &Node, request: &CallRequest, cause: SendError) -> RpcError {
    match cause {
        SendError::WouldFail { outcome } => call_failure(node, request, &outcome),
        other => send_error(other),
    }
}

/// Converts a rejected transaction.
pub(crate) fn send_error(cause: SendError) -> RpcError {
    match cause {
        SendError::WouldFail { outcome } => match outcome.revert_data() {
            Some(data) => errors::reverted(data, decode::decode_error(data)),
            None => error(HALTED, outcome.describe()),
        },
        SendError::Query(cause) => query_error(cause),
        // geth's words.
        SendError::Unprotected { .. } => {
            error(REFUSED, "only replay-protected (EIP-155) transactions allowed over RPC")
        }
        SendError::Mine(MineError::Engine(cause @ EngineError::Halted { .. })) => error(REFUSED, cause.to_string()),
        SendError::Mine(cause) => command_failed(&cause, cause.full_disk()),
        other => error(REFUSED, other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_that_is_exceeded_is_no_failure_of_the_node() {
        let error = query_error(QueryError::TooManyResults { max: 7 });
        assert_eq!((error.code(), error.message()), (-32005, "query returned more than 7 results; narrow the range"));
    }
}
