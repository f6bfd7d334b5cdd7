//! `transaction.*`: sending and simulating.

use alloy_primitives::B256;
use serde_json::{Value, json};

use super::{
    RpcFailure, failure,
    params::{Call, block_ref, bytes, chain, gas_limit, required, writable_chain},
};
use crate::{
    chain::{CallRequest, InvalidTransaction, StateOverrides},
    node::{BlockRef, Located, NodeView, QueryError},
    platform::{Blockchain, Fields, PlatformError},
    primitives::Transaction,
    server::decode,
};

/// `transaction.send`.
pub(super) fn send(call: &Call<'_>, fields: &mut Fields) -> Result<Value, RpcFailure> {
    let chain = writable_chain(call, fields)?;
    let raw = bytes(fields, "signedTransaction");
    let raw = fields.require("signedTransaction", "a signed transaction (0x and hex digits)", raw);
    fields.finish_mut()?;
    let (chain, raw) = (required(chain)?, required(raw)?);
    send_signed(call, &chain, signed(&raw)?)
}

/// Sends a signed transaction, and returns its hash and status.
pub(super) fn send_signed(call: &Call<'_>, chain: &Blockchain, transaction: Transaction) -> Result<Value, RpcFailure> {
    let hash = transaction.hash();
    // One that the chain has is not sent, kept and counted again.
    if chain.node().view().transaction(hash).map_err(failure::query)?.is_none() {
        let id = call.send_id()?;
        call.chains.platform().blockchains().send_as(call.principal, chain.id(), &id, transaction.into())?;
    }
    sent(chain, hash)
}

/// Reads a signed transaction.
fn signed(raw: &[u8]) -> Result<Transaction, PlatformError> {
    Transaction::decode(raw)
        .map_err(|cause| PlatformError::field("signedTransaction", "a signed transaction", cause.to_string()))
}

/// Returns why the next block would leave a signed transaction out: its nonce or its fee.
fn left_out(
    view: &NodeView,
    transaction: &Transaction,
    at: BlockRef,
) -> Result<Option<InvalidTransaction>, QueryError> {
    let (address, got) = (transaction.sender(), transaction.nonce());
    let (want, max_fee) = (view.nonce(address, at)?, transaction.max_fee_per_gas());
    if got < want {
        return Ok(Some(InvalidTransaction::NonceTooLow { address, got, want }));
    }
    // Those before it may wait in the pool.
    let want = if at == BlockRef::Latest { view.nonce(address, BlockRef::Pending)?.max(want) } else { want };
    if got > want {
        return Ok(Some(InvalidTransaction::NonceTooHigh { address, got, want }));
    }
    let base_fee = view.block(at)?.block().base_fee().unwrap_or_default();
    let is_below = max_fee < u128::from(base_fee);
    Ok(is_below.then_some(InvalidTransaction::FeeBelowBaseFee { address, max_fee, base_fee }))
}

/// `transaction.simulate`: changes nothing.
pub(super) fn simulate(call: &Call<'_>, fields: &mut Fields) -> Result<Value, RpcFailure> {
    let chain = chain(call, fields)?;
    let at = block_ref(fields);
    let signed_raw = bytes(fields, "signedTransaction");
    let unsigned = CallRequest {
        from: fields.address("from"),
        to: fields.address("to"),
        value: fields.amount("value").unwrap_or_default(),
        input: bytes(fields, "data").unwrap_or_default(),
        gas: gas_limit(fields).map(crate::primitives::Gas::new),
        ..Default::default()
    };
    fields.finish_mut()?;
    let mut signed_one = None;
    let request = match signed_raw {
        Some(raw) => {
            if unsigned != CallRequest::default() {
                let message = "send signedTransaction, or from, to, value, data and gasLimit, not both";
                return Err(PlatformError::BadRequest { message: message.to_owned() }.into());
            }
            let transaction = signed(&raw)?;
            let fees = (transaction.max_fee_per_gas(), transaction.max_priority_fee_per_gas());
            let request = CallRequest {
                from: Some(transaction.sender()),
                to: transaction.to(),
                value: transaction.value(),
                input: transaction.input().clone(),
                gas: Some(transaction.gas_limit()),
                chain_id: transaction.chain_id(),
                access_list: transaction.access_list().cloned(),
                ..Default::default()
            };
            signed_one = Some(transaction);
            request.with_fees(fees.0, fees.1)
        }
        None => unsigned,
    };
    let (chain, is_signed) = (required(chain)?, signed_one.is_some());
    let view = chain.node().view();
    let left_out =
        signed_one.map(|transaction| left_out(&view, &transaction, at)).transpose().map_err(failure::query)?;
    if let Some(reason) = left_out.flatten() {
        return Ok(unexecuted(&reason));
    }
    let request = call.chains.capped((&chain, &view), request, at).map_err(failure::query)?;
    let outcome = match view.call(&request, at, &StateOverrides::default(), None) {
        Err(QueryError::Invalid(reason)) if is_signed => return Ok(unexecuted(&reason)),
        other => other.map_err(failure::query)?,
    };
    let revert = outcome.revert_data();
    Ok(json!({
        "success": outcome.is_success(),
        "gasUsed": outcome.gas_used.get().to_string(),
        "returnData": outcome.success_output().or(revert).cloned().unwrap_or_default(),
        "error": (!outcome.is_success()).then(|| outcome.describe()),
        "revertReason": decode::describe_revert(chain.node(), &request, &outcome),
    }))
}

/// Returns the report of a transaction that no block would execute.
fn unexecuted(reason: &InvalidTransaction) -> Value {
    json!({ "success": false, "gasUsed": "0", "returnData": "0x", "error": reason.to_string(), "revertReason": null })
}

/// Returns the hash and status of a transaction that was just sent.
pub(super) fn sent(chain: &Blockchain, hash: B256) -> Result<Value, RpcFailure> {
    let found = chain.node().view().transaction(hash).map_err(failure::query)?;
    let (status, block_number) = match &found {
        Some(Located::Mined { block, index }) => {
            let success = block.receipts().get(*index as usize).is_some_and(|receipt| receipt.is_success());
            (if success { "success" } else { "failed" }, Some(block.height().get()))
        }
        _ => ("pending", None),
    };
    Ok(json!({ "transactionHash": hash, "status": status, "blockNumber": block_number }))
}
