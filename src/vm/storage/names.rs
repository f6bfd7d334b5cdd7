//! Names of slots: which variable, key or index of a contract a slot holds.

use std::collections::BTreeMap;

use alloy_primitives::{Address, B256, Bytes, I256, U256, hex};

use super::{Encoding, StorageLayout, StorageType, StorageVariable};

/// Steps from a slot to the variable that it belongs to: mappings of mappings, arrays of structs.
const STEPS_MAX: usize = 16;

/// Hashes that contracts made, by their results: the places of the elements of mappings and arrays.
#[derive(Clone, Debug, Default)]
pub struct SlotPreimages(BTreeMap<U256, Bytes>);

impl SlotPreimages {
    /// Adds a hash.
    pub fn insert(&mut self, hash: B256, preimage: &[u8]) {
        self.0.entry(hash.into()).or_insert_with(|| Bytes::copy_from_slice(preimage));
    }

    /// Returns the hash at a slot, or the last one before it, with its preimage.
    fn at_or_before(&self, slot: U256) -> Option<(U256, &Bytes)> {
        self.0.range(..=slot).next_back().map(|(hash, preimage)| (*hash, preimage))
    }
}

/// A value of a contract in a slot, or in a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SlotValue {
    /// Variable with keys, indices and members, such as `_balances[0x…]` or `_roles[0x…].members[0x…]`.
    pub name: String,
    /// Type in Solidity, such as `uint256`.
    pub ty: String,
    /// Offset in the slot, in bytes from its lowest-order one.
    pub offset: u8,
    /// Bytes that it takes, 1 to 32.
    pub bytes: u8,
}

impl SlotValue {
    /// Returns the value as text, read from the whole slot's word: numbers are decimal, addresses, bytes and anything else hex; of a
    /// `string` or `bytes` that does not fit into the slot, its length.
    pub fn text(&self, word: U256) -> String {
        let stored = (word >> (8 * usize::from(self.offset))) & mask(self.bytes);
        match self.ty.as_str() {
            "bool" => (!stored.is_zero()).to_string(),
            "address" => Address::from_word(stored.into()).to_checksum(None),
            "string" | "bytes" => text_of_bytes(&self.ty, word),
            ty if ty.starts_with("uint") || ty.starts_with("enum ") => stored.to_string(),
            ty if ty.starts_with("int") => signed(stored, self.bytes).to_string(),
            _ => hex::encode_prefixed(&stored.to_be_bytes::<32>()[32 - usize::from(self.bytes)..]),
        }
    }
}

impl StorageLayout {
    /// Returns the values that lie in a slot, in the order of their places; none for a slot of no known variable.
    ///
    /// The elements of mappings and arrays lie under hashes: `preimages` are those that the contract made.
    pub fn values_in(&self, slot: U256, preimages: &SlotPreimages) -> Vec<SlotValue> {
        let mut values: Vec<_> =
            self.variables_in(slot, preimages, STEPS_MAX).iter().map(|found| self.value(found)).collect();
        values.sort_by_key(|value| value.offset);
        values
    }

    fn value(&self, found: &Found<'_>) -> SlotValue {
        let (name, ty, bytes) = match found.ty.encoding {
            Encoding::DynamicArray => (format!("{}.length", found.name), "uint256", 32),
            _ => (found.name.clone(), found.ty.label.as_str(), bytes_of(found.ty).min(32) as u8),
        };
        SlotValue { name, ty: ty.to_owned(), offset: found.offset, bytes }
    }

