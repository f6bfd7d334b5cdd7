//! The service's resources and rules, without HTTP: blockchains, contract deployments, API keys.
//!
//! A [`Platform`] holds the chains, deployments and API keys of one process. Every operation is a plain call that
//! takes a decoded body and returns a resource or a [`PlatformError`]; the `server` floor translates.
//! No clock is read here: times come as arguments. Identifiers and keys come from the platform's [`Entropy`].

mod api_key;
mod blockchain;
mod deployment;
mod entropy;
mod error;
mod fields;
pub mod records;
mod secret;

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
};

pub use api_key::{ApiKey, Caller, Scope};
pub use blockchain::{Blockchain, BlockchainSpec, NativeToken, ValidatorSpec};
pub use deployment::{Deployment, DeploymentSpec};
pub use entropy::{Entropy, EntropyError, OsEntropy};
pub use error::{FieldError, PlatformError};
pub use fields::Fields;
pub use secret::Secret;

/// Id of the chain that `chainbox dev` serves on `/`.
pub const DEFAULT_BLOCKCHAIN_ID: &str = "bc_default";

/// Chains, deployments and API keys of one process.
#[derive(Debug)]
pub struct Platform {
    entropy: Arc<dyn Entropy>,
    secret: Secret,
    default_blockchain: Arc<Blockchain>,
    blockchains: RwLock<BTreeMap<String, Arc<Blockchain>>>,
    deployments: RwLock<BTreeMap<String, Arc<Deployment>>>,
    api_keys: RwLock<Vec<ApiKey>>,
}

impl Platform {
    /// Creates a platform with one chain. `secret` keys the hashes of its API keys; ids and keys come from [`OsEntropy`].
    pub fn new(secret: Secret, default_blockchain: Blockchain) -> Self {
        let default_blockchain = Arc::new(default_blockchain);
        let blockchains = BTreeMap::from([(default_blockchain.id().to_owned(), default_blockchain.clone())]);
        Self {
            entropy: Arc::new(OsEntropy),
            secret,
            default_blockchain,
            blockchains: RwLock::new(blockchains),
            deployments: RwLock::default(),
            api_keys: RwLock::default(),
        }
    }

    /// Takes ids and API keys from another generator, for tests.
    #[must_use]
    pub fn with_entropy(mut self, entropy: Arc<dyn Entropy>) -> Self {
        self.entropy = entropy;
        self
    }

    /// The chain served on `/`.
    pub fn default_blockchain(&self) -> &Arc<Blockchain> {
        &self.default_blockchain
    }

    /// Returns the chain with this id.
    pub fn blockchain(&self, id: &str) -> Option<Arc<Blockchain>> {
        self.blockchains.read().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }

    /// Returns the chain with this id, or an error.
    ///
    /// # Errors
    /// [`PlatformError::NotFound`].
    pub fn require_blockchain(&self, id: &str) -> Result<Arc<Blockchain>, PlatformError> {
        self.blockchain(id).ok_or_else(|| PlatformError::not_found("blockchain", id))
    }

    /// Returns all chains by time of creation, then by id.
    pub fn list_blockchains(&self) -> Vec<Arc<Blockchain>> {
        let mut chains: Vec<_> =
            self.blockchains.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        chains.sort_by(|a, b| (a.created_at_ms(), a.id()).cmp(&(b.created_at_ms(), b.id())));
        chains
    }

    /// Creates a chain in this process and starts it.
    ///
    /// # Errors
    /// [`PlatformError::Conflict`] for a chain id that another chain has, [`PlatformError::Validation`] for a number of
    /// validators that the protocol cannot have, [`PlatformError::Internal`] when the chain does not start,
    /// [`PlatformError::Entropy`].
    pub fn create_blockchain(&self, spec: BlockchainSpec, now_ms: u64) -> Result<Arc<Blockchain>, PlatformError> {
        let mut blockchains = self.blockchains.write().unwrap_or_else(PoisonError::into_inner);
        let taken = |chain_id: u64| blockchains.values().find(|chain| chain.chain_id() == chain_id);
        let chain_id = match spec.chain_id {
            Some(chain_id) => {
                if let Some(other) = taken(chain_id) {
                    return Err(PlatformError::Conflict {
                        message: format!("chain id {chain_id} belongs to blockchain {}", other.id()),
                    });
                }
                chain_id
            }
            None => (self.default_blockchain.chain_id().saturating_add(1)..=u64::MAX)
                .find(|chain_id| taken(*chain_id).is_none())
                .unwrap_or(u64::MAX),
        };
        let id = entropy::random_id(&*self.entropy, "bc")?;
        let wallet = self.default_blockchain.node();
        let chain = Arc::new(Blockchain::create(id.clone(), spec, chain_id, wallet, now_ms)?);
        blockchains.insert(id, chain.clone());
        Ok(chain)
    }

