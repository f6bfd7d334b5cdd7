//! Weights by height, by which votes of governance count. A checkpoint is written where a weight changes, at most one a block and
//! validator.

use alloy_primitives::aliases::{U48, U208};

use super::{interface as sol, state::VALIDATORS};
use crate::{
    templates::common::Trace208,
    vm::{
        contract::*,
        math::{CheckedMath, overflow},
    },
};

/// Keeps a validator's new weight, and the sum with it, from this block on.
pub(super) fn keep(host: &mut Host<'_>, validator: Address, old: u64, new: u64) -> Result<(), Stop> {
    let total = VALIDATORS.total_weights.latest(host)?;
    let total = total.add(U208::from(new))?.sub(U208::from(old))?;
    let weights = VALIDATORS.weights.at(host, validator)?;
    keep_in(host, weights, U208::from(new))?;
    keep_in(host, VALIDATORS.total_weights, total)
}

/// Keeps a value from this block on. Where heights begin anew over an older state, as over a dump of accounts, it replaces the last one:
/// the chain goes on.
fn keep_in(host: &mut Host<'_>, trace: Trace208, value: U208) -> Result<(), Stop> {
    let now = key(host.block().height.get())?;
    let last = trace.latest_checkpoint(host)?;
    let key = last.map_or(now, |last| last.key.max(now));
    trace.push(host, key, value).map(drop)
}

/// Returns a validator's weight at the end of a past block.
pub(super) fn weight_at(host: &mut Host<'_>, validator: Address, height: u64) -> Result<u128, Stop> {
    let key = past(host, height)?;
    let weights = VALIDATORS.weights.at(host, validator)?;
    weights.upper_lookup_recent(host, key).map(|weight| weight.saturating_to())
}

/// Returns the sum of all weights at the end of a past block.
pub(super) fn total_weight_at(host: &mut Host<'_>, height: u64) -> Result<u128, Stop> {
    let key = past(host, height)?;
    VALIDATORS.total_weights.upper_lookup_recent(host, key).map(|total| total.saturating_to())
}

fn past(host: &mut Host<'_>, height: u64) -> Result<U48, Stop> {
    let current = host.block().height.get();
    require(height < current, sol::HeightNotPast { height, current })?;
    key(height)
}

fn key(height: u64) -> Result<U48, Stop> {
    U48::checked_from_limbs_slice(&[height]).ok_or_else(overflow)
}
