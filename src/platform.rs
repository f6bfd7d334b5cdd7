//! The service's resources and rules, without HTTP: blockchains, contract deployments, API keys.
//!
//! A [`Platform`] is a process: several chains, one registry of keys. Every operation is a plain call that
//! takes a decoded body and answers a resource or a [`PlatformError`]; the `server` floor translates.
//! Neither clock nor randomness is read here: times come as arguments, identifiers and keys are drawn from
//! the secret that the platform is made with.

mod amount;
mod api_key;
mod blockchain;
mod deployment;
mod error;
mod fields;
mod secret;

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
};

pub use amount::{parse_amount, parse_duration_secs};
pub use api_key::{ApiKey, Caller, Scope};
pub use blockchain::{Blockchain, BlockchainSpec, NativeToken, ValidatorSpec};
pub use deployment::{ContractTemplate, Deployment, DeploymentSpec};
pub use error::{FieldError, PlatformError};
pub use fields::Fields;
pub use secret::Secret;

/// The id of the chain that `chainbox dev` serves on `/`.
pub const DEFAULT_BLOCKCHAIN_ID: &str = "bc_default";

/// Chains, deployments and keys of one process.
#[derive(Debug)]
pub struct Platform {
    secret: Secret,
    default_blockchain: Arc<Blockchain>,
    blockchains: RwLock<BTreeMap<String, Arc<Blockchain>>>,
    deployments: RwLock<BTreeMap<String, Arc<Deployment>>>,
    api_keys: RwLock<Vec<ApiKey>>,
}

impl Platform {
    /// A platform whose default chain is `default_blockchain`.
    pub fn new(secret: Secret, default_blockchain: Blockchain) -> Self {
        let default_blockchain = Arc::new(default_blockchain);
        let blockchains = BTreeMap::from([(default_blockchain.id().to_owned(), default_blockchain.clone())]);
        Self {
            secret,
            default_blockchain,
            blockchains: RwLock::new(blockchains),
            deployments: RwLock::default(),
            api_keys: RwLock::default(),
        }
    }

    /// The chain served on `/`.
    pub fn default_blockchain(&self) -> &Arc<Blockchain> {
        &self.default_blockchain
    }

    /// The chain with this id.
    pub fn blockchain(&self, id: &str) -> Option<Arc<Blockchain>> {
        self.blockchains.read().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }

    /// The chain with this id, or why there is none.
    ///
    /// # Errors
    /// [`PlatformError::NotFound`].
    pub fn require_blockchain(&self, id: &str) -> Result<Arc<Blockchain>, PlatformError> {
        self.blockchain(id).ok_or_else(|| PlatformError::not_found("blockchain", id))
    }

    /// All chains, oldest first; chains of one moment by id.
    pub fn list_blockchains(&self) -> Vec<Arc<Blockchain>> {
        let mut chains: Vec<_> =
            self.blockchains.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect();
        chains.sort_by(|a, b| (a.created_at_ms(), a.id()).cmp(&(b.created_at_ms(), b.id())));
        chains
    }

    /// Creates a chain in this process and starts it.
    ///
    /// # Errors
    /// [`PlatformError::Conflict`] for a chain id that a chain here has, [`PlatformError::Validation`] for a consensus
    /// that cannot be run yet, [`PlatformError::Internal`] when the chain does not start.
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
        let id = self.secret.id("bc");
        let wallet = self.default_blockchain.node();
        let chain = Arc::new(Blockchain::create(id.clone(), spec, chain_id, wallet, now_ms)?);
        blockchains.insert(id, chain.clone());
        Ok(chain)
    }

    /// Deploys a contract from a template and keeps the record.
    ///
    /// # Errors
    /// [`PlatformError`]: an unknown chain, an account that is not unlocked, too little balance, a reverting constructor.
    pub fn deploy(&self, spec: DeploymentSpec, now_ms: u64) -> Result<Arc<Deployment>, PlatformError> {
        let chain = self.require_blockchain(&spec.blockchain_id)?;
        let deployment = Arc::new(Deployment::run(self.secret.id("dep"), spec, &chain, now_ms)?);
        let mut deployments = self.deployments.write().unwrap_or_else(PoisonError::into_inner);
        deployments.insert(deployment.id().to_owned(), deployment.clone());
        Ok(deployment)
    }

    /// The deployment with this id.
    ///
    /// # Errors
    /// [`PlatformError::NotFound`].
    pub fn require_deployment(&self, id: &str) -> Result<Arc<Deployment>, PlatformError> {
        let deployments = self.deployments.read().unwrap_or_else(PoisonError::into_inner);
        deployments.get(id).cloned().ok_or_else(|| PlatformError::not_found("deployment", id))
    }

    /// Makes an API key and answers its value, which is shown this once; only a keyed hash is kept.
    pub fn create_api_key(&self, name: &str, scopes: &[Scope]) -> String {
        let (value, key) = ApiKey::draw(&self.secret, name, scopes);
        self.api_keys.write().unwrap_or_else(PoisonError::into_inner).push(key);
        value
    }

    /// Who sends this key; `None` for a key that is not ours. Every kept key is compared, in constant time.
    pub fn authenticate(&self, value: &str) -> Option<Caller> {
        let keys = self.api_keys.read().unwrap_or_else(PoisonError::into_inner);
        api_key::find(&self.secret, &keys, value)
    }
}
