//! The OpenAPI 3.1 document, made from the list of endpoints.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use serde_json::{Map, Value, json};

use super::{
    answer::{Answer, Pagination},
    catalogue::Catalogue,
    endpoint::{Access, Endpoint, Tag},
    error_code::ErrorCode,
    idempotency::IDEMPOTENCY_KEY,
    request, table,
    type_schema::TypeSchema,
};
use crate::{
    platform::{Scope, records::IDEMPOTENCY_KEY_LEN_MAX},
    templates,
    vm::Descriptor,
};

const DESCRIPTION: &str = "Workspaces, blockchains, contracts and queries. Responses under /v1 have an envelope (`success`, `data`, `meta`; lists: \
`pagination`), except /v1/rpc, /v1/blockchains/{blockchainId}/eth, /v1/oauth/... and this document. What is at /v1/oauth/... (RFC 6749) is at \
/oauth/... too, one and the same; its metadata, /.well-known/oauth-authorization-server (RFC 8414), names its endpoints. \
Amounts are decimal integer strings of the smallest unit. \
Unknown fields and query parameters are refused by name. Requests that change something take an `Idempotency-Key`: a repetition within 24 hours \
gets the first response. The rate limit is told by `RateLimit-Policy` and `RateLimit`. When requests or bytes of a workspace's plan are used up, \
its requests are 429 until the period ends, but for the operations that say so and for all of the service's operators.";

/// Returns the document as JSON text.
pub(super) fn render(catalogue: &Catalogue) -> Arc<str> {
    let mut components = BTreeMap::new();
    TypeSchema::of::<Pagination>().add_to(&mut components);
    components.insert("Meta".to_owned(), meta());
    for code in ERROR_CODES {
        components.insert(error_name(code), failure(code));
    }
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for endpoint in catalogue.iter() {
        let operation = operation(endpoint, catalogue, &mut components);
        let method = endpoint.about.method.as_str().to_lowercase();
        paths.entry(endpoint.about.path).or_default().insert(method, operation);
    }
    describe_params(&mut components, templates::builtin().iter().map(|template| Descriptor::of(&**template)));
    let tags: Vec<Value> =
        Tag::ALL.iter().map(|tag| json!({ "name": tag.name(), "description": tag.summary() })).collect();
    let document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "chainbox",
            "version": env!("CARGO_PKG_VERSION"),
            "description": DESCRIPTION,
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "/" }],
        "tags": tags,
        "paths": paths,
        "components": { "schemas": components, "securitySchemes": security_schemes() },
    });
    document.to_string().into()
}

/// `GET /v1/openapi.json`. Without the envelope, because tools read it, and without credentials.
pub(super) fn serve(document: &str) -> Response {
    let json = HeaderValue::from_static("application/json");
    ([(header::CONTENT_TYPE, json)], document.to_string()).into_response()
}

const ERROR_CODES: [ErrorCode; 15] = [
    ErrorCode::BadRequest,
    ErrorCode::Unauthorized,
    ErrorCode::Forbidden,
    ErrorCode::NotFound,
    ErrorCode::RequestTimeout,
    ErrorCode::Conflict,
    ErrorCode::UnsupportedByConsensus,
    ErrorCode::InsufficientBalance,
    ErrorCode::Pruned,
    ErrorCode::PayloadTooLarge,
    ErrorCode::UnsupportedMediaType,
    ErrorCode::Validation,
    ErrorCode::RateLimited,
    ErrorCode::Internal,
    ErrorCode::Unavailable,
];

pub(super) fn operation(endpoint: &Endpoint, catalogue: &Catalogue, components: &mut BTreeMap<String, Value>) -> Value {
    let about = &endpoint.about;
    let mut operation = json!({
        "operationId": about.operation,
        "tags": [about.tag.name()],
        "summary": about.summary,
        "description": description(endpoint),
        "security": security(about.access),
        "responses": responses(endpoint, catalogue, components),
    });
    if about.deprecation.is_some() {
        mark_deprecated(&mut operation);
    }
    let parameters = parameters(endpoint);
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    if let Some(body) = &endpoint.body {
        body.schema.add_to(components);
        operation["requestBody"] = request_body(&body.schema.reference(), (body.examples)());
    }
    if let Some(body) = &endpoint.foreign_body {
        components.extend(body.components.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())));
        operation["requestBody"] = request_body(&body.schema, body.examples.clone());
    }
    operation
}

