//! The envelope of every REST response.

use axum::{
    body::Body,
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::Response,
};
use serde::Serialize;
use serde_json::value::RawValue;
use zeroize::Zeroizing;

use super::{
    answer::{ApiResponse, Content, Pagination},
    request::{REQUEST_ID, RequestId},
};
use crate::{
    platform::records,
    server::{api_error::ApiError, clock},
};

/// Header that tells a replayed response from a first one.
const REPLAYED: &str = "idempotent-replayed";

/// What a page may do: it has its style in itself, and nothing else (CSP 3).
const PAGE_POLICY: &str = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// Headers of pages.
const PAGE_HEADERS: [(HeaderName, &str); 4] = [
    (header::CONTENT_SECURITY_POLICY, PAGE_POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
];

/// The body of a successful response.
#[derive(Serialize)]
struct Envelope<'a> {
    success: bool,
    data: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    pagination: Option<Pagination>,
    meta: Meta<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Meta<'a> {
    request_id: &'a str,
    timestamp: &'a str,
}

/// A response in its envelope, as it is sent and as it is kept for repetitions of the request. Its body may show a secret.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::server) struct Rendered {
    status: StatusCode,
    body: Zeroizing<Vec<u8>>,
    request_id: String,
    location: Option<String>,
    challenges: bool,
    retry_after_secs: Option<u64>,
    is_replayed: bool,
    /// Whether the body is HTML, not JSON.
    is_page: bool,
}

impl Rendered {
    /// Puts a handler's result in the envelope.
    pub(super) fn of(result: Result<ApiResponse, ApiError>, id: &RequestId, now_ms: u64) -> Self {
        let timestamp = clock::iso_8601(now_ms);
        let rendered = result.and_then(|ApiResponse { status, content, location }| {
            let is_page = matches!(content, Content::Html(_));
            let body = match content {
                Content::Json(text) => text,
                Content::Html(page) => page.into_bytes(),
                Content::Data { data, pagination } => {
                    let meta = Meta { request_id: &id.0, timestamp: &timestamp };
                    let envelope = Envelope { success: true, data: &data, pagination, meta };
                    serde_json::to_vec(&envelope).map_err(|cause| ApiError::internal(&cause))?
                }
            };
            Ok(Self { location, is_page, ..Self::foreign(status, body, id) })
        });
        rendered.unwrap_or_else(|failure| Self {
            challenges: failure.status() == StatusCode::UNAUTHORIZED,
            retry_after_secs: failure.retry_after_secs(),
            ..Self::foreign(failure.status(), failure.body(&id.0, &timestamp).to_string().into_bytes(), id)
        })
    }

    /// A JSON body without the envelope.
    pub(in crate::server) fn foreign(status: StatusCode, body: Vec<u8>, id: &RequestId) -> Self {
        Self {
            status,
            body: body.into(),
            request_id: id.0.clone(),
            location: None,
            challenges: false,
            retry_after_secs: None,
            is_replayed: false,
            is_page: false,
        }
    }

    /// Returns the response that was kept for a request that is repeated.
    pub(in crate::server) fn replayed(kept: records::Response) -> Self {
        Self {
            status: StatusCode::from_u16(kept.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            body: kept.body,
            request_id: kept.request_id,
            location: kept.location,
            challenges: false,
            retry_after_secs: None,
            is_replayed: true,
            is_page: false,
        }
    }

    /// What is kept for repetitions.
    pub(in crate::server) fn kept(&self) -> records::Response {
        records::Response {
            status: self.status.as_u16(),
            body: self.body.clone(),
            request_id: self.request_id.clone(),
            location: self.location.clone(),
        }
    }

    /// Bytes of the body.
    pub(super) fn body_bytes(&self) -> usize {
        self.body.len()
    }

    /// Status of the response.
    pub(in crate::server) const fn status(&self) -> StatusCode {
        self.status
    }

    /// Returns the response.
    pub(in crate::server) fn into_response(mut self) -> Response {
        let mut response = Response::new(Body::from(core::mem::take(&mut *self.body)));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        let content_type = if self.is_page { "text/html; charset=utf-8" } else { "application/json" };
        if self.status != StatusCode::NO_CONTENT {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
        }
        if self.is_page {
            headers.extend(PAGE_HEADERS.map(|(name, value)| (name, HeaderValue::from_static(value))));
        }
        if let Ok(id) = HeaderValue::try_from(self.request_id) {
            headers.insert(REQUEST_ID, id);
        }
        if let Some(location) = self.location.and_then(|location| HeaderValue::try_from(location).ok()) {
            headers.insert(header::LOCATION, location);
        }
        if self.challenges {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"chainbox\""));
        }
        if let Some(secs) = self.retry_after_secs {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(secs));
        }
        if self.is_replayed {
            headers.insert(REPLAYED, HeaderValue::from_static("true"));
        }
        response
    }
}
