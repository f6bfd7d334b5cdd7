//! Executing the Ethereum methods: on which thread, and consecutive sends of a batch in one block.
//!
//! The same dispatch serves HTTP and WebSocket; subscriptions are a WebSocket session's own.

use std::sync::Arc;

use alloy_primitives::Bytes;
use futures_util::future::Either;
use jsonrpsee::{
    core::middleware::{Request, ResponseFuture},
    server::{MethodCallback, MethodResponse, Methods, SyncMethod},
    types::{Params, ResponsePayload},
};

use super::{Development, Eth, convert, module, params::Args, subscriptions::Feed};
use crate::{
    node::Node,
    server::{
        counters::Counters,
        jsonrpc::{
            errors::{self, INTERNAL_ERROR, METHOD_NOT_FOUND, RpcError, error},
            service::{Dispatch, JsonRpcService, MethodTable},
        },
    },
};

/// Bytes of one response. The longest one is the dump of a large chain.
pub(crate) const RESPONSE_BYTES_MAX: usize = 512 << 20;
/// Method that starts a subscription.
pub(crate) const SUBSCRIBE: &str = "eth_subscribe";
/// Method that ends a subscription.
pub(crate) const UNSUBSCRIBE: &str = "eth_unsubscribe";

/// Ethereum JSON-RPC of one chain over HTTP or in process.
pub(crate) type EthHttpService = JsonRpcService<EthDispatch>;

/// The Ethereum JSON-RPC of one chain: its methods, callable without a socket, and its node.
#[derive(Clone, Debug)]
pub struct EthRpc {
    methods: Methods,
    eth: Arc<Eth>,
}

impl EthRpc {
    /// Registers all methods over `node`. Its polled filters live as long as this value.
    pub fn new(node: Node) -> Self {
        Self::over(Eth::new(node, Arc::default(), Development::Open))
    }

    /// As [`EthRpc::new`], without the methods that are for development: `anvil_*`, `evm_*`, `hardhat_*`, and those that sign or send
    /// with the node's accounts. `eth_accounts` is empty.
    pub fn without_development(node: Node) -> Self {
        Self::over(Eth::new(node, Arc::default(), Development::Closed))
    }

    pub(crate) fn over(eth: Eth) -> Self {
        let eth = Arc::new(eth);
        Self { methods: module(Arc::clone(&eth)).into(), eth }
    }

    /// The methods, by name; without subscriptions, which need a WebSocket.
    pub const fn methods(&self) -> &Methods {
        &self.methods
    }

    /// The node behind the methods.
    pub fn node(&self) -> &Node {
        &self.eth.node
    }

    /// Counts of panics and losses.
    pub(crate) fn counters(&self) -> &Arc<Counters> {
        &self.eth.counters
    }

    /// The methods by name, each on the thread that it needs.
    pub(crate) fn dispatch(&self) -> EthDispatch {
        let table = MethodTable { methods: self.methods.clone(), response_bytes_max: RESPONSE_BYTES_MAX };
        EthDispatch { rpc: self.clone(), table }
    }

    /// The service for requests over HTTP.
    pub(crate) fn http_service(&self) -> EthHttpService {
        JsonRpcService::new(self.dispatch(), Arc::clone(self.counters()))
    }

    /// Opens a subscription with the parameters of [`SUBSCRIBE`].
    pub(crate) fn subscribe(&self, params: &Params<'_>) -> Result<Feed, RpcError> {
        Feed::open(&self.eth, params)
    }
}

/// Dispatch of one chain's methods.
#[derive(Clone, Debug)]
pub(crate) struct EthDispatch {
    rpc: EthRpc,
    table: MethodTable,
}

impl Dispatch for EthDispatch {
    fn response_bytes_max(&self) -> usize {
        RESPONSE_BYTES_MAX
    }

