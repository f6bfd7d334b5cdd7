//! Bounds of requests and connections.

/// Bytes of one JSON-RPC request body. `anvil_loadState` sends a whole chain.
pub const RPC_BODY_BYTES_MAX: u32 = 64 << 20;
/// Bytes of one REST request body.
pub const REST_BODY_BYTES_MAX: usize = 1 << 20;
/// Calls in one JSON-RPC batch, geth's bound.
pub const BATCH_CALLS_MAX: u32 = 1000;
/// WebSocket connections open at one time.
pub const WEBSOCKETS_MAX: usize = 1024;
