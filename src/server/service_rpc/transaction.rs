//! `transaction.*`: sending and simulating.

use alloy_primitives::B256;
use serde_json::{Value, json};

use super::{
    RpcFailure, failure,
    params::{Call, block_ref, bytes, chain, gas_limit, required, writable_chain},
};
use crate::{
    chain::{CallRequest, StateOverrides},
    node::Located,
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
    let hash = chain.node().send_raw(&raw).map_err(failure::send)?;
    sent(&chain, hash)
}

/// `transaction.simulate`: changes nothing.
pub(super) fn simulate(call: &Call<'_>, fields: &mut Fields) -> Result<Value, RpcFailure> {
    let chain = chain(call, fields)?;
    let at = block_ref(fields);
    let signed = bytes(fields, "signedTransaction");
    let unsigned = CallRequest {
        from: fields.address("from"),
        to: fields.address("to"),
        value: fields.amount("value").unwrap_or_default(),
        input: bytes(fields, "data").unwrap_or_default(),
        gas: gas_limit(fields).map(crate::primitives::Gas::new),
        ..Default::default()
    };
    fields.finish_mut()?;
    let request = match signed {
        Some(raw) => {
            if unsigned != CallRequest::default() {
                let message = "send signedTransaction, or from, to, value, data and gasLimit, not both";
                return Err(PlatformError::BadRequest { message: message.to_owned() }.into());
            }
            let transaction = Transaction::decode(&raw).map_err(|cause| {
                PlatformError::field("signedTransaction", "a signed transaction", cause.to_string())
            })?;
            CallRequest {
                from: Some(transaction.sender()),
                to: transaction.to(),
                value: transaction.value(),
                input: transaction.input().clone(),
                gas: Some(transaction.gas_limit()),
                ..Default::default()
            }
        }
        None => unsigned,
    };
    let chain = required(chain)?;
    let outcome = chain.node().view().call(&request, at, &StateOverrides::default(), None).map_err(failure::query)?;
    let revert = outcome.revert_data();
    Ok(json!({
        "success": outcome.is_success(),
        "gasUsed": outcome.gas_used.get().to_string(),
        "returnData": outcome.success_output().or(revert).cloned().unwrap_or_default(),
        "error": (!outcome.is_success()).then(|| outcome.describe()),
        "revertReason": decode::describe_revert(chain.node(), &request, &outcome),
    }))
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
