//! Parameters of proof of stake.

use core::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{
    consensus::{
        Encoder, EvidenceWindow, ValidatorSetError,
        mutation::{self, Mutation},
    },
    primitives::{B256, secs_rounded_up},
    system::staking::{self, StakingParams},
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
    /// Base reward of an epoch's votes: with a total stake of `T` gwei a validator earns, and who is absent loses, parts of its stake
    /// times this over the square root of `T` (`BASE_REWARD_FACTOR`). 0 rewards and costs nothing.
    pub(crate) base_reward_factor: u64,
    /// Stake at or below which a penalty ejects a validator, in percent of [`StakingParams::min_self_stake`], at most 100; 0 ejects
    /// nobody (`EJECTION_BALANCE`, 16 of 32 ether).
    pub(crate) ejection_percent: u8,
    /// Number of elements of a validator's hash chain, from which it reveals one a block, at least 4. A replica computes a whole
    /// chain when it announces it.
    pub(crate) reveal_chain_length: u64,
    /// Age up to which evidence counts; from the parameters of stake, whatever genesis says here.
    #[serde(skip_serializing_if = "EvidenceWindow::is_default")]
    pub(crate) evidence: EvidenceWindow,
    /// Validators that join and leave an epoch, at least; 0 for any number. From the parameters of stake, whatever genesis says
    /// here.
    #[serde(skip_serializing_if = "is_default_churn")]
    pub(crate) churn_limit: u32,
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
    /// The hash chains are too short or too long.
    #[error(
        "proof of stake: revealChainLength is {got}; give at least {REVEAL_CHAIN_LENGTH_MIN} and at most \
         {REVEAL_CHAIN_LENGTH_MAX}, such as 256"
    )]
    RevealChainLength {
        /// Value configured.
        got: u64,
    },
    /// The boost is more than a slot's share of the stake: it would decide every fork alone.
    #[error("proof of stake: boostPercent is {got}; give at most 100, such as 40")]
    Boost {
        /// Value configured.
        got: u64,
    },
    /// Validators would be ejected with the stake that they must have to join.
    #[error("proof of stake: ejectionPercent is {got}; give at most 100, such as 50, or 0 to eject nobody")]
    EjectionPercent {
        /// Value configured.
        got: u8,
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

/// Fewest elements of a hash chain: one is left when the next chain is announced.
const REVEAL_CHAIN_LENGTH_MIN: u64 = 4;
/// Most elements of a hash chain, which a validator computes at once.
const REVEAL_CHAIN_LENGTH_MAX: u64 = 65_536;
/// Part of the stake that may be replaced before a checkpoint is too old to start from, in percent (`SAFETY_DECAY`).
const SAFETY_DECAY_PERCENT: u64 = 10;

/// `ln 4 / 2`, in thousandths.
const LN_4_HALF_PER_MILLE: u128 = 693;

/// Largest number of slots of an epoch.
const SLOTS_PER_EPOCH_MAX: u64 = 256;

/// Latest slot of a block: sums of slots and epochs stay far below 2^64.
const SLOT_MAX: u64 = 1 << 62;
/// Largest distance of a block from its parent on demand, in epochs: a proposer takes its next slot, and validators with most of
/// the stake may not run.
const EPOCHS_AHEAD_MAX: u64 = 64;

/// [`StakingParams::churn_limit`] by default.
const DEFAULT_CHURN_LIMIT: u32 = 1;

const fn is_default_churn(limit: &u32) -> bool {
    *limit == DEFAULT_CHURN_LIMIT
}

impl Default for PosConfig {
    fn default() -> Self {
        Self {
            period: 12,
            slots_per_epoch: 8,
            boost_percent: 40,
            leak_after: 4,
            leak_quotient: 1 << 24,
            correlation_multiplier: 3,
            correlation_delay: 8,
            base_reward_factor: 64,
            ejection_percent: 50,
            reveal_chain_length: 256,
            evidence: EvidenceWindow::default(),
            churn_limit: DEFAULT_CHURN_LIMIT,
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

    /// Returns the configuration with another base reward of votes; 64 is Ethereum's, 0 rewards and costs nothing.
    #[must_use]
    pub const fn with_base_reward_factor(mut self, factor: u64) -> Self {
        self.base_reward_factor = factor;
        self
    }

    /// Returns the configuration with another stake at or below which a penalty ejects a validator, in percent of
    /// [`StakingParams::min_self_stake`]; 0 ejects nobody.
    #[must_use]
    pub const fn with_ejection_percent(mut self, percent: u8) -> Self {
        self.ejection_percent = percent;
        self
    }

    /// Returns the configuration with hash chains of another length.
    #[must_use]
    pub const fn with_reveal_chain_length(mut self, elements: u64) -> Self {
        self.reveal_chain_length = elements;
        self
    }

    /// Returns the configuration with hash chains of so many elements at most.
    pub(crate) fn with_reveals_at_most(self, elements: u64) -> Self {
        self.with_reveal_chain_length(self.reveal_chain_length.min(elements))
    }

    /// Returns the configuration of a chain with these parameters of stake, which decide how long evidence counts and how fast
    /// the validators change. A network takes them from its genesis.
    #[must_use]
    pub fn with_staking(mut self, params: &StakingParams) -> Self {
        self.evidence = EvidenceWindow::of_staking(params);
        self.churn_limit = params.churn_limit;
        self
    }

    /// Returns the weak subjectivity period, in epochs, with this number of validators and slots of the period of genesis: a replica that
    /// was offline for longer needs a trusted checkpoint. Infinite on demand, where slots follow no clock.
    ///
    /// It is the time for which stake is locked after its validator left, and the time in which a tenth of the validators can be
    /// replaced (`compute_weak_subjectivity_period`, with equal stakes: `SAFETY_DECAY * N / (2 * churn * 100)`); at most the time in
    /// which a third that votes alone becomes two thirds by the inactivity leak of the others, as it then makes a branch of its
    /// own final. (The specifications leave that out: their leak takes weeks.)
    pub fn weak_subjectivity_epochs(&self, validators: usize) -> u64 {
        self.weak_subjectivity_epochs_of(self.period, validators)
    }

    /// Returns the weak subjectivity period with slots of at most `period` seconds.
    pub(super) fn weak_subjectivity_epochs_of(&self, period: u64, validators: usize) -> u64 {
        let epoch_secs = period.saturating_mul(self.slots_per_epoch);
        let Some(unbonding) = self.evidence.unbonding_secs.checked_div(epoch_secs) else { return u64::MAX };
        let validators = validators as u64;
        let churn = match self.churn_limit {
            0 => validators,
            least => staking::churn_limit(least, validators),
        };
        let locked =
            unbonding.saturating_add((SAFETY_DECAY_PERCENT * validators).checked_div(200 * churn).unwrap_or_default());
        if mutation::active(Mutation::PosTrustsLeakedBranches) { locked } else { locked.min(self.leaked_epochs()) }
    }

    /// Returns the epochs in which a leak leaves validators that are absent a quarter of their stake, rounded down. After `n` epochs of
    /// leak the scores sum up to `2 n^2`, and `exp(-2 n^2 / quotient)` is left: `n^2 = ln 4 / 2 * quotient`.
    fn leaked_epochs(&self) -> u64 {
        let leak = u128::from(self.leak_quotient).saturating_mul(LN_4_HALF_PER_MILLE) / 1_000;
        self.leak_after.saturating_add(u64::try_from(leak.isqrt()).unwrap_or(u64::MAX))
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

    /// Returns the latest slot of a child of a block in `slot`. Where slots follow the clock, any number of them may be empty.
    pub fn last_slot_after(&self, slot: u64) -> u64 {
        let reach = match self.period {
            0 => EPOCHS_AHEAD_MAX * self.slots_per_epoch,
            _ if mutation::active(Mutation::PosBoundsGaps) => 65_536,
            _ => SLOT_MAX,
        };
        let last = slot.saturating_add(reach);
        if last < SLOT_MAX { last } else { SLOT_MAX }
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
        if self.reveal_chain_length < REVEAL_CHAIN_LENGTH_MIN || self.reveal_chain_length > REVEAL_CHAIN_LENGTH_MAX {
            return Err(PosError::RevealChainLength { got: self.reveal_chain_length });
        }
        if self.correlation_delay == 0 {
            return Err(PosError::Zero { field: "correlationDelay" });
        }
        if self.ejection_percent > 100 {
            return Err(PosError::EjectionPercent { got: self.ejection_percent });
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
            base_reward_factor,
            ejection_percent,
            reveal_chain_length,
            evidence,
            churn_limit,
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
            base_reward_factor,
            reveal_chain_length,
        ] {
            out.u64(*number);
        }
        out.u8(*ejection_percent);
        evidence.encode(out);
        out.u32(*churn_limit);
        out.option(trusted.as_ref(), |out, Trusted { epoch, block }| {
            out.u64(*epoch);
            out.hash(block);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weak_subjectivity_period_is_that_of_locked_stake_and_churn() {
        let staked = |churn_limit, unbonding_secs| {
            PosConfig::default().with_staking(&StakingParams {
                churn_limit,
                unbonding_secs,
                ..StakingParams::default()
            })
        };
        // Epochs of 96 seconds; 100 validators change by three an epoch, 1,000 by 31.
        for (churn, secs, validators, want) in [
            (1, 86_400, 4, 900),
            (1, 86_400, 100, 901),
            (1, 960, 1_000, 11),
            (0, 960, 1_000, 10),
            (1, 1_814_400, 4, 3_413),
        ] {
            assert_eq!(staked(churn, secs).weak_subjectivity_epochs(validators), want, "{validators} validators");
        }
        assert_eq!(staked(1, 1_814_400).with_leak_quotient(4_096).weak_subjectivity_epochs(4), 57, "a leak is faster");
        let on_demand = PosConfig::default().with_period(Duration::ZERO);
        assert_eq!(on_demand.weak_subjectivity_epochs(4), u64::MAX, "slots follow no clock");
    }

    /// By the leak itself: a third of the stake votes, the others are absent.
    #[test]
    fn the_leak_makes_a_third_two_thirds_no_earlier_than_the_period_says() {
        for quotient in [256, 4_096, 1 << 15, 1 << 24] {
            let config = PosConfig::default().with_leak_quotient(quotient);
            let (mut absent, mut score, mut epochs) = (2.0_f64, 0.0, config.leak_after);
            while absent > 0.5 {
                (score, epochs) = (score + 4.0, epochs + 1);
                absent -= absent * score / quotient as f64;
            }
            let period = config.leaked_epochs();
            assert!(period <= epochs && period + epochs / 10 + 2 >= epochs, "{quotient}: {period} of {epochs}");
        }
    }

    #[test]
    fn rewards_and_ejection_come_from_json_and_have_defaults() {
        let given: PosConfig = serde_json::from_str(r#"{"baseRewardFactor": 0, "ejectionPercent": 25}"#).unwrap();
        assert_eq!(given, PosConfig::default().with_base_reward_factor(0).with_ejection_percent(25));
        assert_eq!(serde_json::from_str::<PosConfig>("{}").unwrap(), PosConfig::default());
        assert_eq!((PosConfig::default().base_reward_factor, PosConfig::default().ejection_percent), (64, 50));
        for (percent, is_right) in [(0, true), (100, true), (101, false)] {
            assert_eq!(PosConfig::default().with_ejection_percent(percent).check().is_ok(), is_right, "{percent}");
        }
    }

    #[test]
    fn hash_chains_have_a_length_that_can_be_renewed() {
        for (length, is_right) in [(3, false), (4, true), (65_536, true), (65_537, false)] {
            assert_eq!(PosConfig::default().with_reveal_chain_length(length).check().is_ok(), is_right, "{length}");
        }
    }
}
