//! Query parameters: each is declared once, with what it may be; the request is checked against that, and the document shows it.

use serde_json::{Value, json};

use crate::server::api_error::ApiError;

/// Largest height that a JavaScript number holds exactly.
const HEIGHT_MAX: u64 = (1 << 53) - 1;

/// A query parameter.
#[derive(Clone, Debug)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    description: &'static str,
    kind: Kind,
    is_required: bool,
}

#[derive(Clone, Debug)]
enum Kind {
    Integer { min: u64, max: u64, default: u64 },
    Height,
    Text { pattern: &'static str, is_valid: fn(&str) -> bool },
    OneOf { choices: Vec<String>, default: Option<String> },
}

impl Parameter {
    /// An optional integer.
    pub(super) const fn integer(
        name: &'static str,
        description: &'static str,
        min: u64,
        max: u64,
        default: u64,
    ) -> Self {
        Self { name, description, kind: Kind::Integer { min, max, default }, is_required: false }
    }

    /// An optional height of a block.
    pub(super) const fn height(name: &'static str, description: &'static str) -> Self {
        Self { name, description, kind: Kind::Height, is_required: false }
    }

    /// An optional text of a pattern, which `is_valid` checks.
    pub(super) const fn text(
        name: &'static str,
        description: &'static str,
        pattern: &'static str,
        is_valid: fn(&str) -> bool,
    ) -> Self {
        Self { name, description, kind: Kind::Text { pattern, is_valid }, is_required: false }
    }

    /// An optional choice.
    pub(super) fn one_of(
        name: &'static str,
        description: &'static str,
        choices: impl IntoIterator<Item = String>,
        default: Option<&str>,
    ) -> Self {
        let (choices, default) = (choices.into_iter().collect(), default.map(str::to_owned));
        Self { name, description, kind: Kind::OneOf { choices, default }, is_required: false }
    }

    /// The same, required.
    pub(super) fn required(self) -> Self {
        Self { is_required: true, ..self }
    }

    /// Refuses a query without the parameter, if it is required.
    pub(super) fn check_presence(&self, is_there: bool) -> Result<(), ApiError> {
        match self.is_required && !is_there {
            true => Err(ApiError::bad_request(format!("{} is required: {}", self.name, self.description))),
            false => Ok(()),
        }
    }

    /// Refuses a value that the parameter may not have.
    pub(super) fn check(&self, text: &str) -> Result<(), ApiError> {
        let name = self.name;
        match &self.kind {
            Kind::Integer { min, max, .. } => match text.parse::<u64>() {
                Ok(number) if (*min..=*max).contains(&number) => Ok(()),
                _ => Err(ApiError::bad_request(format!(
                    "{name} must be an integer between {min} and {max}, got {text:?}"
                ))),
            },
            Kind::Height => match text.parse::<u64>() {
                Ok(height) if height <= HEIGHT_MAX => Ok(()),
                _ => Err(ApiError::bad_request(format!("{name} must be a block's number, got {text:?}"))),
            },
            Kind::Text { is_valid, .. } if is_valid(text) => Ok(()),
            Kind::Text { pattern, .. } => {
                Err(ApiError::bad_request(format!("{name} must be of the form {pattern}, got {text:?}")))
            }
            Kind::OneOf { choices, .. } if choices.iter().any(|choice| choice == text) => Ok(()),
            Kind::OneOf { choices, .. } => {
                Err(ApiError::bad_request(format!("{name} must be one of {}, got {text:?}", choices.join(", "))))
            }
        }
    }

    /// The parameter in the document.
    pub(super) fn document(&self) -> Value {
        let schema = match &self.kind {
            Kind::Integer { min, max, default } => {
                json!({ "type": "integer", "minimum": min, "maximum": max, "default": default })
            }
            Kind::Height => json!({ "type": "integer", "minimum": 0, "maximum": HEIGHT_MAX }),
            Kind::Text { pattern, .. } => json!({ "type": "string", "pattern": pattern }),
            Kind::OneOf { choices, default: Some(default) } => {
                json!({ "type": "string", "enum": choices, "default": default })
            }
            Kind::OneOf { choices, default: None } => json!({ "type": "string", "enum": choices }),
        };
        json!({ "name": self.name, "in": "query", "required": self.is_required, "description": self.description, "schema": schema })
    }
}