    fn call<'a>(&self, request: Request<'a>) -> impl Future<Output = MethodResponse> + Send + 'a {
        match self.rpc.methods.method(&request.method) {
            Some(MethodCallback::Sync(callback)) if waits_for_writer(&request.method) && self.rpc.node().is_busy() => {
                ResponseFuture::future(Either::Left(call_blocking(callback.clone(), request)))
            }
            Some(_) => ResponseFuture::future(Either::Right(self.table.call(request))),
            None => {
                let error = match &*request.method {
                    SUBSCRIBE | UNSUBSCRIBE => {
                        let message = "notifications not supported: subscribe over WebSocket, or use eth_newFilter";
                        error(METHOD_NOT_FOUND, message)
                    }
                    unknown => errors::method_not_found(unknown),
                };
                ResponseFuture::ready(MethodResponse::error(request.id, error))
            }
        }
    }

    fn is_grouped(&self, request: &Request<'_>) -> bool {
        matches!(&*request.method, "eth_sendRawTransaction" | "eth_sendTransaction" | "eth_sendUnsignedTransaction")
    }

    /// Sends of a batch: signers are recovered on all cores, and automining puts the transactions into one block.
    fn call_group<'a>(&self, requests: Vec<Request<'a>>) -> impl Future<Output = Vec<MethodResponse>> + Send + 'a {
        let dispatch = self.clone();
        async move {
            if requests.iter().all(|request| request.method == "eth_sendRawTransaction") {
                return send_raw_batch(dispatch.rpc.node(), requests).await;
            }
            let _hold = dispatch.rpc.node().hold_mining();
            let mut responses = Vec::with_capacity(requests.len());
            for request in requests {
                responses.push(dispatch.call(request).await);
            }
            responses
        }
    }
}

async fn send_raw_batch(node: &Node, requests: Vec<Request<'_>>) -> Vec<MethodResponse> {
    let raws: Vec<Result<Bytes, _>> = requests
        .iter()
        .map(|request| {
            let params = Params::new(request.params.as_ref().map(|params| params.get()));
            Args::read(&params, 1).and_then(|args| args.required(0, "transaction"))
        })
        .collect();
    let sent: Vec<Bytes> = raws.iter().flatten().cloned().collect();
    let node = node.clone();
    let results = match tokio::runtime::Handle::try_current() {
        // Recovering hundreds of signers takes milliseconds, which other connections must not wait for.
        Ok(runtime) => runtime.spawn_blocking(move || node.send_raw_batch(&sent)).await.unwrap_or_default(),
        Err(_) => node.send_raw_batch(&sent),
    };
    let mut results = results.into_iter();
    requests
        .into_iter()
        .zip(raws)
        .map(|(request, raw)| {
            let result = raw.and_then(|_| match results.next() {
                Some(result) => result.map_err(convert::send_error),
                None => Err(error(INTERNAL_ERROR, "the node returned fewer results than transactions were sent")),
            });
            match result {
                Ok(hash) => {
                    MethodResponse::response(request.id, ResponsePayload::success(hash).into(), RESPONSE_BYTES_MAX)
                }
                Err(error) => MethodResponse::error(request.id, error),
            }
        })
        .collect()
}

/// Whether a method changes the node.
fn waits_for_writer(method: &str) -> bool {
    let reads = ["eth_", "net_", "web3_", "txpool_", "debug_", "rpc_"].iter().any(|prefix| method.starts_with(prefix));
    !reads || method.starts_with("eth_send")
}

/// Calls a method that has to wait on one of tokio's blocking threads: its worker threads are few.
async fn call_blocking(callback: SyncMethod, request: Request<'_>) -> MethodResponse {
    let Request { id, params, extensions, .. } = request;
    let (id, params) = (id.into_owned(), params.map(|params| params.get().to_owned()));
    let failed_id = id.clone();
    let call = move || callback(id, Params::new(params.as_deref()), RESPONSE_BYTES_MAX, extensions);
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => runtime.spawn_blocking(call).await.unwrap_or_else(|cause| match cause.try_into_panic() {
            // The service around this dispatch answers it.
            Ok(payload) => std::panic::resume_unwind(payload),
            Err(cause) => {
                MethodResponse::error(failed_id, error(INTERNAL_ERROR, format!("the call was cancelled: {cause}")))
            }
        }),
        Err(_) => call(),
    }
}
