//! What a console is told of Ethereum JSON-RPC: changes by a development node's methods, and requests that failed.

use core::fmt::Debug;
use std::sync::Arc;

use serde_json::Value;

use crate::node::NodeView;

/// A call of a method that a monitor is told of.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct MonitoredCall<'a> {
    /// Name of the method.
    pub method: &'a str,
    /// Parameters as JSON text; empty without any, and for parameters of more than 64 KiB.
    pub params: &'a str,
    /// Result of the method, or the message of its error.
    pub result: Result<&'a Value, &'a str>,
    /// The node after the call.
    pub view: &'a Arc<NodeView>,
}

impl<'a> MonitoredCall<'a> {
    /// Returns a call with these parts.
    pub const fn new(
        method: &'a str,
        params: &'a str,
        result: Result<&'a Value, &'a str>,
        view: &'a Arc<NodeView>,
    ) -> Self {
        Self { method, params, result, view }
    }
}

/// Hears of calls of the Ethereum JSON-RPC of a chain: the methods of a development node that changed something, and calls, estimates and sends
/// that failed. Object-safe, and stays so.
pub trait RpcMonitor: Debug + Send + Sync {
    /// Takes notice of a call. Runs on the thread of the method, which waits for it: it may not block.
    fn on_call(&self, call: &MonitoredCall<'_>);
}