    /// Reads the body of a request to deploy, whose parameters are those of the template's constructor by name, for any template
    /// of the chain.
    ///
    /// # Errors
    /// [`PlatformError::Validation`] with every invalid field.
    pub fn read_deployment(&self, body: serde_json::Value) -> Result<DeploymentSpec, PlatformError> {
        DeploymentSpec::read(body, |id| self.blockchain(id).unwrap_or_else(|| self.default_blockchain.clone()))
    }

    /// Deploys a contract from a template and keeps the record.
    ///
    /// # Errors
    /// [`PlatformError`]: an unknown chain, an account that is not unlocked, too little balance, a reverting constructor,
    /// a failing [`Entropy`].
    pub fn deploy(&self, spec: DeploymentSpec, now_ms: u64) -> Result<Arc<Deployment>, PlatformError> {
        let chain = self.require_blockchain(&spec.blockchain_id)?;
        // Before the transaction is sent: a deployment without an id would be lost.
        let id = entropy::random_id(&*self.entropy, "dep")?;
        let deployment = Arc::new(Deployment::run(id, spec, &chain, now_ms)?);
        let mut deployments = self.deployments.write().unwrap_or_else(PoisonError::into_inner);
        deployments.insert(deployment.id().to_owned(), deployment.clone());
        Ok(deployment)
    }

    /// Returns the deployment with this id.
    ///
    /// # Errors
    /// [`PlatformError::NotFound`].
    pub fn require_deployment(&self, id: &str) -> Result<Arc<Deployment>, PlatformError> {
        let deployments = self.deployments.read().unwrap_or_else(PoisonError::into_inner);
        deployments.get(id).cloned().ok_or_else(|| PlatformError::not_found("deployment", id))
    }

    /// Creates an API key and returns its value, which can't be read again: only a keyed hash is kept.
    ///
    /// # Errors
    /// [`PlatformError::Entropy`] when no random bytes are to be had; no key is then kept.
    pub fn create_api_key(&self, name: &str, scopes: &[Scope]) -> Result<String, PlatformError> {
        let (value, key) = ApiKey::generate(&*self.entropy, &self.secret, name, scopes)?;
        self.api_keys.write().unwrap_or_else(PoisonError::into_inner).push(key);
        Ok(value)
    }

    /// Returns the caller with this API key; `None` for an unknown key. Every kept key is compared, in constant time.
    pub fn authenticate(&self, value: &str) -> Option<Caller> {
        let keys = self.api_keys.read().unwrap_or_else(PoisonError::into_inner);
        api_key::find(&self.secret, &keys, value)
    }
}

#[cfg(test)]
mod tests {
    use alloy_json_abi::JsonAbi;
    use serde_json::json;

    use super::{
        entropy::testing::{CountingEntropy, FailingEntropy},
        *,
    };
    use crate::{
        node::{BlockRef, Node},
        vm::{ParameterNote, Template, TemplateId, contract::*, storage::Place},
    };

    fn platform() -> Platform {
        let spec = BlockchainSpec::read(json!({ "name": "test" })).unwrap();
        let chain = Blockchain::running(DEFAULT_BLOCKCHAIN_ID.to_owned(), spec, Node::new(), 0);
        Platform::new(Secret::new([7; 32]), chain)
    }

    fn named(name: &str) -> BlockchainSpec {
        BlockchainSpec::read(json!({ "name": name })).unwrap()
    }

    fn token(platform: &Platform) -> DeploymentSpec {
        let body = json!({ "blockchainId": DEFAULT_BLOCKCHAIN_ID, "template": "erc20-token", "params": { "name": "Gold", "symbol": "GLD" } });
        platform.read_deployment(body).unwrap()
    }

    alloy_sol_types::sol! {
        #[sol(abi)]
        contract Greeter {
            constructor(string greeting, address author, uint8[] marks);
        }
    }

    /// A user's template.
    #[derive(Debug)]
    struct GreeterTemplate;

    impl Template for GreeterTemplate {
        fn id(&self) -> TemplateId {
            TemplateId::new(0x8123, 1)
        }

        fn name(&self) -> &str {
            "greeter"
        }

        fn abi(&self) -> JsonAbi {
            Greeter::abi::contract()
        }

        fn parameters(&self) -> Vec<ParameterNote> {
            vec![ParameterNote::of("author", "Who greets.").with_default_deployer()]
        }

