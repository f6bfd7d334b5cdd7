//! What the document says of `changes`: one object with the members of all types of proposals, closed. Which of them a type has is its own
//! rule, whose errors name the member.

use std::borrow::Cow;

use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ObjectBuilder, RefOr, Schema, Type, schema::SchemaType},
};

use super::expected;
use crate::{
    server::rest::{
        routes::modules::{ModuleConfig, number_or_time},
        scalar::HexAddress,
    },
    system::parameters::Parameter,
};

/// `changes` in the body of a proposal.
#[derive(Debug)]
pub(super) struct ProposalChanges;

/// `changes` of a proposal, as it is shown.
#[derive(Debug)]
pub(in crate::server::rest::routes) struct ChangesView;

/// What changes, by the proposal's type: of parameter-change parameters by their names; of the others what names them.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "describes what proposals read")]
struct OtherChanges {
    /// Of validator-add and validator-remove: address of the validator.
    address: Option<HexAddress>,
    /// Of validator-add: its weight; 1 by default.
    #[schema(schema_with = weight)]
    weight: Option<String>,
    /// Of module-enable and module-disable: name of the module.
    #[schema(min_length = 1, max_length = 256, pattern = r"\S", example = "defi")]
    module: Option<String>,
    /// Of module-enable: version of the module; 1 by default.
    #[schema(minimum = 1, maximum = 4294967295_u64)]
    version: Option<u32>,
    /// Of module-enable: its configuration.
    config: Option<ModuleConfig>,
    /// Of upgrade: its name, at most 64 bytes.
    #[schema(min_length = 1, max_length = 256, pattern = r"\S", example = "v2")]
    name: Option<String>,
    /// Of upgrade: height of the block with which it comes.
    #[schema(minimum = 1, maximum = 9007199254740991_u64)]
    height: Option<u64>,
    /// Of upgrade: more about it.
    #[schema(min_length = 1, max_length = 256, pattern = r"\S", example = "faster")]
    info: Option<String>,
}

/// What changes, by the proposal's type: of parameter-change parameters by their names, in decimal digits; of the others what names them.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "describes what is shown of proposals")]
struct OtherChangesView {
    /// Of validator-add and validator-remove: address of the validator.
    address: Option<String>,
    /// Of validator-add: its weight, in decimal digits.
    #[schema(pattern = "^[0-9]+$")]
    weight: Option<String>,
    /// Of module-enable and module-disable: name of the module.
    module: Option<String>,
    /// Of module-enable: version of the module.
    version: Option<u32>,
    /// Of module-enable: hash of its configuration.
    config_hash: Option<String>,
    /// Of upgrade: its name.
    name: Option<String>,
    /// Of upgrade: height of the block with which it comes.
    height: Option<u64>,
    /// Of upgrade: more about it.
    info: Option<String>,
}

/// Schema of a weight: in decimal digits, as weights are shown, or an integer.
fn weight() -> Schema {
    let types = SchemaType::from_iter([Type::String, Type::Integer, Type::Null]);
    let schema = ObjectBuilder::new().schema_type(types).minimum(Some(1)).pattern(Some("^[1-9][0-9]{0,18}$"));
    let description = "Of validator-add: its weight, in decimal digits or an integer; 1 by default.";
    schema.description(Some(description)).build().into()
}

/// Adds a member for each parameter to an object's schema.
fn with_parameters(mut schema: RefOr<Schema>, of: impl Fn(Parameter) -> Schema) -> RefOr<Schema> {
    if let RefOr::T(Schema::Object(object)) = &mut schema {
        for parameter in Parameter::ALL {
            object.properties.insert(parameter.name().to_owned(), RefOr::T(of(parameter)));
        }
    }
    schema
}

impl PartialSchema for ProposalChanges {
    fn schema() -> RefOr<Schema> {
        with_parameters(OtherChanges::schema(), |parameter| {
            let mut value = number_or_time();
            if let Schema::Object(object) = &mut value {
                object.description = Some(format!("Of parameter-change: {}.", expected(parameter)));
            }
            value
        })
    }
}

impl ToSchema for ProposalChanges {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("ProposalChanges")
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        OtherChanges::schemas(schemas);
    }
}

impl PartialSchema for ChangesView {
    fn schema() -> RefOr<Schema> {
        with_parameters(OtherChangesView::schema(), |parameter| {
            let value = ObjectBuilder::new().schema_type(Type::String).pattern(Some("^[0-9]+$"));
            value.description(Some(format!("Of parameter-change: {}.", expected(parameter)))).build().into()
        })
    }
}

impl ToSchema for ChangesView {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("ChangesView")
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        OtherChangesView::schemas(schemas);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::server::rest::type_schema::TypeSchema;

    fn errors<T: ToSchema>(value: &Value) -> Vec<String> {
        let validator = jsonschema::draft202012::new(&TypeSchema::of::<T>().standalone()).unwrap();
        validator.iter_errors(value).map(|error| error.to_string()).collect()
    }

    /// What each type reads and shows fits the schemas; what no type has does not.
    #[test]
    fn the_schemas_have_the_members_of_every_type() {
        let address = "0x1111111111111111111111111111111111111111";
        for changes in [
            json!({}),
            json!({ "address": address, "weight": u64::MAX }),
            json!({ "address": address, "weight": "9999999999999999999" }),
            json!({ "address": address, "weight": null }),
            json!({ "module": "defi", "version": u32::MAX, "config": { "features": ["dex"] } }),
            json!({ "module": "none" }),
            json!({ "name": "v2", "height": 9_007_199_254_740_991_u64, "info": "more" }),
        ] {
            assert_eq!(errors::<ProposalChanges>(&changes), Vec::<String>::new(), "{changes}");
        }
        let digest = format!("0x{}", "11".repeat(32));
        for shown in [
            json!({}),
            json!({ "address": address, "weight": u64::MAX.to_string() }),
            json!({ "module": "defi", "version": 1, "configHash": digest }),
            json!({ "name": "v2", "height": 5, "info": "" }),
        ] {
            assert_eq!(errors::<ChangesView>(&shown), Vec::<String>::new(), "{shown}");
        }
        for parameter in Parameter::ALL {
            let (name, largest) = (parameter.name(), parameter.range().end().to_string());
            for value in
                [json!(parameter.range().start().to_string()), json!(1), json!("2s"), json!(largest), Value::Null]
            {
                assert_eq!(errors::<ProposalChanges>(&json!({ name: value })), Vec::<String>::new(), "{name}: {value}");
            }
            assert_eq!(errors::<ChangesView>(&json!({ name: largest })), Vec::<String>::new(), "{name}");
            for wrong in [json!("soon"), json!(-1), json!([])] {
                assert_eq!(errors::<ProposalChanges>(&json!({ name: wrong })).len(), 1, "{name}: {wrong}");
            }
        }
        let weights = [json!(0), json!("0"), json!("05"), json!("many")].map(|weight| json!({ "weight": weight }));
        for wrong in [json!({ "colour": 1 }), json!({ "config": { "colour": 1 } })].into_iter().chain(weights) {
            assert!(!errors::<ProposalChanges>(&wrong).is_empty(), "{wrong}");
        }
        for wrong in [json!({ "config": {} }), json!({ "address": address, "weight": 1 })] {
            assert!(!errors::<ChangesView>(&wrong).is_empty(), "{wrong}");
        }
    }
}
