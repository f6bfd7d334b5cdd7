//! The service's REST interface under `/v1`, with the router on which `/v1/rpc` is mounted too.
//!
//! Each endpoint is a value ([`endpoint::Endpoint`]); the router, the OpenAPI document, authorisation and the published table are made from
//! the one list of them ([`catalogue::Catalogue`]). What happens to every request is in [`service`].

mod answer;
mod body;
mod catalogue;
mod deprecation;
mod docs;
mod domain_site;
mod endpoint;
mod envelope;
mod error_code;
mod idempotency;
mod openapi;
mod page;
mod parameter;
mod rate;
mod request;
mod resume;
mod routes;
mod rpc_request;
mod scalar;
mod service;
mod table;
mod type_schema;
mod unique_members;

use core::ops::Deref;
use std::{
    collections::BTreeMap,
    panic::AssertUnwindSafe,
    sync::{Arc, OnceLock},
};

use axum::{
    Router,
    body::Bytes,
    extract::{RawPathParams, Request, State, rejection::RawPathParamsRejection},
    http::{Extensions, HeaderMap, Method, header, request::Parts},
    response::{IntoResponse, Response},
    routing::{MethodFilter, get, on, post},
};
use futures_util::FutureExt as _;
use tokio::sync::Semaphore;
use tower::ServiceExt as _;

pub(super) use self::{
    envelope::Rendered,
    idempotency::{Begin, KeptRequest, accept, close, key_of},
    rate::Rates,
    request::{REQUEST_ID, RequestId, RequestIds, RouteName},
    service::{Admitted, PeerAddress, admit_admin},
};
pub use self::{
    routes::templates::{TemplateParameter, TemplateView},
    table::endpoint_table,
};

use self::{catalogue::Catalogue, endpoint::Endpoint, rpc_request::Interface};
use super::{
    api_error::ApiError,
    chains::Chains,
    counters::panic_text,
    credentials,
    domain_proof::{ResolveTxt, SystemTxtResolver},
    eth::rpc::EthRpc,
    limits::{PAGE_LIMIT_MAX, ServerLimits},
    outbound::{OutboundClient, OutboundError, OutboundPolicy, SystemResolver, TlsRoots},
    service_rpc::{self, ServiceRpc},
};
use crate::platform::{Platform, PlatformError, Principal};

/// State of all handlers. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct App(Arc<AppState>);

#[derive(Debug)]
pub(super) struct AppState {
    chains: Chains,
    catalogue: Catalogue,
    request_ids: RequestIds,
    rates: Rates,
    admission: Arc<Semaphore>,
    limits: ServerLimits,
    service_rpc: ServiceRpc,
    outside: Outside,
    /// Made at the first request to the outside.
    outbound: OnceLock<OutboundClient>,
}

impl Deref for App {
    type Target = AppState;

    fn deref(&self) -> &AppState {
        &self.0
    }
}

/// What the service knows of the world around it.
#[derive(Debug)]
pub(super) struct Outside {
    /// Which addresses it sends requests to.
    pub(super) policy: OutboundPolicy,
    /// Names under which it is reached, which no dApp may claim.
    pub(super) own_hosts: Vec<String>,
    /// Where proofs of domains are looked for.
    pub(super) resolver: Arc<dyn ResolveTxt>,
}

impl Default for Outside {
    fn default() -> Self {
        let resolver = Arc::new(SystemTxtResolver::default());
        Self { policy: OutboundPolicy::default(), own_hosts: Vec::new(), resolver }
    }
}

impl App {
    /// The service over these chains.
    pub(super) fn new(chains: Chains, limits: ServerLimits, outside: Outside) -> Self {
        Self(Arc::new(AppState {
            service_rpc: ServiceRpc::new(chains.clone()),
            chains,
            catalogue: Catalogue::new(limits.page_limit_max),
            request_ids: RequestIds::default(),
            rates: Rates::new(limits.rate),
            admission: Arc::new(Semaphore::new(limits.rest_requests_max)),
            limits,
            outside,
            outbound: OnceLock::new(),
        }))
    }

