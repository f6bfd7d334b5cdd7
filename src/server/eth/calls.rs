//! Simulated calls: `eth_call`, `eth_estimateGas`, `eth_createAccessList`.

use alloy_eips::BlockId;
use alloy_primitives::{Bytes, U64, U256};
use alloy_rpc_types_eth::{AccessListResult, BlockOverrides, TransactionRequest, state::StateOverride};

use super::{Eth, Methods, call_gas, convert, params::Args};
use crate::{
    chain::{CallRequest, StateOverrides},
    node::{BlockRef, NodeView},
    server::jsonrpc::errors::{RpcError, invalid_params},
};

pub(super) fn register(methods: &mut Methods) {
    methods.add("eth_call", 4, call);
    methods.add("eth_estimateGas", 4, estimate_gas);
    methods.add("eth_createAccessList", 2, create_access_list);
}

impl Eth {
    /// Returns a request with no more gas than a call of this chain has.
    pub(super) fn capped(
        &self,
        view: &NodeView,
        request: CallRequest,
        state: (BlockRef, &StateOverrides),
    ) -> Result<CallRequest, RpcError> {
        call_gas::capped(view, request, state, self.call_gas_max).map_err(convert::query_error)
    }
}

fn call(eth: &Eth, args: &Args<'_>) -> Result<Bytes, RpcError> {
    let request = convert::call_request(args.required(0, "transaction")?, None)?;
    let overrides = overrides(args)?;
    let view = eth.view();
    let block = convert::block_ref(&view, args.block(1)?)?;
    let request = eth.capped(&view, request, (block, &overrides))?;
    let outcome = view.call(&request, block, &overrides, None).map_err(convert::query_error)?;
    convert::call_output(&eth.node, &request, outcome)
}

/// `eth_estimateGas`: by default in the next block, as that is where the transaction will be: a contract that keeps values by block, such as
/// checkpoints of votes, may need more there than it would have in the last one.
fn estimate_gas(eth: &Eth, args: &Args<'_>) -> Result<U64, RpcError> {
    let request = convert::call_request(args.required(0, "transaction")?, None)?;
    let overrides = overrides(args)?;
    let view = eth.view();
    let block = convert::block_ref(&view, args.optional(1, "block")?.unwrap_or(BlockId::pending()))?;
    let request = eth.capped(&view, request, (block, &overrides))?;
    let estimate = view.estimate_gas(&request, block, &overrides);
    estimate.map(|gas| U64::from(gas.get())).map_err(|cause| convert::request_error(&eth.node, &request, cause.into()))
}

fn overrides(args: &Args<'_>) -> Result<StateOverrides, RpcError> {
    if args
        .optional::<BlockOverrides>(3, "blockOverrides")?
        .is_some_and(|overrides| overrides != BlockOverrides::default())
    {
        return Err(invalid_params("invalid argument 3 (blockOverrides): block overrides are not supported"));
    }
    convert::state_overrides(args.optional::<StateOverride>(2, "stateOverrides")?)
}

/// `eth_createAccessList`: the access list (EIP-2930) of a call, and its gas with that list.
fn create_access_list(eth: &Eth, args: &Args<'_>) -> Result<AccessListResult, RpcError> {
    let request = convert::call_request(args.required::<TransactionRequest>(0, "transaction")?, None)?;
    let view = eth.view();
    let block = convert::block_ref(&view, args.block(1)?)?;
    let request = eth.capped(&view, request, (block, &StateOverrides::default()))?;
    let (access_list, outcome) = view.access_list(&request, block).map_err(convert::query_error)?;
    let error =
        (!outcome.is_success()).then(|| convert::call_failure(&eth.node, &request, &outcome).message().to_owned());
    Ok(AccessListResult { access_list, gas_used: U256::from(outcome.gas_used.get()), error })
}