fn request_body(schema: &Value, examples: Vec<(&'static str, Value)>) -> Value {
    let examples: Map<String, Value> =
        examples.into_iter().map(|(name, value)| (name.to_owned(), json!({ "value": value }))).collect();
    json!({ "required": true, "content": { "application/json": { "schema": schema, "examples": examples } } })
}

/// Says that an operation is deprecated, and which headers all its answers have.
fn mark_deprecated(operation: &mut Value) {
    operation["deprecated"] = true.into();
    let told = [
        ("Deprecation", "Since when the operation is deprecated, as RFC 9745 writes it."),
        ("Sunset", "From when it may answer no more, as RFC 8594 writes it."),
        ("Link", "What says more, with the relation deprecation."),
    ];
    let responses = operation["responses"].as_object_mut();
    for response in responses.into_iter().flat_map(Map::values_mut) {
        for (name, description) in told {
            response["headers"][name] = json!({ "description": description, "schema": { "type": "string" } });
        }
    }
}

fn description(endpoint: &Endpoint) -> String {
    let about = &endpoint.about;
    let scopes = table::names(about.access.scopes());
    let always = match about.access {
        Access::Public => "Needs no credentials.".to_owned(),
        Access::Optional => "Needs no credentials for what is public.".to_owned(),
        Access::Authenticated => "Needs credentials, of any scope.".to_owned(),
        Access::Scope(_) => format!("Needs the scope {scopes}."),
        Access::Scopes(_) => format!("Needs all of the scopes {scopes}."),
        Access::Bearer(_) => format!("Needs a bearer token with the scope {scopes}."),
    };
    let more = about.may_need.iter().map(|(scope, what_for)| format!(" Needs `{}` {what_for}.", scope.name()));
    let mut needs = more.fold(always, |needs, more| needs + &more);
    if about.is_answered_past_plan {
        needs +=
            " Counts as a request, and is answered also when requests or bytes of the workspace's plan are used up.";
    }
    match endpoint.about.description {
        "" => needs,
        more => format!("{needs}\n\n{more}"),
    }
}

/// The authorization server's two spellings, each as a scheme.
const OAUTH_SCHEMES: [(&str, &str); 2] = [("oauth2", "/v1/oauth"), ("oauth2Unversioned", "/oauth")];

fn security(access: Access) -> Value {
    let scopes: Vec<&str> = access.scopes().iter().map(|scope| scope.name()).collect();
    let mut ways = match access {
        Access::Public => return json!([]),
        Access::Optional => vec![json!({}), json!({ "apiKey": [] }), json!({ "bearer": [] })],
        Access::Bearer(_) => vec![json!({ "bearer": [] })],
        Access::Authenticated | Access::Scope(_) | Access::Scopes(_) => {
            vec![json!({ "apiKey": [] }), json!({ "bearer": [] })]
        }
    };
    ways.extend(OAUTH_SCHEMES.map(|(name, _)| json!({ name: scopes })));
    ways.into()
}

fn security_schemes() -> Value {
    let scopes: BTreeMap<&str, &str> = Scope::ALL.iter().map(|scope| (scope.name(), scope.summary())).collect();
    let mut schemes = json!({
        "apiKey": { "type": "apiKey", "in": "header", "name": "X-API-Key", "description": "An API key: cbx_ and 56 hex digits" },
        "bearer": { "type": "http", "scheme": "bearer", "description": "An access token, or an API key" },
    });
    for (name, base) in OAUTH_SCHEMES {
        let (authorization, token) = (format!("{base}/authorize"), format!("{base}/token"));
        schemes[name] = json!({
            "type": "oauth2",
            "description": "The authorization server answers with and without /v1; its tokens are the same.",
            "flows": { "authorizationCode": {
                "authorizationUrl": authorization, "tokenUrl": token, "refreshUrl": token, "scopes": scopes,
            } },
        });
    }
    schemes
}

fn parameters(endpoint: &Endpoint) -> Vec<Value> {
    let mut all: Vec<Value> = endpoint
        .path_variables()
        .map(|name| {
            let schema = json!({ "type": "string", "minLength": 1, "maxLength": 128, "pattern": "^[^/]+$" });
            json!({ "name": name, "in": "path", "required": true, "description": variable(name), "schema": schema })
        })
        .collect();
    all.extend(endpoint.about.parameters.iter().map(super::parameter::Parameter::document));
    if endpoint.about.simulates {
        all.push(request::simulate().document());
    }
    if endpoint.is_idempotent() {
        all.push(json!({
            "name": "Idempotency-Key", "in": "header", "required": false,
            "description": "Makes repetitions of the request get the first response.",
            "schema": { "type": "string", "pattern": idempotency_key_pattern() },
        }));
        debug_assert!("Idempotency-Key".eq_ignore_ascii_case(IDEMPOTENCY_KEY));
    }
    all
}

/// What an idempotency key may be: a token, or a quoted string.
fn idempotency_key_pattern() -> String {
    let token = r"[!#-+\--:<-\[\]-~]";
    let quoted = r#"([ !#-\[\]-~]|\\["\\])"#;
    format!("^({token}{{1,{IDEMPOTENCY_KEY_LEN_MAX}}}|\"{quoted}{{1,{IDEMPOTENCY_KEY_LEN_MAX}}}\")$")
}

/// What a variable of a path names.
fn variable(name: &str) -> &'static str {
    match name {
        "blockchainId" => "Id of the blockchain.",
        "workspaceId" => "Id of the workspace.",
        "userId" => "Id of the member's user.",
        "invitationId" => "Id of the invitation.",
        "apiKeyId" => "Id of the API key.",
        "clientId" => "Id of the OAuth client.",
        "dappId" => "Id of the dApp.",
        "deploymentId" => "Id of the deployment.",
        _ => "Id of the resource.",
    }
}

