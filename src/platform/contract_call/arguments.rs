//! Arguments of a function as JSON. A struct is an object with its members by name, or an array in their order; an integer is a number or
//! its decimal digits as a text. What does not fit is refused by its path.

use alloy_dyn_abi::{DynSolType, DynSolValue};
use alloy_json_abi::{Function, Param};
use serde_json::{Map, Value};

use crate::platform::{FieldError, PlatformError, fields::shown};

/// A part of an argument, with its path.
type Part<'v> = (String, &'v Value);

/// Reads the arguments of a function.
///
/// # Errors
/// [`PlatformError::Validation`] of `args` for another number of them, and of the part that does not fit, as `args[0].tokenId`.
pub(super) fn read(function: &Function, args: &[Value]) -> Result<Vec<DynSolValue>, PlatformError> {
    if function.inputs.len() != args.len() {
        let expected = format!("{} arguments of {}", function.inputs.len(), function.signature());
        return Err(PlatformError::field("args", expected, format!("{} of them", args.len())));
    }
    let inputs = function.inputs.iter().zip(args).enumerate();
    let values = inputs.map(|(index, (input, arg))| {
        let ty = DynSolType::parse(&input.selector_type()).map_err(PlatformError::internal)?;
        read_value(input, &ty, arg, &format!("args[{index}]"))
    });
    values.collect()
}

/// Reads a value of a type, which is that of a parameter or of the elements of its arrays.
fn read_value(param: &Param, ty: &DynSolType, arg: &Value, path: &str) -> Result<DynSolValue, PlatformError> {
    match ty {
        DynSolType::Tuple(types) => read_members(param, types, arg, path).map(DynSolValue::Tuple),
        DynSolType::Array(element) => read_elements(param, element, arg, path).map(DynSolValue::Array),
        DynSolType::FixedArray(element, len) if arg.as_array().is_some_and(|values| values.len() == *len) => {
            read_elements(param, element, arg, path).map(DynSolValue::FixedArray)
        }
        DynSolType::FixedArray(_, len) => Err(refused(&format!("an array of {len}, {}", described(param)), arg, path)),
        DynSolType::Uint(_) | DynSolType::Int(_) => {
            let expected = format!("{}: an integer in its range, as a number or as decimal digits", described(param));
            let value = Some(arg).filter(|arg| is_integer(arg)).and_then(|arg| ty.coerce_json(arg).ok());
            value.ok_or_else(|| refused(&expected, arg, path))
        }
        ty => ty.coerce_json(arg).map_err(|_| refused(&described(param), arg, path)),
    }
}

fn read_elements(
    param: &Param,
    element: &DynSolType,
    arg: &Value,
    path: &str,
) -> Result<Vec<DynSolValue>, PlatformError> {
    let Some(values) = arg.as_array() else {
        return Err(refused(&format!("an array, {}", described(param)), arg, path));
    };
    let values = values.iter().enumerate();
    values.map(|(index, value)| read_value(param, element, value, &format!("{path}[{index}]"))).collect()
}

fn read_members(
    param: &Param,
    types: &[DynSolType],
    arg: &Value,
    path: &str,
) -> Result<Vec<DynSolValue>, PlatformError> {
    let parts = match arg {
        Value::Object(members) => by_name(param, members, path)?,
        Value::Array(values) if values.len() == types.len() => by_place(values, path),
        _ => {
            let expected = format!("an object with the members {}, or an array of their values", names(param));
            return Err(refused(&expected, arg, path));
        }
    };
    let members = param.components.iter().zip(types).zip(parts);
    members.map(|((member, ty), (path, value))| read_value(member, ty, value, &path)).collect()
}

/// The members of a struct in its order; all that are missing or unknown are refused.
fn by_name<'v>(param: &Param, members: &'v Map<String, Value>, path: &str) -> Result<Vec<Part<'v>>, PlatformError> {
    let (mut parts, mut fields) = (Vec::new(), Vec::new());
    for member in &param.components {
        let path = format!("{path}.{}", member.name);
        match members.get(&member.name) {
            Some(value) => parts.push((path, value)),
            None => fields.push(FieldError { path, expected: described(member), got: "nothing".to_owned() }),
        }
    }
    for (name, value) in members {
        if param.components.iter().all(|member| member.name != *name) {
            let expected = format!("no member of this name: the members are {}", names(param));
            fields.push(FieldError { path: format!("{path}.{name}"), expected, got: shown(value) });
        }
    }
    if fields.is_empty() { Ok(parts) } else { Err(PlatformError::Validation { fields }) }
}

