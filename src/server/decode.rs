//! Text of calls and errors, decoded by the ABIs of the built-in templates.

use std::{collections::BTreeMap, sync::LazyLock};

use alloy_dyn_abi::{DynSolValue, ErrorExt as _, JsonAbiExt as _};
use alloy_json_abi::{Error as AbiError, Function, JsonAbi};
use alloy_primitives::{Selector, hex};
use alloy_sol_types::{Panic, Revert, SolError};

/// Characters of one decoded value in the text.
const VALUE_SHOWN_MAX: usize = 66;

/// Functions and errors by selector.
#[derive(Debug, Default)]
struct Selectors {
    functions: BTreeMap<Selector, Function>,
    errors: BTreeMap<Selector, AbiError>,
}

/// Functions and errors of the built-in templates.
static SELECTORS: LazyLock<Selectors> = LazyLock::new(|| {
    let mut selectors = Selectors::default();
    for template in crate::templates::builtin().iter() {
        selectors.add(&template.abi());
    }
    selectors
});

impl Selectors {
    fn add(&mut self, abi: &JsonAbi) {
        self.functions.extend(abi.functions().map(|function| (function.selector(), function.clone())));
        self.errors.extend(abi.errors().map(|error| (error.selector(), error.clone())));
    }
}

/// Returns `transfer(0x..., 5)` for call data of a function in a built-in template's ABI.
pub fn decode_call(input: &[u8]) -> Option<String> {
    let (selector, arguments) = input.split_first_chunk::<4>()?;
    let function = SELECTORS.functions.get(&Selector::from(*selector))?;
    let values = function.abi_decode_input(arguments).ok()?;
    Some(format!("{}({})", function.name, values_text(&values)))
}

/// Returns the text of revert data: `Error(string)`, `Panic(uint256)`, or an error in a built-in template's ABI.
pub fn decode_error(output: &[u8]) -> Option<String> {
    if let Ok(revert) = Revert::abi_decode(output) {
        return Some(revert.reason);
    }
    if let Ok(panic) = Panic::abi_decode(output) {
        return Some(panic.to_string());
    }
    let (selector, arguments) = output.split_first_chunk::<4>()?;
    let error = SELECTORS.errors.get(&Selector::from(*selector))?;
    let types = error.decode_error(output).ok()?;
    debug_assert!(arguments.len().is_multiple_of(32));
    Some(format!("{}({})", error.name, values_text(&types.body)))
}

fn values_text(values: &[DynSolValue]) -> String {
    values.iter().map(value_text).collect::<Vec<_>>().join(", ")
}

fn value_text(value: &DynSolValue) -> String {
    let text = match value {
        DynSolValue::Address(address) => address.to_checksum(None),
        DynSolValue::Uint(number, _) => number.to_string(),
        DynSolValue::Int(number, _) => number.to_string(),
        DynSolValue::Bool(flag) => flag.to_string(),
        DynSolValue::String(text) => format!("{text:?}"),
        DynSolValue::Bytes(bytes) => hex::encode_prefixed(bytes),
        DynSolValue::FixedBytes(word, len) => hex::encode_prefixed(&word[..*len]),
        DynSolValue::Array(values) | DynSolValue::FixedArray(values) => format!("[{}]", values_text(values)),
        other => format!("{other:?}"),
    };
    match text.char_indices().nth(VALUE_SHOWN_MAX) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{Address, U256};
    use alloy_sol_types::{SolCall, sol};

    use super::*;

    sol! {
        function transfer(address to, uint256 value) external returns (bool);
        error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed);
    }

    #[test]
    fn calls_and_errors_of_the_token_are_decoded() {
        let to = Address::repeat_byte(0x11);
        let input = transferCall { to, value: U256::from(5) }.abi_encode();
        assert_eq!(decode_call(&input).unwrap(), format!("transfer({to}, 5)"));
        let error = ERC20InsufficientBalance { sender: to, balance: U256::from(1), needed: U256::from(2) };
        assert_eq!(decode_error(&error.abi_encode()).unwrap(), format!("ERC20InsufficientBalance({to}, 1, 2)"));
    }

    #[test]
    fn unknown_bytes_are_not_decoded() {
        for bytes in [&[][..], &[1, 2, 3], &[0xa9, 0x05, 0x9c, 0xbb, 1], &[0xff; 68]] {
            assert_eq!((decode_call(bytes), decode_error(bytes)), (None, None));
        }
    }
}
