//! Routing of requests to Ethereum JSON-RPC, WebSocket sessions, the page for browsers and the REST router.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use hyper::{
    Method, Request, Response, StatusCode,
    body::Incoming,
    header::{self, HeaderValue},
};
use jsonrpsee::{
    server::{
        BatchRequestConfig, ConnectionState, ServerConfig as RpcConfig, ServerHandle, StopHandle,
        middleware::rpc::RpcServiceBuilder, stop_channel, ws,
    },
    types::Extensions,
};
use tokio::sync::Semaphore;
use tower::ServiceExt as _;

use super::{Body, ServerConfig, cors, guard, page};
use crate::server::{
    chains::Chains,
    eth::{
        rpc::{EthHttpService, EthLayer, EthRpc, RESPONSE_BYTES_MAX},
        subscriptions::HexIds,
    },
    jsonrpc::framing,
    limits::{BATCH_CALLS_MAX, RPC_BODY_BYTES_MAX, WEBSOCKETS_MAX},
    rest,
};

/// State of a server that its connections share.
#[derive(Debug)]
pub(super) struct ServerContext {
    chains: Chains,
    config: ServerConfig,
    address: SocketAddr,
    on_loopback: bool,
    /// Built on the first request under `/v1`.
    rest: OnceLock<axum::Router>,
    websockets: Arc<Semaphore>,
    websocket_config: RpcConfig,
    websocket_ids: AtomicU32,
    stop_handle: StopHandle,
    server_handle: Mutex<Option<ServerHandle>>,
}

impl ServerContext {
    pub(super) fn new(chains: Chains, config: ServerConfig, address: SocketAddr) -> Self {
        let (stop_handle, server_handle) = stop_channel();
        let websocket_config = RpcConfig::builder()
            .max_request_body_size(RPC_BODY_BYTES_MAX)
            .max_response_body_size(RESPONSE_BYTES_MAX as u32)
            .set_batch_request_config(BatchRequestConfig::Limit(BATCH_CALLS_MAX))
            .set_id_provider(HexIds::default())
            .build();
        Self {
            on_loopback: address.ip().is_loopback(),
            chains,
            config,
            address,
            rest: OnceLock::new(),
            websockets: Arc::new(Semaphore::new(WEBSOCKETS_MAX)),
            websocket_config,
            websocket_ids: AtomicU32::new(0),
            stop_handle,
            server_handle: Mutex::new(Some(server_handle)),
        }
    }

    /// Whether the server listens on a loopback address.
    pub(super) const fn is_on_loopback(&self) -> bool {
        self.on_loopback
    }

    /// Ends every WebSocket session.
    pub(super) fn stop_websockets(&self) {
        let handle = self.server_handle.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(handle) = handle {
            let _ = handle.stop();
        }
    }
}

/// Returns the response to one request.
pub(super) async fn respond(context: Arc<ServerContext>, request: Request<Incoming>) -> Response<Body> {
    if let Err(refusal) = guard::check(request.headers(), &context.config, context.on_loopback) {
        return plain(StatusCode::FORBIDDEN, refusal.message());
    }
    let Some(origin) = request.headers().get(header::ORIGIN).cloned() else {
        return dispatch(&context, request).await;
    };
    let mut response =
        if request.method() == Method::OPTIONS { cors::preflight() } else { dispatch(&context, request).await };
    cors::allow(&origin, &context.config, context.on_loopback, response.headers_mut());
    response
}

async fn dispatch(context: &Arc<ServerContext>, request: Request<Incoming>) -> Response<Body> {
    let path = request.uri().path();
    if path == "/" {
        if *request.method() == Method::POST {
            return post(context.chains.default_service(), request).await;
        }
        return ethereum(context, context.chains.default_rpc().clone(), request).await;
    }
    let chain_id = path.strip_prefix("/v1/blockchains/").and_then(|rest| rest.strip_suffix("/eth"));
    if let Some(rpc) = chain_id.and_then(|id| context.chains.rpc(id)) {
        return ethereum(context, rpc, request).await;
    }
    if path == "/v1" || path.starts_with("/v1/") {
        let router = context.rest.get_or_init(|| rest::router(context.chains.clone())).clone();
        return match router.oneshot(request).await {
            Ok(response) => response.map(Body::new),
            Err(never) => match never {},
        };
    }
    let message = format!("{path} was not found: Ethereum JSON-RPC is at /, the service under /v1");
    plain(StatusCode::NOT_FOUND, message)
}

/// Executes the calls in the body of a POST.
async fn post(service: &EthHttpService, request: Request<Incoming>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    match framing::read_body(&parts.headers, body, RPC_BODY_BYTES_MAX as usize).await {
        Ok(body) => framing::http_response(framing::execute(service, &body, Extensions::new()).await),
        Err(refused) => framing::refusal(refused),
    }
}

/// Ethereum JSON-RPC of one chain: POST, WebSocket, or a page for a browser.
async fn ethereum(context: &Arc<ServerContext>, chain: EthRpc, request: Request<Incoming>) -> Response<Body> {
    if *request.method() == Method::POST {
        return post(&chain.http_service(), request).await;
    }
    if ws::is_upgrade_request(&request) {
        return websocket(context, chain, request).await;
    }
    if matches!(*request.method(), Method::GET | Method::HEAD) {
        let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok()).map(str::to_owned);
        // The guard accepts only names without markup.
        return page::welcome(context.chains.platform(), &host.unwrap_or_else(|| context.address.to_string()));
    }
    let mut response =
        plain(StatusCode::METHOD_NOT_ALLOWED, "Ethereum JSON-RPC accepts POST and WebSocket upgrades".to_owned());
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD, POST, OPTIONS"));
    response
}

async fn websocket(context: &Arc<ServerContext>, chain: EthRpc, request: Request<Incoming>) -> Response<Body> {
    let Ok(permit) = context.websockets.clone().try_acquire_owned() else {
        return plain(
            StatusCode::SERVICE_UNAVAILABLE,
            format!("{WEBSOCKETS_MAX} WebSocket connections are open, which is the maximum: close one first"),
        );
    };
    let id = context.websocket_ids.fetch_add(1, Ordering::Relaxed);
    let state = ConnectionState::new(context.stop_handle.clone(), id, permit);
    let middleware = RpcServiceBuilder::new().layer(EthLayer(chain.clone()));
    let methods = chain.methods().clone();
    match ws::connect(request, context.websocket_config.clone(), methods, state, middleware).await {
        Ok((response, session)) => {
            tokio::spawn(session);
            response
        }
        Err(response) => response,
    }
}

/// Returns a response with a line of text.
fn plain(status: StatusCode, message: String) -> Response<Body> {
    let mut response = Response::new(Body::from(message + "\n"));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}
