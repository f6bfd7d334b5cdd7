//! Options of a chain that a network and a development node share, with one definition of their setters.

use core::fmt;
use std::sync::Arc;

use crate::{
    chain::{BaseFee, ChainBuilder, CommitHook, GenesisSpec, Hardfork, PoolConfig, Retention},
    consensus::ConsensusConfig,
    primitives::{Address, Gas, KeyPair, Timestamp, U256},
    system::staking::StakingParams,
    templates,
    vm::{RegistryError, Template},
};

/// The chain of a [`Network`](crate::sim::Network) or of a node: genesis, protocol, validators, contract templates, retention.
///
/// Both builders have the same setters; this type carries one set of options from one builder to another.
///
/// ```
/// use chainbox::{consensus::ConsensusKind, node::Node, sim::{ChainOptions, Network, Production}};
/// let options = ChainOptions::new().with_chain_id(7).with_validators(4).with_consensus(ConsensusKind::Pbft.on_demand());
/// let node = Node::builder().with_chain_options(options.clone()).build()?;
/// assert_eq!((node.view().chain_id(), node.validators()?.len()), (7, 4));
/// let network = Network::builder().with_chain_options(options).with_production(Production::OnDemand).build()?;
/// assert_eq!(network.genesis_validators().members().len(), 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
#[must_use]
pub struct ChainOptions {
    pub(crate) genesis: Option<GenesisSpec>,
    pub(crate) chain_id: Option<u64>,
    pub(crate) timestamp: Option<Timestamp>,
    pub(crate) gas_limit: Option<Gas>,
    pub(crate) base_fee: Option<BaseFee>,
    pub(crate) hardfork: Option<Hardfork>,
    pub(crate) transaction_gas_cap: Option<bool>,
    pub(crate) balances: Vec<(Address, U256)>,
    pub(crate) consensus: Option<ConsensusConfig>,
    pub(crate) validators: ValidatorKeys,
    pub(crate) candidates: u32,
    pub(crate) candidate_keys: Vec<KeyPair>,
    pub(crate) stakes: Option<Vec<U256>>,
    pub(crate) staking: Option<StakingParams>,
    pub(crate) seed: u64,
    pub(crate) templates: Vec<Arc<dyn Template>>,
    pub(crate) hooks: Vec<Arc<dyn CommitHook>>,
    pub(crate) retention: Option<Retention>,
    pub(crate) pool: Option<PoolConfig>,
    pub(crate) paranoid: bool,
}

/// The keys of the validators of genesis.
#[derive(Clone, Debug)]
pub(crate) enum ValidatorKeys {
    /// So many keys, drawn from the seed.
    FromSeed(u32),
    /// Given keys, in the order of the replicas.
    Given(Vec<KeyPair>),
}

/// Why the options of a chain contradict each other or its genesis.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChainOptionsError {
    /// The genesis field `consensus` is malformed.
    #[error("genesis field `consensus`: {reason}")]
    GenesisConsensus {
        /// The part at fault, with what was expected.
        reason: String,
    },
    /// The genesis lists validators whose keys the options do not give.
    #[error(
        "genesis lists the validators {}, and the keys at hand are those of {}: list these, or leave out `validators`, or give the keys \
         or the number and the seed that they are drawn from",
        listed(genesis),
        listed(keys)
    )]
    OtherValidators {
        /// Validators of the genesis, in its order.
        genesis: Vec<Address>,
        /// Addresses of the keys, in the order of the replicas.
        keys: Vec<Address>,
    },
    /// Another number of stakes than of validators.
    #[error("{stakes} stakes are given for {validators} validators; give one for each")]
    StakeCount {
        /// Number of stakes.
        stakes: usize,
        /// Number of validators.
        validators: usize,
    },
    /// The genesis and the options give a validator different stakes.
    #[error("genesis gives {address} a stake of {genesis}, the options {given}; give it in one place")]
    StakeTwice {
        /// The validator.
        address: Address,
        /// Stake in genesis, in the smallest unit.
        genesis: U256,
        /// Stake in the options, in the smallest unit.
        given: U256,
    },
    /// The protocol does not support stake.
    #[error(
        "{protocol} does not support stake: leave out the stakes and genesis field `staking`, or choose a protocol with stake"
    )]
    NoStake {
        /// Name of the protocol.
        protocol: &'static str,
    },
    /// Two contract templates have the same identity.
    #[error(transparent)]
    Template(#[from] RegistryError),
    /// Blocks on demand with a period between blocks: the protocol's timers never stop, and the driver chooses the timestamps.
    #[error(
        "blocks on demand need a period of 0 seconds, {protocol} has {period_secs}: set the consensus parameter `period` to 0, or \
         run a network that makes blocks automatically"
    )]
    OnDemandPeriod {
        /// Name of the protocol.
        protocol: &'static str,
        /// Its minimum time between blocks, in seconds.
        period_secs: u64,
    },
}

