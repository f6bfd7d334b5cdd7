//! The parameters: their numbers, names, units and bounds.

use core::{fmt, ops::RangeInclusive};

use serde::{Deserialize, Serialize};

/// Maximum number of validators of a chain.
pub const VALIDATORS_MAX: u32 = 4_096;

/// Ten years, in seconds: the longest time that a parameter may have.
const TIME_MAX: u128 = 315_360_000;

/// A year.
const BLOCK_TIME_SECS_MAX: u128 = 31_536_000;
/// Half of the range of stakes, so that products of two amounts fit 256 bits.
const AMOUNT_MAX: u128 = (1 << 127) - 1;

/// One gwei, the unit of weight.
const GWEI: u128 = 1_000_000_000;

/// A rule of the chain that a transaction may change, by its number on chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Parameter {
    /// Least time between two blocks, or the length of a slot, in seconds. A chain whose blocks are made on demand has none.
    BlockTime,
    /// Gas limit of each block.
    GasLimit,
    /// Divisor of the base fee's largest change from block to block (`BASE_FEE_MAX_CHANGE_DENOMINATOR` of EIP-1559).
    BaseFeeChangeDenominator,
    /// Gas limit divided by gas target (`ELASTICITY_MULTIPLIER` of EIP-1559).
    ElasticityMultiplier,
    /// The least base fee, in wei per unit of gas.
    BaseFeeFloor,
    /// Validators at most; those that are there when it falls stay.
    ValidatorsMax,
    /// Minimum own stake to join and to remain a validator, in wei.
    MinSelfStake,
    /// Time from undelegation to withdrawal, in seconds; of stake that is withdrawn from then on.
    UnbondingPeriod,
    /// Age in blocks up to which evidence counts, whatever its age in seconds.
    EvidenceMaxAgeBlocks,
    /// Age in seconds up to which evidence counts, whatever its age in blocks; never less than [`Parameter::UnbondingPeriod`].
    EvidenceMaxAge,
}

impl Parameter {
    /// All of them, in ascending order of their numbers.
    pub const ALL: [Self; 10] = [
        Self::BlockTime,
        Self::GasLimit,
        Self::BaseFeeChangeDenominator,
        Self::ElasticityMultiplier,
        Self::BaseFeeFloor,
        Self::ValidatorsMax,
        Self::MinSelfStake,
        Self::UnbondingPeriod,
        Self::EvidenceMaxAgeBlocks,
        Self::EvidenceMaxAge,
    ];

    /// Returns the number by which calls and events name it, from 1 on.
    pub const fn code(self) -> u8 {
        self as u8 + 1
    }

    /// Returns the parameter with this number.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code).checked_sub(1)?).copied()
    }

    /// Returns its position in [`Parameter::ALL`].
    pub(crate) const fn index(self) -> usize {
        self as usize
    }

    /// Returns its name, as in the JSON of genesis.
    pub const fn name(self) -> &'static str {
        match self {
            Self::BlockTime => "blockTime",
            Self::GasLimit => "gasLimit",
            Self::BaseFeeChangeDenominator => "baseFeeChangeDenominator",
            Self::ElasticityMultiplier => "elasticityMultiplier",
            Self::BaseFeeFloor => "baseFeeFloor",
            Self::ValidatorsMax => "validatorsMax",
            Self::MinSelfStake => "minSelfStake",
            Self::UnbondingPeriod => "unbondingPeriod",
            Self::EvidenceMaxAgeBlocks => "evidenceMaxAgeBlocks",
            Self::EvidenceMaxAge => "evidenceMaxAge",
        }
    }

    /// Returns the parameter with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|parameter| parameter.name() == name)
    }

    /// Returns the values that it may have.
    ///
    /// A block always has room for the transactions that change a parameter back, and no fee keeps them out.
    pub const fn range(self) -> RangeInclusive<u128> {
        match self {
            Self::BlockTime => 1..=BLOCK_TIME_SECS_MAX,
            Self::GasLimit => 1_000_000..=1_000_000_000_000_000,
            Self::BaseFeeChangeDenominator => 1..=1_000_000,
            Self::ElasticityMultiplier => 1..=1_000,
            Self::BaseFeeFloor => 0..=1_000_000_000_000,
            Self::ValidatorsMax => 1..=VALIDATORS_MAX as u128,
            Self::MinSelfStake => GWEI..=AMOUNT_MAX,
            Self::UnbondingPeriod => 0..=TIME_MAX,
            Self::EvidenceMaxAgeBlocks => 1..=1_000_000_000,
            Self::EvidenceMaxAge => 1..=TIME_MAX,
        }
    }

    /// Returns whether the staking contract goes by it.
    pub const fn is_of_staking(self) -> bool {
        matches!(
            self,
            Self::ValidatorsMax
                | Self::MinSelfStake
                | Self::UnbondingPeriod
                | Self::EvidenceMaxAgeBlocks
                | Self::EvidenceMaxAge
        )
    }
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_come_back() {
        for (number, parameter) in (1..).zip(Parameter::ALL) {
            assert_eq!((parameter.code(), Parameter::from_code(number)), (number, Some(parameter)));
            assert_eq!(Parameter::from_name(parameter.name()), Some(parameter));
            assert_eq!(serde_json::to_value(parameter).unwrap(), parameter.name());
            assert!(!parameter.range().is_empty());
        }
        assert_eq!((Parameter::from_code(0), Parameter::from_code(11)), (None, None));
        assert_eq!(Parameter::from_name("blocktime"), None);
    }
}