    /// Returns the variables without members that lie in `slot`.
    fn variables_in(&self, slot: U256, preimages: &SlotPreimages, steps_left: usize) -> Vec<Found<'_>> {
        let mut found = Vec::new();
        self.find_among(&self.storage, "", U256::ZERO, slot, &mut found);
        if found.is_empty() && steps_left > 0 {
            self.find_element(slot, preimages, steps_left - 1, &mut found);
        }
        found
    }

    /// Adds those of `variables`, the members of what begins at slot `start`, that lie in `slot`.
    fn find_among<'l>(
        &'l self,
        variables: &'l [StorageVariable],
        prefix: &str,
        start: U256,
        slot: U256,
        found: &mut Vec<Found<'l>>,
    ) {
        for variable in variables {
            // A slot that is no number is nowhere.
            let Ok(own) = variable.slot.parse::<U256>() else { continue };
            let at = start.wrapping_add(own);
            self.find_in(&format!("{prefix}{}", variable.label), &variable.ty, at, variable.offset, slot, found);
        }
    }

    /// Adds what lies in `slot` of the variable called `name`, which begins at slot `at`.
    fn find_in<'l>(&'l self, name: &str, ty: &str, at: U256, offset: u8, slot: U256, found: &mut Vec<Found<'l>>) {
        let Some(ty) = self.types.get(ty) else { return };
        match &ty.members {
            Some(members) if slot.wrapping_sub(at) < U256::from(slots_of(ty)) => {
                self.find_among(members, &format!("{name}."), at, slot, found);
            }
            None if at == slot => found.push(Found { name: name.to_owned(), ty, offset }),
            _ => {}
        }
    }

    /// Adds what lies in `slot` of an element of a mapping or an array.
    fn find_element<'l>(
        &'l self,
        slot: U256,
        preimages: &SlotPreimages,
        steps_left: usize,
        found: &mut Vec<Found<'l>>,
    ) {
        let Some((first, preimage)) = preimages.at_or_before(slot) else { return };
        let Ok(distance) = u64::try_from(slot - first) else { return };
        let Some((key, base)) = preimage.split_last_chunk::<32>() else { return };
        for container in self.variables_in(U256::from_be_bytes(*base), preimages, steps_left) {
            match container.ty.encoding {
                Encoding::Mapping => {
                    let (Some(key_ty), Some(value)) = (&container.ty.key, &container.ty.value) else { continue };
                    let name = format!("{}[{}]", container.name, self.key_text(key_ty, key));
                    self.find_in(&name, value, first, 0, slot, found);
                }
                Encoding::DynamicArray if key.is_empty() => self.find_in_array(&container, first, distance, found),
                Encoding::Bytes if key.is_empty() => {
                    let name = format!("{} from byte {}", container.name, u128::from(distance) * 32);
                    found.push(Found { name, ty: &WORD, offset: 0 });
                }
                _ => {}
            }
        }
    }

    /// Adds the elements, or the part of one, that lie `distance` slots after the array's first.
    fn find_in_array<'l>(&'l self, array: &Found<'l>, first: U256, distance: u64, found: &mut Vec<Found<'l>>) {
        let Some((id, element)) = array.ty.base.as_ref().and_then(|id| Some((id, self.types.get(id)?))) else { return };
        let (bytes, slot) = (bytes_of(element), first.wrapping_add(U256::from(distance)));
        if bytes > 16 || bytes == 0 {
            let (index, part) = (distance / slots_of(element), distance % slots_of(element));
            let at = slot.wrapping_sub(U256::from(part));
            return self.find_in(&format!("{}[{index}]", array.name), id, at, 0, slot, found);
        }
        let per_slot = 32 / bytes;
        for place in 0..per_slot {
            let name = format!("{}[{}]", array.name, u128::from(distance) * u128::from(per_slot) + u128::from(place));
            self.find_in(&name, id, slot, (place * bytes) as u8, slot, found);
        }
    }

    fn key_text(&self, ty: &str, key: &[u8]) -> String {
        let label = self.types.get(ty).map_or("", |ty| ty.label.as_str());
        match (label, <[u8; 32]>::try_from(key)) {
            ("string", _) => format!("{:?}", String::from_utf8_lossy(key)),
            // A key is as in the ABI: bytes are left-aligned, unlike in storage.
            (label, Ok(word)) if !label.starts_with("bytes") => {
                SlotValue { name: String::new(), ty: label.to_owned(), offset: 0, bytes: 32 }
                    .text(U256::from_be_bytes(word))
            }
            (label, Ok(word)) => match label.strip_prefix("bytes").and_then(|len| len.parse::<usize>().ok()) {
                Some(len) => hex::encode_prefixed(&word[..len.min(32)]),
                None => hex::encode_prefixed(word),
            },
            (_, Err(_)) => hex::encode_prefixed(key),
        }
    }
}

/// A variable without members in a slot.
struct Found<'l> {
    name: String,
    ty: &'l StorageType,
    offset: u8,
}

/// A part of a long `string` or `bytes`.
static WORD: std::sync::LazyLock<StorageType> =
    std::sync::LazyLock::new(|| StorageType::new(Encoding::Inplace, "bytes32", 32));

fn bytes_of(ty: &StorageType) -> u64 {
    ty.number_of_bytes.parse().unwrap_or(32)
}

fn slots_of(ty: &StorageType) -> u64 {
    bytes_of(ty).div_ceil(32).max(1)
}

fn mask(bytes: u8) -> U256 {
    if bytes >= 32 { U256::MAX } else { (U256::ONE << (8 * usize::from(bytes))) - U256::ONE }
}

fn signed(stored: U256, bytes: u8) -> I256 {
    let unused = 256 - 8 * usize::from(bytes.min(32));
    I256::from_raw(stored << unused).asr(unused)
}

