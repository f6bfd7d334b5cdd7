//! Reading the staking contract.

use alloy_primitives::U256;
use alloy_sol_types::SolCall;

use super::{Chain, executed_block::ExecutedBlock, spec::SystemContract, system_view::SystemViewError};
use crate::system::staking::{
    PAGE_MAX, ValidatorRecord,
    interface::{operatorOfCall, validatorCall, validatorsCall},
};

impl Chain {
    /// Returns whether the chain has a staking contract.
    pub fn has_stake(&self) -> bool {
        self.spec().staking.is_some()
    }

    /// Calls a view function of the staking contract over the state after `block`.
    ///
    /// # Errors
    /// [`ReadError::Pruned`](super::ReadError::Pruned) for a pruned state, [`SystemViewError::Absent`] on a chain without stake.
    pub fn staking_view<C: SolCall>(&self, block: &ExecutedBlock, view: &C) -> Result<C::Return, SystemViewError> {
        self.system_view(block, SystemContract::Staking, view)
    }

    /// Returns the validators of the staking contract after `block`, in the order of its list, including those that left and
    /// still have stake. The protocol's active set may be smaller.
    ///
    /// # Errors
    /// As [`Chain::staking_view`].
    pub fn staked_validators(&self, block: &ExecutedBlock) -> Result<Vec<ValidatorRecord>, SystemViewError> {
        let mut records = Vec::new();
        loop {
            let call = validatorsCall { from: U256::from(records.len()), count: U256::from(PAGE_MAX) };
            let page = self.staking_view(block, &call)?;
            records.extend(page.iter().map(ValidatorRecord::from));
            if (page.len() as u64) < PAGE_MAX {
                return Ok(records);
            }
        }
    }

    /// Returns the staking contract's record of one operator after `block`.
    ///
    /// # Errors
    /// As [`Chain::staking_view`].
    pub fn staked_validator(
        &self,
        block: &ExecutedBlock,
        validator: alloy_primitives::Address,
    ) -> Result<ValidatorRecord, SystemViewError> {
        self.staking_view(block, &validatorCall { validator }).map(|info| ValidatorRecord::from(&info))
    }

    /// Returns the staking contract's record of the operator of a sealing key, a present or a former one, after `block`.
    ///
    /// # Errors
    /// As [`Chain::staking_view`].
    pub fn staked_validator_of_key(
        &self,
        block: &ExecutedBlock,
        key: alloy_primitives::Address,
    ) -> Result<ValidatorRecord, SystemViewError> {
        let operator = self.staking_view(block, &operatorOfCall { key })?;
        self.staked_validator(block, operator)
    }
}
