//! The options of a node, and building it.

use core::{fmt, time::Duration};
use std::sync::{Arc, atomic::AtomicU64};

use arc_swap::ArcSwap;

use super::{
    BuildError, Clock, Dump, EngineError, ManualClock, Mining, Node,
    ancestors::Ancestors,
    clock::{BlockTime, TimestampRule},
    held_lock::HeldLock,
    subscription::Subscribers,
    view::Settings,
    writer::{NodeInner, Writer},
};
use crate::{
    chain::{GenesisContract, GenesisSpec, ReadError},
    consensus::{ConsensusConfig, ReplicaId, SealScheme, poa::PoaConfig},
    primitives::{DEFAULT_MNEMONIC, KeyPair, SenderRecovery, Timestamp, U256, Wallet},
    sim::{
        ChainOptions, ChainOptionsError, DEV_ACCOUNTS_MAX, Network, Production, chain_option_setters,
        dev_account_balance,
    },
    state::{MemoryState, PagedState, StateStore},
    store::{KeyValue, MemoryStore},
    templates::{BATCH_ADDRESS, Batch, MULTICALL3_ADDRESS, Multicall},
};

/// Chain id of a node without one among its options, as of other development nodes.
const DEFAULT_CHAIN_ID: u64 = 31_337;

/// Default timestamp of a node's genesis: 2025-01-01T00:00:00Z, a constant so that the same options give the same bytes.
const GENESIS_TIME: Timestamp = Timestamp::from_secs(1_735_689_600);

/// Storage of a node's chain.
#[derive(Clone, Debug, Default)]
pub enum Database {
    /// In memory, until the node is dropped.
    #[default]
    Memory,
    /// In an ordered key-value store, such as RocksDB; a node built on it again continues the stored chain.
    Store(Arc<dyn KeyValue>),
}

/// The options of a [`Node`]. Those of its chain are [`ChainOptions`]. Every option has a default; [`NodeBuilder::build`] checks
/// them together.
///
/// ```
/// use chainbox::{node::{Mining, Node}, primitives::ether};
/// let node = Node::builder().with_chain_id(7).with_accounts(2).with_balance(ether(5)).with_mining(Mining::Manual).build()?;
/// assert_eq!(node.view().chain_id(), 7);
/// # Ok::<(), chainbox::node::BuildError>(())
/// ```
#[must_use = "nothing is built until `build` is called"]
pub struct NodeBuilder {
    chain: ChainOptions,
    accounts: u32,
    balance: U256,
    mnemonic: String,
    mining: Mining,
    clock: Option<Arc<dyn Clock>>,
    block_interval: Option<Duration>,
    timestamps: TimestampRule,
    database: Database,
    dump: Option<Dump>,
}

impl NodeBuilder {
    pub(super) fn new() -> Self {
        Self {
            chain: ChainOptions::new(),
            accounts: 10,
            balance: dev_account_balance(),
            mnemonic: DEFAULT_MNEMONIC.to_owned(),
            mining: Mining::default(),
            clock: None,
            block_interval: None,
            timestamps: TimestampRule::default(),
            database: Database::default(),
            dump: None,
        }
    }

    chain_option_setters!(chain);

    /// Replaces the options of the chain by `options`.
    pub fn with_chain_options(mut self, options: ChainOptions) -> Self {
        self.chain = options;
        self
    }

    /// Sets how many accounts the node derives, holds the keys of and funds in genesis; 10 by default.
    pub const fn with_accounts(mut self, count: u32) -> Self {
        self.accounts = count;
        self
    }

    /// Sets the balance of each derived account at genesis, in the smallest unit; 10,000 tokens by default.
    pub const fn with_balance(mut self, balance: U256) -> Self {
        self.balance = balance;
        self
    }

    /// Sets the mnemonic phrase that accounts are derived from.
    pub fn with_mnemonic(mut self, phrase: impl Into<String>) -> Self {
        self.mnemonic = phrase.into();
        self
    }

    /// Sets the mining mode; a block for each transaction by default.
    pub const fn with_mining(mut self, mining: Mining) -> Self {
        self.mining = mining;
        self
    }

