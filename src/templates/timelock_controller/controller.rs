//! Operations: scheduled, cancelled, executed.

use alloy_primitives::b256;

use super::{
    batch::{Batch, Call},
    interface::{self as sol, OperationState},
};
use crate::{
    templates::common::{AccessControl, DEFAULT_ADMIN_ROLE, address::verify_call_result},
    vm::contract::*,
};

/// Role of who schedules operations: keccak of `PROPOSER_ROLE`.
pub const PROPOSER_ROLE: B256 = b256!("b09aa5aeb3702cfd50b6b62bc4532604938f21248a27a1d5ca736082b6819cc1");
/// Role of who has operations executed: keccak of `EXECUTOR_ROLE`.
pub const EXECUTOR_ROLE: B256 = b256!("d8aa0f3194971a2a116679f7c2090f6939c8d4e01a2a8d7e41d55e5351469e63");
/// Role of who cancels operations: keccak of `CANCELLER_ROLE`.
pub const CANCELLER_ROLE: B256 = b256!("fd643c72710c63c0180259aba6b2d05451e3591a24e58b62239378085726f783");

/// Timestamp of an operation that was executed.
const DONE_TIMESTAMP: U256 = U256::ONE;

storage! {
    /// State variables, in solc's order.
    pub(super) contract TimelockStorage {
        pub(super) access: AccessControl,
        pub(super) timestamps: Mapping<B256, U256>,
        pub(super) min_delay: Slot<U256>,
    }
}

pub(super) const TIMELOCK: TimelockStorage = TimelockStorage::STATE;

pub(super) fn construct(host: &mut Host<'_>, params: sol::constructorCall) -> Result<(), Stop> {
    let sol::constructorCall { minDelay: delay, proposers, executors, admin } = params;
    let timelock = host.address();
    TIMELOCK.access.give_role(host, DEFAULT_ADMIN_ROLE, timelock)?;
    if !admin.is_zero() {
        TIMELOCK.access.give_role(host, DEFAULT_ADMIN_ROLE, admin)?;
    }
    for proposer in proposers {
        TIMELOCK.access.give_role(host, PROPOSER_ROLE, proposer)?;
        TIMELOCK.access.give_role(host, CANCELLER_ROLE, proposer)?;
    }
    for executor in executors {
        TIMELOCK.access.give_role(host, EXECUTOR_ROLE, executor)?;
    }
    TIMELOCK.min_delay.set(host, delay)?;
    host.emit(&sol::MinDelayChange { oldDuration: U256::ZERO, newDuration: delay })
}

/// Returns what has become of an operation (`getOperationState`).
pub(super) fn state(host: &mut Host<'_>, id: B256) -> Result<OperationState, Stop> {
    let timestamp = TIMELOCK.timestamps.get(host, id)?;
    Ok(if timestamp.is_zero() {
        OperationState::Unset
    } else if timestamp == DONE_TIMESTAMP {
        OperationState::Done
    } else if timestamp > now(host) {
        OperationState::Waiting
    } else {
        OperationState::Ready
    })
}

pub(super) fn is_pending(host: &mut Host<'_>, id: B256) -> Result<bool, Stop> {
    Ok(matches!(state(host, id)?, OperationState::Waiting | OperationState::Ready))
}

pub(super) fn hash_operation(host: &mut Host<'_>, call: &sol::hashOperationCall) -> Result<B256, Stop> {
    host.keccak(&(call.target, call.value, call.data.clone(), call.predecessor, call.salt).abi_encode_params())
}

pub(super) fn schedule(host: &mut Host<'_>, call: &sol::scheduleCall) -> Result<(), Stop> {
    TIMELOCK.access.only_role(host, PROPOSER_ROLE)?;
    let sol::scheduleCall { target, value, data, predecessor, salt, delay } = call.clone();
    let operation = sol::hashOperationCall { target, value, data: data.clone(), predecessor, salt };
    let id = hash_operation(host, &operation)?;
    start_waiting(host, id, delay)?;
    host.emit(&sol::CallScheduled { id, index: U256::ZERO, target, value, data, predecessor, delay })?;
    emit_salt(host, id, salt)
}

pub(super) fn schedule_batch(host: &mut Host<'_>, batch: Batch<'_>, delay: U256) -> Result<(), Stop> {
    TIMELOCK.access.only_role(host, PROPOSER_ROLE)?;
    batch.check_lengths()?;
    let (id, calls) = batch.operation(host)?;
    start_waiting(host, id, delay)?;
    let predecessor = batch.predecessor;
    for (index, Call { target, value, data }) in (0_u64..).zip(calls) {
        let index = U256::from(index);
        host.emit(&sol::CallScheduled { id, index, target, value, data, predecessor, delay })?;
    }
    emit_salt(host, id, batch.salt)
}

