//! JSON bodies: the raw JSON is checked against the schema of its type, all errors at once; then the type's own rules hold.

use std::sync::{Arc, OnceLock};

use axum::http::{HeaderMap, header};
use jsonschema::{
    ValidationError, Validator,
    error::{TypeKind, ValidationErrorKind},
};
use serde::{Deserialize as _, Deserializer, de::DeserializeOwned};
use serde_json::Value;
use utoipa::ToSchema;

use super::{type_schema::TypeSchema, unique_members::UniqueMembers};
use crate::{
    platform::{FieldError, PlatformError},
    server::api_error::ApiError,
};

/// Characters of an invalid value that an error repeats.
const SHOWN_MAX: usize = 80;

/// Largest number below which every whole one is a float: 2^53.
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;

/// The body of a request.
pub(super) trait Body: DeserializeOwned + ToSchema + 'static {
    /// Whole bodies with their names: one with every field, and one with the required fields only.
    fn examples() -> Vec<(&'static str, Value)>;

    /// Returns what is wrong with the fields together, which a schema can't say.
    fn check(&self) -> Vec<FieldError> {
        Vec::new()
    }
}

/// Tells a field of a body that is null from one that is left out: for serde's `deserialize_with`, beside `default`.
pub(super) fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// The type of a body.
#[derive(Clone)]
pub(super) struct BodyType {
    pub(super) schema: TypeSchema,
    pub(super) examples: fn() -> Vec<(&'static str, Value)>,
    validator: Arc<OnceLock<Option<Validator>>>,
}

impl BodyType {
    /// The type of a body.
    pub(super) fn of<B: Body>() -> Self {
        Self { schema: TypeSchema::of::<B>(), examples: B::examples, validator: Arc::default() }
    }

    /// Checks a body against the schema.
    ///
    /// # Errors
    /// 422 with every invalid field.
    pub(super) fn validate(&self, body: &Value) -> Result<(), ApiError> {
        let validator = self.validator.get_or_init(|| {
            let options = jsonschema::options().with_draft(jsonschema::Draft::Draft202012);
            options.build(&self.schema.standalone()).ok()
        });
        let Some(validator) = validator else {
            return Err(ApiError::internal(&format_args!("the schema {} is invalid", self.schema.name())));
        };
        let mut fields = Vec::new();
        validator.iter_errors(body).for_each(|error| report(&error, &mut fields));
        if fields.is_empty() { Ok(()) } else { Err(PlatformError::Validation { fields }.into()) }
    }
}

/// The body of a request in a format of its own: what the document says of it.
#[derive(Clone, Debug)]
pub(super) struct ForeignBody {
    pub(super) schema: Value,
    pub(super) examples: Vec<(&'static str, Value)>,
    /// Schemas that it and the response refer to.
    pub(super) components: Vec<(&'static str, Value)>,
}

/// Parses a JSON body: 415 for another content type, 400 for invalid JSON and for an object that has a member twice.
pub(super) fn parse_json(headers: &HeaderMap, body: &[u8]) -> Result<Value, ApiError> {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("nothing");
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case("application/json") {
        return Err(ApiError::unsupported_media_type(content_type));
    }
    let refused = |cause| ApiError::bad_request(format!("the body is not JSON: {cause}"));
    serde_json::from_slice::<UniqueMembers>(body).map_err(refused)?;
    serde_json::from_slice(body).map_err(refused)
}

/// Reads a body that its schema allows, and checks its own rules.
///
/// # Errors
/// 422 with the fields.
pub(super) fn read_body<B: Body>(mut body: Value) -> Result<B, ApiError> {
    write_whole_numbers(&mut body);
    let read: B = serde_path_to_error::deserialize(body).map_err(|cause| {
        let path = cause.path().to_string();
        let path = if path == "." { String::new() } else { path };
        PlatformError::field(path, cause.inner().to_string(), "a value that the schema alone can't refuse")
    })?;
    let fields = read.check();
    if fields.is_empty() { Ok(read) } else { Err(PlatformError::Validation { fields }.into()) }
}

/// Writes numbers such as `5.0` without a fraction: to JSON Schema they are integers (Validation, 6.1.1), to serde they are not.
fn write_whole_numbers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            let whole = number.as_f64().filter(|_| number.is_f64()).filter(|it| it.fract() == 0.0);
            match whole.filter(|it| it.abs() <= WHOLE_MAX) {
                Some(whole) if whole < 0.0 => *value = Value::from(whole as i64),
                Some(whole) => *value = Value::from(whole as u64),
                None => {}
            }
        }
        Value::Array(items) => items.iter_mut().for_each(write_whole_numbers),
        Value::Object(members) => members.values_mut().for_each(write_whole_numbers),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// Adds the fields that an error of the schema names.
fn report(error: &ValidationError<'_>, fields: &mut Vec<FieldError>) {
    let path = field_path(error.instance_path().as_str());
    let mut push = |path: String, expected: String, got: String| fields.push(FieldError { path, expected, got });
    match error.kind() {
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            for name in unexpected {
                let got = error.instance().get(name).map_or_else(String::new, shown);
                push(member(&path, name), "no field of this name: it is unknown".to_owned(), got);
            }
        }
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            push(member(&path, name), "a value: it is required".to_owned(), "nothing".to_owned());
        }
        // An optional object is null or its type: what is wrong with the object is what helps.
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            match context.iter().find(|branch| !branch.iter().any(is_at(error))) {
                Some(branch) => branch.iter().for_each(|error| report(error, fields)),
                None => push(path, types(context, error), shown(error.instance())),
            }
        }
        kind => push(path, expected(kind, error), shown(error.instance())),
    }
}

