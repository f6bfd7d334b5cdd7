//! Parameters of proof of stake.

use serde::{Deserialize, Serialize};

use crate::{
    consensus::{Encoder, ValidatorSetError},
    primitives::{B256, Timestamp},
};

/// The constants of the protocol, smaller than Ethereum's to suit a few validators. Every validator of a chain has the
/// same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PosConfig {
    /// Seconds a slot (`SECONDS_PER_SLOT`). 0: blocks are made on demand only, each in the next slot.
    pub period: u64,
    /// Slots an epoch (`SLOTS_PER_EPOCH`), at least 2.
    pub slots_per_epoch: u64,
    /// What a timely block has on top of its votes, in percent of a slot's share of the stake (`PROPOSER_SCORE_BOOST`).
    pub boost_percent: u64,
    /// Epochs without finality before stake of absent validators leaks (`MIN_EPOCHS_TO_INACTIVITY_PENALTY`).
    pub leak_after: u64,
    /// How slowly it leaks: an absent validator loses its weight times its score over this each epoch; the score
    /// grows by 4 (`INACTIVITY_PENALTY_QUOTIENT`). At least 1.
    pub leak_quotient: u64,
    /// How many times the share of stake slashed at about the same time an offender loses on top
    /// (`PROPORTIONAL_SLASHING_MULTIPLIER`).
    pub correlation_multiplier: u64,
    /// Epochs between an offence's evidence and the correlation penalty; offences this far before and after count together.
    pub correlation_delay: u64,
    /// Epochs after which stake may have left, so that old signatures cost nothing: a replica that was away for longer
    /// needs a trusted checkpoint (weak subjectivity).
    pub unbonding_epochs: u64,
    /// What the operator trusts; not part of genesis.
    #[serde(skip)]
    pub trusted: Option<Trusted>,
}

/// A checkpoint that an operator got from somebody it trusts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Trusted {
    /// The epoch.
    pub epoch: u64,
    /// The hash of the block that it begins with.
    pub block: B256,
}

/// Why proof of stake could not be set up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PosError {
    /// Justification needs epochs of more than one slot.
    #[error("proof of stake: slotsPerEpoch is {got}; give at least 2 and at most {max}, such as 4 or 8")]
    SlotsPerEpoch {
        /// As configured.
        got: u64,
        /// The largest allowed.
        max: u64,
    },
    /// A division by zero in waiting.
    #[error("proof of stake: {field} is 0; give at least 1")]
    Zero {
        /// Which parameter.
        field: &'static str,
    },
    /// A boost of more than a whole committee decides every fork alone.
    #[error("proof of stake: boostPercent is {got}; give at most 100, such as 40")]
    Boost {
        /// As configured.
        got: u64,
    },
    /// Nobody could vote.
    #[error("proof of stake: {0}")]
    Validators(#[from] ValidatorSetError),
    /// A stored record does not decode.
    #[error("proof of stake: stored record {key:?} does not decode")]
    Record {
        /// Its key.
        key: &'static str,
    },
}

/// The most slots that an epoch may have.
const SLOTS_PER_EPOCH_MAX: u64 = 256;

/// How many slots in a row may stay empty.
pub const EMPTY_SLOTS_MAX: u64 = 65_536;
/// The same in epochs, where blocks are made on demand: whoever is asked takes the next slot of its own, and most of the stake
/// may be of validators that run nowhere.
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
    /// The same with `period` seconds a slot.
    #[must_use]
    pub const fn with_period(mut self, period: u64) -> Self {
        self.period = period;
        self
    }

    /// The same with `slots` slots an epoch.
    #[must_use]
    pub const fn with_slots_per_epoch(mut self, slots: u64) -> Self {
        self.slots_per_epoch = slots;
        self
    }

    /// The same with another proposer boost, in percent.
    #[must_use]
    pub const fn with_boost_percent(mut self, percent: u64) -> Self {
        self.boost_percent = percent;
        self
    }

    /// The same with another speed of the leak.
    #[must_use]
    pub const fn with_leak_quotient(mut self, quotient: u64) -> Self {
        self.leak_quotient = quotient;
        self
    }

    /// The same with another time until stake may have left.
    #[must_use]
    pub const fn with_unbonding_epochs(mut self, epochs: u64) -> Self {
        self.unbonding_epochs = epochs;
        self
    }

    /// The same with a checkpoint that the operator trusts.
    #[must_use]
    pub const fn with_trusted(mut self, epoch: u64, block: B256) -> Self {
        self.trusted = Some(Trusted { epoch, block });
        self
    }

    /// The epoch of `slot`.
    pub const fn epoch_of(&self, slot: u64) -> u64 {
        slot / self.slots_per_epoch
    }

    /// The first slot of `epoch`.
    pub const fn start_of(&self, epoch: u64) -> u64 {
        epoch.saturating_mul(self.slots_per_epoch)
    }

    /// How many slots after its parent's a block may be. Without a clock nothing else bounds it.
    pub const fn reach(&self) -> u64 {
        if self.period == 0 { EPOCHS_AHEAD_MAX * self.slots_per_epoch } else { EMPTY_SLOTS_MAX }
    }

    /// When `slot` begins, on a chain that began at `genesis`; without a period, any time.
    pub const fn time_of(&self, genesis: Timestamp, slot: u64) -> Timestamp {
        genesis.saturating_add_secs(slot.saturating_mul(self.period))
    }

    /// What a boosted block has on top of its votes where all validators weigh `total`.
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
