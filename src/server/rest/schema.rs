//! The shapes that the service sends and takes, as the OpenAPI document shows them.

use serde::Serialize;
use utoipa::ToSchema;

/// Where a page stands in its list.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Pagination {
    /// The page, from 1.
    #[schema(example = 1)]
    pub(super) page: usize,
    /// The most items on a page.
    #[schema(example = 20)]
    pub(super) limit: usize,
    /// Items in the whole list.
    #[schema(example = 1)]
    pub(super) total: usize,
    /// Pages in the whole list.
    #[schema(example = 1)]
    pub(super) total_pages: usize,
    /// Whether a later page has items.
    pub(super) has_next: bool,
    /// Whether an earlier page has items.
    pub(super) has_prev: bool,
}

/// Beside every successful answer.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Meta {
    /// The request's id, also in `X-Request-Id`.
    #[schema(example = "req_19a0c0ffee000001")]
    request_id: String,
    /// When it was answered: ISO 8601, UTC.
    #[schema(example = "2026-01-02T03:04:05.678Z")]
    timestamp: String,
}

/// A successful answer.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Success<T> {
    /// Always true.
    #[schema(example = true)]
    success: bool,
    /// The resource.
    data: T,
    /// About the request.
    meta: Meta,
}

/// One page of a list.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SuccessPage<T> {
    /// Always true.
    #[schema(example = true)]
    success: bool,
    /// The page's items.
    data: Vec<T>,
    /// About the request.
    meta: Meta,
    /// Where the page stands.
    pagination: Pagination,
}

/// An error.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Failure {
    /// Always false.
    #[schema(example = false)]
    success: bool,
    /// What is wrong.
    error: FailureError,
}

/// What is wrong.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct FailureError {
    /// BAD_REQUEST, UNAUTHORIZED, FORBIDDEN, NOT_FOUND, METHOD_NOT_ALLOWED, CONFLICT, INSUFFICIENT_BALANCE, PRUNED, PAYLOAD_TOO_LARGE,
    /// UNSUPPORTED_MEDIA_TYPE, VALIDATION_ERROR or INTERNAL_ERROR.
    #[schema(example = "VALIDATION_ERROR")]
    code: String,
    /// For people.
    #[schema(example = "the request body failed validation: name: expected a non-empty string")]
    message: String,
    /// By code. VALIDATION_ERROR: `fields`, each with `path`, `expected`, `got`, `message`. INSUFFICIENT_BALANCE: `required` and `available`.
    /// FORBIDDEN: `requiredScope`. NOT_FOUND: `resource` and `id`.
    #[schema(value_type = Object)]
    details: serde_json::Value,
    /// The request's id, also in `X-Request-Id`.
    request_id: String,
    /// When it was answered: ISO 8601, UTC.
    timestamp: String,
}
