//! Values whose types a contract's ABI says, and the ABI itself: what the document can say of them.

use std::borrow::Cow;

use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ArrayBuilder, ObjectBuilder, Ref, RefOr, Schema, Type, schema::AnyOfBuilder},
};

/// Members of a validator's metadata: more than its bytes have room for.
const METADATA_MEMBERS_MAX: usize = 1_024;

/// A value that an ABI can take.
#[derive(Debug)]
pub(in crate::server::rest) struct AbiValue;

/// Values that an ABI can take, by name.
#[derive(Debug)]
pub(in crate::server::rest) struct AbiMembers;

/// What a caller keeps with something: any JSON.
#[derive(Debug)]
pub(in crate::server::rest) struct Metadata;

/// A value in metadata.
#[derive(Debug)]
struct MetadataValue;

/// An object whose members are all of the schema of this name.
fn members_of(name: &str) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::Object).additional_properties(Some(Ref::from_schema_name(name)))
}

/// A scalar, a list of values of the schema of this name, or an object of such. Every JSON value is one: where a branch of a choice fails, each
/// error keeps a copy of its value, at each level again.
fn value_of(name: &str, members: ObjectBuilder, description: &str) -> RefOr<Schema> {
    let scalars = [Type::String, Type::Number, Type::Boolean, Type::Null];
    let scalars = scalars
        .into_iter()
        .fold(AnyOfBuilder::new(), |forms, scalar| forms.item(ObjectBuilder::new().schema_type(scalar)));
    let list = ArrayBuilder::new().items(Ref::from_schema_name(name));
    scalars.item(list).item(members).description(Some(description)).into()
}

impl PartialSchema for AbiValue {
    fn schema() -> RefOr<Schema> {
        let members = members_of("AbiValue");
        let description = "A value of a type of Solidity: integers are numbers or decimal strings, addresses and bytes hex strings, structs \
             objects or arrays.";
        value_of("AbiValue", members, description)
    }
}

impl ToSchema for AbiValue {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("AbiValue")
    }
}

impl PartialSchema for AbiMembers {
    fn schema() -> RefOr<Schema> {
        members_of("AbiValue").description(Some("Values of types of Solidity, by name.")).into()
    }
}

impl ToSchema for AbiMembers {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("AbiMembers")
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((AbiValue::name().into_owned(), AbiValue::schema()));
    }
}

impl PartialSchema for Metadata {
    fn schema() -> RefOr<Schema> {
        let members = members_of("MetadataValue").max_properties(Some(METADATA_MEMBERS_MAX));
        members.description(Some("What the caller keeps, of any form.")).into()
    }
}

impl ToSchema for Metadata {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("Metadata")
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((MetadataValue::name().into_owned(), MetadataValue::schema()));
    }
}

impl PartialSchema for MetadataValue {
    fn schema() -> RefOr<Schema> {
        value_of("MetadataValue", members_of("MetadataValue"), "Any JSON.")
    }
}

impl ToSchema for MetadataValue {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("MetadataValue")
    }
}

/// An entry of a JSON ABI.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "describes the entries of JsonAbi")]
pub(in crate::server::rest) struct AbiEntry {
    /// What it is.
    #[schema(rename = "type")]
    kind: AbiEntryKind,
    /// Name of a function, an event or an error.
    #[schema(example = "transfer")]
    name: Option<String>,
    /// What it takes.
    inputs: Option<Vec<AbiParameter>>,
    /// What a function returns.
    outputs: Option<Vec<AbiParameter>>,
    /// What a call may read and change.
    state_mutability: Option<AbiMutability>,
    /// Whether an event has no topic of its own.
    anonymous: Option<bool>,
}

/// Kind of an entry of a JSON ABI.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "lowercase")]
#[expect(dead_code, reason = "describes the entries of JsonAbi")]
enum AbiEntryKind {
    Constructor,
    Fallback,
    Receive,
    Function,
    Event,
    Error,
}

/// What a call may read and change.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "lowercase")]
#[expect(dead_code, reason = "describes the entries of JsonAbi")]
enum AbiMutability {
    Pure,
    View,
    NonPayable,
    Payable,
}

/// A parameter of an entry of a JSON ABI.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "describes the entries of JsonAbi")]
struct AbiParameter {
    /// Its name; empty without one.
    name: Option<String>,
    /// Its type; a struct is a tuple.
    #[schema(rename = "type", example = "uint256")]
    ty: String,
    /// Its type in Solidity's source.
    internal_type: Option<String>,
    /// Whether it is a topic of an event.
    indexed: Option<bool>,
    /// Members of a struct.
    #[schema(no_recursion)]
    components: Option<Vec<AbiParameter>>,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Errors of a choice keep a copy of its value each, so that a body of a mebibyte could take gibibytes.
    #[test]
    fn every_json_value_is_one() {
        let schema = |of: RefOr<Schema>| {
            let mut named = Vec::new();
            AbiMembers::schemas(&mut named);
            Metadata::schemas(&mut named);
            let named: serde_json::Map<String, Value> =
                named.into_iter().map(|(name, schema)| (name, serde_json::to_value(schema).unwrap())).collect();
            let mut schema = serde_json::to_value(of).unwrap();
            schema["components"] = json!({ "schemas": named });
            jsonschema::draft202012::new(&schema).unwrap()
        };
        let many: serde_json::Map<String, Value> =
            (0..500).map(|number| (format!("{number}").repeat(400), json!([number, null, 1.5, true]))).collect();
        let deep = (0..100).fold(json!({ "": 0, "x": [1, "a", {}] }), |inner, _| json!([inner]));
        let members = json!({ "many": many, "deep": deep });
        for schema in [schema(AbiMembers::schema()), schema(Metadata::schema())] {
            assert_eq!(schema.iter_errors(&members).count(), 0);
        }
    }
}
