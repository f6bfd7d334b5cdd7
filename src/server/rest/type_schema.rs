//! JSON Schemas of types: what the document shows, and what bodies are checked against.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use utoipa::{
    ToSchema,
    openapi::{RefOr, Schema},
};

/// Where the document keeps its schemas.
const COMPONENTS: &str = "#/components/schemas/";

/// The schema of a type and of all types in it, generated from the types alone.
#[derive(Clone, Debug)]
pub(super) struct TypeSchema {
    name: String,
    collect: fn(&mut Vec<(String, RefOr<Schema>)>),
}

fn collect<T: ToSchema>(schemas: &mut Vec<(String, RefOr<Schema>)>) {
    schemas.push((T::name().into_owned(), T::schema()));
    T::schemas(schemas);
}

impl TypeSchema {
    /// The schema of a type.
    pub(super) fn of<T: ToSchema>() -> Self {
        Self { name: T::name().into_owned(), collect: collect::<T> }
    }

    /// Name of the type in the document.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// A reference to the schema.
    pub(super) fn reference(&self) -> Value {
        json!({ "$ref": format!("{COMPONENTS}{}", self.name) })
    }

    /// Adds the schema, and those that it refers to, to the document's.
    pub(super) fn add_to(&self, components: &mut BTreeMap<String, Value>) {
        components.extend(self.all());
    }

    /// The schema and those that it refers to, by name.
    pub(super) fn all(&self) -> Vec<(String, Value)> {
        let mut schemas = Vec::new();
        (self.collect)(&mut schemas);
        let closed = |schema| {
            let mut schema = serde_json::to_value(schema).unwrap_or_default();
            close(&mut schema);
            schema
        };
        schemas.into_iter().map(|(name, schema)| (name, closed(schema))).collect()
    }

    /// The schema as a document of its own.
    pub(super) fn standalone(&self) -> Value {
        let mut components = BTreeMap::new();
        self.add_to(&mut components);
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$ref": format!("{COMPONENTS}{}", self.name),
            "components": { "schemas": components },
        })
    }
}

/// Refuses properties that an object's type does not have.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if members.contains_key("properties") && !members.contains_key("additionalProperties") {
                members.insert("additionalProperties".to_owned(), Value::Bool(false));
            }
            close_all(members);
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

fn close_all(members: &mut Map<String, Value>) {
    for (keyword, value) in members {
        // Instances are not schemas.
        if !matches!(keyword.as_str(), "example" | "examples" | "default" | "enum" | "const") {
            close(value);
        }
    }
}
