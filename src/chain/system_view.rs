//! Calling view functions of system contracts.

use alloy_sol_types::SolCall;

use super::{
    Chain,
    error::ReadError,
    executed_block::ExecutedBlock,
    simulate::{CallError, CallRequest, StateOverrides},
    spec::SystemContract,
};

/// Why a system contract could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SystemViewError {
    /// The chain does not have the contract.
    #[error("the chain has no {section} contract: its genesis has no `{section}`")]
    Absent {
        /// Section of the genesis that brings the contract.
        section: &'static str,
    },
    /// The view function failed.
    #[error("{signature} of the {section} contract failed: {reason}")]
    Failed {
        /// Section of the genesis that brings the contract.
        section: &'static str,
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
    /// Calls a view function of a system contract over the state after `block`.
    ///
    /// # Errors
    /// [`ReadError::Pruned`] for a pruned state, [`SystemViewError::Absent`] on a chain without the contract.
    pub(super) fn system_view<C: SolCall>(
        &self,
        block: &ExecutedBlock,
        contract: SystemContract,
        view: &C,
    ) -> Result<C::Return, SystemViewError> {
        let section = contract.field();
        if !contract.is_asked_for(self.spec()) {
            return Err(SystemViewError::Absent { section });
        }
        let context = self.call_context(block)?;
        let input = view.abi_encode().into();
        let request = CallRequest { to: Some(contract.address()), input, ..CallRequest::default() };
        let outcome = self.call(&context, &request, &StateOverrides::new(), None)?;
        let returned = outcome.success_output().and_then(|output| C::abi_decode_returns_validate(output).ok());
        let failed = || SystemViewError::Failed { section, signature: C::SIGNATURE, reason: outcome.describe() };
        returned.ok_or_else(failed)
    }
}
