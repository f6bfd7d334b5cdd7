//! `debug_*`: the call tracer.

use alloy_primitives::{B256, Bytes, U64};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Eth, Methods, convert,
    params::{Args, Argument},
};
use crate::{
    chain::CallOutcome,
    node::Located,
    primitives::Gas,
    server::jsonrpc::errors::{INTERNAL_ERROR, RpcError, UNSUPPORTED, error},
    vm::{CallTrace, CallTracer},
};

pub(super) fn register(methods: &mut Methods) {
    methods.add_all(&["debug_traceTransaction"], 2, trace_transaction);
    methods.add_all(&["debug_traceCall"], 3, trace_call);
    methods.add("debug_getRawTransaction", 1, |eth, args| {
        let found = eth.view().transaction(args.required(0, "hash")?).map_err(convert::query_error)?;
        Ok(match found {
            Some(Located::Mined { block, index }) => block.block().transaction(index).map(|found| found.encoded()),
            Some(Located::Pooled(transaction)) => Some(transaction.encoded()),
            None => None::<Bytes>,
        })
    });
}

/// Options of a trace: the tracer and its configuration.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
struct Tracing {
    tracer: Option<String>,
    tracer_config: TracerConfig,
    state_overrides: Option<alloy_rpc_types_eth::state::StateOverride>,
    block_overrides: Option<Value>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
struct TracerConfig {
    only_top_call: bool,
    with_log: bool,
}

impl Argument for Tracing {
    const EXPECTED: &'static str = "a tracing object (tracer, tracerConfig)";
}

fn tracing(args: &Args<'_>, index: usize) -> Result<Tracing, RpcError> {
    let tracing: Tracing = args.optional(index, "tracing")?.unwrap_or_default();
    match tracing.tracer.as_deref() {
        Some("callTracer") => Ok(tracing),
        Some(other) => Err(error(
            UNSUPPORTED,
            format!("tracer {other:?} is not supported: contracts here are native templates; use \"callTracer\""),
        )),
        None => Err(error(
            UNSUPPORTED,
            "the opcode logger is not supported: contracts here are native templates without opcodes; pass { \"tracer\": \"callTracer\" }",
        )),
    }
}

fn trace_transaction(eth: &Eth, args: &Args<'_>) -> Result<CallTrace, RpcError> {
    let hash: B256 = args.required(0, "hash")?;
    let config = tracing(args, 1)?.tracer_config;
    let mut tracer = CallTracer::new().with_logs(config.with_log);
    let view = eth.view();
    let outcome = view.replay(hash, &mut tracer).map_err(convert::query_error)?;
    let gas_limit = match view.transaction(hash).map_err(convert::query_error)? {
        Some(Located::Mined { block, index }) => block.block().transaction(index).map(|found| found.gas_limit()),
        _ => None,
    };
    finish(tracer, &config, &outcome, gas_limit)
}

fn trace_call(eth: &Eth, args: &Args<'_>) -> Result<CallTrace, RpcError> {
    let request = convert::call_request(args.required(0, "transaction")?, None)?;
    let tracing = tracing(args, 2)?;
    if tracing.block_overrides.is_some() {
        return Err(error(UNSUPPORTED, "blockOverrides are not supported"));
    }
    let overrides = convert::state_overrides(tracing.state_overrides)?;
    let view = eth.view();
    let block = convert::block_ref(&view, args.block(1)?)?;
    let mut tracer = CallTracer::new().with_logs(tracing.tracer_config.with_log);
    let names_gas = request.gas.is_some();
    let request = eth.capped(&view, request, (block, &overrides))?;
    let outcome = view.call(&request, block, &overrides, Some(&mut tracer)).map_err(convert::query_error)?;
    finish(tracer, &tracing.tracer_config, &outcome, request.gas.filter(|_| names_gas))
}

/// Returns the trace with the gas of the whole transaction, which includes intrinsic gas.
fn finish(
    tracer: CallTracer,
    config: &TracerConfig,
    outcome: &CallOutcome,
    gas_limit: Option<Gas>,
) -> Result<CallTrace, RpcError> {
    let mut trace = tracer.into_trace().ok_or_else(|| error(INTERNAL_ERROR, "the transaction ran no frame"))?;
    trace.gas_used = U64::from(outcome.gas_used.get());
    if let Some(gas_limit) = gas_limit {
        trace.gas = U64::from(gas_limit.get());
    }
    if config.only_top_call {
        trace.calls.clear();
    }
    Ok(trace)
}
