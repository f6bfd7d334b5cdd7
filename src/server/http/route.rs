//! Routing of requests to Ethereum JSON-RPC, WebSocket sessions, the page for browsers and the REST router.

use std::{
    net::{IpAddr, SocketAddr},
    num::NonZeroUsize,
    sync::{Arc, OnceLock},
};

use hyper::{
    HeaderMap, Method, Request, Response, StatusCode, Uri,
    header::{self, HeaderValue},
};
use jsonrpsee::{server::ws, types::Extensions};
use tower::ServiceExt as _;

use super::{
    Body, ServerConfig,
    body::BodyReader,
    budget::BodyBudget,
    figures::HttpFigures,
    guard, metrics, page,
    paths::{authorization_route, chain_of, is_authorization, is_for_programs, is_outside_log_in},
    plain,
    refusal::Format,
    request_body::RequestBody,
    tls::ServerTls,
    token::Presented,
    websocket::{Sessions, Standing},
};
use crate::platform::{Platform, PublicUrl, records::PageRequest};
use crate::server::{
    chains::Chains,
    eth::rpc::{EthHttpService, EthRpc},
    jsonrpc::framing,
    limits::ServerLimits,
    oauth::{AuthorizationServer, too_many_forms},
    rest, service_rpc,
};

/// Methods of `/`, where a browser gets a page.
const ETHEREUM_METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST, OPTIONS");
/// Methods of the Ethereum JSON-RPC of a chain of the service; by GET a WebSocket is opened.
const CHAIN_METHODS: HeaderValue = HeaderValue::from_static("GET, POST, OPTIONS");

/// State of a server that its connections share.
#[derive(Debug)]
pub(super) struct ServerContext {
    chains: Chains,
    config: ServerConfig,
    address: SocketAddr,
    on_loopback: bool,
    /// Built on the first request under `/v1`.
    service: OnceLock<rest::Routes>,
    public_url: PublicUrl,
    /// Built on its first request.
    authorization: OnceLock<axum::Router>,
    bodies: BodyReader,
    sessions: Sessions,
    request_ids: rest::RequestIds,
    figures: HttpFigures,
    /// Forms of the authorization server's pages, by address.
    form_rates: rest::Rates,
    /// What programs send to the authorization server, by address.
    program_rates: rest::Rates,
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
            request_ids: rest::RequestIds::default(),
            figures: HttpFigures::default(),
            form_rates: rest::Rates::new(limits.form_rate.into()),
            program_rates: rest::Rates::new(limits.rate),
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

    /// Whether the service is reached by https.
    pub(super) fn is_https(&self) -> bool {
        self.public_url.is_https()
    }

    /// The WebSocket sessions.
    pub(super) const fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    pub(super) fn count_refused_connection(&self) {
        self.chains.counters().count_refused_connection();
    }

