//! Routing of requests to Ethereum JSON-RPC, WebSocket sessions, the page for browsers and the REST router.

use std::{
    net::{IpAddr, SocketAddr},
    num::NonZeroUsize,
    sync::{Arc, OnceLock},
};

use hyper::{
    HeaderMap, Method, Request, Response, StatusCode,
    body::Incoming,
    header::{self, HeaderValue},
};
use jsonrpsee::{server::ws, types::Extensions};
use tower::ServiceExt as _;

use super::{
    Body, ServerConfig, body::BodyReader, budget::BodyBudget, cors, guard, page, plain, tls::ServerTls,
    token::Presented, websocket::Sessions,
};
use crate::platform::{Platform, PublicUrl, records::PageRequest};
use crate::server::{
    chains::Chains,
    counters::panic_text,
    eth::rpc::{EthHttpService, EthRpc},
    jsonrpc::framing,
    limits::{REST_BODY_BYTES_MAX, ServerLimits},
    oauth::AuthorizationServer,
    rest,
};

/// Path of the authorization server's metadata (RFC 8414).
const AUTHORIZATION_METADATA: &str = "/.well-known/oauth-authorization-server";
/// Methods of the paths of Ethereum JSON-RPC.
const ETHEREUM_METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST, OPTIONS");

/// Users come by `https` alone for a year (RFC 6797), where the public URL is one.
const HSTS: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// State of a server that its connections share.
#[derive(Debug)]
pub(super) struct ServerContext {
    chains: Chains,
    config: ServerConfig,
    address: SocketAddr,
    on_loopback: bool,
    /// Built on the first request under `/v1`.
    service: OnceLock<(rest::App, axum::Router)>,
    public_url: PublicUrl,
    /// Built on its first request.
    authorization: OnceLock<axum::Router>,
    bodies: BodyReader,
    sessions: Sessions,
}

impl ServerContext {
    pub(super) fn new(chains: Chains, config: ServerConfig, address: SocketAddr, public_url: PublicUrl) -> Self {
        let limits = config.limits;
        let budget = BodyBudget::new(limits.buffered_body_bytes_max);
        Self {
            on_loopback: address.ip().is_loopback(),
            chains,
            config,
            address,
            service: OnceLock::new(),
            public_url,
            authorization: OnceLock::new(),
            bodies: BodyReader { limits, budget: budget.clone() },
            sessions: Sessions::new(limits, budget),
        }
    }

    /// Bounds of the server.
    pub(super) const fn limits(&self) -> &ServerLimits {
        &self.config.limits
    }

    /// URL under which users reach the server.
    pub(super) const fn public_url(&self) -> &PublicUrl {
        &self.public_url
    }

    /// The platform.
    pub(super) const fn platform(&self) -> &Arc<Platform> {
        self.chains.platform()
    }

    /// Certificate and key, where the server speaks TLS.
    pub(super) const fn tls(&self) -> Option<&ServerTls> {
        self.config.tls.as_ref()
    }

