//! Contracts that know each other, as one list: made by one transaction of the template `batch`, or in a genesis.
//!
//! Unlike the components of a dApp a plan has any template, and the same plan is good for both places: the addresses are known before.

use std::collections::BTreeMap;

use alloy_primitives::{Address, keccak256};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{FieldError, PlatformError};
use crate::{
    chain::GenesisContract,
    templates::{
        BATCH_ADDRESS, GovernanceDao, TimelockController,
        batch::{Operation, created_address},
    },
    vm::{DeploymentContext, Descriptor, TemplateRegistry},
};

/// Name of the timelock that a governor creates with itself.
pub(super) const TIMELOCK: &str = "timelock";

/// A contract of a plan.
#[derive(Clone, Debug)]
pub(super) struct PlannedContract {
    /// Name in the plan.
    pub(super) name: &'static str,
    /// Name of its template.
    pub(super) template: &'static str,
    /// Parameters of the constructor, but for links.
    pub(super) params: Map<String, Value>,
    /// Parameters that are the addresses of contracts before it, by their names.
    pub(super) links: Vec<(&'static str, &'static str)>,
}

impl PlannedContract {
    /// A contract with the parameters of a JSON object.
    pub(super) fn new(name: &'static str, template: &'static str, params: Value) -> Self {
        Self { name, template, params: params.as_object().cloned().unwrap_or_default(), links: Vec::new() }
    }

    /// Takes the address of a contract before it.
    pub(super) fn linked(mut self, parameter: &'static str, to: &'static str) -> Self {
        self.links.push((parameter, to));
        self
    }
}

/// A contract of a plan that has its address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacedContract {
    /// Name in its plan, such as `router`.
    pub name: String,
    /// Name of its template.
    pub template: String,
    /// Its address.
    pub address: Address,
}

/// Where a plan is carried out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deployer<'a> {
    pub(super) templates: &'a TemplateRegistry,
    /// Who signs, and so owns what names no other owner.
    pub(super) address: Address,
    /// Nonce of the transaction.
    pub(super) nonce: u64,
}

/// Returns the operations that make the contracts which are not among `placed`, and adds them there.
///
/// # Errors
/// [`PlatformError::Validation`] with what a template refuses; [`PlatformError::Conflict`] for a template that the chain lacks.
pub(super) fn in_batch(
    plan: &[PlannedContract],
    deployer: Deployer<'_>,
    placed: &mut Vec<PlacedContract>,
) -> Result<Vec<Operation>, PlatformError> {
    let mut operations = Vec::new();
    for contract in plan {
        if placed.iter().any(|other| other.name == contract.name) {
            continue;
        }
        let descriptor = descriptor(deployer.templates, contract.template)?;
        let params = params(contract, placed);
        let input = descriptor.encode(&params, DeploymentContext::new(deployer.address));
        let input = input.map_err(|errors| refused(contract, errors))?;
        let Deployer { address, nonce, .. } = deployer;
        place(contract, created_address(BATCH_ADDRESS, address, nonce, operations.len(), &input), placed);
        operations.push(Operation::create(input));
    }
    Ok(operations)
}

/// Returns the contracts as a genesis has them, with their places. `scope` keeps the addresses of two plans of one deployer apart.
///
/// # Errors
/// As [`in_batch`].
pub(super) fn in_genesis(
    plan: &[PlannedContract],
    templates: &TemplateRegistry,
    deployer: Address,
    scope: &str,
) -> Result<(Vec<GenesisContract>, Vec<PlacedContract>), PlatformError> {
    let (mut contracts, mut placed) = (Vec::new(), Vec::new());
    for contract in plan {
        let params = params(contract, &placed);
        let descriptor = descriptor(templates, contract.template)?;
        descriptor.encode(&params, deployer).map_err(|errors| refused(contract, errors))?;
        let address = genesis_address(deployer, scope, contract.name);
        let mut made = GenesisContract::new(address, contract.template, params);
        made.deployer = deployer;
        contracts.push(made);
        place(contract, address, &mut placed);
    }
    Ok((contracts, placed))
}

/// Address of a contract that a genesis has: of a hash, as nobody's nonce makes it.
fn genesis_address(deployer: Address, scope: &str, name: &str) -> Address {
    let text = format!("genesis contract/{deployer}/{scope}/{name}");
    Address::from_word(keccak256(text))
}

fn place(contract: &PlannedContract, address: Address, placed: &mut Vec<PlacedContract>) {
    let (name, template) = (contract.name.to_owned(), contract.template.to_owned());
    placed.push(PlacedContract { name, template, address });
    if contract.template == GovernanceDao::NAME {
        // Its first creation.
        let template = TimelockController::NAME.to_owned();
        placed.push(PlacedContract { name: TIMELOCK.to_owned(), template, address: address.create(1) });
    }
}

/// The parameters with the addresses of the contracts before it.
fn params(contract: &PlannedContract, placed: &[PlacedContract]) -> Map<String, Value> {
    let known: BTreeMap<&str, Address> = placed.iter().map(|one| (one.name.as_str(), one.address)).collect();
    let mut params = contract.params.clone();
    for (parameter, name) in &contract.links {
        if let Some(address) = known.get(name) {
            params.insert((*parameter).to_owned(), address.to_string().into());
        }
    }
    params
}

fn descriptor(templates: &TemplateRegistry, name: &str) -> Result<Descriptor, PlatformError> {
    let found = templates.by_name(name).map(|template| Descriptor::of(&**template));
    found.ok_or_else(|| PlatformError::Conflict { message: format!("the chain has no template {name}") })
}

fn refused(contract: &PlannedContract, errors: Vec<crate::vm::ParameterError>) -> PlatformError {
    let field = |error: crate::vm::ParameterError| FieldError {
        path: format!("config ({} {})", contract.name, error.path),
        expected: error.expected,
        got: error.got,
    };
    PlatformError::Validation { fields: errors.into_iter().map(field).collect() }
}
