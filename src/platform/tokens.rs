//! Tokens: contracts of the four standards with names, a supply and its distribution. A token is a deployment that knows its standard.

pub(super) mod details;
mod holders;
mod moving;
mod shared_params;
mod spec;
#[cfg(test)]
mod tests;
mod vault;

use alloy_primitives::{Address, U256};
use alloy_sol_types::SolCall;

pub use self::{
    details::{TokenDetails, TokenStandard},
    moving::TokenMove,
    spec::{Allotment, TokenFeatures, TokenSpec, Vesting},
};
use super::{
    Blockchain, PlatformError,
    blockchains::Blockchains,
    deployment::DeploymentRecord,
    principal::Principal,
    records::{Page, PageRequest, SortKey, Stored},
};
use crate::{
    chain::{CallRequest, StateOverrides},
    node::BlockRef,
    templates::erc20::interface as erc20,
};

/// Rules of tokens.
#[derive(Clone, Copy, Debug)]
pub struct Tokens<'a> {
    pub(super) blockchains: Blockchains<'a>,
}

impl Tokens<'_> {
    /// Makes a token under an id that was drawn for the request; with that of a token of the workspace it sends its transaction if no block
    /// has it, and returns it. A vault (ERC-4626) without an asset gets a token of its own to hold, which anybody with the minter's role mints:
    /// neither is made where not both can be. Where the chain changes between the two, so that the vault is refused, the token stays and the
    /// error names it.
    ///
    /// # Errors
    /// As [`Blockchains::deploy_as`]; [`PlatformError::Validation`] with the fields that the standard can't have; [`PlatformError::Conflict`]
    /// for a vault that is refused after its token was made, and for one whose token has failed.
    pub fn create(
        &self,
        principal: &Principal,
        id: &str,
        spec: TokenSpec,
    ) -> Result<Stored<DeploymentRecord>, PlatformError> {
        let fields = spec.check();
        if !fields.is_empty() {
            return Err(PlatformError::Validation { fields });
        }
        let chain = self.blockchains.writable(principal, &spec.blockchain_id)?;
        let is_without_asset = spec.asset.is_none() && spec.signed_transaction.is_none();
        if spec.standard == TokenStandard::Erc4626 && is_without_asset {
            return self.create_with_asset(principal, id, &chain, spec);
        }
        let asset = match spec.asset {
            Some(asset) => {
                check_asset(&chain, asset)?;
                Some(asset)
            }
            None => None,
        };
        self.blockchains.deploy_as(principal, id, spec.deployment(asset))
    }

    /// Returns a token of the principal's workspace.
    ///
    /// # Errors
    /// [`PlatformError::NotFound`], also for a deployment that is no token.
    pub fn require(&self, principal: &Principal, id: &str) -> Result<Stored<DeploymentRecord>, PlatformError> {
        let stored = self.blockchains.deployments().get(&principal.owner(), id)?;
        stored.filter(|stored| stored.value.token.is_some()).ok_or_else(|| PlatformError::not_found("token", id))
    }

    /// Returns a page of the tokens of the principal's workspace, by the time of their making.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the store fails.
    pub fn page(&self, principal: &Principal, request: &PageRequest) -> Result<Page<DeploymentRecord>, PlatformError> {
        let deployments = self.blockchains.deployments();
        Ok(deployments.page(&DeploymentRecord::TOKENS, &principal.owner(), &SortKey::new(), request)?)
    }

    /// Returns the supply of a token at the head; `None` before its contract is there.
    ///
    /// # Errors
    /// [`PlatformError::Internal`] when the chain can't be read.
    pub fn supply(&self, chain: &Blockchain, token: &DeploymentRecord) -> Result<Option<U256>, PlatformError> {
        holders::supply(chain, token.contract_address(chain)?)
    }
}

/// Refuses an asset of a vault that is no contract, or one that does not say as an ERC-20 token does how many there are and who has them.
fn check_asset(chain: &Blockchain, asset: Address) -> Result<(), PlatformError> {
    let view = chain.node().view();
    let refused = |why: &str| {
        Err(PlatformError::field(
            "asset",
            "the address of an ERC-20 token on the chain",
            format!("{asset}, which {why}"),
        ))
    };
    if view.code(asset, BlockRef::Pending).map_err(PlatformError::from_query)?.is_empty() {
        return refused("has no code");
    }
    let calls = [
        ("totalSupply()", erc20::totalSupplyCall {}.abi_encode()),
        ("balanceOf(address)", erc20::balanceOfCall { account: Address::ZERO }.abi_encode()),
    ];
    for (signature, call) in calls {
        let request = CallRequest::call(asset, call);
        let outcome = view.call(&request, BlockRef::Pending, &StateOverrides::default(), None);
        let outcome = outcome.map_err(PlatformError::from_query)?;
        if outcome.success_output().is_none_or(|output| output.len() != U256::BYTES) {
            return refused(&format!("does not answer {signature} with an integer"));
        }
    }
    Ok(())
}
