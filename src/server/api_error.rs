//! Errors of the service, in REST and JSON-RPC: status, code, message, details.

use std::time::Duration;

use axum::{
    http::{HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::{Map, Value, json};

use super::{commands::OutboundBusy, limits::OUTBOUND_RETRY, queue_error::QueueError};
use crate::{
    node::FullDisk,
    platform::{OverQuota, PlatformError, records::RecordError},
};

/// Error of a handler. The envelope layer writes its body.
#[derive(Clone, Debug)]
pub(crate) struct ApiError {
    status: StatusCode,
    code: &'static str,
    message: String,
    details: Map<String, Value>,
}

impl ApiError {
    /// Returns an error without details.
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), details: Map::new() }
    }

    /// Returns 400.
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BAD_REQUEST", message)
    }

    /// Returns 401.
    pub(crate) fn unauthorized(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "UNAUTHORIZED", message)
    }

    /// Returns 403 with the scope that the caller lacks.
    pub(crate) fn forbidden(scope: &str) -> Self {
        let mut error =
            Self::new(StatusCode::FORBIDDEN, "FORBIDDEN", format!("the credentials lack the scope {scope}"));
        error.details.insert("requiredScope".to_owned(), scope.into());
        error
    }

    /// Returns 404 for a path without a route.
    pub(crate) fn no_route(path: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "NOT_FOUND", format!("there is no resource at {path}"))
    }

    /// Returns 405; the router adds `Allow`.
    pub(crate) fn method_not_allowed(method: &Method, path: &str) -> Self {
        let message = format!("{method} is not allowed on {path}: see the Allow header");
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", message)
    }

    /// Returns 415.
    pub(crate) fn unsupported_media_type(found: &str) -> Self {
        let message =
            format!("expected a body of application/json, got {found}: send the header content-type: application/json");
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "UNSUPPORTED_MEDIA_TYPE", message)
    }

    /// Returns 413.
    pub(crate) fn payload_too_large(bytes_max: usize) -> Self {
        let message = format!("the body is longer than {bytes_max} bytes");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "PAYLOAD_TOO_LARGE", message)
    }

    /// Returns 500 with the cause, which never contains secrets.
    pub(crate) fn internal(cause: &dyn core::fmt::Display) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL_ERROR", format!("internal error: {cause}"))
    }

    /// Returns 429: the quota of the caller is used up.
    pub(crate) fn rate_limited(requests: u64, window: Duration, retry_after_secs: u64) -> Self {
        let message =
            format!("more than {requests} requests in {} s: retry after {retry_after_secs} s", window.as_secs());
        let mut error = Self::new(StatusCode::TOO_MANY_REQUESTS, "RATE_LIMITED", message);
        error.details.insert("retryAfter".to_owned(), retry_after_secs.into());
        error
    }

    /// Returns 429: the workspace's plan is used up.
    pub(crate) fn plan_used_up(over: &OverQuota) -> Self {
        let mut error = Self::new(StatusCode::TOO_MANY_REQUESTS, "RATE_LIMITED", over.to_string());
        error.details.insert("retryAfter".to_owned(), over.resets_in_secs.into());
        error.details.insert("usage".to_owned(), over.usage.name().into());
        error.details.insert("limit".to_owned(), over.limit.into());
        error
    }

    /// Returns 503: more than `max` requests are being worked on.
    pub(crate) fn too_many_at_once(max: usize) -> Self {
        let message = format!("{max} requests are being worked on, which is the maximum: retry in a second");
        let mut error = Self::unavailable(message);
        error.details.insert("retryAfter".to_owned(), 1.into());
        error
    }

    /// Returns 503.
    pub(crate) fn unavailable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE", message)
    }

    /// Status of HTTP.
    pub(crate) const fn status(&self) -> StatusCode {
        self.status
    }

    /// Seconds after which a repetition makes sense.
    pub(crate) fn retry_after_secs(&self) -> Option<u64> {
        self.details.get("retryAfter").and_then(Value::as_u64)
    }

    /// Code of the error, such as `NOT_FOUND`.
    pub(crate) const fn code(&self) -> &'static str {
        self.code
    }

    /// Message of the error.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Details of the error; empty for most codes.
    pub(crate) const fn details(&self) -> &Map<String, Value> {
        &self.details
    }

    /// Returns the body of the response.
    pub(crate) fn body(&self, request_id: &str, timestamp: &str) -> Value {
        json!({
            "success": false,
            "error": {
                "code": self.code,
                "message": self.message,
                "details": self.details,
                "requestId": request_id,
                "timestamp": timestamp,
            },
        })
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        if self.status == StatusCode::UNAUTHORIZED {
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"chainbox\""));
        }
        response.extensions_mut().insert(self);
        response
    }
}