/// `_schedule(id, delay)`
fn start_waiting(host: &mut Host<'_>, id: B256, delay: U256) -> Result<(), Stop> {
    expect_state(host, id, &[OperationState::Unset])?;
    let min_delay = TIMELOCK.min_delay.get(host)?;
    require(delay >= min_delay, sol::TimelockInsufficientDelay { delay, minDelay: min_delay })?;
    let timestamp = now(host).add(delay)?;
    TIMELOCK.timestamps.set(host, id, timestamp)
}

fn emit_salt(host: &mut Host<'_>, id: B256, salt: B256) -> Result<(), Stop> {
    if salt.is_zero() { Ok(()) } else { host.emit(&sol::CallSalt { id, salt }) }
}

pub(super) fn cancel(host: &mut Host<'_>, id: B256) -> Result<(), Stop> {
    TIMELOCK.access.only_role(host, CANCELLER_ROLE)?;
    expect_state(host, id, &[OperationState::Waiting, OperationState::Ready])?;
    TIMELOCK.timestamps.set(host, id, U256::ZERO)?;
    host.emit(&sol::Cancelled { id })
}

pub(super) fn execute(host: &mut Host<'_>, call: &sol::executeCall) -> Result<(), Stop> {
    only_executor(host)?;
    let sol::executeCall { target, value, payload: data, predecessor, salt } = call.clone();
    let operation = sol::hashOperationCall { target, value, data: data.clone(), predecessor, salt };
    let id = hash_operation(host, &operation)?;
    check_ready(host, id, predecessor)?;
    run(host, id, U256::ZERO, Call { target, value, data })?;
    mark_done(host, id)
}

pub(super) fn execute_batch(host: &mut Host<'_>, batch: Batch<'_>) -> Result<(), Stop> {
    only_executor(host)?;
    batch.check_lengths()?;
    let (id, calls) = batch.operation(host)?;
    check_ready(host, id, batch.predecessor)?;
    for (index, call) in (0_u64..).zip(calls) {
        run(host, id, U256::from(index), call)?;
    }
    mark_done(host, id)
}

/// Refuses callers without the role of executor, unless everybody has it (`onlyRoleOrOpenRole`).
fn only_executor(host: &mut Host<'_>) -> Result<(), Stop> {
    let is_open = TIMELOCK.access.has_role(host, EXECUTOR_ROLE, Address::ZERO)?;
    if is_open { Ok(()) } else { TIMELOCK.access.only_role(host, EXECUTOR_ROLE) }
}

/// `_beforeCall(id, predecessor)`
fn check_ready(host: &mut Host<'_>, id: B256, predecessor: B256) -> Result<(), Stop> {
    expect_state(host, id, &[OperationState::Ready])?;
    let is_next = predecessor.is_zero() || state(host, predecessor)? == OperationState::Done;
    require(is_next, sol::TimelockUnexecutedPredecessor { predecessorId: predecessor })
}

/// Runs call number `index` of an operation.
fn run(host: &mut Host<'_>, id: B256, index: U256, Call { target, value, data }: Call) -> Result<(), Stop> {
    verify_call_result(host.call(target, value, &data)?)?;
    host.emit(&sol::CallExecuted { id, index, target, value, data })
}

/// `_afterCall(id)`: an operation that executed itself meanwhile, or cancelled itself, is refused.
fn mark_done(host: &mut Host<'_>, id: B256) -> Result<(), Stop> {
    expect_state(host, id, &[OperationState::Ready])?;
    TIMELOCK.timestamps.set(host, id, DONE_TIMESTAMP)
}

pub(super) fn update_delay(host: &mut Host<'_>, delay: U256) -> Result<(), Stop> {
    let caller = host.caller();
    require(caller == host.address(), sol::TimelockUnauthorizedCaller { caller })?;
    let old = TIMELOCK.min_delay.get(host)?;
    host.emit(&sol::MinDelayChange { oldDuration: old, newDuration: delay })?;
    TIMELOCK.min_delay.set(host, delay)
}

/// Refuses an operation in another state than these.
fn expect_state(host: &mut Host<'_>, id: B256, expected: &[OperationState]) -> Result<(), Stop> {
    let is_expected = expected.contains(&state(host, id)?);
    let bits = expected.iter().fold(0_u8, |bits, state| bits | 1 << *state as u8);
    let expected = U256::from(bits).into();
    require(is_expected, sol::TimelockUnexpectedOperationState { operationId: id, expectedStates: expected })
}

fn now(host: &Host<'_>) -> U256 {
    U256::from(host.block().timestamp.as_secs())
}
