//! Parameters of proof of stake.

use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    consensus::{Encoder, ValidatorSetError},
    primitives::{B256, Timestamp, secs_rounded_up},
};

/// Parameters of proof of stake, the same for every validator of a chain; smaller than Ethereum's, for few validators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PosConfig {
    /// Length of a slot, in seconds (`SECONDS_PER_SLOT`); with 0, blocks are made on demand only, each in the next slot.
    pub(crate) period: u64,
    /// Slots of an epoch (`SLOTS_PER_EPOCH`), at least 2.
    pub(crate) slots_per_epoch: u64,
    /// Weight of a timely block on top of its votes, in percent of a slot's share of the stake (`PROPOSER_SCORE_BOOST`).
    pub(crate) boost_percent: u64,
    /// Number of epochs without finality before the inactivity leak starts (`MIN_EPOCHS_TO_INACTIVITY_PENALTY`).
    pub(crate) leak_after: u64,
    /// Divisor of the leak, at least 1: each epoch an absent validator loses its weight times its inactivity score over this;
    /// the score grows by 4 (`INACTIVITY_PENALTY_QUOTIENT`).
    pub(crate) leak_quotient: u64,
    /// Factor of the correlation penalty: an offender loses this many times the share of stake slashed at about the same time
    /// (`PROPORTIONAL_SLASHING_MULTIPLIER`).
    pub(crate) correlation_multiplier: u64,
    /// Number of epochs between evidence and correlation penalty; offences up to this far before and after count together.
    pub(crate) correlation_delay: u64,
    /// Number of epochs for which stake stays slashable: a replica that was offline for longer needs a trusted checkpoint (weak
    /// subjectivity).
    pub(crate) unbonding_epochs: u64,
    /// Checkpoint that the operator trusts; not part of genesis.
    #[serde(skip)]
    pub(crate) trusted: Option<Trusted>,
}

/// A checkpoint that an operator trusts (weak subjectivity).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Trusted {
    /// Epoch of the checkpoint.
    pub epoch: u64,
    /// Hash of its block.
    pub block: B256,
}

/// Invalid parameters, validators or records of proof of stake.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PosError {
    /// The number of slots of an epoch is less than 2 or too high.
    #[error("proof of stake: slotsPerEpoch is {got}; give at least 2 and at most {max}, such as 4 or 8")]
    SlotsPerEpoch {
        /// Value configured.
        got: u64,
        /// The largest allowed.
        max: u64,
    },
    /// A divisor is 0.
    #[error("proof of stake: {field} is 0; give at least 1")]
    Zero {
        /// Name of the parameter.
        field: &'static str,
    },
    /// The boost is more than a slot's share of the stake: it would decide every fork alone.
    #[error("proof of stake: boostPercent is {got}; give at most 100, such as 40")]
    Boost {
        /// Value configured.
        got: u64,
    },
    /// The validators are not a valid set.
    #[error("proof of stake: {0}")]
    Validators(#[from] ValidatorSetError),
    /// A stored record does not decode.
    #[error("proof of stake: stored record {key:?} does not decode")]
    Record {
        /// Key of the record.
        key: &'static str,
    },
}

/// Largest number of slots of an epoch.
const SLOTS_PER_EPOCH_MAX: u64 = 256;

/// Largest number of consecutive empty slots, with a period.
pub const EMPTY_SLOTS_MAX: u64 = 65_536;
/// Largest distance of a block from its parent on demand, in epochs: a proposer takes its next slot, and validators with most of
/// the stake may not run.
const EPOCHS_AHEAD_MAX: u64 = 64;

impl Default for PosConfig {
    fn default() -> Self {
        Self {
            period: 12,
            slots_per_epoch: 8,
            boost_percent: 40,
            leak_after: 4,
            leak_quotient: 4_096,
            correlation_multiplier: 3,
            correlation_delay: 8,
            unbonding_epochs: 256,
            trusted: None,
        }
    }
}

impl PosConfig {
    /// Returns the configuration with slots of `period`, rounded up to whole seconds, the unit of block times; with zero, blocks
    /// are made on demand only.
    #[must_use]
    pub const fn with_period(mut self, period: Duration) -> Self {
        self.period = secs_rounded_up(period);
        self
    }