        fn construct(&self, host: &mut Host<'_>, params: &[u8]) -> Result<(), Stop> {
            let call: Greeter::constructorCall = host.decode_constructor(params)?;
            Slot::new(Place::FIRST).set(host, call.author)?;
            Slot::new(Place::FIRST.after(1)).set(host, call.greeting)
        }

        fn call(&self, _: &mut Host<'_>, _: &[u8]) -> Result<Bytes, Stop> {
            Ok(Bytes::new())
        }
    }

    #[test]
    fn a_users_template_is_deployed_by_its_name_and_its_parameters_names() {
        let node = Node::builder().with_template(Arc::new(GreeterTemplate)).build().unwrap();
        let spec = BlockchainSpec::read(json!({ "name": "test" })).unwrap();
        let chain = Blockchain::running(DEFAULT_BLOCKCHAIN_ID.to_owned(), spec, node, 0);
        let platform = Platform::new(Secret::new([7; 32]), chain);
        let body = |params| json!({ "blockchainId": DEFAULT_BLOCKCHAIN_ID, "template": "greeter", "params": params });
        let spec = platform.read_deployment(body(json!({ "greeting": "hello", "marks": [1, 2] }))).unwrap();
        let deployment = platform.deploy(spec, 1).unwrap();
        let chain = platform.default_blockchain();
        let contract = deployment.contract_address(chain).unwrap();
        let stored = chain.node().view().storage(contract, U256::ZERO, BlockRef::Latest).unwrap();
        assert_eq!(Address::from_word(stored.into()), deployment.from());
        let Err(PlatformError::Validation { fields }) =
            platform.read_deployment(body(json!({ "marks": [256], "x": 1 })))
        else {
            panic!("must be refused")
        };
        let paths: Vec<&str> = fields.iter().map(|field| field.path.as_str()).collect();
        assert_eq!(paths, ["params.greeting", "params.marks[0]", "params.x"]);
        let nothing = json!({ "blockchainId": DEFAULT_BLOCKCHAIN_ID, "template": "no-template" });
        let Err(PlatformError::Validation { fields }) = platform.read_deployment(nothing) else {
            panic!("must be refused")
        };
        let known: Vec<_> = crate::templates::builtin().iter().map(|template| template.name()).collect();
        assert_eq!(fields[0].expected, format!("one of {}, greeter", known.join(", ")));
    }

    #[test]
    fn platforms_with_one_secret_draw_different_ids_and_keys() {
        let (first, second) = (platform(), platform());
        let key_of = |platform: &Platform| platform.create_api_key("ci", &[Scope::Admin]).unwrap();
        let (first_key, second_key) = (key_of(&first), key_of(&second));
        assert_ne!(first_key, second_key);
        let id_of = |platform: &Platform| platform.create_blockchain(named("x"), 1).unwrap().id().to_owned();
        assert_ne!(id_of(&first), id_of(&second));
        let deployment_of = |platform: &Platform| platform.deploy(token(platform), 1).unwrap().id().to_owned();
        assert_ne!(deployment_of(&first), deployment_of(&second));
        assert_eq!(first.authenticate(&first_key).map(|caller| caller.name().to_owned()), Some("ci".to_owned()));
        assert_eq!(second.authenticate(&first_key), None);
        assert!(!format!("{first:?}").contains(&first_key[4..]));
    }

    #[test]
    fn ids_and_keys_come_from_the_injected_generator() {
        let platform = platform().with_entropy(Arc::new(CountingEntropy::starting_at(1)));
        assert_eq!(platform.create_blockchain(named("x"), 1).unwrap().id(), "bc_0101010101010101");
        assert_eq!(platform.deploy(token(&platform), 1).unwrap().id(), "dep_0202020202020202");
        assert!(platform.create_api_key("ci", &[]).unwrap().starts_with("cbx_030303"));
    }

    #[test]
    fn a_failing_generator_is_a_typed_error_and_changes_nothing() {
        let platform = platform().with_entropy(Arc::new(FailingEntropy));
        let failed = PlatformError::Entropy(EntropyError::new("no device"));
        assert_eq!(platform.create_api_key("ci", &[Scope::Admin]), Err(failed.clone()));
        assert_eq!(platform.create_blockchain(named("x"), 1).map(drop), Err(failed.clone()));
        assert_eq!(platform.deploy(token(&platform), 1).map(drop), Err(failed.clone()));
        assert_eq!(failed.code(), "INTERNAL_ERROR");
        assert_eq!(platform.list_blockchains().len(), 1);
        assert_eq!(platform.default_blockchain().node().view().head().height().get(), 0);
    }
}
