//! `transaction.*`: sending and simulating.

use alloy_primitives::Bytes;
use serde_json::{Value, json};

use super::{
    RpcFailure, failure,
    query::{block_ref, chain, required},
    sent,
};
use crate::{
    chain::{CallRequest, StateOverrides},
    platform::{Fields, PlatformError},
    primitives::Transaction,
    server::{Chains, decode},
};

/// A string of hex bytes.
pub(super) fn bytes(fields: &mut Fields, name: &str) -> Option<Bytes> {
    let read = |value: &Value| value.as_str().filter(|text| text.starts_with("0x")).and_then(|text| text.parse().ok());
    fields.read_with(name, "bytes (0x and an even number of hex digits)", read)
}

/// `transaction.send`.
pub(super) fn send(chains: &Chains, fields: &mut Fields) -> Result<Value, RpcFailure> {
    let chain = chain(chains, fields)?;
    let raw = bytes(fields, "signedTransaction");
    let raw = fields.require("signedTransaction", "a signed transaction (0x and hex digits)", raw);
    fields.finish_mut()?;
    let (chain, raw) = (required(chain)?, required(raw)?);
    let hash = chain.node().send_raw(&raw).map_err(failure::send)?;
    sent(chains, chain.id(), hash)
}

/// `transaction.simulate`: never changes anything.
pub(super) fn simulate(chains: &Chains, fields: &mut Fields) -> Result<Value, RpcFailure> {
    let chain = chain(chains, fields)?;
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
    let outcome =
        required(chain)?.node().view().call(&request, at, &StateOverrides::default(), None).map_err(failure::query)?;
    let revert = outcome.revert_data();
    Ok(json!({
        "success": outcome.is_success(),
        "gasUsed": outcome.gas_used.get().to_string(),
        "returnData": outcome.success_output().or(revert).cloned().unwrap_or_default(),
        "error": (!outcome.is_success()).then(|| outcome.describe()),
        "revertReason": revert.and_then(|data| decode::error_text(data)),
    }))
}

/// A gas limit as a decimal string.
pub(super) fn gas_limit(fields: &mut Fields) -> Option<u64> {
    let read =
        |value: &Value| value.as_str().and_then(crate::platform::parse_amount).and_then(|gas| u64::try_from(gas).ok());
    fields.read_with("gasLimit", "a decimal integer string of gas units", read)
}
