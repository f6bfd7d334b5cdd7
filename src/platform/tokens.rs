//! Tokens: contracts of the four standards with names, a supply and its distribution. A token is a deployment that knows its standard.

pub(super) mod details;
mod holders;
mod moving;
mod spec;
#[cfg(test)]
mod tests;
mod vault;

use alloy_primitives::{Address, U256};

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
use crate::node::BlockRef;

/// Rules of tokens.
#[derive(Clone, Copy, Debug)]
pub struct Tokens<'a> {
    pub(super) blockchains: Blockchains<'a>,
}

impl Tokens<'_> {
    /// Makes a token under an id that was drawn for the request; with that of a token of the workspace it sends its transaction if no block
    /// has it, and returns it. A vault (ERC-4626) without an asset gets a token of its own to hold, which anybody with the minter's role mints:
    /// neither is made where not both can be.
    ///
    /// # Errors
    /// As [`Blockchains::deploy_as`]; [`PlatformError::Validation`] with the fields that the standard can't have.
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
        let asset = match (spec.standard, &spec.signed_transaction, spec.asset) {
            (TokenStandard::Erc4626, None, None) => Some(self.create_asset(principal, id, &chain, &spec)?),
            (_, _, Some(asset)) if !is_contract(&chain, asset)? => {
                let expected = "the address of a token on the chain";
                return Err(PlatformError::field("asset", expected, format!("{asset}, which has no code")));
            }
            (_, _, asset) => asset,
        };
        self.blockchains.deploy_as(principal, id, spec.deployment(asset))
    }

    /// Deploys the token that a vault without an asset holds, and returns its address.
    fn create_asset(
        &self,
        principal: &Principal,
        id: &str,
        chain: &Blockchain,
        spec: &TokenSpec,
    ) -> Result<Address, PlatformError> {
        let asset = format!("{id}_asset");
        let is_made = self.blockchains.deployments().get(&principal.owner(), &asset)?.is_some();
        // What a chain without contracts refuses, it refuses before it makes anything.
        if !is_made && chain.node().view().chain().spec().deployments {
            self.check_with_asset(principal, chain, spec)?;
        }
        let stored = self.blockchains.deploy_as(principal, &asset, spec.asset_deployment())?;
        stored.value.contract_address(chain)
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

fn is_contract(chain: &Blockchain, address: Address) -> Result<bool, PlatformError> {
    let code = chain.node().view().code(address, BlockRef::Pending).map_err(PlatformError::from_query)?;
    Ok(!code.is_empty())
}
