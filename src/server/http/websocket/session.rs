//! One WebSocket session: calls, batches and subscriptions of one client.
//!
//! A reader hands messages to the JSON-RPC service, a writer sends what is queued, and each subscription is a task that waits
//! for a place in the queue: a slow client slows its own subscriptions down, and nothing waits in memory for it.

use std::{
    collections::BTreeMap,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::{FutureExt as _, future::Either};
use jsonrpsee::{
    core::middleware::Request,
    server::MethodResponse,
    types::{Extensions, Params, ResponsePayload},
};
use serde_json::{json, value::RawValue};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _},
    sync::{Semaphore, mpsc, watch},
    task::{AbortHandle, JoinSet},
    time::{Instant, MissedTickBehavior},
};

use super::{
    frame::{self, CloseCode, FrameError, FrameReader, Incoming},
    standing::{Refusal, Standing},
};
use crate::server::{
    counters::Counters,
    eth::{
        rpc::{EthDispatch, EthRpc, RESPONSE_BYTES_MAX, SUBSCRIBE, UNSUBSCRIBE, extensions_of},
        subscriptions::{Feed, FeedError},
    },
    http::budget::BodyBudget,
    ids,
    jsonrpc::{
        errors::{self, LIMIT_EXCEEDED, RpcError, error, invalid_params},
        service::{Dispatch, JsonRpcService},
    },
    limits::ServerLimits,
    service_rpc,
};

/// Messages that wait for the client to take them; senders wait for a place.
const QUEUE_MAX: usize = 256;
/// Messages of one client that are executed at one time; the next one is not read before one of them is done.
const CALLS_MAX: usize = 64;
/// Bytes that a client must take within [`ServerLimits::send_timeout`].
const PART_BYTES: usize = 64 << 10;
/// Time for the last messages and the close frame when a session ends.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Time for which a client may answer a close frame.
const GOODBYE_TIMEOUT: Duration = Duration::from_secs(1);

/// A message to the client.
#[derive(Debug)]
enum Outgoing {
    Text(Box<RawValue>),
    Pong(Vec<u8>),
}

/// Why a session ends.
#[derive(Clone, Debug)]
struct Ending {
    code: CloseCode,
    reason: String,
}

/// The end of a session, seen by all of its tasks. The first reason counts.
#[derive(Clone, Debug)]
struct End(Arc<watch::Sender<Option<Ending>>>);

impl End {
    fn set(&self, code: CloseCode, reason: impl Into<String>) {
        self.0.send_if_modified(|ending| {
            let is_first = ending.is_none();
            if is_first {
                *ending = Some(Ending { code, reason: reason.into() });
            }
            is_first
        });
    }

    /// Waits for the end.
    async fn wait(&self) -> Ending {
        let mut ending = self.0.subscribe();
        // The sender is in `self`, so the wait can't fail.
        let seen = ending.wait_for(Option::is_some).await.ok().and_then(|ending| ending.clone());
        seen.unwrap_or(Ending { code: CloseCode::NORMAL, reason: String::new() })
    }
}

/// What the tasks of a session share.
#[derive(Debug)]
struct Session {
    rpc: EthRpc,
    /// `None` where no credentials are needed.
    standing: Option<Arc<Standing>>,
    limits: ServerLimits,
    queue: mpsc::Sender<Outgoing>,
    /// Tasks of the subscriptions by id; `None` until the client has the id.
    subscriptions: Mutex<BTreeMap<String, Option<AbortHandle>>>,
    end: End,
}

