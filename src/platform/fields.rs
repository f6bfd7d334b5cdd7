//! Reading a JSON body field by field, collecting the errors of all fields.

use alloy_primitives::{Address, U256};
use serde_json::{Map, Value};

use super::{FieldError, PlatformError};
use crate::primitives::{DurationUnits, parse_amount, parse_duration_secs};

/// Characters of an invalid value that an error repeats.
const SHOWN_MAX: usize = 80;

/// A field that is a text or an object.
#[derive(Debug)]
pub enum TextOrObject {
    /// A text.
    Text(String),
    /// An object, being read.
    Object(Fields),
}

/// A JSON object being read. Each accessor takes its field out; [`Fields::finish`] refuses fields that are left.
#[derive(Debug)]
pub struct Fields {
    path: String,
    map: Map<String, Value>,
    errors: Vec<FieldError>,
}

impl Fields {
    /// Starts with the top level of a body.
    ///
    /// # Errors
    /// [`PlatformError::Validation`] when the body is not an object.
    pub fn read(body: Value) -> Result<Self, PlatformError> {
        match body {
            Value::Object(map) => Ok(Self { path: String::new(), map, errors: Vec::new() }),
            other => Err(PlatformError::field("", "an object", shown(&other))),
        }
    }

    /// Reads a required, non-empty string of at most 256 characters.
    pub fn text(&mut self, name: &str) -> Option<String> {
        let text = self.optional_text(name, "a non-empty string");
        self.require(name, "a non-empty string", text)
    }

    /// Reads an optional, non-empty string of at most 256 characters.
    pub fn optional_text(&mut self, name: &str, expected: &str) -> Option<String> {
        self.take(name, expected, |value| match value {
            Value::String(text) if is_text(text) => Some(text.clone()),
            _ => None,
        })
    }

    /// Reads one of `choices`, as `pick` converts it.
    pub fn choice<T>(&mut self, name: &str, choices: &[&str], pick: impl Fn(&str) -> Option<T>) -> Option<T> {
        let expected = format!("one of {}", choices.join(", "));
        self.take(name, &expected, |value| value.as_str().and_then(&pick))
    }

    /// Reads an amount: a decimal integer string in the smallest unit.
    pub fn amount(&mut self, name: &str) -> Option<U256> {
        let expected = "a decimal integer string in the smallest unit";
        self.take(name, expected, |value| value.as_str().and_then(parse_amount))
    }

    /// Reads a duration of whole seconds, minutes, hours or days; returns seconds.
    pub fn duration_secs(&mut self, name: &str) -> Option<u64> {
        let expected = "a duration of at least a second: a number and one of s, m, h, d, as in 5s";
        let read = |text: &str| parse_duration_secs(text, DurationUnits::INTERVAL).filter(|secs| *secs > 0);
        self.take(name, expected, |value| value.as_str().and_then(read))
    }

    /// Reads an integer between `min` and `max`.
    pub fn integer(&mut self, name: &str, min: u64, max: u64) -> Option<u64> {
        let expected = format!("an integer between {min} and {max}");
        self.take(name, &expected, |value| value.as_u64().filter(|number| (min..=max).contains(number)))
    }

    /// Reads a boolean.
    pub fn boolean(&mut self, name: &str) -> Option<bool> {
        self.take(name, "true or false", Value::as_bool)
    }

    /// Reads an address.
    pub fn address(&mut self, name: &str) -> Option<Address> {
        let expected = "an address (0x and 40 hex digits)";
        self.take(name, expected, |value| {
            value.as_str().filter(|text| text.starts_with("0x")).and_then(|text| text.parse().ok())
        })
    }

    /// Reads a field by `read`, which returns `None` for a value that is not `expected`.
    pub fn read_with<T>(&mut self, name: &str, expected: &str, read: impl FnOnce(&Value) -> Option<T>) -> Option<T> {
        self.take(name, expected, read)
    }

    /// Whether a field was there and is not what was expected.
    pub fn is_invalid(&self, name: &str) -> bool {
        let path = self.at(name);
        self.errors.iter().any(|error| error.path == path)
    }

    /// Records an error when a required value is missing. Returns the value.
    pub fn require<T>(&mut self, name: &str, expected: &str, value: Option<T>) -> Option<T> {
        let path = self.at(name);
        if value.is_none() && !self.errors.iter().any(|error| error.path == path) {
            self.errors.push(FieldError { path, expected: expected.to_owned(), got: "nothing".to_owned() });
        }
        value
    }

    /// Reads a nested object; an absent one has no fields. Pass it to [`Fields::absorb`] afterwards.
    pub fn object(&mut self, name: &str) -> Self {
        let map = self.take(name, "an object", |value| value.as_object().cloned()).unwrap_or_default();
        Self { path: self.at(name), map, errors: Vec::new() }
    }

    /// Reads a field that is a text or an object; pass the object to [`Fields::absorb`] afterwards.
    pub fn text_or_object(&mut self, name: &str, expected: &str) -> Option<TextOrObject> {
        let path = self.at(name);
        self.take(name, expected, |value| match value {
            Value::String(text) => Some(TextOrObject::Text(text.clone())),
            Value::Object(map) => Some(TextOrObject::Object(Self { path, map: map.clone(), errors: Vec::new() })),
            _ => None,
        })
    }

