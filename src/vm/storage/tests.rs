//! Variables against Solidity's documentation and slots computed by hand.

use std::collections::BTreeMap;

use alloy_primitives::{Address, B256, Bytes, FixedBytes, U256, aliases::U48, b256, keccak256};
use proptest::prelude::*;

use super::*;
use crate::vm::{
    Host, Stop, abi,
    math::{CheckedMath, overflow},
    sandbox::Sandbox,
};

storage! {
    /// The example of "Layout of State Variables in Storage", JSON output.
    contract A {
        x: Slot<U256>,
        y: Slot<U256>,
        s: S,
        addr: Slot<Address>,
        map: Mapping<U256, Mapping<Address, bool>>,
        array: Array<U256>,
        s1: Slot<String>,
        b1: Slot<Bytes>,
    }
}

storage! {
    /// Its `uint[2] staticArray` is two variables here.
    struct S {
        a: Slot<u128>,
        b: Slot<u128>,
        first: Slot<U256>,
        second: Slot<U256>,
        dyn_array: Array<U256>,
    }
}

record! {
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    struct Entry {
        a: u128,
        b: u128,
        c: U256,
        d: Address,
        e: bool,
    }
}

storage! {
    contract Paused {
        paused: Slot<bool>,
    }
}

storage! {
    contract Owned {
        owner: Slot<Address>,
    }
}

storage! {
    struct Pool {
        total: Slot<U256>,
        rate: Slot<u16>,
        members: Mapping<Address, U256>,
        entry: Slot<Entry>,
        last: Slot<u8>,
    }
}

storage! {
    /// Bases in the order of their linearization, then variables of its own.
    contract Heir {
        supply: Slot<U256>,
        paused: Paused,
        owned: Owned,
        small: Slot<u64>,
        large: Slot<u128>,
        pools: Mapping<u64, Pool>,
        records: Array<Entry>,
        numbers: Array<U48>,
        flags: Mapping<FixedBytes<4>, bool>,
        named: Mapping<String, u8>,
        pool: Pool,
        end: Slot<bool> as "theEnd",
    }
}

const ELSEWHERE: U256 = U256::from_limbs([7, 7, 7, 7]);

storage! {
    contract Elsewhere layout at ELSEWHERE {
        first: Slot<u8>,
        second: Slot<u8>,
    }
}

const HEIR: Heir = Heir::STATE;

fn places(layout: &StorageLayout) -> Vec<(&str, &str, u8)> {
    layout.storage.iter().map(|entry| (entry.label.as_str(), entry.slot.as_str(), entry.offset)).collect()
}

fn number(n: u64) -> U256 {
    U256::from(n)
}

fn hash(parts: &[U256]) -> U256 {
    let bytes: Vec<u8> = parts.iter().flat_map(|part| part.to_be_bytes::<32>()).collect();
    keccak256(bytes).into()
}

/// Slots, offsets and types as Solidity's documentation prints them for its example.
#[test]
fn the_documented_example_has_its_documented_layout() {
    let layout = StorageLayout::of::<A>();
    let want = [
        ("_x", "0", 0),
        ("_y", "1", 0),
        ("_s", "2", 0),
        ("_addr", "6", 0),
        ("_map", "7", 0),
        ("_array", "8", 0),
        ("_s1", "9", 0),
        ("_b1", "10", 0),
    ];
    assert_eq!(places(&layout), want);
    let json = serde_json::to_value(&layout).unwrap();
    let types = &json["types"];
    assert_eq!(
        types["t_mapping(t_uint256,t_mapping(t_address,t_bool))"]["label"],
        "mapping(uint256 => mapping(address => bool))"
    );
    assert_eq!(types["t_array(t_uint256)dyn_storage"]["encoding"], "dynamic_array");
    assert_eq!(types["t_array(t_uint256)dyn_storage"]["base"], "t_uint256");
    assert_eq!(types["t_string_storage"]["encoding"], "bytes");
    assert_eq!(types["t_struct(S)_storage"]["numberOfBytes"], "128");
    let members = types["t_struct(S)_storage"]["members"].as_array().unwrap();
    let members: Vec<_> =
        members.iter().map(|member| format!("{} {} {}", member["label"], member["slot"], member["offset"])).collect();
    assert_eq!(
        members,
        ["\"a\" \"0\" 0", "\"b\" \"0\" 16", "\"first\" \"1\" 0", "\"second\" \"2\" 0", "\"dynArray\" \"3\" 0"]
    );
    assert_eq!(json["storage"][3]["type"], "t_address");
    assert_eq!(json["storage"][3]["contract"], "A");
}

