//! State variables of the contract.

use alloy_primitives::U256;

use super::interface as sol;
use crate::{
    system::parameter::Parameter,
    templates::common::ownable_2step::Ownable2Step,
    vm::{
        Host, Stop,
        abi::require,
        storage::{Slot, record, storage},
    },
};

storage! {
    /// State variables, in solc's order.
    pub(super) contract ParametersStorage {
        pub(super) owner: Ownable2Step,
        /// Values in force.
        pub(super) in_force: Slot<Values>,
        /// Values from the protocol's next boundary on.
        pub(super) scheduled: Slot<Values>,
    }
}

/// The variables.
pub(super) const PARAMETERS: ParametersStorage = ParametersStorage::STATE;

record! {
    /// A value of each parameter. What every block needs is in the first word.
    #[derive(Clone, Copy, Debug, Default)]
    pub(super) struct Values {
        pub(super) gas_limit: u64,
        pub(super) base_fee_floor: u64,
        pub(super) base_fee_change_denominator: u64,
        pub(super) elasticity_multiplier: u64,
        pub(super) block_time: u64,
        pub(super) validators_max: u64,
        pub(super) evidence_max_age_blocks: u64,
        pub(super) evidence_max_age: u64,
        pub(super) min_self_stake: u128,
        pub(super) unbonding_period: u64,
        /// By position: whether the chain has the parameter.
        pub(super) available: u64,
    }
}

impl Values {
    pub(super) const fn has(&self, parameter: Parameter) -> bool {
        self.available & (1 << parameter.index()) != 0
    }

    pub(super) fn get(&self, parameter: Parameter) -> U256 {
        match parameter {
            Parameter::BlockTime => U256::from(self.block_time),
            Parameter::GasLimit => U256::from(self.gas_limit),
            Parameter::BaseFeeChangeDenominator => U256::from(self.base_fee_change_denominator),
            Parameter::ElasticityMultiplier => U256::from(self.elasticity_multiplier),
            Parameter::BaseFeeFloor => U256::from(self.base_fee_floor),
            Parameter::ValidatorsMax => U256::from(self.validators_max),
            Parameter::MinSelfStake => U256::from(self.min_self_stake),
            Parameter::UnbondingPeriod => U256::from(self.unbonding_period),
            Parameter::EvidenceMaxAgeBlocks => U256::from(self.evidence_max_age_blocks),
            Parameter::EvidenceMaxAge => U256::from(self.evidence_max_age),
        }
    }

    /// Sets a value that is within the parameter's range.
    pub(super) fn set(&mut self, parameter: Parameter, value: u128) {
        self.available |= 1 << parameter.index();
        // All ranges but that of the stake end below 2^64.
        let short = value as u64;
        match parameter {
            Parameter::BlockTime => self.block_time = short,
            Parameter::GasLimit => self.gas_limit = short,
            Parameter::BaseFeeChangeDenominator => self.base_fee_change_denominator = short,
            Parameter::ElasticityMultiplier => self.elasticity_multiplier = short,
            Parameter::BaseFeeFloor => self.base_fee_floor = short,
            Parameter::ValidatorsMax => self.validators_max = short,
            Parameter::MinSelfStake => self.min_self_stake = value,
            Parameter::UnbondingPeriod => self.unbonding_period = short,
            Parameter::EvidenceMaxAgeBlocks => self.evidence_max_age_blocks = short,
            Parameter::EvidenceMaxAge => self.evidence_max_age = short,
        }
    }
}

/// Reads a parameter by its number.
pub(super) fn known(code: u8) -> Result<Parameter, Stop> {
    let parameter = Parameter::from_code(code);
    require(parameter.is_some(), sol::UnknownParameter { parameter: code })?;
    Ok(parameter.unwrap_or(Parameter::BlockTime))
}

/// Reads a change: a parameter that there is, with a value that it may have.
pub(super) fn checked(change: &sol::Change) -> Result<(Parameter, u128), Stop> {
    let parameter = known(change.parameter)?;
    let range = parameter.range();
    let (least, most) = (U256::from(*range.start()), U256::from(*range.end()));
    let is_within = (least..=most).contains(&change.value);
    let sol::Change { parameter: code, value } = *change;
    require(is_within, sol::ValueOutOfRange { parameter: code, value, least, most })?;
    Ok((parameter, value.saturating_to()))
}

/// Returns what is known of a parameter.
pub(super) fn info(host: &mut Host<'_>, parameter: Parameter) -> Result<sol::Info, Stop> {
    let (in_force, scheduled) = (PARAMETERS.in_force.get(host)?, PARAMETERS.scheduled.get(host)?);
    require(in_force.has(parameter), sol::ParameterUnavailable { parameter: parameter.code() })?;
    Ok(described(parameter, &in_force, &scheduled))
}

/// Returns what is known of every parameter that the chain has.
pub(super) fn infos(host: &mut Host<'_>) -> Result<Vec<sol::Info>, Stop> {
    let (in_force, scheduled) = (PARAMETERS.in_force.get(host)?, PARAMETERS.scheduled.get(host)?);
    let there = Parameter::ALL.into_iter().filter(|parameter| in_force.has(*parameter));
    Ok(there.map(|parameter| described(parameter, &in_force, &scheduled)).collect())
}

fn described(parameter: Parameter, in_force: &Values, scheduled: &Values) -> sol::Info {
    sol::Info {
        parameter: parameter.code(),
        name: parameter.name().to_owned(),
        value: in_force.get(parameter),
        scheduled: scheduled.get(parameter),
    }
}