fn responses(
    endpoint: &Endpoint,
    catalogue: &Catalogue,
    components: &mut BTreeMap<String, Value>,
) -> BTreeMap<String, Value> {
    let mut all = BTreeMap::new();
    let (status, response) = success(endpoint, catalogue, components);
    all.insert(status, response);
    if let Answer::Foreign { .. } = &endpoint.answer {
        let nothing =
            json!({ "description": "Notifications alone: there is nothing to answer", "headers": headers(&[]) });
        all.insert("204".to_owned(), nothing);
    }
    let mut by_status: BTreeMap<String, Vec<ErrorCode>> = BTreeMap::new();
    for code in endpoint.errors() {
        by_status.entry(code.status().as_str().to_owned()).or_default().push(code);
    }
    for (status, codes) in by_status {
        let meanings: Vec<&str> = codes.iter().map(|code| code.meaning()).collect();
        // Who does not speak the envelope does not speak it in errors either.
        let references: Vec<Value> = match &endpoint.answer {
            Answer::Foreign { schema, .. } => vec![schema.clone()],
            _ => codes.iter().map(|code| reference(&error_name(*code))).collect(),
        };
        let schema = match &references[..] {
            [one] => one.clone(),
            several => json!({ "oneOf": several }),
        };
        let mut response = json!({
            "description": meanings.join(". "),
            "headers": headers(&[]),
            "content": { "application/json": { "schema": schema } },
        });
        if matches!(status.as_str(), "429" | "503") {
            response["headers"]["Retry-After"] =
                json!({ "description": "Seconds after which to try again.", "schema": { "type": "integer" } });
        }
        all.insert(status, response);
    }
    all
}

fn success(endpoint: &Endpoint, catalogue: &Catalogue, components: &mut BTreeMap<String, Value>) -> (String, Value) {
    let envelope = |data: Value, more: &[(&str, Value)]| {
        let mut properties = json!({ "success": { "const": true }, "data": data, "meta": reference("Meta") });
        let mut required = vec!["success", "data", "meta"];
        for (name, schema) in more {
            properties[*name] = schema.clone();
            required.push(name);
        }
        json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
    };
    match &endpoint.answer {
        Answer::Resource { status, schema, has_location } => {
            schema.add_to(components);
            let location = ("Location", "Path of the resource.");
            let mut response = json!({
                "description": endpoint.about.summary,
                "headers": headers(if *has_location { std::slice::from_ref(&location) } else { &[] }),
                "content": { "application/json": { "schema": envelope(schema.reference(), &[]) } },
            });
            if *has_location {
                response["links"] = links(endpoint, catalogue, "$response.body#/data/id");
            }
            (status.as_str().to_owned(), response)
        }
        Answer::Page { schema } => {
            schema.add_to(components);
            let items = json!({ "type": "array", "items": schema.reference() });
            let response = json!({
                "description": "One page of the list",
                "headers": headers(&[]),
                "content": { "application/json": { "schema": envelope(items, &[("pagination", reference("Pagination"))]) } },
                "links": links(endpoint, catalogue, "$response.body#/data/0/id"),
            });
            ("200".to_owned(), response)
        }
        Answer::Document { content_type, schema, description } => {
            let content = json!({ *content_type: { "schema": schema } });
            let response = json!({ "description": description, "headers": headers(&[]), "content": content });
            ("200".to_owned(), response)
        }
        Answer::Foreign { content_type, schema, description } => {
            let content = json!({ *content_type: { "schema": schema } });
            let response = json!({ "description": description, "headers": headers(&[]), "content": content });
            ("200".to_owned(), response)
        }
    }
}

