//! The Ethereum JSON-RPC of every chain of the platform, made when it is first asked for.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
};

use super::{
    driver,
    eth::rpc::{EthHttpService, EthRpc},
};
use crate::platform::{Blockchain, Platform};

/// A platform and the RPC of its chains.
#[derive(Clone, Debug)]
pub struct Chains {
    platform: Arc<Platform>,
    default: EthRpc,
    /// Made once: an Ethereum call on `/` copies nothing.
    default_service: EthHttpService,
    others: Arc<RwLock<BTreeMap<String, EthRpc>>>,
}

impl Chains {
    /// Over `platform`, with the default chain's RPC made at once.
    pub fn new(platform: Arc<Platform>) -> Self {
        let default = EthRpc::new(platform.default_blockchain().node().clone());
        let default_service = default.http_service();
        Self { platform, default, default_service, others: Arc::default() }
    }

    /// The platform underneath.
    pub const fn platform(&self) -> &Arc<Platform> {
        &self.platform
    }

    /// The default chain's RPC.
    pub const fn default_rpc(&self) -> &EthRpc {
        &self.default
    }

    /// What answers HTTP requests to the default chain.
    pub(crate) const fn default_service(&self) -> &EthHttpService {
        &self.default_service
    }

    /// The RPC of the chain with this id.
    pub fn rpc(&self, id: &str) -> Option<EthRpc> {
        if id == self.platform.default_blockchain().id() {
            return Some(self.default.clone());
        }
        if let Some(rpc) = self.others.read().unwrap_or_else(PoisonError::into_inner).get(id) {
            return Some(rpc.clone());
        }
        self.platform.blockchain(id).map(|chain| self.start(&chain))
    }

    /// Makes a chain's RPC and starts the timer of its interval mining. Needs a tokio runtime.
    pub fn start(&self, chain: &Blockchain) -> EthRpc {
        let mut others = self.others.write().unwrap_or_else(PoisonError::into_inner);
        others
            .entry(chain.id().to_owned())
            .or_insert_with(|| {
                let rpc = EthRpc::new(chain.node().clone());
                tokio::spawn(driver::drive(chain.node().clone()));
                rpc
            })
            .clone()
    }
}
