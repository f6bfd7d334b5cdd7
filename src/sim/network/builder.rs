//! Describing and building a network.

mod build;

use core::fmt;
use std::sync::Arc;

use super::{links::Latency, production::Production};
use crate::{
    chain::{ChainBuilder, ExecutionCache, GenesisSpec, PoolConfig},
    consensus::{ConsensusConfig, ReplicaId, SealScheme},
    primitives::{KeyPair, U256},
    sim::{check::invariant::Invariant, faults::plan::FaultPlan},
    state::StateStore,
    store::KeyValue,
    system::staking::StakingParams,
};

/// Chain id of a network whose genesis nobody gave.
const DEFAULT_CHAIN_ID: u64 = 1_337;

type ChainSetup = Box<dyn FnOnce(ChainBuilder) -> ChainBuilder>;

/// Collects the description of a [`Network`](super::Network). Every option has a default: one validator, proof of authority, seed 0,
/// 10 ms latency, symbolic seals, everything in memory.
#[must_use = "nothing is built until `build` is called"]
pub struct NetworkBuilder {
    genesis: GenesisSpec,
    consensus: Option<ConsensusConfig>,
    validators: Validators,
    observers: u32,
    candidates: u32,
    stakes: Option<Vec<U256>>,
    staking: Option<StakingParams>,
    seed: u64,
    seals: SealScheme,
    latency: Latency,
    loss_per_mille: u16,
    link_latencies: Vec<(ReplicaId, ReplicaId, Latency)>,
    link_losses: Vec<(ReplicaId, ReplicaId, u16)>,
    production: Production,
    stores: Option<(Arc<dyn StateStore>, Arc<dyn KeyValue>)>,
    cache: ExecutionCache,
    paranoid: bool,
    digest: bool,
    trace: Option<String>,
    pool: Option<PoolConfig>,
    chain_setup: Option<ChainSetup>,
    invariants: Vec<Box<dyn Invariant>>,
    faults: FaultPlan,
}

#[derive(Clone, Debug)]
enum Validators {
    FromSeed(u32),
    Keys(Vec<KeyPair>),
}

impl Default for NetworkBuilder {
    fn default() -> Self {
        Self {
            genesis: GenesisSpec::new(DEFAULT_CHAIN_ID),
            consensus: None,
            validators: Validators::FromSeed(1),
            observers: 0,
            candidates: 0,
            stakes: None,
            staking: None,
            seed: 0,
            seals: SealScheme::Symbolic,
            latency: Latency::default(),
            loss_per_mille: 0,
            link_latencies: Vec::new(),
            link_losses: Vec::new(),
            production: Production::Automatic,
            stores: None,
            cache: ExecutionCache::default(),
            paranoid: false,
            digest: true,
            trace: None,
            pool: None,
            chain_setup: None,
            invariants: Vec::new(),
            faults: FaultPlan::default(),
        }
    }
}

/// Options.
impl NetworkBuilder {
    /// What the chain starts from. Its validators, if it lists any, must be the network's.
    pub fn with_genesis(mut self, genesis: GenesisSpec) -> Self {
        self.genesis = genesis;
        self
    }

    /// The protocol and its parameters; by default what genesis says, else proof of authority.
    pub fn with_consensus(mut self, consensus: ConsensusConfig) -> Self {
        self.consensus = Some(consensus);
        self
    }

    /// So many validators, each with a key drawn from the seed (see [`NetworkBuilder::validator_key`]).
    pub fn with_validators(mut self, count: u32) -> Self {
        self.validators = Validators::FromSeed(count);
        self
    }

    /// One validator for each key; replica numbers follow the order of the keys.
    pub fn with_validator_keys(mut self, keys: impl IntoIterator<Item = KeyPair>) -> Self {
        self.validators = Validators::Keys(keys.into_iter().collect());
        self
    }

    /// So many more replicas that follow and never seal.
    pub const fn with_observers(mut self, count: u32) -> Self {
        self.observers = count;
        self
    }

    /// The validators' stakes in genesis, in the smallest unit and the order of their keys; 32 tokens each without it, where the
    /// protocol has stake. Makes a chain of stake of a protocol that may do without.
    pub fn with_stakes(mut self, stakes: impl IntoIterator<Item = U256>) -> Self {
        self.stakes = Some(stakes.into_iter().collect());
        self
    }

    /// The staking contract's parameters, in place of the default ones or those of genesis.
    pub const fn with_staking(mut self, params: StakingParams) -> Self {
        self.staking = Some(params);
        self
    }

