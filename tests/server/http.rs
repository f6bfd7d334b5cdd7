//! A server on a free port of the loopback interface, and a small HTTP/1.1 client.

use std::{net::SocketAddr, sync::Arc};

use chainbox::{
    node::{Clock, Node},
    platform::{
        Blockchain, BlockchainSpec, DEFAULT_BLOCKCHAIN_ID, Plan, Plans, Platform, PlatformBuilder, Scope,
        vault::MasterKey,
    },
    server::{Chains, Counters, Server, ServerConfig, ServerLimits, WallClock},
    store::KeyValue,
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::oneshot,
};

use crate::endpoint_table::note_call;

/// A running server. Dropping it stops it.
pub(crate) struct Service {
    pub(crate) address: SocketAddr,
    pub(crate) api_key: String,
    pub(crate) platform: Arc<Platform>,
    pub(crate) counters: Arc<Counters>,
    _stop: oneshot::Sender<()>,
}

/// Response of the server.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|cause| panic!("{cause}: {}", self.body))
    }
}

impl Service {
    pub(crate) async fn start() -> Self {
        Self::over(Node::new()).await
    }

    pub(crate) async fn over(node: Node) -> Self {
        Self::with(node, |config| config).await
    }

    /// Starts a server over `node` with other bounds.
    pub(crate) async fn limited(node: Node, change: impl FnOnce(&mut ServerLimits)) -> Self {
        let mut limits = ServerLimits::default();
        change(&mut limits);
        Self::with(node, |config| config.with_limits(limits)).await
    }

    /// Starts a server whose default workspace has a plan.
    pub(crate) async fn planned(plan: Plan) -> Self {
        let plans = Plans::default().with(Plans::UNLIMITED, plan);
        Self::with_platform(Node::new(), |builder| builder.with_plans(plans), |config| config).await
    }

    /// Starts a server over `node` with another configuration.
    pub(crate) async fn with(node: Node, config: impl FnOnce(ServerConfig) -> ServerConfig) -> Self {
        Self::with_platform(node, |builder| builder, config).await
    }

    /// Starts a server whose platform goes by a clock of the test's own.
    pub(crate) async fn timed(clock: Arc<dyn Clock>) -> Self {
        Self::at(Node::new(), clock, |builder| builder, |config| config).await
    }

    /// Starts a server over a store, under a master key that is the same each time.
    pub(crate) async fn stored(store: Arc<dyn KeyValue>) -> Self {
        Self::stored_with(store, |config| config).await
    }

    /// Starts a server over a store with another configuration.
    pub(crate) async fn stored_with(
        store: Arc<dyn KeyValue>,
        config: impl FnOnce(ServerConfig) -> ServerConfig,
    ) -> Self {
        let spec = BlockchainSpec::read(json!({ "name": "test" })).unwrap();
        let chain = Blockchain::running(DEFAULT_BLOCKCHAIN_ID.to_owned(), spec, Node::new(), 0);
        let builder = Platform::builder(Arc::new(WallClock)).with_store(store);
        let platform = builder.open_with(chain, MasterKey::new([7; 32].into()), Vec::new()).unwrap();
        Self::serve(Arc::new(platform), config).await
    }

    async fn with_platform(
        node: Node,
        builder: impl FnOnce(PlatformBuilder) -> PlatformBuilder,
        config: impl FnOnce(ServerConfig) -> ServerConfig,
    ) -> Self {
        Self::at(node, Arc::new(WallClock), builder, config).await
    }

    async fn at(
        node: Node,
        clock: Arc<dyn Clock>,
        builder: impl FnOnce(PlatformBuilder) -> PlatformBuilder,
        config: impl FnOnce(ServerConfig) -> ServerConfig,
    ) -> Self {
        let spec = BlockchainSpec::read(json!({ "name": "test" })).unwrap();
        let chain = Blockchain::running(DEFAULT_BLOCKCHAIN_ID.to_owned(), spec, node, 0);
        let platform = Arc::new(builder(Platform::builder(clock)).open(chain).unwrap());
        Self::serve(platform, config).await
    }

    async fn serve(platform: Arc<Platform>, config: impl FnOnce(ServerConfig) -> ServerConfig) -> Self {
        let api_key = platform.create_api_key("test", &[Scope::Admin]).unwrap().text().to_owned();
        let config = config(ServerConfig::new(([127, 0, 0, 1], 0).into()).with_open_origins())
            .with_allowed_hosts(vec!["chain.example".to_owned()]);
        let chains = Chains::new(platform.clone());
        let counters = chains.counters().clone();
        let server = Server::bind(chains, config).await.unwrap();
        let address = server.local_addr();
        let (stop, stopped) = oneshot::channel::<()>();
        tokio::spawn(server.serve(async {
            let _ = stopped.await;
        }));
        Self { address, api_key, platform, counters, _stop: stop }
    }

    /// Sends one request with these headers, `Host` and `Content-Length`.
    pub(crate) async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        let mut text = format!("{method} {path} HTTP/1.1\r\ncontent-length: {}\r\nconnection: close\r\n", body.len());
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            text += &format!("host: {}\r\n", self.address);
        }
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(format!("{text}\r\n").as_bytes()).await.unwrap();
        // The server may respond and close before it has read a body that is too long.
        let _ = stream.write_all(body.as_bytes()).await;
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes).await;
        let reply = parse(&bytes);
        note_call(method, path, reply.status);
        reply
    }

    /// Sends one request without a body and returns the head of the response.
    pub(crate) async fn head(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> String {
        let mut text = format!("{method} {path} HTTP/1.1\r\nhost: {}\r\n", self.address);
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(format!("{text}\r\n").as_bytes()).await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        String::from_utf8(head).unwrap()
    }

    /// Posts JSON-RPC text to `/`.
    pub(crate) async fn rpc_text(&self, body: &str) -> Reply {
        self.send("POST", "/", &[("content-type", "application/json")], body).await
    }

    /// Calls one method.
    pub(crate) async fn rpc(&self, method: &str, params: Value) -> Value {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        self.rpc_text(&call.to_string()).await.json()
    }

    /// Calls the service with the admin key.
    pub(crate) async fn rest(&self, method: &str, path: &str, body: Value) -> Reply {
        let headers = [("x-api-key", self.api_key.as_str()), ("content-type", "application/json")];
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.send(method, path, &headers, &body).await
    }
}

/// Parses status line, headers and body (with a length, in chunks, or up to the end).
fn parse(bytes: &[u8]) -> Reply {
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no HTTP response: {text:?}"));
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": ").map(|(name, value)| (name.to_owned(), value.to_owned())))
        .collect();
    let chunked =
        headers.iter().any(|(name, value)| name.eq_ignore_ascii_case("transfer-encoding") && value == "chunked");
    let body = if chunked { join_chunks(body) } else { body.to_owned() };
    Reply { status, headers, body }
}

fn join_chunks(mut rest: &str) -> String {
    let mut body = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        if size == 0 {
            break;
        }
        body += &after[..size];
        rest = &after[size + 2..];
    }
    body
}