/// Returns what the slot of a `string` or `bytes` tells of it.
fn text_of_bytes(ty: &str, word: U256) -> String {
    if word.bit(0) {
        return format!("{} bytes", word >> 1_usize);
    }
    let stored = word.to_be_bytes::<32>();
    let bytes = &stored[..usize::from(stored[31] / 2).min(31)];
    match core::str::from_utf8(bytes) {
        Ok(text) if ty == "string" => format!("{text:?}"),
        _ => hex::encode_prefixed(bytes),
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{FixedBytes, address, b256, keccak256};

    use super::*;
    use crate::vm::{
        mapping_slot,
        storage::{Array, Mapping, Slot, record, storage},
    };

    record! {
        /// A point in time.
        struct Point {
            since: u64,
            amount: u128,
        }
    }

    storage! {
        /// All kinds of variables.
        contract Kinds {
            total: Slot<U256>,
            is_open: Slot<bool>,
            owner: Slot<Address>,
            name: Slot<String>,
            balances: Mapping<Address, U256>,
            allowed: Mapping<Address, Mapping<FixedBytes<4>, bool>>,
            ids: Array<U256>,
            small: Array<u64>,
            points: Mapping<U256, Array<Point>>,
            by_name: Mapping<String, U256>,
        }
    }

    const ALICE: Address = address!("00000000000000000000000000000000000a11ce");

    fn layout() -> StorageLayout {
        StorageLayout::of::<Kinds>()
    }

    fn names(slot: U256, preimages: &SlotPreimages) -> Vec<String> {
        layout().values_in(slot, preimages).into_iter().map(|value| format!("{} {}", value.ty, value.name)).collect()
    }

    fn hashed(preimages: &mut SlotPreimages, preimage: &[u8]) -> U256 {
        let hash = keccak256(preimage);
        preimages.insert(hash, preimage);
        hash.into()
    }

    fn word(slot: u64) -> [u8; 32] {
        U256::from(slot).to_be_bytes()
    }

    #[test]
    fn variables_in_their_own_slots_are_named_with_their_parts() {
        let none = SlotPreimages::default();
        assert_eq!(names(U256::ZERO, &none), ["uint256 _total"]);
        assert_eq!(names(U256::ONE, &none), ["bool _isOpen", "address _owner"]);
        assert_eq!(names(U256::from(2), &none), ["string _name"]);
        assert_eq!(names(U256::from(5), &none), ["uint256 _ids.length"]);
        assert_eq!(names(U256::from(99), &none), Vec::<String>::new());
    }

    #[test]
    fn elements_of_mappings_and_arrays_are_named_by_keys_and_indices() {
        let mut known = SlotPreimages::default();
        let balance = hashed(&mut known, &[ALICE.into_word().0, word(3)].concat());
        assert_eq!(balance, mapping_slot(U256::from_be_bytes(ALICE.into_word().0), U256::from(3)));
        assert_eq!(names(balance, &known), [format!("uint256 _balances[{ALICE}]")]);

        let of_alice = hashed(&mut known, &[ALICE.into_word().0, word(4)].concat());
        let selector = b256!("a9059cbb00000000000000000000000000000000000000000000000000000000");
        let allowed = hashed(&mut known, &[selector.0, of_alice.to_be_bytes()].concat());
        assert_eq!(names(allowed, &known), [format!("bool _allowed[{ALICE}][0xa9059cbb]")]);

        let ids = hashed(&mut known, &word(5));
        assert_eq!(names(ids + U256::from(7), &known), ["uint256 _ids[7]"]);
        let small = hashed(&mut known, &word(6));
        let four = [4, 5, 6, 7].map(|index| format!("uint64 _small[{index}]"));
        assert_eq!(names(small + U256::ONE, &known), four);

        let list = hashed(&mut known, &[word(12), word(7)].concat());
        assert_eq!(names(list, &known), ["uint256 _points[12].length"]);
        let points = hashed(&mut known, &list.to_be_bytes::<32>());
        let members = ["uint64 _points[12][3].since", "uint128 _points[12][3].amount"];
        assert_eq!(names(points + U256::from(3), &known), members);

        let named = hashed(&mut known, &[b"gold".as_slice(), &word(8)].concat());
        assert_eq!(names(named, &known), ["uint256 _byName[\"gold\"]"]);
    }

    #[test]
    fn a_slot_under_an_unknown_hash_has_no_name() {
        let mut known = SlotPreimages::default();
        let elsewhere = hashed(&mut known, &[ALICE.into_word().0, word(77)].concat());
        assert!(names(elsewhere, &known).is_empty());
        let data = hashed(&mut known, b"not a slot");
        assert!(names(data, &known).is_empty());
    }

    #[test]
    fn long_texts_are_named_by_their_bytes() {
        let mut known = SlotPreimages::default();
        let first = hashed(&mut known, &word(2));
        assert_eq!(names(first + U256::ONE, &known), ["bytes32 _name from byte 32"]);
    }

    #[test]
    fn values_are_text_by_their_types() {
        let value = |ty: &str, offset, bytes| SlotValue { name: String::new(), ty: ty.to_owned(), offset, bytes };
        let packed = (U256::from_be_bytes(ALICE.into_word().0) << 8_usize) | U256::ONE;
        assert_eq!(value("bool", 0, 1).text(packed), "true");
        assert_eq!(value("address", 1, 20).text(packed), ALICE.to_checksum(None));
        assert_eq!(value("uint128", 16, 16).text(U256::from(9) << 128_usize), "9");
        assert_eq!(value("int64", 0, 8).text(U256::from(u64::MAX)), "-1");
        assert_eq!(value("bytes4", 0, 4).text(U256::from(0xa905_9cbb_u32)), "0xa9059cbb");
        let mut text = [0; 32];
        (text[0], text[1], text[31]) = (b'o', b'k', 4);
        assert_eq!(value("string", 0, 32).text(U256::from_be_bytes(text)), "\"ok\"");
        assert_eq!(value("string", 0, 32).text(U256::from(81)), "40 bytes");
    }
}