    /// Sets the source of block timestamps; by default a clock that stands still at genesis.
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Sets a fixed interval between block timestamps in place of the clock, in whole seconds: each block's is its parent's and the
    /// interval, unless one is set for it. Time travel makes one interval longer.
    ///
    /// ```
    /// use std::time::Duration;
    /// use chainbox::node::Node;
    /// let node = Node::builder().with_block_interval(Duration::from_secs(12)).build()?;
    /// let first = node.mine(1)?.timestamp().as_secs();
    /// assert_eq!(node.mine(10)?.timestamp().as_secs(), first + 120);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub const fn with_block_interval(mut self, interval: Duration) -> Self {
        self.block_interval = Some(interval);
        self
    }

    /// Sets whether a block may have its parent's timestamp. By default it is at least a second later, as in Ethereum, however fast
    /// blocks are made: they may then be ahead of the clock.
    ///
    /// ```
    /// use chainbox::node::Node;
    /// let times = |node: Node| [1, 1].map(|count| node.mine(count).map(|block| block.timestamp().as_secs()));
    /// let [first, second] = times(Node::new());
    /// assert_eq!(second?, first? + 1);
    /// let [first, second] = times(Node::builder().with_equal_timestamps(true).build()?);
    /// assert_eq!(second?, first?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub const fn with_equal_timestamps(mut self, is_allowed: bool) -> Self {
        self.timestamps = if is_allowed { TimestampRule::EqualAllowed } else { TimestampRule::Rising };
        self
    }

    /// Sets the storage of the chain; in memory by default.
    pub fn with_database(mut self, database: Database) -> Self {
        self.database = database;
        self
    }

    /// Loads a dump of another node with the same genesis. [`Node::load`] does, too, and says what was loaded.
    pub fn with_dump(mut self, dump: Dump) -> Self {
        self.dump = Some(dump);
        self
    }

    /// Builds the node, at its genesis or at the head of its database.
    ///
    /// # Errors
    /// [`BuildError`]: options that contradict each other, a mnemonic that gives no accounts, an unusable genesis or database.
    pub fn build(mut self) -> Result<Node, BuildError> {
        if self.accounts > DEV_ACCOUNTS_MAX {
            return Err(BuildError::TooManyAccounts { asked: self.accounts, max: DEV_ACCOUNTS_MAX });
        }
        let wallet = Wallet::from_phrase(&self.mnemonic)?;
        let keys = wallet.keys(0, self.accounts)?;
        let genesis = self.genesis_for(&keys);
        let start = genesis.timestamp;
        let clock = self.clock.take().unwrap_or_else(|| Arc::new(ManualClock::new(start)));
        let (seed, validators) = (self.chain.seed, self.chain.validators.clone());
        let states_kept =
            self.chain.retention.and_then(|retention| retention.states.into_iter().chain(retention.blocks).min());
        let network = self.network(genesis)?;

        let config = network.config();
        let consensus = config.kind().ok_or(BuildError::OwnProtocol { protocol: config.name() })?;
        let registry = network.primary().chain().registry().as_ref().clone();
        let time = BlockTime::new(self.block_interval);
        let settings = Settings { mining: self.mining, time, timestamps: self.timestamps, ..Settings::default() };
        let writer = Writer::new(network, settings, Ancestors::new(states_kept));
        let view = writer.view(ReplicaId::default(), Arc::clone(&clock)).map_err(EngineError::from)?;
        let node = Node {
            inner: Arc::new(NodeInner {
                writer: Arc::new(HeldLock::new(writer)),
                shared: None,
                view: ArcSwap::from_pointee(view),
                subscribers: Subscribers::default(),
                clock,
                consensus,
                seed,
                validators,
                accounts: keys.iter().map(KeyPair::address).collect(),
                keys,
                mnemonic: wallet.phrase().to_owned(),
                registry,
                recovery: SenderRecovery::new(),
                panics: AtomicU64::new(0),
            }),
        };
        if let Some(dump) = self.dump {
            node.load(&dump)?;
            if self.block_interval.is_some() {
                node.set_block_timestamp_interval(self.block_interval);
            }
        }
        Ok(node)
    }

    /// The genesis of the options, or that of a development chain: the accounts have funds, Multicall3 is where clients look for it, and
    /// [`Node::bulk`] has its contract.
    fn genesis_for(&mut self, keys: &[KeyPair]) -> GenesisSpec {
        let contract = |address, template: &str| GenesisContract::new(address, template, serde_json::Map::new());
        let mut default = GenesisSpec {
            contracts: vec![contract(MULTICALL3_ADDRESS, Multicall::NAME), contract(BATCH_ADDRESS, Batch::NAME)],
            timestamp: GENESIS_TIME,
            allow_interventions: true,
            name: "chainbox".to_owned(),
            ..GenesisSpec::new(DEFAULT_CHAIN_ID)
        };
        for key in keys {
            default.fund(key.address(), self.balance);
        }
        self.chain.take_genesis(default)
    }

    /// The protocol of the options or else of genesis, written to genesis.
    fn consensus_for(&mut self, genesis: &mut GenesisSpec) -> Result<ConsensusConfig, BuildError> {
        let named = match &genesis.consensus {
            serde_json::Value::Null => None,
            section => Some(
                ConsensusConfig::deserialize_section(section)
                    .map_err(|error| ChainOptionsError::GenesisConsensus { reason: error.to_string() })?,
            ),
        };
        let config = match (self.chain.consensus.take(), named) {
            (Some(wanted), Some(named)) if wanted.kind() != named.kind() => {
                return Err(BuildError::GenesisProtocol { genesis: named.name(), given: wanted.name() });
            }
            (None, Some(config)) | (Some(config), _) => config,
            (None, None) => ConsensusConfig::Poa(PoaConfig { period: 0, ..PoaConfig::default() }),
        };
        genesis.consensus = config.section();
        Ok(config)
    }

    fn network(&mut self, mut genesis: GenesisSpec) -> Result<Network, BuildError> {
        let consensus = self.consensus_for(&mut genesis)?;
        let chain = core::mem::take(&mut self.chain).with_genesis(genesis).with_consensus(consensus);
        let (state, store): (Arc<dyn StateStore>, Arc<dyn KeyValue>) = match core::mem::take(&mut self.database) {
            Database::Memory => (Arc::new(MemoryState::new()), Arc::new(MemoryStore::new())),
            Database::Store(store) => {
                let state =
                    PagedState::open(Arc::clone(&store)).map_err(|error| EngineError::from(ReadError::from(error)))?;
                (Arc::new(state), store)
            }
        };
        Network::builder()
            .with_chain_options(chain)
            .with_seals(SealScheme::Secp256k1)
            .with_production(Production::OnDemand)
            .with_stores(state, store)
            .with_digest(false)
            .build()
            .map_err(BuildError::from_network)
    }
}

impl fmt::Debug for NodeBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeBuilder")
            .field("chain", &self.chain)
            .field("accounts", &self.accounts)
            .field("mining", &self.mining)
            .finish_non_exhaustive()
    }
}
