//! The Ethereum JSON-RPC of every chain of a platform, created on first use.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
};

use super::{
    commands::{CommandQueue, Workers},
    counters::Counters,
    driver,
    eth::{
        Development, Eth,
        rpc::{EthHttpService, EthRpc},
    },
    monitor::RpcMonitor,
};
use crate::platform::{Blockchain, Platform};

/// A platform with the Ethereum JSON-RPC of its chains.
#[derive(Clone, Debug)]
pub struct Chains {
    platform: Arc<Platform>,
    counters: Arc<Counters>,
    development: Development,
    workers: Workers,
    default: EthRpc,
    /// Kept ready, so that a request on `/` clones nothing.
    default_service: EthHttpService,
    others: Arc<RwLock<BTreeMap<String, EthRpc>>>,
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
        let default = self.default.with_monitor(monitor);
        let default_service = default.http_service();
        Self { default, default_service, ..self }
    }

    fn with(platform: Arc<Platform>, development: Development) -> Self {
        let counters = Arc::new(Counters::default());
        let node = platform.default_blockchain().node().clone();
        let workers = Workers::default();
        let eth = Eth::new(node, Arc::clone(&counters), development);
        let default = EthRpc::over(eth, CommandQueue::new(workers.clone()));
        let default_service = default.http_service();
        Self { platform, counters, development, workers, default, default_service, others: Arc::default() }
    }

    /// Counts of what went wrong at the server's edges, of all chains.
    pub const fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    /// The platform.
    pub const fn platform(&self) -> &Arc<Platform> {
        &self.platform
    }

    /// Ethereum JSON-RPC of the default chain.
    pub const fn default_rpc(&self) -> &EthRpc {
        &self.default
    }

    /// Service for HTTP requests to the default chain.
    pub(crate) const fn default_service(&self) -> &EthHttpService {
        &self.default_service
    }

    /// Returns the Ethereum JSON-RPC of the chain with this id, starting it when needed. Needs a tokio runtime.
    pub fn rpc(&self, id: &str) -> Option<EthRpc> {
        if id == self.platform.default_blockchain().id() {
            return Some(self.default.clone());
        }
        if let Some(rpc) = self.others.read().unwrap_or_else(PoisonError::into_inner).get(id) {
            return Some(rpc.clone());
        }
        self.platform.running_blockchain(id).map(|chain| self.start(&chain))
    }

    /// Creates the Ethereum JSON-RPC of a chain and starts its interval mining. Needs a tokio runtime.
    pub fn start(&self, chain: &Blockchain) -> EthRpc {
        let mut others = self.others.write().unwrap_or_else(PoisonError::into_inner);
        others
            .entry(chain.id().to_owned())
            .or_insert_with(|| {
                let eth = Eth::new(chain.node().clone(), Arc::clone(&self.counters), self.development);
                let rpc = EthRpc::over(eth, CommandQueue::new(self.workers.clone()));
                tokio::spawn(driver::drive(rpc.clone()));
                rpc
            })
            .clone()
    }
}
