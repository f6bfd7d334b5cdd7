//! The genesis block: its state, made from the specification.

use std::sync::Arc;

use alloy_dyn_abi::{DynSolType, DynSolValue};
use alloy_primitives::{Address, Bytes, U256};

use super::{
    Block, ChainError, ExecutedBlock, GenesisContract, GenesisSpec, execution::Execution, replica::Shared,
    version::Version,
};
use crate::{
    primitives::{Gas, Height, Timestamp},
    state::{Commit, CommitId, EMPTY_ROOT, Journal, StateChanges},
    vm::{self, BlockContext, Marker, Message, MessageKind, TemplateRegistry},
};

/// Gas that a genesis contract's constructor may use.
const CONSTRUCTOR_GAS: Gas = Gas::new(1_000_000_000);

/// Makes the genesis block and commits its state.
pub(super) fn make(shared: &Shared) -> Result<ExecutedBlock, ChainError> {
    let spec = &shared.spec;
    let accounts = shared.commit_alone(&spec.state_changes())?;
    let version = if spec.contracts.is_empty() {
        accounts
    } else {
        let mut journal = Journal::new(accounts.view()?);
        for contract in &spec.contracts {
            construct(spec, &shared.registry, &mut journal, contract)?;
        }
        // One commit for all, so that the genesis version stands alone on the empty one.
        let mut changes = spec.state_changes();
        merge(&mut changes, journal.take_changes());
        shared.commit_alone(&changes)?
    };
    let block = Block::new(spec.header(version.commit().root), Vec::new(), Bytes::new(), Vec::new());
    let execution = Execution { receipts: Arc::from([]), version };
    Ok(ExecutedBlock::new(Arc::new(block), execution, spec.difficulty))
}

impl Shared {
    /// A version with `changes` alone, on top of the empty state.
    pub(super) fn commit_alone(&self, changes: &StateChanges) -> Result<Arc<Version>, ChainError> {
        let empty = Version::stored(self.state.clone(), Commit { id: CommitId::EMPTY, root: EMPTY_ROOT });
        self.commit_changes(&Arc::new(empty), changes)
    }
}

fn merge(changes: &mut StateChanges, later: StateChanges) {
    changes.codes.extend(later.codes);
    for (address, change) in later.accounts {
        let entry = changes.accounts.entry(address).or_default();
        entry.info = change.info;
        entry.storage.extend(change.storage);
    }
}

fn construct(
    spec: &GenesisSpec,
    registry: &TemplateRegistry,
    journal: &mut Journal,
    contract: &GenesisContract,
) -> Result<(), ChainError> {
    let failed = |reason: String| ChainError::GenesisContract { address: contract.address, reason };
    let init_code = init_code(registry, contract).map_err(failed)?;
    let context = BlockContext {
        chain_id: spec.chain_id,
        height: Height::GENESIS,
        timestamp: Timestamp::from_secs(spec.timestamp),
        beneficiary: spec.coinbase,
        gas_limit: spec.block_gas_limit(),
        base_fee: 0,
        prev_randao: spec.mix_hash,
    };
    let message = Message {
        kind: MessageKind::Create,
        caller: contract.deployer,
        to: contract.address,
        value: U256::ZERO,
        input: &init_code,
        gas: CONSTRUCTOR_GAS,
        origin: contract.deployer,
    };
    journal.begin_transaction();
    let result = vm::execute(journal, &context, registry, &message)?;
    if result.is_success() { Ok(()) } else { Err(failed(format!("{:?} with {}", result.outcome, result.output))) }
}

/// The template's marker and its constructor's parameters, taken from JSON by name.
fn init_code(registry: &TemplateRegistry, contract: &GenesisContract) -> Result<Bytes, String> {
    let name = &contract.template;
    let template = registry.by_name(name).ok_or_else(|| {
        let known: Vec<_> = registry.iter().map(|template| template.name()).collect();
        format!("there is no template {name:?}; known: {}", known.join(", "))
    })?;
    let abi = template.abi();
    let inputs = abi.constructor.map(|constructor| constructor.inputs).unwrap_or_default();
    if let Some(unknown) = contract.params.keys().find(|key| !inputs.iter().any(|input| input.name == **key)) {
        let known: Vec<_> = inputs.iter().map(|input| input.name.as_str()).collect();
        return Err(format!("{name} has no parameter {unknown:?}; it takes {}", known.join(", ")));
    }
    let values = inputs.iter().map(|input| {
        let given = contract.params.get(&input.name);
        let given = given.ok_or_else(|| format!("parameter {:?} ({}) is missing", input.name, input.ty))?;
        let ty = DynSolType::parse(&input.ty).map_err(|error| error.to_string())?;
        coerce(&ty, given).map_err(|reason| format!("parameter {:?}: {reason}", input.name))
    });
    let params = DynSolValue::Tuple(values.collect::<Result<_, _>>()?);
    Ok(Marker(template.id()).init_code(&params.abi_encode_params()))
}

/// A value of an ABI type from JSON: numbers plain or as strings, lists as lists, the rest as text.
fn coerce(ty: &DynSolType, json: &serde_json::Value) -> Result<DynSolValue, String> {
    match (ty, json) {
        (DynSolType::Array(inner), serde_json::Value::Array(items)) => {
            Ok(DynSolValue::Array(items.iter().map(|item| coerce(inner, item)).collect::<Result<_, _>>()?))
        }
        (DynSolType::String, serde_json::Value::String(text)) => Ok(DynSolValue::String(text.clone())),
        (_, serde_json::Value::String(text)) => ty.coerce_str(text).map_err(|error| error.to_string()),
        (_, serde_json::Value::Number(number)) => ty.coerce_str(&number.to_string()).map_err(|error| error.to_string()),
        (DynSolType::Bool, serde_json::Value::Bool(value)) => Ok(DynSolValue::Bool(*value)),
        (_, other) => Err(format!("expected {ty}, found {other}")),
    }
}

impl GenesisContract {
    /// A contract of the template `name` at `address`, its parameters by the names in the template's ABI.
    pub fn new(address: Address, template: &str, params: serde_json::Map<String, serde_json::Value>) -> Self {
        Self { address, template: template.to_owned(), params, deployer: Address::ZERO }
    }
}
