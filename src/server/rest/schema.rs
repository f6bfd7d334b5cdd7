//! The envelope in the OpenAPI document.

use serde::Serialize;
use utoipa::ToSchema;

/// Position of a page in its list.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Pagination {
    /// Number of the page, from 1.
    #[schema(example = 1)]
    pub(super) page: usize,
    /// Maximum number of items on a page.
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

/// Metadata of a successful response.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Meta {
    /// Id of the request, also in `X-Request-Id`.
    #[schema(example = "req_19a0c0ffee000001")]
    request_id: String,
    /// Time of the response: ISO 8601, UTC.
    #[schema(example = "2026-01-02T03:04:05.678Z")]
    timestamp: String,
}

/// A successful response.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Success<T> {
    /// Always true.
    #[schema(example = true)]
    success: bool,
    /// The resource.
    data: T,
    /// Metadata of the response.
    meta: Meta,
}

/// One page of a list.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SuccessPage<T> {
    /// Always true.
    #[schema(example = true)]
    success: bool,
    /// Items of the page.
    data: Vec<T>,
    /// Metadata of the response.
    meta: Meta,
    /// Position of the page.
    pagination: Pagination,
}

/// An error response.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Failure {
    /// Always false.
    #[schema(example = false)]
    success: bool,
    /// The error.
    error: FailureError,
}

/// Code, message and details of an error.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct FailureError {
    /// BAD_REQUEST, UNAUTHORIZED, FORBIDDEN, NOT_FOUND, METHOD_NOT_ALLOWED, CONFLICT, INSUFFICIENT_BALANCE, PRUNED, PAYLOAD_TOO_LARGE,
    /// UNSUPPORTED_MEDIA_TYPE, VALIDATION_ERROR or INTERNAL_ERROR.
    #[schema(example = "VALIDATION_ERROR")]
    code: String,
    /// Description for people; may change between versions.
    #[schema(example = "the request body failed validation: name: expected a non-empty string")]
    message: String,
    /// Details by code. VALIDATION_ERROR: `fields`, each with `path`, `expected`, `got`, `message`. INSUFFICIENT_BALANCE: `required` and `available`.
    /// FORBIDDEN: `requiredScope`. NOT_FOUND: `resource` and `id`.
    #[schema(value_type = Object)]
    details: serde_json::Value,
    /// Id of the request, also in `X-Request-Id`.
    request_id: String,
    /// Time of the response: ISO 8601, UTC.
    timestamp: String,
}
