//! The Ethereum JSON-RPC of one chain, callable without a socket.
//!
//! One file per family of methods. Reads take an immutable view and do not wait for the writer; methods that may
//! run long use tokio's blocking threads.

mod accounts;
mod blocks;
mod calls;
pub(crate) mod convert;
mod debug;
mod development;
mod fees;
mod filters;
mod logs;
mod meta;
pub(crate) mod params;
mod pool;
mod receipts;
pub(crate) mod rpc;
pub(crate) mod subscriptions;
mod transactions;

use std::sync::Arc;

use jsonrpsee::RpcModule;
use serde::Serialize;

use self::{filters::Filters, params::Args};
use super::jsonrpc::errors::RpcError;
use crate::node::{Node, NodeView};

/// State of the methods of one chain.
#[derive(Debug)]
pub(crate) struct Eth {
    node: Node,
    filters: Filters,
}

impl Eth {
    fn view(&self) -> Arc<NodeView> {
        self.node.view()
    }
}

/// Registers all methods over `node`.
pub(crate) fn module(node: Node) -> RpcModule<Eth> {
    let eth = Eth { node, filters: Filters::default() };
    let mut methods = Methods(RpcModule::new(eth));
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
    subscriptions::register(&mut methods);
    transactions::register(&mut methods);
    methods.0
}

/// A module under construction. A name that is registered twice fails a debug assertion.
struct Methods(RpcModule<Eth>);

type Handler<T> = fn(&Eth, &Args<'_>) -> Result<T, RpcError>;

impl Methods {
    /// Registers a method of at most `args_max` parameters that runs on the calling thread.
    fn add<T: Serialize + Clone + 'static>(&mut self, name: &'static str, args_max: usize, handler: Handler<T>) {
        let registered = self.0.register_method(name, move |params, eth, _| {
            Args::read(&params, args_max).and_then(|args| handler(eth, &args))
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

    /// Registers a method that may run long, on a blocking thread, under several names.
    fn add_blocking<T: Serialize + Clone + Send + 'static>(
        &mut self,
        names: &[&'static str],
        args_max: usize,
        handler: Handler<T>,
    ) {
        for name in names {
            let registered = self.0.register_blocking_method(name, move |params, eth, _| {
                Args::read(&params, args_max).and_then(|args| handler(&eth, &args))
            });
            debug_assert!(registered.is_ok(), "{name} is registered twice");
        }
    }
}
