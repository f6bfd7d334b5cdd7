//! What a template is, for whoever lists, deploys or reads its contracts: one description for the service, the command line and
//! documents.

use std::borrow::Cow;

use alloy_dyn_abi::{DynSolType, DynSolValue, JsonAbiExt as _};
use alloy_json_abi::{JsonAbi, Param};
use alloy_primitives::{B256, Bytes, U256};
use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    Marker, ParameterDefault, ParameterNote, Template, TemplateId, TemplateIdentity, Unit, storage::StorageLayout,
};
use crate::primitives::parse_amount;

mod context;
mod digest;
mod schema;

pub use context::DeploymentContext;

/// Characters of a `string` parameter.
const TEXT_CHARS_MAX: usize = 256;

/// Elements of an array parameter.
const ELEMENTS_MAX: usize = 1_000;

/// Largest integer type that is a JSON number, in bits; larger ones are decimal strings, which every JSON reader keeps exact.
const NUMBER_BITS_MAX: usize = 32;

/// Characters of an invalid value that an error repeats.
const SHOWN_MAX: usize = 80;

/// Description of a template.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Descriptor {
    /// Name, such as `erc20-token`.
    pub name: String,
    /// Number of the template.
    pub id: u16,
    /// Version of its behaviour and storage layout.
    pub version: u16,
    /// What its contracts are, in a line; may be empty.
    pub summary: String,
    /// Keccak of what is fixed with the version and shows without running it: name, ABI, storage layout, gas table. A chain keeps the
    /// digest of each template that it deployed, and is opened with no other.
    pub digest: B256,
    /// Code of its contracts: the marker, which the constructor's parameters follow in init code.
    pub bytecode: Bytes,
    /// Parameters of the constructor, in order.
    pub constructor: Vec<Parameter>,
    /// Functions, events, errors and constructor.
    pub abi: JsonAbi,
    /// Variables in storage; empty for a template that does not declare them.
    pub storage_layout: StorageLayout,
}

/// A parameter of a constructor, or a member of one that is a struct.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Parameter {
    /// Name.
    pub name: String,
    /// Solidity type; a struct is a tuple with its members.
    #[serde(rename = "type")]
    pub ty: String,
    /// What it is for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Unit of a value, such as `wei`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<Unit>,
    /// Value when it is left out; without a default it is required.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<ParameterDefault>,
    /// Members of a struct, or of the structs in an array.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<Self>,
}

/// A parameter that cannot be encoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {got}, expected {expected}")]
pub struct ParameterError {
    /// Path of the parameter, such as `features.mintable` or `owners[2]`.
    pub path: String,
    /// What was expected.
    pub expected: String,
    /// What came.
    pub got: String,
}

impl Descriptor {
    /// Describes a template.
    pub fn of(template: &dyn Template) -> Self {
        let (id, abi, notes) = (template.id(), template.abi(), template.parameters());
        let storage_layout = template.storage_layout();
        let inputs = abi.constructor.as_ref().map(|constructor| constructor.inputs.as_slice()).unwrap_or_default();
        Self {
            name: template.name().to_owned(),
            id: id.id,
            version: id.version,
            summary: template.summary().to_owned(),
            digest: digest::digest(template.name(), &abi, &storage_layout, template.gas_table()),
            bytecode: Marker(id).init_code(&[]),
            constructor: inputs.iter().map(|input| Parameter::of(input, "", &notes)).collect(),
            abi,
            storage_layout,
        }
    }

    /// Returns the identity of the template.
    pub fn identity(&self) -> TemplateIdentity {
        let Self { name, id, version, digest, .. } = self;
        TemplateIdentity { id: TemplateId::new(*id, *version), name: name.clone(), digest: *digest }
    }

