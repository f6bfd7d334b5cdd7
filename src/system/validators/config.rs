//! The section `validatorRegistry` of a genesis.

use serde::{Deserialize, Serialize};

use crate::{primitives::Address, system::parameter::VALIDATORS_MAX};

/// Administrator of the validators, and what the protocol asks of the set. The first members are the specification's validators.
///
/// In JSON the names are camelCase, and unknown ones are refused.
///
/// ```
/// # use chainbox::system::validators::ValidatorsConfig;
/// let config: ValidatorsConfig =
///     serde_json::from_str(r#"{ "administrator": "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266" }"#)?;
/// assert!(config.has_equal_weights(), "as proof of authority, Raft and PBFT count");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct ValidatorsConfig {
    /// Account or contract that changes the validators, such as the governance contract.
    pub administrator: Address,
    /// Validators that a removal must leave, from 1 on; by default 1. The builder of a network fills in what its protocol needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validators_min: Option<u32>,
    /// Largest weight of a validator, from 1 on; by default 1, as proof of authority, Raft and PBFT count validators and not weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight_max: Option<u64>,
}

/// An invalid section `validatorRegistry`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ValidatorsConfigError {
    /// The administrator is the zero address, which nobody has.
    #[error("`administrator` is the zero address; name an account or a contract that can call")]
    NoAdministrator,
    /// The least number of validators is out of range.
    #[error("`validatorsMin` is {got}; it must be from 1 to {VALIDATORS_MAX}")]
    ValidatorsMin {
        /// The number given.
        got: u32,
    },
    /// More validators than a chain may have.
    #[error("genesis lists {listed} validators; at most {VALIDATORS_MAX} are allowed")]
    TooMany {
        /// Number of validators at genesis.
        listed: usize,
    },
    /// The largest weight is 0.
    #[error("`weightMax` is 0; give at least 1, or leave it out for equal weights")]
    WeightMax,
    /// A validator of genesis weighs more than allowed.
    #[error(
        "{validator} weighs {weight} by its stake in gwei; `weightMax` is {maximum}: leave the stake out, or raise the bound"
    )]
    Weight {
        /// The validator.
        validator: Address,
        /// Its weight.
        weight: u64,
        /// The largest weight.
        maximum: u64,
    },
}

impl ValidatorsConfig {
    /// Returns the section for validators that weigh 1 each, of which any but the last may be removed.
    pub const fn new(administrator: Address) -> Self {
        Self { administrator, validators_min: None, weight_max: None }
    }

    /// Sets the number of validators that a removal must leave.
    #[must_use]
    pub const fn with_validators_min(self, validators_min: u32) -> Self {
        Self { validators_min: Some(validators_min), ..self }
    }

    /// Sets the largest weight of a validator.
    #[must_use]
    pub const fn with_weight_max(self, weight_max: u64) -> Self {
        Self { weight_max: Some(weight_max), ..self }
    }

    /// Returns the number of validators that a removal must leave.
    pub fn least(&self) -> u32 {
        self.validators_min.unwrap_or(1)
    }

    /// Returns the largest weight of a validator.
    pub fn heaviest(&self) -> u64 {
        self.weight_max.unwrap_or(1)
    }

    /// Returns whether every validator weighs 1.
    pub fn has_equal_weights(&self) -> bool {
        self.heaviest() == 1
    }

    /// Checks the section beside the validators of genesis, with their weights.
    ///
    /// # Errors
    /// [`ValidatorsConfigError`] for the first fault.
    pub fn check(&self, members: &[(Address, u64)]) -> Result<(), ValidatorsConfigError> {
        let (least, maximum, listed) = (self.least(), self.heaviest(), members.len());
        if self.administrator.is_zero() {
            return Err(ValidatorsConfigError::NoAdministrator);
        }
        if maximum == 0 {
            return Err(ValidatorsConfigError::WeightMax);
        }
        if listed > VALIDATORS_MAX as usize {
            return Err(ValidatorsConfigError::TooMany { listed });
        }
        if !(1..=VALIDATORS_MAX).contains(&least) {
            return Err(ValidatorsConfigError::ValidatorsMin { got: least });
        }
        match members.iter().find(|(_, weight)| *weight > maximum) {
            Some((validator, weight)) => {
                Err(ValidatorsConfigError::Weight { validator: *validator, weight: *weight, maximum })
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Address = Address::repeat_byte(1);

    #[test]
    fn the_section_comes_back_from_json() {
        let config = ValidatorsConfig::new(A).with_validators_min(4).with_weight_max(9);
        let json = serde_json::to_string(&config).unwrap();
        assert_eq!(json, format!(r#"{{"administrator":"{A:#x}","validatorsMin":4,"weightMax":9}}"#));
        assert_eq!(serde_json::from_str::<ValidatorsConfig>(&json).unwrap(), config);
        assert!(serde_json::from_str::<ValidatorsConfig>("{}").is_err(), "no administrator");
        let unknown = format!(r#"{{"administrator": "{A}", "admin": 1}}"#);
        assert!(serde_json::from_str::<ValidatorsConfig>(&unknown).is_err());
    }

    #[test]
    fn faults_are_named() {
        let members = |count: u64| -> Vec<_> {
            (1..=count).map(|number| (Address::left_padding_from(&number.to_be_bytes()), 1)).collect()
        };
        let max = u64::from(VALIDATORS_MAX);
        assert_eq!(ValidatorsConfig::new(A).check(&members(max)), Ok(()));
        assert_eq!(ValidatorsConfig::new(A).with_validators_min(4).check(&members(1)), Ok(()), "more may join");
        for (config, members, words) in [
            (ValidatorsConfig::new(Address::ZERO), members(1), "zero address"),
            (ValidatorsConfig::new(A).with_validators_min(0), members(1), "is 0"),
            (ValidatorsConfig::new(A).with_validators_min(4_097), members(3), "is 4097"),
            (ValidatorsConfig::new(A).with_weight_max(0), members(1), "`weightMax` is 0"),
            (ValidatorsConfig::new(A), vec![(A, 2)], "weighs 2"),
            (ValidatorsConfig::new(A), members(max + 1), "4097 validators"),
        ] {
            let error = config.check(&members).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
