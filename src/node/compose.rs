//! dApps composed of contracts that know each other, deployed together or not at all.

mod component;
mod creations;
mod error;
mod parts;
mod plan;
mod planned;
mod wiring;

use std::collections::BTreeMap;

use self::plan::Deployer;
pub use self::{
    component::{COMPONENTS_MAX, Component, ComponentKind},
    error::ComposeError,
    planned::{DappDeployer, DappPlan},
};
use super::{BlockRef, ContractError, MinedTransaction, Node, QueryError};
use crate::primitives::Address;

/// A dApp that was deployed.
#[derive(Clone, Debug)]
pub struct Dapp {
    mined: MinedTransaction,
    components: Vec<(ComponentKind, Address)>,
    addresses: BTreeMap<String, Address>,
}

impl Dapp {
    /// The transaction that deployed all of it.
    pub const fn mined(&self) -> &MinedTransaction {
        &self.mined
    }

    /// Kind and address of each component, in their order.
    pub fn components(&self) -> &[(ComponentKind, Address)] {
        &self.components
    }

    /// Addresses by name: of components, and of price feeds by their path.
    pub const fn addresses(&self) -> &BTreeMap<String, Address> {
        &self.addresses
    }

    /// Returns the address of what has this name, symbol or, where the dApp has one of it alone, kind.
    pub fn address(&self, name: &str) -> Option<Address> {
        self.addresses.get(name).copied()
    }
}

impl Node {
    /// Deploys components that know each other, in one transaction of `from`: all of them or none.
    ///
    /// The configuration of a component is its template's parameters (see `docs/templates.md`). Where a parameter is an address it may be
    /// the name of another component: its `symbol`, its `name`, or its kind if it is the only one of that. Kinds add:
    ///
    /// - `governance`, `nft-marketplace` and `auction` take the dApp's token for `token`, if there is one alone. A governor's token has the
    ///   feature `votes`; with `ownsToken` its timelock gets the token's roles, and the deployer gives them up.
    /// - `staking` with `fund` is paid that much of its first reward token by the deployer.
    /// - `lending` takes an object for `oracle` and `tokenOracle`: parameters of a `price-feed`, which is deployed with it.
    ///
    /// ```
    /// use chainbox::{node::{Component, Node}, prelude::*, templates::staking_pool::interface as staking};
    /// let node = Node::new();
    /// let components = serde_json::json!([
    ///     { "type": "staking", "config": { "stakingToken": "GLD", "rewardRate": "10", "lockPeriod": "30d" } },
    ///     { "type": "token", "config": { "name": "Gold", "symbol": "GLD", "totalSupply": "1000" } },
    /// ]);
    /// let dapp = node.compose(node.accounts()[0], &Component::read_list(&components).unwrap())?;
    /// let pool = node.contract(dapp.address("staking").unwrap(), node.accounts()[0]);
    /// assert_eq!(pool.call(staking::stakingTokenCall {})?, dapp.address("GLD").unwrap());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ComposeError`]; nothing is deployed then, but where the transaction waits in the pool ([`ContractError::NotMined`]).
    pub fn compose(&self, from: Address, components: &[Component]) -> Result<Dapp, ComposeError> {
        let plan = self.plan_dapp(DappDeployer::new(from), components)?;
        let mined = self.bulk_at(from, Some(plan.nonce), &plan.operations()).map_err(|error| plan.failure(error))?;
        let kinds = components.iter().map(|component| component.kind);
        let DappPlan { plan, .. } = plan;
        Ok(Dapp {
            mined: mined.mined().clone(),
            components: kinds.zip(plan.components).collect(),
            addresses: plan.addresses,
        })
    }

    /// Plans a dApp as [`Node::compose`] deploys it, and sends nothing: for a caller that signs the transaction itself.
    ///
    /// ```
    /// use chainbox::node::{Component, DappDeployer, Node};
    /// let node = Node::new();
    /// let token = serde_json::json!([{ "type": "token", "config": { "name": "Gold", "symbol": "GLD", "totalSupply": "1000" } }]);
    /// let components = Component::read_list(&token).unwrap();
    /// let plan = node.plan_dapp(DappDeployer::new(node.accounts()[0]), &components)?;
    /// node.check_dapp(&plan)?;
    /// let planned = plan.components().to_vec();
    /// assert_eq!(node.compose(node.accounts()[0], &components)?.components()[0].1, planned[0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`ComposeError::Invalid`]; [`ComposeError::Bulk`] when the chain can't be read, or has no template `batch` at its address.
    pub fn plan_dapp(&self, deployer: DappDeployer, components: &[Component]) -> Result<DappPlan, ComposeError> {
        let unread = |error: QueryError| ComposeError::Bulk(ContractError::from(error).into());
        let (view, from) = (self.view(), deployer.address);
        self.check_batch().map_err(ComposeError::Bulk)?;
        let nonce = deployer.nonce.map_or_else(|| view.nonce(from, BlockRef::Pending), Ok).map_err(unread)?;
        let block_time_secs = deployer.block_time_secs.map_or_else(|| view.block_time_secs(), |secs| Ok(Some(secs)));
        let block_time_secs = block_time_secs.map_err(unread)?;
        let deployer = Deployer { address: from, nonce, block_time_secs };
        let mut plan = creations::creations(components, self.templates(), deployer).map_err(ComposeError::Invalid)?;
        plan.steps.extend(wiring::steps(components, &plan, from).map_err(ComposeError::Invalid)?);
        Ok(DappPlan { from, nonce, plan })
    }

    /// Tries the transaction of a plan on the pending block.
    ///
    /// # Errors
    /// [`ComposeError::Step`] for the first step that fails; [`ComposeError::Bulk`] when the chain can't be read, or it fails as a whole.
    pub fn check_dapp(&self, plan: &DappPlan) -> Result<(), ComposeError> {
        self.check_bulk(plan.request(), &plan.operations()).map_err(|error| plan.failure(error))
    }
}
