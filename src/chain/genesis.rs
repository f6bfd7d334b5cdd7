//! Building the genesis block and its state from the specification.

use std::sync::Arc;

use alloy_primitives::{Address, Bytes, U256};
use serde_json::Value;

use super::{
    block::Block,
    context::ChainContext,
    error::OpenError,
    executed_block::{ExecutedBlock, Execution},
    spec::{GenesisContract, GenesisSpec, SpecError, SystemContract},
    version::Version,
};
use crate::{
    primitives::{Gas, Height},
    state::{Commit, CommitId, EMPTY_ROOT, Journal, StateChanges, StateError},
    system::BlockUpdates,
    vm::{self, BlockContext, Descriptor, Message, Parameter, ParameterDefault, RegistryError, TemplateRegistry},
};

/// Gas limit of a genesis contract's constructor.
const CONSTRUCTOR_GAS: Gas = Gas::new(1_000_000_000);

/// Builds the genesis block and commits its state.
pub(super) fn build(context: &ChainContext) -> Result<ExecutedBlock, OpenError> {
    let spec = &context.spec;
    context.check_genesis_templates()?;
    let accounts = context.commit_alone(&spec.state_changes())?;
    let missing: Vec<_> = spec.system_contracts().filter(|contract| !spec.has_account_of(*contract)).collect();
    let version = if spec.contracts.is_empty() && missing.is_empty() {
        accounts
    } else {
        let mut journal = Journal::new(accounts.view()?);
        for contract in missing {
            deploy_system_contract(spec, &context.registry, &mut journal, contract)?;
        }
        for contract in &spec.contracts {
            deploy(spec, &context.registry, &mut journal, contract)?;
        }
        // One commit, so that the genesis version has the empty version as its parent.
        let mut changes = spec.state_changes();
        merge(&mut changes, journal.take_changes());
        context.commit_alone(&changes)?
    };
    let block = Block::new(spec.header(version.commit().root), Vec::new(), Bytes::new(), Vec::new());
    let execution = Execution::new(&block, [], version, CommitId::EMPTY, BlockUpdates::NONE);
    Ok(ExecutedBlock::new(Arc::new(block), execution, spec.difficulty))
}

impl ChainContext {
    /// Commits `changes` on top of the empty state.
    pub(super) fn commit_alone(&self, changes: &StateChanges) -> Result<Arc<Version>, StateError> {
        let empty = Version::stored(self.state.clone(), Commit { id: CommitId::EMPTY, root: EMPTY_ROOT });
        self.commit_changes(&Arc::new(empty), changes)
    }
}

/// Merges `later` changes into `changes`.
fn merge(changes: &mut StateChanges, later: StateChanges) {
    changes.codes.extend(later.codes);
    let later = later.accounts.into_iter().map(|(address, mut change)| {
        if let Some(earlier) = changes.accounts.get(&address) {
            let storage = core::mem::take(&mut change.storage);
            change.storage = earlier.storage.iter().copied().chain(storage).collect();
        }
        (address, change)
    });
    let later: Vec<_> = later.collect();
    changes.accounts.extend(later);
}

/// Deploys a contract of the specification.
fn deploy(
    spec: &GenesisSpec,
    registry: &TemplateRegistry,
    journal: &mut Journal,
    contract: &GenesisContract,
) -> Result<(), OpenError> {
    let failed = |reason: String| OpenError::GenesisContract { address: contract.address, reason };
    let init_code = init_code(registry, contract).map_err(failed)?;
    run_constructor(spec, registry, journal, (contract.address, contract.deployer), &init_code)
}

/// Deploys a system contract, with what genesis mints for it.
fn deploy_system_contract(
    spec: &GenesisSpec,
    registry: &TemplateRegistry,
    journal: &mut Journal,
    contract: SystemContract,
) -> Result<(), OpenError> {
    let Some(init_code) = contract.init_code(spec) else { return Ok(()) };
    let (address, minted) = (contract.address(), contract.minted(spec)?);
    let balance = journal.balance(&address)?.checked_add(minted).ok_or_else(|| SpecError::Field {
        field: contract.field(),
        reason: format!("{address} has a balance to which {minted} can't be added"),
    })?;
    journal.set_balance(&address, balance)?;
    run_constructor(spec, registry, journal, (address, Address::ZERO), &init_code)
}

/// Returns the registry with the templates that the specification needs besides.
pub(super) fn complete_registry(
    spec: &GenesisSpec,
    registry: Arc<TemplateRegistry>,
) -> Result<Arc<TemplateRegistry>, OpenError> {
    let mut registry = registry;
    for contract in spec.system_contracts() {
        let template = contract.template();
        if registry.get(template.id()).is_some_and(|known| known.name() == template.name()) {
            continue;
        }
        let failed = |error: RegistryError| OpenError::GenesisContract {
            address: contract.address(),
            reason: error.to_string(),
        };
        Arc::make_mut(&mut registry).register_own(template).map_err(failed)?;
    }
    Ok(registry)
}

fn run_constructor(
    spec: &GenesisSpec,
    registry: &TemplateRegistry,
    journal: &mut Journal,
    (address, deployer): (Address, Address),
    init_code: &[u8],
) -> Result<(), OpenError> {
    let failed = |reason: String| OpenError::GenesisContract { address, reason };
    let context = BlockContext {
        chain_id: spec.chain_id,
        height: Height::GENESIS,
        parent_hash: alloy_primitives::B256::ZERO,
        timestamp: spec.timestamp,
        beneficiary: spec.coinbase,
        gas_limit: spec.gas_limit,
        base_fee: 0,
        prev_randao: spec.genesis_mix_hash(),
        hardfork: spec.forks.at(Height::GENESIS),
    };
    let message = Message::create_at(address, deployer, U256::ZERO, init_code, CONSTRUCTOR_GAS).of_genesis();
    journal.begin_transaction();
    let result = vm::execute(journal, &context, registry, &message)?;
    if result.is_success() { Ok(()) } else { Err(failed(format!("{:?} with {}", result.outcome, result.output))) }
}

/// Returns the template's marker followed by the ABI-encoded constructor parameters.
fn init_code(registry: &TemplateRegistry, contract: &GenesisContract) -> Result<Bytes, String> {
    let GenesisContract { template: name, params, deployer, .. } = contract;
    let template = registry.by_name(name).ok_or_else(|| {
        let known: Vec<_> = registry.iter().map(|template| template.name()).collect();
        format!("there is no template {name:?}; known: {}", known.join(", "))
    })?;
    let descriptor = Descriptor::of(template.as_ref());
    let is_deployer = |parameter: &&Parameter| parameter.default == Some(ParameterDefault::Deployer);
    let absent = |parameter: &&Parameter| params.get(&parameter.name).is_none_or(Value::is_null);
    match descriptor.constructor.iter().filter(is_deployer).find(absent) {
        Some(Parameter { name: parameter, .. }) if deployer.is_zero() => {
            Err(format!("{name}: {parameter} is missing, and the contract has no `deployer`, which is its default"))
        }
        _ => descriptor.encode(params, *deployer).map_err(|errors| {
            let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
            format!("{name}: {}", errors.join("; "))
        }),
    }
}
