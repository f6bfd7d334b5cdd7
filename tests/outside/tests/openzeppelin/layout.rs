//! Storage layouts as solc reports them: where each variable of a contract lies, down to the members of structs and the entries of
//! mappings and arrays.

use std::collections::BTreeMap;

use alloy_primitives::{Address, B256, U256, keccak256};
use serde_json::Value;

use crate::{engine::Engine, parties};

/// Longest array and longest string, in words, whose elements are listed.
const ELEMENTS_MAX: u64 = 64;

/// Keys for which entries of mappings are listed; arguments with which view functions are called.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    pub addresses: Vec<Address>,
    pub numbers: Vec<U256>,
    pub words: Vec<B256>,
}

/// Where a value lies.
#[derive(Clone, Debug)]
pub struct Location {
    /// Name of the contract's variable.
    pub variable: String,
    /// The variable with keys, indices and members, such as `_roles[0x00..].adminRole`.
    pub path: String,
    pub slot: U256,
    /// First byte, from the lowest.
    pub offset: usize,
    /// Length in bytes.
    pub bytes: usize,
}

impl Location {
    /// Returns the value in the word of its slot.
    pub fn value(&self, word: U256) -> U256 {
        let shifted = word >> (8 * self.offset);
        if self.bytes == 32 { shifted } else { shifted & ((U256::ONE << (8 * self.bytes)) - U256::ONE) }
    }
}

/// The variables of a contract.
#[derive(Debug)]
pub struct Layout {
    variables: Vec<Member>,
    types: BTreeMap<String, Type>,
}

#[derive(Debug)]
struct Member {
    name: String,
    slot: U256,
    offset: usize,
    type_name: String,
}

#[derive(Debug)]
enum Type {
    Value { bytes: usize },
    Text,
    Struct { members: Vec<Member>, bytes: usize },
    Mapping { key: String, value: String },
    FixedArray { base: String, bytes: usize, length: u64 },
    Array { base: String },
}

impl Layout {
    pub fn from_json(json: &Value) -> Self {
        let types = json["types"].as_object();
        let types =
            types.into_iter().flatten().map(|(name, json)| (name.clone(), Type::from_json(name, json))).collect();
        Self { variables: members(&json["storage"]), types }
    }

    /// Returns the names of the variables.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.variables.iter().map(|variable| variable.name.as_str())
    }

    /// Returns all places of `contract`'s storage where a value of a variable lies: mappings by `keys`, arrays and long strings by
    /// the lengths that `engine` has.
    pub fn locations(&self, engine: &mut dyn Engine, contract: Address, keys: &Keys) -> Vec<Location> {
        let mut listing = Listing { layout: self, engine, contract, keys, variable: "", found: Vec::new() };
        for variable in &self.variables {
            listing.variable = &variable.name;
            listing.list(&variable.type_name, variable.name.clone(), variable.slot, variable.offset);
        }
        listing.found
    }

    fn type_named(&self, name: &str) -> &Type {
        self.types.get(name).unwrap_or_else(|| panic!("the layout names a type that it does not have: {name}"))
    }

    /// Returns the length of a type's values, in bytes.
    fn bytes(&self, type_name: &str) -> usize {
        match self.type_named(type_name) {
            Type::Value { bytes } | Type::FixedArray { bytes, .. } | Type::Struct { bytes, .. } => *bytes,
            Type::Text | Type::Mapping { .. } | Type::Array { .. } => 32,
        }
    }
}

impl Type {
    fn from_json(name: &str, json: &Value) -> Self {
        let name_of = |field: &str| json[field].as_str().map(str::to_owned);
        let bytes = json["numberOfBytes"].as_str().expect("a string").parse().expect("a length");
        match json["encoding"].as_str().expect("a string") {
            "mapping" => {
                Self::Mapping { key: name_of("key").expect("a key"), value: name_of("value").expect("a value") }
            }
            "dynamic_array" => Self::Array { base: name_of("base").expect("a base") },
            "bytes" => Self::Text,
            _ if json["members"].is_array() => Self::Struct { members: members(&json["members"]), bytes },
            _ => match name_of("base") {
                // Its type is called t_array(base)LENGTH_storage.
                Some(base) => {
                    let length = name.rsplit(')').next().and_then(|end| end.strip_suffix("_storage"));
                    Self::FixedArray { base, bytes, length: length.and_then(|n| n.parse().ok()).expect("a length") }
                }
                None => Self::Value { bytes },
            },
        }
    }
}

fn members(json: &Value) -> Vec<Member> {
    let text = |value: &Value| value.as_str().expect("a string").to_owned();
    let member = |json: &Value| Member {
        name: text(&json["label"]),
        slot: U256::from_str_radix(&text(&json["slot"]), 10).expect("a slot"),
        offset: json["offset"].as_u64().expect("an offset") as usize,
        type_name: text(&json["type"]),
    };
    json.as_array().expect("a list").iter().map(member).collect()
}

struct Listing<'a> {
    layout: &'a Layout,
    engine: &'a mut dyn Engine,
    contract: Address,
    keys: &'a Keys,
    variable: &'a str,
    found: Vec<Location>,
}

impl<'a> Listing<'a> {
    fn list(&mut self, type_name: &str, path: String, slot: U256, offset: usize) {
        let layout: &'a Layout = self.layout;
        match layout.type_named(type_name) {
            Type::Value { bytes } => self.add(path, slot, offset, *bytes),
            Type::Text => self.list_text(path, slot),
            Type::Struct { members, .. } => {
                for member in members {
                    let path = format!("{path}.{}", member.name);
                    self.list(&member.type_name, path, slot.wrapping_add(member.slot), member.offset);
                }
            }
            Type::Mapping { key, value } => {
                for (name, word) in self.keys_of_type(key) {
                    let entry = keccak256([word.as_slice(), &slot.to_be_bytes::<32>()].concat());
                    self.list(value, format!("{path}[{name}]"), entry.into(), 0);
                }
            }
            Type::FixedArray { base, length, .. } => self.list_elements(base, &path, slot, *length),
            Type::Array { base } => {
                self.add(format!("{path}.length"), slot, 0, 32);
                let length: u64 = self.engine.storage(self.contract, slot).saturating_to();
                self.list_elements(base, &path, first_element(slot), length);
            }
        }
    }

