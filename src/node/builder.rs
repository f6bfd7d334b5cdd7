//! Describing a node.

use core::fmt;
use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;

use super::{
    Clock, Dump, ManualClock, Mining, Node, NodeError,
    subscription::Listeners,
    writer::{Shared, Writer},
};
use crate::{
    chain::{BaseFee, BaseFeeParams, ChainError, CommitHook, GenesisSpec, Retention},
    consensus::{ConsensusConfig, SealScheme, poa::PoaConfig},
    primitives::{DEFAULT_MNEMONIC, KeyPair, SenderRecovery, Timestamp, U256, Wallet, ether},
    sim::{Network, Production},
    state::{MemoryState, PagedState, StateStore},
    store::{KeyValue, MemoryStore},
    system::staking::StakingParams,
    templates,
    vm::{Template, TemplateRegistry},
};

/// The time of a development chain's genesis unless it is given: 2025-01-01T00:00:00Z, so that the same options give the same bytes.
const GENESIS_TIME: u64 = 1_735_689_600;

/// Most accounts that a node derives and funds.
const ACCOUNTS_MAX: u32 = 100_000;

/// Where a node keeps its chain.
#[derive(Clone, Debug, Default)]
pub enum Database {
    /// In memory; gone with the node.
    #[default]
    Memory,
    /// In an ordered key-value store, such as RocksDB; a node opened on it again goes on where it stood.
    Store(Arc<dyn KeyValue>),
}

/// Collects the options of a [`Node`]. Every one has a default; [`NodeBuilder::build`] checks them together.
///
/// ```
/// use chainbox::{node::{Mining, Node}, primitives::ether};
/// let node = Node::builder().with_chain_id(7).with_accounts(2).with_balance(ether(5)).with_mining(Mining::Manual).build()?;
/// assert_eq!(node.view().chain_id(), 7);
/// # Ok::<(), chainbox::node::NodeError>(())
/// ```
#[must_use = "nothing is built until `build` is called"]
pub struct NodeBuilder {
    genesis: Option<GenesisSpec>,
    chain_id: u64,
    timestamp: Timestamp,
    accounts: u32,
    balance: U256,
    mnemonic: String,
    validators: u32,
    stakes: Option<Vec<U256>>,
    staking: Option<StakingParams>,
    candidates: u32,
    consensus: Option<ConsensusConfig>,
    seed: u64,
    gas_limit: u64,
    base_fee: BaseFee,
    mining: Mining,
    clock: Option<Arc<dyn Clock>>,
    database: Database,
    registry: TemplateRegistry,
    templates: Vec<Arc<dyn Template>>,
    hooks: Vec<Arc<dyn CommitHook>>,
    retention: Option<Retention>,
    paranoid: bool,
    dump: Option<Dump>,
}

impl NodeBuilder {
    pub(super) fn new() -> Self {
        let defaults = GenesisSpec::new(31_337);
        Self {
            genesis: None,
            chain_id: defaults.chain_id,
            timestamp: Timestamp::from_secs(GENESIS_TIME),
            accounts: 10,
            balance: ether(10_000),
            mnemonic: DEFAULT_MNEMONIC.to_owned(),
            validators: 1,
            stakes: None,
            staking: None,
            candidates: 0,
            consensus: None,
            seed: 0,
            gas_limit: defaults.gas_limit.get(),
            base_fee: defaults.base_fee,
            mining: Mining::default(),
            clock: None,
            database: Database::default(),
            registry: templates::builtin().clone(),
            templates: Vec::new(),
            hooks: Vec::new(),
            retention: None,
            paranoid: false,
            dump: None,
        }
    }

    /// A whole genesis specification. Chain id, time, gas limit and base fee are then its own; the node's accounts are still
    /// derived, and not funded.
    pub fn with_genesis(mut self, genesis: GenesisSpec) -> Self {
        self.genesis = Some(genesis);
        self
    }

    /// The chain's id (EIP-155); 31337 by default.
    pub const fn with_chain_id(mut self, chain_id: u64) -> Self {
        self.chain_id = chain_id;
        self
    }

    /// The genesis block's time.
    pub const fn with_timestamp(mut self, timestamp: Timestamp) -> Self {
        self.timestamp = timestamp;
        self
    }

