//! Gas limit and base fee of one block: by genesis, or by the chain's parameters where there are any.

use super::{
    base_fee::BaseFeeParams, context::ChainContext, error::ReadError, executed_block::ExecutedBlock, spec::GenesisSpec,
};
use crate::{
    primitives::Gas,
    system::{ParameterUpdates, parameters::FeeParameters},
};

/// The rules of one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FeeRules {
    /// Parameters of the base fee; `None` where it is off.
    pub(super) base_fee: Option<BaseFeeParams>,
    /// The gas limit that the block must have; `None` where its builder moves it (Yellow Paper, 4.3.4).
    pub(super) gas_limit: Option<Gas>,
}

impl FeeRules {
    fn of_spec(spec: &GenesisSpec) -> Self {
        Self { base_fee: spec.base_fee.params(), gas_limit: None }
    }

    fn of_parameters(spec: &GenesisSpec, fees: &FeeParameters) -> Self {
        let in_force = |params: BaseFeeParams| BaseFeeParams {
            initial: params.initial,
            elasticity_multiplier: fees.elasticity_multiplier,
            change_denominator: fees.base_fee_change_denominator,
            floor: fees.base_fee_floor,
        };
        Self { base_fee: spec.base_fee.params().map(in_force), gas_limit: Some(Gas::new(fees.gas_limit)) }
    }

    /// Returns the rules of a block on a parent after which `fees` were in force, and which puts `changes` in force.
    pub(super) fn with(spec: &GenesisSpec, fees: Option<FeeParameters>, changes: &ParameterUpdates) -> Self {
        fees.map_or_else(|| Self::of_spec(spec), |fees| Self::of_parameters(spec, &fees.with(changes)))
    }
}

impl ChainContext {
    /// Returns the rules of a child of `parent` that puts `changes` in force.
    pub(super) fn fee_rules(&self, parent: &ExecutedBlock, changes: &ParameterUpdates) -> Result<FeeRules, ReadError> {
        Ok(FeeRules::with(&self.spec, self.fees_after(parent)?, changes))
    }

    /// Returns the parameters in force after a block; `None` on a chain without them.
    pub(super) fn fees_after(&self, block: &ExecutedBlock) -> Result<Option<FeeParameters>, ReadError> {
        if self.spec.parameters.is_none() {
            return Ok(None);
        }
        Ok(FeeParameters::read(&*block.retained_version()?.view()?)?)
    }
}