    /// So many more replicas after the validators, with keys of their own (see [`NetworkBuilder::validator_key`]), that are no
    /// validators at genesis and may become some.
    pub const fn with_candidates(mut self, count: u32) -> Self {
        self.candidates = count;
        self
    }

    /// Where all randomness of the run comes from.
    pub const fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// How blocks are signed; block hashes are the same under both schemes.
    pub const fn with_seals(mut self, seals: SealScheme) -> Self {
        self.seals = seals;
        self
    }

    /// How long messages take.
    pub const fn with_latency(mut self, latency: Latency) -> Self {
        self.latency = latency;
        self
    }

    /// How long messages take on the link from one replica to another.
    pub fn with_link_latency(mut self, from: ReplicaId, to: ReplicaId, latency: Latency) -> Self {
        self.link_latencies.push((from, to, latency));
        self
    }

    /// How many of a thousand messages are lost on every link, always: what the network is like, and no fault that heals.
    ///
    /// ```
    /// use chainbox::sim::{Latency, Network};
    /// use core::time::Duration;
    ///
    /// let latency = Latency::Exponential { floor: Duration::from_millis(5), mean: Duration::from_millis(20) };
    /// let mut network = Network::builder().with_validators(4).with_latency(latency).with_loss(50).build()?;
    /// network.run_to_height(10)?;
    /// # Ok::<(), chainbox::sim::NetworkError>(())
    /// ```
    pub const fn with_loss(mut self, per_mille: u16) -> Self {
        self.loss_per_mille = per_mille;
        self
    }

    /// How many of a thousand messages are lost on the link from one replica to another, always.
    pub fn with_link_loss(mut self, from: ReplicaId, to: ReplicaId, per_mille: u16) -> Self {
        self.link_losses.push((from, to, per_mille));
        self
    }

    /// Who decides when a block is made.
    pub const fn with_production(mut self, production: Production) -> Self {
        self.production = production;
        self
    }

    /// Where replica 0 keeps its chain, and all replicas their states.
    pub fn with_stores(mut self, state: Arc<dyn StateStore>, store: Arc<dyn KeyValue>) -> Self {
        self.stores = Some((state, store));
        self
    }

    /// An execution cache shared with other networks of the process.
    pub fn with_cache(mut self, cache: ExecutionCache) -> Self {
        self.cache = cache;
        self
    }

    /// Whether every replica executes every block alone and the results are compared.
    pub const fn with_paranoid(mut self, paranoid: bool) -> Self {
        self.paranoid = paranoid;
        self
    }

    /// Whether the run is fingerprinted; on by default.
    pub const fn with_digest(mut self, digest: bool) -> Self {
        self.digest = digest;
        self
    }

    /// Whether everything that happens is recorded, under a title for people; off by default. See [`Network::trace`](super::Network::trace).
    pub fn with_trace(mut self, title: impl Into<String>) -> Self {
        self.trace = Some(title.into());
        self
    }

    /// Bounds and rules of every replica's pool.
    pub const fn with_pool(mut self, pool: PoolConfig) -> Self {
        self.pool = Some(pool);
        self
    }

    /// Further options of the chain itself: hooks, retention, templates.
    pub fn with_chain(mut self, setup: impl FnOnce(ChainBuilder) -> ChainBuilder + 'static) -> Self {
        self.chain_setup = Some(Box::new(setup));
        self
    }

    /// What must hold after every step, besides what was given before; see [`of_protocol`](crate::sim::invariant::of_protocol).
    pub fn with_invariants(mut self, invariants: impl IntoIterator<Item = Box<dyn Invariant>>) -> Self {
        self.invariants.extend(invariants);
        self
    }

    /// What goes wrong, and when. A network without faults is the same as one with an empty plan.
    pub fn with_faults(mut self, plan: FaultPlan) -> Self {
        self.faults = plan;
        self
    }

    /// The key of validator `index` in a network of `seed` whose keys nobody gave.
    pub fn validator_key(seed: u64, index: u32) -> KeyPair {
        KeyPair::from_seed(seed, &format!("validator {index}"))
    }
}

impl fmt::Debug for NetworkBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NetworkBuilder")
            .field("consensus", &self.consensus)
            .field("validators", &self.validators)
            .field("observers", &self.observers)
            .field("seed", &self.seed)
            .field("seals", &self.seals)
            .field("latency", &self.latency)
            .field("loss_per_mille", &self.loss_per_mille)
            .field("production", &self.production)
            .field("paranoid", &self.paranoid)
            .finish_non_exhaustive()
    }
}
