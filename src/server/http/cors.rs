//! Cross-origin headers for browsers (Fetch standard, "CORS protocol"): for configured origins, and pages that the server itself serves. In
//! development for every origin on loopback, and elsewhere for pages of loopback names.

use hyper::{
    HeaderMap, Response, StatusCode,
    header::{self, HeaderName, HeaderValue},
};

use super::{Body, ServerConfig, guard};

/// Request headers that a page may send when its preflight names none.
const REQUEST_HEADERS: HeaderValue =
    HeaderValue::from_static("content-type, authorization, x-api-key, idempotency-key, x-request-id");
/// Response headers that a page may read.
const RESPONSE_HEADERS: &str =
    "location, x-request-id, allow, ratelimit, ratelimit-policy, retry-after, idempotent-replayed";
/// Time for which a browser may cache the response to a preflight, in seconds.
const MAX_AGE_SECS: &str = "7200";
/// Response header of Chromium's private-network preflight.
const PRIVATE_NETWORK: HeaderName = HeaderName::from_static("access-control-allow-private-network");

/// Returns the response to a preflight (`OPTIONS` with `Access-Control-Request-Method`). It allows the headers that the page asks for:
/// tracing and analytics of pages add their own, and none of them means anything here.
pub(super) fn preflight(request: &HeaderMap) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    let methods = HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE, OPTIONS");
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
    let requested = request.get(header::ACCESS_CONTROL_REQUEST_HEADERS).cloned().unwrap_or(REQUEST_HEADERS);
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, requested);
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(MAX_AGE_SECS));
    headers.insert(PRIVATE_NETWORK, HeaderValue::from_static("true"));
    response
}

/// Adds the headers that let a page of `origin` read the response to a request for `host`, when the origin is accepted.
pub(super) fn allow(
    origin: &HeaderValue,
    host: Option<&HeaderValue>,
    config: &ServerConfig,
    on_loopback: bool,
    headers: &mut HeaderMap,
) {
    let text = origin.to_str().unwrap_or_default();
    if on_loopback && config.has_open_origins && !guard::is_origin_configured(text, config) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    } else if guard::is_origin_accepted(text, host, config) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        headers.insert(header::VARY, HeaderValue::from_static("origin"));
    }
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(RESPONSE_HEADERS));
}
