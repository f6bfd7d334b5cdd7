//! The Ethereum JSON-RPC of one chain, callable without a socket.
//!
//! One file a family of methods. Reading takes an immutable view and never waits for the writer; what mines
//! many transactions runs on tokio's blocking threads.

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

/// What the methods of one chain share.
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

/// All methods over `node`.
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

/// A module being filled. Names are constants, a test calls each of them, so a duplicate can't go unseen.
struct Methods(RpcModule<Eth>);

type Handler<T> = fn(&Eth, &Args<'_>) -> Result<T, RpcError>;

impl Methods {
    /// A method of at most `most` parameters that answers at once.
    fn add<T: Serialize + Clone + 'static>(&mut self, name: &'static str, most: usize, handler: Handler<T>) {
        let registered = self.0.register_method(name, move |params, eth, _| {
            Args::read(&params, most).and_then(|args| handler(eth, &args))
        });
        debug_assert!(registered.is_ok(), "{name} is registered twice");
    }

    /// The same method under several names.
    fn add_all<T: Serialize + Clone + 'static>(&mut self, names: &[&'static str], most: usize, handler: Handler<T>) {
        for name in names {
            self.add(name, most, handler);
        }
    }

    /// A method that may take long: it runs on a blocking thread.
    fn add_slow<T: Serialize + Clone + Send + 'static>(
        &mut self,
        names: &[&'static str],
        most: usize,
        handler: Handler<T>,
    ) {
        for name in names {
            let registered = self.0.register_blocking_method(name, move |params, eth, _| {
                Args::read(&params, most).and_then(|args| handler(&eth, &args))
            });
            debug_assert!(registered.is_ok(), "{name} is registered twice");
        }
    }
}
