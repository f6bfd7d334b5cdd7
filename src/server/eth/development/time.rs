//! Setting the time of the chain, up to the end of the year 2400: other chains and the platform's clock go with it.

use std::time::Duration;

use crate::{
    node::TimeError,
    primitives::Timestamp,
    server::{
        clock::TRAVEL_SECS_MAX,
        eth::{
            Eth, Methods,
            params::{Args, Quantity},
        },
        jsonrpc::errors::{REFUSED, RpcError, error, internal, invalid_params},
    },
};

/// Registers the methods that set the chain's time. Parameters and results are seconds.
pub(super) fn register(methods: &mut Methods) {
    methods.add_all(&["evm_increaseTime", "anvil_increaseTime"], 1, increase);
    methods.add_all(&["evm_setTime", "anvil_setTime"], 1, set);
    methods.add_all(
        &["evm_setNextBlockTimestamp", "anvil_setNextBlockTimestamp", "hardhat_setNextBlockTimestamp"],
        1,
        set_next,
    );
    methods.add_all(&["anvil_setBlockTimestampInterval", "evm_setBlockTimestampInterval"], 1, |eth, args| {
        let Quantity(secs) = args.required(0, "seconds")?;
        check_reach("0 (seconds)", secs, from_now(eth, secs))?;
        eth.node.set_block_timestamp_interval(Some(Duration::from_secs(secs)));
        Ok(())
    });
    methods.add_all(&["anvil_removeBlockTimestampInterval", "evm_removeBlockTimestampInterval"], 0, |eth, _| {
        eth.node.set_block_timestamp_interval(None);
        Ok(true)
    });
}

/// Returns the total offset from the clock in seconds, as a JSON number.
fn increase(eth: &Eth, args: &Args<'_>) -> Result<i64, RpcError> {
    let Quantity(secs) = args.required(0, "seconds")?;
    check_reach("0 (seconds)", secs, from_now(eth, secs))?;
    Ok(eth.node.increase_time(Duration::from_secs(secs)).as_secs())
}

/// Accepts milliseconds too, which Ganache and plugins of Hardhat send: a number above 10^12.
fn set(eth: &Eth, args: &Args<'_>) -> Result<u64, RpcError> {
    let Quantity(time) = args.required(0, "timestamp")?;
    let secs = if time > 1_000_000_000_000 { time / 1000 } else { time };
    check_reach("0 (timestamp)", time, secs)?;
    eth.node.set_time(Timestamp::from_secs(secs)).map_err(time_error)?;
    Ok(secs)
}

fn set_next(eth: &Eth, args: &Args<'_>) -> Result<(), RpcError> {
    let Quantity(secs) = args.required(0, "timestamp")?;
    set_next_timestamp(eth, "0 (timestamp)", secs)
}

/// Sets the next block's timestamp to the one of an argument.
pub(super) fn set_next_timestamp(eth: &Eth, argument: &str, secs: u64) -> Result<(), RpcError> {
    check_reach(argument, secs, secs)?;
    eth.node.set_next_block_timestamp(Timestamp::from_secs(secs)).map_err(time_error)
}

/// The time to which so many seconds lead from the chain's own, which is its last block's where that is later. No seconds lead nowhere.
pub(super) fn from_now(eth: &Eth, secs: u64) -> u64 {
    if secs == 0 {
        return 0;
    }
    let view = eth.view();
    view.now().max(view.head().timestamp()).as_secs().saturating_add(secs)
}

/// Refuses an argument that leads to a time past the year 2400.
pub(super) fn check_reach(argument: &str, got: u64, leads_to: u64) -> Result<(), RpcError> {
    if leads_to <= TRAVEL_SECS_MAX {
        return Ok(());
    }
    Err(invalid_params(format!(
        "invalid argument {argument}: expected one that leads to no time past the year 2400 ({TRAVEL_SECS_MAX} s since 1970), \
         got {got}, which leads to {leads_to} s"
    )))
}

/// Returns the error of a time that was not set.
fn time_error(cause: TimeError) -> RpcError {
    match cause {
        TimeError::Engine(cause) => internal(&cause),
        refused => error(REFUSED, refused.to_string()),
    }
}
