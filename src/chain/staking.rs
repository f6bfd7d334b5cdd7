//! Reading the staking contract.

use alloy_primitives::U256;
use alloy_sol_types::SolCall;

use super::{
    Chain,
    error::ReadError,
    executed_block::ExecutedBlock,
    simulate::{CallError, CallOutcome, CallRequest, StateOverrides},
};
use crate::system::staking::{
    PAGE_MAX, STAKING_ADDRESS, ValidatorRecord,
    interface::{validatorCall, validatorsCall},
};

/// Why the staking contract could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StakingViewError {
    /// The chain has no stake.
    #[error("the chain has no stake: its genesis has no `staking`")]
    NoStake,
    /// The view function failed.
    #[error("{signature} of a system contract failed: {reason}")]
    Failed {
        /// Signature of the called function.
        signature: &'static str,
        /// The revert or halt reason.
        reason: String,
    },
    /// The view function could not be called.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The state could not be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl Chain {
    /// Returns whether the chain has a staking contract.
    pub fn has_stake(&self) -> bool {
        self.spec().staking.is_some()
    }

    /// Calls a view function of the staking contract over the state after `block`.
    ///
    /// # Errors
    /// [`ReadError::Pruned`] for a pruned state, [`StakingViewError::NoStake`] on a chain without stake.
    pub fn staking_view<C: SolCall>(&self, block: &ExecutedBlock, view: &C) -> Result<C::Return, StakingViewError> {
        if !self.has_stake() {
            return Err(StakingViewError::NoStake);
        }
        let context = self.call_context(block)?;
        let input = view.abi_encode().into();
        let request = CallRequest { to: Some(STAKING_ADDRESS), input, ..CallRequest::default() };
        let outcome = self.call(&context, &request, &StateOverrides::new(), None)?;
        let returned = outcome.success_output().and_then(|output| C::abi_decode_returns_validate(output).ok());
        returned.ok_or_else(|| failed::<C>(&outcome))
    }

    /// Returns the validators of the staking contract after `block`, in the order of its list, including those that left and
    /// still have stake. The protocol's active set may be smaller.
    ///
    /// # Errors
    /// As [`Chain::staking_view`].
    pub fn staked_validators(&self, block: &ExecutedBlock) -> Result<Vec<ValidatorRecord>, StakingViewError> {
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

    /// Returns the staking contract's record of one address after `block`.
    ///
    /// # Errors
    /// As [`Chain::staking_view`].
    pub fn staked_validator(
        &self,
        block: &ExecutedBlock,
        validator: alloy_primitives::Address,
    ) -> Result<ValidatorRecord, StakingViewError> {
        self.staking_view(block, &validatorCall { validator }).map(|info| ValidatorRecord::from(&info))
    }
}

fn failed<C: SolCall>(outcome: &CallOutcome) -> StakingViewError {
    StakingViewError::Failed { signature: C::SIGNATURE, reason: outcome.describe() }
}