fn by_place<'v>(values: &'v [Value], path: &str) -> Vec<Part<'v>> {
    values.iter().enumerate().map(|(index, value)| (format!("{path}[{index}]"), value)).collect()
}

/// Whether a value is a whole number, or a text of decimal digits with at most a minus sign before them.
fn is_integer(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_u64() || number.is_i64(),
        Value::String(text) => {
            let digits = text.strip_prefix('-').unwrap_or(text);
            !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit())
        }
        _ => false,
    }
}

fn names(param: &Param) -> String {
    param.components.iter().map(|member| member.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// Type and name of a parameter.
fn described(param: &Param) -> String {
    format!("{} {}", param.selector_type(), param.name).trim_end().to_owned()
}

fn refused(expected: &str, arg: &Value, path: &str) -> PlatformError {
    PlatformError::field(path, expected, shown(arg))
}

#[cfg(test)]
mod tests {
    use alloy_json_abi::JsonAbi;
    use alloy_primitives::{Address, I256, U256};
    use serde_json::json;

    use super::*;

    const OWNER: &str = "0x1111111111111111111111111111111111111111";

    /// A function of one argument.
    fn function(input: &Value) -> Function {
        let abi = json!([{
            "type": "function", "name": "f", "inputs": [input], "outputs": [], "stateMutability": "nonpayable",
        }]);
        let abi = serde_json::from_value::<JsonAbi>(abi).unwrap();
        abi.functions().next().unwrap().clone()
    }

    fn of_type(ty: &str) -> Function {
        function(&json!({ "name": "x", "type": ty }))
    }

    /// A sale of items, which are structs: `(address owner, (uint256 id, int16 change)[] items)`, in an array or not.
    fn sale(array: &str) -> Function {
        let item = json!([{ "name": "id", "type": "uint256" }, { "name": "change", "type": "int16" }]);
        let members = json!([
            { "name": "owner", "type": "address" }, { "name": "items", "type": "tuple[]", "components": item },
        ]);
        function(&json!({ "name": "sale", "type": format!("tuple{array}"), "components": members }))
    }

    fn one(function: &Function, arg: Value) -> Result<DynSolValue, PlatformError> {
        read(function, &[arg]).map(|mut values| values.remove(0))
    }

    /// Paths of what is refused, and what came there.
    fn wrong(function: &Function, arg: Value) -> Vec<(String, String)> {
        match one(function, arg) {
            Err(PlatformError::Validation { fields }) => {
                assert!(fields.iter().all(|field| !field.expected.is_empty()));
                fields.into_iter().map(|field| (field.path, field.got)).collect()
            }
            other => panic!("must be refused: {other:?}"),
        }
    }

    #[test]
    fn a_struct_is_an_object_or_an_array_at_each_depth() {
        let item = |id: u64, change: i16| {
            let change = DynSolValue::Int(I256::try_from(change).unwrap(), 16);
            DynSolValue::Tuple(vec![DynSolValue::Uint(U256::from(id), 256), change])
        };
        let owner = DynSolValue::Address(Address::repeat_byte(0x11));
        let want = DynSolValue::Tuple(vec![owner, DynSolValue::Array(vec![item(7, -3), item(8, 0)])]);
        let forms = [
            json!({ "owner": OWNER, "items": [{ "id": "7", "change": -3 }, { "id": 8, "change": "0" }] }),
            json!({ "items": [{ "change": "-3", "id": 7 }, ["8", 0]], "owner": OWNER }),
            json!([OWNER, [["7", "-3"], { "id": "8", "change": 0 }]]),
        ];
        for form in &forms {
            assert_eq!(one(&sale(""), form.clone()), Ok(want.clone()), "{form}");
        }
        let both = DynSolValue::Array(vec![want.clone(), want.clone()]);
        assert_eq!(one(&sale("[]"), json!([forms[0], forms[2]])), Ok(both));
        let both = DynSolValue::FixedArray(vec![want.clone(), want]);
        assert_eq!(one(&sale("[2]"), json!([forms[1], forms[2]])), Ok(both));
    }

    #[test]
    fn what_does_not_fit_a_struct_is_refused_by_its_path() {
        let good = json!({ "owner": OWNER, "items": [] });
        for (array, arg, paths) in [
            ("", json!({ "owner": OWNER }), &["args[0].items"][..]),
            ("", json!({ "owner": OWNER, "items": [], "colour": 1 }), &["args[0].colour"]),
            ("", json!({ "Owner": OWNER }), &["args[0].owner", "args[0].items", "args[0].Owner"]),
            ("", json!({ "owner": 1, "items": [] }), &["args[0].owner"]),
            ("", json!({ "owner": OWNER, "items": {} }), &["args[0].items"]),
            ("", json!({ "owner": OWNER, "items": [{ "id": "1" }] }), &["args[0].items[0].change"]),
            ("", json!({ "owner": OWNER, "items": [["1", 0], ["", 0]] }), &["args[0].items[1][0]"]),
            ("", json!({ "owner": OWNER, "items": [{ "id": 1, "change": 32_768 }] }), &["args[0].items[0].change"]),
            ("", json!([OWNER]), &["args[0]"]),
            ("", json!([OWNER, [], 1]), &["args[0]"]),
            ("", json!(OWNER), &["args[0]"]),
            ("", Value::Null, &["args[0]"]),
            ("[]", good.clone(), &["args[0]"]),
            ("[]", json!([good, { "owner": OWNER }]), &["args[0][1].items"]),
            ("[2]", json!([good]), &["args[0]"]),
        ] {
            let refused = wrong(&sale(array), arg.clone());
            assert_eq!(refused.iter().map(|(path, _)| path).collect::<Vec<_>>(), paths, "{array} {arg}");
        }
    }

    #[test]
    fn an_integer_is_a_number_or_decimal_digits() {
        let max = U256::MAX.to_string();
        for (arg, want) in [
            (json!(0), U256::ZERO),
            (json!("0"), U256::ZERO),
            (json!("007"), U256::from(7)),
            (json!(u64::MAX), U256::from(u64::MAX)),
            (json!(max), U256::MAX),
        ] {
            assert_eq!(one(&of_type("uint256"), arg.clone()), Ok(DynSolValue::Uint(want, 256)), "{arg}");
        }
        for (arg, want) in [(json!(-128), -128_i64), (json!("-128"), -128), (json!("127"), 127)] {
            let want = DynSolValue::Int(I256::try_from(want).unwrap(), 8);
            assert_eq!(one(&of_type("int8"), arg.clone()), Ok(want), "{arg}");
        }
        let texts =
            ["", "-", "0x", "0x1", "0X1", "0b1", "0o7", "1_000", "_", " 1", "1 ", "+1", "--1", "1.0", "1e3", "much"];
        for ty in ["uint256", "uint8", "int256", "int8"] {
            for text in texts {
                assert_eq!(wrong(&of_type(ty), json!(text)), [("args[0]".to_owned(), json!(text).to_string())], "{ty}");
            }
            for arg in [json!(1.5), json!(true), Value::Null, json!([1]), json!({})] {
                assert_eq!(wrong(&of_type(ty), arg.clone())[0].0, "args[0]", "{ty} {arg}");
            }
        }
        for (ty, arg) in [
            ("uint256", json!(-1)),
            ("uint256", json!("-1")),
            ("uint8", json!(256)),
            ("int8", json!("128")),
            ("uint256", json!(format!("{max}0"))),
        ] {
            assert_eq!(wrong(&of_type(ty), arg.clone())[0].0, "args[0]", "{ty} {arg}");
        }
        assert_eq!(wrong(&of_type("uint256[]"), json!(["1", "0x"]))[0].0, "args[0][1]");
        assert!(matches!(read(&of_type("bool"), &[]), Err(PlatformError::Validation { .. })));
    }
}
