//! Bounds of requests, connections and sessions.

use std::time::Duration;

use serde::Deserialize;

/// Bytes of one JSON-RPC request body, geth's bound; [`LOAD_BODY_BYTES_MAX`] for methods that load a whole chain.
pub const RPC_BODY_BYTES_MAX: usize = 5 << 20;
/// Bytes of the body of `anvil_loadState` or `hardhat_loadState`, which send a whole chain over HTTP.
pub const LOAD_BODY_BYTES_MAX: usize = 64 << 20;
/// Bytes of one REST request body.
pub const REST_BODY_BYTES_MAX: usize = 1 << 20;
/// Bytes of the body of an import of a blockchain, which has the text of an export in it.
pub const IMPORT_BODY_BYTES_MAX: usize = 64 << 20;
/// Calls in one JSON-RPC batch, geth's bound.
pub const BATCH_CALLS_MAX: u32 = 1000;
/// Bytes of the responses to one JSON-RPC batch, geth's bound; a single call's response may be longer.
pub const BATCH_RESPONSE_BYTES_MAX: usize = 25_000_000;
/// WebSocket sessions open at one time, by default.
pub const WEBSOCKETS_MAX: usize = 1024;
/// Connections open at one time, by default; a WebSocket session counts as one of [`WEBSOCKETS_MAX`] instead.
pub const CONNECTIONS_MAX: usize = 4096;
/// Subscriptions of one WebSocket session, by default.
pub const SUBSCRIPTIONS_MAX: usize = 1024;
/// Bytes of request bodies that are being received at one time, by default; short ones don't count.
pub const BUFFERED_BODY_BYTES_MAX: usize = 256 << 20;
/// Commands that wait for their turn on one chain; a further one is refused with error -32005, or 503 over REST.
pub const COMMANDS_WAITING_MAX: usize = 1024;
/// Time for which a command or a long read waits for its turn; error -32005 after it, or 503 over REST.
pub const COMMAND_WAIT_MAX: Duration = Duration::from_secs(60);
/// Long reads of all chains that run at one time, for each core; further ones wait. More of them would take the processors from the
/// threads that serve connections. One chain has half of them at most.
pub const READS_PER_CORE: usize = 2;
/// Long reads of one chain that wait for a turn of the chain, and of all chains that wait for one of theirs; a further one is refused as a
/// command is.
pub const READS_WAITING_MAX: usize = 1024;
/// REST requests that wait for an answer from the network at one time, such as tests of webhooks; a further one is refused with 503.
pub(crate) const OUTBOUND_MAX: usize = 64;
/// Those of one workspace; a further one is refused with 429.
pub(crate) const OUTBOUND_PER_WORKSPACE_MAX: usize = 2;
/// After how long a request that was refused so may be repeated: the slowest of those before it take 15 s.
pub(crate) const OUTBOUND_RETRY: Duration = Duration::from_secs(5);

/// Gas of a call that changes nothing on a chain of the service, by default: geth's bound (`--rpc.gascap`).
pub const CALL_GAS_MAX: u64 = 50_000_000;

/// REST requests that are worked on at one time, by default.
pub const REST_REQUESTS_MAX: usize = 512;
/// Items of a page of a list that a client may ask for, by default.
pub const PAGE_LIMIT_MAX: u64 = 100;

/// So many requests of one caller in a window of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RateLimit {
    /// Requests of a window.
    pub requests: u64,
    /// Length of the window; `window_secs` in a file.
    #[serde(rename = "window_secs", deserialize_with = "secs")]
    pub window: Duration,
}

impl Default for RateLimit {
    /// 6,000 requests a minute.
    fn default() -> Self {
        Self { requests: 6_000, window: Duration::from_secs(60) }
    }
}

/// So many forms of one address in a window of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FormRate {
    /// Forms of a window.
    pub requests: u64,
    /// Length of the window; `window_secs` in a file.
    #[serde(rename = "window_secs", deserialize_with = "secs")]
    pub window: Duration,
}

impl Default for FormRate {
    /// 300 forms a minute.
    fn default() -> Self {
        Self { requests: 300, window: Duration::from_secs(60) }
    }
}

impl From<FormRate> for RateLimit {
    fn from(rate: FormRate) -> Self {
        Self { requests: rate.requests, window: rate.window }
    }
}