    /// Returns the input of a creation transaction: the marker, and the parameters encoded as the constructor's.
    ///
    /// Values are JSON: integers of 32 bits and fewer are numbers, larger ones decimal strings, and those with a [`Unit`] as that says; addresses and bytes are hex strings
    /// with `0x`; structs are objects, arrays are arrays. A struct of booleans may also be an array with the names of those that are true.
    /// `context` is the account that sends the transaction, or a [`DeploymentContext`] with more that values may depend on.
    ///
    /// # Errors
    /// Every parameter that is missing, invalid or unknown.
    pub fn encode<'c>(
        &self,
        values: &Map<String, Value>,
        context: impl Into<DeploymentContext<'c>>,
    ) -> Result<Bytes, Vec<ParameterError>> {
        let mut errors = Vec::new();
        let encoded = encode_members(&self.constructor, values, "", &context.into(), &mut errors);
        if !errors.is_empty() {
            return Err(errors);
        }
        let params = match &self.abi.constructor {
            Some(constructor) => constructor.abi_encode_input(&encoded).map_err(|error| {
                let (expected, got) = ("values of the constructor's types".to_owned(), error.to_string());
                vec![ParameterError { path: String::new(), expected, got }]
            })?,
            None => Vec::new(),
        };
        Ok([self.bytecode.as_ref(), &params].concat().into())
    }
}

impl Parameter {
    fn of(input: &Param, parent: &str, notes: &[ParameterNote]) -> Self {
        let path = join(parent, &input.name);
        let note = notes.iter().find(|note| note.name == path);
        Self {
            name: input.name.clone(),
            ty: type_text(input),
            description: note.map_or("", |note| note.description).to_owned(),
            unit: note.and_then(|note| note.unit),
            default: note.and_then(|note| note.default.clone()),
            members: input.components.iter().map(|member| Self::of(member, &path, notes)).collect(),
        }
    }

    /// Returns whether it may be left out: it has a default, or is a struct whose members all have.
    pub fn is_optional(&self) -> bool {
        let is_struct = self.ty.starts_with("tuple") && self.ty.ends_with(')');
        self.default.is_some() || (is_struct && self.members.iter().all(Self::is_optional))
    }

    /// Returns the value of the parameter at `path`.
    fn encode(
        &self,
        value: Option<&Value>,
        path: &str,
        context: &DeploymentContext<'_>,
        errors: &mut Vec<ParameterError>,
    ) -> Option<DynSolValue> {
        let value = match (value.filter(|value| !value.is_null()), &self.default) {
            (Some(value), _) => value,
            (None, Some(ParameterDefault::Deployer)) => return Some(DynSolValue::Address(context.deployer)),
            (None, Some(ParameterDefault::Value(value))) => value,
            (None, None) if self.is_optional() => &Value::Object(Map::new()),
            (None, None) => {
                let (expected, got) = (self.expected(&self.ty, context), "nothing".to_owned());
                errors.push(ParameterError { path: path.to_owned(), expected, got });
                return None;
            }
        };
        if self.may_be_empty() && value == "" {
            return Some(DynSolValue::String(String::new()));
        }
        self.encode_as(&self.ty, value, path, context, errors)
    }

    /// Returns whether it is a text that may be empty, as its default is.
    fn may_be_empty(&self) -> bool {
        self.ty == "string" && self.default == Some(ParameterDefault::Value("".into()))
    }

    /// Returns `value` as one of type `ty`, which is the parameter's or that of its elements.
    fn encode_as(
        &self,
        ty: &str,
        value: &Value,
        path: &str,
        context: &DeploymentContext<'_>,
        errors: &mut Vec<ParameterError>,
    ) -> Option<DynSolValue> {
        let encoded = if let Some((element, len)) = array_of(ty) {
            let values = value.as_array().filter(|values| values.len() <= ELEMENTS_MAX);
            values.filter(|values| len.is_none_or(|len| len == values.len())).map(|values| {
                let mut encode =
                    |(index, value)| self.encode_as(element, value, &format!("{path}[{index}]"), context, errors);
                let encoded: Vec<_> = values.iter().enumerate().filter_map(&mut encode).collect();
                if len.is_some() { DynSolValue::FixedArray(encoded) } else { DynSolValue::Array(encoded) }
            })
        } else if ty.starts_with("tuple") {
            self.named_members(value)
                .map(|values| DynSolValue::Tuple(encode_members(&self.members, &values, path, context, errors)))
        } else {
            leaf(ty, self.unit, value, context)
        };
        if encoded.is_none() {
            errors.push(ParameterError {
                path: path.to_owned(),
                expected: self.expected(ty, context),
                got: shown(value),
            });
        }
        encoded
    }

