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

/// The answer to a body: the status of HTTP, and the JSON-RPC response; `None` for notifications.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) status: StatusCode,
    pub(crate) json: Option<Box<RawValue>>,
    /// Whether any of its calls was begun.
    pub(crate) is_begun: bool,
}

impl Answered {
    /// Whether it was sent notifications alone: status 204.
    pub(crate) fn is_empty(&self) -> bool {
        self.json.is_none() && self.status == StatusCode::OK
    }

    /// Returns the HTTP response.
    pub(crate) fn into_response(self) -> Response<HttpBody> {
        if self.is_empty() {
            let mut response = Response::new(HttpBody::empty());
            *response.status_mut() = StatusCode::NO_CONTENT;
            return response;
        }
        let mut response = http_response(self.json);
        *response.status_mut() = self.status;
        response
    }
}

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
