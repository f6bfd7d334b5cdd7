//! The table of a contract's variables, in the form of solc's `storageLayout`.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{ContractStorage, Cursor, Place};

/// Variables of a contract, with their places and types: solc's `storageLayout`, without the ids of its syntax tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StorageLayout {
    /// Variables in the order of their declaration.
    pub storage: Vec<StorageVariable>,
    /// Types by id.
    pub types: BTreeMap<String, StorageType>,
    /// Ids of types that are declared more than once, each time otherwise, such as two structs of one name: [`types`](Self::types) has
    /// the first. No template with such a layout is registered.
    #[serde(skip)]
    pub ambiguous: BTreeSet<String>,
}

impl StorageLayout {
    /// Returns the layout of a contract.
    pub fn of<C: ContractStorage>() -> Self {
        Self::default().and::<C>()
    }

    /// Adds the variables of a contract that are at another root.
    #[must_use]
    pub fn and<C: ContractStorage>(mut self) -> Self {
        let mut types = LayoutTypes { types: self.types, ambiguous: self.ambiguous };
        C::list("", C::NAME, &mut Cursor::new(C::ROOT), &mut types, &mut self.storage);
        Self { types: types.types, ambiguous: types.ambiguous, ..self }
    }
}

/// A variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StorageVariable {
    /// Name in Solidity.
    pub label: String,
    /// Contract or struct that declares it.
    pub contract: String,
    /// Slot, a decimal number; of a struct's member, counted from the struct's.
    pub slot: String,
    /// Offset in the slot, in bytes from its lowest-order one.
    pub offset: u8,
    /// Id of its type.
    #[serde(rename = "type")]
    pub ty: String,
}

impl StorageVariable {
    /// Creates an entry.
    pub fn new(label: &str, contract: &str, place: Place, ty: String) -> Self {
        let (slot, offset) = (place.slot.to_string(), place.offset);
        Self { label: label.to_owned(), contract: contract.to_owned(), slot, offset, ty }
    }
}

/// A type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct StorageType {
    /// How it is stored.
    pub encoding: Encoding,
    /// Name in Solidity, such as `mapping(address => uint256)`.
    pub label: String,
    /// Bytes that it takes in its place, a decimal number.
    pub number_of_bytes: String,
    /// Id of the type of a mapping's keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Id of the type of a mapping's values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Id of the type of an array's elements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Members of a struct.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub members: Option<Vec<StorageVariable>>,
}

impl StorageType {
    /// Creates a type without parts.
    pub fn new(encoding: Encoding, label: &str, bytes: u64) -> Self {
        let number_of_bytes = bytes.to_string();
        let (key, value, base, members) = (None, None, None, None);
        Self { encoding, label: label.to_owned(), number_of_bytes, key, value, base, members }
    }
}

/// How a type is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Encoding {
    /// In its place.
    Inplace,
    /// Under the hash of key and slot.
    Mapping,
    /// From the hash of the slot on.
    DynamicArray,
    /// In its place when shorter than 32 bytes, else from the hash of the slot on.
    Bytes,
}

/// Types while a layout is made.
#[derive(Debug, Default)]
pub struct LayoutTypes {
    types: BTreeMap<String, StorageType>,
    ambiguous: BTreeSet<String>,
}

impl LayoutTypes {
    /// Adds a type and returns its id.
    ///
    /// Another type that has this id stays, and the id is [ambiguous](StorageLayout::ambiguous).
    pub fn add(&mut self, id: String, ty: StorageType) -> String {
        if *self.types.entry(id.clone()).or_insert_with(|| ty.clone()) != ty {
            self.ambiguous.insert(id.clone());
        }
        id
    }

    /// Adds the type of a struct, whose members `list` adds, and returns its id.
    pub fn add_struct(
        &mut self,
        name: &str,
        slots: u64,
        list: impl FnOnce(&mut Cursor, &mut Self, &mut Vec<StorageVariable>),
    ) -> String {
        let mut members = Vec::new();
        list(&mut Cursor::new(Place::FIRST), self, &mut members);
        let ty = StorageType::new(Encoding::Inplace, &format!("struct {name}"), 32 * slots);
        self.add(format!("t_struct({name})_storage"), StorageType { members: Some(members), ..ty })
    }

    /// Returns the Solidity name of a type that was added.
    pub fn label<'t>(&'t self, id: &'t str) -> &'t str {
        self.types.get(id).map_or(id, |ty| ty.label.as_str())
    }
}

/// Returns the Solidity name of a variable or member: `total_supply` is `totalSupply`.
pub(super) fn camel_case(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    let mut starts_word = false;
    for letter in name.chars() {
        if letter == '_' {
            starts_word = true;
        } else {
            text.push(if starts_word { letter.to_ascii_uppercase() } else { letter });
            starts_word = false;
        }
    }
    text
}
