//! Dispatching JSON-RPC over a chain's methods: geth's words for unknown methods, one block for a batch of sends.
//!
//! The same service stands behind HTTP (over [`Calls`]) and WebSocket (over jsonrpsee's own, which
//! knows subscriptions).

use alloy_primitives::Bytes;
use futures_util::future::Either;
use jsonrpsee::{
    core::middleware::{Batch, BatchEntry, Notification, Request, ResponseFuture},
    server::{
        BatchResponseBuilder, MethodCallback, MethodResponse, Methods, SyncMethod,
        middleware::rpc::{RpcService, RpcServiceT},
    },
    types::{Id, Params, ResponsePayload},
};

use super::{
    errors::{self, METHOD_NOT_FOUND, error},
    eth::{self, params::Args},
};
use crate::node::Node;

/// Bytes of one answer; a dump of a large chain is the longest one.
pub(crate) const RESPONSE_BYTES_MAX: usize = 512 << 20;
/// Calls in one batch, as geth bounds it.
pub const BATCH_CALLS_MAX: u32 = 1000;

/// The Ethereum JSON-RPC of one chain: its methods, callable without a socket, and the chain.
#[derive(Clone, Debug)]
pub struct EthRpc {
    methods: Methods,
    node: Node,
}

impl EthRpc {
    /// All methods over `node`; its filters live as long as this does.
    pub fn new(node: Node) -> Self {
        Self { methods: eth::module(node.clone()).into(), node }
    }

    /// The methods, by name.
    pub const fn methods(&self) -> &Methods {
        &self.methods
    }

    /// The chain underneath.
    pub const fn node(&self) -> &Node {
        &self.node
    }

    /// The service that answers HTTP requests.
    pub(crate) fn http_service(&self) -> EthService<Calls> {
        EthService { rpc: self.clone(), inner: Calls { methods: self.methods.clone() } }
    }
}

/// Puts [`EthService`] around jsonrpsee's WebSocket service.
#[derive(Clone, Debug)]
pub(crate) struct EthLayer(pub(crate) EthRpc);

impl tower::Layer<RpcService> for EthLayer {
    type Service = EthService<RpcService>;

    fn layer(&self, inner: RpcService) -> Self::Service {
        EthService { rpc: self.0.clone(), inner }
    }
}

/// Calls and batches of one chain.
#[derive(Clone, Debug)]
pub(crate) struct EthService<S> {
    rpc: EthRpc,
    inner: S,
}

impl<S> RpcServiceT for EthService<S>
where
    S: RpcServiceT<MethodResponse = MethodResponse> + Clone + Send + Sync + 'static,
{
    type MethodResponse = MethodResponse;
    type NotificationResponse = MethodResponse;
    type BatchResponse = MethodResponse;

    fn call<'a>(&self, request: Request<'a>) -> impl Future<Output = MethodResponse> + Send + 'a {
        match self.rpc.methods.method(&request.method) {
            Some(MethodCallback::Sync(callback)) if waits_for_writer(&request.method) && self.rpc.node.is_busy() => {
                ResponseFuture::future(Either::Left(call_elsewhere(callback.clone(), request)))
            }
            Some(_) => ResponseFuture::future(Either::Right(self.inner.call(request))),
            None => {
                let error = errors::method_not_found(&request.method);
                ResponseFuture::ready(MethodResponse::error(request.id, error))
            }
        }
    }

    fn batch<'a>(&self, batch: Batch<'a>) -> impl Future<Output = MethodResponse> + Send + 'a {
        let service = self.clone();
        async move {
            let mut responses = BatchResponseBuilder::new_with_limit(RESPONSE_BYTES_MAX);
            let mut entries = batch.into_iter().peekable();
            let mut notified = false;
            while let Some(entry) = entries.next() {
                let mut answers = Vec::with_capacity(1);
                match entry {
                    Ok(BatchEntry::Call(request)) if sends(&request) => {
                        let mut run = vec![request];
                        while let Some(Ok(BatchEntry::Call(next))) =
                            entries.next_if(|next| matches!(next, Ok(BatchEntry::Call(request)) if sends(request)))
                        {
                            run.push(next);
                        }
                        answers = service.send_together(run).await;
                    }
                    Ok(BatchEntry::Call(request)) => answers.push(service.call(request).await),
                    Ok(BatchEntry::Notification(notification)) => {
                        notified = true;
                        service.notification(notification).await;
                    }
                    Err(entry) => {
                        let (error, id) = entry.into_parts();
                        answers.push(MethodResponse::error(id, error));
                    }
                }
                for answer in answers {
                    if let Err(too_long) = responses.append(answer) {
                        return too_long;
                    }
                }
            }
            if responses.is_empty() && notified {
                return MethodResponse::notification();
            }
            // An empty batch becomes one Invalid Request here.
            MethodResponse::from_batch(responses.finish())
        }
    }

    fn notification<'a>(&self, notification: Notification<'a>) -> impl Future<Output = MethodResponse> + Send + 'a {
        // JSON-RPC 2.0, 4.1: executed, never answered.
        let request = Request {
            jsonrpc: Default::default(),
            id: Id::Null,
            method: notification.method,
            params: notification.params,
            extensions: notification.extensions,
        };
        let call = self.call(request);
        async move {
            call.await;
            MethodResponse::notification()
        }
    }
}

