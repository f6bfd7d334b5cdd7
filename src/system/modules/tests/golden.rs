//! Gas of each call inside its transaction, and what a history of calls leaves in storage and logs. A changed number is a changed
//! chain: raise the template's version with it.

use alloy_primitives::Bytes;

use super::*;
use crate::{
    primitives::Gas,
    templates::test_chain::golden::{Place, assert_golden, storage_line},
    vm::Message,
};

/// Calls of a history: name, caller, value, input.
type Step = (&'static str, Address, u64, Bytes);

fn of<C: SolCall>(name: &'static str, caller: Address, call: C) -> Step {
    (name, caller, 0, call.abi_encode().into())
}

/// A call of `module` whose name is no UTF-8.
fn garbled_name() -> Bytes {
    let mut input = sol::moduleCall { name: "dao".to_owned() }.abi_encode();
    input[68] = 0xff;
    input.into()
}

/// Every function, its refusals too.
fn steps() -> Vec<Step> {
    let disable = |name: &str| sol::disableCall { name: name.to_owned() };
    let module = |name: &str| sol::moduleCall { name: name.to_owned() };
    let all = || sol::modulesCall { from: U256::ZERO, count: U256::MAX };
    let longest = "a".repeat(NAME_BYTES_MAX);
    vec![
        of("modules, none", BOB, all()),
        of("enable by a stranger", BOB, enabling("defi", 1, 7)),
        of("enable, first", AUTHORITY, enabling("defi", 1, 7)),
        of("enable, second", AUTHORITY, enabling(&longest, 2, 8)),
        of("enable, the same", AUTHORITY, enabling("defi", 1, 7)),
        of("enable, another version", AUTHORITY, enabling("defi", 2, 7)),
        of("enable, another configuration", AUTHORITY, enabling("defi", 2, 8)),
        of("enable, no name", AUTHORITY, enabling("", 2, 8)),
        of("enable, too long a name", AUTHORITY, enabling(&"a".repeat(33), 2, 8)),
        of("disable by a stranger", BOB, disable("defi")),
        of("disable", AUTHORITY, disable("defi")),
        of("disable twice", AUTHORITY, disable("defi")),
        of("disable, unknown", AUTHORITY, disable("nft")),
        of("enable again", AUTHORITY, enabling("defi", 2, 8)),
        of("module", BOB, module("defi")),
        of("module, the longest name", BOB, module(&longest)),
        of("module, unknown", BOB, module("nft")),
        of("module, no name", BOB, module("N")),
        ("module, no text", BOB, 0, garbled_name()),
        of("moduleCount", BOB, sol::moduleCountCall {}),
        of("modules", BOB, all()),
        of("modules, past the end", BOB, sol::modulesCall { from: U256::MAX, count: U256::ONE }),
        of("transferOwnership", AUTHORITY, sol::transferOwnershipCall { newOwner: BOB }),
        of("owner", BOB, sol::ownerCall {}),
        of("pendingOwner", BOB, sol::pendingOwnerCall {}),
        of("acceptOwnership by a stranger", AUTHORITY, sol::acceptOwnershipCall {}),
        of("acceptOwnership", BOB, sol::acceptOwnershipCall {}),
        ("a function that is not there", BOB, 0, Bytes::from_static(&[1, 2, 3, 4])),
        ("half a selector", BOB, 0, Bytes::from_static(&[1, 2])),
        ("half an argument", BOB, 0, sol::moduleCall::SELECTOR.to_vec().into()),
        ("no call data", BOB, 0, Bytes::new()),
        ("value", AUTHORITY, 1, sol::moduleCountCall {}.abi_encode().into()),
    ]
}

/// Runs a history and tells each call's outcome, gas and refund, with keccak of its output and logs; last, keccak of the storage.
fn history() -> String {
    let mut lab = Lab::new(&ModulesConfig::new(AUTHORITY));
    lab.journal.set_balance(&AUTHORITY, U256::from(10)).unwrap();
    let mut text = String::new();
    for (height, (name, caller, value, input)) in (1..).zip(steps()) {
        lab.at_height(height);
        let lab = &mut lab.0;
        let place = Place { block: &lab.block, registry: &lab.registry };
        let message = Message::call(caller, MODULES_ADDRESS, U256::from(value), &input, Gas::new(10_000_000));
        text += &place.line(name, &mut lab.journal, &message);
    }
    text + &storage_line(&mut lab.journal, &MODULES_ADDRESS)
}

#[test]
fn gas_effects_and_storage_stay_as_they_are() {
    assert_golden(&history(), include_str!("golden.txt"));
}