#[test]
fn inherited_variables_pack_with_their_neighbours() {
    let layout = StorageLayout::of::<Heir>().and::<Elsewhere>();
    let elsewhere = ELSEWHERE.to_string();
    let want = [
        ("_supply", "0", 0),
        ("_paused", "1", 0),
        ("_owner", "1", 1),
        ("_small", "1", 21),
        ("_large", "2", 0),
        ("_pools", "3", 0),
        ("_records", "4", 0),
        ("_numbers", "5", 0),
        ("_flags", "6", 0),
        ("_named", "7", 0),
        ("_pool", "8", 0),
        ("theEnd", "15", 0),
        ("_first", elsewhere.as_str(), 0),
        ("_second", elsewhere.as_str(), 1),
    ];
    assert_eq!(places(&layout), want);
    assert_eq!(layout.storage[2].contract, "Owned");
    // The constants by which code reads are where the table says.
    assert_eq!(HEIR.owned.owner.place(), Place { slot: number(1), offset: 1 });
    assert_eq!(HEIR.small.place(), Place { slot: number(1), offset: 21 });
    assert_eq!(HEIR.pool.members.slot(), number(10));
    assert_eq!((HEIR.pool.entry.slot(), HEIR.pool.last.slot()), (number(11), number(14)));
    assert_eq!(HEIR.end.place(), Place { slot: number(15), offset: 0 });
    assert_eq!(Elsewhere::STATE.second.place(), Place { slot: ELSEWHERE, offset: 1 });
}

#[test]
fn packed_values_keep_their_neighbours() {
    let mut sandbox = Sandbox::new();
    let owner = Address::repeat_byte(0x11);
    sandbox
        .run(move |host| {
            HEIR.owned.owner.set(host, owner)?;
            HEIR.small.set(host, u64::MAX)?;
            HEIR.paused.paused.set(host, true)?;
            HEIR.small.update(host, |small| small.sub(0xff))
        })
        .unwrap();
    assert_eq!(sandbox.word(1), b256!("000000ffffffffffffff00111111111111111111111111111111111111111101"));
    sandbox.run(|host| HEIR.paused.paused.set(host, false)).unwrap();
    let read =
        sandbox.run(|host| Ok((HEIR.paused.paused.get(host)?, HEIR.owned.owner.get(host)?, HEIR.small.get(host)?)));
    assert_eq!(read.unwrap(), (false, owner, u64::MAX - 0xff));
}

#[test]
fn slots_of_keys_and_elements_are_the_documented_hashes() {
    let mut sandbox = Sandbox::new();
    let user = Address::repeat_byte(0x22);
    let record = Entry { a: 1, b: 2, c: number(3), d: user, e: true };
    let stored = record.clone();
    sandbox
        .run(move |host| {
            A::STATE.map.at(host, number(5))?.set(host, user, true)?;
            HEIR.pools.at(host, 9)?.members.set(host, user, number(77))?;
            HEIR.flags.set(host, FixedBytes([1, 2, 3, 4]), true)?;
            HEIR.named.set(host, "key".to_owned(), 8)?;
            for n in 0..7 {
                HEIR.numbers.push(host, U48::from(n))?;
            }
            HEIR.records.push(host, Entry::default())?;
            HEIR.records.push(host, stored.clone())
        })
        .unwrap();
    let word = U256::from_be_bytes(user.into_word().0);
    assert_eq!(sandbox.slot(hash(&[word, hash(&[number(5), number(7)])])), number(1), "mapping of mapping");
    let pool = hash(&[number(9), number(3)]);
    assert_eq!(sandbox.slot(hash(&[word, pool + number(2)])), number(77), "mapping in a struct in a mapping");
    let mut key = [0; 64];
    key[..4].copy_from_slice(&[1, 2, 3, 4]);
    key[63] = 6;
    assert_eq!(sandbox.slot(keccak256(key).into()), number(1), "bytesN is padded on the right");
    let named = [b"key".as_slice(), &number(7).to_be_bytes::<32>()].concat();
    assert_eq!(sandbox.slot(keccak256(named).into()), number(8), "a string is not padded");
    // Five elements of six bytes in a slot.
    let first = hash(&[number(5)]);
    assert_eq!(sandbox.slot(number(5)), number(7));
    let packed = (0..5_u64).fold(U256::ZERO, |word, n| word | number(n) << (48 * n as usize));
    assert_eq!(sandbox.slot(first), packed);
    assert_eq!(sandbox.slot(first + number(1)), number(5) | number(6) << 48_usize);
    // Three slots a record.
    let second = hash(&[number(4)]) + number(3);
    assert_eq!(sandbox.slot(second), number(1) | number(2) << 128_usize);
    assert_eq!(sandbox.slot(second + number(1)), number(3));
    assert_eq!(sandbox.slot(second + number(2)), word | number(1) << 160_usize);
    assert_eq!(sandbox.run(|host| HEIR.records.get(host, 1)).unwrap(), record);
}

