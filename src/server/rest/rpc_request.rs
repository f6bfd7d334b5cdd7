//! What happens to a request of JSON-RPC that is let in: its calls are executed; under an idempotency key once.
//!
//! The key and the calls are written before they are executed, the response when all of them are done. A transaction that the service sends
//! for a call is kept under an id that follows from the request and the call's place in it, so that a request that is run again after a
//! crash sends what it sent before, and no second one.

use axum::{
    body::{Body, Bytes},
    http::{StatusCode, request::Parts},
    response::Response,
};
use serde_json::json;
use tracing::{Instrument as _, Span};

use super::{
    App,
    endpoint::Endpoint,
    envelope::Rendered,
    idempotency::{self, Begin, KeptRequest, id_seed, key_of},
    request::RequestId,
    service::Admitted,
};
use crate::{
    platform::{PlatformError, Principal, records::Accepted},
    server::{
        api_error::ApiError,
        eth::rpc::{EthRpc, extensions_of},
        jsonrpc::{effect::Effect, framing::Answered},
        service_rpc,
    },
};

/// Operation of `/v1/rpc`.
pub(super) const RPC_OPERATION: &str = "rpc";
/// Operation of `/v1/blockchains/{blockchainId}/eth`.
pub(super) const ETHEREUM_OPERATION: &str = "ethereumRpc";
/// Bytes of a response that is kept for repetitions. A longer one is sent and not kept.
const KEPT_BYTES_MAX: usize = 1 << 20;

/// What a request of JSON-RPC speaks to.
#[derive(Clone, Debug)]
pub(super) enum Interface {
    /// `/v1/rpc`.
    Service,
    /// Ethereum JSON-RPC of a chain.
    Chain(EthRpc),
}

/// Returns whether an operation of this name speaks JSON-RPC.
pub(super) fn is_operation(name: &str) -> bool {
    matches!(name, RPC_OPERATION | ETHEREUM_OPERATION)
}

/// Returns the response to a request none of whose calls is executed.
pub(super) fn refused(error: &ApiError, id: &RequestId) -> Rendered {
    let body = json!({ "jsonrpc": "2.0", "error": service_rpc::error_object(error), "id": null });
    Rendered::foreign(error.status(), body.to_string().into_bytes(), id)
}

impl Interface {
    /// Returns the interface of an endpoint for a request that is run again; `None` for an endpoint of REST.
    pub(super) fn again(
        app: &App,
        principal: &Principal,
        endpoint: &Endpoint,
        chain: Option<&str>,
    ) -> Option<Result<Self, PlatformError>> {
        match endpoint.about.operation {
            RPC_OPERATION => Some(Ok(Self::Service)),
            ETHEREUM_OPERATION => {
                let rpc = app.chains.readable_rpc(principal, chain.unwrap_or_default());
                Some(rpc.map(|rpc| Self::Chain(rpc.for_rerun())))
            }
            _ => None,
        }
    }

    /// The same for a request that is run again.
    fn for_rerun(self) -> Self {
        match self {
            Self::Service => Self::Service,
            Self::Chain(rpc) => Self::Chain(rpc.for_rerun()),
        }
    }

    const fn operation(&self) -> &'static str {
        match self {
            Self::Service => RPC_OPERATION,
            Self::Chain(_) => ETHEREUM_OPERATION,
        }
    }

    async fn execute(&self, app: &App, principal: &Principal, body: &[u8], seed: Option<String>) -> Answered {
        let calls_max = app.limits.batch_calls_max;
        match self {
            Self::Service => app.service_rpc.execute(principal.clone(), calls_max, body, seed).await,
            Self::Chain(rpc) => {
                let (effect, mut extensions) = (Effect::default(), extensions_of(principal));
                extensions.insert(effect.clone());
                let json = rpc.http_service().execute_up_to(calls_max, body, extensions).await;
                Answered { status: StatusCode::OK, json, is_begun: effect.is_begun() }
            }
        }
    }
}

/// Executes the calls of a body.
pub(super) async fn execute(
    app: &App,
    admitted: &Admitted,
    parts: &Parts,
    interface: Interface,
    body: Bytes,
) -> Response {
    let Some(principal) = admitted.principal.clone() else {
        return service_rpc::refused(&ApiError::internal(&"JSON-RPC without a principal"));
    };
    let key = match key_of(&parts.headers) {
        Ok(Some(key)) => key,
        Ok(None) => return interface.execute(app, &principal, &body, None).await.into_response().map(Body::new),
        Err(refused) => return service_rpc::refused(&refused),
    };
    let kept = KeptRequest::of(parts, &body);
    let given = parts.extensions.get::<RequestId>().cloned();
    let id = given.unwrap_or_else(|| app.request_ids.of(&parts.headers));
    let app = app.clone();
    let work = async move { once(&app, &principal, &key, (interface, kept), &body, &id).await };
    // What is accepted is run to its end, also for a caller that leaves.
    let done = tokio::spawn(work.instrument(Span::current())).await;
    match done.unwrap_or_else(|cause| Err(ApiError::internal(&cause))) {
        Ok(rendered) => rendered.into_response(),
        Err(refused) => service_rpc::refused(&refused),
    }
}

async fn once(
    app: &App,
    principal: &Principal,
    key: &str,
    (interface, kept): (Interface, KeptRequest),
    body: &[u8],
    id: &RequestId,
) -> Result<Rendered, ApiError> {
    let (platform, operation) = (app.platform().clone(), interface.operation());
    let (sender, key) = (principal.clone(), key.to_owned());
    let accept = move || idempotency::accept(&platform, &sender, &key, operation, &kept);
    match app.chains.workers().change(accept).await?? {
        Begin::Run(accepted) => finish(app, principal, &interface, body, &accepted, id).await,
        Begin::Again(accepted) => finish(app, principal, &interface.for_rerun(), body, &accepted, id).await,
        Begin::Replay(rendered) => Ok(rendered),
    }
}

