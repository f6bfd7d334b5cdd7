//! Who has how many of a token, and its transfers, by the chain's index of them.

use alloy_primitives::{Address, Bytes};
use alloy_sol_types::SolCall;

use super::Tokens;
use crate::{
    chain::{CallRequest, StateOverrides},
    node::BlockRef,
    platform::{
        Blockchain, PlatformError,
        blockchain::token_index::{Holder, HolderOrder, ListWindow, TokenTransfer},
        deployment::DeploymentRecord,
    },
    primitives::U256,
    templates::erc20::interface as erc20,
};

impl Tokens<'_> {
    /// Returns a part of a token's transfers up to the head, and the number of all.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the chain can't be read; [`PlatformError::Pruned`] where a chain of an earlier version had forgotten
    /// its first blocks before its transfers were indexed.
    pub fn transfers(
        &self,
        chain: &Blockchain,
        token: &DeploymentRecord,
        window: ListWindow,
    ) -> Result<(Vec<TokenTransfer>, u64), PlatformError> {
        chain.token_index().transfers(chain.node(), token.contract_address(chain)?, window)
    }

    /// Returns a part of those who have a token at the head, and the number of all.
    ///
    /// # Errors
    /// As [`Tokens::transfers`].
    pub fn holders(
        &self,
        chain: &Blockchain,
        token: &DeploymentRecord,
        by: HolderOrder,
        window: ListWindow,
    ) -> Result<(Vec<Holder>, u64), PlatformError> {
        chain.token_index().holders(chain.node(), token.contract_address(chain)?, by, window)
    }
}

/// Returns the supply of a contract at the head; `None` where there is no such contract.
pub(super) fn supply(chain: &Blockchain, contract: Address) -> Result<Option<U256>, PlatformError> {
    let request = CallRequest::call(contract, Bytes::from(erc20::totalSupplyCall {}.abi_encode()));
    let view = chain.node().view();
    let outcome = view.call(&request, BlockRef::Latest, &StateOverrides::default(), None);
    let outcome = outcome.map_err(PlatformError::from_query)?;
    Ok(outcome.success_output().and_then(|output| erc20::totalSupplyCall::abi_decode_returns(output).ok()))
}
