//! JSON-RPC 2.0 over jsonrpsee: what the Ethereum methods and the service's methods share.

pub mod errors;
pub(crate) mod framing;
