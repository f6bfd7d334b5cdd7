//! Builder of networks.

mod build;

use core::fmt;
use std::sync::Arc;

use super::{
    chain_options::{ChainOptions, ValidatorKeys, chain_option_setters},
    links::Latency,
    production::Production,
};
use crate::{
    chain::ExecutionCache,
    consensus::{ConsensusConfig, OwnProtocol, ReplicaId, SealScheme},
    primitives::KeyPair,
    sim::{faults::plan::FaultPlan, network::invariant::Invariant},
    state::StateStore,
    store::KeyValue,
};

/// Default chain id.
const DEFAULT_CHAIN_ID: u64 = 1_337;

/// Builder of a [`Network`](super::Network); the options of its chain are [`ChainOptions`]. Every option has a default: one validator,
/// proof of authority, seed 0, 10 ms latency, symbolic seals, everything in memory.
#[must_use = "nothing is built until `build` is called"]
pub struct NetworkBuilder {
    chain: ChainOptions,
    dev_accounts: u32,
    observers: u32,
    seals: SealScheme,
    latency: Latency,
    loss_per_mille: u16,
    link_latencies: Vec<(ReplicaId, ReplicaId, Latency)>,
    link_losses: Vec<(ReplicaId, ReplicaId, u16)>,
    production: Production,
    stores: Option<(Arc<dyn StateStore>, Arc<dyn KeyValue>)>,
    primary: ReplicaId,
    cache: ExecutionCache,
    digest: bool,
    trace: Option<String>,
    invariants: Vec<Box<dyn Invariant>>,
    faults: FaultPlan,
}

impl Default for NetworkBuilder {
    fn default() -> Self {
        Self {
            chain: ChainOptions::new(),
            dev_accounts: 0,
            observers: 0,
            seals: SealScheme::Symbolic,
            latency: Latency::default(),
            loss_per_mille: 0,
            link_latencies: Vec::new(),
            link_losses: Vec::new(),
            production: Production::Automatic,
            stores: None,
            primary: ReplicaId::default(),
            cache: ExecutionCache::default(),
            digest: true,
            trace: None,
            invariants: Vec::new(),
            faults: FaultPlan::default(),
        }
    }
}

/// Options.
impl NetworkBuilder {
    chain_option_setters!(chain);

    /// Replaces the options of the chain by `options`.
    pub fn with_chain_options(mut self, options: ChainOptions) -> Self {
        self.chain = options;
        self
    }