/// Executes the calls of an accepted request, and keeps the response. One in which nothing was begun is forgotten, so that its key can be
/// used again; one whose end can't be written is left open, to be run again.
pub(super) async fn finish(
    app: &App,
    principal: &Principal,
    interface: &Interface,
    body: &[u8],
    accepted: &Accepted,
    id: &RequestId,
) -> Result<Rendered, ApiError> {
    let answered = interface.execute(app, principal, body, Some(id_seed(accepted))).await;
    let is_begun = answered.is_begun;
    let status = if answered.is_empty() { StatusCode::NO_CONTENT } else { answered.status };
    let text = answered.json.map(|json| String::from(Box::<str>::from(json))).unwrap_or_default();
    let rendered = Rendered::foreign(status, text.into_bytes(), id);
    let kept = if rendered.body_bytes() > KEPT_BYTES_MAX { too_long(id) } else { rendered.clone() };
    let (platform, closing) = (app.platform().clone(), accepted.clone());
    let close = move || {
        let requests = platform.idempotency();
        platform.unit(|unit| match is_begun {
            true => requests.respond(unit, &closing, &kept.kept()),
            false => requests.withdraw(unit, &closing),
        })
    };
    let closed = app.chains.workers().change(close).await;
    if !matches!(closed, Ok(Ok(()))) {
        app.platform().idempotency().leave_open(accepted);
    }
    closed??;
    Ok(rendered)
}

/// The answer to a repetition of a request whose response was too long to be kept.
fn too_long(id: &RequestId) -> Rendered {
    let message = format!(
        "the request was executed once, and its response, of more than {KEPT_BYTES_MAX} bytes, was not kept: read what you need without an \
         Idempotency-Key"
    );
    refused(&ApiError::new(StatusCode::CONFLICT, "CONFLICT", message), id)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::Value;

    use super::*;
    use crate::{
        node::{BlockRef, Node},
        platform::{Blockchain, BlockchainSpec, DEFAULT_BLOCKCHAIN_ID, Platform},
        primitives::U256,
        server::{chains::Chains, clock::WallClock, limits::ServerLimits, rest::Outside},
    };

    fn app() -> App {
        let spec = BlockchainSpec::read(json!({ "name": "test" })).unwrap();
        let chain = Blockchain::running(DEFAULT_BLOCKCHAIN_ID.to_owned(), spec, Node::new(), 0);
        let platform = Platform::builder(Arc::new(WallClock)).open(chain).unwrap();
        App::new(Chains::new(Arc::new(platform)), ServerLimits::default(), Outside::default())
    }

    /// Sends a body under a key; returns whether an earlier response was repeated.
    async fn send(app: &App, interface: &Interface, key: &str, body: &Value) -> bool {
        let (principal, id) = (app.platform().service_principal(), RequestId("req_1".to_owned()));
        let body = body.to_string().into_bytes();
        let kept = KeptRequest { method: "POST".to_owned(), target: "/".to_owned(), body: body.clone() };
        let begin = idempotency::accept(app.platform(), &principal, key, interface.operation(), &kept);
        match begin.unwrap_or_else(|cause| panic!("{key}: {cause:?}")) {
            Begin::Run(accepted) | Begin::Again(accepted) => {
                finish(app, &principal, interface, &body, &accepted, &id).await.unwrap();
                false
            }
            Begin::Replay(_) => true,
        }
    }

    /// The refused call has the only response, in which nothing of the payment shows.
    #[tokio::test]
    async fn a_notification_beside_a_refused_call_is_executed_once() {
        let app = app();
        let node = app.platform().default_blockchain().unwrap().node().clone();
        let (alice, bob) = (node.accounts()[0], node.accounts()[1]);
        let balance = || node.view().balance(bob, BlockRef::Latest).unwrap();
        let principal = app.platform().service_principal();
        let chain = Interface::Chain(app.chains.readable_rpc(&principal, DEFAULT_BLOCKCHAIN_ID).unwrap());
        let note = |method: &str, params: Value| json!({ "jsonrpc": "2.0", "method": method, "params": params });
        let executed = json!({ "contractAddress": bob, "data": "0x", "value": "1", "from": alice });
        let sent = json!([{ "from": alice, "to": bob, "value": "0x1" }]);
        let refused = json!({ "jsonrpc": "2.0", "id": 1, "method": "no.such", "params": {} });
        for (key, interface, payment) in [
            ("rpc", &Interface::Service, note("contract.execute", executed)),
            ("eth", &chain, note("eth_sendTransaction", sent)),
        ] {
            let before = balance();
            let body = json!([payment, refused]);
            assert!(!send(&app, interface, key, &body).await, "{key}");
            assert_eq!(balance(), before + U256::from(1), "{key}");
            assert!(send(&app, interface, key, &body).await, "{key}: its response was kept");
            assert_eq!(balance(), before + U256::from(1), "{key}");
            // Where nothing was begun the key can be used again, for something else too.
            let other = format!("{key}-other");
            assert!(!send(&app, interface, &other, &json!([refused])).await, "{other}");
            assert!(!send(&app, interface, &other, &body).await, "{other}");
            assert_eq!(balance(), before + U256::from(2), "{other}");
        }
    }
}
