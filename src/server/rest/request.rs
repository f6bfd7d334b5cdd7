//! What comes with every request: its id, its credentials, its JSON body.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use axum::{
    body::Bytes,
    extract::rejection::BytesRejection,
    http::{HeaderMap, header},
};
use serde_json::Value;

use super::{App, answer::REQUEST_ID};
use crate::{
    platform::{Caller, Scope},
    server::{api_error::ApiError, clock},
};

/// Characters of a caller's own request id.
const REQUEST_ID_LEN_MAX: usize = 128;
const API_KEY: &str = "x-api-key";

/// Numbers requests: `req_`, the process's start in hex, a counter.
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
    /// The caller's own id when it sent a printable one, else a new one.
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
    /// Who calls: `X-API-Key`, or the same key as a bearer token.
    pub(crate) fn authenticate(&self, headers: &HeaderMap) -> Result<Caller, ApiError> {
        let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or_default());
        let bearer = text(header::AUTHORIZATION.as_str());
        let key = match (text(API_KEY), bearer) {
            (Some(_), Some(_)) => return Err(ApiError::bad_request("send X-API-Key or Authorization, not both")),
            (Some(key), None) => key,
            (None, Some(bearer)) => match bearer.split_once(' ') {
                Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => token.trim(),
                _ => return Err(ApiError::unauthorized("Authorization must be a bearer token")),
            },
            (None, None) => {
                return Err(ApiError::unauthorized("credentials are missing: send an API key as X-API-Key"));
            }
        };
        self.chains.platform().authenticate(key).ok_or_else(|| ApiError::unauthorized("the API key is not known here"))
    }

    /// As [`App::authenticate`], and the caller has `scope`.
    pub(super) fn authorize(&self, headers: &HeaderMap, scope: Scope) -> Result<Caller, ApiError> {
        let caller = self.authenticate(headers)?;
        if caller.may(scope) { Ok(caller) } else { Err(ApiError::forbidden(scope.name())) }
    }
}

/// A JSON body: 415 for another type, 413 for a long one, 400 for broken JSON.
pub(super) fn json_body(headers: &HeaderMap, body: Result<Bytes, BytesRejection>) -> Result<Value, ApiError> {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("nothing");
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case("application/json") {
        return Err(ApiError::unsupported_media_type(content_type));
    }
    serde_json::from_slice(&body?).map_err(|cause| ApiError::bad_request(format!("the body is not JSON: {cause}")))
}