    /// Names under which the service is reached.
    fn own_hosts(&self) -> &[String] {
        &self.outside.own_hosts
    }

    /// The source of TXT records.
    fn txt_resolver(&self) -> &dyn ResolveTxt {
        &*self.outside.resolver
    }

    /// The client of requests to the outside.
    fn outbound(&self) -> Result<&OutboundClient, OutboundError> {
        if let Some(client) = self.outbound.get() {
            return Ok(client);
        }
        // Where the machine has no roots, nothing over TLS is trusted; each delivery says so.
        let roots = TlsRoots::of_system().unwrap_or_else(|_| TlsRoots::none());
        let made = OutboundClient::new(self.outside.policy.clone(), Arc::new(SystemResolver::default()), &roots)?;
        Ok(self.outbound.get_or_init(|| made))
    }

    pub(super) fn platform(&self) -> &Arc<Platform> {
        self.chains.platform()
    }

    fn endpoints(&self) -> &Catalogue {
        &self.catalogue
    }

    fn now_ms(&self) -> u64 {
        self.platform().records().clock().now_ms()
    }

    /// Returns whether the principal of a request may see a chain: only then it waits in the chain's queue.
    fn may_see(&self, request: &request::Request, id: &str) -> bool {
        let found = request.principal.as_ref().map(|principal| self.platform().blockchains().readable(principal, id));
        found.is_some_and(|found| found.is_ok())
    }

    /// Lets a request to the Ethereum JSON-RPC of a chain in: for whom may read the chain; who may not deploy sends nothing. A refusal is an
    /// error of JSON-RPC, as all that is answered there.
    pub(super) fn admit_to_chain(&self, parts: &Parts, chain: &str) -> Result<(Admitted, EthRpc), Response> {
        let peer = parts.extensions.get::<PeerAddress>().copied();
        let admitted = service::admit(self, routes::ETHEREUM_ACCESS, &parts.headers, peer, None)
            .map_err(service::Refused::into_json_rpc)?;
        let fail = |refused: ApiError| {
            let mut response = service_rpc::refused(&refused);
            admitted.tell(response.headers_mut());
            response
        };
        // Nothing that asks for a simulation is executed.
        request::refuse_query(parts).map_err(fail)?;
        let Some(principal) = &admitted.principal else {
            return Err(fail(PlatformError::not_found("blockchain", chain).into()));
        };
        let rpc = self.chains.readable_rpc(principal, chain).map_err(|cause| fail(cause.into()))?;
        Ok((admitted, rpc))
    }

    /// Executes the calls of a body to the Ethereum JSON-RPC of a chain, if all of them fit the caller's quotas; under an idempotency key once.
    pub(super) async fn call_chain(
        &self,
        (admitted, rpc): (&mut Admitted, EthRpc),
        parts: &Parts,
        body: Bytes,
    ) -> Response {
        if let Err(refused) = admitted.count_batch(self, &body) {
            return service_rpc::refused(&refused);
        }
        rpc_request::execute(self, admitted, parts, Interface::Chain(rpc), body).await
    }

    /// Lets a message of a session with the Ethereum JSON-RPC of a chain in, as [`App::admit_to_chain`] does a request.
    pub(super) fn admit_message(
        &self,
        headers: &HeaderMap,
        peer: Option<PeerAddress>,
        (chain, message): (&str, &[u8]),
    ) -> Result<(Admitted, EthRpc), ApiError> {
        let admitted = service::admit(self, routes::ETHEREUM_ACCESS, headers, peer, None);
        let mut admitted = admitted.map_err(service::Refused::into_error)?;
        admitted.count_batch(self, message)?;
        let Some(principal) = &admitted.principal else {
            return Err(PlatformError::not_found("blockchain", chain).into());
        };
        let rpc = self.chains.readable_rpc(principal, chain)?;
        Ok((admitted, rpc))
    }

