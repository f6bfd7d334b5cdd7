//! Lists of calls, run one by one.

use super::interface as sol;
use crate::{
    templates::common::calldata::{Tuple, Tuples, charge_copy},
    vm::{abi::revert_with, contract::*},
};

const CALL_FAILED: &str = "Multicall3: call failed";
const VALUE_MISMATCH: &str = "Multicall3: value mismatch";

/// Runs calls `(target, callData)`. One that fails fails all of them if success is required.
pub(super) fn aggregate(
    host: &mut Host<'_>,
    calls: Tuples<'_>,
    require_success: bool,
) -> Result<Vec<sol::Result>, Stop> {
    let run = |call: Result<Tuple<'_>, Stop>| {
        let result = call_target(host, call?, U256::ZERO, 1)?;
        if result.success || !require_success { Ok(result) } else { Err(revert_with(CALL_FAILED)) }
    };
    calls.iter().map(run).collect()
}

/// Runs calls `(target, allowFailure, callData)`.
pub(super) fn aggregate3(host: &mut Host<'_>, calls: Tuples<'_>) -> Result<Vec<sol::Result>, Stop> {
    let run = |call: Result<Tuple<'_>, Stop>| {
        let call = call?;
        let result = call_target(host, call, U256::ZERO, 2)?;
        if is_accepted(call, &result) { Ok(result) } else { Err(revert_with(CALL_FAILED)) }
    };
    calls.iter().map(run).collect()
}

/// Runs calls `(target, allowFailure, value, callData)`, whose values have to add up to what was sent.
pub(super) fn aggregate3_value(host: &mut Host<'_>, calls: Tuples<'_>) -> Result<Vec<sol::Result>, Stop> {
    let mut sum = U256::ZERO;
    let run = |call: Result<Tuple<'_>, Stop>| {
        let call = call?;
        let value = call.word(2);
        sum = sum.wrapping_add(value);
        let result = call_target(host, call, value, 3)?;
        if is_accepted(call, &result) { Ok(result) } else { Err(failed_with_value()) }
    };
    let results = calls.iter().map(run).collect::<Result<Vec<_>, Stop>>()?;
    if host.value() == sum { Ok(results) } else { Err(revert_with(VALUE_MISMATCH)) }
}

/// Calls a target with the call data that member `data` is.
fn call_target(host: &mut Host<'_>, call: Tuple<'_>, value: U256, data: usize) -> Result<sol::Result, Stop> {
    let (target, data) = (call.address(0)?, call.bytes(data)?);
    charge_copy(host, data)?;
    let result = host.call(target, value, data)?;
    charge_copy(host, &result.output)?;
    Ok(sol::Result { success: result.is_success(), returnData: result.output })
}

/// Returns whether a call succeeded or was allowed to fail, which any word but zero says.
fn is_accepted(call: Tuple<'_>, result: &sol::Result) -> bool {
    result.success || !call.word(1).is_zero()
}

/// The original reverts with a word too many here.
fn failed_with_value() -> Stop {
    match revert_with(CALL_FAILED) {
        Stop::Revert(data) => Stop::Revert([data.as_ref(), &[0; 32]].concat().into()),
        other => other,
    }
}