    /// Derives so many accounts from the default mnemonic and funds each with 10,000 tokens in genesis, as those of a development
    /// node; none by default. With a genesis of one's own they have what it gives them.
    ///
    /// ```
    /// use chainbox::{primitives::ether, sim::Network};
    /// let network = Network::builder().with_dev_accounts(2).build()?;
    /// let alice = network.accounts().next().ok_or("there are two")?;
    /// let state = network.primary().chain().latest_state()?;
    /// assert_eq!(state.account(&alice)?.unwrap_or_default().balance, ether(10_000));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub const fn with_dev_accounts(mut self, count: u32) -> Self {
        self.dev_accounts = count;
        self
    }

    /// Sets a protocol of one's own in place of one of this crate's.
    pub fn with_protocol(self, protocol: OwnProtocol) -> Self {
        self.with_consensus(ConsensusConfig::Own(protocol))
    }

    /// Adds observers: replicas without keys, which follow and never seal.
    pub const fn with_observers(mut self, count: u32) -> Self {
        self.observers = count;
        self
    }

    /// Sets how blocks are signed; block hashes are the same under both schemes.
    pub const fn with_seals(mut self, seals: SealScheme) -> Self {
        self.seals = seals;
        self
    }

    /// Sets the latency of all links.
    pub const fn with_latency(mut self, latency: Latency) -> Self {
        self.latency = latency;
        self
    }

    /// Sets the latency of the link from one replica to another.
    pub fn with_link_latency(mut self, from: ReplicaId, to: ReplicaId, latency: Latency) -> Self {
        self.link_latencies.push((from, to, latency));
        self
    }

    /// Sets the permanent loss probability of every link, in thousandths; it is no fault that heals.
    ///
    /// ```
    /// use chainbox::{primitives::Height, sim::{Latency, Network}};
    /// use core::time::Duration;
    ///
    /// let latency = Latency::Exponential { floor: Duration::from_millis(5), mean: Duration::from_millis(20) };
    /// let mut network = Network::builder().with_validators(4).with_latency(latency).with_loss(50).build()?;
    /// network.run_to_height(Height::new(10))?;
    /// # Ok::<(), chainbox::sim::NetworkError>(())
    /// ```
    pub const fn with_loss(mut self, per_mille: u16) -> Self {
        self.loss_per_mille = per_mille;
        self
    }

    /// Sets the permanent loss probability of the link from one replica to another, in thousandths.
    pub fn with_link_loss(mut self, from: ReplicaId, to: ReplicaId, per_mille: u16) -> Self {
        self.link_losses.push((from, to, per_mille));
        self
    }

    /// Sets when blocks are made. Blocks on demand need a protocol with a period of 0, automatic ones a period above 0.
    pub const fn with_production(mut self, production: Production) -> Self {
        self.production = production;
        self
    }

    /// Sets the stores of the primary's chain, and of the states of all replicas. All replicas go on at its head when the network is built
    /// again, with the records of their own.
    pub fn with_stores(mut self, state: Arc<dyn StateStore>, store: Arc<dyn KeyValue>) -> Self {
        self.stores = Some((state, store));
        self
    }

    /// Sets the primary, replica 0 by default: the replica whose chain the stores hold. It can't be stopped, for what others make
    /// meanwhile would be lost with the process; a network whose validators are to be stopped and started has an observer as its primary.
    ///
    /// ```
    /// use chainbox::{consensus::ReplicaId, sim::Network};
    /// let observer = ReplicaId::new(4);
    /// let network = Network::builder().with_validators(4).with_observers(1).with_primary(observer).build()?;
    /// assert_eq!(network.primary().id(), observer);
    /// # Ok::<(), chainbox::sim::NetworkError>(())
    /// ```
    pub const fn with_primary(mut self, replica: ReplicaId) -> Self {
        self.primary = replica;
        self
    }

    /// Sets an execution cache shared with other networks of the process.
    pub fn with_cache(mut self, cache: ExecutionCache) -> Self {
        self.cache = cache;
        self
    }

    /// Sets whether the run has a digest; on by default.
    pub const fn with_digest(mut self, digest: bool) -> Self {
        self.digest = digest;
        self
    }

    /// Records a trace with this title; off by default. See [`Network::trace`](super::Network::trace).
    pub fn with_trace(mut self, title: impl Into<String>) -> Self {
        self.trace = Some(title.into());
        self
    }

    /// Adds invariants that are checked after every step; see [`of_protocol`](crate::sim::invariant::of_protocol).
    pub fn with_invariants(mut self, invariants: impl IntoIterator<Item = Box<dyn Invariant>>) -> Self {
        self.invariants.extend(invariants);
        self
    }

    /// Sets the fault plan; by default an empty one.
    pub fn with_faults(mut self, plan: FaultPlan) -> Self {
        self.faults = plan;
        self
    }

    /// Returns the default key of validator `index` in a network of `seed`.
    pub fn validator_key(seed: u64, index: u32) -> KeyPair {
        ValidatorKeys::FromSeed(0).key(seed, index)
    }
}

impl fmt::Debug for NetworkBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NetworkBuilder")
            .field("chain", &self.chain)
            .field("observers", &self.observers)
            .field("seals", &self.seals)
            .field("latency", &self.latency)
            .field("loss_per_mille", &self.loss_per_mille)
            .field("production", &self.production)
            .finish_non_exhaustive()
    }
}