    fn list_elements(&mut self, base: &str, path: &str, first: U256, length: u64) {
        let (per_slot, slots_each) = (self.per_slot(base) as u64, self.slots_each(base) as u64);
        let bytes = self.layout.bytes(base);
        for index in 0..length.min(ELEMENTS_MAX) {
            let slot = first.wrapping_add(U256::from(index / per_slot * slots_each));
            self.list(base, format!("{path}[{index}]"), slot, (index % per_slot) as usize * bytes);
        }
    }

    /// A string of up to 31 bytes lies beside twice its length; a longer one from the slot's hash on, and the slot has twice its
    /// length and 1.
    fn list_text(&mut self, path: String, slot: U256) {
        let word = self.engine.storage(self.contract, slot);
        if word.bit(0) {
            let doubled: u64 = word.saturating_to();
            let length = doubled / 2;
            for index in 0..length.div_ceil(32).min(ELEMENTS_MAX) {
                self.add(format!("{path}.{index}"), first_element(slot).wrapping_add(U256::from(index)), 0, 32);
            }
        }
        self.add(path, slot, 0, 32);
    }

    fn add(&mut self, path: String, slot: U256, offset: usize, bytes: usize) {
        self.found.push(Location { variable: self.variable.to_owned(), path, slot, offset, bytes });
    }

    /// Returns how many elements share a slot.
    fn per_slot(&self, base: &str) -> usize {
        match self.layout.type_named(base) {
            Type::Value { bytes } => 32 / bytes,
            _ => 1,
        }
    }

    /// Returns how many slots an element takes.
    fn slots_each(&self, base: &str) -> usize {
        self.layout.bytes(base).div_ceil(32)
    }

    /// Returns the keys of a type, named and as words.
    fn keys_of_type(&self, key: &str) -> Vec<(String, B256)> {
        let Keys { addresses, numbers, words } = self.keys;
        match key {
            "t_bytes32" => words.iter().map(|word| (word.to_string(), *word)).collect(),
            _ if key.starts_with("t_uint") => {
                numbers.iter().map(|number| (number.to_string(), B256::from(*number))).collect()
            }
            // Contracts are addresses too.
            _ => addresses.iter().map(|address| (parties::name_of(*address), address.into_word())).collect(),
        }
    }
}

fn first_element(slot: U256) -> U256 {
    keccak256(slot.to_be_bytes::<32>()).into()
}

#[cfg(test)]
mod tests {
    use alloy_primitives::Bytes;
    use alloy_sol_types::{SolCall, sol};
    use chainbox::templates::{Erc20Features, Erc20Params};

    use super::*;
    use crate::{
        artifacts::artifact,
        differential::{create, prepare},
        engine::Call,
        parties::{contract, person},
        reference::Reference,
        suite::Creation,
        values,
    };

    sol! {
        function delegate(address delegatee);
        function pause();
    }

    /// What lies at the listed places is what the contract was told.
    #[test]
    fn locations_hold_the_values_of_their_variables() {
        let symbol = "A symbol whose bytes don't fit into one word of storage, nor into the next";
        let (admin, supply) = (person(0), U256::from(1_000));
        let params = Erc20Params { features: Erc20Features::ALL, ..Erc20Params::new("Gold", symbol, supply, admin) };
        let mut engine = Reference::new();
        prepare(&mut engine);
        let creation = Creation::reference("Erc20", &params.encode());
        assert!(create(&mut engine, 0, &creation).is_success());
        let inputs = [delegateCall { delegatee: person(1) }.abi_encode(), pauseCall {}.abi_encode()];
        for input in inputs.map(Bytes::from) {
            let call = Call { from: admin, to: contract(0), value: U256::ZERO, input };
            assert!(engine.call(&call).is_success());
        }

        let keys = Keys { addresses: values::accounts(), numbers: Vec::new(), words: values::roles() };
        let locations = artifact("Erc20").layout.locations(&mut engine, contract(0), &keys);
        let mut value = |path: &str| {
            let at = locations.iter().find(|location| location.path == path);
            let at = at.unwrap_or_else(|| panic!("{path} is not among {locations:#?}"));
            at.value(engine.storage(contract(0), at.slot))
        };
        let word = |index: usize| U256::from_be_slice(&symbol.as_bytes()[32 * index..32 * (index + 1)]);
        for (path, expected) in [
            ("_totalSupply", supply),
            ("_balances[person 0]", supply),
            ("_balances[person 1]", U256::ZERO),
            ("_symbol", U256::from(2 * symbol.len() + 1)),
            ("_symbol.0", word(0)),
            ("_symbol.1", word(1)),
            ("_paused", U256::ONE),
            (&format!("_roles[{}].hasRole[person 0]", values::role("MINTER_ROLE")), U256::ONE),
            ("_delegatee[person 0]", person(1).into_word().into()),
            ("_delegateCheckpoints[person 1]._checkpoints.length", U256::ONE),
            ("_delegateCheckpoints[person 1]._checkpoints[0]._key", U256::from(crate::engine::FIRST_BLOCK)),
            ("_delegateCheckpoints[person 1]._checkpoints[0]._value", supply),
        ] {
            assert_eq!(value(path), expected, "{path}");
        }
    }
}
