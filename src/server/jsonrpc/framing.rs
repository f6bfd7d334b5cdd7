//! HTTP responses with JSON-RPC 2.0 in them.

use hyper::{
    Response, StatusCode,
    header::{self, HeaderValue},
};
use jsonrpsee::{
    server::{HttpBody, MethodResponse},
    types::Id,
};
use serde_json::value::RawValue;

use super::errors::{self, INTERNAL_ERROR, INVALID_REQUEST, LIMIT_EXCEEDED};

/// HTTP status and message of a body that is refused before its JSON is read.
pub(crate) type RefusedBody = (StatusCode, String);

/// Returns the HTTP response with a JSON-RPC response as its body, or with an empty one.
pub(crate) fn http_response(json: Option<Box<RawValue>>) -> Response<HttpBody> {
    let body = json.map_or_else(HttpBody::empty, |json| HttpBody::from(String::from(Box::<str>::from(json))));
    let mut response = Response::new(body);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Returns the HTTP response to a refused body: its status, and the message as a JSON-RPC error.
pub(crate) fn refusal((status, message): RefusedBody) -> Response<HttpBody> {
    let code = match status {
        StatusCode::SERVICE_UNAVAILABLE => LIMIT_EXCEEDED,
        StatusCode::INTERNAL_SERVER_ERROR => INTERNAL_ERROR,
        _ => INVALID_REQUEST,
    };
    let refused = MethodResponse::error(Id::Null, errors::error(code, message));
    let mut response = http_response(Some(refused.into_json()));
    *response.status_mut() = status;
    response
}
