//! Cross-origin answers for browsers (Fetch, "CORS protocol"): open on loopback, by configuration elsewhere.

use hyper::{
    HeaderMap, Response, StatusCode,
    header::{self, HeaderName, HeaderValue},
};

use super::{Body, ServerConfig, guard};

/// What a page may send: JSON, its API key, idempotency keys.
const REQUEST_HEADERS: &str = "content-type, authorization, x-api-key, idempotency-key, x-request-id";
/// What a page may read beside the body.
const RESPONSE_HEADERS: &str = "location, x-request-id, allow";
/// Seconds that a browser may remember a preflight's answer.
const MAX_AGE_SECS: &str = "7200";
/// Chromium's private-network preflight.
const PRIVATE_NETWORK: HeaderName = HeaderName::from_static("access-control-allow-private-network");

/// The answer to a preflight (`OPTIONS` with `Access-Control-Request-Method`).
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

/// Lets the page at `origin` read `headers`' response, when it may call at all.
pub(super) fn allow(origin: &HeaderValue, config: &ServerConfig, on_loopback: bool, headers: &mut HeaderMap) {
    let listed = origin.to_str().is_ok_and(|origin| guard::origin_is_listed(origin, config));
    if on_loopback && !listed {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    } else if listed {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        headers.insert(header::VARY, HeaderValue::from_static("origin"));
    }
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(RESPONSE_HEADERS));
}
