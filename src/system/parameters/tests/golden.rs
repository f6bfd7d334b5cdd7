//! Gas of each call inside its transaction, and what a history of calls leaves in storage and logs. A changed number is a changed
//! chain: raise the template's version with it.

use alloy_primitives::Bytes;

use super::{lab::BOB, *};
use crate::{
    primitives::Gas,
    templates::test_chain::golden::{Place, assert_golden, storage_line},
    vm::Message,
};

/// Every function, its refusals too: name, caller, input.
fn steps() -> Vec<(&'static str, Address, Bytes)> {
    let schedule = |list: &[(Parameter, u64)]| sol::scheduleCall { changes: changes(list) }.abi_encode().into();
    let all = [
        (Parameter::BlockTime, 2),
        (Parameter::GasLimit, 20_000_000),
        (Parameter::BaseFeeChangeDenominator, 16),
        (Parameter::ElasticityMultiplier, 4),
        (Parameter::BaseFeeFloor, 1_000),
        (Parameter::ValidatorsMax, 9),
    ];
    let activation = sol::activateCall { changes: changes(&all) }.abi_encode();
    vec![
        ("schedule by a stranger", ALICE, schedule(&all[..1])),
        ("schedule", OWNER, schedule(&all[..1])),
        ("schedule, the same", OWNER, schedule(&all[..1])),
        ("schedule, all", OWNER, schedule(&all)),
        ("schedule, nothing", OWNER, schedule(&[])),
        ("schedule, out of range", OWNER, schedule(&[(Parameter::GasLimit, 1)])),
        ("schedule, unavailable", OWNER, schedule(&[(Parameter::UnbondingPeriod, 60)])),
        ("activate by the owner", OWNER, activation.into()),
        ("parameter", BOB, sol::parameterCall { parameter: 1 }.abi_encode().into()),
        ("parameter, unknown", BOB, sol::parameterCall { parameter: 77 }.abi_encode().into()),
        ("parameters", BOB, sol::parametersCall {}.abi_encode().into()),
        ("transferOwnership by a stranger", BOB, sol::transferOwnershipCall { newOwner: BOB }.abi_encode().into()),
        ("transferOwnership", OWNER, sol::transferOwnershipCall { newOwner: ALICE }.abi_encode().into()),
        ("owner", BOB, sol::ownerCall {}.abi_encode().into()),
        ("pendingOwner", BOB, sol::pendingOwnerCall {}.abi_encode().into()),
        ("acceptOwnership by a stranger", BOB, sol::acceptOwnershipCall {}.abi_encode().into()),
        ("acceptOwnership", ALICE, sol::acceptOwnershipCall {}.abi_encode().into()),
        ("a function that is not there", BOB, Bytes::from_static(&[1, 2, 3, 4])),
        ("no call data", BOB, Bytes::new()),
    ]
}

fn history() -> String {
    let mut lab = Lab::new();
    let lab = &mut lab.0;
    let place = Place { block: &lab.block, registry: &lab.registry };
    let mut text = String::new();
    for (name, caller, input) in steps() {
        let message = Message::call(caller, PARAMETERS_ADDRESS, U256::ZERO, &input, Gas::new(10_000_000));
        text += &place.line(name, &mut lab.journal, &message);
    }
    let call = activate(&ParameterUpdates::new([lab::change(Parameter::BlockTime, 2)]));
    let message = Message::system_call(PARAMETERS_ADDRESS, &call.input, Gas::new(10_000_000));
    text += &place.line("activate by the chain", &mut lab.journal, &message);
    text + &storage_line(&mut lab.journal, &PARAMETERS_ADDRESS)
}

#[test]
fn gas_effects_and_storage_stay_as_they_are() {
    assert_golden(&history(), include_str!("golden.txt"));
}
