//! The contract against a model, what it refuses, where its variables are, and what it costs.

mod golden;
mod lab;
mod model;

use self::lab::{ALICE, Lab, OWNER, change, changes};
use super::{interface as sol, *};
use crate::vm::Descriptor;

#[test]
fn a_change_waits_until_the_chain_puts_it_in_force() {
    let mut lab = Lab::new();
    let gas_limit = |lab: &mut Lab| lab.ok(ALICE, &sol::parameterCall { parameter: Parameter::GasLimit.code() });
    lab.ok(OWNER, &sol::scheduleCall { changes: changes(&[(Parameter::GasLimit, 2_000_000)]) });
    let info = gas_limit(&mut lab);
    assert_eq!((info.value, info.scheduled), (U256::from(30_000_000), U256::from(2_000_000)));
    assert_eq!(info.name, "gasLimit");
    let scheduled = ParameterUpdates::new(scheduled_changes(lab.journal.logs()));
    assert_eq!(scheduled, ParameterUpdates::NONE, "reading emits nothing");
    lab.system(&activate(&ParameterUpdates::new([change(Parameter::GasLimit, 2_000_000)])));
    let info = gas_limit(&mut lab);
    assert_eq!((info.value, info.scheduled), (U256::from(2_000_000), U256::from(2_000_000)));
}

#[test]
fn what_the_chain_reads_of_every_block_is_one_word() {
    let mut lab = Lab::new();
    let want = FeeParameters {
        gas_limit: 30_000_000,
        base_fee_floor: 0,
        base_fee_change_denominator: 8,
        elasticity_multiplier: 2,
    };
    assert_eq!(FeeParameters::read(&*lab.committed()).unwrap(), Some(want));
    assert_eq!(FeeParameters::read(&*Lab::without_contract()).unwrap(), None);
    let updates = ParameterUpdates::new([change(Parameter::BaseFeeFloor, 7), change(Parameter::BlockTime, 9)]);
    assert_eq!(want.with(&updates), FeeParameters { base_fee_floor: 7, ..want });
    lab.system(&activate(&updates));
    assert_eq!(FeeParameters::read(&*lab.committed()).unwrap(), Some(want.with(&updates)));
}

#[test]
fn refusals_name_what_is_wrong() {
    let mut lab = Lab::new();
    let schedule = |list: &[(Parameter, u64)]| sol::scheduleCall { changes: changes(list) };
    let raw = |parameter, value| sol::scheduleCall { changes: vec![sol::Change { parameter, value }] };
    lab.fails(
        ALICE,
        &schedule(&[(Parameter::GasLimit, 2_000_000)]),
        &sol::OwnableUnauthorizedAccount { account: ALICE },
    );
    lab.fails(OWNER, &schedule(&[]), &sol::NoChanges {});
    lab.fails(OWNER, &raw(0, U256::ONE), &sol::UnknownParameter { parameter: 0 });
    lab.fails(OWNER, &raw(11, U256::ONE), &sol::UnknownParameter { parameter: 11 });
    lab.fails(ALICE, &sol::parameterCall { parameter: 200 }, &sol::UnknownParameter { parameter: 200 });
    let stake = Parameter::MinSelfStake.code();
    lab.fails(OWNER, &raw(stake, U256::from(1_000_000_000)), &sol::ParameterUnavailable { parameter: stake });
    lab.fails(ALICE, &sol::parameterCall { parameter: stake }, &sol::ParameterUnavailable { parameter: stake });
    for parameter in Parameter::ALL {
        let (least, most) = (U256::from(*parameter.range().start()), U256::from(*parameter.range().end()));
        let code = parameter.code();
        let wrong = [least.checked_sub(U256::ONE), most.checked_add(U256::ONE), Some(U256::MAX)];
        for value in wrong.into_iter().flatten() {
            let error = sol::ValueOutOfRange { parameter: code, value, least, most };
            lab.fails(OWNER, &raw(code, value), &error);
        }
    }
    // A list with one wrong change changes nothing.
    let mixed = vec![
        sol::Change { parameter: Parameter::GasLimit.code(), value: U256::from(2_000_000) },
        sol::Change { parameter: 99, value: U256::ZERO },
    ];
    lab.fails(OWNER, &sol::scheduleCall { changes: mixed }, &sol::UnknownParameter { parameter: 99 });
    let activation = sol::activateCall { changes: changes(&[(Parameter::GasLimit, 2_000_000)]) };
    lab.fails(OWNER, &activation, &sol::OnlySystem { caller: OWNER });
}

#[test]
fn variables_stay_in_their_slots() {
    let layout = ParametersTemplate.storage_layout();
    let variables = layout.storage.iter().map(|entry| format!("{} {}", entry.label, entry.slot));
    assert_eq!(variables.collect::<Vec<_>>(), ["_owner 0", "_pendingOwner 1", "_inForce 2", "_scheduled 5"]);
    let members = layout.types["t_struct(Values)_storage"].members.as_ref().unwrap();
    let places: Vec<_> =
        members.iter().map(|member| format!("{} {} {}", member.label, member.slot, member.offset)).collect();
    let want = [
        "gasLimit 0 0",
        "baseFeeFloor 0 8",
        "baseFeeChangeDenominator 0 16",
        "elasticityMultiplier 0 24",
        "blockTime 1 0",
        "validatorsMax 1 8",
        "evidenceMaxAgeBlocks 1 16",
        "evidenceMaxAge 1 24",
        "minSelfStake 2 0",
        "unbondingPeriod 2 16",
        "available 2 24",
    ];
    assert_eq!(places, want);
    assert_eq!(Descriptor::of(&ParametersTemplate).name, ParametersTemplate::NAME);
}
