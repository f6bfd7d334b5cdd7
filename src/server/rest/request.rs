//! What handlers read of a request beside its query: id, principal, JSON body.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use axum::{
    body::Bytes,
    extract::{FromRequestParts, Path, rejection::BytesRejection},
    http::{HeaderMap, header, request::Parts},
};
use serde_json::Value;

use super::{App, envelope::REQUEST_ID};
use crate::{
    platform::{Principal, Scope},
    server::{api_error::ApiError, clock, credentials},
};

/// Characters of a request id that the client sent.
const REQUEST_ID_LEN_MAX: usize = 128;

/// Source of request ids: `req_`, the start of the process in milliseconds as hex digits, a counter.
#[derive(Clone, Debug)]
pub(super) struct RequestIds {
    started_ms: u64,
    count: Arc<AtomicU64>,
}

impl Default for RequestIds {
    fn default() -> Self {
        Self { started_ms: clock::now_ms(), count: Arc::default() }
    }
}

impl RequestIds {
    /// Returns the client's `X-Request-Id` when it is printable ASCII of at most 128 characters, else a new id.
    pub(super) fn of(&self, headers: &HeaderMap) -> String {
        let own = headers.get(REQUEST_ID).and_then(|id| id.to_str().ok());
        match own
            .filter(|id| (1..=REQUEST_ID_LEN_MAX).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic()))
        {
            Some(id) => id.to_owned(),
            None => format!("req_{:x}{:06x}", self.started_ms, self.count.fetch_add(1, Ordering::Relaxed)),
        }
    }
}

impl App {
    /// Returns the principal, or 401 for wrong credentials and 403 for one that lacks `scope`.
    pub(super) fn authorize(&self, headers: &HeaderMap, scope: Scope) -> Result<Principal, ApiError> {
        credentials::authorize(self.chains.platform(), headers, scope)
    }
}

/// The id in a path; 400 for bytes that are no UTF-8.
#[derive(Debug)]
pub(super) struct ResourceId(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for ResourceId {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let Path(id) = Path::from_request_parts(parts, state)
            .await
            .map_err(|rejection| ApiError::bad_request(rejection.body_text()))?;
        Ok(Self(id))
    }
}

/// Parses a JSON body: 415 for another content type, 413 for a body past the bound, 400 for invalid JSON.
pub(super) fn json_body(headers: &HeaderMap, body: Result<Bytes, BytesRejection>) -> Result<Value, ApiError> {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("nothing");
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case("application/json") {
        return Err(ApiError::unsupported_media_type(content_type));
    }
    serde_json::from_slice(&body?).map_err(|cause| ApiError::bad_request(format!("the body is not JSON: {cause}")))
}
