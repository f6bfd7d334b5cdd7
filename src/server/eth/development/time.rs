//! Setting the time of the chain.

use std::time::Duration;

use crate::{
    node::TimeError,
    primitives::Timestamp,
    server::{
        eth::{
            Eth, Methods,
            params::{Args, Quantity},
        },
        jsonrpc::errors::{REFUSED, RpcError, error, internal},
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
    Ok(eth.node.increase_time(Duration::from_secs(secs)).as_secs())
}

/// Accepts milliseconds too, which Ganache and plugins of Hardhat send: a number above 10^12.
fn set(eth: &Eth, args: &Args<'_>) -> Result<u64, RpcError> {
    let Quantity(time) = args.required(0, "timestamp")?;
    let secs = if time > 1_000_000_000_000 { time / 1000 } else { time };
    eth.node.set_time(Timestamp::from_secs(secs)).map_err(time_error)?;
    Ok(secs)
}

fn set_next(eth: &Eth, args: &Args<'_>) -> Result<(), RpcError> {
    let Quantity(secs) = args.required(0, "timestamp")?;
    eth.node.set_next_block_timestamp(Timestamp::from_secs(secs)).map_err(time_error)
}

/// Returns the error of a time that was not set.
pub(super) fn time_error(cause: TimeError) -> RpcError {
    match cause {
        TimeError::Engine(cause) => internal(&cause),
        refused => error(REFUSED, refused.to_string()),
    }
}