    /// Returns the address of a request's client.
    pub(super) fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        self.config.trusted_proxies.client(peer, headers)
    }

    /// The WebSocket sessions.
    pub(super) const fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    pub(super) fn count_refused_connection(&self) {
        self.chains.counters().count_refused_connection();
    }

    /// The service under `/v1`, and its router.
    fn service(&self) -> &(rest::App, axum::Router) {
        self.service.get_or_init(|| {
            let app = rest::App::new(self.chains.clone(), self.config.limits);
            let router = rest::router(app.clone());
            (app, router)
        })
    }

    /// The authorization server.
    fn authorization(&self) -> &axum::Router {
        self.authorization.get_or_init(|| {
            let server = AuthorizationServer::new(Arc::clone(self.chains.platform()), self.public_url.clone());
            let server = match &self.config.mailbox {
                Some(mailbox) => server.with_mailbox(Arc::clone(mailbox)),
                None => server,
            };
            let server = server.with_log_in_links(self.config.log_in_links.clone());
            server.with_providers(self.config.providers.clone()).router()
        })
    }

    /// Runs requests that were accepted under an idempotency key before the process ended. One that fails keeps its failure as response;
    /// where the store fails, they stay for the next start.
    pub(super) async fn resume(self: &Arc<Self>) {
        let first = PageRequest::first(NonZeroUsize::MIN);
        if self.chains.platform().records().unfinished_requests(&first).is_ok_and(|unfinished| unfinished.is_empty()) {
            return;
        }
        let context = Arc::clone(self);
        // A panic of a handler is answered within; another one leaves the rest for the next start.
        let _ = tokio::task::spawn_blocking(move || context.service().0.resume()).await;
    }

    /// Counts a panic and returns its response.
    pub(super) fn panicked(&self, payload: &(dyn std::any::Any + Send)) -> Response<Body> {
        self.chains.counters().count_panic();
        let message = format!("internal error: the handler panicked: {}", panic_text(payload));
        plain(StatusCode::INTERNAL_SERVER_ERROR, message)
    }
}

/// Returns the response to one request.
pub(super) async fn respond(context: Arc<ServerContext>, request: Request<Incoming>) -> Response<Body> {
    let is_https = context.public_url.is_https();
    let mut response = respond_to(context, request).await;
    if is_https {
        response.headers_mut().insert(header::STRICT_TRANSPORT_SECURITY, HSTS);
    }
    response
}

async fn respond_to(context: Arc<ServerContext>, request: Request<Incoming>) -> Response<Body> {
    if let Err(refusal) = guard::check(request.headers(), &context.config, context.on_loopback) {
        return plain(StatusCode::FORBIDDEN, refusal.message());
    }
    let Some(origin) = request.headers().get(header::ORIGIN).cloned() else {
        return dispatch_in_time(&context, request).await;
    };
    let mut response = if request.method() == Method::OPTIONS {
        cors::preflight(request.headers())
    } else {
        dispatch_in_time(&context, request).await
    };
    cors::allow(&origin, &context.config, context.on_loopback, response.headers_mut());
    response
}

async fn dispatch_in_time(context: &Arc<ServerContext>, request: Request<Incoming>) -> Response<Body> {
    let timeout = context.limits().request_timeout;
    tokio::time::timeout(timeout, dispatch(context, request)).await.unwrap_or_else(|_| {
        let message = format!("no response within {timeout:?}: what has begun goes on");
        plain(StatusCode::SERVICE_UNAVAILABLE, message)
    })
}

async fn dispatch(context: &Arc<ServerContext>, request: Request<Incoming>) -> Response<Body> {
    let path = request.uri().path();
    if path == "/" {
        return match context.chains.default_rpc() {
            Some(rpc) => ethereum(context, rpc, context.chains.default_service(), request).await,
            None => plain(StatusCode::NOT_FOUND, page::NO_CHAIN.to_owned()),
        };
    }
    let chain_id = path.strip_prefix("/v1/blockchains/").and_then(|rest| rest.strip_suffix("/eth"));
    if let Some(id) = chain_id.filter(|id| !id.contains('/')).map(str::to_owned) {
        return ethereum_of(context, &id, request).await;
    }
    if ["/oauth/", "/v1/oauth/", AUTHORIZATION_METADATA].iter().any(|prefix| path.starts_with(prefix)) {
        return routed(context, context.authorization(), REST_BODY_BYTES_MAX, request).await;
    }
    if path == "/v1" || path.starts_with("/v1/") {
        let (parts, body) = request.into_parts();
        let bytes_max = context.service().0.body_bytes_max(&parts);
        return routed(context, &context.service().1, bytes_max, Request::from_parts(parts, body)).await;
    }
    let message = format!("{path} was not found: Ethereum JSON-RPC is at /, the service under /v1");
    plain(StatusCode::NOT_FOUND, message)
}