    /// Reads an array of strings by `read`, each once; an element that it does not know is refused by its own path.
    pub fn list<T: PartialEq>(
        &mut self,
        name: &str,
        expected: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Option<Vec<T>> {
        let values = self.take(name, "an array", |value| value.as_array().cloned())?;
        let mut found = Vec::new();
        for (index, value) in values.iter().enumerate() {
            match value.as_str().and_then(&read) {
                Some(one) if !found.contains(&one) => found.push(one),
                Some(_) => self.refuse(&format!("{name}[{index}]"), "a value that is not there before", shown(value)),
                None => self.refuse(&format!("{name}[{index}]"), expected, shown(value)),
            }
        }
        Some(found)
    }

    /// Reads an array of at most `max` objects. Pass each to [`Fields::absorb`] afterwards.
    pub fn objects(&mut self, name: &str, max: usize) -> Vec<Self> {
        let expected = format!("an array of at most {max} objects");
        let values = self
            .take(name, &expected, |value| value.as_array().filter(|values| values.len() <= max).cloned())
            .unwrap_or_default();
        let base = self.at(name);
        let mut objects = Vec::with_capacity(values.len());
        for (index, value) in values.into_iter().enumerate() {
            let path = format!("{base}[{index}]");
            match value {
                Value::Object(map) => objects.push(Self { path, map, errors: Vec::new() }),
                other => self.errors.push(FieldError { path, expected: "an object".to_owned(), got: shown(&other) }),
            }
        }
        objects
    }

    /// Reads an array of strings, each one of `choices`.
    pub fn choices(&mut self, name: &str, choices: &[&str]) -> Vec<String> {
        let expected = format!("an array of {}", choices.join(", "));
        self.take(name, &expected, |value| {
            value
                .as_array()?
                .iter()
                .map(|item| item.as_str().filter(|text| choices.contains(text)).map(str::to_owned))
                .collect()
        })
        .unwrap_or_default()
    }

    /// Records the error of a field that the caller found invalid.
    pub fn refuse(&mut self, name: &str, expected: impl Into<String>, got: impl Into<String>) {
        let path = self.at(name);
        self.errors.push(FieldError { path, expected: expected.into(), got: got.into() });
    }

    /// Adds the errors of a nested object, those for unknown fields included.
    pub fn absorb(&mut self, mut nested: Self) {
        nested.refuse_unknown();
        self.errors.append(&mut nested.errors);
    }

    /// Ends reading.
    ///
    /// # Errors
    /// [`PlatformError::Validation`] with every invalid field; fields that were not read are refused by name.
    pub fn finish(mut self) -> Result<(), PlatformError> {
        self.finish_mut()
    }

    /// As [`Fields::finish`], for a borrowed value.
    ///
    /// # Errors
    /// [`PlatformError::Validation`].
    pub fn finish_mut(&mut self) -> Result<(), PlatformError> {
        self.refuse_unknown();
        let fields = core::mem::take(&mut self.errors);
        if fields.is_empty() { Ok(()) } else { Err(PlatformError::Validation { fields }) }
    }

    fn refuse_unknown(&mut self) {
        for (name, value) in core::mem::take(&mut self.map) {
            let path = self.at(&name);
            let expected = "no field of this name: it is unknown".to_owned();
            self.errors.push(FieldError { path, expected, got: shown(&value) });
        }
    }

    fn take<T>(&mut self, name: &str, expected: &str, read: impl FnOnce(&Value) -> Option<T>) -> Option<T> {
        let value = self.map.remove(name).filter(|value| !value.is_null())?;
        let read = read(&value);
        if read.is_none() {
            let path = self.at(name);
            self.errors.push(FieldError { path, expected: expected.to_owned(), got: shown(&value) });
        }
        read
    }

    fn at(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }
}

/// Returns whether a text is more than blanks, and of at most 256 characters.
pub(super) fn is_text(text: &str) -> bool {
    !text.trim().is_empty() && text.chars().count() <= 256
}

/// Returns a value as an error repeats it.
pub(super) fn shown(value: &Value) -> String {
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

    #[test]
    fn every_error_is_listed_with_its_path() {
        let body = json!({ "config": { "blockTime": 5, "colour": "red" }, "validators": [{ "address": "0x1" }, 7] });
        let mut fields = Fields::read(body).unwrap();
        fields.text("name");
        let mut config = fields.object("config");
        config.duration_secs("blockTime");
        fields.absorb(config);
        for mut validator in fields.objects("validators", 5) {
            validator.address("address");
            fields.absorb(validator);
        }
        let Err(PlatformError::Validation { fields }) = fields.finish() else { panic!("must be refused") };
        let paths: Vec<&str> = fields.iter().map(|field| field.path.as_str()).collect();
        assert_eq!(paths, ["name", "config.blockTime", "config.colour", "validators[1]", "validators[0].address"]);
    }

    #[test]
    fn null_is_absent() {
        let mut fields = Fields::read(json!({ "amount": null })).unwrap();
        assert_eq!(fields.amount("amount"), None);
        assert_eq!(fields.finish(), Ok(()));
    }
}