/// Serves a client until it leaves, is refused, or the server stops.
pub(super) async fn run(
    io: impl AsyncRead + AsyncWrite + Send + 'static,
    (rpc, standing): (EthRpc, Option<Standing>),
    limits: ServerLimits,
    budget: BodyBudget,
    mut stopped: watch::Receiver<bool>,
) {
    let (reader, writer) = tokio::io::split(io);
    let (queue, queued) = mpsc::channel(QUEUE_MAX);
    let end = End(Arc::new(watch::Sender::new(None)));
    let counters = Arc::clone(rpc.counters());
    let standing = standing.map(Arc::new);
    let mut writing = tokio::spawn(write((writer, queued), end.clone(), limits, counters, standing.clone()));
    let session = Arc::new(Session { rpc, standing, limits, queue, subscriptions: Mutex::default(), end: end.clone() });
    let mut reader = FrameReader::new(reader, budget, limits.rpc_body_bytes_max);
    let mut calls = JoinSet::new();
    tokio::select! {
        () = read(&mut reader, &session, &mut calls) => {}
        _ = end.wait() => {}
        () = is_stopped(&mut stopped) => {
            // Running calls are answered first; the server bounds the wait.
            while calls.join_next().await.is_some() {}
            end.set(CloseCode::GOING_AWAY, "the server stops");
        }
    }
    drop(calls);
    session.stop_subscriptions();
    end.set(CloseCode::NORMAL, "");
    if tokio::time::timeout(CLOSE_TIMEOUT, &mut writing).await.is_err() {
        writing.abort();
    }
    let _ = tokio::time::timeout(GOODBYE_TIMEOUT, reader.discard()).await;
}

async fn is_stopped(stopped: &mut watch::Receiver<bool>) {
    // A server that is gone has stopped too.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

/// Reads messages and starts their execution, until the client leaves or breaks a rule.
async fn read<R: AsyncRead + Unpin>(reader: &mut FrameReader<R>, session: &Arc<Session>, calls: &mut JoinSet<()>) {
    let permits = Arc::new(Semaphore::new(CALLS_MAX));
    let idle_timeout = session.limits.idle_timeout;
    loop {
        let Ok(permit) = permits.clone().acquire_owned().await else { return };
        let incoming = match tokio::time::timeout(idle_timeout, reader.next()).await {
            Ok(Ok(incoming)) => incoming,
            Ok(Err(FrameError::Disconnected)) => return,
            Ok(Err(FrameError::Refused(code, reason))) => return session.end.set(code, reason),
            Err(_) => {
                session.rpc.counters().count_slow_session();
                return session.end.set(CloseCode::GOING_AWAY, format!("no message or pong for {idle_timeout:?}"));
            }
        };
        match incoming {
            Incoming::Message(message, reservation) => {
                let session = Arc::clone(session);
                calls.spawn(async move {
                    session.execute(message).await;
                    drop((reservation, permit));
                });
                while calls.try_join_next().is_some() {}
            }
            // A client that pings without reading loses pongs.
            Incoming::Ping(payload) => drop(session.queue.try_send(Outgoing::Pong(payload))),
            Incoming::Pong => {}
            Incoming::Close => return,
        }
    }
}

/// Writes what is queued, and pings, when it looks at the client's credentials too; at the end of the session what is still queued and the
/// close frame.
async fn write(
    (mut io, mut queued): (impl AsyncWrite + Unpin, mpsc::Receiver<Outgoing>),
    end: End,
    limits: ServerLimits,
    counters: Arc<Counters>,
    standing: Option<Arc<Standing>>,
) {
    let now = Instant::now();
    let first_ping = now.checked_add(limits.ping_interval).unwrap_or(now);
    let mut pings = tokio::time::interval_at(first_ping, limits.ping_interval);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let ended = end.wait();
    tokio::pin!(ended);
    let ending = loop {
        let (head, text) = tokio::select! {
            // What was queued before the end is sent before it.
            biased;
            _ = pings.tick() => {
                if let Some(Err(reason)) = standing.as_ref().map(|standing| standing.look()) {
                    end.set(CloseCode::POLICY_VIOLATION, reason);
                }
                (frame::ping(), None)
            }
            Some(outgoing) = queued.recv() => match outgoing {
                Outgoing::Text(text) => (frame::text_head(text.get().len()), Some(text)),
                Outgoing::Pong(payload) => (frame::pong(&payload), None),
            },
            ending = &mut ended => break ending,
        };
        let payload = text.as_ref().map_or("", |text| text.get()).as_bytes();
        for part in [&head[..]].into_iter().chain(payload.chunks(PART_BYTES)) {
            match tokio::time::timeout(limits.send_timeout, io.write_all(part)).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return end.set(CloseCode::NORMAL, "disconnected"),
                Err(_) => {
                    // The frame is sent in part, so that no close frame can follow.
                    counters.count_slow_session();
                    return end.set(CloseCode::TRY_AGAIN_LATER, "the client takes no messages");
                }
            }
        }
    };
    let _ = io.write_all(&frame::close(ending.code, &ending.reason)).await;
    let _ = io.shutdown().await;
}