/// Ethereum JSON-RPC of a chain of the service, for whom may read it; who may not deploy sends no transaction.
async fn ethereum_of(context: &ServerContext, id: &str, request: Request<Incoming>) -> Response<Body> {
    let is_websocket = ws::is_upgrade_request(&request);
    if *request.method() != Method::POST && !is_websocket {
        return page_or_refusal(context, &request);
    }
    let (parts, body) = request.into_parts();
    let (app, _) = context.service();
    let (admitted, rpc) = match app.admit_to_chain(&parts, id) {
        Ok(admitted) => admitted,
        Err(refusal) => return refusal.map(Body::new),
    };
    if is_websocket {
        return context.sessions.upgrade(rpc, Request::from_parts(parts, body), None).await;
    }
    let mut response = post(context, &rpc.http_service(), Request::from_parts(parts, body)).await;
    admitted.tell(response.headers_mut());
    response
}

/// A request to a router, with its whole body.
async fn routed(
    context: &ServerContext,
    router: &axum::Router,
    bytes_max: usize,
    request: Request<Incoming>,
) -> Response<Body> {
    let router = router.clone();
    let (parts, body) = request.into_parts();
    match context.bodies.read_up_to(body, bytes_max).await {
        Ok((body, _reservation)) => {
            let Ok(response) = router.oneshot(Request::from_parts(parts, Body::from(Vec::from(body)))).await;
            response.map(Body::new)
        }
        Err((status, message)) => plain(status, message),
    }
}

/// Ethereum JSON-RPC of one chain: POST, WebSocket, or a page for a browser. `prepared` is its service where one is kept ready.
async fn ethereum(
    context: &ServerContext,
    chain: &EthRpc,
    prepared: Option<&EthHttpService>,
    request: Request<Incoming>,
) -> Response<Body> {
    let is_websocket = ws::is_upgrade_request(&request);
    let is_post = *request.method() == Method::POST;
    if !is_post && !is_websocket {
        return page_or_refusal(context, &request);
    }
    let presented = match &context.config.rpc_token {
        None => Presented::Header,
        Some(token) => match token.find(request.headers(), is_websocket) {
            Some(presented) => presented,
            None => return unauthorized(),
        },
    };
    if is_post {
        return match prepared {
            Some(service) => post(context, service, request).await,
            None => post(context, &chain.http_service(), request).await,
        };
    }
    let protocol = match presented {
        Presented::Header => None,
        Presented::Subprotocol(protocol) => Some(protocol),
    };
    context.sessions.upgrade(chain.clone(), request, protocol).await
}

/// Executes the calls in the body of a POST.
async fn post(context: &ServerContext, service: &EthHttpService, request: Request<Incoming>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    match context.bodies.read_rpc(&parts.headers, body).await {
        Ok((body, _reservation)) => framing::http_response(service.execute(&body, Extensions::new()).await),
        Err(refused) => framing::refusal(refused),
    }
}

/// A page for a browser; 405 for a program, which has taken the wrong method.
fn page_or_refusal(context: &ServerContext, request: &Request<Incoming>) -> Response<Body> {
    let takes_html = |accept: &HeaderValue| {
        accept.to_str().is_ok_and(|accept| accept.split(',').any(|kind| kind.trim_start().starts_with("text/html")))
    };
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    if is_read && request.headers().get_all(header::ACCEPT).iter().any(takes_html) {
        let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok()).map(str::to_owned);
        return page::welcome(context.chains.platform(), &host.unwrap_or_else(|| context.address.to_string()));
    }
    let message = "Ethereum JSON-RPC accepts POST and WebSocket upgrades; GET is for browsers (Accept: text/html)";
    let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, message.to_owned());
    response.headers_mut().insert(header::ALLOW, ETHEREUM_METHODS);
    response
}

fn unauthorized() -> Response<Body> {
    let message =
        "a token is needed here: send Authorization: Bearer TOKEN, or TOKEN as the first WebSocket subprotocol";
    let mut response = framing::refusal((StatusCode::UNAUTHORIZED, message.to_owned()));
    response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"chainbox\""));
    response
}
