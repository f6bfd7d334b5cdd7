//! Errors of `/v1/rpc`: standard codes, the REST code in `data.code`.

use alloy_primitives::{Bytes, hex};
use axum::{
    Json,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use jsonrpsee::types::ErrorObjectOwned;
use serde_json::{Value, json};

use crate::{
    chain::CallOutcome,
    node::QueryError,
    platform::{PlatformError, Scope},
    server::{
        api_error::ApiError,
        jsonrpc::errors::{
            self, FORBIDDEN, HALTED, INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, LIMIT_EXCEEDED, NOT_FOUND,
            PRUNED, REFUSED, REVERTED, STORAGE_FULL,
        },
    },
};

/// The error of a method.
#[derive(Clone, Debug)]
pub(super) struct RpcFailure {
    code: i32,
    message: String,
    data: Value,
}

impl RpcFailure {
    /// The caller lacks a scope: code -32006.
    pub(super) fn forbidden(scope: Scope) -> Self {
        Self::of(FORBIDDEN, &ApiError::forbidden(scope.name()))
    }

    /// The error of a failed execution: code 3 with the revert data, or -32003 for another halt.
    pub(super) fn of_outcome(outcome: &CallOutcome, reason: Option<String>) -> Self {
        match outcome.revert_data() {
            Some(output) => Self::reverted(output, reason),
            None => {
                Self { code: HALTED, message: outcome.describe(), data: json!({ "code": "CONFLICT", "details": {} }) }
            }
        }
    }

    /// The chain's queue is full, or the turn did not come in time: code -32005.
    pub(super) fn busy(error: &ApiError) -> Self {
        Self::of(LIMIT_EXCEEDED, error)
    }

    fn reverted(output: &Bytes, reason: Option<String>) -> Self {
        let message = errors::reverted(output, reason).message().to_owned();
        let output = hex::encode_prefixed(output);
        Self { code: REVERTED, message, data: json!({ "code": "CONFLICT", "details": {}, "output": output }) }
    }

    fn of(code: i32, error: &ApiError) -> Self {
        Self {
            code,
            message: error.message().to_owned(),
            data: json!({ "code": error.code(), "details": error.details() }),
        }
    }
}

impl From<PlatformError> for RpcFailure {
    fn from(cause: PlatformError) -> Self {
        let code = match cause {
            PlatformError::BadRequest { .. } | PlatformError::Validation { .. } => INVALID_PARAMS,
            PlatformError::NotFound { .. } => NOT_FOUND,
            PlatformError::Pruned { .. } => PRUNED,
            PlatformError::StorageFull { .. } => STORAGE_FULL,
            PlatformError::Internal { .. } | PlatformError::Entropy(_) => INTERNAL_ERROR,
            _ => REFUSED,
        };
        Self::of(code, &ApiError::from(cause))
    }
}

impl From<RpcFailure> for ErrorObjectOwned {
    fn from(failure: RpcFailure) -> Self {
        Self::owned(failure.code, failure.message, Some(failure.data))
    }
}

/// Converts a failed query.
pub(super) fn query(cause: QueryError) -> RpcFailure {
    PlatformError::from_query(cause).into()
}

/// Returns the error object of JSON-RPC for a refusal before any call is read, with the REST code in its data.
pub(in crate::server) fn error_object(error: &ApiError) -> ErrorObjectOwned {
    let code = match error.status() {
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => LIMIT_EXCEEDED,
        StatusCode::INTERNAL_SERVER_ERROR => INTERNAL_ERROR,
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => FORBIDDEN,
        StatusCode::NOT_FOUND => NOT_FOUND,
        StatusCode::CONFLICT => REFUSED,
        _ => INVALID_REQUEST,
    };
    RpcFailure::of(code, error).into()
}

/// Returns a refusal before any call is read, such as 401 or 429, with a JSON-RPC error as its body.
pub(in crate::server) fn refused(error: &ApiError) -> Response {
    let mut response =
        (error.status(), Json(json!({ "jsonrpc": "2.0", "error": error_object(error), "id": null }))).into_response();
    if let Some(secs) = error.retry_after_secs() {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(secs));
    }
    if error.status() == StatusCode::UNAUTHORIZED {
        let challenge = HeaderValue::from_static("Bearer realm=\"chainbox\"");
        response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
    }
    response
}