/// Links from a collection to the operations on one of its resources, which take the id from `source`.
fn links(endpoint: &Endpoint, catalogue: &Catalogue, source: &str) -> Value {
    let path = endpoint.about.path;
    let mut links = Map::new();
    for other in catalogue.iter() {
        let Some(rest) = other.about.path.strip_prefix(path).and_then(|rest| rest.strip_prefix("/{")) else { continue };
        let Some((variable, _)) = rest.split_once('}') else { continue };
        let mut parameters = Map::new();
        parameters.insert(variable.to_owned(), source.into());
        for own in endpoint.path_variables() {
            parameters.insert(own.to_owned(), format!("$request.path.{own}").into());
        }
        links.insert(
            other.about.operation.to_owned(),
            json!({ "operationId": other.about.operation, "parameters": parameters }),
        );
    }
    links.into()
}

fn headers(more: &[(&str, &str)]) -> Value {
    let text = |description: &str| json!({ "description": description, "schema": { "type": "string" } });
    let mut headers = json!({
        "X-Request-Id": text("Id of the request, as in the body."),
        "RateLimit-Policy": text("Quota of the caller: q requests in w seconds."),
        "RateLimit": text("What is left of it: r requests for t seconds."),
        "Cache-Control": text("no-store: no cache keeps the answer."),
    });
    for (name, description) in more {
        headers[*name] = text(description);
    }
    headers
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

fn error_name(code: ErrorCode) -> String {
    format!("Error.{}", code.name())
}

fn meta() -> Value {
    json!({
        "type": "object",
        "description": "Metadata of a response.",
        "properties": {
            "requestId": { "type": "string", "description": "Id of the request, also in X-Request-Id.", "examples": ["req_19a0c0ffee000001"] },
            "timestamp": { "type": "string", "format": "date-time", "description": "Time of the response.", "examples": ["2026-01-02T03:04:05.678Z"] },
        },
        "required": ["requestId", "timestamp"],
        "additionalProperties": false,
    })
}

/// The body of an error, with the details that its code has.
fn failure(code: ErrorCode) -> Value {
    let text = || json!({ "type": "string" });
    let object = |properties: Value, required: &[&str]| json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false });
    let details = match code {
        ErrorCode::Validation => {
            let field = object(
                json!({ "path": text(), "expected": text(), "got": text(), "message": text() }),
                &["path", "expected", "got", "message"],
            );
            object(json!({ "fields": { "type": "array", "minItems": 1, "items": field } }), &["fields"])
        }
        ErrorCode::Forbidden => object(json!({ "requiredScope": text() }), &[]),
        ErrorCode::NotFound => object(json!({ "resource": text(), "id": text() }), &[]),
        ErrorCode::InsufficientBalance => {
            object(json!({ "required": text(), "available": text() }), &["required", "available"])
        }
        // Usage and limit are there where the workspace's plan is used up, and not its caller's rate.
        ErrorCode::RateLimited => object(
            json!({ "retryAfter": { "type": "integer" }, "usage": text(), "limit": { "type": "integer" } }),
            &["retryAfter"],
        ),
        ErrorCode::Unavailable => {
            object(json!({ "retryAfter": { "type": "integer" }, "freeBytes": text(), "freeBytesMin": text() }), &[])
        }
        _ => object(json!({}), &[]),
    };
    let error = object(
        json!({
            "code": { "const": code.name() },
            "message": { "type": "string", "description": "Description for people; may change between versions." },
            "details": details,
            "requestId": text(),
            "timestamp": { "type": "string", "format": "date-time" },
        }),
        &["code", "message", "details", "requestId", "timestamp"],
    );
    object(json!({ "success": { "const": false }, "error": error }), &["success", "error"])
}

