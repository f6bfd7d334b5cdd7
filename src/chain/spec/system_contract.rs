//! The system contracts that a specification may have: what each runs, where, and how genesis makes it.

use std::sync::Arc;

use super::{GenesisSpec, GenesisValidator, SpecError};
use crate::{
    primitives::{Address, Bytes, U256},
    system::{
        ParameterUpdate, ParameterUpdates,
        governance::{GOVERNANCE_ADDRESS, GovernanceSpec, GovernanceTemplate},
        modules::{MODULES_ADDRESS, ModulesTemplate},
        parameters::{PARAMETERS_ADDRESS, Parameter, ParametersSpec, ParametersTemplate, VALIDATORS_MAX},
        permissions::{PERMISSIONS_ADDRESS, PermissionsTemplate},
        staking::{STAKING_ADDRESS, StakingParams, StakingTemplate, WEIGHT_UNIT, interface::GenesisStake},
        validators::{VALIDATORS_ADDRESS, ValidatorsConfig, ValidatorsTemplate, interface::Member},
    },
    vm::{Marker, Template},
};

/// A contract that the chain itself relies on, at a fixed address, where the specification has its section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::chain) enum SystemContract {
    Governance,
    Staking,
    Parameters,
    Permissions,
    Modules,
    Validators,
}

impl SystemContract {
    /// In the order in which genesis deploys them: governance first, for which the staking contract keeps past weights.
    const ALL: [Self; 6] =
        [Self::Governance, Self::Staking, Self::Parameters, Self::Permissions, Self::Modules, Self::Validators];

    /// Returns the specification's section.
    pub(in crate::chain) const fn field(self) -> &'static str {
        match self {
            Self::Governance => "governance",
            Self::Staking => "staking",
            Self::Parameters => "parameters",
            Self::Permissions => "permissions",
            Self::Modules => "modules",
            Self::Validators => "validatorRegistry",
        }
    }

    pub(in crate::chain) const fn address(self) -> Address {
        match self {
            Self::Governance => GOVERNANCE_ADDRESS,
            Self::Staking => STAKING_ADDRESS,
            Self::Parameters => PARAMETERS_ADDRESS,
            Self::Permissions => PERMISSIONS_ADDRESS,
            Self::Modules => MODULES_ADDRESS,
            Self::Validators => VALIDATORS_ADDRESS,
        }
    }

    pub(in crate::chain) fn template(self) -> Arc<dyn Template> {
        match self {
            Self::Governance => Arc::new(GovernanceTemplate),
            Self::Staking => Arc::new(StakingTemplate),
            Self::Parameters => Arc::new(ParametersTemplate),
            Self::Permissions => Arc::new(PermissionsTemplate),
            Self::Modules => Arc::new(ModulesTemplate),
            Self::Validators => Arc::new(ValidatorsTemplate),
        }
    }

    /// Returns whether the specification has its section.
    pub(in crate::chain) const fn is_asked_for(self, spec: &GenesisSpec) -> bool {
        match self {
            Self::Governance => spec.governance.is_some(),
            Self::Staking => spec.staking.is_some(),
            Self::Parameters => spec.parameters.is_some(),
            Self::Permissions => spec.permissions.is_some(),
            Self::Modules => spec.modules.is_some(),
            Self::Validators => spec.validator_registry.is_some(),
        }
    }

    /// Returns the init code; `None` without its section.
    pub(in crate::chain) fn init_code(self, spec: &GenesisSpec) -> Option<Bytes> {
        match self {
            Self::Governance => spec.governance.as_ref().map(|rules| {
                let validators = || spec.validators.iter().map(|validator| validator.address).collect();
                GovernanceTemplate::init_code(rules, spec.staking.is_none().then(validators))
            }),
            Self::Staking => spec
                .staking
                .as_ref()
                .map(|params| StakingTemplate::init_code(params, spec.validators.iter().map(genesis_stake))),
            Self::Parameters => spec.parameters.as_ref().map(|parameters| {
                let values = parameters_at_genesis(spec, parameters);
                ParametersTemplate::init_code(parameters.owner, &ParameterUpdates::new(values))
            }),
            Self::Permissions => spec.permissions.as_ref().map(PermissionsTemplate::init_code),
            Self::Modules => spec.modules.as_ref().map(ModulesTemplate::init_code),
            Self::Validators => spec.validator_registry.as_ref().map(|section| {
                let members = registry_members(section, &spec.validators);
                ValidatorsTemplate::init_code(section, members)
            }),
        }
    }

    /// Returns what genesis mints for the contract.
    ///
    /// # Errors
    /// [`SpecError::Field`] for a validator without stake, and for a sum that no balance holds.
    pub(in crate::chain) fn minted(self, spec: &GenesisSpec) -> Result<U256, SpecError> {
        match self {
            Self::Staking => total_stake(&spec.validators),
            Self::Governance | Self::Parameters | Self::Permissions | Self::Modules | Self::Validators => {
                Ok(U256::ZERO)
            }
        }
    }
}

