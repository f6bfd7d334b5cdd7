//! dApps composed of contracts that know each other, deployed together or not at all.

mod component;
mod creations;
mod parts;
mod plan;
mod wiring;

use std::collections::BTreeMap;

pub use self::component::{COMPONENTS_MAX, Component, ComponentKind};
use self::plan::Deployer;
use super::{BlockRef, BulkError, ContractError, MinedTransaction, Node, QueryError};
use crate::{primitives::Address, templates::batch::Operation, vm::ParameterError};

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

/// Why a dApp was not deployed. Nothing of it was, unless its transaction is not mined yet.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ComposeError {
    /// The components are wrong; nothing was sent.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Invalid(Vec<ParameterError>),
    /// A step failed.
    #[error("{step} failed, and nothing was deployed: {source}")]
    Step {
        /// The component and what was done.
        step: String,
        /// Why it failed.
        #[source]
        source: ContractError,
    },
    /// The transaction was not sent, not mined, or ran out of gas.
    #[error(transparent)]
    Bulk(BulkError),
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
        let unread = |error: QueryError| ComposeError::Bulk(ContractError::from(error).into());
        let view = self.view();
        let nonce = view.nonce(from, BlockRef::Pending).map_err(unread)?;
        let block_time_secs = view.block_time_secs().map_err(unread)?;
        let deployer = Deployer { address: from, nonce, block_time_secs };
        let mut plan = creations::creations(components, self.templates(), deployer).map_err(ComposeError::Invalid)?;
        plan.steps.extend(wiring::steps(components, &plan, from).map_err(ComposeError::Invalid)?);
        let operations: Vec<Operation> = plan.steps.iter().map(|step| step.operation.clone()).collect();
        let bulk = self.bulk_at(from, Some(nonce), &operations).map_err(|error| match error {
            BulkError::Operation { index, source } => {
                ComposeError::Step { step: plan.steps[index].purpose.clone(), source }
            }
            other => ComposeError::Bulk(other),
        })?;
        let kinds = components.iter().map(|component| component.kind);
        Ok(Dapp {
            mined: bulk.mined().clone(),
            components: kinds.zip(plan.components).collect(),
            addresses: plan.addresses,
        })
    }
}