impl Session {
    /// Executes a message and queues the response; then starts the subscriptions that it opened.
    async fn execute(self: &Arc<Self>, message: Vec<u8>) {
        let opened = Opened::default();
        let response = match self.respond(message, &opened).await {
            Ok(response) => response,
            Err(reason) => return self.end.set(CloseCode::POLICY_VIOLATION, reason),
        };
        if let Some(response) = response
            && self.queue.send(Outgoing::Text(response)).await.is_err()
        {
            return;
        }
        for (id, feed) in std::mem::take(&mut *opened.lock().unwrap_or_else(PoisonError::into_inner)) {
            self.start(id, feed);
        }
    }

    /// Returns the response to a message.
    ///
    /// # Errors
    /// Why its client may not use the session any more.
    async fn respond(self: &Arc<Self>, message: Vec<u8>, opened: &Opened) -> Result<Option<Box<RawValue>>, String> {
        let calls_max = self.limits.batch_calls_max;
        let counters = Arc::clone(self.rpc.counters());
        let dispatch_to = |eth| SessionDispatch { eth, session: Arc::clone(self), opened: Arc::clone(opened) };
        let Some(standing) = &self.standing else {
            let service = JsonRpcService::new(dispatch_to(self.rpc.dispatch()), counters);
            return Ok(service.execute_up_to(calls_max, &message, Extensions::new()).await);
        };
        match standing.admit(&message) {
            Ok((admitted, rpc)) => {
                let service = JsonRpcService::new(dispatch_to(rpc.dispatch()), counters);
                let extensions = admitted.principal.as_ref().map(extensions_of).unwrap_or_default();
                let response = service.execute_up_to(calls_max, &message, extensions).await;
                standing.count(&admitted, message.len(), response.as_ref().map_or(0, |response| response.get().len()));
                Ok(response)
            }
            Err(Refusal::Message(refused)) => {
                let service = JsonRpcService::new(Refusing(service_rpc::error_object(&refused)), counters);
                Ok(service.execute_up_to(calls_max, &message, Extensions::new()).await)
            }
            Err(Refusal::Session(reason)) => Err(reason),
        }
    }

    /// Whether its client may still be told what it subscribed to; otherwise the session ends.
    fn is_standing(&self) -> bool {
        match self.standing.as_ref().map(|standing| standing.look()) {
            Some(Err(reason)) => {
                self.end.set(CloseCode::POLICY_VIOLATION, reason);
                false
            }
            _ => true,
        }
    }

    /// Opens a subscription and returns its id. It starts once the client has been told the id.
    fn subscribe(&self, params: &Params<'_>, opened: &Opened) -> Result<String, RpcError> {
        let feed = self.rpc.subscribe(params)?;
        let id = ids::random_id().map_err(|cause| errors::internal(&cause))?;
        let mut subscriptions = self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner);
        let max = self.limits.subscriptions_max;
        if subscriptions.len() >= max {
            let message = format!("too many subscriptions: a session has at most {max}; unsubscribe from one first");
            return Err(error(LIMIT_EXCEEDED, message));
        }
        subscriptions.insert(id.clone(), None);
        opened.lock().unwrap_or_else(PoisonError::into_inner).push((id.clone(), feed));
        Ok(id)
    }

    /// Starts sending a subscription's results, unless the client has ended it.
    fn start(self: &Arc<Self>, id: String, feed: Feed) {
        let mut subscriptions = self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(task) = subscriptions.get_mut(&id) else { return };
        let session = Arc::clone(self);
        let forwarding = async move {
            if AssertUnwindSafe(forward(&session, &id, feed)).catch_unwind().await.is_err() {
                session.rpc.counters().count_panic();
                session.end.set(CloseCode::INTERNAL_ERROR, "a subscription failed");
            }
        };
        *task = Some(tokio::spawn(forwarding).abort_handle());
    }

    fn unsubscribe(&self, id: &str) -> bool {
        let removed = self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        if let Some(Some(task)) = &removed {
            task.abort();
        }
        removed.is_some()
    }

    fn stop_subscriptions(&self) {
        let all = std::mem::take(&mut *self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner));
        all.into_values().flatten().for_each(|task| task.abort());
    }
}