    /// The service under `/v1`.
    fn service(&self) -> &rest::Routes {
        self.service.get_or_init(|| {
            let outside = rest::Outside {
                policy: self.config.outbound.clone(),
                own_hosts: guard::hosts(&self.config).cloned().collect(),
                resolver: Arc::clone(&self.config.txt_resolver),
            };
            rest::Routes::new(rest::App::new(self.chains.clone(), self.config.limits, outside))
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

    /// Answers a request to the authorization server.
    async fn authorize(&self, request: axum::extract::Request) -> axum::response::Response {
        let Ok(response) = self.authorization().clone().oneshot(request).await;
        response
    }

    /// Runs requests that were accepted under an idempotency key before the process ended. One that fails keeps its failure as response;
    /// where the store fails, the rest is left open, for [`ServerContext::resume_left_open`].
    pub(super) async fn resume(self: &Arc<Self>) {
        let first = PageRequest::first(NonZeroUsize::MIN);
        if self.chains.platform().records().unfinished_requests(&first).is_ok_and(|unfinished| unfinished.is_empty()) {
            return;
        }
        let context = Arc::clone(self);
        // A panic of a handler is answered within; another one leaves the rest for the next start.
        let _ = tokio::spawn(async move { context.app().resume().await }).await;
    }

    /// Runs once more what was accepted under an idempotency key and could not be written to its end. Where the store still fails, it stays
    /// left open.
    pub(super) async fn resume_left_open(&self) {
        // What failed was left open again, for the next time.
        let _ = self.app().resume_left_open().await;
    }

    /// State of the service under `/v1`.
    pub(super) fn app(&self) -> &rest::App {
        self.service().app()
    }

    /// The chains.
    pub(super) const fn chains(&self) -> &Chains {
        &self.chains
    }

    /// The configuration.
    pub(super) const fn config(&self) -> &ServerConfig {
        &self.config
    }

    /// Whether the server is reached from this machine alone.
    pub(super) const fn is_on_loopback(&self) -> bool {
        self.on_loopback
    }

    /// The figures of HTTP.
    pub(super) const fn figures(&self) -> &HttpFigures {
        &self.figures
    }

    /// Returns the id of a request.
    pub(super) fn request_id(&self, headers: &HeaderMap) -> rest::RequestId {
        self.request_ids.of(headers)
    }

    /// Time of the platform, in milliseconds since the Unix epoch.
    pub(super) fn now_ms(&self) -> u64 {
        self.platform().records().clock().now_ms()
    }

    pub(super) fn count_panic(&self) {
        self.chains.counters().count_panic();
    }
}

/// Answers a request by its path.
pub(super) async fn dispatch(context: &Arc<ServerContext>, request: Request<RequestBody>) -> Response<Body> {
    let path = request.uri().path();
    if path == "/" {
        return match context.chains.default_rpc() {
            Some(rpc) => ethereum(context, rpc, context.chains.default_service(), request).await,
            None => plain(StatusCode::NOT_FOUND, page::NO_CHAIN.to_owned()),
        };
    }
    if path == metrics::PATH {
        let (chains, figures, is_open) = (context.chains(), context.figures(), context.config.has_open_metrics);
        return metrics::serve(&metrics::Source { app: context.app(), chains, figures, is_open }, request).await;
    }
    if let Some(id) = chain_of(path).map(str::to_owned) {
        name_route(&request, "/v1/blockchains/{blockchainId}/eth");
        return ethereum_of(context, &id, request).await;
    }
    if (is_authorization(path) || ["/v1/openapi.json", "/v1/docs"].contains(&path)) && asks_to_simulate(request.uri()) {
        return refuse_to_simulate(context, &request);
    }
    if is_authorization(path) {
        name_route(&request, authorization_route(path));
        return authorization(context, request).await;
    }
    if path == "/v1" || path.starts_with("/v1/") {
        let (parts, body) = request.into_parts();
        let routes = context.service();
        let bytes_max = routes.app().body_bytes_max(&parts);
        let answer = |request| routes.answer(request);
        return routed(context, answer, bytes_max, Request::from_parts(parts, body)).await;
    }
    let message = format!("{path} was not found: Ethereum JSON-RPC is at /, the service under /v1");
    plain(StatusCode::NOT_FOUND, message)
}

/// Whether a query has `simulate`, which the endpoints of the service check themselves.
fn asks_to_simulate(uri: &Uri) -> bool {
    let query = uri.query().unwrap_or_default();
    url::form_urlencoded::parse(query.as_bytes()).any(|(name, _)| name == "simulate")
}

/// Refuses to simulate what is no endpoint. For the document and its page the request is counted, as each to them is.
fn refuse_to_simulate(context: &ServerContext, request: &Request<RequestBody>) -> Response<Body> {
    let path = request.uri().path();
    let (id, now_ms) = (context.request_id(request.headers()), context.now_ms());
    let refuse = || {
        let message = "simulate: this can't be simulated; nothing was done".to_owned();
        Format::of(path).refusal(StatusCode::BAD_REQUEST, message, &id, now_ms)
    };
    if is_authorization(path) {
        return refuse();
    }
    context.app().answer_stranger(request.extensions(), |counted| match counted {
        Ok(()) => refuse(),
        Err(too_many) => rest::refused(too_many, &id, now_ms).map(Body::new),
    })
}

fn name_route(request: &Request<RequestBody>, name: &'static str) {
    if let Some(route) = request.extensions().get::<rest::RouteName>() {
        route.set(name);
    }
}

/// A request to the authorization server. What is posted, and log-ins with outside providers, are counted by the client's address: those and
/// forms of its pages apart from what programs send.
async fn authorization(context: &Arc<ServerContext>, request: Request<RequestBody>) -> Response<Body> {
    let bytes_max = context.limits().rest_body_bytes_max;
    let client = request.extensions().get::<rest::PeerAddress>().map(|rest::PeerAddress(address)| *address);
    let path = request.uri().path();
    let Some(client) = client.filter(|_| *request.method() == Method::POST || is_outside_log_in(path)) else {
        return routed(context, |request| context.authorize(request), bytes_max, request).await;
    };
    let is_for_programs = is_for_programs(path);
    let rates = if is_for_programs { &context.program_rates } else { &context.form_rates };
    let quota = rates.count_stranger(Some(client));
    let mut response = match (quota.is_exceeded(), is_for_programs) {
        (false, _) => routed(context, |request| context.authorize(request), bytes_max, request).await,
        (true, false) => too_many_forms(quota.resets_in_secs()).map(Body::new),
        (true, true) => {
            let id = request.extensions().get::<rest::RequestId>().cloned();
            let id = id.unwrap_or_else(|| rest::RequestId(String::new()));
            let message = format!("too many requests of one address: try again in {} s", quota.resets_in_secs());
            Format::of(path).refusal(StatusCode::TOO_MANY_REQUESTS, message, &id, context.now_ms())
        }
    };
    quota.tell(response.headers_mut());
    response
}

/// Ethereum JSON-RPC of a chain of the service, for whom may read it; who may not deploy sends no transaction.
async fn ethereum_of(context: &ServerContext, id: &str, request: Request<RequestBody>) -> Response<Body> {
    let is_websocket = ws::is_upgrade_request(&request);
    if *request.method() != Method::POST && !is_websocket {
        return context.app().answer_stranger(request.extensions(), |counted| match counted {
            // A page for browsers is at `/` alone: it shows the default chain, to everybody.
            Ok(()) => wrong_method("Ethereum JSON-RPC accepts POST and WebSocket upgrades", CHAIN_METHODS),
            Err(too_many) => service_rpc::refused(&too_many).map(Body::new),
        });
    }
    let (parts, body) = request.into_parts();
    let app = context.app();
    let (mut admitted, rpc) = match app.admit_to_chain(&parts, id) {
        Ok(admitted) => admitted,
        Err(refusal) => return refusal.map(Body::new),
    };
    if is_websocket {
        let peer = parts.extensions.get::<rest::PeerAddress>().copied();
        let standing = Standing::new(app, &admitted, &parts.headers, peer, (id, rpc.clone()));
        let request = Request::from_parts(parts, body);
        let mut response = context.sessions.upgrade(rpc, request, None, Some(standing)).await;
        admitted.tell(response.headers_mut());
        return response;
    }
    let (received, mut response) = match context.bodies.read_rpc(&parts.headers, body).await {
        Ok((body, _reservation)) => {
            (body.len(), app.call_chain((&mut admitted, rpc), &parts, body).await.map(Body::new))
        }
        Err(refused) => (0, framing::refusal(refused)),
    };
    admitted.count_bytes(app, received, hyper::body::Body::size_hint(response.body()).lower());
    admitted.tell(response.headers_mut());
    response
}

/// A request with its whole body, as `answer` answers it.
async fn routed<A: Future<Output = axum::response::Response>>(
    context: &ServerContext,
    answer: impl FnOnce(axum::extract::Request) -> A,
    bytes_max: usize,
    request: Request<RequestBody>,
) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let (path, id) = (parts.uri.path().to_owned(), parts.extensions.get::<rest::RequestId>().cloned());
    match context.bodies.read_up_to(body, bytes_max).await {
        Ok((body, _reservation)) => {
            let body = axum::body::Body::from(Vec::from(body));
            answer(Request::from_parts(parts, body)).await.map(Body::new)
        }
        Err((status, message)) => {
            let id = id.unwrap_or_else(|| rest::RequestId(String::new()));
            Format::of(&path).refusal(status, message, &id, context.now_ms())
        }
    }
}

/// Ethereum JSON-RPC of one chain: POST, WebSocket, or a page for a browser. `prepared` is its service where one is kept ready.
async fn ethereum(
    context: &ServerContext,
    chain: &EthRpc,
    prepared: Option<&EthHttpService>,
    request: Request<RequestBody>,
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
    context.sessions.upgrade(chain.clone(), request, protocol, None).await
}

/// Executes the calls in the body of a POST.
async fn post(context: &ServerContext, service: &EthHttpService, request: Request<RequestBody>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    match context.bodies.read_rpc(&parts.headers, body).await {
        Ok((body, _reservation)) => {
            let calls_max = context.limits().batch_calls_max;
            framing::http_response(service.execute_up_to(calls_max, &body, Extensions::new()).await)
        }
        Err(refused) => framing::refusal(refused),
    }
}

/// A page for a browser; 405 for a program, which has taken the wrong method.
fn page_or_refusal(context: &ServerContext, request: &Request<RequestBody>) -> Response<Body> {
    let takes_html = |accept: &HeaderValue| {
        accept.to_str().is_ok_and(|accept| accept.split(',').any(|kind| kind.trim_start().starts_with("text/html")))
    };
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    if is_read && request.headers().get_all(header::ACCEPT).iter().any(takes_html) {
        let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok()).map(str::to_owned);
        return page::welcome(context.chains.platform(), &host.unwrap_or_else(|| context.address.to_string()));
    }
    let message = "Ethereum JSON-RPC accepts POST and WebSocket upgrades; GET is for browsers (Accept: text/html)";
    wrong_method(message, ETHEREUM_METHODS)
}

/// 405 with the methods that are allowed.
fn wrong_method(message: &str, allowed: HeaderValue) -> Response<Body> {
    let mut response = framing::refusal((StatusCode::METHOD_NOT_ALLOWED, message.to_owned()));
    response.headers_mut().insert(header::ALLOW, allowed);
    response
}

fn unauthorized() -> Response<Body> {
    let message =
        "a token is needed here: send Authorization: Bearer TOKEN, or TOKEN as the first WebSocket subprotocol";
    let mut response = framing::refusal((StatusCode::UNAUTHORIZED, message.to_owned()));
    response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"chainbox\""));
    response
}
