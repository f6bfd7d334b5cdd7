//! The service's REST interface under `/v1`, and `/v1/rpc`.
//!
//! A handler gives a resource or a refusal; one layer around all routes puts either into the envelope, so that no answer
//! can leave without one. The OpenAPI document is generated from the same handlers.

mod answer;
mod blockchains;
mod contracts;
mod health;
mod metrics;
mod openapi;
mod query;
mod request;
mod schema;

use axum::{Router, extract::DefaultBodyLimit, middleware, routing::get};
use utoipa::OpenApi as _;
use utoipa_axum::{router::OpenApiRouter, routes};

use self::{metrics::Totals, request::RequestIds};
use super::{Chains, REST_BODY_BYTES_MAX, api_error::ApiError, service_rpc};

/// What all handlers share.
#[derive(Clone, Debug)]
pub(crate) struct App {
    pub(crate) chains: Chains,
    totals: Totals,
    request_ids: RequestIds,
    pub(crate) rpc: jsonrpsee::server::Methods,
}

/// All routes over the chains. A router is made once, by the first request.
pub(crate) fn router(chains: Chains) -> Router {
    let rpc = service_rpc::methods(chains.clone());
    let app = App { chains, totals: Totals::default(), request_ids: RequestIds::default(), rpc };
    let (router, document) = routes().split_for_parts();
    let document = openapi::render(document);
    router
        .route("/v1/openapi.json", get(move || openapi::serve(document.clone())))
        .fallback(|request: axum::extract::Request| async move { ApiError::no_route(request.uri().path()) })
        .method_not_allowed_fallback(|request: axum::extract::Request| async move {
            ApiError::method_not_allowed(request.method(), request.uri().path())
        })
        .layer(DefaultBodyLimit::max(REST_BODY_BYTES_MAX))
        .layer(middleware::from_fn_with_state(app.clone(), answer::envelope))
        .with_state(app)
}

/// The OpenAPI document as text, as `/v1/openapi.json` serves it; for tools and tests without a server.
pub fn openapi_json() -> String {
    openapi::render(routes().into_openapi()).to_string()
}

/// Every described route, with its description.
fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(openapi::Document::openapi())
        .routes(routes!(health::get))
        .routes(routes!(blockchains::create, blockchains::list))
        .routes(routes!(blockchains::get))
        .routes(routes!(blockchains::ethereum))
        .routes(routes!(metrics::get))
        .routes(routes!(contracts::deploy))
        .routes(routes!(contracts::get))
        .routes(routes!(service_rpc::post))
}
