//! Ethereum JSON-RPC, REST and `/v1/rpc` over the node, and an in-process transport for `alloy`.
//!
//! This floor only translates: what a request means is decided by the [`node`](crate::node) and the
//! [`platform`](crate::platform) below. [`EthRpc`] answers without a socket; [`Server`] puts it and the
//! service behind one port.

mod chains;
pub mod clock;
pub mod decode;
mod driver;
pub mod errors;
mod eth;
mod http;
mod in_process;
pub mod rest;
mod rpc;
mod rpc_http;

pub use chains::Chains;
pub use driver::drive;
pub use http::{REST_BODY_BYTES_MAX, RPC_BODY_BYTES_MAX, ServeError, Server, ServerConfig, WEBSOCKETS_MAX};
pub use in_process::InProcess;
pub use rpc::{BATCH_CALLS_MAX, EthRpc};
