//! Parameters of the staking contract, part of genesis.

use alloy_primitives::{U256, uint};
use serde::{Deserialize, Serialize};

use super::interface as sol;
use crate::primitives::{
    amount,
    mutation::{self, Mutation},
};

pub use crate::system::parameter::VALIDATORS_MAX;

/// Stake per unit of weight, in wei: one gwei, as in Ethereum's beacon chain.
pub const WEIGHT_UNIT: U256 = uint!(1_000_000_000_U256);

/// Basis points in a whole.
pub(super) const BPS: u64 = 10_000;

/// Millionths in a whole.
pub(super) const PPM: u64 = 1_000_000;

/// Maximum length of a downtime window, in blocks: it fits one storage word.
pub const DOWNTIME_WINDOW_MAX: u32 = 256;

/// Parameters of bonding, rewards and slashing; fixed at genesis. The defaults are those of the Cosmos SDK where it has
/// the parameter.
///
/// Amounts are in wei, times in seconds, `_bps` in ten-thousandths, `_ppm` in millionths. In JSON the
/// names are camelCase, unknown ones are refused, missing ones have their default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct StakingParams {
    /// Time from undelegation to withdrawal, in seconds; default 21 days.
    #[serde(with = "amount::small")]
    pub unbonding_secs: u64,
    /// Minimum own stake to join and to remain a validator, in wei; default one token. Validators of genesis may have
    /// less.
    #[serde(with = "amount")]
    pub min_self_stake: U256,
    /// Minimum amount of one delegation, in wei; default one gwei.
    #[serde(with = "amount")]
    pub min_delegation: U256,
    /// Maximum number of validators; default 1,000, at most [`VALIDATORS_MAX`].
    pub max_validators: u32,
    /// Amount minted per block for its proposer and the proposer's delegators, in wei; default 0.01 token. May be 0.
    #[serde(with = "amount")]
    pub block_reward: U256,
    /// Whether the priority fees of a block go to the contract, which distributes them like rewards, in place of the
    /// beneficiary; default no. The base fee is burned in either case.
    pub share_fees: bool,
    /// Commission of the validators of genesis, in ten-thousandths; default 10 %. They may change it to any value, once
    /// per [`StakingParams::commission_change_secs`].
    pub genesis_commission_bps: u16,
    /// Minimum time between two changes of a commission, in seconds; default one day.
    #[serde(with = "amount::small")]
    pub commission_change_secs: u64,
    /// Part slashed for an equivocation, in millionths; default 5 %.
    pub double_sign_slash_ppm: u32,
    /// Part slashed for downtime, in millionths; default 1 %.
    pub downtime_slash_ppm: u32,
    /// Length of the downtime window, in blocks, or in the validator's own turns where the protocol has turns; default 100, from 1 to
    /// [`DOWNTIME_WINDOW_MAX`].
    pub downtime_window: u32,
    /// Part of the window in which a validator must be present, in millionths; default 50 %.
    pub downtime_min_signed_ppm: u32,
    /// Jail time for downtime, in seconds; default 600.
    #[serde(with = "amount::small")]
    pub downtime_jail_secs: u64,
    /// Age above which evidence is ignored, in blocks, if it is older than [`StakingParams::evidence_max_age_secs`]
    /// too; default 100,000.
    #[serde(with = "amount::small")]
    pub evidence_max_age_blocks: u64,
    /// Age above which evidence is ignored, in seconds, see [`StakingParams::evidence_max_age_blocks`]; default 21
    /// days.
    #[serde(with = "amount::small")]
    pub evidence_max_age_secs: u64,
    /// Validators that leave the activation queue, and as many the exit queue, at the end of an epoch, at least (see
    /// [`churn_limit`]); default 1, 0 lets each join and leave at once. Always 0 on chains of protocols that end no epochs
    /// there: all but proof of stake.
    pub churn_limit: u32,
}

