//! A node served on a free port of the loopback interface, for tests of programs that speak JSON-RPC.

use core::num::NonZeroUsize;
use std::{
    io,
    net::SocketAddr,
    sync::{Arc, mpsc},
    thread::{self, JoinHandle},
    time::Duration,
};

use tokio::sync::oneshot;

use super::{
    chains::Chains,
    clock::{WallClock, now_ms},
    driver::drive,
    http::{ServeError, Server, ServerConfig},
};
use crate::{
    node::{NetworkPool, Node},
    platform::{Blockchain, BlockchainSpec, DEFAULT_BLOCKCHAIN_ID, DecidedBy, NativeToken, Platform},
};

/// Threads that serve connections.
const SERVING_THREADS: usize = 2;
/// Threads that let the service's chains run.
const NETWORK_THREADS: NonZeroUsize = NonZeroUsize::MIN;

/// Time for which commands on blocking threads are waited for at the end.
const RELEASE_WAIT: Duration = Duration::from_secs(2);

/// Serves a node on a free port of 127.0.0.1, from threads of its own: in a plain `#[test]` and in an asynchronous one alike. The
/// node stays usable beside it; with interval mining its blocks are made by the wall clock.
///
/// What is served is what [`Server`] serves: Ethereum JSON-RPC over HTTP and WebSocket on `/`, with the methods of a development
/// node. A node of a [`SharedNetwork`](crate::node::SharedNetwork) is served as its replica sees the chain, so that a program can be
/// tested against a provider that is behind, or on another branch than the others.
///
/// ```
/// # use std::{io::{Read, Write}, net::TcpStream};
/// # fn rpc(url: &str, method: &str) -> Result<serde_json::Value, Box<dyn std::error::Error>> {
/// #     let host = url.trim_start_matches("http://");
/// #     let body = serde_json::json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": [] }).to_string();
/// #     let mut stream = TcpStream::connect(host)?;
/// #     let head = "content-type: application/json\r\nconnection: close";
/// #     write!(stream, "POST / HTTP/1.1\r\nhost: {host}\r\n{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len())?;
/// #     let mut response = String::new();
/// #     stream.read_to_string(&mut response)?;
/// #     let (_, body) = response.split_once("\r\n\r\n").ok_or("no body")?;
/// #     Ok(serde_json::from_str::<serde_json::Value>(body)?["result"].clone())
/// # }
/// use std::time::Duration;
/// use chainbox::{
///     consensus::{ConsensusConfig, PbftConfig, ReplicaId},
///     node::Node,
///     server::serve,
///     sim::Network,
/// };
///
/// let node = Node::new();
/// let server = serve(&node)?;
/// node.mine(3)?;
/// assert_eq!(rpc(&server.url(), "eth_blockNumber")?, "0x3");
/// server.stop();
///
/// // Two providers of one network, the second of which is cut off.
/// let network = Network::builder().with_consensus(ConsensusConfig::Pbft(PbftConfig::default())).with_validators(4);
/// let network = network.build()?.share()?;
/// let providers = [serve(&network.nodes()[0])?, serve(&network.nodes()[3])?];
/// network.lock().isolate(ReplicaId::new(3))?;
/// network.nodes()[0].pass_time(Duration::from_secs(10))?;
/// let [first, second] = providers.each_ref().map(|provider| rpc(&provider.url(), "eth_blockNumber"));
/// assert!(first? != second?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`ServeError`] when there is no free port or no thread.
pub fn serve(node: &Node) -> Result<RunningServer, ServeError> {
    serve_with(node, ServerConfig::new(([127, 0, 0, 1], 0).into()).with_open_origins())
}

/// As [`serve`], with a configuration of one's own.
///
/// # Errors
/// [`ServeError`] when the address can't be listened on, or no thread can be started.
pub fn serve_with(node: &Node, config: ServerConfig) -> Result<RunningServer, ServeError> {
    let (report, started) = mpsc::channel();
    let (stop, stopped) = oneshot::channel();
    let node = node.clone();
    let thread = thread::Builder::new().name("chainbox-server".to_owned());
    let thread = thread.spawn(move || run(node, config, &report, stopped)).map_err(not_started)?;
    let address = started.recv().map_err(|_| not_started(io::Error::other("its thread has ended")))??;
    Ok(RunningServer { address, stop: Some(stop), thread: Some(thread) })
}

/// A server that runs on threads of its own; made by [`serve`]. Dropping it ends it at once, with its connections; calls under way are waited
/// for, for at most two seconds, so that none of them has the node any more when a test ends.
#[derive(Debug)]
pub struct RunningServer {
    address: SocketAddr,
    stop: Option<oneshot::Sender<Gracefully>>,
    thread: Option<JoinHandle<()>>,
}