impl GenesisSpec {
    /// Returns the system contracts, in the order in which genesis deploys them.
    pub(in crate::chain) fn system_contracts(&self) -> impl Iterator<Item = SystemContract> + '_ {
        SystemContract::ALL.into_iter().filter(|contract| contract.is_asked_for(self))
    }

    /// Returns whether a system contract is among the accounts, as in a dump.
    pub(in crate::chain) fn has_account_of(&self, contract: SystemContract) -> bool {
        let marker = Marker(contract.template().id()).to_bytes();
        self.accounts.get(&contract.address()).is_some_and(|account| account.code.as_ref() == marker)
    }

    /// Checks that nothing else is where system contracts are.
    pub(super) fn check_system_addresses(&self) -> Result<(), SpecError> {
        for contract in self.system_contracts() {
            let (field, address) = (contract.field(), contract.address());
            let has_code = self.accounts.get(&address).is_some_and(|account| !account.code.is_empty());
            let is_occupied = has_code && !self.has_account_of(contract);
            if is_occupied || self.contracts.iter().any(|other| other.address == address) {
                let reason = format!("{address} is the {field} contract's address; choose another for this contract");
                return Err(SpecError::Field { field, reason });
            }
        }
        Ok(())
    }
}

fn genesis_stake(validator: &GenesisValidator) -> GenesisStake {
    GenesisStake { validator: validator.operator(), sealingKey: validator.address, stake: validator.stake }
}

fn total_stake(validators: &[GenesisValidator]) -> Result<U256, SpecError> {
    let mut sum = U256::ZERO;
    for GenesisValidator { address, stake, .. } in validators {
        let total = sum.checked_add(*stake).filter(|_| !stake.is_zero());
        sum = total.ok_or_else(|| SpecError::Field {
            field: "validators",
            reason: format!(
                "{address} has a stake of {stake}; every validator of a chain with `staking` needs a stake"
            ),
        })?;
    }
    Ok(sum)
}

/// Returns the values of the parameters that the chain has, as the other sections of the specification give them.
fn parameters_at_genesis(spec: &GenesisSpec, section: &ParametersSpec) -> Vec<ParameterUpdate> {
    let validators_max = section.validators_max.unwrap_or(VALIDATORS_MAX);
    let mut values = vec![
        (Parameter::GasLimit, spec.gas_limit.get().into()),
        (Parameter::ValidatorsMax, spec.staking.map_or(validators_max, |staking| staking.max_validators).into()),
    ];
    values.extend(section.block_time.map(|secs| (Parameter::BlockTime, secs.into())));
    if let Some(fees) = spec.base_fee.params() {
        values.extend([
            (Parameter::BaseFeeChangeDenominator, fees.change_denominator.into()),
            (Parameter::ElasticityMultiplier, fees.elasticity_multiplier.into()),
            (Parameter::BaseFeeFloor, fees.floor.into()),
        ]);
    }
    values.extend(spec.staking.iter().flat_map(of_staking));
    values.into_iter().map(|(parameter, value)| ParameterUpdate { parameter, value }).collect()
}

fn of_staking(staking: &StakingParams) -> [(Parameter, u128); 4] {
    [
        (Parameter::MinSelfStake, staking.min_self_stake.saturating_to()),
        (Parameter::UnbondingPeriod, staking.unbonding_secs.into()),
        (Parameter::EvidenceMaxAgeBlocks, staking.evidence_max_age_blocks.into()),
        (Parameter::EvidenceMaxAge, staking.evidence_max_age_secs.into()),
    ]
}

/// Checks the rules of governance.
pub(super) fn check_governance(rules: &GovernanceSpec) -> Result<(), SpecError> {
    rules.check().map_err(|error| SpecError::Field { field: "governance", reason: error.to_string() })
}

/// Checks that every parameter begins with a value that it may have.
pub(super) fn check_parameters(spec: &GenesisSpec, section: &ParametersSpec) -> Result<(), SpecError> {
    let invalid = |reason: String| SpecError::Field { field: "parameters", reason };
    if section.owner.is_zero() {
        return Err(invalid("owner is the zero address, which sends nothing; leave the section out".to_owned()));
    }
    for ParameterUpdate { parameter, value } in parameters_at_genesis(spec, section) {
        let range = parameter.range();
        if !range.contains(&value) {
            let (least, most) = (range.start(), range.end());
            return Err(invalid(format!("{parameter} is {value} in genesis; it must be from {least} to {most}")));
        }
    }
    Ok(())
}

/// Returns the first members of the validators' contract: each weighs 1 or, where weights may differ, its stake in gwei.
fn registry_members(section: &ValidatorsConfig, validators: &[GenesisValidator]) -> Vec<Member> {
    let weight = |validator: &GenesisValidator| match section.has_equal_weights() {
        true => 1,
        false => (validator.stake / WEIGHT_UNIT).saturating_to::<u64>().max(1),
    };
    let member = |validator: &GenesisValidator| Member {
        validator: validator.operator(),
        sealingKey: validator.address,
        weight: weight(validator),
    };
    validators.iter().map(member).collect()
}

impl GenesisSpec {
    /// Returns the sealing keys of the first members of the validators' contract, and their weights; none without its section.
    pub fn registered_validators(&self) -> Vec<(Address, u64)> {
        let members = self.validator_registry.map(|section| registry_members(&section, &self.validators));
        members.into_iter().flatten().map(|member| (member.sealingKey, member.weight)).collect()
    }
}

/// Checks the section of the validators' contract, which a chain with stake has no use for.
pub(super) fn check_validator_registry(spec: &GenesisSpec, section: &ValidatorsConfig) -> Result<(), SpecError> {
    let invalid = |reason: String| SpecError::Field { field: "validatorRegistry", reason };
    if spec.staking.is_some() {
        let reason =
            "the chain has `staking`, by whose contract validators join and leave; leave one of the two sections out";
        return Err(invalid(reason.to_owned()));
    }
    section.check(&spec.registered_validators()).map_err(|error| invalid(error.to_string()))
}