impl Default for StakingParams {
    fn default() -> Self {
        Self {
            unbonding_secs: 1_814_400,
            min_self_stake: uint!(1_000_000_000_000_000_000_U256),
            min_delegation: WEIGHT_UNIT,
            max_validators: 1_000,
            block_reward: uint!(10_000_000_000_000_000_U256),
            share_fees: false,
            genesis_commission_bps: 1_000,
            commission_change_secs: 86_400,
            double_sign_slash_ppm: 50_000,
            downtime_slash_ppm: 10_000,
            downtime_window: 100,
            downtime_min_signed_ppm: 500_000,
            downtime_jail_secs: 600,
            evidence_max_age_blocks: 100_000,
            evidence_max_age_secs: 1_814_400,
            churn_limit: if mutation::active(Mutation::StakingHasNoQueues) { 0 } else { 1 },
        }
    }
}

/// Error of a parameter outside its range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("staking parameter `{field}` is {got}; it must be {want}")]
pub struct StakingParamsError {
    /// Name of the parameter in the JSON.
    pub field: &'static str,
    /// Value of the parameter.
    pub got: U256,
    /// Range of valid values.
    pub want: &'static str,
}

impl StakingParams {
    /// Checks all parameters.
    ///
    /// # Errors
    /// [`StakingParamsError`] for the first one outside its range.
    pub fn check(&self) -> Result<(), StakingParamsError> {
        let ppm = |value: u32| u64::from(value) <= PPM;
        let checks = [
            ("minSelfStake", self.min_self_stake, self.min_self_stake >= WEIGHT_UNIT, "at least one gwei"),
            ("minSelfStake", self.min_self_stake, self.min_self_stake < AMOUNT_END, "below 2^127"),
            ("minDelegation", self.min_delegation, !self.min_delegation.is_zero(), "at least 1"),
            ("blockReward", self.block_reward, self.block_reward < AMOUNT_END >> 32_usize, "below 2^95"),
            (
                "maxValidators",
                U256::from(self.max_validators),
                (1..=VALIDATORS_MAX).contains(&self.max_validators),
                "from 1 to 4096",
            ),
            (
                "genesisCommissionBps",
                U256::from(self.genesis_commission_bps),
                u64::from(self.genesis_commission_bps) <= BPS,
                "at most 10000 (100 %)",
            ),
            (
                "doubleSignSlashPpm",
                U256::from(self.double_sign_slash_ppm),
                ppm(self.double_sign_slash_ppm),
                "at most 1000000 (100 %)",
            ),
            (
                "downtimeSlashPpm",
                U256::from(self.downtime_slash_ppm),
                ppm(self.downtime_slash_ppm),
                "at most 1000000 (100 %)",
            ),
            (
                "downtimeMinSignedPpm",
                U256::from(self.downtime_min_signed_ppm),
                ppm(self.downtime_min_signed_ppm),
                "at most 1000000 (100 %)",
            ),
            (
                "downtimeWindow",
                U256::from(self.downtime_window),
                (1..=DOWNTIME_WINDOW_MAX).contains(&self.downtime_window),
                "from 1 to 256 blocks",
            ),
        ];
        match checks.into_iter().find(|(_, _, is_right, _)| !is_right) {
            Some((field, got, _, want)) => Err(StakingParamsError { field, got, want }),
            None => Ok(()),
        }
    }

    /// Returns the age in seconds above which evidence is ignored when it is too old in blocks, too: no less than stake is
    /// locked after its validator left.
    pub fn evidence_age_secs(&self) -> u64 {
        self.evidence_max_age_secs.max(self.unbonding_secs)
    }

    /// Returns the absences in a window beyond which a validator is punished.
    pub(super) fn absences_max(&self) -> u64 {
        let window = u64::from(self.downtime_window);
        window - window * u64::from(self.downtime_min_signed_ppm) / PPM
    }
}

/// Validators for each that joins and each that leaves in an epoch, in sets for which that is more than
/// [`StakingParams::churn_limit`].
pub const CHURN_LIMIT_QUOTIENT: u64 = 32;