impl From<QueueError> for ApiError {
    fn from(cause: QueueError) -> Self {
        Self::unavailable(cause.to_string())
    }
}

impl From<OutboundBusy> for ApiError {
    fn from(cause: OutboundBusy) -> Self {
        let (secs, message) = (OUTBOUND_RETRY.as_secs(), cause.to_string());
        let message = format!("{message}: retry after {secs} s");
        let mut error = match cause {
            OutboundBusy::Workspace { .. } => Self::new(StatusCode::TOO_MANY_REQUESTS, "RATE_LIMITED", message),
            OutboundBusy::Service { .. } => Self::unavailable(message),
        };
        error.details.insert("retryAfter".to_owned(), secs.into());
        error
    }
}

impl From<PlatformError> for ApiError {
    fn from(cause: PlatformError) -> Self {
        let mut error = Self::new(status_of(&cause), cause.code(), cause.to_string());
        match &cause {
            PlatformError::Validation { fields } => {
                let fields = fields.iter().map(|field| {
                    let message = format!("expected {}, got {}", field.expected, field.got);
                    json!({ "path": field.path, "expected": field.expected, "got": field.got, "message": message })
                });
                error.details.insert("fields".to_owned(), fields.collect());
            }
            PlatformError::MissingScope { scope } => {
                error.details.insert("requiredScope".to_owned(), scope.name().into());
            }
            PlatformError::NotFound { kind, id } => {
                error.details.insert("resource".to_owned(), (*kind).into());
                error.details.insert("id".to_owned(), id.as_str().into());
            }
            PlatformError::InsufficientBalance { required, available } => {
                error.details.insert("required".to_owned(), required.to_string().into());
                error.details.insert("available".to_owned(), available.to_string().into());
            }
            PlatformError::StorageFull { disk } => error.details = storage_details(*disk),
            PlatformError::TooManyAttempts { retry_after_secs } => {
                error.details.insert("retryAfter".to_owned(), (*retry_after_secs).into());
            }
            _ => {}
        }
        error
    }
}

/// Returns the details of [`PlatformError::StorageFull`]: decimal strings, as all amounts of the service.
pub(crate) fn storage_details(disk: FullDisk) -> Map<String, Value> {
    let details = [("freeBytes", disk.free_bytes), ("freeBytesMin", disk.free_bytes_min)];
    details.map(|(name, bytes)| (name.to_owned(), bytes.to_string().into())).into_iter().collect()
}

/// Returns the HTTP status of a platform error (the service specification, "Errors").
const fn status_of(cause: &PlatformError) -> StatusCode {
    match cause {
        PlatformError::BadRequest { .. } => StatusCode::BAD_REQUEST,
        PlatformError::Validation { .. } => StatusCode::UNPROCESSABLE_ENTITY,
        PlatformError::WrongCredentials => StatusCode::UNAUTHORIZED,
        PlatformError::TooManyAttempts { .. } => StatusCode::TOO_MANY_REQUESTS,
        PlatformError::MissingScope { .. } | PlatformError::Forbidden { .. } => StatusCode::FORBIDDEN,
        PlatformError::NotFound { .. } => StatusCode::NOT_FOUND,
        PlatformError::Conflict { .. }
        | PlatformError::UnsupportedByConsensus { .. }
        | PlatformError::InsufficientBalance { .. } => StatusCode::CONFLICT,
        PlatformError::Pruned { .. } => StatusCode::GONE,
        PlatformError::StorageFull { .. } => StatusCode::SERVICE_UNAVAILABLE,
        PlatformError::Internal { .. } | PlatformError::Entropy(_) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl From<RecordError> for ApiError {
    fn from(cause: RecordError) -> Self {
        PlatformError::from(cause).into()
    }
}
