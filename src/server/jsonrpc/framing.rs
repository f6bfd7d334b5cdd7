//! JSON-RPC 2.0 in an HTTP body: one call, one notification, or a batch.

use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::{
    Response, StatusCode,
    body::{Body as _, Bytes, Incoming},
    header::{self, HeaderMap, HeaderValue},
};
use jsonrpsee::{
    core::middleware::{Batch, BatchEntry, BatchEntryErr, Notification, Request},
    server::{HttpBody, MethodResponse, http::is_json, middleware::rpc::RpcServiceT as _},
    types::{ErrorObject, Extensions, Id, InvalidRequest},
};
use serde_json::value::RawValue;

use super::{
    errors::{self, INVALID_REQUEST, LIMIT_EXCEEDED, PARSE_ERROR, error},
    service::{Dispatch, JsonRpcService},
};
use crate::server::limits::BATCH_CALLS_MAX;

/// HTTP status and message of a body that is refused before its JSON is read.
pub(crate) type RefusedBody = (StatusCode, String);

/// Reads a JSON body of at most `bytes_max` bytes.
pub(crate) async fn read_body(headers: &HeaderMap, body: Incoming, bytes_max: usize) -> Result<Bytes, RefusedBody> {
    if !is_json(headers.get(header::CONTENT_TYPE)) {
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, "the body must be application/json".to_owned()));
    }
    let too_long = || (StatusCode::PAYLOAD_TOO_LARGE, format!("the body is longer than {bytes_max} bytes"));
    if body.size_hint().lower() > bytes_max as u64 {
        return Err(too_long());
    }
    let failed = |cause: Box<dyn std::error::Error + Send + Sync>| match cause.is::<LengthLimitError>() {
        true => too_long(),
        false => (StatusCode::BAD_REQUEST, format!("the body could not be read: {cause}")),
    };
    let mut body = Limited::new(body, bytes_max);
    let mut whole = Bytes::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(failed)?.into_data() else { continue };
        // A short body comes in one frame, which is not copied.
        whole = if whole.is_empty() { data } else { return rest_of(whole, data, body).await.map_err(failed) };
    }
    Ok(whole)
}

/// Joins a body of several frames.
async fn rest_of(
    first: Bytes,
    second: Bytes,
    body: Limited<Incoming>,
) -> Result<Bytes, Box<dyn std::error::Error + Send + Sync>> {
    let rest = body.collect().await?.to_bytes();
    Ok([first, second, rest].concat().into())
}

/// Executes the call, notification or batch in a body and returns the response; `None` for notifications (JSON-RPC 2.0, 4.1).
pub(crate) async fn execute(
    service: &JsonRpcService<impl Dispatch>,
    body: &[u8],
    extensions: Extensions,
) -> Option<Box<RawValue>> {
    let response = match body.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'[') => execute_batch(service, body, &extensions).await,
        _ => match serde_json::from_slice::<Request<'_>>(body) {
            Ok(mut call) => {
                call.extensions = extensions;
                service.call(call).await
            }
            Err(_) => match serde_json::from_slice::<Notification<'_>>(body) {
                Ok(mut notification) => {
                    notification.extensions = extensions;
                    service.notification(notification).await
                }
                Err(_) => unreadable(body),
            },
        },
    };
    if response.is_notification() { None } else { Some(response.into_json()) }
}

async fn execute_batch(
    service: &JsonRpcService<impl Dispatch>,
    body: &[u8],
    extensions: &Extensions,
) -> MethodResponse {
    let Ok(entries) = serde_json::from_slice::<Vec<&RawValue>>(body) else { return unreadable(body) };
    if entries.len() > BATCH_CALLS_MAX as usize {
        let message = format!("batch too large: {} calls of at most {BATCH_CALLS_MAX}", entries.len());
        return MethodResponse::error(Id::Null, error(LIMIT_EXCEEDED, message));
    }
    let entries = entries.into_iter().map(|entry| read_entry(entry.get(), extensions)).collect();
    service.batch(Batch::from(entries)).await
}

fn read_entry<'a>(text: &'a str, extensions: &Extensions) -> Result<BatchEntry<'a>, BatchEntryErr<'a>> {
    if let Ok(mut call) = serde_json::from_str::<Request<'a>>(text) {
        call.extensions = extensions.clone();
        return Ok(BatchEntry::Call(call));
    }
    if let Ok(mut notification) = serde_json::from_str::<Notification<'a>>(text) {
        notification.extensions = extensions.clone();
        return Ok(BatchEntry::Notification(notification));
    }
    let (id, error) = invalid_request(text.as_bytes());
    Err(BatchEntryErr::new(id, error))
}

fn unreadable(body: &[u8]) -> MethodResponse {
    if let Err(cause) = serde_json::from_slice::<&RawValue>(body) {
        return MethodResponse::error(Id::Null, error(PARSE_ERROR, format!("parse error: {cause}")));
    }
    let (id, error) = invalid_request(body);
    MethodResponse::error(id, error)
}

fn invalid_request(body: &[u8]) -> (Id<'_>, ErrorObject<'static>) {
    let id = serde_json::from_slice::<InvalidRequest<'_>>(body).map_or(Id::Null, |request| request.id);
    (id, error(INVALID_REQUEST, "invalid request: expected an object with jsonrpc \"2.0\", method, params and id"))
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
    let refused = MethodResponse::error(Id::Null, errors::error(INVALID_REQUEST, message));
    let mut response = http_response(Some(refused.into_json()));
    *response.status_mut() = status;
    response
}
