//! Ethereum JSON-RPC, REST and `/v1/rpc` over the node, and an in-process transport for `alloy`.
//!
//! This floor only translates: what a request means is decided by the [`node`](crate::node) and the
//! [`platform`](crate::platform) below. [`EthRpc`] answers without a socket; [`Server`] puts it and the
//! service behind one port.
//!
//! | path | what answers |
//! |---|---|
//! | `/` | Ethereum JSON-RPC of the default chain over POST and WebSocket; a page for a browser |
//! | `/v1/blockchains/:id/eth` | the same for any chain |
//! | `/v1/...` | the service: REST in an envelope, `/v1/rpc`, described by `/v1/openapi.json` |
//!
//! | bound | value |
//! |---|---|
//! | JSON-RPC body | [`RPC_BODY_BYTES_MAX`] |
//! | REST body | [`REST_BODY_BYTES_MAX`] |
//! | calls in a batch | [`BATCH_CALLS_MAX`] |
//! | WebSocket connections | [`WEBSOCKETS_MAX`] |
//!
//! Codes of JSON-RPC errors are in [`jsonrpc::errors`]. Transactions sent one after the other in a batch share a block while the node
//! mines each transaction; a read in between sees what was sent before it.
//!
//! ```
//! use chainbox::{node::Node, server::EthRpc};
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let rpc = EthRpc::new(Node::new());
//! let chain_id: String = rpc.methods().call("eth_chainId", Vec::<()>::new()).await?;
//! assert_eq!(chain_id, "0x7a69");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod api_error;
mod chains;
pub mod clock;
pub mod decode;
mod driver;
mod eth;
mod http;
mod in_process;
pub mod jsonrpc;
pub mod rest;
mod service_rpc;

pub use chains::Chains;
pub use driver::drive;
pub use eth::rpc::{BATCH_CALLS_MAX, EthRpc};
pub use http::{REST_BODY_BYTES_MAX, RPC_BODY_BYTES_MAX, ServeError, Server, ServerConfig, WEBSOCKETS_MAX};
pub use in_process::InProcess;
