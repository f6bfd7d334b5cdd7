//! What makes a chain's blocks: a network in real time where it has a block time, else a node that makes them on demand.

use core::time::Duration;
use std::{collections::BTreeSet, sync::Arc};

use alloy_primitives::Address;

use crate::{
    chain::{Chain, CommitHook, GenesisSpec},
    consensus::{ConsensusConfig, ReplicaId, SealScheme},
    node::{Clock, Database, Mining, NetworkPool, Node, PacedNetwork, RealTimeClock},
    platform::PlatformError,
    primitives::{KeyPair, Timestamp},
    sim::{Network, NetworkError},
    state::PagedState,
    store::KeyValue,
};

use super::failure;

/// What an engine is opened with.
pub(in crate::platform) struct EngineParts {
    /// The chain's part of a durable store; `None` in memory.
    pub(in crate::platform) store: Option<Arc<dyn KeyValue>>,
    /// Sealing keys of the validators of genesis.
    pub(in crate::platform) validators: Vec<KeyPair>,
    /// Sealing keys of those who may join later. Each has a replica, in a chain with a block time.
    pub(in crate::platform) standby: Vec<KeyPair>,
    /// Whose replicas are down.
    pub(in crate::platform) down: BTreeSet<Address>,
    pub(in crate::platform) seed: u64,
    pub(in crate::platform) hooks: Vec<Arc<dyn CommitHook>>,
}

impl EngineParts {
    /// Returns the genesis of the chain that the store holds, without its accounts, which are in the state; `None` for a new chain.
    pub(in crate::platform) fn stored_genesis(&self) -> Result<Option<GenesisSpec>, PlatformError> {
        let Some(store) = &self.store else { return Ok(None) };
        Chain::stored_spec(&**store).map_err(PlatformError::internal)
    }
}

/// A chain in memory.
#[derive(Debug)]
pub(in crate::platform) enum Engine {
    /// Blocks come on demand: one for the transactions that are sent together.
    OnDemand(Node),
    /// Blocks come by the clock. `node` is that of the observer, which holds the stored chain, so that every validator may be stopped.
    Paced { network: PacedNetwork, node: Node, keys: Vec<Address> },
}

impl Engine {
    /// Opens a chain that stands still and takes no commands yet. `consensus` is that of a new chain; a stored one has its own.
    pub(in crate::platform) fn open(
        pool: &NetworkPool,
        parts: EngineParts,
        genesis: GenesisSpec,
        consensus: Option<ConsensusConfig>,
        is_paced: bool,
    ) -> Result<Self, PlatformError> {
        let validators = genesis.validators.len();
        let opened = if is_paced {
            Self::paced(pool, parts, genesis, consensus)
        } else {
            Self::on_demand(pool, parts, genesis, consensus)
        };
        let engine = opened.map_err(|cause| failure(validators, cause))?;
        engine.node().halt("it is not running yet");
        Ok(engine)
    }

    fn on_demand(
        pool: &NetworkPool,
        parts: EngineParts,
        genesis: GenesisSpec,
        consensus: Option<ConsensusConfig>,
    ) -> Result<Self, OpenError> {
        let mut builder = Node::builder()
            .with_genesis(genesis)
            .with_accounts(0)
            .with_seed(parts.seed)
            .with_validator_keys(parts.validators)
            .with_clock(Arc::new(PoolClock(pool.clock())))
            .with_mining(Mining::EachTransaction);
        for hook in parts.hooks {
            builder = builder.with_hook(hook);
        }
        if let Some(consensus) = consensus {
            builder = builder.with_consensus(consensus);
        }
        if let Some(store) = parts.store {
            builder = builder.with_database(Database::Store(store));
        }
        Ok(Self::OnDemand(builder.build()?))
    }

