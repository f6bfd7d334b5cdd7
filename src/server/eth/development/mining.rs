//! Mining on request, mining modes, snapshots.

use core::{ops::ControlFlow, time::Duration};

use alloy_primitives::{U64, U256};
use serde::Deserialize;
use serde_json::Value;

use super::time::{check_reach, from_now, set_next_timestamp};
use crate::{
    chain::ExecutedBlock,
    node::{MINING_INTERVAL_SECS_MAX, MineError, Mining, SnapshotId},
    platform::PlatformError,
    server::{
        eth::{
            Eth, Methods, convert,
            params::{Args, Argument, Quantity},
        },
        jsonrpc::errors::{INTERNAL_ERROR, RpcError, command_failed, error, internal, invalid_params},
    },
};

pub(super) fn register(methods: &mut Methods) {
    methods.add_all(&["evm_mine"], 1, evm_mine);
    methods.add_all(&["anvil_mine", "hardhat_mine"], 2, mine);
    methods.add_all(&["evm_mine_detailed", "anvil_mine_detailed"], 1, mine_detailed);
    methods.add_all(&["evm_setAutomine", "anvil_setAutomine"], 1, set_automine);
    methods.add_all(&["anvil_getAutomine", "hardhat_getAutomine"], 0, |eth, _| {
        Ok(matches!(eth.node.mining(), Mining::EachTransaction))
    });
    methods.add_all(&["evm_setIntervalMining", "anvil_setIntervalMining"], 1, set_interval);
    methods.add_all(&["anvil_getIntervalMining"], 0, |eth, _| {
        Ok(match eth.node.mining() {
            // Zero would say that there is none.
            Mining::Interval(interval) => {
                Some(interval.as_secs().saturating_add(u64::from(interval.subsec_nanos() > 0)))
            }
            _ => None,
        })
    });
    methods.add_all(&["evm_snapshot", "anvil_snapshot"], 0, |eth, _| snapshot(eth));
    methods.add_all(&["evm_revert", "anvil_revert"], 1, revert);
}

/// Parameter of `evm_mine`: nothing, a timestamp, or `{ timestamp, blocks }`.
#[derive(Clone, Copy, Debug, Default)]
struct MineOptions {
    timestamp: Option<u64>,
    blocks: Option<u64>,
}

impl<'de> Deserialize<'de> for MineOptions {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Timestamp(Quantity),
            Options { timestamp: Option<Quantity>, blocks: Option<Quantity> },
        }
        Ok(match Form::deserialize(deserializer)? {
            Form::Timestamp(Quantity(timestamp)) => Self { timestamp: Some(timestamp), blocks: None },
            Form::Options { timestamp, blocks } => {
                Self { timestamp: timestamp.map(|timestamp| timestamp.0), blocks: blocks.map(|blocks| blocks.0) }
            }
        })
    }
}

impl Argument for MineOptions {
    const EXPECTED: &'static str = "a timestamp in seconds, or { timestamp, blocks }";
}