    /// Returns whether it is a struct of booleans, or an array of such.
    fn is_flags(&self) -> bool {
        !self.members.is_empty() && self.members.iter().all(|member| member.ty == "bool")
    }

    /// Returns the members of a struct: an object's, or those of booleans by the names of the true ones.
    fn named_members<'v>(&self, value: &'v Value) -> Option<Cow<'v, Map<String, Value>>> {
        match value {
            Value::Object(members) => Some(Cow::Borrowed(members)),
            Value::Array(names) if self.is_flags() => {
                let mut flags: Map<_, _> =
                    self.members.iter().map(|member| (member.name.clone(), false.into())).collect();
                for name in names {
                    flags.insert(name.as_str()?.to_owned(), true.into());
                }
                Some(Cow::Owned(flags))
            }
            _ => None,
        }
    }

    /// Returns what a value of this type is, in words.
    fn expected(&self, ty: &str, context: &DeploymentContext<'_>) -> String {
        let by_unit = || self.unit.and_then(|unit| unit.expected(context.block_time_secs.is_some()));
        if let (Ok(DynSolType::Uint(_)), Some(text)) = (DynSolType::parse(ty), by_unit()) {
            return text;
        }
        let text = match DynSolType::parse(ty) {
            _ if array_of(ty).is_some() => {
                format!("an array of at most {ELEMENTS_MAX} {}", array_of(ty).map_or(ty, |it| it.0))
            }
            _ if ty.starts_with("tuple") && self.is_flags() => "an object, or an array of its names".to_owned(),
            _ if ty.starts_with("tuple") => "an object".to_owned(),
            Ok(DynSolType::Bool) => "true or false".to_owned(),
            Ok(DynSolType::Address) => context.expected_address(),
            Ok(DynSolType::String) if self.may_be_empty() => format!("a string of at most {TEXT_CHARS_MAX} characters"),
            Ok(DynSolType::String) => format!("a non-empty string of at most {TEXT_CHARS_MAX} characters"),
            Ok(DynSolType::Bytes) => "0x and pairs of hex digits".to_owned(),
            Ok(DynSolType::FixedBytes(len)) => format!("0x and {} hex digits", 2 * len),
            Ok(DynSolType::Uint(bits)) if bits <= NUMBER_BITS_MAX => {
                format!("an integer between 0 and {}", (1_u64 << bits) - 1)
            }
            Ok(DynSolType::Uint(bits)) => format!("a decimal integer string of at most {bits} bits"),
            Ok(DynSolType::Int(bits)) => format!("a decimal integer string of at most {bits} bits with its sign"),
            _ => format!("a value of type {ty}"),
        };
        match &self.unit {
            Some(unit) => format!("{text}, in {}", unit.name()),
            None => text,
        }
    }
}

/// Returns the values of a struct's members, those that are valid.
fn encode_members(
    members: &[Parameter],
    values: &Map<String, Value>,
    parent: &str,
    context: &DeploymentContext<'_>,
    errors: &mut Vec<ParameterError>,
) -> Vec<DynSolValue> {
    let encoded = members
        .iter()
        .filter_map(|member| member.encode(values.get(&member.name), &join(parent, &member.name), context, errors))
        .collect();
    for (name, value) in values.iter().filter(|(name, _)| members.iter().all(|member| member.name != **name)) {
        let names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
        let expected = format!("no field of this name: the fields are {}", names.join(", "));
        errors.push(ParameterError { path: join(parent, name), expected, got: shown(value) });
    }
    encoded
}