/// Bounds of a server, each with a default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ServerLimits {
    /// Connections open at one time; further ones are answered with 503 and closed.
    pub connections_max: usize,
    /// WebSocket sessions open at one time; further ones are answered with 503.
    pub websockets_max: usize,
    /// Subscriptions of one WebSocket session; further ones are refused with error -32005.
    pub subscriptions_max: usize,
    /// Bytes of request bodies and WebSocket messages that are being received at one time; past it, a request is answered with 503 and a
    /// session is closed. Bodies of at most 64 KiB don't count.
    pub buffered_body_bytes_max: usize,
    /// REST requests that are worked on at one time; further ones are answered with 503.
    pub rest_requests_max: usize,
    /// Bytes of one request body under `/v1` and `/oauth`, that of `/v1/rpc` included; 413 past it.
    pub rest_body_bytes_max: usize,
    /// Bytes of one body of Ethereum JSON-RPC or message of a WebSocket; past it 413, or the session is closed. Methods that load a whole
    /// chain take [`LOAD_BODY_BYTES_MAX`].
    pub rpc_body_bytes_max: usize,
    /// Calls in one JSON-RPC batch; a longer one is refused with error -32005.
    pub batch_calls_max: u32,
    /// Items of a page of a list that a client may ask for, from 20; 400 past it.
    pub page_limit_max: u64,
    /// Gas that a call, a simulation or an estimate has on a chain of the service; one that asks for more, or for none, has so much, as in geth. On
    /// the default chain, which is its process's own, it has as much as a block.
    pub call_gas_max: u64,
    /// REST requests of one caller in a window: an API key, a user, or an address without credentials; further ones are answered with 429. Each
    /// call of a batch of JSON-RPC counts as a request; a batch that does not fit is refused whole, and counts as one.
    pub rate: RateLimit,
    /// Forms of the authorization server's pages that one address sends in a window; further ones are answered with 429. What programs
    /// send to `/oauth/token` and the like counts by [`rate`](Self::rate), by address too.
    pub form_rate: FormRate,
    /// Time within which a client must send the head of its next request; a connection idle for longer is closed.
    #[serde(rename = "head_timeout_secs", deserialize_with = "secs")]
    pub head_timeout: Duration,
    /// Time within which the next part of a request body must arrive; 408 after it.
    #[serde(rename = "body_timeout_secs", deserialize_with = "secs")]
    pub body_timeout: Duration,
    /// Time for which a client waits for a response, body included; 503 after it. A command that has begun
    /// is finished, a row of blocks ends after the block under way.
    #[serde(rename = "request_timeout_secs", deserialize_with = "secs")]
    pub request_timeout: Duration,
    /// Time between two pings of a WebSocket session.
    #[serde(rename = "ping_interval_secs", deserialize_with = "secs")]
    pub ping_interval: Duration,
    /// Time after the last message or pong at which a WebSocket session is closed.
    #[serde(rename = "idle_timeout_secs", deserialize_with = "secs")]
    pub idle_timeout: Duration,
    /// Time in which the client of a WebSocket session must take the next 64 KiB of a message; a slower one is closed.
    #[serde(rename = "send_timeout_secs", deserialize_with = "secs")]
    pub send_timeout: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            connections_max: CONNECTIONS_MAX,
            websockets_max: WEBSOCKETS_MAX,
            subscriptions_max: SUBSCRIPTIONS_MAX,
            buffered_body_bytes_max: BUFFERED_BODY_BYTES_MAX,
            rest_requests_max: REST_REQUESTS_MAX,
            rest_body_bytes_max: REST_BODY_BYTES_MAX,
            rpc_body_bytes_max: RPC_BODY_BYTES_MAX,
            batch_calls_max: BATCH_CALLS_MAX,
            page_limit_max: PAGE_LIMIT_MAX,
            call_gas_max: CALL_GAS_MAX,
            rate: RateLimit::default(),
            form_rate: FormRate::default(),
            head_timeout: Duration::from_secs(60),
            body_timeout: Duration::from_secs(30),
            request_timeout: Duration::from_secs(600),
            ping_interval: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(90),
            send_timeout: Duration::from_secs(60),
        }
    }
}

impl ServerLimits {
    /// Returns the bound of the body of a call of `method`, in bytes.
    pub(crate) fn body_bytes_max(&self, method: Option<&str>) -> usize {
        match method {
            Some("anvil_loadState" | "hardhat_loadState") => LOAD_BODY_BYTES_MAX.max(self.rpc_body_bytes_max),
            _ => self.rpc_body_bytes_max,
        }
    }
}

/// Reads whole seconds.
fn secs<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    u64::deserialize(deserializer).map(Duration::from_secs)
}
