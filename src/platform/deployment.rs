//! Contract deployments from templates.

use std::sync::Arc;

use alloy_primitives::{Address, B256};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    Blockchain, FieldError, Fields, PlatformError,
    records::{Index, Reach, Record, SortKey},
};
use crate::{
    chain::CallRequest,
    node::{BlockRef, EstimateError, Located},
    primitives::{Gas, parse_amount},
    vm::{DeploymentContext, Descriptor, ParameterError},
};

/// Largest gas limit of a deployment, in gas units.
const GAS_LIMIT_MAX: u64 = 1_000_000_000_000;

/// Specification of a deployment: the decoded body of a request to deploy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeploymentSpec {
    /// Id of the chain to deploy on.
    pub blockchain_id: String,
    /// Name of the contract's template.
    pub template: String,
    /// Parameters of the constructor by name, in the form of [`Descriptor::encode`].
    pub params: Map<String, Value>,
    /// Account that deploys the contract; the first unlocked account by default.
    pub from: Option<Address>,
    /// Gas limit of the transaction, in gas units; estimated by default.
    pub gas_limit: Option<Gas>,
}

impl DeploymentSpec {
    /// Reads a request body. `chain_of` is the chain with an id, or the one whose templates stand for those of an unknown chain.
    pub(super) fn read(body: Value, chain_of: impl FnOnce(&str) -> Arc<Blockchain>) -> Result<Self, PlatformError> {
        let mut fields = Fields::read(body)?;
        let blockchain_id = fields.text("blockchainId").unwrap_or_default();
        let chain = chain_of(&blockchain_id);
        let template = fields.text("template");
        let params = fields.read_with("params", "an object", |value| value.as_object().cloned()).unwrap_or_default();
        if let Some(name) = &template {
            match descriptor(&chain, name) {
                Ok(descriptor) => {
                    // Which account deploys is decided later; that there is one suffices to check the parameters.
                    for ParameterError { path, expected, got } in
                        descriptor.encode(&params, context(&chain, Address::ZERO)?).err().unwrap_or_default()
                    {
                        fields.refuse(&format!("params.{path}"), expected, got);
                    }
                }
                Err(names) => fields.refuse("template", format!("one of {}", names.join(", ")), name),
            }
        }
        let from = fields.address("from");
        let gas_limit = gas_limit(&mut fields).map(Gas::new);
        fields.finish()?;
        Ok(Self { blockchain_id, template: template.unwrap_or_default(), params, from, gas_limit })
    }
}

/// Returns the description of the newest version of a template, or the names of those that the chain has.
fn descriptor(chain: &Blockchain, name: &str) -> Result<Descriptor, Vec<String>> {
    let templates = chain.node().templates();
    let found = templates.by_name(name).map(|template| Descriptor::of(&**template));
    found.ok_or_else(|| templates.iter().map(|template| template.name().to_owned()).collect())
}

/// Returns what parameters may depend on: who deploys, and the time of the chain's blocks.
fn context(chain: &Blockchain, deployer: Address) -> Result<DeploymentContext<'static>, PlatformError> {
    let context = DeploymentContext::new(deployer);
    Ok(match chain.node().view().block_time_secs().map_err(PlatformError::from_query)? {
        Some(secs) => context.with_block_time(secs),
        None => context,
    })
}

fn gas_limit(fields: &mut Fields) -> Option<u64> {
    let expected = format!("a decimal integer string between 21000 and {GAS_LIMIT_MAX}");
    let text = fields.optional_text("gasLimit", &expected)?;
    let limit = parse_amount(&text).and_then(|limit| u64::try_from(limit).ok());
    let fitting = limit.filter(|limit| (21_000..=GAS_LIMIT_MAX).contains(limit));
    if fitting.is_none() {
        fields.refuse("gasLimit", expected, text);
    }
    fitting
}

/// Returns the refusal of parameters.
fn invalid(errors: Vec<ParameterError>) -> PlatformError {
    let fields = errors.into_iter().map(|ParameterError { path, expected, got }| {
        let path = format!("params.{path}");
        FieldError { path, expected, got }
    });
    PlatformError::Validation { fields: fields.collect() }
}

/// A deployment whose transaction was sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeploymentRecord {
    /// Id of the chain.
    pub blockchain_id: String,
    /// Name of the contract's template.
    pub template: String,
    /// Parameters of the constructor by name, as JSON text.
    pub params: String,
    /// Account that deployed the contract.
    pub from: Address,
    /// Hash of the creating transaction.
    pub transaction_hash: B256,
}

impl DeploymentRecord {
    /// Deployments of a workspace by chain.
    pub const BY_BLOCKCHAIN: Index<Self> = Index::ordered(
        "blockchain",
        Reach::Owner,
        |deployment| Some(SortKey::new().text(&deployment.value.blockchain_id)),
        |deployment| SortKey::new().number(deployment.created_at_ms()),
    );

    /// Simulates, then sends. A transaction whose simulation fails is not sent.
    pub(super) fn run(spec: DeploymentSpec, chain: &Blockchain) -> Result<Self, PlatformError> {
        let node = chain.node();
        let unlocked = node.accounts();
        let from = match spec.from.or_else(|| unlocked.first().copied()) {
            Some(from) if unlocked.contains(&from) => from,
            Some(from) => {
                let expected = "an account that this service can sign for (unlocked)";
                return Err(PlatformError::field("from", expected, from.to_string()));
            }
            None => return Err(PlatformError::field("from", "an unlocked account", "nothing, and none is unlocked")),
        };
        let unknown = |names: Vec<String>| {
            PlatformError::field("template", format!("one of {}", names.join(", ")), spec.template.clone())
        };
        let input = descriptor(chain, &spec.template)
            .map_err(unknown)?
            .encode(&spec.params, context(chain, from)?)
            .map_err(invalid)?;
        let mut request = CallRequest { from: Some(from), input, gas: spec.gas_limit, ..Default::default() };
        match node.view().estimate_gas(&request, BlockRef::Pending, &Default::default()) {
            Ok(gas) => request.gas = request.gas.or(Some(gas)),
            Err(EstimateError::Query(cause)) => return Err(PlatformError::from_query(cause)),
            Err(failure) => {
                let message = format!("the deployment would fail: {failure}");
                return Err(PlatformError::Conflict { message });
            }
        }
        let transaction_hash = node.send_as_account(request).map_err(PlatformError::from_send)?;
        let params = Value::Object(spec.params).to_string();
        Ok(Self { blockchain_id: spec.blockchain_id, template: spec.template, params, from, transaction_hash })
    }

    /// Returns the address of the contract, which the sender and nonce of the creating transaction determine (Yellow Paper, 7).
    ///
    /// # Errors
    /// [`PlatformError`] when the chain no longer has the transaction.
    pub fn contract_address(&self, chain: &Blockchain) -> Result<Address, PlatformError> {
        let found = chain.node().view().transaction(self.transaction_hash).map_err(PlatformError::from_query)?;
        let nonce = match found {
            Some(Located::Mined { block, index }) => block.block().transaction(index).map(|found| found.nonce()),
            Some(Located::Pooled(transaction)) => Some(transaction.nonce()),
            None => None,
        };
        nonce
            .map(|nonce| self.from.create(nonce))
            .ok_or_else(|| PlatformError::not_found("transaction", &self.transaction_hash.to_string()))
    }
}

impl Record for DeploymentRecord {
    const KIND: &'static str = "deployment";
    const INDICES: &'static [Index<Self>] = &[Self::BY_BLOCKCHAIN];
}