#[test]
fn arrays_are_bounded_as_soliditys() {
    let mut sandbox = Sandbox::new();
    let out_of_bounds = || abi::panic(abi::PANIC_INDEX_OUT_OF_BOUNDS);
    assert_eq!(sandbox.run(|host| HEIR.numbers.get(host, 0)), Err(out_of_bounds()));
    assert_eq!(sandbox.run(|host| HEIR.numbers.pop(host)), Err(abi::panic(abi::PANIC_EMPTY_ARRAY_POP)));
    sandbox.run(|host| HEIR.numbers.push(host, U48::from(4))).unwrap();
    assert_eq!(sandbox.run(|host| HEIR.numbers.set(host, 1, U48::ONE)), Err(out_of_bounds()));
    sandbox.run(|host| HEIR.numbers.set(host, 0, U48::from(6))).unwrap();
    assert_eq!(sandbox.run(|host| HEIR.numbers.pop(host)), Ok(U48::from(6)));
    assert_eq!((sandbox.slot(number(5)), sandbox.slot(hash(&[number(5)]))), (U256::ZERO, U256::ZERO));
}

/// Cold reads are 2,100, warm ones 100, hashes of two words 42 and of one 36; a slot set is 20,000, one changed again 100.
#[test]
fn an_access_costs_what_the_schedule_has_for_it() {
    let mut sandbox = Sandbox::new();
    let user = Address::repeat_byte(0x33);
    let mut cost = |call: fn(&mut Host<'_>, Address) -> Result<(), Stop>| {
        let (result, gas) = sandbox.measure(move |host| call(host, user));
        result.unwrap();
        gas
    };
    assert_eq!(cost(|host, _| HEIR.supply.get(host).map(drop)), 2_100);
    assert_eq!(cost(|host, _| HEIR.supply.set(host, U256::ONE)), 22_100);
    assert_eq!(cost(|host, _| HEIR.supply.add(host, U256::ONE)), 2_100 + 2_900);
    assert_eq!(cost(|host, _| HEIR.paused.paused.set(host, true)), 2_100 + 20_000);
    assert_eq!(cost(|host, _| HEIR.end.overwrite(host, true)), 22_100);
    assert_eq!(cost(|host, _| HEIR.paused.paused.update(host, |paused| Ok(!paused))), 2_100 + 2_900);
    assert_eq!(cost(|host, user| A::STATE.map.at(host, U256::ONE)?.get(host, user).map(drop)), 2 * 42 + 2_100);
    assert_eq!(cost(|host, _| HEIR.records.at(host, 0).map(drop).or(Ok(()))), 2_100);
    assert_eq!(cost(|host, _| HEIR.records.unchecked_at(host, 0)?.get(host).map(drop)), 36 + 3 * 2_100);
    assert_eq!(cost(|host, _| HEIR.pool.entry.set(host, Entry { a: 1, ..Entry::default() })), 22_100 + 2 * 2_200);
}

