//! `contract.*`: functions by name, encoded and decoded by the ABI of the contract's template.

use alloy_dyn_abi::{DynSolType, DynSolValue, FunctionExt as _, JsonAbiExt as _};
use alloy_json_abi::{Function, JsonAbi};
use alloy_primitives::{Address, Bytes};
use serde_json::{Value, json};

use super::{
    RpcFailure, failure,
    params::{Call, address, block_ref, bytes, chain, gas_limit, required, writable_chain},
    transaction::sent,
};
use crate::{
    chain::{CallRequest, StateOverrides},
    node::{BlockRef, Node},
    platform::{Fields, PlatformError},
    server::decode,
    vm::{Marker, abi_json},
};

/// Call data, with the function that it was encoded for when it was named.
struct Target {
    function: Option<Function>,
    input: Bytes,
}

/// The fields `method`, `args` and `data`, before the ABI is known.
struct RawTarget {
    method: Option<String>,
    args: Vec<Value>,
    data: Option<Bytes>,
}

impl RawTarget {
    fn read(fields: &mut Fields) -> Self {
        let method = fields.optional_text("method", "a function's name or signature, as in transfer(address,uint256)");
        let args =
            fields.read_with("args", "an array of arguments", |value| value.as_array().cloned()).unwrap_or_default();
        let data = bytes(fields, "data");
        if method.is_none() && data.is_none() {
            fields.refuse("method", "a function's name or signature, or data", "nothing");
        }
        Self { method, args, data }
    }

    fn resolve(self, node: &Node, contract: Address) -> Result<Target, PlatformError> {
        let (name, args) = match (self.method, self.data) {
            (None, data) => return Ok(Target { function: None, input: data.unwrap_or_default() }),
            (Some(_), Some(_)) => {
                return Err(PlatformError::BadRequest {
                    message: "send method with args, or data, not both".to_owned(),
                });
            }
            (Some(name), None) => (name, self.args),
        };
        let abi = abi_of(node, contract)?;
        let function = find(&abi, &name, args.len())?;
        let values = encode(&function, &args)?;
        let input = function.abi_encode_input(&values).map_err(PlatformError::internal)?.into();
        Ok(Target { function: Some(function), input })
    }
}

/// `contract.call`.
pub(super) fn call(call: &Call<'_>, fields: &mut Fields) -> Result<Value, RpcFailure> {
    let chain = chain(call, fields)?;
    let contract = address(fields, "contractAddress");
    let target = RawTarget::read(fields);
    let from = fields.address("from");
    let at = block_ref(fields);
    fields.finish_mut()?;
    let (chain, contract) = (required(chain)?, required(contract)?);
    let target = target.resolve(chain.node(), contract)?;
    let request = CallRequest { from, to: Some(contract), input: target.input, ..Default::default() };
    let outcome = chain.node().view().call(&request, at, &StateOverrides::default(), None).map_err(failure::query)?;
    let Some(output) = outcome.success_output() else {
        return Err(RpcFailure::of_outcome(&outcome, decode::describe_revert(chain.node(), &request, &outcome)));
    };
    let decoded = target.function.and_then(|function| function.abi_decode_output(output).ok()).map(|values| {
        let mut values: Vec<Value> = values.iter().map(abi_json).collect();
        if values.len() == 1 { values.remove(0) } else { Value::Array(values) }
    });
    Ok(json!({ "result": decoded, "data": output }))
}

/// `contract.execute`: simulates, then sends. A call whose simulation fails is not sent.
pub(super) fn execute(call: &Call<'_>, fields: &mut Fields) -> Result<Value, RpcFailure> {
    let chain = writable_chain(call, fields)?;
    let contract = address(fields, "contractAddress");
    let target = RawTarget::read(fields);
    let from = fields.address("from");
    let value = fields.amount("value").unwrap_or_default();
    let gas = gas_limit(fields).map(crate::primitives::Gas::new);
    fields.finish_mut()?;
    let (chain, contract) = (required(chain)?, required(contract)?);
    let target = target.resolve(chain.node(), contract)?;
    let platform = call.chains.platform();
    let from = from.map_or_else(|| platform.wallets().default_sender(call.principal, &chain), Ok)?;
    let request =
        CallRequest { from: Some(from), to: Some(contract), input: target.input, value, gas, ..Default::default() };
    let outcome = chain
        .node()
        .view()
        .call(&request, BlockRef::Pending, &StateOverrides::default(), None)
        .map_err(failure::query)?;
    if !outcome.is_success() {
        return Err(RpcFailure::of_outcome(&outcome, decode::describe_revert(chain.node(), &request, &outcome)));
    }
    let hash = platform.blockchains().send(call.principal, chain.id(), request)?;
    sent(&chain, hash)
}

/// Returns the ABI of the template that the contract was deployed from.
fn abi_of(node: &Node, contract: Address) -> Result<JsonAbi, PlatformError> {
    let code = node.view().code(contract, BlockRef::Latest).map_err(PlatformError::from_query)?;
    let template = Marker::split(&code).and_then(|(Marker(id), _)| node.templates().get(id));
    template.map(|template| template.abi()).ok_or_else(|| PlatformError::not_found("contract", &contract.to_string()))
}

fn find(abi: &JsonAbi, name: &str, count: usize) -> Result<Function, PlatformError> {
    let bare = name.split('(').next().unwrap_or(name);
    let fits = |function: &&Function| {
        if name.contains('(') { function.signature() == name } else { function.inputs.len() == count }
    };
    let named: Vec<&Function> = abi.function(bare).into_iter().flatten().collect();
    match named.iter().copied().find(fits) {
        Some(function) => Ok(function.clone()),
        None if named.is_empty() => {
            let names: Vec<String> = abi.functions().map(Function::signature).collect();
            Err(PlatformError::field("method", format!("one of {}", names.join(", ")), name))
        }
        None => {
            let signatures: Vec<String> = named.iter().map(|function| function.signature()).collect();
            Err(PlatformError::field(
                "args",
                format!("the arguments of {}", signatures.join(" or ")),
                format!("{count} of them"),
            ))
        }
    }
}

fn encode(function: &Function, args: &[Value]) -> Result<Vec<DynSolValue>, PlatformError> {
    if function.inputs.len() != args.len() {
        let expected = format!("{} arguments of {}", function.inputs.len(), function.signature());
        return Err(PlatformError::field("args", expected, format!("{} of them", args.len())));
    }
    let encoded = function.inputs.iter().zip(args).enumerate().map(|(index, (input, arg))| {
        let ty = DynSolType::parse(&input.selector_type()).map_err(PlatformError::internal)?;
        ty.coerce_json(arg).map_err(|_| {
            PlatformError::field(
                format!("args[{index}]"),
                format!("{} {}", input.selector_type(), input.name),
                arg.to_string(),
            )
        })
    });
    encoded.collect()
}
