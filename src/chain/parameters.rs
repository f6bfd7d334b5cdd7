//! Reading the contract of the chain's parameters.

use super::{Chain, executed_block::ExecutedBlock, spec::SystemContract, system_view::SystemViewError};
use crate::{
    primitives::U256,
    system::parameters::{
        Parameter,
        interface::{Info, parametersCall},
    },
};

/// A parameter of the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParameterRecord {
    /// The parameter.
    pub parameter: Parameter,
    /// The value in force, in the parameter's own unit.
    pub value: u128,
    /// The value from the protocol's next boundary on; the same where none is scheduled.
    pub scheduled: u128,
}

impl Chain {
    /// Returns the parameters that the chain has, after `block`, in ascending order of their numbers.
    ///
    /// # Errors
    /// [`ReadError::Pruned`](super::ReadError::Pruned) for a pruned state, [`SystemViewError::Absent`] on a chain without the contract.
    pub fn parameters(&self, block: &ExecutedBlock) -> Result<Vec<ParameterRecord>, SystemViewError> {
        let infos = self.system_view(block, SystemContract::Parameters, &parametersCall {})?;
        Ok(infos.iter().filter_map(record).collect())
    }
}

fn record(info: &Info) -> Option<ParameterRecord> {
    let value = |value: U256| value.saturating_to();
    let parameter = Parameter::from_code(info.parameter)?;
    Some(ParameterRecord { parameter, value: value(info.value), scheduled: value(info.scheduled) })
}
