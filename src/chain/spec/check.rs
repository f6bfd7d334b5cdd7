//! Checks of a genesis specification that its types do not make.

use super::{
    BaseFee, GAS_LIMIT_MIN, GenesisSpec, GenesisValidator, SpecError,
    system_contract::{check_governance, check_parameters, check_validator_registry},
};
use crate::{
    chain::block::EXTRA_DATA_BYTES_MAX,
    system::{
        modules::ModulesConfig,
        permissions::PermissionsConfig,
        staking::{StakingParams, WEIGHT_UNIT},
    },
};

impl GenesisSpec {
    /// Checks the fields that their types don't.
    ///
    /// # Errors
    /// [`SpecError::Field`] for the first invalid field.
    pub fn check(&self) -> Result<(), SpecError> {
        let invalid = |field, reason: String| Err(SpecError::Field { field, reason });
        if self.chain_id == 0 {
            return invalid(
                "chainId",
                "0 is not a valid chain id; choose one from 1 on, 31337 for development".to_owned(),
            );
        }
        if self.gas_limit < GAS_LIMIT_MIN {
            return invalid("gasLimit", format!("{} is below {}", self.gas_limit.get(), GAS_LIMIT_MIN.get()));
        }
        if self.extra_data.len() > EXTRA_DATA_BYTES_MAX {
            let length = self.extra_data.len();
            return invalid("extraData", format!("has {length} bytes; at most {} are valid", EXTRA_DATA_BYTES_MAX));
        }
        if let BaseFee::Dynamic(params) = self.base_fee
            && (params.elasticity_multiplier == 0 || params.change_denominator == 0)
        {
            return invalid(
                "baseFee",
                "elasticityMultiplier and changeDenominator must be at least 1; write \"off\" for no base fee"
                    .to_owned(),
            );
        }
        if let BaseFee::Dynamic(params) = self.base_fee
            && params.initial < params.floor
        {
            return invalid("baseFee", format!("initial is {}, below the floor of {}", params.initial, params.floor));
        }
        if let Some(params) = &self.staking {
            self.check_staking(params)?;
        }
        if let Some(section) = &self.parameters {
            check_parameters(self, section)?;
        }
        if let Some(rules) = &self.governance {
            check_governance(rules)?;
        }
        if let Some(Err(error)) = self.permissions.as_ref().map(PermissionsConfig::check) {
            return invalid("permissions", error.to_string());
        }
        if let Some(Err(error)) = self.modules.as_ref().map(ModulesConfig::check) {
            return invalid("modules", error.to_string());
        }
        if let Some(section) = &self.validator_registry {
            check_validator_registry(self, section)?;
        }
        self.check_system_addresses()?;
        let mut seen = std::collections::BTreeSet::new();
        for validator in &self.validators {
            if !seen.insert(validator.address) {
                return invalid("validators", format!("{} is listed twice", validator.address));
            }
        }
        self.check_operators()?;
        for contract in &self.contracts {
            if !seen.insert(contract.address)
                || self.accounts.get(&contract.address).is_some_and(|a| !a.code.is_empty())
            {
                return invalid(
                    "contracts",
                    format!("{} has a contract or a validator already; choose another address", contract.address),
                );
            }
        }
        Ok(())
    }

    /// Checks that operators are apart from each other and from the keys of others.
    fn check_operators(&self) -> Result<(), SpecError> {
        let invalid = |reason| Err(SpecError::Field { field: "validators", reason });
        let keys: std::collections::BTreeSet<_> = self.validators.iter().map(|validator| validator.address).collect();
        let mut operators = std::collections::BTreeSet::new();
        for validator in &self.validators {
            let (key, operator) = (validator.address, validator.operator());
            if key != operator && self.staking.is_none() && self.validator_registry.is_none() {
                return invalid(format!(
                    "{key} has the operator {operator}; without `staking` and `validatorRegistry` every key is its own operator: leave `operator` out"
                ));
            }
            if operator.is_zero() {
                return invalid(format!("{key} has the zero address as its operator, whose key nobody has"));
            }
            if !operators.insert(operator) {
                return invalid(format!("{operator} operates two validators; each needs an operator of its own"));
            }
            if key != operator && keys.contains(&operator) {
                return invalid(format!(
                    "{operator} operates {key} and is the sealing key of a validator; one address is not both for two validators"
                ));
            }
        }
        Ok(())
    }

    /// Checks the staking parameters, and that the validators' stakes are all set or all zero.
    fn check_staking(&self, params: &StakingParams) -> Result<(), SpecError> {
        let invalid = |field, reason: String| Err(SpecError::Field { field, reason });
        if let Err(error) = params.check() {
            return invalid("staking", error.to_string());
        }
        if self.validators.iter().all(|validator| validator.stake.is_zero()) {
            return Ok(());
        }
        match self.validators.iter().find(|validator| validator.stake < WEIGHT_UNIT) {
            Some(GenesisValidator { address, stake, .. }) => invalid(
                "validators",
                format!("{address} has a stake of {stake}; give it at least {WEIGHT_UNIT} (one gwei), or remove it"),
            ),
            None => Ok(()),
        }
    }
}