    /// How many accounts the node derives, holds the keys of and funds; 10 by default.
    pub const fn with_accounts(mut self, count: u32) -> Self {
        self.accounts = count;
        self
    }

    /// What each of them holds at genesis, in the smallest unit; 10,000 tokens by default.
    pub const fn with_balance(mut self, balance: U256) -> Self {
        self.balance = balance;
        self
    }

    /// The phrase that accounts come from.
    pub fn with_mnemonic(mut self, phrase: impl Into<String>) -> Self {
        self.mnemonic = phrase.into();
        self
    }

    /// How many validators the chain has; 1 by default.
    pub const fn with_validators(mut self, count: u32) -> Self {
        self.validators = count;
        self
    }

    /// The validators' stakes in genesis, in the smallest unit; 32 tokens each without it, where the protocol has stake.
    pub fn with_stakes(mut self, stakes: impl IntoIterator<Item = U256>) -> Self {
        self.stakes = Some(stakes.into_iter().collect());
        self
    }

    /// The staking contract's parameters, on a chain with stake.
    pub const fn with_staking(mut self, params: StakingParams) -> Self {
        self.staking = Some(params);
        self
    }

    /// So many replicas more, with keys of their own (see [`Node::validator_key`]), that are no validators and may become some.
    pub const fn with_candidates(mut self, count: u32) -> Self {
        self.candidates = count;
        self
    }

    /// The protocol and its parameters; by default what genesis says, else proof of authority without a period. Blocks are
    /// made on demand whatever the period, by [`Mining`]'s rules.
    pub fn with_consensus(mut self, consensus: ConsensusConfig) -> Self {
        self.consensus = Some(consensus);
        self
    }

    /// Where validators' keys and all randomness come from.
    pub const fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The block gas limit.
    pub const fn with_gas_limit(mut self, gas_limit: u64) -> Self {
        self.gas_limit = gas_limit;
        self
    }

    /// The first block's base fee, in the smallest unit a unit of gas; `None` turns EIP-1559's market off.
    pub fn with_base_fee(mut self, initial: Option<u64>) -> Self {
        self.base_fee = initial
            .map_or(BaseFee::Off, |initial| BaseFee::Dynamic(BaseFeeParams { initial, ..BaseFeeParams::default() }));
        self
    }

    /// When blocks are made; after each transaction by default.
    pub const fn with_mining(mut self, mining: Mining) -> Self {
        self.mining = mining;
        self
    }

    /// Where block times come from; by default a clock that stands at genesis.
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Where the chain is kept; in memory by default.
    pub fn with_database(mut self, database: Database) -> Self {
        self.database = database;
        self
    }

    /// One more contract template beside the ready-made ones.
    pub fn with_template(mut self, template: Arc<dyn Template>) -> Self {
        self.templates.push(template);
        self
    }

    /// A hook that writes into the batch of every block.
    pub fn with_hook(mut self, hook: Arc<dyn CommitHook>) -> Self {
        self.hooks.push(hook);
        self
    }

    /// How much of the past is kept; by default a bounded part in memory and everything in a database.
    pub const fn with_retention(mut self, retention: Retention) -> Self {
        self.retention = Some(retention);
        self
    }

    /// Whether every validator executes every block alone and the results are compared.
    pub const fn with_paranoid(mut self, paranoid: bool) -> Self {
        self.paranoid = paranoid;
        self
    }

    /// Starts from a dump of another node of the same chain.
    pub fn with_dump(mut self, dump: Dump) -> Self {
        self.dump = Some(dump);
        self
    }

    /// Builds the node, at its genesis or where its database stands.
    ///
    /// # Errors
    /// [`NodeError`]: options that contradict each other, a phrase that gives no accounts, an unusable genesis or database.
    pub fn build(mut self) -> Result<Node, NodeError> {
        if self.accounts > ACCOUNTS_MAX {
            let reason = format!("{} accounts asked for, at most {ACCOUNTS_MAX} are derived", self.accounts);
            return Err(NodeError::Options { reason });
        }
        for template in self.templates.drain(..) {
            self.registry.register(template).map_err(|error| NodeError::Options { reason: error.to_string() })?;
        }
        let wallet = Wallet::from_phrase(&self.mnemonic)?;
        let keys = wallet.keys(0, self.accounts)?;
        let genesis = self.genesis_for(&keys);
        let clock = self.clock.take().unwrap_or_else(|| Arc::new(ManualClock::new(genesis.timestamp)));
        let network = self.network(genesis)?;

        let consensus = network.config().kind();
        let registry = network.primary().chain().registry().as_ref().clone();
        let writer = Writer::new(network, self.mining);
        let view = writer.view()?;
        let node = Node {
            shared: Arc::new(Shared {
                writer: Mutex::new(writer),
                view: ArcSwap::from_pointee(view),
                listeners: Listeners::default(),
                clock,
                consensus,
                seed: self.seed,
                accounts: keys.iter().map(KeyPair::address).collect(),
                keys,
                mnemonic: wallet.phrase().to_owned(),
                registry,
                recovery: SenderRecovery::new(),
            }),
        };
        if let Some(dump) = self.dump {
            node.load(&dump)?;
        }
        Ok(node)
    }

