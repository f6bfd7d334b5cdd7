//! Text of calls, errors and events, decoded by the ABIs of templates.

use std::collections::BTreeMap;

use alloy_dyn_abi::{DynSolValue, ErrorExt as _, EventExt as _, JsonAbiExt as _};
use alloy_json_abi::{Error as AbiError, Event, Function, JsonAbi};
use alloy_primitives::{B256, Log, Selector, hex};

use super::{Decoded, abi};

/// Characters of one decoded value in the text.
const VALUE_SHOWN_MAX: usize = 66;

/// Functions and errors by selector, events by the hash of their signature.
#[derive(Clone, Debug, Default)]
pub(super) struct AbiIndex {
    functions: BTreeMap<Selector, Function>,
    errors: BTreeMap<Selector, AbiError>,
    events: BTreeMap<B256, Event>,
}

impl AbiIndex {
    pub(super) fn add(&mut self, abi: &JsonAbi) {
        self.functions.extend(abi.functions().map(|function| (function.selector(), function.clone())));
        self.errors.extend(abi.errors().map(|error| (error.selector(), error.clone())));
        self.events.extend(abi.events().map(|event| (event.selector(), event.clone())));
    }

    /// Returns `transfer(0x..., 5)`.
    pub(super) fn call_text(&self, input: &[u8]) -> Option<String> {
        let (selector, arguments) = input.split_first_chunk::<4>()?;
        let function = self.functions.get(&Selector::from(*selector))?;
        let values = function.abi_decode_input(arguments).ok()?;
        Some(format!("{}({})", function.name, values_text(&values)))
    }

    /// Returns the reason of `Error(string)`, the text of `Panic(uint256)`, or `ERC20InsufficientBalance(0x..., 1, 2)`.
    pub(super) fn error_text(&self, output: &[u8]) -> Option<String> {
        if let Some(reason) = abi::reason(output) {
            return Some(reason);
        }
        let error = self.error(output)?;
        let values: Vec<_> = error.arguments.iter().map(|argument| value_text(&argument.value)).collect();
        Some(format!("{}({})", error.name, values.join(", ")))
    }

    /// Returns `Transfer(from: 0x..., to: 0x..., value: 5)`.
    pub(super) fn event_text(&self, log: &Log) -> Option<String> {
        let event = self.event(log)?;
        let values = event.arguments.iter();
        let values: Vec<_> =
            values.map(|argument| format!("{}: {}", argument.name, value_text(&argument.value))).collect();
        Some(format!("{}({})", event.name, values.join(", ")))
    }

    /// Decodes revert data: `Error(string)`, `Panic(uint256)`, or an error of an ABI.
    pub(super) fn error(&self, output: &[u8]) -> Option<Decoded> {
        let selector = Selector::from(*output.first_chunk::<4>()?);
        let error = standard_errors().find(|error| error.selector() == selector);
        let error = error.or_else(|| self.errors.get(&selector).cloned())?;
        let body = error.decode_error(output).ok()?.body;
        Some(Decoded::new(&error.name, error.inputs.iter().map(|input| input.name.as_str()), body))
    }

    /// Decodes a log of an event of an ABI.
    pub(super) fn event(&self, log: &Log) -> Option<Decoded> {
        let event = self.events.get(log.data.topics().first()?)?;
        let decoded = event.decode_log(&log.data).ok()?;
        let (mut indexed, mut body) = (decoded.indexed.into_iter(), decoded.body.into_iter());
        let values = event.inputs.iter().map(|input| if input.indexed { indexed.next() } else { body.next() });
        let values = values.collect::<Option<Vec<_>>>()?;
        Some(Decoded::new(&event.name, event.inputs.iter().map(|input| input.name.as_str()), values))
    }
}

/// Solidity's own errors.
fn standard_errors() -> impl Iterator<Item = AbiError> {
    ["Error(string message)", "Panic(uint256 code)"].into_iter().filter_map(|text| AbiError::parse(text).ok())
}

/// Returns what is wrong with call data of a contract with this ABI; `None` when it calls a function and decodes, or when the ABI
/// has no functions.
pub(super) fn call_problem(abi: &JsonAbi, name: &str, input: &[u8]) -> Option<String> {
    abi.functions().next()?;
    let Some((selector, arguments)) = input.split_first_chunk::<4>() else {
        return Some(format!("{name} takes no call without a selector; the call data has {} bytes", input.len()));
    };
    let Some(function) = abi.functions().find(|function| function.selector() == *selector) else {
        return Some(format!("{name} has no function with selector {}", hex::encode_prefixed(selector)));
    };
    let error = function.abi_decode_input(arguments).err()?;
    Some(format!(
        "the arguments of {} of {name} do not decode: {}",
        function.signature(),
        decode_problem(&error, arguments)
    ))
}

/// Returns what is wrong with the parameters of a constructor; `None` when they decode, or when the ABI has no constructor.
pub(super) fn constructor_problem(abi: &JsonAbi, name: &str, params: &[u8]) -> Option<String> {
    let constructor = abi.constructor.as_ref()?;
    let error = constructor.abi_decode_input(params).err()?;
    let types = constructor.inputs.iter().map(|input| input.selector_type().into_owned()).collect::<Vec<_>>().join(",");
    Some(format!(
        "the parameters of the constructor of {name} do not decode as ({types}): {}",
        decode_problem(&error, params)
    ))
}

/// Returns why bytes do not decode.
fn decode_problem(error: &alloy_dyn_abi::Error, bytes: &[u8]) -> String {
    match error {
        alloy_dyn_abi::Error::SolTypes(alloy_sol_types::Error::Overrun) => {
            format!("{} bytes are too few, or a length in them is too large", bytes.len())
        }
        other => other.to_string(),
    }
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
