//! Cross-origin headers for browsers (Fetch standard, "CORS protocol"): every origin on loopback, configured origins elsewhere.

use hyper::{
    HeaderMap, Response, StatusCode,
    header::{self, HeaderName, HeaderValue},
};

use super::{Body, ServerConfig, guard};

/// Request headers that a page may send.
const REQUEST_HEADERS: &str = "content-type, authorization, x-api-key, idempotency-key, x-request-id";
/// Response headers that a page may read.
const RESPONSE_HEADERS: &str = "location, x-request-id, allow";
/// Time for which a browser may cache the response to a preflight, in seconds.
const MAX_AGE_SECS: &str = "7200";
/// Response header of Chromium's private-network preflight.
const PRIVATE_NETWORK: HeaderName = HeaderName::from_static("access-control-allow-private-network");

/// Returns the response to a preflight (`OPTIONS` with `Access-Control-Request-Method`).
pub(super) fn preflight() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    let methods = HeaderValue::from_static("GET, POST, PUT, DELETE, OPTIONS");
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(REQUEST_HEADERS));
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(MAX_AGE_SECS));
    headers.insert(PRIVATE_NETWORK, HeaderValue::from_static("true"));
    response
}

/// Adds the headers that let a page of `origin` read the response, when the origin is accepted.
pub(super) fn allow(origin: &HeaderValue, config: &ServerConfig, on_loopback: bool, headers: &mut HeaderMap) {
    let listed = origin.to_str().is_ok_and(|origin| guard::is_origin_configured(origin, config));
    if on_loopback && !listed {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    } else if listed {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        headers.insert(header::VARY, HeaderValue::from_static("origin"));
    }
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(RESPONSE_HEADERS));
}
