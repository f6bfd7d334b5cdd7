//! Ethereum JSON-RPC, REST and `/v1/rpc` over the node, and an in-process transport for `alloy`.
//!
//! This floor only translates: what a request means is decided by the [`node`](crate::node) and the
//! [`platform`](crate::platform) below. [`EthRpc`] works without a socket; [`Server`] serves it and the
//! service on one port.
//!
//! | path | served there |
//! |---|---|
//! | `/` | Ethereum JSON-RPC of the default chain over POST and WebSocket; a page for a browser |
//! | `/v1/blockchains/:id/eth` | the same for any chain |
//! | `/v1/rpc` | JSON-RPC of the service |
//! | `/oauth/...`, `/.well-known/oauth-authorization-server` | the authorization server, once [`AuthorizationServer`]'s router is mounted |
//! | `/v1/...` | REST in an envelope, described by `/v1/openapi.json` |
//! | `/metrics` | figures for Prometheus |
//!
//! | bound | value |
//! |---|---|
//! | body of Ethereum JSON-RPC, or WebSocket message | [`RPC_BODY_BYTES_MAX`] |
//! | body of `anvil_loadState` over HTTP | [`LOAD_BODY_BYTES_MAX`] |
//! | body of REST or `/v1/rpc`; that of an import | [`REST_BODY_BYTES_MAX`]; [`IMPORT_BODY_BYTES_MAX`] |
//! | calls in a batch; bytes of their responses | [`BATCH_CALLS_MAX`]; [`BATCH_RESPONSE_BYTES_MAX`] |
//! | items of a page | [`PAGE_LIMIT_MAX`] |
//! | connections, WebSocket sessions, subscriptions of one, bytes being received, times | [`ServerLimits`] |
//!
//! | JSON-RPC error code | meaning | source |
//! |---|---|---|
//! | -32700, -32600, -32601, -32602, -32603 | parse error, invalid request, method not found, invalid params, internal error | JSON-RPC 2.0, 5.1 |
//! | -32000 | the request is refused, as when the pool rejects a transaction; unknown filter | geth |
//! | -32001 | unknown block or transaction | EIP-1474 |
//! | -32003 | execution halted otherwise than by a revert | EIP-1474 |
//! | -32004 | the node does not support the method | EIP-1474 |
//! | -32005 | a bound is exceeded | EIP-1474 |
//! | -32006 | credentials are missing or lack a scope (`/v1/rpc` only) | |
//! | -32050 | the disk of the chain's store is full: nothing was changed, reads go on; `data.details` has `freeBytes` and `freeBytesMin` | |
//! | 3 | execution reverted; `data` is the revert data in hex | geth |
//! | 4444 | the block or its state was pruned | EIP-4444, geth |
//!
//! Consecutive sends of a batch share a block while the node mines each transaction; a read between them sees the state
//! after the sends before it. They are one command of the node: what other clients send meanwhile is mined as without them.
//!
//! Block parameters: `pending` is the block that would be mined now, executed, in every method that takes one; its `hash`, `nonce` and
//! `miner` are null, as in geth. `latest` and `pending` show what `anvil_set*` changed since the head; a number, a hash and every other
//! tag name a block's own state. `eth_getProof` always proves a block's own state, so that the proof verifies under the block's
//! `stateRoot`: at `latest` it lacks such changes until a block records them.
//!
//! `evm_revert` restores blocks, state, time and the pool of the snapshot, as Hardhat does. `anvil_reset` goes to genesis, also where the node
//! was opened on a database with blocks.
//!
//! Where the schemas of the execution APIs, geth and anvil differ, they count in this order. `eth_sendTransaction` makes an EIP-2930
//! transaction of an access list with `gasPrice`, a legacy one of `gasPrice` alone, else an EIP-1559 one. Raw transactions without
//! a chain id (before EIP-155) are refused.
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

#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

mod api_error;
mod chains;
mod changes;
mod clock;
mod commands;
mod counters;
mod credentials;
mod decode;
mod domain_proof;
mod driver;
mod eth;
mod http;
mod ids;
mod in_process;
mod jsonrpc;
mod limits;
mod limits_file;
pub mod mail;
mod monitor;
mod oauth;
pub mod openid;
pub mod outbound;
mod queue_error;
mod rest;
mod serve;
mod service_rpc;

pub use chains::Chains;
pub use clock::{ChainClock, TravelClock, WallClock, date, now_ms};
pub use counters::Counters;
pub use decode::{decode_call, decode_error, describe_revert};
pub use domain_proof::{ResolveTxt, ResolvingTxt, SystemTxtResolver};
pub use driver::drive;
pub use eth::rpc::EthRpc;
pub use http::{
    ForwardingHeader, InvalidProxyNetwork, InvalidToken, ProxyNetwork, ServeError, Server, ServerConfig, ServerTls,
    TlsError, TrustedProxies,
};
pub use in_process::InProcess;
pub use limits::{
    BATCH_CALLS_MAX, BATCH_RESPONSE_BYTES_MAX, BUFFERED_BODY_BYTES_MAX, CALL_GAS_MAX, COMMAND_WAIT_MAX,
    COMMANDS_WAITING_MAX, CONNECTIONS_MAX, FormRate, IMPORT_BODY_BYTES_MAX, LOAD_BODY_BYTES_MAX, PAGE_LIMIT_MAX,
    READS_PER_CORE, READS_WAITING_MAX, REST_BODY_BYTES_MAX, REST_REQUESTS_MAX, RPC_BODY_BYTES_MAX, RateLimit,
    SUBSCRIPTIONS_MAX, ServerLimits, WEBSOCKETS_MAX,
};
pub use limits_file::{InvalidLimits, Limits};
pub use monitor::{MonitoredCall, RpcMonitor};
pub use oauth::{AuthorizationServer, LogInLink, LogInProvider};
pub use rest::{TemplateParameter, TemplateView, endpoint_table, openapi_json};
pub use serve::{RunningServer, serve, serve_with};