    /// Returns the Ethereum JSON-RPC of a chain, if these credentials still may read it. Nothing is counted.
    pub(super) fn look_at_session(&self, headers: &HeaderMap, chain: &str) -> Result<EthRpc, ApiError> {
        let principal = credentials::authenticate(self.platform(), headers, false)?;
        Ok(self.chains.readable_rpc(&principal, chain)?)
    }

    /// Answers a request that no endpoint serves and whose credentials nobody looks at: it is counted by its client's address. `answer` gets the
    /// error of status 429 where the quota of that is used up.
    pub(super) fn answer_stranger<B>(
        &self,
        extensions: &Extensions,
        answer: impl FnOnce(Result<(), ApiError>) -> Response<B>,
    ) -> Response<B> {
        let peer = extensions.get::<PeerAddress>().map(|PeerAddress(address)| *address);
        let quota = self.rates.count_stranger(peer);
        let mut response = answer(service::check_rate(&quota));
        quota.tell(response.headers_mut());
        response
    }

    /// Bytes of a body of an endpoint.
    fn bytes_max(&self, endpoint: &Endpoint) -> usize {
        endpoint.about.body_bytes_max.unwrap_or(self.limits.rest_body_bytes_max)
    }

    /// Returns how long the body of a request may be. Who may not send a longer one is refused before it is received.
    pub(super) fn body_bytes_max(&self, parts: &Parts) -> usize {
        let length = parts.headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        let usual = self.limits.rest_body_bytes_max;
        if parts.method == Method::GET || length.is_some_and(|length: usize| length <= usual) {
            return usual;
        }
        let found = self.endpoints().find(&parts.method, parts.uri.path());
        let Some((endpoint, more)) = found.and_then(|(endpoint, _)| Some((endpoint, endpoint.about.body_bytes_max?)))
        else {
            return usual;
        };
        let sends = || credentials::authenticate(self.platform(), &parts.headers, false);
        let scopes = endpoint.about.access.scopes();
        let may_send = |principal: Principal| !scopes.is_empty() && scopes.iter().all(|scope| principal.may(*scope));
        if more > usual && sends().is_ok_and(may_send) { more } else { usual }
    }

    /// Runs what was accepted under an idempotency key before the process ended.
    pub(super) async fn resume(&self) -> Result<usize, PlatformError> {
        resume::resume(self).await
    }

    /// Runs once more what was accepted and could not be written to its end.
    pub(super) async fn resume_left_open(&self) -> Result<usize, PlatformError> {
        resume::resume_left_open(self).await
    }
}

/// Path of the service's JSON-RPC.
const RPC_PATH: &str = "/v1/rpc";

/// Bytes that come in one part at most, so that a body past its bound is received up to the part that shows it.
const RECEIVED_BYTES: usize = 1 << 20;

/// Headers of an answer outside the endpoints that stay when it gets its body. `Retry-After` is made with that.
const KEPT_HEADERS: [&str; 3] = ["allow", "ratelimit-policy", "ratelimit"];

/// All routes under `/v1`.
#[derive(Clone, Debug)]
pub(super) struct Routes {
    app: App,
    router: Router,
}

impl Routes {
    pub(super) fn new(app: App) -> Self {
        Self { router: router(app.clone()), app }
    }

    /// State of the handlers.
    pub(super) const fn app(&self) -> &App {
        &self.app
    }

    /// Answers a request, which has been given an id unless the routes are driven without the server; puts what no endpoint answers into the
    /// envelope, or into an error of JSON-RPC where that is spoken: 404, 405, a panic.
    pub(super) async fn answer(&self, mut request: Request) -> Response {
        let given = request.extensions().get::<RequestId>().cloned();
        let id = given.unwrap_or_else(|| {
            let id = self.app.request_ids.of(request.headers());
            request.extensions_mut().insert(id.clone());
            id
        });
        let speaks_json_rpc = request.uri().path() == RPC_PATH;
        let ran = AssertUnwindSafe(self.router.clone().oneshot(request)).catch_unwind().await;
        let mut response = ran.map(|Ok(response)| response).unwrap_or_else(|payload| {
            self.app.chains.counters().count_panic();
            ApiError::internal(&format_args!("the handler panicked: {}", panic_text(payload.as_ref()))).into_response()
        });
        let Some(failure) = response.extensions_mut().remove::<ApiError>() else { return response };
        let mut answered = if speaks_json_rpc {
            service_rpc::refused(&failure)
        } else {
            Rendered::of(Err(failure), &id, self.app.now_ms()).into_response()
        };
        for name in KEPT_HEADERS {
            if let Some(value) = response.headers_mut().remove(name) {
                answered.headers_mut().insert(name, value);
            }
        }
        answered
    }
}