/// Addresses that an error lists; it counts the others.
const LISTED_MAX: usize = 4;

/// Returns the first addresses of a list, and the number of the others.
fn listed(addresses: &[Address]) -> String {
    let shown: Vec<String> = addresses.iter().take(LISTED_MAX).map(Address::to_string).collect();
    match addresses.len().saturating_sub(LISTED_MAX) {
        0 if shown.is_empty() => "(none)".to_owned(),
        0 => shown.join(", "),
        others => format!("{} and {others} others", shown.join(", ")),
    }
}

/// Defines the setters of [`ChainOptions`] for it, or for a builder that holds one in its field `$options`.
macro_rules! chain_option_setters {
    ($($options:ident)?) => {
        /// Sets the whole genesis specification. Chain id, timestamp, gas limit, base fee, fork and balances are then its own. Its
        /// validators, if it lists any, must be those of the other options.
        pub fn with_genesis(mut self, genesis: $crate::chain::GenesisSpec) -> Self {
            self$(.$options)?.genesis = Some(genesis);
            self
        }

        /// Sets the chain id (EIP-155).
        pub fn with_chain_id(mut self, chain_id: u64) -> Self {
            self$(.$options)?.chain_id = Some(chain_id);
            self
        }

        /// Sets the genesis block's timestamp.
        pub fn with_timestamp(mut self, timestamp: $crate::primitives::Timestamp) -> Self {
            self$(.$options)?.timestamp = Some(timestamp);
            self
        }

        /// Sets the block gas limit.
        pub fn with_gas_limit(mut self, gas_limit: $crate::primitives::Gas) -> Self {
            self$(.$options)?.gas_limit = Some(gas_limit);
            self
        }

        /// Sets the first block's base fee, in the smallest unit per unit of gas; `None` turns EIP-1559's market off.
        pub fn with_base_fee(mut self, initial: Option<u64>) -> Self {
            use $crate::chain::{BaseFee, BaseFeeParams};
            let dynamic = |initial| BaseFee::Dynamic(BaseFeeParams { initial, ..BaseFeeParams::default() });
            self$(.$options)?.base_fee = Some(initial.map_or(BaseFee::Off, dynamic));
            self
        }

        /// Sets the fork whose rules hold from genesis on; Osaka by default.
        pub fn with_hardfork(mut self, hardfork: $crate::chain::Hardfork) -> Self {
            self$(.$options)?.hardfork = Some(hardfork);
            self
        }

        /// Sets whether the fork's bound of a transaction's gas limit holds (EIP-7825, 2^24 from Osaka on); it does by default.
        pub fn with_transaction_gas_cap(mut self, is_on: bool) -> Self {
            self$(.$options)?.transaction_gas_cap = Some(is_on);
            self
        }

        /// Adds an account to genesis with this balance, in the smallest unit.
        pub fn with_funded_account(
            mut self,
            address: $crate::primitives::Address,
            balance: $crate::primitives::U256,
        ) -> Self {
            self$(.$options)?.balances.push((address, balance));
            self
        }

        /// Sets the protocol and its parameters; by default those that genesis names, else proof of authority.
        pub fn with_consensus(mut self, consensus: $crate::consensus::ConsensusConfig) -> Self {
            self$(.$options)?.consensus = Some(consensus);
            self
        }

        /// Sets the number of validators, each with a key drawn from the seed; 1 by default.
        pub fn with_validators(mut self, count: u32) -> Self {
            self$(.$options)?.validators = $crate::sim::ValidatorKeys::FromSeed(count);
            self
        }

        /// Sets one validator for each key; replica numbers follow the order of the keys.
        pub fn with_validator_keys(mut self, keys: impl IntoIterator<Item = $crate::primitives::KeyPair>) -> Self {
            self$(.$options)?.validators = $crate::sim::ValidatorKeys::Given(keys.into_iter().collect());
            self
        }

        /// Sets the number of candidates: replicas after the validators, with keys of their own, that are no validators at genesis
        /// and may become some; 0 by default.
        pub fn with_candidates(mut self, count: u32) -> Self {
            self$(.$options)?.candidates = count;
            self
        }

        /// Sets one candidate for each key, with keys of one's own; see `with_candidates`.
        pub fn with_candidate_keys(mut self, keys: impl IntoIterator<Item = $crate::primitives::KeyPair>) -> Self {
            let options = &mut self$(.$options)?;
            options.candidate_keys = keys.into_iter().collect();
            options.candidates = u32::try_from(options.candidate_keys.len()).unwrap_or(u32::MAX);
            self
        }

        /// Sets the validators' stakes in genesis, in the smallest unit and the order of their keys; by default 32 tokens each,
        /// where the protocol has stake. A protocol with optional stake runs with it then.
        pub fn with_stakes(mut self, stakes: impl IntoIterator<Item = $crate::primitives::U256>) -> Self {
            self$(.$options)?.stakes = Some(stakes.into_iter().collect());
            self
        }

        /// Sets the staking contract's parameters, in place of the default ones or those of genesis.
        pub fn with_staking(mut self, params: $crate::system::staking::StakingParams) -> Self {
            self$(.$options)?.staking = Some(params);
            self
        }

        /// Sets the seed of the validators' keys and of all random draws; 0 by default.
        pub fn with_seed(mut self, seed: u64) -> Self {
            self$(.$options)?.seed = seed;
            self
        }

        /// Adds a contract template to the built-in ones.
        pub fn with_template(mut self, template: std::sync::Arc<dyn $crate::vm::Template>) -> Self {
            self$(.$options)?.templates.push(template);
            self
        }

        /// Adds a hook that writes into the batch of every block.
        pub fn with_hook(mut self, hook: std::sync::Arc<dyn $crate::chain::CommitHook>) -> Self {
            self$(.$options)?.hooks.push(hook);
            self
        }

        /// Sets how many blocks and states are kept; by default a bounded number in memory and all in a database.
        pub fn with_retention(mut self, retention: $crate::chain::Retention) -> Self {
            self$(.$options)?.retention = Some(retention);
            self
        }

        /// Sets the bounds and rules of every replica's pool.
        pub fn with_pool(mut self, pool: $crate::chain::PoolConfig) -> Self {
            self$(.$options)?.pool = Some(pool);
            self
        }

        /// Sets whether every replica executes every block itself and the results are compared; off by default.
        pub fn with_paranoid(mut self, is_on: bool) -> Self {
            self$(.$options)?.paranoid = is_on;
            self
        }
    };
}
pub(crate) use chain_option_setters;

