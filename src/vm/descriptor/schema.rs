//! Parameters of a constructor as a JSON Schema, for documents such as OpenAPI's.

use alloy_dyn_abi::DynSolType;
use serde_json::{Map, Value, json};

use super::{Descriptor, ELEMENTS_MAX, NUMBER_BITS_MAX, Parameter, TEXT_CHARS_MAX, array_of};
use crate::vm::{ParameterDefault, Unit};

impl Descriptor {
    /// Returns the JSON Schema of the values that [`Descriptor::encode`] takes.
    pub fn json_schema(&self) -> Value {
        object(&self.constructor)
    }
}

impl Parameter {
    /// Returns the JSON Schema of the values of this parameter.
    fn json_schema(&self) -> Value {
        let mut schema = self.schema_of(&self.ty);
        let mut text = self.description.clone();
        if let Some(unit) = &self.unit {
            text.push_str(&format!(" In {}.", unit.name()));
        }
        match &self.default {
            Some(ParameterDefault::Value(value)) => schema["default"] = value.clone(),
            Some(ParameterDefault::Deployer) => text.push_str(" The deploying account by default."),
            None => {}
        }
        if !text.is_empty() {
            schema["description"] = text.trim().into();
        }
        schema
    }

    fn schema_of(&self, ty: &str) -> Value {
        if let Some((element, len)) = array_of(ty) {
            let (min, max) = len.map_or((0, ELEMENTS_MAX), |len| (len, len));
            return json!({ "type": "array", "items": self.schema_of(element), "minItems": min, "maxItems": max });
        }
        if let (Ok(DynSolType::Uint(_)), Some(schema)) = (DynSolType::parse(ty), self.unit.and_then(Unit::json_schema))
        {
            return schema;
        }
        match DynSolType::parse(ty) {
            _ if ty.starts_with("tuple") && self.is_flags() => {
                let names: Vec<_> = self.members.iter().map(|member| member.name.as_str()).collect();
                let list =
                    json!({ "type": "array", "items": { "type": "string", "enum": names }, "uniqueItems": true });
                json!({ "anyOf": [object(&self.members), list] })
            }
            _ if ty.starts_with("tuple") => object(&self.members),
            Ok(DynSolType::Bool) => json!({ "type": "boolean" }),
            Ok(DynSolType::Uint(bits)) if bits <= NUMBER_BITS_MAX => {
                json!({ "type": "integer", "minimum": 0, "maximum": (1_u64 << bits) - 1 })
            }
            Ok(DynSolType::Uint(_)) => json!({ "type": "string", "pattern": "^[0-9]+$" }),
            Ok(DynSolType::Int(_)) => json!({ "type": "string", "pattern": "^-?[0-9]+$" }),
            Ok(DynSolType::String) if self.may_be_empty() => json!({ "type": "string", "maxLength": TEXT_CHARS_MAX }),
            // Something but white space.
            Ok(DynSolType::String) => {
                json!({ "type": "string", "minLength": 1, "maxLength": TEXT_CHARS_MAX, "pattern": r"\S" })
            }
            Ok(DynSolType::Address) => json!({ "type": "string", "pattern": "^0x[0-9a-fA-F]{40}$" }),
            Ok(DynSolType::FixedBytes(len)) => {
                json!({ "type": "string", "pattern": format!("^0x[0-9a-fA-F]{{{}}}$", 2 * len) })
            }
            Ok(DynSolType::Bytes) => json!({ "type": "string", "pattern": "^0x([0-9a-fA-F]{2})*$" }),
            _ => json!({ "type": "string" }),
        }
    }
}

fn object(members: &[Parameter]) -> Value {
    let properties: Map<_, _> = members.iter().map(|member| (member.name.clone(), member.json_schema())).collect();
    let required: Vec<&str> =
        members.iter().filter(|member| !member.is_optional()).map(|member| member.name.as_str()).collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}
