//! The codes of errors, as the document lists them by endpoint.

use axum::http::StatusCode;

/// A code of an error (the service specification, "Errors", and what it leaves open).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::server) enum ErrorCode {
    /// 400.
    BadRequest,
    /// 401.
    Unauthorized,
    /// 403.
    Forbidden,
    /// 404.
    NotFound,
    /// 408.
    RequestTimeout,
    /// 409.
    Conflict,
    /// 409.
    UnsupportedByConsensus,
    /// 409.
    InsufficientBalance,
    /// 410.
    Pruned,
    /// 413.
    PayloadTooLarge,
    /// 415.
    UnsupportedMediaType,
    /// 422.
    Validation,
    /// 429.
    RateLimited,
    /// 500.
    Internal,
    /// 503.
    Unavailable,
}

impl ErrorCode {
    /// Status of HTTP.
    pub(super) const fn status(self) -> StatusCode {
        match self {
            Self::BadRequest => StatusCode::BAD_REQUEST,
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::Forbidden => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::RequestTimeout => StatusCode::REQUEST_TIMEOUT,
            Self::Conflict | Self::UnsupportedByConsensus | Self::InsufficientBalance => StatusCode::CONFLICT,
            Self::Pruned => StatusCode::GONE,
            Self::PayloadTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::Validation => StatusCode::UNPROCESSABLE_ENTITY,
            Self::RateLimited => StatusCode::TOO_MANY_REQUESTS,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// `error.code`.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::BadRequest => "BAD_REQUEST",
            Self::Unauthorized => "UNAUTHORIZED",
            Self::Forbidden => "FORBIDDEN",
            Self::NotFound => "NOT_FOUND",
            Self::RequestTimeout => "REQUEST_TIMEOUT",
            Self::Conflict => "CONFLICT",
            Self::UnsupportedByConsensus => "UNSUPPORTED_BY_CONSENSUS",
            Self::InsufficientBalance => "INSUFFICIENT_BALANCE",
            Self::Pruned => "PRUNED",
            Self::PayloadTooLarge => "PAYLOAD_TOO_LARGE",
            Self::UnsupportedMediaType => "UNSUPPORTED_MEDIA_TYPE",
            Self::Validation => "VALIDATION_ERROR",
            Self::RateLimited => "RATE_LIMITED",
            Self::Internal => "INTERNAL_ERROR",
            Self::Unavailable => "UNAVAILABLE",
        }
    }

    /// When it is answered, in a line.
    pub(super) const fn meaning(self) -> &'static str {
        match self {
            Self::BadRequest => "The request can't be read: a query parameter, a header, or a body that is not JSON",
            Self::Unauthorized => "No valid credentials",
            Self::Forbidden => "The credentials lack the scope, or the role does not permit it",
            Self::NotFound => "No such resource in the workspace",
            Self::RequestTimeout => "The body did not come in time",
            Self::Conflict => "The present state does not allow it, or a request with the idempotency key still runs",
            Self::UnsupportedByConsensus => "The chain's protocol has no such thing, such as stake where there is none",
            Self::InsufficientBalance => "The balance does not cover it: `required` and `available` in the details",
            Self::Pruned => "The history was pruned",
            Self::PayloadTooLarge => "The body is too long",
            Self::UnsupportedMediaType => "The body is not application/json",
            Self::Validation => {
                "The body failed validation: `fields` in the details; or another request had the idempotency key"
            }
            Self::RateLimited => "Too many requests: wait for `Retry-After` seconds",
            Self::Internal => "The service failed",
            Self::Unavailable => "The service or the chain is busy, or the disk is full; nothing was changed",
        }
    }
}