impl Default for ChainOptions {
    fn default() -> Self {
        Self {
            genesis: None,
            chain_id: None,
            timestamp: None,
            gas_limit: None,
            base_fee: None,
            hardfork: None,
            transaction_gas_cap: None,
            balances: Vec::new(),
            consensus: None,
            validators: ValidatorKeys::FromSeed(1),
            candidates: 0,
            candidate_keys: Vec::new(),
            stakes: None,
            staking: None,
            seed: 0,
            templates: Vec::new(),
            hooks: Vec::new(),
            retention: None,
            pool: None,
            paranoid: false,
        }
    }
}

/// Options.
impl ChainOptions {
    /// The defaults: one validator, seed 0, and the protocol and genesis of the builder that takes the options.
    pub fn new() -> Self {
        Self::default()
    }

    chain_option_setters!();
}

impl ChainOptions {
    /// The genesis specification: the given one, else `default` with the options that are set.
    pub(crate) fn take_genesis(&mut self, default: GenesisSpec) -> GenesisSpec {
        if let Some(genesis) = self.genesis.take() {
            return genesis;
        }
        let mut genesis = default;
        genesis.chain_id = self.chain_id.unwrap_or(genesis.chain_id);
        genesis.timestamp = self.timestamp.unwrap_or(genesis.timestamp);
        genesis.gas_limit = self.gas_limit.unwrap_or(genesis.gas_limit);
        genesis.base_fee = self.base_fee.unwrap_or(genesis.base_fee);
        genesis.forks = self.hardfork.map_or(genesis.forks, Into::into);
        genesis.transaction_gas_cap = self.transaction_gas_cap.unwrap_or(genesis.transaction_gas_cap);
        for (address, balance) in &self.balances {
            genesis.fund(*address, *balance);
        }
        genesis
    }

