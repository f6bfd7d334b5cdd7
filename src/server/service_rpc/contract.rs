//! `contract.*`: functions by name, encoded and decoded by the ABI of the contract's template.

use serde_json::{Value, json};

use super::{
    RpcFailure, failure,
    params::{Call, address, block_ref, bytes, chain, gas_limit, required, writable_chain},
    transaction::{send_signed, sent},
};
use crate::{
    chain::{CallOutcome, CallRequest, StateOverrides},
    node::BlockRef,
    platform::{Blockchain, ContractCall, Fields, Outgoing, PlatformError, beside_signed, signed_call, try_signed},
    primitives::Address,
    server::decode,
};

/// Reads the fields `method` and `args`, or `data`.
fn contract_call(fields: &mut Fields) -> Result<Option<ContractCall>, PlatformError> {
    let method = fields.optional_text("method", "a function's name or signature, as in transfer(address,uint256)");
    let args = fields.read_with("args", "an array of arguments", |value| value.as_array().cloned()).unwrap_or_default();
    match (method, bytes(fields, "data")) {
        (Some(_), Some(_)) => {
            let message = "send method with args, or data, not both".to_owned();
            Err(PlatformError::BadRequest { message })
        }
        (Some(name), None) => Ok(Some(ContractCall::Function(name, args))),
        (None, Some(data)) => Ok(Some(ContractCall::Data(data))),
        (None, None) => {
            fields.refuse("method", "a function's name or signature, or data", "nothing");
            Ok(None)
        }
    }
}

/// `contract.call`.
pub(super) fn call(call: &Call<'_>, fields: &mut Fields) -> Result<Value, RpcFailure> {
    let chain = chain(call, fields)?;
    let contract = address(fields, "contractAddress");
    let target = contract_call(fields)?;
    let from = fields.address("from");
    let at = block_ref(fields);
    fields.finish_mut()?;
    let (chain, contract) = (required(chain)?, required(contract)?);
    let target = required(target)?.encode(chain.node(), contract)?;
    let request = CallRequest { from, to: Some(contract), input: target.input.clone(), ..Default::default() };
    let view = chain.node().view();
    let request = call.chains.capped((&chain, &view), request, at).map_err(failure::query)?;
    let outcome = view.call(&request, at, &StateOverrides::default(), None).map_err(failure::query)?;
    check_success(&chain, &request, &outcome)?;
    let output = outcome.output;
    Ok(json!({ "result": target.decode(&output), "data": output }))
}

/// Refuses a call that failed when it was tried.
fn check_success(chain: &Blockchain, tried: &CallRequest, outcome: &CallOutcome) -> Result<(), RpcFailure> {
    if outcome.is_success() {
        return Ok(());
    }
    Err(RpcFailure::of_outcome(outcome, decode::describe_revert(chain.node(), tried, outcome)))
}

/// Whether the request is run again, and has kept what it sends.
fn is_sent(call: &Call<'_>) -> Result<bool, PlatformError> {
    let Some(id) = call.send_id else { return Ok(false) };
    Ok(call.chains.platform().blockchains().sent(call.principal, id)?.is_some())
}

/// `contract.execute`: simulates, then sends, what the caller has signed too. A call whose simulation fails is not sent.
pub(super) fn execute(call: &Call<'_>, fields: &mut Fields) -> Result<Value, RpcFailure> {
    let chain = writable_chain(call, fields)?;
    let contract = address(fields, "contractAddress");
    let raw = bytes(fields, "signedTransaction");
    if raw.is_some() || fields.is_invalid("signedTransaction") {
        let names = ["method", "args", "data", "from", "value", "gasLimit"];
        let given = names.map(|name| (name, fields.read_with(name, "", |_| Some(())).is_some()));
        beside_signed(&given).into_iter().for_each(|one| fields.refuse(&one.path, one.expected, one.got));
        fields.finish_mut()?;
        let transaction = signed_call(&required(raw)?, required(contract)?)?;
        let chain = required(chain)?;
        if !is_sent(call)?
            && let Some((tried, outcome)) = try_signed(&chain, &transaction)?
        {
            check_success(&chain, &tried, &outcome)?;
        }
        return send_signed(call, &chain, transaction);
    }
    let outgoing = unsigned(call, fields, (chain.as_deref(), contract))?;
    let chain = required(chain)?;
    let id = call.send_id()?;
    let sent_as = call.chains.platform().blockchains().send_as(call.principal, chain.id(), &id, outgoing)?;
    sent(&chain, sent_as.value.hash)
}

/// Reads a call that the service signs, and tries it, unless it is sent already.
fn unsigned(
    call: &Call<'_>,
    fields: &mut Fields,
    (chain, contract): (Option<&Blockchain>, Option<Address>),
) -> Result<Outgoing, RpcFailure> {
    let target = contract_call(fields)?;
    let from = fields.address("from");
    let value = fields.amount("value").unwrap_or_default();
    let gas = gas_limit(fields).map(crate::primitives::Gas::new);
    fields.finish_mut()?;
    let (chain, contract) = (required(chain)?, required(contract)?);
    let target = required(target)?.encode(chain.node(), contract)?;
    let platform = call.chains.platform();
    let from = from.map_or_else(|| platform.wallets().default_sender(call.principal, chain), Ok)?;
    let request =
        CallRequest { from: Some(from), to: Some(contract), input: target.input, value, gas, ..Default::default() };
    if !is_sent(call)? {
        let (view, at) = (chain.node().view(), BlockRef::Pending);
        let tried = call.chains.capped((chain, &view), request.clone(), at).map_err(failure::query)?;
        let outcome = view.call(&tried, at, &StateOverrides::default(), None).map_err(failure::query)?;
        check_success(chain, &request, &outcome)?;
    }
    Ok(request.into())
}
