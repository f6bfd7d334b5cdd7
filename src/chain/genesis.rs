//! Building the genesis block and its state from the specification.

use std::sync::Arc;

use alloy_primitives::{Address, Bytes, U256};
use serde_json::Value;

use super::{
    block::Block,
    context::ChainContext,
    error::OpenError,
    executed_block::{ExecutedBlock, Execution},
    spec::{GenesisContract, GenesisSpec, GenesisValidator, SpecError},
    version::Version,
};
use crate::{
    primitives::{Gas, Height},
    state::{Commit, CommitId, EMPTY_ROOT, Journal, StateChanges, StateError},
    system::{
        ValidatorUpdates,
        staking::{STAKING_ADDRESS, StakingParams, StakingTemplate},
    },
    vm::{self, BlockContext, Descriptor, Message, Parameter, ParameterDefault, TemplateRegistry},
};

/// Gas limit of a genesis contract's constructor.
const CONSTRUCTOR_GAS: Gas = Gas::new(1_000_000_000);

/// Builds the genesis block and commits its state.
pub(super) fn build(context: &ChainContext) -> Result<ExecutedBlock, OpenError> {
    let spec = &context.spec;
    context.check_genesis_templates()?;
    let accounts = context.commit_alone(&spec.state_changes())?;
    let version = if spec.contracts.is_empty() && spec.staking.is_none() {
        accounts
    } else {
        let mut journal = Journal::new(accounts.view()?);
        if let Some(params) = spec.staking.as_ref().filter(|_| !spec.has_staking_contract()) {
            deploy_staking(spec, params, &context.registry, &mut journal)?;
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
    let execution = Execution::new(&block, [], version, CommitId::EMPTY, ValidatorUpdates::NONE);
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

/// Deploys the staking contract with the validators' stakes bonded.
fn deploy_staking(
    spec: &GenesisSpec,
    params: &StakingParams,
    registry: &TemplateRegistry,
    journal: &mut Journal,
) -> Result<(), OpenError> {
    let mut sum = journal.balance(&STAKING_ADDRESS)?;
    for GenesisValidator { address, stake, .. } in &spec.validators {
        let total = sum.checked_add(*stake).filter(|_| !stake.is_zero());
        sum = total.ok_or_else(|| SpecError::Field {
            field: "validators",
            reason: format!(
                "{address} has a stake of {stake}; every validator of a chain with `staking` needs a stake"
            ),
        })?;
    }
    journal.set_balance(&STAKING_ADDRESS, sum)?;
    let stakes = spec.validators.iter().map(|validator| (validator.address, validator.stake));
    let init_code = StakingTemplate::init_code(params, stakes);
    run_constructor(spec, registry, journal, (STAKING_ADDRESS, Address::ZERO), &init_code)
}

/// Returns the registry with the templates that the specification needs besides.
pub(super) fn complete_registry(
    spec: &GenesisSpec,
    registry: Arc<TemplateRegistry>,
) -> Result<Arc<TemplateRegistry>, OpenError> {
    if spec.staking.is_none() {
        return Ok(registry);
    }
    match registry.get(StakingTemplate::ID) {
        Some(template) if template.name() == StakingTemplate::NAME => Ok(registry),
        _ => {
            let mut registry = registry.as_ref().clone();
            registry
                .register_own(Arc::new(StakingTemplate))
                .map_err(|error| OpenError::GenesisContract { address: STAKING_ADDRESS, reason: error.to_string() })?;
            Ok(Arc::new(registry))
        }
    }
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
    let message = Message::create_at(address, deployer, U256::ZERO, init_code, CONSTRUCTOR_GAS);
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