    /// Hands the templates, hooks and retention to the chain.
    pub(super) fn apply_to(&mut self, chain: ChainBuilder) -> Result<ChainBuilder, ChainOptionsError> {
        let mut chain = chain.with_paranoid(self.paranoid);
        if !self.templates.is_empty() {
            let mut registry = templates::builtin().clone();
            self.templates.drain(..).try_for_each(|template| registry.register(template))?;
            chain = chain.with_registry(Arc::new(registry));
        }
        if let Some(retention) = self.retention {
            chain = chain.with_retention(retention);
        }
        Ok(self.hooks.drain(..).fold(chain, |chain, hook| chain.with_hook(hook)))
    }

    /// Keys of the validators, then of the candidates.
    pub(super) fn keys(&self) -> (Vec<KeyPair>, Vec<KeyPair>) {
        let count = self.validators.count();
        let key = |index| self.validators.key(self.seed, index);
        let candidate = |place: u32| match self.candidate_keys.get(place as usize) {
            Some(given) => given.clone(),
            None => key(count.saturating_add(place)),
        };
        ((0..count).map(key).collect(), (0..self.candidates).map(candidate).collect())
    }

    /// Where keys of validators and candidates are found by number, once the network is built.
    pub(super) fn numbered_keys(&self) -> ValidatorKeys {
        if self.candidate_keys.is_empty() {
            return self.validators.clone();
        }
        let (validators, candidates) = self.keys();
        ValidatorKeys::Given([validators, candidates].concat())
    }
}

impl ValidatorKeys {
    /// The key of validator `index`; indices after the last validator are the candidates'.
    pub(crate) fn key(&self, seed: u64, index: u32) -> KeyPair {
        let given = match self {
            Self::FromSeed(_) => None,
            Self::Given(keys) => keys.get(index as usize),
        };
        given.cloned().unwrap_or_else(|| KeyPair::from_seed(seed, &format!("validator {index}")))
    }

    fn count(&self) -> u32 {
        match self {
            Self::FromSeed(count) => *count,
            Self::Given(keys) => u32::try_from(keys.len()).unwrap_or(u32::MAX),
        }
    }
}

impl fmt::Debug for ChainOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChainOptions")
            .field("chain_id", &self.chain_id)
            .field("consensus", &self.consensus)
            .field("validators", &self.validators.count())
            .field("candidates", &self.candidates)
            .field("seed", &self.seed)
            .field("paranoid", &self.paranoid)
            .finish_non_exhaustive()
    }
}