/// Sends the results of a subscription at the client's pace. A client that can't be told everything is told so, and the session ends.
async fn forward(session: &Session, id: &str, mut feed: Feed) {
    let failed = loop {
        match feed.next().await {
            Ok(results) => {
                for result in results {
                    if !session.is_standing() || !send(session, id, "result", &result).await {
                        return;
                    }
                }
            }
            Err(failed) => break failed,
        }
    };
    if let Ok(error) = serde_json::value::to_raw_value(&error(LIMIT_EXCEEDED, failed.to_string())) {
        send(session, id, "error", &error).await;
    }
    if matches!(failed, FeedError::TooSlow(_)) {
        session.rpc.counters().count_slow_session();
    }
    session.end.set(CloseCode::TRY_AGAIN_LATER, failed.to_string());
}

/// Queues a notification with a member, `result` or `error`; `false` once the session has ended.
async fn send(session: &Session, id: &str, member: &str, value: &RawValue) -> bool {
    // An id is of hex digits, which JSON does not escape.
    let text = format!(
        r#"{{"jsonrpc":"2.0","method":"eth_subscription","params":{{"subscription":"{id}","{member}":{value}}}}}"#
    );
    match RawValue::from_string(text) {
        Ok(text) => {
            if let Some(standing) = &session.standing {
                standing.count_notification(text.get().len());
            }
            session.queue.send(Outgoing::Text(text)).await.is_ok()
        }
        Err(_) => false,
    }
}

/// Refuses every call with the same error.
#[derive(Clone, Debug)]
struct Refusing(RpcError);

impl Dispatch for Refusing {
    fn response_bytes_max(&self) -> usize {
        RESPONSE_BYTES_MAX
    }

    fn call<'a>(&self, request: Request<'a>) -> impl Future<Output = MethodResponse> + Send + 'a {
        std::future::ready(MethodResponse::error(request.id, self.0.clone()))
    }
}

/// Subscriptions whose ids the client has not been told.
type Opened = Arc<Mutex<Vec<(String, Feed)>>>;

/// The chain's methods, and the session's subscriptions.
#[derive(Clone, Debug)]
struct SessionDispatch {
    eth: EthDispatch,
    session: Arc<Session>,
    opened: Opened,
}

impl Dispatch for SessionDispatch {
    fn response_bytes_max(&self) -> usize {
        self.eth.response_bytes_max()
    }

    fn call<'a>(&self, request: Request<'a>) -> impl Future<Output = MethodResponse> + Send + 'a {
        let params = || Params::new(request.params.as_ref().map(|params| params.get()));
        let payload = match &*request.method {
            SUBSCRIBE => match self.session.subscribe(&params(), &self.opened) {
                Ok(id) => ResponsePayload::success(json!(id)),
                Err(error) => ResponsePayload::error(error),
            },
            UNSUBSCRIBE => match params().one::<String>() {
                Ok(id) => ResponsePayload::success(json!(self.session.unsubscribe(&id))),
                Err(_) => ResponsePayload::error(invalid_params("invalid params: expected [subscription id]")),
            },
            _ => return Either::Left(self.eth.call(request)),
        };
        let response = MethodResponse::response(request.id, payload.into(), RESPONSE_BYTES_MAX);
        Either::Right(std::future::ready(response))
    }

    fn is_grouped(&self, request: &Request<'_>) -> bool {
        self.eth.is_grouped(request)
    }

    fn call_group<'a>(&self, requests: Vec<Request<'a>>) -> impl Future<Output = Vec<MethodResponse>> + Send + 'a {
        self.eth.call_group(requests)
    }
}
