//! The Ethereum JSON-RPC of every chain of a platform, created on first use.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock, Weak},
};

use super::{
    commands::{CommandQueue, Workers},
    counters::Counters,
    eth::{
        ChainRecords, Development, Eth,
        call_gas::capped,
        rpc::{EthHttpService, EthRpc},
    },
    limits::CALL_GAS_MAX,
    monitor::RpcMonitor,
};
use crate::{
    chain::{CallRequest, StateOverrides},
    node::{BlockRef, NodeView, QueryError, SnapshotId},
    platform::{Blockchain, DEFAULT_BLOCKCHAIN_ID, Platform, PlatformError, Principal, Scope},
    primitives::{B256, Gas},
};

/// A platform with the Ethereum JSON-RPC of its chains.
#[derive(Clone, Debug)]
pub struct Chains {
    platform: Arc<Platform>,
    counters: Arc<Counters>,
    workers: Workers,
    default: Option<DefaultRpc>,
    others: Arc<RwLock<BTreeMap<String, OtherChain>>>,
    /// Gas of a call on a chain that is not the default one.
    call_gas_max: Gas,
}

/// Ethereum JSON-RPC of the default chain.
#[derive(Clone, Debug)]
struct DefaultRpc {
    rpc: EthRpc,
    /// Kept ready, so that a request on `/` clones nothing.
    service: EthHttpService,
}

impl From<EthRpc> for DefaultRpc {
    fn from(rpc: EthRpc) -> Self {
        Self { service: rpc.http_service(), rpc }
    }
}

/// Snapshots of the default chain cover its records.
impl ChainRecords for Platform {
    fn keep(&self, snapshot: SnapshotId) -> Result<(), PlatformError> {
        self.blockchains().keep_snapshot(snapshot.get())
    }

    fn revert(&self, snapshot: SnapshotId) -> Result<(), PlatformError> {
        self.blockchains().revert_to_snapshot(snapshot.get())?;
        sampled_from_here(self)
    }

    fn reset(&self) -> Result<(), PlatformError> {
        self.blockchains().reset_to_genesis()?;
        sampled_from_here(self)
    }

    fn rewind(&self, lost: &[B256]) -> Result<(), PlatformError> {
        self.blockchains().forget_lost(lost)?;
        sampled_from_here(self)
    }

    fn transactions(&self) -> Result<Vec<B256>, PlatformError> {
        self.blockchains().recorded_transactions()
    }

    fn replace(&self, lost: &[B256]) -> Result<(), PlatformError> {
        self.blockchains().forget_replaced(lost)?;
        sampled_from_here(self)
    }
}

/// Lets figures over time go on from where the default chain and its time have gone back to.
fn sampled_from_here(platform: &Platform) -> Result<(), PlatformError> {
    platform.analytics().forget_later()?;
    platform.analytics().recount(DEFAULT_BLOCKCHAIN_ID)
}

impl Chains {
    /// Creates the Ethereum JSON-RPC of the platform's default chain; those of other chains follow on first use. To be made on the
    /// runtime that serves it: how much work its threads do themselves follows from their number.
    pub fn new(platform: Arc<Platform>) -> Self {
        Self::with(platform, Development::Open)
    }

    /// As [`Chains::new`], with the methods of [`EthRpc::without_development`] only.
    pub fn without_development(platform: Arc<Platform>) -> Self {
        Self::with(platform, Development::Closed)
    }

    /// Sets a monitor of the default chain's Ethereum JSON-RPC, in place of what was registered before; calls of other chains are not told.
    #[must_use]
    pub fn with_monitor(self, monitor: Arc<dyn RpcMonitor>) -> Self {
        let default = self.default.map(|default| default.rpc.with_monitor(monitor).into());
        Self { default, ..self }
    }

    /// Sets how much gas a call has that changes nothing, on chains that nobody has asked anything yet. On the default chain, which is its
    /// process's own, it has as much as a block.
    #[must_use]
    pub(super) fn with_call_gas_max(self, call_gas_max: Gas) -> Self {
        Self { call_gas_max, ..self }
    }

    fn with(platform: Arc<Platform>, development: Development) -> Self {
        let counters = Arc::new(Counters::default());
        let workers = Workers::default();
        let default = platform.default_blockchain().map(|chain| {
            let eth = Eth::new(chain.node().clone(), Arc::clone(&counters), development);
            let records: Arc<dyn ChainRecords> = Arc::clone(&platform) as _;
            EthRpc::over(eth.with_records(Some(records)), CommandQueue::new(workers.clone())).into()
        });
        let call_gas_max = Gas::new(CALL_GAS_MAX);
        Self { platform, counters, workers, default, others: Arc::default(), call_gas_max }
    }

