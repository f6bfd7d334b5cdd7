//! Text of calls, errors and events, decoded by the ABIs of templates.

use std::collections::BTreeMap;

use alloy_dyn_abi::{DynSolValue, ErrorExt as _, EventExt as _, JsonAbiExt as _, Specifier as _};
use alloy_json_abi::{Error as AbiError, Event, EventParam, Function, JsonAbi, Param};
use alloy_primitives::{B256, Log, Selector, hex};

use super::{Decoded, abi, abi_size, abi_text::value_text};

/// Functions and errors by selector, events by the hash of their signature and their number of topics: `Transfer` of ERC-20 and of ERC-721
/// differ in what is indexed alone.
#[derive(Clone, Debug, Default)]
pub(super) struct AbiIndex {
    functions: BTreeMap<Selector, Function>,
    errors: BTreeMap<Selector, AbiError>,
    events: BTreeMap<(B256, usize), Event>,
}

impl AbiIndex {
    /// Adds what no ABI before has: its names of arguments stay.
    pub(super) fn add(&mut self, abi: &JsonAbi) {
        for function in abi.functions() {
            self.functions.entry(function.selector()).or_insert_with(|| function.clone());
        }
        for error in abi.errors() {
            self.errors.entry(error.selector()).or_insert_with(|| error.clone());
        }
        for event in abi.events() {
            self.events.entry((event.selector(), topics_of(event))).or_insert_with(|| event.clone());
        }
    }

    /// Returns `transfer(0x..., 5)`.
    pub(super) fn call_text(&self, input: &[u8]) -> Option<String> {
        let (selector, arguments) = input.split_first_chunk::<4>()?;
        let function = self.functions.get(&Selector::from(*selector))?;
        let values = decode_inputs(function, arguments)?;
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
        if !is_modest(&error.inputs, &output[4..]) {
            return None;
        }
        let body = error.decode_error(output).ok()?.body;
        Some(Decoded::new(&error.name, error.inputs.iter().map(|input| input.name.as_str()), body))
    }

    /// Decodes a log of an event of an ABI.
    pub(super) fn event(&self, log: &Log) -> Option<Decoded> {
        let topics = log.data.topics();
        let event = self.events.get(&(*topics.first()?, topics.len()))?;
        if !is_modest_event(event, &log.data.data) {
            return None;
        }
        let decoded = event.decode_log(&log.data).ok()?;
        let (mut indexed, mut body) = (decoded.indexed.into_iter(), decoded.body.into_iter());
        let values = event.inputs.iter().map(|input| if input.indexed { indexed.next() } else { body.next() });
        let values = values.collect::<Option<Vec<_>>>()?;
        Some(Decoded::new(&event.name, event.inputs.iter().map(|input| input.name.as_str()), values))
    }
}

/// Topics of an event's logs: its signature's hash and what is indexed.
fn topics_of(event: &Event) -> usize {
    1 + event.inputs.iter().filter(|input| input.indexed).count()
}

/// Decodes a function's arguments, unless they overlap so that they are much more than their encoding.
fn decode_inputs(function: &Function, arguments: &[u8]) -> Option<Vec<DynSolValue>> {
    if is_modest(&function.inputs, arguments) { function.abi_decode_input(arguments).ok() } else { None }
}

fn is_modest(inputs: &[Param], bytes: &[u8]) -> bool {
    let types: Option<Vec<_>> = inputs.iter().map(|input| input.resolve().ok()).collect();
    types.is_some_and(|types| abi_size::is_modest(&types, bytes))
}

fn is_modest_event(event: &Event, data: &[u8]) -> bool {
    let body = event.inputs.iter().filter(|input| !input.indexed);
    let types: Option<Vec<_>> = body.map(|input: &EventParam| input.resolve().ok()).collect();
    types.is_some_and(|types| abi_size::is_modest(&types, data))
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
    if !is_modest(&function.inputs, arguments) {
        return Some(format!("the arguments of {} of {name} overlap", function.signature()));
    }
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
    if !is_modest(&constructor.inputs, params) {
        return Some(format!("the parameters of the constructor of {name} overlap"));
    }
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

#[cfg(test)]
mod tests {
    use alloy_primitives::{Address, U256};
    use alloy_sol_types::{SolEvent, sol};

    use super::*;

    sol! {
        #[sol(abi)]
        interface Coin {
            event Transfer(address indexed from, address indexed to, uint256 value);
        }
        #[sol(abi)]
        interface Card {
            event Transfer(address indexed from, address indexed to, uint256 indexed tokenId);
            struct Item { bytes data; }
            error Broken(Item[] items);
            function run(Item[] items) external;
        }
    }

    fn index() -> AbiIndex {
        let mut index = AbiIndex::default();
        [Card::abi::contract(), Coin::abi::contract()].iter().for_each(|abi| index.add(abi));
        index
    }

    #[test]
    fn events_of_one_signature_are_told_apart_by_what_is_indexed() {
        let (from, to, number) = (Address::repeat_byte(1), Address::repeat_byte(2), U256::from(7));
        let logs = [
            Coin::Transfer { from, to, value: number }.encode_log_data(),
            Card::Transfer { from, to, tokenId: number }.encode_log_data(),
        ];
        let index = index();
        let names = logs.map(|data| {
            let event = index.event(&Log { address: from, data }).unwrap();
            (event.arguments[2].name.clone(), event.arguments[2].value.clone())
        });
        let number = DynSolValue::Uint(number, 256);
        assert_eq!(names, [("value".to_owned(), number.clone()), ("tokenId".to_owned(), number)]);
    }

    /// A list whose thousand items are one of ten thousand bytes: ten megabytes once decoded.
    fn overlapping() -> Vec<u8> {
        let word = |number: usize| U256::from(number).to_be_bytes::<32>();
        let item = [word(32), word(10_000)].concat();
        [word(32), word(1_000)]
            .into_iter()
            .chain([word(32_000); 1_000])
            .flatten()
            .chain(item)
            .chain([1; 10_016])
            .collect()
    }

    #[test]
    fn what_overlaps_is_not_decoded_for_a_text() {
        use alloy_sol_types::{SolCall, SolError};
        let arguments = overlapping();
        let input = [&Card::runCall::SELECTOR, &arguments[..]].concat();
        assert!(Card::runCall::abi_decode(&input).is_ok(), "it decodes");
        let index = index();
        assert_eq!(index.call_text(&input), None);
        assert_eq!(index.error(&[&Card::Broken::SELECTOR, &arguments[..]].concat()), None);
        let problem = call_problem(&Card::abi::contract(), "card", &input).unwrap();
        assert_eq!(problem, "the arguments of run((bytes)[]) of card overlap");
        let plain = Card::runCall { items: vec![Card::Item { data: vec![7].into() }] };
        let text = index.call_text(&plain.abi_encode()).unwrap();
        assert_eq!(text, "run([(0x07)])");
    }
}
