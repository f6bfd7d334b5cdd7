//! The envelope of every REST response.

use std::panic::AssertUnwindSafe;

use axum::{
    Json,
    extract::{Request, State},
    http::{HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures_util::FutureExt as _;
use serde::Serialize;
use serde_json::{Value, json};

use super::{App, schema::Pagination};
use crate::server::{api_error::ApiError, clock, counters::panic_text};

/// Header that repeats `meta.requestId`.
pub(super) const REQUEST_ID: &str = "x-request-id";

/// Successful result of a handler, before [`wrap`] wraps it.
#[derive(Clone, Debug)]
pub(super) struct ApiResponse {
    status: StatusCode,
    data: Value,
    pagination: Option<Pagination>,
    location: Option<String>,
}

impl ApiResponse {
    /// Returns 200 with a resource.
    pub(super) fn ok(data: &impl Serialize) -> Result<Self, ApiError> {
        let data = serde_json::to_value(data).map_err(|cause| ApiError::internal(&cause))?;
        Ok(Self { status: StatusCode::OK, data, pagination: None, location: None })
    }

    /// Returns 201 with a new resource and its path.
    pub(super) fn created(data: &impl Serialize, location: String) -> Result<Self, ApiError> {
        Ok(Self { status: StatusCode::CREATED, location: Some(location), ..Self::ok(data)? })
    }

    /// Returns 200 with one page of a list.
    pub(super) fn page(data: &impl Serialize, pagination: Pagination) -> Result<Self, ApiError> {
        Ok(Self { pagination: Some(pagination), ..Self::ok(data)? })
    }
}

/// Passes the result to [`wrap`], which has the request's id, as an extension.
impl IntoResponse for ApiResponse {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// Gives the request an id and wraps the result of its handler in the envelope.
pub(super) async fn wrap(State(app): State<App>, request: Request, next: Next) -> Response {
    let request_id = app.request_ids.of(request.headers());
    let ran = AssertUnwindSafe(next.run(request)).catch_unwind().await;
    let mut response = ran.unwrap_or_else(|payload| {
        app.chains.counters().count_panic();
        ApiError::internal(&format_args!("the handler panicked: {}", panic_text(payload.as_ref()))).into_response()
    });
    let success = response.extensions_mut().remove::<ApiResponse>();
    let failure = response.extensions_mut().remove::<ApiError>();
    let timestamp = clock::iso_8601(clock::now_ms());
    if let Some(success) = success {
        let mut body = json!({
            "success": true,
            "data": success.data,
            "meta": { "requestId": request_id, "timestamp": timestamp },
        });
        if let Some(pagination) = success.pagination {
            body["pagination"] = json!(pagination);
        }
        replace_body(&mut response, body);
        if let Some(location) = success.location.and_then(|location| HeaderValue::try_from(location).ok()) {
            response.headers_mut().insert(header::LOCATION, location);
        }
    } else if let Some(failure) = failure {
        replace_body(&mut response, failure.body(&request_id, &timestamp));
    }
    if let Ok(id) = HeaderValue::try_from(request_id) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    response
}

fn replace_body(response: &mut Response, body: Value) {
    let (parts, body) = Json(body).into_response().into_parts();
    *response.body_mut() = body;
    response.headers_mut().remove(header::CONTENT_LENGTH);
    response.headers_mut().extend(parts.headers);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use axum::{Router, body::Body, middleware, routing::get};
    use tower::ServiceExt as _;

    use super::*;
    use crate::{
        node::Node,
        platform::{Blockchain, BlockchainSpec, DEFAULT_BLOCKCHAIN_ID, Platform},
        server::{chains::Chains, clock::WallClock, rest::request::RequestIds, service_rpc::ServiceRpc},
    };

    #[tokio::test]
    async fn a_panicking_handler_is_500_in_the_envelope_and_is_counted() {
        let spec = BlockchainSpec::read(json!({ "name": "test" })).unwrap();
        let chain = Blockchain::running(DEFAULT_BLOCKCHAIN_ID.to_owned(), spec, Node::new(), 0);
        let chains = Chains::new(Arc::new(Platform::builder(Arc::new(WallClock)).open(chain).unwrap()));
        let counters = chains.counters().clone();
        let service_rpc = ServiceRpc::new(chains.clone());
        let app = App { chains, request_ids: RequestIds::default(), service_rpc };
        let router = Router::new()
            .route("/", get(async || -> &'static str { panic!("as asked") }))
            .layer(middleware::from_fn_with_state(app, wrap));
        let response = router.oneshot(Request::new(Body::empty())).await.unwrap();
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert!(response.headers().contains_key(REQUEST_ID));
        let body = axum::body::to_bytes(response.into_body(), 10_000).await.unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["error"]["code"], "INTERNAL_ERROR");
        assert!(body["error"]["message"].as_str().unwrap().contains("as asked"), "{body}");
        assert_eq!(counters.panics(), 1);
    }
}
