//! The OpenAPI 3.1 document, generated from the handlers.

use std::sync::Arc;

use axum::{
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};
use utoipa::{
    Modify, OpenApi,
    openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme},
};

use super::schema::Failure;
use crate::{templates, vm::Descriptor};

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

/// Returns the document as JSON text, with the parameters of the ready-made templates.
pub(super) fn render(document: utoipa::openapi::OpenApi) -> Arc<str> {
    let described = serde_json::to_value(document).map(|mut document| {
        describe_params(&mut document, templates::builtin().iter().map(|template| Descriptor::of(&**template)));
        document.to_string()
    });
    described.unwrap_or_else(|cause| json!({ "error": cause.to_string() }).to_string()).into()
}

/// Adds a schema for each template's parameters, `erc20-token.params`, one of which a deployment has. A chain with templates of its own
/// takes theirs too.
fn describe_params(document: &mut Value, descriptors: impl Iterator<Item = Descriptor>) {
    let Some(schemas) = document.pointer_mut("/components/schemas").and_then(Value::as_object_mut) else { return };
    let mut choices = Vec::new();
    for descriptor in descriptors {
        let name = format!("{}.params", descriptor.name);
        choices.push(json!({ "$ref": format!("#/components/schemas/{name}") }));
        schemas.insert(name, descriptor.json_schema());
    }
    choices.push(json!({ "type": "object", "description": "Parameters of another template of the chain." }));
    if let Some(params) = schemas.get_mut("DeployContract").and_then(|schema| schema.pointer_mut("/properties/params"))
    {
        params["anyOf"] = choices.into();
        params["example"] =
            json!({ "name": "Gold", "symbol": "GLD", "totalSupply": "1000000", "features": { "mintable": true } });
    }
}

/// `GET /v1/openapi.json`. Without the envelope, because tools read it, and without credentials.
pub(super) async fn serve(document: Arc<str>) -> Response {
    let json = HeaderValue::from_static("application/json");
    ([(header::CONTENT_TYPE, json)], document.to_string()).into_response()
}
