//! Executing the Ethereum methods: on which thread, and consecutive sends of a batch in one block.
//!
//! The same dispatch serves HTTP (over [`MethodTable`]) and WebSocket (over jsonrpsee's own service, which
//! knows subscriptions).

use futures_util::future::Either;
use jsonrpsee::{
    core::middleware::{Request, ResponseFuture},
    server::{
        MethodCallback, MethodResponse, Methods, SyncMethod,
        middleware::rpc::{RpcService, RpcServiceT},
    },
    types::{Params, ResponsePayload},
};

use super::{convert, module, params::Args, transactions};
use crate::{
    node::{Node, Submission},
    server::jsonrpc::{
        errors::{self, INTERNAL_ERROR, error},
        service::{Dispatch, JsonRpcService, MethodTable},
    },
};

/// Bytes of one response. The longest one is the dump of a large chain.
pub(crate) const RESPONSE_BYTES_MAX: usize = 512 << 20;

/// Ethereum JSON-RPC of one chain over HTTP or in process.
pub(crate) type EthHttpService = JsonRpcService<EthDispatch<JsonRpcService<MethodTable>>>;

/// The Ethereum JSON-RPC of one chain: its methods, callable without a socket, and its node.
#[derive(Clone, Debug)]
pub struct EthRpc {
    methods: Methods,
    node: Node,
}

impl EthRpc {
    /// Registers all methods over `node`. Its polled filters live as long as this value.
    pub fn new(node: Node) -> Self {
        Self { methods: module(node.clone()).into(), node }
    }

    /// The methods, by name.
    pub const fn methods(&self) -> &Methods {
        &self.methods
    }

    /// The node behind the methods.
    pub const fn node(&self) -> &Node {
        &self.node
    }

    /// The service for requests over HTTP.
    pub(crate) fn http_service(&self) -> EthHttpService {
        let inner =
            JsonRpcService(MethodTable { methods: self.methods.clone(), response_bytes_max: RESPONSE_BYTES_MAX });
        JsonRpcService(EthDispatch { rpc: self.clone(), inner })
    }
}

/// Puts [`EthDispatch`] around jsonrpsee's WebSocket service.
#[derive(Clone, Debug)]
pub(crate) struct EthLayer(pub(crate) EthRpc);

impl tower::Layer<RpcService> for EthLayer {
    type Service = JsonRpcService<EthDispatch<RpcService>>;

    fn layer(&self, inner: RpcService) -> Self::Service {
        JsonRpcService(EthDispatch { rpc: self.0.clone(), inner })
    }
}

/// Dispatch of one chain's methods to `inner`.
#[derive(Clone, Debug)]
pub(crate) struct EthDispatch<S> {
    rpc: EthRpc,
    inner: S,
}

impl<S> Dispatch for EthDispatch<S>
where
    S: RpcServiceT<MethodResponse = MethodResponse> + Clone + Send + Sync + 'static,
{
    fn response_bytes_max(&self) -> usize {
        RESPONSE_BYTES_MAX
    }

    fn call<'a>(&self, request: Request<'a>) -> impl Future<Output = MethodResponse> + Send + 'a {
        match self.rpc.methods.method(&request.method) {
            Some(MethodCallback::Sync(callback)) if waits_for_writer(&request.method) && self.rpc.node.is_busy() => {
                ResponseFuture::future(Either::Left(call_blocking(callback.clone(), request)))
            }
            Some(_) => ResponseFuture::future(Either::Right(self.inner.call(request))),
            None => {
                let error = errors::method_not_found(&request.method);
                ResponseFuture::ready(MethodResponse::error(request.id, error))
            }
        }
    }

    fn is_grouped(&self, request: &Request<'_>) -> bool {
        matches!(&*request.method, "eth_sendRawTransaction" | "eth_sendTransaction" | "eth_sendUnsignedTransaction")
    }

    /// Sends of a batch are one command: signers are recovered on all cores, and automining puts the transactions into one block.
    /// What other clients send is mined as without the batch.
    fn call_group<'a>(&self, requests: Vec<Request<'a>>) -> impl Future<Output = Vec<MethodResponse>> + Send + 'a {
        let dispatch = self.clone();
        async move { send_together(&dispatch.rpc.node, requests).await }
    }
}

async fn send_together(node: &Node, requests: Vec<Request<'_>>) -> Vec<MethodResponse> {
    let read = |request: &Request<'_>| {
        let params = Params::new(request.params.as_ref().map(|params| params.get()));
        transactions::submission(node, &request.method, &Args::read(&params, 1)?)
    };
    let submissions: Vec<Result<Submission, _>> = requests.iter().map(read).collect();
    let valid: Vec<Submission> = submissions.iter().flatten().cloned().collect();
    let node = node.clone();
    let results = match tokio::runtime::Handle::try_current() {
        // Recovering hundreds of signers takes milliseconds, which other connections must not wait for.
        Ok(runtime) => runtime.spawn_blocking(move || node.send_together(valid)).await.unwrap_or_default(),
        Err(_) => node.send_together(valid),
    };
    let mut results = results.into_iter();
    requests
        .into_iter()
        .zip(submissions)
        .map(|(request, submission)| {
            let result = submission.and_then(|_| match results.next() {
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
        Ok(runtime) => runtime.spawn_blocking(call).await.unwrap_or_else(|cause| {
            MethodResponse::error(failed_id, error(INTERNAL_ERROR, format!("the call was cancelled: {cause}")))
        }),
        Err(_) => call(),
    }
}