/// Returns how many validators join, and how many leave, at the end of an epoch.
///
/// It is `get_validator_churn_limit` of the consensus specifications, `max(MIN_PER_EPOCH_CHURN_LIMIT, active /
/// CHURN_LIMIT_QUOTIENT)`, scaled to small sets: there 4 and 65,536, which is 4 up to 262,144 validators; here by default 1 and
/// 32, which is 1 up to 63 validators.
pub const fn churn_limit(least: u32, active: u64) -> u64 {
    let share = active / CHURN_LIMIT_QUOTIENT;
    if share > least as u64 { share } else { least as u64 }
}

/// Exclusive bound of stakes, so that products of two amounts fit 256 bits.
pub(super) const AMOUNT_END: U256 = U256::from_limbs([0, 1 << 63, 0, 0]);

impl From<&StakingParams> for sol::Params {
    fn from(params: &StakingParams) -> Self {
        Self {
            unbondingSecs: params.unbonding_secs,
            minSelfStake: params.min_self_stake,
            minDelegation: params.min_delegation,
            maxValidators: params.max_validators,
            blockReward: params.block_reward,
            shareFees: params.share_fees,
            genesisCommissionBps: params.genesis_commission_bps,
            commissionChangeSecs: params.commission_change_secs,
            doubleSignSlashPpm: params.double_sign_slash_ppm,
            downtimeSlashPpm: params.downtime_slash_ppm,
            downtimeWindow: params.downtime_window,
            downtimeMinSignedPpm: params.downtime_min_signed_ppm,
            downtimeJailSecs: params.downtime_jail_secs,
            evidenceMaxAgeBlocks: params.evidence_max_age_blocks,
            evidenceMaxAgeSecs: params.evidence_max_age_secs,
            churnLimit: params.churn_limit,
        }
    }
}

impl From<sol::Params> for StakingParams {
    fn from(params: sol::Params) -> Self {
        Self {
            unbonding_secs: params.unbondingSecs,
            min_self_stake: params.minSelfStake,
            min_delegation: params.minDelegation,
            max_validators: params.maxValidators,
            block_reward: params.blockReward,
            share_fees: params.shareFees,
            genesis_commission_bps: params.genesisCommissionBps,
            commission_change_secs: params.commissionChangeSecs,
            double_sign_slash_ppm: params.doubleSignSlashPpm,
            downtime_slash_ppm: params.downtimeSlashPpm,
            downtime_window: params.downtimeWindow,
            downtime_min_signed_ppm: params.downtimeMinSignedPpm,
            downtime_jail_secs: params.downtimeJailSecs,
            evidence_max_age_blocks: params.evidenceMaxAgeBlocks,
            evidence_max_age_secs: params.evidenceMaxAgeSecs,
            churn_limit: params.churnLimit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_right_and_come_back_from_json() {
        let params = StakingParams { share_fees: true, ..StakingParams::default() };
        assert_eq!(params.check(), Ok(()));
        assert_eq!(params.absences_max(), 50);
        let json = serde_json::to_string(&params).unwrap();
        assert_eq!(serde_json::from_str::<StakingParams>(&json).unwrap(), params);
        assert_eq!(serde_json::from_str::<StakingParams>("{}").unwrap(), StakingParams::default());
        assert!(serde_json::from_str::<StakingParams>(r#"{"unbondingSec": 1}"#).is_err());
        assert_eq!(StakingParams::from(sol::Params::from(&params)), params);
    }

    #[test]
    fn impossible_values_are_named() {
        for (json, field) in [
            (r#"{"minSelfStake": 1}"#, "minSelfStake"),
            (r#"{"downtimeWindow": 257}"#, "downtimeWindow"),
            (r#"{"downtimeWindow": 0}"#, "downtimeWindow"),
            (r#"{"doubleSignSlashPpm": 1000001}"#, "doubleSignSlashPpm"),
            (r#"{"genesisCommissionBps": 10001}"#, "genesisCommissionBps"),
            (r#"{"maxValidators": 0}"#, "maxValidators"),
        ] {
            let error = serde_json::from_str::<StakingParams>(json).unwrap().check().unwrap_err();
            assert_eq!(error.field, field);
            assert!(error.to_string().contains(error.want), "{error}");
        }
    }
}
