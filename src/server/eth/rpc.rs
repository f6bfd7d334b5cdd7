//! Executing the Ethereum methods: on which thread, and consecutive sends of a batch in one block.
//!
//! The same dispatch serves HTTP and WebSocket; subscriptions are a WebSocket session's own.

use std::sync::Arc;

use alloy_primitives::{B256, Bytes};
use jsonrpsee::{
    core::middleware::{Request, ResponseFuture},
    server::{MethodCallback, MethodResponse, Methods, SyncMethod},
    types::{Extensions, Params, ResponsePayload},
};

use super::{Development, Eth, convert, module, params::Args, subscriptions::Feed, transactions, work::Work};
use crate::{
    node::{Node, SendError, Submission},
    platform::Principal,
    primitives::Transaction,
    server::{
        commands::{Cancellation, CommandQueue, Length, Workers},
        counters::Counters,
        jsonrpc::{
            errors::{self, FORBIDDEN, INTERNAL_ERROR, LIMIT_EXCEEDED, METHOD_NOT_FOUND, REFUSED, RpcError, error},
            service::{Dispatch, JsonRpcService},
        },
        monitor::RpcMonitor,
        queue_error::QueueError,
    },
};

/// Bytes of one response. The longest one is the dump of a large chain.
pub(crate) const RESPONSE_BYTES_MAX: usize = 512 << 20;
/// Method that starts a subscription.
pub(crate) const SUBSCRIBE: &str = "eth_subscribe";
/// Method that sends a signed transaction.
const SEND_RAW: &str = "eth_sendRawTransaction";
/// Beginnings of the methods that sign or send.
const SIGNS: [&str; 3] = ["eth_send", "eth_sign", "personal_"];
/// Method that ends a subscription.
pub(crate) const UNSUBSCRIBE: &str = "eth_unsubscribe";

/// Ethereum JSON-RPC of one chain over HTTP or in process.
pub(crate) type EthHttpService = JsonRpcService<EthDispatch>;

/// Returns what the methods are told of a caller with credentials: whose they are.
pub(crate) fn extensions_of(principal: &Principal) -> Extensions {
    let mut extensions = Extensions::new();
    extensions.insert(principal.subject().clone());
    extensions
}

/// The Ethereum JSON-RPC of one chain: its methods, callable without a socket, and its node.
#[derive(Clone, Debug)]
pub struct EthRpc {
    methods: Methods,
    eth: Arc<Eth>,
    commands: CommandQueue,
    /// Whether it takes no transactions.
    is_read_only: bool,
    /// Whether its calls may have been executed before.
    is_rerun: bool,
}

impl EthRpc {
    /// Registers all methods over `node`. Its polled filters live as long as this value.
    pub fn new(node: Node) -> Self {
        Self::alone(Eth::new(node, Arc::default(), Development::Open))
    }

    /// As [`EthRpc::new`], without the methods that are for development: `anvil_*`, `evm_*`, `hardhat_*`, and those that sign or send
    /// with the node's accounts. `eth_accounts` is empty.
    pub fn without_development(node: Node) -> Self {
        Self::alone(Eth::new(node, Arc::default(), Development::Closed))
    }

    /// Sets a monitor of the methods' calls. It takes the place of this value, whose filters are then unknown.
    #[must_use]
    pub fn with_monitor(self, monitor: Arc<dyn RpcMonitor>) -> Self {
        let eth = Eth::new(self.eth.node.clone(), Arc::clone(&self.eth.counters), self.eth.development);
        let eth = eth.with_records(self.eth.records.clone()).with_call_gas_max(self.eth.call_gas_max);
        Self::over(eth.with_monitor(Some(monitor)), self.commands)
    }

    fn alone(eth: Eth) -> Self {
        Self::over(eth, CommandQueue::new(Workers::default()))
    }

    pub(crate) fn over(eth: Eth, commands: CommandQueue) -> Self {
        let eth = Arc::new(eth);
        Self { methods: module(Arc::clone(&eth)).into(), eth, commands, is_read_only: false, is_rerun: false }
    }

    /// Returns the same without the methods that send transactions, for callers who may read the chain alone.
    #[must_use]
    pub(crate) fn read_only(&self) -> Self {
        Self { is_read_only: true, ..self.clone() }
    }

    /// Returns the same for calls that may have been executed before the process ended: a transaction that the chain has is answered with
    /// its hash, and what can't be told from its repetition is refused.
    #[must_use]
    pub(crate) fn for_rerun(&self) -> Self {
        Self { is_rerun: true, ..self.clone() }
    }