    /// Counts of what went wrong at the server's edges, of all chains.
    pub const fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    /// The platform.
    pub const fn platform(&self) -> &Arc<Platform> {
        &self.platform
    }

    /// Ethereum JSON-RPC of the default chain, where there is one.
    pub fn default_rpc(&self) -> Option<&EthRpc> {
        self.default.as_ref().map(|default| &default.rpc)
    }

    /// Service for HTTP requests to the default chain.
    pub(crate) fn default_service(&self) -> Option<&EthHttpService> {
        self.default.as_ref().map(|default| &default.service)
    }

    /// The threads that run what takes long.
    pub(crate) const fn workers(&self) -> &Workers {
        &self.workers
    }

    /// Returns a call of a chain with no more gas than it has there.
    ///
    /// # Errors
    /// As [`capped`].
    pub(super) fn capped(
        &self,
        (chain, view): (&Blockchain, &NodeView),
        request: CallRequest,
        at: BlockRef,
    ) -> Result<CallRequest, QueryError> {
        let is_default = self.platform.default_blockchain().is_some_and(|default| default.id() == chain.id());
        capped(view, request, (at, &StateOverrides::default()), (!is_default).then_some(self.call_gas_max))
    }

    /// Returns the Ethereum JSON-RPC of the chain with this id, if it is in memory: for the service's own work. What a caller asks for goes
    /// by [`Chains::readable_rpc`].
    pub(super) fn rpc(&self, id: &str) -> Option<EthRpc> {
        if self.platform.default_blockchain().is_some_and(|default| default.id() == id) {
            return self.default_rpc().cloned();
        }
        let chain = self.platform.running_blockchain(id)?;
        let known = self.others.read().unwrap_or_else(PoisonError::into_inner).get(id).and_then(|one| one.of(&chain));
        Some(known.unwrap_or_else(|| self.start(&chain)))
    }

    /// Returns the Ethereum JSON-RPC of a chain that a principal may read. It takes transactions, if the principal may send them there.
    ///
    /// # Errors
    /// As [`Blockchains::readable`](crate::platform::Blockchains::readable); [`PlatformError::MissingScope`].
    pub fn readable_rpc(&self, principal: &Principal, id: &str) -> Result<EthRpc, PlatformError> {
        principal.require(Scope::BlockchainRead)?;
        let chain = self.platform.blockchains().readable(principal, id)?;
        let rpc = self.rpc(id).ok_or_else(|| PlatformError::not_found("blockchain", id))?;
        let sends = *chain.owner() == principal.owner()
            && principal.may(Scope::BlockchainDeploy)
            && self.platform.blockchains().has_gas_left(&chain);
        Ok(if sends { rpc } else { rpc.read_only() })
    }

    /// Creates the Ethereum JSON-RPC of a chain, in place of that of a chain that had the same id before, such as before it was stopped. It
    /// has no methods for development: its blocks and its time are the chain's own.
    fn start(&self, chain: &Arc<Blockchain>) -> EthRpc {
        let mut others = self.others.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = others.get(chain.id()).and_then(|one| one.of(chain)) {
            return known;
        }
        others.retain(|_, one| one.chain.strong_count() > 0);
        let eth = Eth::new(chain.node().clone(), Arc::clone(&self.counters), Development::Closed);
        let eth = eth.with_call_gas_max(Some(self.call_gas_max));
        let rpc = EthRpc::over(eth, CommandQueue::new(self.workers.clone()));
        others.insert(chain.id().to_owned(), OtherChain { chain: Arc::downgrade(chain), rpc: rpc.clone() });
        rpc
    }
}

/// The Ethereum JSON-RPC of a chain that is not the default one.
#[derive(Clone, Debug)]
struct OtherChain {
    chain: Weak<Blockchain>,
    rpc: EthRpc,
}

impl OtherChain {
    /// Returns it, if it is of this very chain and not of one before it.
    fn of(&self, chain: &Arc<Blockchain>) -> Option<EthRpc> {
        (self.chain.as_ptr() == Arc::as_ptr(chain)).then(|| self.rpc.clone())
    }
}