/// Returns a value of an elementary type.
fn leaf(ty: &str, unit: Option<Unit>, value: &Value, context: &DeploymentContext<'_>) -> Option<DynSolValue> {
    match DynSolType::parse(ty).ok()? {
        DynSolType::Bool => value.as_bool().map(DynSolValue::Bool),
        DynSolType::String => {
            let text = value.as_str()?;
            let fits = !text.trim().is_empty() && text.chars().count() <= TEXT_CHARS_MAX;
            fits.then(|| DynSolValue::String(text.to_owned()))
        }
        DynSolType::Uint(bits) => {
            let number = match unit {
                Some(unit) if !matches!(unit, Unit::Named(_)) => unit.parse(value, context.block_time_secs)?,
                _ if bits <= NUMBER_BITS_MAX => U256::from(value.as_u64()?),
                _ => parse_amount(value.as_str()?)?,
            };
            (number.bit_len() <= bits).then_some(DynSolValue::Uint(number, bits))
        }
        ty @ DynSolType::Int(_) => {
            let digits = value.as_str()?.trim_start_matches('-');
            let is_decimal = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
            if is_decimal { ty.coerce_json(value).ok() } else { None }
        }
        DynSolType::Address => context.address(value.as_str()?).map(DynSolValue::Address),
        ty @ (DynSolType::Bytes | DynSolType::FixedBytes(_)) => {
            value.as_str().filter(|text| text.starts_with("0x"))?;
            ty.coerce_json(value).ok()
        }
        ty => ty.coerce_json(value).ok(),
    }
}

/// Returns the type of an array's elements, and its length when that is fixed.
fn array_of(ty: &str) -> Option<(&str, Option<usize>)> {
    let (element, len) = ty.strip_suffix(']')?.rsplit_once('[')?;
    if len.is_empty() { Some((element, None)) } else { Some((element, Some(len.parse().ok()?))) }
}

/// Returns the type of a parameter in the form of human-readable ABIs: `tuple(bool mintable, bool burnable)` for a struct.
fn type_text(input: &Param) -> String {
    match input.ty.strip_prefix("tuple") {
        Some(array) => {
            let members = input.components.iter().map(|member| format!("{} {}", type_text(member), member.name));
            format!("tuple({}){array}", members.collect::<Vec<_>>().join(", "))
        }
        None => input.ty.clone(),
    }
}

