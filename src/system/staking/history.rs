//! Consensus weights by operator and height, by which votes of governance count.
//!
//! Only a chain whose genesis has `governance` keeps them. A checkpoint is written where a weight changes, at most one a block and
//! validator.

use alloy_primitives::{
    Address,
    aliases::{U48, U208},
};

use super::{
    interface as sol,
    layout::{STAKING, Staking, ValidatorEntry},
};
use crate::{
    templates::common::Trace208,
    vm::{
        Stop,
        abi::require,
        math::{CheckedMath, overflow},
    },
};

/// Weights.
impl Staking<'_, '_> {
    /// Emits the new weight if it changed, and keeps it where the chain has governance.
    pub(super) fn announce(&mut self, validator: &ValidatorEntry, old: u64, new: u64) -> Result<(), Stop> {
        if old == new {
            return Ok(());
        }
        let key = self.key_of(validator)?;
        self.0.emit(&sol::WeightChanged { sealingKey: key, weight: new })?;
        if !validator.has_history {
            return Ok(());
        }
        let total = STAKING.total_weights.latest(self.0)?;
        let total = total.add(U208::from(new))?.sub(U208::from(old))?;
        self.keep(validator.stored.weights, U208::from(new))?;
        self.keep(STAKING.total_weights, total)
    }

    /// Keeps a weight from this block on. Where heights begin anew over an older state, as over a dump of accounts, it replaces the last
    /// one: the chain goes on.
    fn keep(&mut self, trace: Trace208, weight: U208) -> Result<(), Stop> {
        let now = key(self.height())?;
        let last = trace.latest_checkpoint(self.0)?;
        let key = last.map_or(now, |last| last.key.max(now));
        trace.push(self.0, key, weight).map(drop)
    }

    /// Returns the weight of all validators now; 0 on a chain without governance.
    pub(super) fn total_weight(&mut self) -> Result<u128, Stop> {
        STAKING.total_weights.latest(self.0).map(|total| total.saturating_to())
    }

    /// Returns a validator's weight at the end of a past block.
    pub(super) fn weight_at(&mut self, validator: Address, height: u64) -> Result<u128, Stop> {
        let key = self.past(height)?;
        let validator = self.find(validator)?;
        validator.stored.weights.upper_lookup_recent(self.0, key).map(|weight| weight.saturating_to())
    }

    /// Returns the weight of all validators at the end of a past block.
    pub(super) fn total_weight_at(&mut self, height: u64) -> Result<u128, Stop> {
        let key = self.past(height)?;
        STAKING.total_weights.upper_lookup_recent(self.0, key).map(|total| total.saturating_to())
    }

    fn past(&mut self, height: u64) -> Result<U48, Stop> {
        require(self.load_params()?.keeps_history, sol::NoHistory {})?;
        let current = self.height();
        require(height < current, sol::HeightNotPast { height, current })?;
        key(height)
    }
}

fn key(height: u64) -> Result<U48, Stop> {
    U48::checked_from_limbs_slice(&[height]).ok_or_else(overflow)
}
