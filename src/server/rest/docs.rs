//! `GET /v1/docs`: the OpenAPI document as a page.

use axum::{
    http::{HeaderName, HeaderValue, header},
    response::{IntoResponse, Response},
};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::Value;

const STYLE: &str = "\
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1f24;background:#fff}\
h1{margin-bottom:0}h2{margin-top:2.5rem;border-bottom:1px solid #d0d7de}\
details{border:1px solid #d0d7de;border-radius:6px;margin:.5rem 0}summary{padding:.5rem .75rem;cursor:pointer}\
summary b{display:inline-block;min-width:4.2rem}summary span{color:#57606a;margin-left:.75rem}\
.inner{padding:0 .9rem .9rem}table{border-collapse:collapse;width:100%}td,th{text-align:left;vertical-align:top;padding:.25rem .5rem;border-top:1px solid #eaeef2}\
code,pre{font:14px/1.45 ui-monospace,monospace}pre{background:#f6f8fa;padding:.75rem;overflow:auto;border-radius:6px}\
@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}details,h2{border-color:#30363d}pre{background:#161b22}td,th{border-color:#21262d}summary span{color:#8b949e}}";

/// Objects in objects that are shown.
const DEPTH_MAX: usize = 5;

/// Serves the page of a document.
pub(super) fn serve(document: &Value) -> Response {
    let headers: [(HeaderName, &str); 4] = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ];
    let headers = headers.map(|(name, value)| (name, HeaderValue::from_static(value)));
    (headers, page(document).into_string()).into_response()
}

fn page(document: &Value) -> Markup {
    let text = |pointer: &str| document.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let tags = document["tags"].as_array().map(Vec::as_slice).unwrap_or_default();
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (text("/info/title")) " API" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { (text("/info/title")) " API " (text("/info/version")) }
                p { (text("/info/description")) }
                p { "The same for programs: " a href="/v1/openapi.json" { "/v1/openapi.json" } " (OpenAPI 3.1)." }
                @for tag in tags {
                    h2 { (tag["name"].as_str().unwrap_or_default()) }
                    p { (tag["description"].as_str().unwrap_or_default()) }
                    @for (path, method, operation) in operations(document, &tag["name"]) {
                        (operation_details(document, path, method, operation))
                    }
                }
            }
        }
    }
}

fn operations<'a>(document: &'a Value, tag: &'a Value) -> impl Iterator<Item = (&'a str, &'a str, &'a Value)> {
    let paths = document["paths"].as_object().into_iter().flatten();
    let all = paths.flat_map(|(path, methods)| {
        let methods = methods.as_object().into_iter().flatten();
        methods.map(move |(method, operation)| (path.as_str(), method.as_str(), operation))
    });
    all.filter(move |(_, _, operation)| operation["tags"][0] == *tag)
}

fn operation_details(document: &Value, path: &str, method: &str, operation: &Value) -> Markup {
    let of = |name: &str| operation[name].as_str().unwrap_or_default();
    let parameters = operation["parameters"].as_array().map(Vec::as_slice).unwrap_or_default();
    let body = &operation["requestBody"]["content"]["application/json"];
    html! {
        details id=(of("operationId")) {
            summary { b { (method.to_uppercase()) } code { (path) } span { (of("summary")) } }
            div.inner {
                @for paragraph in of("description").split("\n\n") { p { (paragraph) } }
                @if !parameters.is_empty() {
                    h3 { "Parameters" }
                    table { @for parameter in parameters { tr {
                        td { code { (parameter["name"].as_str().unwrap_or_default()) } }
                        td { (parameter["in"].as_str().unwrap_or_default()) }
                        td { (parameter["description"].as_str().unwrap_or_default()) " " (bounds(&parameter["schema"])) }
                    } } }
                }
                @if let Some(schema) = body.get("schema") {
                    h3 { "Body" }
                    (fields(document, schema, 0))
                    @for (name, example) in body["examples"].as_object().into_iter().flatten() {
                        p { "Example, " (name) ":" }
                        pre { (pretty(&example["value"])) }
                    }
                }
                h3 { "Answers" }
                table { @for (status, response) in operation["responses"].as_object().into_iter().flatten() { tr {
                    td { code { (status) } }
                    td {
                        (response["description"].as_str().unwrap_or_default())
                        @if let Some(data) = data_of(response) { (fields(document, data, 0)) }
                    }
                } } }
            }
        }
    }
}

/// Schema of the data in a successful response's envelope.
fn data_of(response: &Value) -> Option<&Value> {
    let data = response["content"]["application/json"]["schema"]["properties"].get("data")?;
    Some(data.get("items").unwrap_or(data))
}

/// The fields of an object, with those of the objects in it; a type that has itself in it ends somewhere.
fn fields(document: &Value, schema: &Value, depth: usize) -> Markup {
    let schema = resolve(document, schema);
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    html! {
        @if let Some(properties) = schema["properties"].as_object().filter(|_| depth < DEPTH_MAX) {
            table { @for (name, property) in properties { tr {
                td { code { (name) } @if required.contains(&name.as_str()) { " *" } }
                td {
                    (property["description"].as_str().or(resolve(document, property)["description"].as_str()).unwrap_or_default())
                    " " (bounds(resolve(document, property)))
                    (fields(document, property.get("items").unwrap_or(property), depth.saturating_add(1)))
                }
            } } }
        }
    }
}

/// Follows a reference, or the one that an optional value is.
fn resolve<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    if let Some(pointer) = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#')) {
        return document.pointer(pointer).unwrap_or(schema);
    }
    let choices = schema["oneOf"].as_array().map(Vec::as_slice).unwrap_or_default();
    match choices.iter().find(|choice| choice["type"] != "null") {
        Some(choice) if choices.len() == 2 => resolve(document, choice),
        _ => schema,
    }
}

/// What a value may be, in short.
fn bounds(schema: &Value) -> Markup {
    let keywords = ["enum", "pattern", "minimum", "maximum", "minLength", "maxLength", "maxItems", "default"];
    html! {
        @for keyword in keywords.into_iter().filter(|keyword| schema.get(keyword).is_some()) {
            " " code { (keyword) ": " (schema[keyword].to_string()) }
        }
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_on_the_page_and_text_is_escaped() {
        let mut document: Value = serde_json::from_str(&crate::server::openapi_json()).unwrap();
        document["info"]["description"] = "<script>alert(1)</script>".into();
        let page = page(&document).into_string();
        for methods in document["paths"].as_object().unwrap().values() {
            for operation in methods.as_object().unwrap().values() {
                assert!(page.contains(&format!("id=\"{}\"", operation["operationId"].as_str().unwrap())));
            }
        }
        assert!(!page.contains("<script>") && page.contains("&lt;script&gt;"));
    }
}