    fn genesis_for(&mut self, keys: &[KeyPair]) -> GenesisSpec {
        if let Some(genesis) = self.genesis.take() {
            return genesis;
        }
        let mut genesis = GenesisSpec {
            timestamp: self.timestamp,
            gas_limit: crate::primitives::Gas::new(self.gas_limit),
            base_fee: self.base_fee,
            allow_interventions: true,
            name: "chainbox".to_owned(),
            ..GenesisSpec::new(self.chain_id)
        };
        for key in keys {
            genesis.fund(key.address(), self.balance);
        }
        genesis
    }

    /// The protocol, which genesis names from then on.
    fn consensus_for(&mut self, genesis: &mut GenesisSpec) -> Result<ConsensusConfig, NodeError> {
        let named = match &genesis.consensus {
            serde_json::Value::Null => None,
            section => Some(
                ConsensusConfig::deserialize_section(section)
                    .map_err(|error| NodeError::Options { reason: format!("genesis field `consensus`: {error}") })?,
            ),
        };
        let config = match (self.consensus.take(), named) {
            (Some(wanted), Some(named)) if wanted.kind() != named.kind() => {
                let (wanted, named) = (wanted.kind().name(), named.kind().name());
                let reason = format!(
                    "genesis is of a chain of {named}, {wanted} is asked for: leave it out, or take another genesis"
                );
                return Err(NodeError::Options { reason });
            }
            (None, Some(config)) | (Some(config), _) => config,
            (None, None) => ConsensusConfig::Poa(PoaConfig { period: 0, ..PoaConfig::default() }),
        };
        genesis.consensus = config.section();
        Ok(config)
    }

    fn network(&mut self, mut genesis: GenesisSpec) -> Result<Network, NodeError> {
        let consensus = self.consensus_for(&mut genesis)?;
        let (state, store): (Arc<dyn StateStore>, Arc<dyn KeyValue>) = match core::mem::take(&mut self.database) {
            Database::Memory => (Arc::new(MemoryState::new()), Arc::new(MemoryStore::new())),
            Database::Store(store) => {
                let state = PagedState::open(Arc::clone(&store)).map_err(ChainError::from)?;
                (Arc::new(state), store)
            }
        };
        let registry = Arc::new(self.registry.clone());
        let (hooks, retention) = (core::mem::take(&mut self.hooks), self.retention);
        let mut network = Network::builder();
        if let Some(stakes) = self.stakes.take() {
            network = network.with_stakes(stakes);
        }
        if let Some(params) = self.staking {
            network = network.with_staking(params);
        }
        let network = network
            .with_genesis(genesis)
            .with_consensus(consensus)
            .with_validators(self.validators)
            .with_candidates(self.candidates)
            .with_seed(self.seed)
            .with_seals(SealScheme::Secp256k1)
            .with_production(Production::OnDemand)
            .with_stores(state, store)
            .with_paranoid(self.paranoid)
            .with_digest(false)
            .with_chain(move |mut chain| {
                chain = chain.with_registry(registry);
                if let Some(retention) = retention {
                    chain = chain.with_retention(retention);
                }
                hooks.into_iter().fold(chain, |chain, hook| chain.with_hook(hook))
            })
            .build()?;
        Ok(network)
    }
}

impl fmt::Debug for NodeBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeBuilder")
            .field("chain_id", &self.chain_id)
            .field("accounts", &self.accounts)
            .field("validators", &self.validators)
            .field("seed", &self.seed)
            .field("mining", &self.mining)
            .finish_non_exhaustive()
    }
}