    /// Whether both are of the same chain, and of the same run of it.
    pub(crate) fn is_same_chain(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.eth, &other.eth)
    }

    /// The queue of everything that changes the chain.
    pub(crate) const fn commands(&self) -> &CommandQueue {
        &self.commands
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
        EthDispatch { rpc: self.clone() }
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
}

impl Dispatch for EthDispatch {
    fn response_bytes_max(&self) -> usize {
        RESPONSE_BYTES_MAX
    }

    fn call<'a>(&self, request: Request<'a>) -> impl Future<Output = MethodResponse> + Send + 'a {
        let params = request.params.as_ref().map(|params| params.get());
        let changes = matches!(Work::of(&request.method, params), Work::Command(_))
            || SIGNS.iter().any(|prefix| request.method.starts_with(prefix));
        if self.rpc.is_read_only && changes {
            let message = "these credentials may read the chain and send nothing to it: sending needs the scope blockchain:deploy in \
                           the chain's workspace, whose plan must have gas left";
            return ResponseFuture::ready(MethodResponse::error(request.id, error(FORBIDDEN, message)));
        }
        if self.rpc.is_rerun && changes {
            match self.executed_before(&request.method, params) {
                Ok(Some(hash)) => {
                    let hash = ResponsePayload::success(hash).into();
                    return ResponseFuture::ready(MethodResponse::response(request.id, hash, RESPONSE_BYTES_MAX));
                }
                Ok(None) => {}
                Err(refused) => return ResponseFuture::ready(MethodResponse::error(request.id, refused)),
            }
        }
        let Some(MethodCallback::Sync(callback)) = self.rpc.methods.method(&request.method) else {
            let error = match &*request.method {
                SUBSCRIBE | UNSUBSCRIBE => {
                    let message = "notifications not supported: subscribe over WebSocket, or use eth_newFilter";
                    error(METHOD_NOT_FOUND, message)
                }
                unknown => errors::method_not_found(unknown),
            };
            return ResponseFuture::ready(MethodResponse::error(request.id, error));
        };
        match Work::of(&request.method, request.params.as_ref().map(|params| params.get())) {
            Work::Lookup => {
                let Request { id, params, extensions, .. } = request;
                let params = Params::new(params.as_ref().map(|params| params.get()));
                ResponseFuture::ready(callback(id, params, RESPONSE_BYTES_MAX, extensions))
            }
            work => ResponseFuture::future(self.clone().run(work, callback.clone(), request)),
        }
    }

    fn is_grouped(&self, request: &Request<'_>) -> bool {
        !self.rpc.is_read_only
            && !self.rpc.is_rerun
            && self.rpc.methods.method(&request.method).is_some()
            && matches!(&*request.method, SEND_RAW | "eth_sendTransaction" | "eth_sendUnsignedTransaction")
    }

    /// Sends of a batch are one command: signers are recovered on all cores, and automining puts the transactions into one block.
    /// What other clients send is mined as without the batch.
    fn call_group<'a>(&self, requests: Vec<Request<'a>>) -> impl Future<Output = Vec<MethodResponse>> + Send + 'a {
        let (dispatch, submissions) = (self.clone(), self.submissions(&requests));
        async move { dispatch.send_together(requests, submissions).await }
    }
}

impl EthDispatch {
    /// Returns the hash of the transaction that a call sends, if the chain has it; `None` if the call is to be executed.
    fn executed_before(&self, method: &str, params: Option<&str>) -> Result<Option<B256>, RpcError> {
        if method != SEND_RAW {
            let message = format!(
                "the request was interrupted before its response was kept, and {method} can't be told from its repetition: look at the \
                 chain, and send what is missing under another Idempotency-Key"
            );
            return Err(error(REFUSED, message));
        }
        let params = Params::new(params);
        let Ok(raw) = Args::read(&params, 1).and_then(|args| args.required::<Bytes>(0, "transaction")) else {
            return Ok(None);
        };
        let Ok(transaction) = Transaction::decode(&raw) else { return Ok(None) };
        let hash = transaction.hash();
        let known = self.rpc.node().view().transaction(hash).map_err(convert::query_error)?;
        Ok(known.map(|_| hash))
    }

    /// Runs a call where its work belongs. A raw transaction is read, and its sender recovered, before the future is returned.
    fn run(
        self,
        work: Work,
        callback: SyncMethod,
        request: Request<'_>,
    ) -> impl Future<Output = MethodResponse> + Send {
        let Request { id, method, params, mut extensions, .. } = request;
        let params = params.map(|params| params.get().to_owned());
        if method == SEND_RAW {
            self.recover(Params::new(params.as_deref()));
        }
        let id = id.into_owned();
        let refused_id = id.clone();
        let call = move |cancellation: &Cancellation| {
            extensions.insert(cancellation.clone());
            callback(id, Params::new(params.as_deref()), RESPONSE_BYTES_MAX, extensions)
        };
        async move {
            let commands = &self.rpc.commands;
            let done = match work {
                Work::Command(length) => commands.run(length, call).await,
                Work::Read(length) => commands.read(length, call).await,
                Work::Lookup => Ok(call(&Cancellation::default())),
            };
            done.unwrap_or_else(|cause| MethodResponse::error(refused_id, queue_error(cause)))
        }
    }

