//! What handlers return: a resource, a page of a list, or changes that lead to one.

use axum::http::StatusCode;
use serde::Serialize;
use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};
use utoipa::ToSchema;

use super::type_schema::TypeSchema;
use crate::{
    platform::{PlatformError, records::Unit},
    server::api_error::ApiError,
};

/// Successful answer of an endpoint, as the document describes it.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    /// A resource in the envelope.
    Resource {
        status: StatusCode,
        schema: TypeSchema,
        /// Whether `Location` names it.
        has_location: bool,
    },
    /// A page of a list in the envelope.
    Page { schema: TypeSchema },
    /// A document of its own, without the envelope; errors are in it.
    Document { content_type: &'static str, schema: Value, description: &'static str },
    /// Another format, without the envelope.
    Foreign { content_type: &'static str, schema: Value, description: &'static str },
}

/// Successful result of a handler.
#[derive(Clone, Debug)]
pub(super) struct ApiResponse {
    pub(super) status: StatusCode,
    pub(super) content: Content,
    pub(super) location: Option<String>,
}

/// What the body of a response has.
#[derive(Clone, Debug)]
pub(super) enum Content {
    /// A resource or a page of a list, in the envelope.
    Data { data: Box<RawValue>, pagination: Option<Pagination> },
    /// JSON text, which is the whole body.
    Json(Vec<u8>),
    /// A page for a browser, which is the whole body.
    Html(String),
}

impl ApiResponse {
    /// Returns 200 with a resource.
    pub(super) fn ok(data: &impl Serialize) -> Result<Self, ApiError> {
        Self::enveloped(data, None)
    }

    /// Returns 200 with a JSON document that is the whole body.
    pub(super) const fn document(text: Vec<u8>) -> Self {
        Self { status: StatusCode::OK, content: Content::Json(text), location: None }
    }

    /// Returns 200 with a page for a browser.
    pub(super) const fn html(page: String) -> Self {
        Self { status: StatusCode::OK, content: Content::Html(page), location: None }
    }

    /// Returns 201 with a new resource and its path.
    pub(super) fn created(data: &impl Serialize, location: String) -> Result<Self, ApiError> {
        Ok(Self { status: StatusCode::CREATED, location: Some(location), ..Self::ok(data)? })
    }

    /// Returns 200 with one page of a list.
    pub(super) fn page(data: &impl Serialize, pagination: Pagination) -> Result<Self, ApiError> {
        Self::enveloped(data, Some(pagination))
    }

    fn enveloped(data: &impl Serialize, pagination: Option<Pagination>) -> Result<Self, ApiError> {
        let data = to_raw_value(data).map_err(|cause| ApiError::internal(&cause))?;
        Ok(Self { status: StatusCode::OK, content: Content::Data { data, pagination }, location: None })
    }
}

/// A new resource that has a path.
pub(super) trait Located {
    /// Path of the resource.
    fn location(&self) -> String;
}

type Changes<T> = Box<dyn FnOnce(&mut Unit<'_>) -> Result<T, ApiError> + Send>;

/// What an operation that changes something still has to do: nothing, or changes of records, which are written together with the response to
/// an idempotent request.
pub(super) struct Change<T>(Changes<T>);

impl<T: 'static> Change<T> {
    /// The operation is done, in steps each of which finds itself done when it runs again.
    pub(super) fn done(value: T) -> Self
    where
        T: Send,
    {
        Self(Box::new(move |_| Ok(value)))
    }

    /// The operation is done when these changes are written.
    pub(super) fn unit(changes: impl FnOnce(&mut Unit<'_>) -> Result<T, PlatformError> + Send + 'static) -> Self {
        Self(Box::new(move |unit| Ok(changes(unit)?)))
    }

    /// Applies the changes in a unit of work.
    pub(super) fn apply(self, unit: &mut Unit<'_>) -> Result<T, ApiError> {
        (self.0)(unit)
    }

    /// Converts the result.
    pub(super) fn map<R: 'static>(self, convert: impl FnOnce(T) -> Result<R, ApiError> + Send + 'static) -> Change<R> {
        Change(Box::new(move |unit| convert((self.0)(unit)?)))
    }
}

/// Position of a page in its list.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Pagination {
    /// Number of the page, from 1.
    #[schema(example = 1, minimum = 1)]
    pub(super) page: usize,
    /// Maximum number of items on a page.
    #[schema(example = 20, minimum = 1, maximum = 100)]
    pub(super) limit: usize,
    /// Items in the whole list.
    #[schema(example = 1)]
    pub(super) total: u64,
    /// Pages in the whole list.
    #[schema(example = 1)]
    pub(super) total_pages: u64,
    /// Whether a later page has items.
    pub(super) has_next: bool,
    /// Whether an earlier page has items.
    pub(super) has_prev: bool,
}