    fn paced(
        pool: &NetworkPool,
        parts: EngineParts,
        genesis: GenesisSpec,
        consensus: Option<ConsensusConfig>,
    ) -> Result<Self, OpenError> {
        let keys: Vec<Address> = parts.validators.iter().chain(&parts.standby).map(KeyPair::address).collect();
        let observer = replica(keys.len());
        let mut builder = Network::builder()
            .with_genesis(genesis)
            .with_validator_keys(parts.validators)
            .with_candidate_keys(parts.standby)
            .with_seed(parts.seed)
            .with_seals(SealScheme::Secp256k1)
            .with_observers(1)
            .with_primary(observer)
            .with_digest(false);
        for hook in parts.hooks {
            builder = builder.with_hook(hook);
        }
        if let Some(consensus) = consensus {
            builder = builder.with_consensus(consensus);
        }
        if let Some(store) = parts.store {
            let state = PagedState::open(Arc::clone(&store)).map_err(|cause| OpenError::Other(cause.to_string()))?;
            builder = builder.with_stores(Arc::new(state), store);
        }
        let mut network = builder.build()?;
        for (number, _) in keys.iter().enumerate().filter(|(_, key)| parts.down.contains(*key)) {
            network.stop_replica(replica(number)).map_err(|cause| OpenError::Other(cause.to_string()))?;
        }
        let network = network.share()?.pace(pool.now()).map_err(|cause| OpenError::Other(cause.to_string()))?;
        let node = network.node(observer).map_err(|cause| OpenError::Other(cause.to_string()))?;
        Ok(Self::Paced { network, node, keys })
    }

    /// The node that is read and sent by.
    pub(in crate::platform) const fn node(&self) -> &Node {
        match self {
            Self::OnDemand(node) | Self::Paced { node, .. } => node,
        }
    }

    /// The network in real time; `None` of a chain on demand.
    pub(in crate::platform) const fn network(&self) -> Option<&PacedNetwork> {
        match self {
            Self::OnDemand(_) => None,
            Self::Paced { network, .. } => Some(network),
        }
    }

    /// Returns the replica with a sealing key, and the network; `None` for a key that is held elsewhere, and on demand.
    pub(in crate::platform) fn replica_of(&self, key: Address) -> Option<(&PacedNetwork, ReplicaId)> {
        let Self::Paced { network, keys, .. } = self else { return None };
        let number = keys.iter().position(|known| *known == key)?;
        Some((network, replica(number)))
    }

    /// Returns the sealing key of a replica of the network; `None` of the observer, and on demand.
    pub(in crate::platform) fn key_of(&self, replica: ReplicaId) -> Option<Address> {
        let Self::Paced { keys, .. } = self else { return None };
        keys.get(usize::try_from(replica.get()).ok()?).copied()
    }

    /// Makes blocks and takes commands from now on.
    pub(in crate::platform) fn run(&self, pool: &NetworkPool) -> Result<(), PlatformError> {
        self.node().take_commands();
        self.network().map_or(Ok(()), |network| pool.put_back(network).map_err(PlatformError::internal))
    }

    /// Makes no blocks and takes no commands from now on; when it returns none is under way.
    pub(in crate::platform) fn halt(&self, pool: &NetworkPool, reason: &str) {
        self.node().halt(reason);
        if let Some(network) = self.network() {
            pool.remove(network);
        }
    }

    /// Why its network stands still by a failure.
    pub(in crate::platform) fn failure(&self) -> Option<String> {
        self.network().and_then(PacedNetwork::failure)
    }
}

fn replica(number: usize) -> ReplicaId {
    ReplicaId::new(u32::try_from(number).unwrap_or(u32::MAX))
}

/// Why a chain could not be opened.
#[derive(Debug, thiserror::Error)]
pub(super) enum OpenError {
    #[error(transparent)]
    Network(#[from] NetworkError),
    #[error(transparent)]
    Node(#[from] crate::node::BuildError),
    #[error("{0}")]
    Other(String),
}

/// The clock of the pool's networks, for a node on demand.
#[derive(Debug)]
struct PoolClock(Arc<dyn RealTimeClock>);

impl Clock for PoolClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_secs(self.0.now().as_secs())
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.0.now().as_millis()).unwrap_or(u64::MAX)
    }
}

/// The platform's clock as that of its networks: it never goes back.
#[derive(Debug)]
pub(in crate::platform) struct PlatformTime(pub(in crate::platform) Arc<dyn Clock>);

impl RealTimeClock for PlatformTime {
    fn now(&self) -> Duration {
        Duration::from_millis(self.0.now_ms())
    }
}