#[test]
fn sums_are_checked() {
    let mut sandbox = Sandbox::new();
    assert_eq!(sandbox.run(|host| HEIR.small.sub(host, 1)), Err(overflow()));
    sandbox.run(|host| HEIR.small.add(host, u64::MAX)).unwrap();
    assert_eq!(sandbox.run(|host| HEIR.small.add(host, 1)), Err(overflow()));
    assert_eq!(sandbox.run(|host| HEIR.small.get(host)), Ok(u64::MAX));
}

#[test]
fn texts_of_every_length_come_back_and_leave_nothing() {
    let mut sandbox = Sandbox::new();
    let slot = A::STATE.s1.slot();
    for len in [0, 1, 31, 32, 33, 64, 65, 3, 100, 0] {
        let text = "abcdefghij".repeat(10)[..len].to_owned();
        let stored = text.clone();
        sandbox.run(move |host| A::STATE.s1.set(host, stored.clone())).unwrap();
        assert_eq!(sandbox.run(|host| A::STATE.s1.get(host)).unwrap(), text);
        let used = if len > 31 { len.div_ceil(32) as u64 } else { 0 };
        assert_eq!(sandbox.slot(slot), if len > 31 { number(2 * len as u64 + 1) } else { sandbox.slot(slot) });
        assert_eq!(sandbox.slot(hash(&[slot]) + number(used)), U256::ZERO, "{len}");
    }
    assert_eq!(sandbox.slot(slot), U256::ZERO);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// An array of packed values against a vector.
    #[test]
    fn arrays_follow_a_vector(steps in proptest::collection::vec((0_u8..3, any::<u64>(), 0_usize..20), 1..40)) {
        let mut sandbox = Sandbox::new();
        let mut model: Vec<U48> = Vec::new();
        for (step, value, index) in steps {
            let value = U48::from(value & 0xffff_ffff_ffff);
            let got = sandbox.run(move |host| match step {
                0 => HEIR.numbers.push(host, value).map(|()| value),
                1 => HEIR.numbers.pop(host),
                _ => HEIR.numbers.set(host, index as u64, value).map(|()| value),
            });
            let want = match step {
                0 => { model.push(value); Some(value) }
                1 => model.pop(),
                _ => model.get_mut(index).map(|place| { *place = value; value }),
            };
            prop_assert_eq!(got.ok(), want);
            prop_assert_eq!(sandbox.run(|host| HEIR.numbers.len(host)).unwrap(), model.len() as u64);
        }
        for (index, want) in model.into_iter().enumerate() {
            prop_assert_eq!(sandbox.run(move |host| HEIR.numbers.get(host, index as u64)).unwrap(), want);
        }
    }

    /// Members of a record share slots and stay apart.
    #[test]
    fn records_come_back(a: u128, b: u128, c: [u64; 4], d: [u8; 20], e: bool) {
        let mut sandbox = Sandbox::new();
        let record = Entry { a, b, c: U256::from_limbs(c), d: Address::from(d), e };
        let stored = record.clone();
        let read = sandbox.run(move |host| {
            HEIR.pool.entry.set(host, stored.clone())?;
            HEIR.pool.entry.get(host)
        });
        prop_assert_eq!(read.unwrap(), record);
        prop_assert_eq!(sandbox.word(10), B256::ZERO);
        prop_assert_eq!(sandbox.word(14), B256::ZERO);
    }

    /// Mappings of mappings against a map.
    #[test]
    fn mappings_follow_a_map(writes in proptest::collection::vec((0_u64..4, 0_u8..4, any::<bool>()), 0..40)) {
        let mut sandbox = Sandbox::new();
        let mut model = BTreeMap::new();
        for (outer, inner, value) in writes {
            model.insert((outer, inner), value);
            sandbox.run(move |host| A::STATE.map.at(host, number(outer))?.set(host, Address::repeat_byte(inner), value)).unwrap();
        }
        for outer in 0..4 {
            for inner in 0..4 {
                let got = sandbox.run(move |host| A::STATE.map.at(host, number(outer))?.get(host, Address::repeat_byte(inner)));
                prop_assert_eq!(got.unwrap(), model.get(&(outer, inner)).copied().unwrap_or_default());
            }
        }
    }
}
