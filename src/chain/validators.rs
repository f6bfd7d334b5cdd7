//! Reading the validators' contract.

use alloy_primitives::{Address, U256};
use alloy_sol_types::SolCall;

use super::{Chain, executed_block::ExecutedBlock, spec::SystemContract, system_view::SystemViewError};
use crate::system::validators::{
    PAGE_MAX, RegisteredValidator,
    interface::{operatorOfCall, validatorCall, validatorsCall, wasValidatorCall},
};

impl Chain {
    /// Returns whether the chain has the validators' contract.
    pub fn has_validator_registry(&self) -> bool {
        self.spec().validator_registry.is_some()
    }

    /// Calls a view function of the validators' contract over the state after `block`.
    ///
    /// # Errors
    /// [`ReadError::Pruned`](super::ReadError::Pruned) for a pruned state, [`SystemViewError::Absent`] on a chain without the contract.
    pub fn registry_view<C: SolCall>(&self, block: &ExecutedBlock, view: &C) -> Result<C::Return, SystemViewError> {
        self.system_view(block, SystemContract::Validators, view)
    }

    /// Returns the validators of the contract after `block`, in the order of its list. The protocol takes changes over at a boundary of
    /// its own.
    ///
    /// # Errors
    /// As [`Chain::registry_view`].
    pub fn registered_validators(&self, block: &ExecutedBlock) -> Result<Vec<RegisteredValidator>, SystemViewError> {
        let mut records = Vec::new();
        loop {
            let call = validatorsCall { from: U256::from(records.len()), count: U256::from(PAGE_MAX) };
            let page = self.registry_view(block, &call)?;
            records.extend(page.iter().map(RegisteredValidator::from));
            if (page.len() as u64) < PAGE_MAX {
                return Ok(records);
            }
        }
    }

    /// Returns the operator of a sealing key after `block`, of a present or a former one; a key that nobody registered is its own.
    ///
    /// # Errors
    /// As [`Chain::registry_view`].
    pub fn registered_operator(&self, block: &ExecutedBlock, key: Address) -> Result<Address, SystemViewError> {
        self.registry_view(block, &operatorOfCall { key })
    }

    /// Returns whether an operator is a validator after `block`, or ever was one before.
    ///
    /// # Errors
    /// As [`Chain::registry_view`].
    pub fn was_validator(&self, block: &ExecutedBlock, validator: Address) -> Result<bool, SystemViewError> {
        self.registry_view(block, &wasValidatorCall { validator })
    }

    /// Returns the contract's record of one operator after `block`.
    ///
    /// # Errors
    /// As [`Chain::registry_view`].
    pub fn registered_validator(
        &self,
        block: &ExecutedBlock,
        validator: Address,
    ) -> Result<RegisteredValidator, SystemViewError> {
        self.registry_view(block, &validatorCall { validator }).map(|info| RegisteredValidator::from(&info))
    }
}
