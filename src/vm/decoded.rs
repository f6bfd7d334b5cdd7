//! Events and errors, decoded by an ABI.

use alloy_dyn_abi::DynSolValue;
use alloy_primitives::Bytes;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

/// An event or an error with its arguments.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Decoded {
    /// Name, such as `Transfer`.
    pub name: String,
    /// Arguments in the order of the declaration.
    pub arguments: Vec<DecodedArgument>,
}

/// An argument of an event or an error. In JSON its value is as [`abi_json`] has it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DecodedArgument {
    /// Name in the ABI, which may be empty.
    pub name: String,
    /// Value.
    #[serde(serialize_with = "as_json")]
    pub value: DynSolValue,
}

impl Decoded {
    pub(super) fn new<'n>(name: &str, names: impl Iterator<Item = &'n str>, values: Vec<DynSolValue>) -> Self {
        let arguments = names.zip(values).map(|(name, value)| DecodedArgument { name: name.to_owned(), value });
        Self { name: name.to_owned(), arguments: arguments.collect() }
    }

    /// Returns the value of the argument called `name`.
    pub fn argument(&self, name: &str) -> Option<&DynSolValue> {
        self.arguments.iter().find(|argument| argument.name == name).map(|argument| &argument.value)
    }
}

/// Returns a value as JSON: integers are decimal strings, bytes and addresses hex, arrays and structs arrays.
pub fn abi_json(value: &DynSolValue) -> Value {
    match value {
        DynSolValue::Bool(flag) => json!(flag),
        DynSolValue::Uint(number, _) => json!(number.to_string()),
        DynSolValue::Int(number, _) => json!(number.to_string()),
        DynSolValue::Address(address) => json!(address),
        DynSolValue::String(text) => json!(text),
        DynSolValue::Bytes(bytes) => json!(Bytes::copy_from_slice(bytes)),
        DynSolValue::FixedBytes(word, len) => json!(Bytes::copy_from_slice(&word[..*len])),
        DynSolValue::Array(values) | DynSolValue::FixedArray(values) | DynSolValue::Tuple(values) => {
            values.iter().map(abi_json).collect()
        }
        other => json!(format!("{other:?}")),
    }
}

fn as_json<S: Serializer>(value: &DynSolValue, serializer: S) -> Result<S::Ok, S::Error> {
    abi_json(value).serialize(serializer)
}