impl<S> EthService<S>
where
    S: RpcServiceT<MethodResponse = MethodResponse> + Clone + Send + Sync + 'static,
{
    /// Consecutive sends of a batch: signers recovered on all cores, automined into one block.
    async fn send_together(&self, run: Vec<Request<'_>>) -> Vec<MethodResponse> {
        if run.iter().any(|request| request.method != "eth_sendRawTransaction") {
            let _hold = self.rpc.node.hold_mining();
            let mut answers = Vec::with_capacity(run.len());
            for request in run {
                answers.push(self.call(request).await);
            }
            return answers;
        }
        let raws: Vec<Result<Bytes, _>> = run
            .iter()
            .map(|request| {
                let params = Params::new(request.params.as_ref().map(|params| params.get()));
                Args::read(&params, 1).and_then(|args| args.required(0, "transaction"))
            })
            .collect();
        let sent: Vec<Bytes> = raws.iter().flatten().cloned().collect();
        let node = self.rpc.node.clone();
        let results = match tokio::runtime::Handle::try_current() {
            // Hundreds of signatures take a while: other connections are answered meanwhile.
            Ok(runtime) => runtime.spawn_blocking(move || node.send_raw_batch(&sent)).await.unwrap_or_default(),
            Err(_) => node.send_raw_batch(&sent),
        };
        let mut results = results.into_iter();
        run.into_iter()
            .zip(raws)
            .map(|(request, raw)| {
                let result = raw.and_then(|_| match results.next() {
                    Some(result) => result.map_err(eth::convert::send_error),
                    None => Err(error(errors::INTERNAL_ERROR, "the node answered fewer transactions than were sent")),
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
}

/// Whether a method changes the node, or reads what only the writer knows.
fn waits_for_writer(method: &str) -> bool {
    let reads = ["eth_", "net_", "web3_", "txpool_", "debug_", "rpc_"].iter().any(|prefix| method.starts_with(prefix));
    !reads || method.starts_with("eth_send") || matches!(method, "eth_accounts" | "eth_signTransaction")
}

/// Calls a method that has to wait on a thread that may wait: those that answer requests are few.
async fn call_elsewhere(callback: SyncMethod, request: Request<'_>) -> MethodResponse {
    let Request { id, params, extensions, .. } = request;
    let (id, params) = (id.into_owned(), params.map(|params| params.get().to_owned()));
    let failed_id = id.clone();
    let call = move || callback(id, Params::new(params.as_deref()), RESPONSE_BYTES_MAX, extensions);
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => runtime.spawn_blocking(call).await.unwrap_or_else(|cause| {
            MethodResponse::error(failed_id, error(errors::INTERNAL_ERROR, format!("the call was lost: {cause}")))
        }),
        Err(_) => call(),
    }
}

/// Whether a call puts a transaction into the pool.
fn sends(request: &Request<'_>) -> bool {
    matches!(&*request.method, "eth_sendRawTransaction" | "eth_sendTransaction" | "eth_sendUnsignedTransaction")
}

/// Plain calls, without a connection to push to.
#[derive(Clone, Debug)]
pub(crate) struct Calls {
    methods: Methods,
}

impl RpcServiceT for Calls {
    type MethodResponse = MethodResponse;
    type NotificationResponse = MethodResponse;
    type BatchResponse = MethodResponse;

    fn call<'a>(&self, request: Request<'a>) -> impl Future<Output = MethodResponse> + Send + 'a {
        let Request { id, method, params, extensions, .. } = request;
        let params = Params::new(params.as_ref().map(|params| params.get()));
        match self.methods.method(&method) {
            Some(MethodCallback::Sync(callback)) => {
                ResponseFuture::ready(callback(id, params, RESPONSE_BYTES_MAX, extensions))
            }
            Some(MethodCallback::Async(callback)) => ResponseFuture::future(callback(
                id.into_owned(),
                params.into_owned(),
                0_usize.into(),
                RESPONSE_BYTES_MAX,
                extensions,
            )),
            Some(MethodCallback::Subscription(_) | MethodCallback::Unsubscription(_)) => {
                let message = "notifications not supported: subscribe over WebSocket, or use eth_newFilter";
                ResponseFuture::ready(MethodResponse::error(id, error(METHOD_NOT_FOUND, message)))
            }
            None => ResponseFuture::ready(MethodResponse::error(id, errors::method_not_found(&method))),
        }
    }

    fn batch<'a>(&self, _: Batch<'a>) -> impl Future<Output = MethodResponse> + Send + 'a {
        // `EthService` takes batches apart before they come here.
        std::future::ready(MethodResponse::error(Id::Null, error(errors::INTERNAL_ERROR, "a batch inside a batch")))
    }

    fn notification<'a>(&self, _: Notification<'a>) -> impl Future<Output = MethodResponse> + Send + 'a {
        std::future::ready(MethodResponse::notification())
    }
}