fn evm_mine(eth: &Eth, args: &Args<'_>) -> Result<&'static str, RpcError> {
    mine_with_options(eth, args)?;
    Ok("0x0")
}

fn mine_detailed(eth: &Eth, args: &Args<'_>) -> Result<Vec<Value>, RpcError> {
    let blocks = mine_with_options(eth, args)?;
    let shown = blocks.iter().map(|block| serde_json::to_value(convert::block(block.block(), true)));
    shown.collect::<Result<_, _>>().map_err(|cause| internal(&cause))
}

fn mine_with_options(eth: &Eth, args: &Args<'_>) -> Result<Vec<ExecutedBlock>, RpcError> {
    let options: MineOptions = args.optional(0, "options")?.unwrap_or_default();
    if let Some(timestamp) = options.timestamp {
        set_next_timestamp(eth, "0 (options)", timestamp)?;
    }
    let mut blocks = Vec::new();
    mine_cancellable(eth, args, options.blocks.unwrap_or(1), None, |block| blocks.push(block.clone()))?;
    Ok(blocks)
}

/// Makes blocks until they are enough or the caller has left.
fn mine_cancellable(
    eth: &Eth,
    args: &Args<'_>,
    count: u64,
    spacing: Option<Duration>,
    mut visit: impl FnMut(&ExecutedBlock),
) -> Result<(), RpcError> {
    let made = eth.node.mine_each(count, spacing, |block| {
        visit(block);
        if args.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let made = made.map_err(mine_error)?;
    if made == count {
        Ok(())
    } else {
        Err(error(INTERNAL_ERROR, format!("cancelled: {made} of {count} blocks were made")))
    }
}

/// `anvil_mine(blocks, seconds between them)`.
fn mine(eth: &Eth, args: &Args<'_>) -> Result<(), RpcError> {
    let blocks = args.optional(0, "blocks")?.map_or(1, |Quantity(blocks)| blocks);
    let interval = args.optional(1, "interval")?.map(|Quantity(secs)| secs);
    if let Some(secs) = interval {
        // The first block comes at once.
        check_reach("1 (interval)", secs, from_now(eth, secs.saturating_mul(blocks.saturating_sub(1))))?;
    }
    mine_cancellable(eth, args, blocks, interval.map(Duration::from_secs), |_| ())
}

pub(super) fn mine_error(cause: MineError) -> RpcError {
    match cause {
        MineError::TooMany { .. } => invalid_params(cause.to_string()),
        other => command_failed(&other, other.full_disk()),
    }
}

fn set_automine(eth: &Eth, args: &Args<'_>) -> Result<(), RpcError> {
    let enabled: bool = args.required(0, "enabled")?;
    match (enabled, eth.node.mining()) {
        (true, _) => eth.node.set_mining(Mining::EachTransaction).map_err(mine_error)?,
        (false, Mining::EachTransaction) => eth.node.set_mining(Mining::Manual).map_err(mine_error)?,
        // Interval mining is independent of automining and stays.
        (false, _) => {}
    }
    Ok(())
}

/// `evm_setIntervalMining` in seconds, as in anvil; Hardhat's takes milliseconds.
fn set_interval(eth: &Eth, args: &Args<'_>) -> Result<(), RpcError> {
    let Quantity(secs) = args.required(0, "seconds")?;
    if secs > MINING_INTERVAL_SECS_MAX {
        let message = format!(
            "invalid argument 0 (seconds): expected 0 (off) to {MINING_INTERVAL_SECS_MAX} (a year), got {secs}"
        );
        return Err(invalid_params(message));
    }
    let mining = if secs == 0 { Mining::Manual } else { Mining::Interval(Duration::from_secs(secs)) };
    eth.node.set_mining(mining).map_err(mine_error)
}

/// `evm_revert`: `false` for an unknown or deleted snapshot.
fn revert(eth: &Eth, args: &Args<'_>) -> Result<bool, RpcError> {
    let id: U256 = args.required(0, "snapshot")?;
    match u64::try_from(id) {
        Ok(id) => {
            let id = SnapshotId::new(id);
            let reverted = eth.node.revert(id).map_err(|cause| command_failed(&cause, cause.full_disk()))?;
            if let Some(records) = eth.records.as_ref().filter(|_| reverted) {
                records.revert(id).map_err(|cause| records_failed(&cause))?;
            }
            Ok(reverted)
        }
        Err(_) => Ok(false),
    }
}

/// `evm_snapshot`: of the chain, and of the records beside it.
fn snapshot(eth: &Eth) -> Result<U64, RpcError> {
    let id = eth.node.snapshot();
    if let Some(records) = &eth.records {
        records.keep(id).map_err(|cause| records_failed(&cause))?;
    }
    Ok(U64::from(id.get()))
}

/// Returns the error of records that were not kept or taken back.
pub(super) fn records_failed(cause: &PlatformError) -> RpcError {
    let disk = match cause {
        PlatformError::StorageFull { disk } => Some(*disk),
        _ => None,
    };
    command_failed(cause, disk)
}