fn join(parent: &str, name: &str) -> String {
    if parent.is_empty() { name.to_owned() } else { format!("{parent}.{name}") }
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
    use alloy_sol_types::{SolConstructor, sol};
    use serde_json::json;

    use alloy_primitives::Address;

    use super::*;
    use crate::vm::{Host, Stop, TemplateId};

    sol! {
        #[sol(abi)]
        contract Wallet {
            struct Limit {
                uint64 amount;
                uint8 percent;
            }
            struct Rules {
                bool isOpen;
                Limit[] limits;
            }
            constructor(address owner, address[] signers, uint16 threshold, uint256 cap, bytes4 tag, bytes data, Rules rules, bytes32[2] roots);
        }
    }

    #[derive(Debug)]
    struct WalletTemplate;

    impl Template for WalletTemplate {
        fn id(&self) -> TemplateId {
            TemplateId::new(0x8001, 2)
        }

        fn name(&self) -> &str {
            "wallet"
        }

        fn abi(&self) -> JsonAbi {
            Wallet::abi::contract()
        }

        fn parameters(&self) -> Vec<ParameterNote> {
            vec![
                ParameterNote::of("owner", "Who may change the rules.").with_default_deployer(),
                ParameterNote::of("threshold", "Signers that agree.").with_default(1),
                ParameterNote::of("cap", "Most that it holds.").with_unit("wei").with_default("100"),
                ParameterNote::of("data", "").with_default("0x"),
                ParameterNote::of("rules.isOpen", "").with_default(false),
                ParameterNote::of("rules.limits", "").with_default(json!([])),
            ]
        }

        fn construct(&self, _: &mut Host<'_>, _: &[u8]) -> Result<(), Stop> {
            Ok(())
        }

        fn call(&self, _: &mut Host<'_>, _: &[u8]) -> Result<Bytes, Stop> {
            Ok(Bytes::new())
        }
    }

    const DEPLOYER: Address = Address::repeat_byte(0xde);

    fn encode(values: Value) -> Result<Bytes, Vec<ParameterError>> {
        Descriptor::of(&WalletTemplate).encode(values.as_object().unwrap(), DEPLOYER)
    }

    fn signer(byte: u8) -> String {
        Address::repeat_byte(byte).to_string()
    }

    #[test]
    fn named_values_are_encoded_as_the_constructor() {
        let root = format!("0x{}", "05".repeat(32));
        let whole = json!({
            "signers": [signer(1), signer(2)], "threshold": 2, "cap": "12345678901234567890", "tag": "0x01020304",
            "data": "0xabcd", "roots": [root, root],
            "rules": { "isOpen": true, "limits": [{ "amount": "7", "percent": 9 }] },
        });
        let call = Wallet::constructorCall {
            owner: DEPLOYER,
            signers: vec![Address::repeat_byte(1), Address::repeat_byte(2)],
            threshold: 2,
            cap: U256::from(12_345_678_901_234_567_890_u64),
            tag: [1, 2, 3, 4].into(),
            data: vec![0xab, 0xcd].into(),
            rules: Wallet::Rules { isOpen: true, limits: vec![Wallet::Limit { amount: 7, percent: 9 }] },
            roots: [[5; 32].into(), [5; 32].into()],
        };
        assert_eq!(encode(whole).unwrap(), Marker(WalletTemplate.id()).init_code(&call.abi_encode()));
        let least = json!({ "signers": [], "tag": "0x01020304", "roots": [root, root] });
        let call = Wallet::constructorCall {
            signers: Vec::new(),
            threshold: 1,
            cap: U256::from(100),
            data: Bytes::new(),
            rules: Wallet::Rules { isOpen: false, limits: Vec::new() },
            ..call
        };
        assert_eq!(encode(least).unwrap(), Marker(WalletTemplate.id()).init_code(&call.abi_encode()));
    }

    #[test]
    fn every_bad_value_is_told_with_its_path() {
        let bad = json!({
            "owner": "nobody", "signers": [signer(1), "0x12", 3], "threshold": 65_536, "cap": "1e18", "tag": "0x0102",
            "data": "abcd", "colour": "red", "roots": [],
            "rules": { "isOpen": 1, "limits": [{ "amount": "18446744073709551616" }], "more": 1 },
        });
        let errors = encode(bad).unwrap_err();
        let paths: Vec<&str> = errors.iter().map(|error| error.path.as_str()).collect();
        let want = [
            "owner",
            "signers[1]",
            "signers[2]",
            "threshold",
            "cap",
            "tag",
            "data",
            "rules.isOpen",
            "rules.limits[0].amount",
            "rules.limits[0].percent",
            "rules.more",
            "roots",
            "colour",
        ];
        assert_eq!(paths, want);
        assert_eq!(errors[3].to_string(), "threshold: 65536, expected an integer between 0 and 65535");
        assert_eq!(
            errors[4].to_string(),
            "cap: \"1e18\", expected a decimal integer string of at most 256 bits, in wei"
        );
        assert_eq!(encode(json!({})).unwrap_err().len(), 3, "signers, tag, roots have no default");
    }

    #[test]
    fn values_with_a_unit_are_read_by_it() {
        let of = |ty: &str, unit| Parameter {
            name: "fee".to_owned(),
            ty: ty.to_owned(),
            description: String::new(),
            unit: Some(unit),
            default: Some(ParameterDefault::Value("0".into())),
            members: Vec::new(),
        };
        let encode = |parameter: &Parameter, value: Option<Value>| {
            let mut errors = Vec::new();
            let encoded = parameter.encode(value.as_ref(), "fee", &DEPLOYER.into(), &mut errors);
            encoded.ok_or_else(|| errors.remove(0).to_string())
        };
        let fee = of("uint96", Unit::BASIS_POINTS);
        for value in [json!("2.5"), json!("2.5%"), json!(2.5)] {
            assert_eq!(encode(&fee, Some(value)), Ok(DynSolValue::Uint(U256::from(250), 96)));
        }
        assert_eq!(encode(&fee, None), Ok(DynSolValue::Uint(U256::ZERO, 96)));
        assert_eq!(
            encode(&fee, Some(json!("0.001"))).unwrap_err(),
            r#"fee: "0.001", expected a percentage with at most 2 decimal places, such as 2.5 or "2.5%""#
        );
        let small = of("uint8", Unit::Percent { decimals: 0 });
        assert_eq!(encode(&small, Some(json!("255%"))), Ok(DynSolValue::Uint(U256::from(255), 8)));
        encode(&small, Some(json!(256))).unwrap_err();
        let durations = of("uint64[]", Unit::VestingDuration);
        let secs = |secs: u64| DynSolValue::Uint(U256::from(secs), 64);
        let want = DynSolValue::Array(vec![secs(2_592_000), secs(7)]);
        assert_eq!(encode(&durations, Some(json!(["1m", 7]))), Ok(want));
        let refused = encode(&of("uint64", Unit::Duration), Some(json!("1m"))).unwrap_err();
        assert_eq!(refused, r#"fee: "1m", expected a number of seconds, or one with s, h or d, such as "30d""#);
        let schema = Descriptor { constructor: vec![fee], ..Descriptor::of(&WalletTemplate) }.json_schema();
        let schema = &schema["properties"]["fee"];
        assert_eq!(schema["anyOf"][0]["pattern"], "^[0-9]+(\\.[0-9]{1,2}0*)?%?$");
        assert_eq!((&schema["default"], &schema["description"]), (&json!("0"), &json!("In per cent.")));
    }

    #[test]
    fn a_text_may_be_empty_where_its_default_is() {
        let text = |default: Option<&str>| Parameter {
            name: "uri".to_owned(),
            ty: "string".to_owned(),
            description: String::new(),
            unit: None,
            default: default.map(|text| ParameterDefault::Value(text.into())),
            members: Vec::new(),
        };
        let encode = |parameter: &Parameter, value: Option<Value>| {
            let mut errors = Vec::new();
            (parameter.encode(value.as_ref(), "uri", &DEPLOYER.into(), &mut errors), errors.len())
        };
        let empty = Some(DynSolValue::String(String::new()));
        assert_eq!(encode(&text(Some("")), None), (empty.clone(), 0));
        assert_eq!(encode(&text(Some("")), Some(json!(""))), (empty, 0));
        assert_eq!(encode(&text(Some("")), Some(json!(" "))), (None, 1));
        assert_eq!(encode(&text(Some("a")), Some(json!(""))), (None, 1));
        assert_eq!(encode(&text(None), Some(json!(""))), (None, 1));
    }

    #[test]
    fn a_description_has_what_the_abi_and_the_notes_say() {
        let json = serde_json::to_value(Descriptor::of(&WalletTemplate)).unwrap();
        assert_eq!(
            (&json["name"], &json["version"], &json["bytecode"]),
            (&json!("wallet"), &json!(2), &json!("0xefcb80010002"))
        );
        let parameters = json["constructor"].as_array().unwrap();
        assert_eq!(parameters[0]["default"], "deployer");
        assert_eq!(parameters[3]["default"], "100");
        assert_eq!(parameters[3]["unit"], "wei");
        assert_eq!(parameters[6]["type"], "tuple(bool isOpen, tuple(uint64 amount, uint8 percent)[] limits)");
        assert_eq!(parameters[6]["members"][0]["default"], false);
        let schema = Descriptor::of(&WalletTemplate).json_schema();
        assert_eq!(schema["required"], json!(["signers", "tag", "roots"]));
        let properties = &schema["properties"];
        assert_eq!(properties["owner"]["description"], "Who may change the rules. The deploying account by default.");
        assert_eq!(
            properties["threshold"],
            json!({ "type": "integer", "minimum": 0, "maximum": 65_535, "default": 1, "description": "Signers that agree." })
        );
        assert_eq!(properties["cap"]["description"], "Most that it holds. In wei.");
        let limit = &properties["rules"]["properties"]["limits"]["items"];
        assert_eq!(limit["required"], json!(["amount", "percent"]));
        assert_eq!(
            (&properties["roots"]["minItems"], &properties["tag"]["pattern"]),
            (&json!(2), &json!("^0x[0-9a-fA-F]{8}$"))
        );
    }
}