fn router(app: App) -> Router {
    let document = openapi::render(app.endpoints());
    let page: Arc<serde_json::Value> = Arc::new(serde_json::from_str(&document).unwrap_or_default());
    let mut router = Router::new();
    for endpoint in app.endpoints().iter().filter(|endpoint| endpoint.handler.is_some()) {
        let served = Arc::clone(endpoint);
        let handler = move |State(app): State<App>,
                            path: Result<RawPathParams, RawPathParamsRejection>,
                            request: Request| { serve(app, Arc::clone(&served), path, request) };
        let filter = MethodFilter::try_from(endpoint.about.method.clone()).unwrap_or(MethodFilter::GET);
        router = router.route(endpoint.about.path, on(filter, handler));
    }
    router
        .route(RPC_PATH, post(routes::post_rpc))
        .route(
            "/v1/docs",
            get(async move |State(app): State<App>, request: Request| {
                serve_stranger(&app, &request, || docs::serve(&page))
            }),
        )
        .route(
            "/v1/openapi.json",
            get(async move |State(app): State<App>, request: Request| {
                serve_stranger(&app, &request, || openapi::serve(&document))
            }),
        )
        .fallback(|State(app): State<App>, request: Request| async move {
            serve_stranger(&app, &request, || ApiError::no_route(request.uri().path()))
        })
        .method_not_allowed_fallback(|State(app): State<App>, request: Request| async move {
            serve_stranger(&app, &request, || ApiError::method_not_allowed(request.method(), request.uri().path()))
        })
        .with_state(app)
}

/// Answers a request outside the endpoints, unless its client's address has sent too many: 429.
fn serve_stranger<R: IntoResponse>(app: &App, request: &Request, answer: impl FnOnce() -> R) -> Response {
    app.answer_stranger(request.extensions(), |counted| counted.map(|()| answer()).into_response())
}

async fn serve(
    app: App,
    endpoint: Arc<endpoint::Endpoint>,
    path: Result<RawPathParams, RawPathParamsRejection>,
    request: Request,
) -> Response {
    let path: BTreeMap<String, String> = match path {
        Ok(path) => path.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        Err(_) => {
            let refused = || ApiError::bad_request("the path is not UTF-8 when it is decoded");
            return serve_stranger(&app, &request, refused);
        }
    };
    let (parts, body) = request.into_parts();
    if let Some(route) = parts.extensions.get::<RouteName>() {
        route.set(endpoint.about.path);
    }
    let bytes_max = app.bytes_max(&endpoint);
    // What is past the bound was cut off when it was received: one byte more shows it.
    let body: Result<Bytes, _> = axum::body::to_bytes(body, bytes_max.saturating_mul(2).max(RECEIVED_BYTES)).await;
    match body {
        Ok(body) => service::serve(app, endpoint, path, parts, body).await,
        Err(_) => ApiError::payload_too_large(bytes_max).into_response(),
    }
}

/// Returns the response to a request that is refused outside any handler.
pub(super) fn refused(error: ApiError, id: &RequestId, now_ms: u64) -> Response {
    Rendered::of(Err(error), id, now_ms).into_response()
}

/// Returns the OpenAPI document as JSON text, as `/v1/openapi.json` serves it.
pub fn openapi_json() -> String {
    openapi::render(&Catalogue::new(PAGE_LIMIT_MAX)).to_string()
}