    /// Recovers the sender of a raw transaction ahead of its turn, beside the command under way.
    fn recover(&self, params: Params<'_>) {
        if let Ok(raw) = Args::read(&params, 1).and_then(|args| args.required::<Bytes>(0, "transaction")) {
            self.rpc.node().recover_senders(&[raw]);
        }
    }

    /// Reads what calls send: one submission for each, or why it is none.
    fn submissions(&self, requests: &[Request<'_>]) -> Vec<Result<Submission, RpcError>> {
        let read = |request: &Request<'_>| {
            let params = Params::new(request.params.as_ref().map(|params| params.get()));
            transactions::submission(self.rpc.node(), &request.method, &Args::read(&params, 1)?)
        };
        requests.iter().map(read).collect()
    }

    /// Sends what was read of the calls as one command; one response for each call, in the same order.
    async fn send_together(
        &self,
        requests: Vec<Request<'_>>,
        submissions: Vec<Result<Submission, RpcError>>,
    ) -> Vec<MethodResponse> {
        let mut results = match self.send_all(submissions.iter().flatten().cloned().collect()).await {
            Ok(results) => results.into_iter(),
            Err(cause) => {
                let refused = requests.into_iter().map(|request| MethodResponse::error(request.id, queue_error(cause)));
                return refused.collect();
            }
        };
        requests
            .into_iter()
            .zip(submissions)
            .map(|(request, submission)| {
                let result = submission.and_then(|_| match results.next() {
                    Some(result) => result.map_err(convert::send_error),
                    None => Err(error(INTERNAL_ERROR, "the node returned fewer results than transactions were sent")),
                });
                let params = request.params.as_ref().map(|params| params.get());
                self.rpc.eth.tell_monitor(&request.method, params, result.as_ref());
                match result {
                    Ok(hash) => {
                        MethodResponse::response(request.id, ResponsePayload::success(hash).into(), RESPONSE_BYTES_MAX)
                    }
                    Err(error) => MethodResponse::error(request.id, error),
                }
            })
            .collect()
    }

    /// Recovering hundreds of signers takes milliseconds, for which neither connections nor other commands wait.
    async fn send_all(&self, submissions: Vec<Submission>) -> Result<Vec<Result<B256, SendError>>, QueueError> {
        let raw = |submission: &Submission| match submission {
            Submission::Raw(raw) => Some(raw.clone()),
            Submission::Request(_) => None,
        };
        let (node, raws) = (self.rpc.node().clone(), submissions.iter().filter_map(raw).collect::<Vec<_>>());
        self.rpc.commands.read(Length::Long, move |_| node.recover_senders(&raws)).await?;
        let node = self.rpc.node().clone();
        self.rpc.commands.run(Length::Long, move |_| node.send_together(submissions)).await
    }
}

/// Returns the error of a call whose turn did not come.
fn queue_error(cause: QueueError) -> RpcError {
    match cause {
        QueueError::Full { .. } | QueueError::TimedOut { .. } => error(LIMIT_EXCEEDED, cause.to_string()),
        QueueError::Stopping => error(INTERNAL_ERROR, cause.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use core::{
        pin::pin,
        task::{Context, Waker},
    };

    use tokio::time::Instant;

    use super::*;

    /// Whether making a future took longer than its first poll, as it does where what is long is read before.
    fn is_made_longer_than_polled<F: Future>(make: impl FnOnce() -> F) -> bool {
        let begun = Instant::now();
        let mut future = pin!(make());
        let made = begun.elapsed();
        let begun = Instant::now();
        let _ = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        begun.elapsed() < made
    }

    #[tokio::test]
    async fn long_transactions_are_read_before_anything_is_waited_for() {
        let dispatch = EthRpc::new(Node::new()).dispatch();
        let digits = "00".repeat(2 << 20);
        let text = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{SEND_RAW}","params":["0x{digits}"]}}"#);
        let request = || serde_json::from_str::<Request<'_>>(&text).unwrap();
        // The thread may be suspended while it polls, but not each time.
        assert!((0..10).any(|_| {
            let request = request();
            is_made_longer_than_polled(|| dispatch.call(request))
        }));
        assert!((0..10).any(|_| {
            let requests = vec![request(), request()];
            is_made_longer_than_polled(|| dispatch.call_group(requests))
        }));
    }
}
