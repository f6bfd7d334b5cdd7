//! The OpenAPI 3.1 document, generated from the handlers.

use std::sync::Arc;

use axum::{
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use utoipa::{
    Modify, OpenApi,
    openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme},
};

use super::schema::Failure;

/// The parts of the document that no handler declares.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "chainbox",
        description = "Blockchains, contracts and queries. Responses under /v1 have an envelope (`success`, `data`, `meta`; lists: `pagination`), except /v1/rpc and this document. Amounts are decimal integer strings of the smallest unit. Unknown fields and query parameters are refused by name.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    components(schemas(Failure)),
    modifiers(&Security),
    security(("apiKey" = []), ("bearer" = [])),
    tags(
        (name = "Service", description = "The service itself"),
        (name = "Blockchains", description = "Chains of this process"),
        (name = "Contracts", description = "Contracts from templates"),
        (name = "JSON-RPC", description = "Queries and transactions"),
    ),
)]
pub(super) struct Document;

struct Security;

impl Modify for Security {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let components = document.components.get_or_insert_default();
        let key = ApiKeyValue::with_description("X-API-Key", "An API key: cbx_ and 56 hex digits");
        components.add_security_scheme("apiKey", SecurityScheme::ApiKey(ApiKey::Header(key)));
        let bearer =
            HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some("The same key as a bearer token"));
        components.add_security_scheme("bearer", SecurityScheme::Http(bearer.build()));
    }
}

/// Returns the document as JSON text.
pub(super) fn render(document: utoipa::openapi::OpenApi) -> Arc<str> {
    document.to_json().unwrap_or_else(|cause| format!("{{\"error\":\"{cause}\"}}")).into()
}

/// `GET /v1/openapi.json`. Without the envelope, because tools read it, and without credentials.
pub(super) async fn serve(document: Arc<str>) -> Response {
    let json = HeaderValue::from_static("application/json");
    ([(header::CONTENT_TYPE, json)], document.to_string()).into_response()
}
