//! The Ethereum JSON-RPC of one chain, callable without a socket.
//!
//! One file per family of methods. Reads take an immutable view and do not wait for the writer; methods that may
//! run long use tokio's blocking threads. A handler that panics is answered with an internal error and counted.

mod accounts;
mod blocks;
pub(crate) mod call_gas;
mod calls;
pub(crate) mod convert;
mod debug;
mod development;
mod fees;
mod filters;
mod logs;
mod meta;
mod monitored;
pub(crate) mod params;
mod pool;
mod receipts;
pub(crate) mod rpc;
mod shared_logs;
pub(crate) mod subscriptions;
mod transactions;
mod work;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use jsonrpsee::RpcModule;
use serde::Serialize;

use self::{filters::Filters, params::Args, shared_logs::SharedLogs};
use super::{
    counters::{Counters, panic_text},
    jsonrpc::errors::{INTERNAL_ERROR, RpcError, error},
    monitor::RpcMonitor,
};
use crate::{
    node::{Node, NodeView, SnapshotId},
    platform::PlatformError,
    primitives::{B256, Gas},
};

/// State of the methods of one chain.
#[derive(Debug)]
pub(crate) struct Eth {
    node: Node,
    filters: Filters,
    logs: SharedLogs,
    counters: Arc<Counters>,
    development: Development,
    monitor: Option<Arc<dyn RpcMonitor>>,
    records: Option<Arc<dyn ChainRecords>>,
    /// Gas of a call that changes nothing; `None` for as much as a block has.
    call_gas_max: Option<Gas>,
}

/// Records beside a chain that its snapshots cover.
pub(crate) trait ChainRecords: core::fmt::Debug + Send + Sync {
    /// Keeps them for a snapshot that was taken.
    fn keep(&self, snapshot: SnapshotId) -> Result<(), PlatformError>;

    /// Takes them back to a snapshot that the chain was reverted to.
    fn revert(&self, snapshot: SnapshotId) -> Result<(), PlatformError>;

    /// Takes them back to a chain that was reset to its genesis.
    fn reset(&self) -> Result<(), PlatformError>;

    /// Takes them back after blocks left the chain, with these transactions that are neither in another block nor in the pool.
    fn rewind(&self, lost: &[B256]) -> Result<(), PlatformError>;

    /// Returns the hashes of the transactions that made them.
    fn transactions(&self) -> Result<Vec<B256>, PlatformError>;

    /// Takes them back after a loaded chain took the place of the chain, and ended its snapshots, with these transactions that are neither in
    /// a block nor in the pool of the loaded one.
    fn replace(&self, lost: &[B256]) -> Result<(), PlatformError>;
}

/// Whether the methods of a development node are there: `anvil_*`, `evm_*`, `hardhat_*`, and the accounts that the node signs for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Development {
    /// All methods.
    Open,
    /// Neither methods that change the chain by hand nor unlocked accounts.
    Closed,
}

impl Development {
    /// Whether the method with this name is there.
    fn has(self, method: &str) -> bool {
        let is_development = ["anvil_", "evm_", "hardhat_"].iter().any(|prefix| method.starts_with(prefix))
            || matches!(
                method,
                "eth_sendTransaction"
                    | "eth_sendUnsignedTransaction"
                    | "eth_signTransaction"
                    | "eth_sign"
                    | "eth_signTypedData"
                    | "eth_signTypedData_v4"
                    | "personal_sign"
            );
        self == Self::Open || !is_development
    }
}

impl Eth {
    /// Creates the state of the methods over `node`.
    pub(crate) fn new(node: Node, counters: Arc<Counters>, development: Development) -> Self {
        let (filters, logs) = (Filters::default(), SharedLogs::default());
        Self { node, filters, logs, counters, development, monitor: None, records: None, call_gas_max: None }
    }

    /// Sets the monitor of the methods' calls.
    pub(crate) fn with_monitor(self, monitor: Option<Arc<dyn RpcMonitor>>) -> Self {
        Self { monitor, ..self }
    }

    /// Sets the records that snapshots cover.
    pub(crate) fn with_records(self, records: Option<Arc<dyn ChainRecords>>) -> Self {
        Self { records, ..self }
    }

    /// Sets how much gas a call has that changes nothing.
    pub(crate) fn with_call_gas_max(self, call_gas_max: Option<Gas>) -> Self {
        Self { call_gas_max, ..self }
    }

    /// Runs a handler; a panic is counted and becomes an internal error.
    fn caught<T>(&self, handler: impl FnOnce() -> Result<T, RpcError>) -> Result<T, RpcError> {
        catch_unwind(AssertUnwindSafe(handler)).unwrap_or_else(|payload| {
            self.counters.count_panic();
            let text = panic_text(payload.as_ref());
            Err(error(INTERNAL_ERROR, format!("internal error: the method panicked: {text}")))
        })
    }

    fn view(&self) -> Arc<NodeView> {
        self.node.view()
    }
}

/// Registers all methods.
pub(crate) fn module(eth: Arc<Eth>) -> RpcModule<Eth> {
    let mut methods = Methods { development: eth.development, module: RpcModule::from_arc(eth) };
    accounts::register(&mut methods);
    blocks::register(&mut methods);
    calls::register(&mut methods);
    debug::register(&mut methods);
    development::register(&mut methods);
    fees::register(&mut methods);
    filters::register(&mut methods);
    logs::register(&mut methods);
    meta::register(&mut methods);
    pool::register(&mut methods);
    receipts::register(&mut methods);
    transactions::register(&mut methods);
    methods.module
}

/// A module under construction. A name that is registered twice fails a debug assertion.
struct Methods {
    module: RpcModule<Eth>,
    development: Development,
}

type Handler<T> = fn(&Eth, &Args<'_>) -> Result<T, RpcError>;

impl Methods {
    /// Registers a method of at most `args_max` parameters. It runs on the calling thread, which [`work::Work`] decides.
    fn add<T: Serialize + Clone + 'static>(&mut self, name: &'static str, args_max: usize, handler: Handler<T>) {
        if !self.development.has(name) {
            return;
        }
        let registered = self.module.register_method(name, move |params, eth, extensions| {
            let read = Args::read(&params, args_max)
                .map(|args| args.with_cancellation(extensions.get()).with_caller(extensions.get()));
            let result = eth.caught(|| read.and_then(|args| handler(eth, &args)));
            eth.tell_monitor(name, params.as_str(), result.as_ref());
            result
        });
        debug_assert!(registered.is_ok(), "{name} is registered twice");
    }

    /// Registers one method under several names.
    fn add_all<T: Serialize + Clone + 'static>(
        &mut self,
        names: &[&'static str],
        args_max: usize,
        handler: Handler<T>,
    ) {
        for name in names {
            self.add(name, args_max, handler);
        }
    }
}