/// Adds a schema for each template's parameters, `erc20-token.params`, for readers: a chain with templates of its own takes theirs too, so
/// that a deployment's parameters are checked by its chain.
fn describe_params(components: &mut BTreeMap<String, Value>, descriptors: impl Iterator<Item = Descriptor>) {
    for descriptor in descriptors {
        components.insert(format!("{}.params", descriptor.name), descriptor.json_schema());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::limits::PAGE_LIMIT_MAX;

    /// States are enums, of which the document says what leads to what.
    #[test]
    fn every_status_is_an_enum_with_its_transitions() {
        let document: Value = serde_json::from_str(&render(&Catalogue::new(PAGE_LIMIT_MAX))).unwrap();
        let schemas = document["components"]["schemas"].as_object().unwrap();
        let mut found = 0;
        for (name, schema) in schemas {
            let Some(status) = schema["properties"].get("status") else { continue };
            found += 1;
            let alternatives = status["oneOf"].as_array().or_else(|| status["anyOf"].as_array());
            let named = alternatives.into_iter().flatten().chain([status]).find_map(|one| one["$ref"].as_str());
            let states = match named {
                Some(named) => &schemas[named.rsplit('/').next().unwrap()],
                None => status,
            };
            let values = states["enum"].as_array().unwrap_or_else(|| panic!("{name}.status is no enum: {status}"));
            let described = [states, status].map(|one| one["description"].as_str().unwrap_or_default()).join(" ");
            let is_told = |value: &Value| described.contains(value.as_str().unwrap()) || values.len() == 1;
            assert!(
                values.iter().all(is_told),
                "{name}.status does not say what leads to each of {values:?}: {described}"
            );
        }
        assert!(found > 10, "{found}");
    }

    /// Schemas that allow more than they say, and why. What is below such a path is left out.
    const OPEN: [(&str, &str); 9] = [
        ("TemplateView.abi[]", "entries of a JSON ABI, as Solidity's compiler writes them"),
        ("TemplateView.storageLayout", "a storage layout, as Solidity's compiler writes it"),
        ("TemplateParameter.default", "a value of the type that the parameter names"),
        ("EthereumCall.params[]", "Ethereum's execution API has the parameters of each method"),
        ("EthereumResponse|0.result", "Ethereum's execution API has the result of each method"),
        ("RpcCall|5.params.args[]", "a value of the type that the function's ABI names"),
        ("RpcCall|6.params.args[]", "a value of the type that the function's ABI names"),
        ("RpcCallResult.result", "a value of the type that the function's ABI names"),
        ("exportBlockchain 200", "what --load-state reads; docs/genesis.md has the form of the genesis"),
    ];

    /// Returns whether a schema has a type, alone or among others.
    fn has_type(schema: &Value, name: &str) -> bool {
        match &schema["type"] {
            Value::String(one) => one == name,
            Value::Array(several) => several.iter().any(|one| one == name),
            _ => false,
        }
    }

    /// Adds the paths of the schemas in a schema that allow more than they say.
    fn find_open(schema: &Value, path: &str, found: &mut Vec<String>) {
        let Some(members) = schema.as_object() else {
            found.extend((*schema != json!(false)).then(|| path.to_owned()));
            return;
        };
        let is_annotation = |name: &String| {
            matches!(name.as_str(), "title" | "description" | "default" | "example" | "examples" | "deprecated")
        };
        let is_choice =
            ["$ref", "anyOf", "oneOf", "allOf", "enum", "const"].iter().any(|name| members.contains_key(*name));
        let is_open_object = has_type(schema, "object") && schema["additionalProperties"] != json!(false);
        let is_open_object = is_open_object && !schema["additionalProperties"].is_object();
        let is_open_list = has_type(schema, "array") && members.get("items").is_none();
        if !is_choice && (is_open_object || is_open_list || members.keys().all(is_annotation)) {
            found.push(path.to_owned());
        }
        for (name, member) in members.get("properties").and_then(Value::as_object).into_iter().flatten() {
            find_open(member, &format!("{path}.{name}"), found);
        }
        for (keyword, mark) in [("items", "[]"), ("additionalProperties", ".*")] {
            if let Some(inner) = members.get(keyword).filter(|inner| **inner != json!(false)) {
                find_open(inner, &format!("{path}{mark}"), found);
            }
        }
        for keyword in ["anyOf", "oneOf", "allOf"] {
            for (index, one) in members.get(keyword).and_then(Value::as_array).into_iter().flatten().enumerate() {
                find_open(one, &format!("{path}|{index}"), found);
            }
        }
    }

    /// The schemas of a document by their paths: those with names, and those of bodies, responses, parameters and headers.
    fn all_schemas(document: &Value) -> Vec<(String, &Value)> {
        let named = document["components"]["schemas"].as_object().unwrap();
        let mut all: Vec<(String, &Value)> = named.iter().map(|(name, schema)| (name.clone(), schema)).collect();
        let paths = document["paths"].as_object().unwrap().values();
        for operation in paths.flat_map(|path| path.as_object().unwrap().values()) {
            let name = operation["operationId"].as_str().unwrap();
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                all.push((format!("{name} ?{}", parameter["name"].as_str().unwrap()), &parameter["schema"]));
            }
            let body = operation["requestBody"]["content"].as_object().into_iter().flatten();
            all.extend(body.map(|(_, content)| (format!("{name} body"), &content["schema"])));
            for (status, response) in operation["responses"].as_object().unwrap() {
                assert_ne!(status, "default", "{name} has a response for all statuses");
                let content = response["content"].as_object().into_iter().flatten();
                all.extend(content.map(|(_, content)| (format!("{name} {status}"), &content["schema"])));
                let headers = response["headers"].as_object().into_iter().flatten();
                all.extend(headers.map(|(header, value)| (format!("{name} {status} {header}"), &value["schema"])));
            }
        }
        all
    }

    #[test]
    fn no_schema_is_open_without_a_reason() {
        let document: Value = serde_json::from_str(&render(&Catalogue::new(PAGE_LIMIT_MAX))).unwrap();
        let mut found = Vec::new();
        for (path, schema) in all_schemas(&document) {
            find_open(schema, &path, &mut found);
        }
        let is_in = |path: &str, known: &str| {
            path.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let is_known = |path: &str| OPEN.iter().any(|(known, _)| is_in(path, known));
        let unknown: Vec<&String> = found.iter().filter(|path| !is_known(path)).collect();
        assert!(unknown.is_empty(), "say what these may have, or why they can't say it: {unknown:?}");
        for (path, reason) in OPEN {
            assert!(found.iter().any(|one| one == path), "{path} is not open: {reason}");
        }
    }

    #[test]
    fn a_planted_open_schema_is_found() {
        for (schema, paths) in [
            (json!({ "type": "object" }), vec!["x"]),
            (json!({ "type": ["object", "null"], "additionalProperties": true }), vec!["x", "x.*"]),
            (json!({ "type": "object", "properties": { "a": { "type": "string" } } }), vec!["x"]),
            (json!({}), vec!["x"]),
            (json!(true), vec!["x"]),
            (json!({ "description": "anything" }), vec!["x"]),
            (json!({ "type": "array" }), vec!["x"]),
            (json!({ "type": "array", "items": {} }), vec!["x[]"]),
            (json!({ "anyOf": [{ "type": "null" }, { "type": "object" }] }), vec!["x|1"]),
            (json!({ "type": "object", "additionalProperties": { "type": "object" } }), vec!["x.*"]),
            (json!({ "type": "object", "properties": { "a": {} }, "additionalProperties": false }), vec!["x.a"]),
            (json!({ "type": "object", "properties": {}, "additionalProperties": false }), vec![]),
            (json!({ "type": "object", "additionalProperties": { "type": "string" } }), vec![]),
            (json!({ "$ref": "#/components/schemas/X", "description": "a reference" }), vec![]),
            (json!({ "const": true }), vec![]),
            (json!({ "type": ["string", "null"] }), vec![]),
        ] {
            let mut found = Vec::new();
            find_open(&schema, "x", &mut found);
            assert_eq!(found, paths, "{schema}");
        }
    }

    #[test]
    fn schemas_of_one_name_are_one() {
        let mut seen: BTreeMap<String, Value> = BTreeMap::new();
        for endpoint in Catalogue::new(PAGE_LIMIT_MAX).iter() {
            let answer = match &endpoint.answer {
                Answer::Resource { schema, .. } | Answer::Page { schema } => Some(schema),
                Answer::Document { .. } | Answer::Foreign { .. } => None,
            };
            let body = endpoint.body.as_ref().map(|body| &body.schema);
            for (name, schema) in answer.into_iter().chain(body).flat_map(TypeSchema::all) {
                if let Some(known) = seen.insert(name.clone(), schema.clone()) {
                    assert_eq!(known, schema, "two types have the name {name}");
                }
            }
        }
    }
}
