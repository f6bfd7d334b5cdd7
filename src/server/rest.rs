//! The service's REST interface under `/v1`, with the router on which `/v1/rpc` is mounted too.
//!
//! A handler returns a resource or an [`ApiError`]; one layer around all routes wraps either in the envelope. The OpenAPI
//! document is generated from the same handlers.

mod blockchains;
mod contracts;
mod envelope;
mod health;
mod metrics;
mod openapi;
mod query;
mod request;
mod schema;
mod templates;

use axum::{
    Router,
    extract::{DefaultBodyLimit, FromRef},
    middleware,
    routing::get,
};
use utoipa::OpenApi as _;
use utoipa_axum::{router::OpenApiRouter, routes};

pub use self::templates::{TemplateParameter, TemplateView};

use self::request::RequestIds;
use super::{
    api_error::ApiError,
    chains::Chains,
    limits::REST_BODY_BYTES_MAX,
    service_rpc::{self, ServiceRpc},
};

/// State of all handlers.
#[derive(Clone, Debug)]
struct App {
    chains: Chains,
    request_ids: RequestIds,
    service_rpc: ServiceRpc,
}

impl FromRef<App> for ServiceRpc {
    fn from_ref(app: &App) -> Self {
        app.service_rpc.clone()
    }
}

/// Builds the router of all routes under `/v1`.
pub(crate) fn router(chains: Chains) -> Router {
    let service_rpc = ServiceRpc::new(chains.clone());
    let app = App { chains, request_ids: RequestIds::default(), service_rpc };
    let (router, document) = routes().split_for_parts();
    let document = openapi::render(document);
    router
        .route("/v1/openapi.json", get(move || openapi::serve(document.clone())))
        .fallback(|request: axum::extract::Request| async move { ApiError::no_route(request.uri().path()) })
        .method_not_allowed_fallback(|request: axum::extract::Request| async move {
            ApiError::method_not_allowed(request.method(), request.uri().path())
        })
        .layer(DefaultBodyLimit::max(REST_BODY_BYTES_MAX))
        .layer(middleware::from_fn_with_state(app.clone(), envelope::wrap))
        .with_state(app)
}

/// Returns the OpenAPI document as JSON text, as `/v1/openapi.json` serves it.
pub fn openapi_json() -> String {
    openapi::render(routes().into_openapi()).to_string()
}

/// Routes that the OpenAPI document describes.
fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(openapi::Document::openapi())
        .routes(routes!(health::get))
        .routes(routes!(blockchains::create, blockchains::list))
        .routes(routes!(blockchains::get))
        .routes(routes!(blockchains::ethereum))
        .routes(routes!(metrics::get))
        .routes(routes!(contracts::deploy))
        .routes(routes!(contracts::get))
        .routes(routes!(templates::list))
        .routes(routes!(service_rpc::post))
}
