//! The digest of a template: what is fixed with its version.

use alloy_json_abi::{EventParam, JsonAbi, Param, StateMutability};
use alloy_primitives::B256;
use sha3::{Digest, Keccak256};

use crate::vm::storage::StorageLayout;

/// Returns the keccak over name, ABI, storage layout and gas table, each after its length (8 bytes, big-endian).
///
/// Of the ABI, what calls and logs depend on: order and names of parameters are left out, as are defaults and descriptions. The storage
/// layout is the JSON of solc's form.
pub(super) fn digest(name: &str, abi: &JsonAbi, layout: &StorageLayout, gas_table: &str) -> B256 {
    // A layout is strings, lists and maps with string keys: it always has a JSON form.
    let layout = serde_json::to_string(layout).unwrap_or_default();
    let mut hasher = Keccak256::new();
    for part in [name, &abi_text(abi), &layout, gas_table] {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    B256::from_slice(&hasher.finalize())
}

/// Returns the items of an ABI, one a line, sorted.
fn abi_text(abi: &JsonAbi) -> String {
    let mut lines = Vec::new();
    if let Some(constructor) = &abi.constructor {
        lines.push(format!("constructor({}) {}", types(&constructor.inputs), word(constructor.state_mutability)));
    }
    lines.extend(abi.fallback.iter().map(|fallback| format!("fallback {}", word(fallback.state_mutability))));
    lines.extend(abi.receive.iter().map(|_| "receive".to_owned()));
    lines.extend(abi.functions().map(|function| {
        let outputs = types(&function.outputs);
        format!("function {} {} ({outputs})", function.signature(), word(function.state_mutability))
    }));
    lines.extend(abi.events().map(|event| {
        let indexed: String =
            event.inputs.iter().map(|input: &EventParam| if input.indexed { '1' } else { '0' }).collect();
        format!("event {} {indexed} {}", event.signature(), event.anonymous)
    }));
    lines.extend(abi.errors().map(|error| format!("error {}", error.signature())));
    lines.sort_unstable();
    lines.join("\n")
}

/// Returns the canonical types of parameters, in the form of a signature.
fn types(params: &[Param]) -> String {
    let types: Vec<_> = params.iter().map(|param| param.selector_type()).collect();
    types.join(",")
}

/// Returns the word of a state mutability in JSON.
const fn word(mutability: StateMutability) -> &'static str {
    mutability.as_json_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn abi(items: &[&str]) -> JsonAbi {
        JsonAbi::parse(items.iter().copied()).unwrap()
    }

    fn layout(slot: &str) -> StorageLayout {
        use crate::vm::storage::{Place, StorageVariable};
        let variable = StorageVariable::new("_a", "A", Place::FIRST, "t_bool".to_owned());
        let storage = vec![StorageVariable { slot: slot.to_owned(), ..variable }];
        StorageLayout { storage, ..StorageLayout::default() }
    }

    #[test]
    fn every_part_changes_the_digest() {
        let items =
            ["function f(uint256 a) view returns (bool)", "event E(address indexed a)", "constructor(string a)"];
        let whole = digest("a", &abi(&items), &layout("0"), "f 1");
        let changed = [
            ("name", digest("b", &abi(&items), &layout("0"), "f 1")),
            ("layout", digest("a", &abi(&items), &layout("1"), "f 1")),
            ("gas", digest("a", &abi(&items), &layout("0"), "f 2")),
            ("no item", digest("a", &abi(&items[..2]), &layout("0"), "f 1")),
        ];
        for (what, digest) in changed {
            assert_ne!(digest, whole, "{what}");
        }
        for (place, other) in [
            (0, "function f(uint128 a) view returns (bool)"),
            (0, "function f(uint256 a) returns (bool)"),
            (0, "function f(uint256 a) view returns (address)"),
            (1, "event E(address a)"),
            (1, "event E(address indexed a) anonymous"),
            (2, "constructor(bytes a)"),
            (2, "constructor(string a) payable"),
        ] {
            let mut items = items;
            items[place] = other;
            assert_ne!(digest("a", &abi(&items), &layout("0"), "f 1"), whole, "{other}");
        }
    }

    #[test]
    fn neither_order_nor_names_of_parameters_change_it() {
        let all = ["function f(uint256 a)", "function f(bool a)", "error E(bytes a)"];
        let turned = ["error E(bytes data)", "function f(bool)", "function f(uint256 b)"];
        let of = |items: &[&str]| digest("a", &abi(items), &StorageLayout::default(), "");
        assert_eq!(of(&all), of(&turned));
    }
}