/// Returns whether an error of a branch is at the very place of the choice, and of its type.
fn is_at(choice: &ValidationError<'_>) -> impl Fn(&ValidationError<'static>) -> bool {
    let place = choice.instance_path().as_str().to_owned();
    move |error| error.instance_path().as_str() == place && matches!(error.kind(), ValidationErrorKind::Type { .. })
}

/// The types that the branches of a choice ask for. Null, which is no value, is left out.
fn types(branches: &[Vec<ValidationError<'static>>], choice: &ValidationError<'_>) -> String {
    let of_type = |branch: &Vec<ValidationError<'static>>| {
        let error = branch.iter().find(|&error| is_at(choice)(error))?;
        Some(expected(error.kind(), error)).filter(|name| name != "null")
    };
    branches.iter().filter_map(of_type).collect::<Vec<_>>().join(" or ")
}

fn expected(kind: &ValidationErrorKind, error: &ValidationError<'_>) -> String {
    match kind {
        ValidationErrorKind::Type { kind: TypeKind::Single(one) } => article(&one.to_string()),
        ValidationErrorKind::Type { kind: TypeKind::Multiple(several) } => {
            let names: Vec<String> = several.iter().map(|one| article(&one.to_string())).collect();
            names.join(" or ")
        }
        ValidationErrorKind::Enum { options } => {
            let names: Vec<&str> =
                options.as_array().map(|all| all.iter().filter_map(Value::as_str).collect()).unwrap_or_default();
            format!("one of {}", names.join(", "))
        }
        ValidationErrorKind::Pattern { pattern } => format!("text that matches {pattern}"),
        ValidationErrorKind::MinLength { limit: 1 } => "a non-empty string".to_owned(),
        ValidationErrorKind::MinLength { limit } => format!("at least {limit} characters"),
        ValidationErrorKind::MaxLength { limit } => format!("at most {limit} characters"),
        ValidationErrorKind::MaxProperties { limit } => format!("at most {limit} members"),
        ValidationErrorKind::MinItems { limit } => format!("at least {limit} items"),
        ValidationErrorKind::MaxItems { limit } => format!("at most {limit} items"),
        ValidationErrorKind::UniqueItems => "items that differ".to_owned(),
        ValidationErrorKind::Minimum { limit } => format!("at least {limit}"),
        ValidationErrorKind::Maximum { limit } => format!("at most {limit}"),
        _ => error.to_string(),
    }
}

fn article(name: &str) -> String {
    match name {
        "null" => "null".to_owned(),
        "array" | "integer" | "object" => format!("an {name}"),
        other => format!("a {other}"),
    }
}

/// Returns `validators[1].address` for the pointer `/validators/1/address`.
fn field_path(pointer: &str) -> String {
    let mut path = String::new();
    for segment in pointer.split('/').skip(1) {
        let name = segment.replace("~1", "/").replace("~0", "~");
        if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit()) {
            path.push_str(&format!("[{name}]"));
        } else {
            path = member(&path, &name);
        }
    }
    path
}

fn member(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What an error says of a body by a schema: path and expectation of each field.
    fn told(schema: &Value, body: &Value) -> Vec<(String, String)> {
        let validator = jsonschema::draft202012::new(schema).unwrap();
        let mut fields = Vec::new();
        validator.iter_errors(body).for_each(|error| report(&error, &mut fields));
        fields.into_iter().map(|field| (field.path, field.expected)).collect()
    }

    #[test]
    fn a_choice_names_the_types_or_what_is_wrong_in_the_form_of_the_values_type() {
        let made = json!({
            "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"], "additionalProperties": false,
        });
        let token = json!({ "anyOf": [{ "type": "string", "pattern": "^0x" }, made, { "type": "null" }] });
        let schema = json!({ "properties": { "token": { "oneOf": [{ "type": "null" }, token] } } });
        let of = |token: Value| told(&schema, &json!({ "token": token }));
        let field = |path: &str, expected: &str| vec![(path.to_owned(), expected.to_owned())];
        assert_eq!(of(json!(7)), field("token", "a string or an object"));
        assert_eq!(of(json!("1x")), field("token", "text that matches ^0x"));
        assert_eq!(of(json!({})), field("token.name", "a value: it is required"));
        assert_eq!(
            of(json!({ "name": "x", "colour": 1 })),
            field("token.colour", "no field of this name: it is unknown")
        );
        assert_eq!(of(json!({ "name": "x" })), []);
    }

    #[test]
    fn the_number_of_members_has_a_bound() {
        let schema = json!({
            "type": "object", "maxProperties": 2, "additionalProperties": { "type": "integer" },
        });
        assert_eq!(told(&schema, &json!({ "abc": 1 })), []);
        assert_eq!(
            told(&schema, &json!({ "a": 1, "b": 2, "c": 3 })),
            [(String::new(), "at most 2 members".to_owned())]
        );
        assert_eq!(told(&schema, &json!({ "a": "x" })), [("a".to_owned(), "an integer".to_owned())]);
    }

    #[test]
    fn numbers_without_a_fraction_are_integers() {
        let mut body = json!({ "a": 5.0, "b": [-2.0, 1.5, 3], "c": { "d": 1e300 }, "e": "5.0" });
        write_whole_numbers(&mut body);
        assert_eq!(body.to_string(), json!({ "a": 5, "b": [-2, 1.5, 3], "c": { "d": 1e300 }, "e": "5.0" }).to_string());
    }
}