    /// Returns the configuration with `slots` slots an epoch.
    #[must_use]
    pub const fn with_slots_per_epoch(mut self, slots: u64) -> Self {
        self.slots_per_epoch = slots;
        self
    }

    /// Returns the configuration with another proposer boost, in percent.
    #[must_use]
    pub const fn with_boost_percent(mut self, percent: u64) -> Self {
        self.boost_percent = percent;
        self
    }

    /// Returns the configuration with another divisor of the leak.
    #[must_use]
    pub const fn with_leak_quotient(mut self, quotient: u64) -> Self {
        self.leak_quotient = quotient;
        self
    }

    /// Returns the configuration with another number of epochs for which stake stays slashable.
    #[must_use]
    pub const fn with_unbonding_epochs(mut self, epochs: u64) -> Self {
        self.unbonding_epochs = epochs;
        self
    }

    /// Returns the configuration with a checkpoint that the operator trusts.
    #[must_use]
    pub const fn with_trusted(mut self, epoch: u64, block: B256) -> Self {
        self.trusted = Some(Trusted { epoch, block });
        self
    }

    /// Returns the configuration with another number of epochs without finality before stake leaks.
    #[must_use]
    pub const fn with_leak_after(mut self, leak_after: u64) -> Self {
        self.leak_after = leak_after;
        self
    }

    /// Returns the configuration with another multiplier of the correlation penalty.
    #[must_use]
    pub const fn with_correlation_multiplier(mut self, correlation_multiplier: u64) -> Self {
        self.correlation_multiplier = correlation_multiplier;
        self
    }

    /// Returns the configuration with another number of epochs between evidence and correlation penalty.
    #[must_use]
    pub const fn with_correlation_delay(mut self, correlation_delay: u64) -> Self {
        self.correlation_delay = correlation_delay;
        self
    }

    /// Returns the epoch of `slot`.
    pub const fn epoch_of(&self, slot: u64) -> u64 {
        slot / self.slots_per_epoch
    }

    /// Returns the first slot of `epoch`.
    pub const fn start_of(&self, epoch: u64) -> u64 {
        epoch.saturating_mul(self.slots_per_epoch)
    }

    /// Returns the largest distance of a block from its parent, in slots.
    pub const fn reach(&self) -> u64 {
        if self.period == 0 { EPOCHS_AHEAD_MAX * self.slots_per_epoch } else { EMPTY_SLOTS_MAX }
    }

    /// Returns the start of `slot` on a chain with this genesis time; with a period of 0, the genesis time.
    pub const fn time_of(&self, genesis: Timestamp, slot: u64) -> Timestamp {
        genesis.saturating_add_secs(slot.saturating_mul(self.period))
    }

    /// Returns the proposer boost, in gwei, when all validators together have the weight `total`.
    pub fn boost(&self, total: u128) -> u128 {
        (total / u128::from(self.slots_per_epoch)).saturating_mul(u128::from(self.boost_percent)) / 100
    }

    pub(super) const fn check(&self) -> Result<(), PosError> {
        if self.slots_per_epoch < 2 || self.slots_per_epoch > SLOTS_PER_EPOCH_MAX {
            return Err(PosError::SlotsPerEpoch { got: self.slots_per_epoch, max: SLOTS_PER_EPOCH_MAX });
        }
        if self.leak_quotient == 0 {
            return Err(PosError::Zero { field: "leakQuotient" });
        }
        if self.correlation_delay == 0 {
            return Err(PosError::Zero { field: "correlationDelay" });
        }
        if self.boost_percent > 100 {
            return Err(PosError::Boost { got: self.boost_percent });
        }
        Ok(())
    }

    pub(super) fn encode(&self, out: &mut Encoder) {
        let Self {
            period,
            slots_per_epoch,
            boost_percent,
            leak_after,
            leak_quotient,
            correlation_multiplier,
            correlation_delay,
            unbonding_epochs,
            trusted,
        } = self;
        for number in [
            period,
            slots_per_epoch,
            boost_percent,
            leak_after,
            leak_quotient,
            correlation_multiplier,
            correlation_delay,
            unbonding_epochs,
        ] {
            out.u64(*number);
        }
        out.option(trusted.as_ref(), |out, Trusted { epoch, block }| {
            out.u64(*epoch);
            out.hash(block);
        });
    }
}