/// An end that lets running requests finish.
#[derive(Debug)]
struct Gracefully;

impl RunningServer {
    /// Address of the listener.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// URL of Ethereum JSON-RPC over HTTP, such as `http://127.0.0.1:40123`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// URL of Ethereum JSON-RPC over WebSocket, such as `ws://127.0.0.1:40123`.
    pub fn ws_url(&self) -> String {
        format!("ws://{}", self.address)
    }

    /// Ends the server: it accepts no new connection, and finishes running requests for at most 10 seconds. It returns when nobody
    /// listens on the port any more.
    pub fn stop(mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(Gracefully);
        }
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the server's thread has been printed; the test goes on.
            let _ = thread.join();
        }
    }
}

/// Runs a server until it is to stop.
fn run(
    node: Node,
    config: ServerConfig,
    report: &mpsc::Sender<Result<SocketAddr, ServeError>>,
    stopped: oneshot::Receiver<Gracefully>,
) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(SERVING_THREADS).enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(cause) => return drop(report.send(Err(not_started(cause)))),
    };
    runtime.block_on(async {
        match bind(node, config).await {
            Ok(server) => {
                let _ = report.send(Ok(server.local_addr()));
                serve_until(server, stopped).await;
            }
            Err(cause) => drop(report.send(Err(cause))),
        }
    });
    // Connections end here, and what they hold of the node, so that its database is closed by who made it. Commands that go on for longer are
    // finished without being waited for.
    runtime.shutdown_timeout(RELEASE_WAIT);
}

async fn bind(node: Node, config: ServerConfig) -> Result<Server, ServeError> {
    let chain = Blockchain::running(DEFAULT_BLOCKCHAIN_ID.to_owned(), describe(&node), node, now_ms());
    let networks = NetworkPool::new(NETWORK_THREADS).map_err(not_started)?;
    let platform = Platform::builder(Arc::new(WallClock)).with_networks(networks).open(chain);
    let chains = Chains::new(Arc::new(platform.map_err(|cause| not_started(io::Error::other(cause)))?));
    let timer = chains.default_rpc().cloned().map(drive);
    let server = Server::bind(chains, config).await?;
    timer.map(tokio::spawn);
    Ok(server)
}

async fn serve_until(server: Server, stopped: oneshot::Receiver<Gracefully>) {
    let (finish, finished) = oneshot::channel::<()>();
    let serving = server.serve(async {
        let _ = finished.await;
    });
    tokio::pin!(serving);
    tokio::select! {
        () = &mut serving => {}
        ended = stopped => {
            if let Ok(Gracefully) = ended {
                let _ = finish.send(());
                serving.await;
            }
        }
    }
}

/// The node as the service describes it.
fn describe(node: &Node) -> BlockchainSpec {
    let view = node.view();
    BlockchainSpec {
        name: "test".to_owned(),
        kind: "private".to_owned(),
        consensus: node.consensus(),
        chain_id: Some(view.chain_id()),
        block_time: None,
        block_gas_limit: Some(view.pool_context().gas_limit),
        native_token: NativeToken::default(),
        validators: Vec::new(),
        features: vec!["smart-contracts".to_owned()],
        upgrades: DecidedBy::default(),
        membership: DecidedBy::default(),
        starts: true,
    }
}

const fn not_started(source: io::Error) -> ServeError {
    ServeError::NotStarted { source }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn the_port_is_free_again_when_a_server_is_stopped_or_dropped() {
        let node = Node::new();
        let end: [fn(RunningServer); 2] = [RunningServer::stop, drop];
        for end in end {
            let server = serve(&node).unwrap();
            let address = server.address();
            assert_eq!((server.url(), server.ws_url()), (format!("http://{address}"), format!("ws://{address}")));
            let idle = TcpStream::connect(address).unwrap();
            end(server);
            assert!(TcpStream::connect(address).is_err(), "nobody listens any more");
            drop(idle);
        }
    }

    #[test]
    fn a_port_that_is_taken_is_an_error() {
        let taken = TcpListener::bind("127.0.0.1:0").unwrap();
        let config = ServerConfig::new(taken.local_addr().unwrap());
        assert!(matches!(serve_with(&Node::new(), config), Err(ServeError::PortTaken { .. })));
    }

    #[tokio::test]
    async fn it_starts_and_ends_inside_a_runtime() {
        let server = serve(&Node::new()).unwrap();
        let stream = tokio::net::TcpStream::connect(server.address()).await.unwrap();
        drop(server);
        drop(stream);
    }
}
